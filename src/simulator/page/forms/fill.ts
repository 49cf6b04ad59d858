import { type BodyFields, object, optional, required, text } from '../../http/fields.ts';
import { notFound } from '../../http/refusal.ts';
import type { World } from '../../store/store.ts';
import { alertForms, appForms, environmentForms } from './service.ts';
import { controlForms } from './control.ts';
import { type Field, type Form, type FormChoice, type FormPlace, type FormValues, type Pick, nameOf } from './form.ts';
import { placeOf } from './form.ts';
import { recoveryForms } from './recovery.ts';

/** Lists the forms of all requests that the page can send. */
export const forms: readonly Form[] = [
  ...appForms,
  ...environmentForms,
  ...alertForms,
  ...recoveryForms,
  ...controlForms,
];

/** Lists the forms as JSON for the page. */
export function shownForms(): readonly unknown[] {
  return forms.map(({ method, path, area, does, fields }) => ({ method, path, area, does, fields }));
}

/** A request whose fields are filled in with rows of the world. */
export interface Filled {
  /** The path with the id filled in, but without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly choices: Readonly<Record<string, readonly FormChoice[]>>;
  /** The collections in which a required field found no row to name. */
  readonly lacks: readonly Pick[];
}

/** Fills in a request. The page asks with `{method, path, token?, given?}`, where `given` has the values that its user chose. */
export function fill(world: World, body: BodyFields, lastRequest: number): Filled {
  const name = nameOf({ method: required(body, 'method', text()), path: required(body, 'path', text()) });
  const form = forms.find((each) => nameOf(each) === name);
  if (form === undefined) throw notFound(`the page has no form for ${name}`);
  const given = optional(body, 'given', object) ?? {};
  const at = placeOf(world, { token: optional(body, 'token', text()), given, lastRequest });
  const values = { ...idsOf(form, at), ...form.fill(at), ...asChosen(form, given) };
  return { ...composed(form, values), choices: form.choices(at), lacks: lacking(form, values) };
}

/** Chooses the ids of required fields, and the account. A DELETE gets the newest row, which was probably made to try things out. */
function idsOf({ method, fields }: Form, at: FormPlace): FormValues {
  const named = fields.flatMap(({ name, kind, pick, isRequired }) =>
    pick !== undefined && kind === 'text' && (isRequired || name === 'accountId')
      ? [[name, at.idOf(name, pick, method === 'DELETE')]]
      : [],
  );
  return Object.fromEntries(named);
}

function asChosen({ fields }: Form, given: FormValues): FormValues {
  return Object.fromEntries(fields.filter(({ name }) => name in given).map(({ name }) => [name, given[name]]));
}

function lacking({ fields }: Form, values: FormValues): readonly Pick[] {
  const empty = fields.filter(
    ({ name, isRequired, pick }) => isRequired && pick !== undefined && values[name] === undefined,
  );
  return [...new Set(empty.flatMap(({ pick }) => pick ?? []))];
}

/** Tells in which part of a request a field is sent. */
function partOf({ method, path }: Form, { name }: Field): 'path' | 'query' | 'body' {
  if (name === 'id' && path.includes(':id')) return 'path';
  return method === 'POST' || method === 'PATCH' ? 'body' : 'query';
}

function composed(form: Form, values: FormValues): Omit<Filled, 'choices' | 'lacks'> {
  const at = (part: string) =>
    form.fields.filter((field) => partOf(form, field) === part && values[field.name] !== undefined);
  const query = Object.fromEntries(at('query').map(({ name }) => [name, String(values[name])]));
  const id = values['id'];
  const path = form.path.replace(':id', typeof id === 'string' ? encodeURIComponent(id) : ':id');
  if (form.method === 'GET' || form.method === 'DELETE') return { path, query };
  let body: unknown = {};
  for (const { name } of at('body')) body = withValue(body, name.split('/'), values[name]);
  return { path, query, body };
}

/** Copies a value and sets another one inside it, at a path through its objects and lists. */
function withValue(into: unknown, [step = '', ...rest]: readonly string[], value: unknown): unknown {
  const inside = rest.length === 0 ? value : withValue((into as FormValues | undefined)?.[step], rest, value);
  if (/^\d+$/.test(step)) return Object.assign(Array.isArray(into) ? [...into] : [], { [step]: inside });
  return { ...(into as FormValues | undefined), [step]: inside };
}
