import { carriesBody } from '../../service/area.ts';
import { type BodyFields, object, optional, required, text } from '../../http/fields.ts';
import { notFound } from '../../http/refusal.ts';
import type { World } from '../../store/store.ts';
import { alertForms, appForms, environmentForms } from './service.ts';
import { controlForms } from './control.ts';
import { type Form, type FormPlace, type FormValues, placeOf } from './form.ts';
import { recoveryForms } from './recovery.ts';

/** All forms of the web page: one for each request that a person can send from it. */
export const forms: readonly Form[] = [
  ...appForms,
  ...environmentForms,
  ...alertForms,
  ...recoveryForms,
  ...controlForms,
];

/**
 * Fills in a request form of the web page with values from the simulator's data. The page sends `{method, path, token?, given?}`; `given`
 * contains the values that the user chose. In the response, `lacks` lists the collections in which no object was found for a required
 * field.
 */
export function fill(world: World, body: BodyFields, lastRequest: number) {
  const [method, path] = [required(body, 'method', text()), required(body, 'path', text())];
  const form = forms.find((each) => each.method === method && each.path === path);
  if (form === undefined) throw notFound(`the page has no form for ${method} ${path}`);
  const given = optional(body, 'given', object) ?? {};
  const at = placeOf(world, optional(body, 'token', text()), given, lastRequest);
  const values = { ...idsOf(form, at), ...form.fill(at), ...asChosen(form, given) };
  return { ...composed(form, values), choices: form.choices(at), lacks: lacking(form, values) };
}

/**
 * Returns the ids for the account and for each required field that holds one id, as `idOf` finds them; lists of ids get
 * none. If the user chose no id, a form for a DELETE takes that of the newest object, because the user probably created
 * this object only to try something out.
 */
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

function lacking({ fields }: Form, values: FormValues): readonly string[] {
  const empty = fields.filter(
    ({ name, isRequired, pick }) => isRequired && pick !== undefined && values[name] === undefined,
  );
  return [...new Set(empty.flatMap(({ pick }) => pick ?? []))];
}

/** Builds the request of a filled-in form: the field `id` goes into the path, and all other fields go into the query or the body. */
function composed(form: Form, values: FormValues) {
  const id = values['id'];
  const path = form.path.replace(':id', typeof id === 'string' ? encodeURIComponent(id) : ':id');
  const names = form.fields.map(({ name }) => name).filter((name) => name !== 'id' && values[name] !== undefined);
  if (!carriesBody(form.method)) {
    return { path, id, query: Object.fromEntries(names.map((name) => [name, String(values[name])])) };
  }
  const body = names.reduce<unknown>((into, name) => withValue(into, name.split('/'), values[name]), {});
  return { path, id, query: {}, body };
}

/**
 * Returns a copy of an object or list in which one value is set. The value may be several levels deep: each step of the path is a field
 * name or an index.
 */
function withValue(into: unknown, [step = '', ...rest]: readonly string[], value: unknown): unknown {
  const inside = rest.length === 0 ? value : withValue((into as FormValues | undefined)?.[step], rest, value);
  if (/^\d+$/.test(step)) return Object.assign(Array.isArray(into) ? [...into] : [], { [step]: inside });
  return { ...(into as FormValues | undefined), [step]: inside };
}
