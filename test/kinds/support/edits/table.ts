import type { InProcess } from '../../../support/in-process.ts';
import type { z } from 'zod';

/** A spec as JSON; undefined leaves a field out. */
export type Spec = Readonly<Record<string, unknown>>;

/**
 * What must come of a change: one call with exactly this body, a refusal by the API server, or no call at all.
 *
 * In bodies and specs `{id}` stands for the object's id in the service, and other words in braces for what the row's world
 * was prepared with.
 */
export type Outcome =
  | { readonly is: 'sent'; readonly call: string; readonly body: object; readonly ready: string }
  | { readonly is: 'refused'; readonly says: string }
  | { readonly is: 'quiet'; readonly ready: string };

/** One field of a spec: what comes of changing it, and of leaving it out afterwards. */
export interface Edit {
  /** Its place in the schema: `[]` for items of a list, `{}` for values of a map. */
  readonly field: string;
  readonly before: Spec;
  readonly changed?: { readonly to: Spec; readonly comes: Outcome };
  readonly removed?: {
    /** Without the field; from the spec before, with nothing else changed, when absent. */
    readonly to?: Spec;
    readonly comes: Outcome;
    readonly leftover?: readonly string[];
  };
}

/** Every field of a kind. */
export interface Edits {
  readonly kind: string;
  readonly schema: z.ZodObject;
  /** What the specs of all rows have besides. */
  readonly base?: Spec;
  /** Makes what the object of a row needs in the service; the values of the words in braces. */
  readonly prepare?: (world: InProcess, name: string) => Promise<Readonly<Record<string, string>>>;
  readonly rows: readonly Edit[];
}

/** A spec of a row with what all rows have; the words in braces are made up, since nothing comes of these objects. */
export function specOf({ base }: Edits, spec: Spec): Spec {
  return JSON.parse(JSON.stringify({ ...base, ...spec }).replaceAll(/\{([\w-]+)\}/g, '$1')) as Spec;
}

/** Exactly one call. */
export function sent(call: string, body: object, ready = 'True/InSync'): Outcome {
  return { is: 'sent', call, body, ready };
}

/** The API server says no. */
export function refused(says: string): Outcome {
  return { is: 'refused', says };
}

/** Nothing is sent. */
export function quiet(ready = 'True/InSync'): Outcome {
  return { is: 'quiet', ready };
}

/** A spec without one of its fields. */
export function without(spec: Spec, field: string): Spec {
  const [first = '', ...rest] = field.split('.');
  const { [first]: value, ...others } = spec;
  if (value === undefined) throw new Error(`there is no ${field} to leave out`);
  return rest.length === 0 ? others : { ...spec, [first]: without(value as Spec, rest.join('.')) };
}

/** What every kind of an account says of its account. */
export function accountEdits(before: Spec): readonly Edit[] {
  const comes = refused('accountRef cannot be changed');
  const other = (accountRef: object) => ({ to: { ...before, accountRef }, comes });
  const written = { ...before, accountRef: { kind: 'HostingAccount', name: 'default' } };
  return [
    { field: 'accountRef', before: written, removed: { comes: quiet() } },
    {
      field: 'accountRef.kind',
      before: written,
      changed: other({ kind: 'ClusterHostingAccount', name: 'default' }),
      removed: { comes: quiet() },
    },
    { field: 'accountRef.name', before: written, changed: other({ name: 'b' }), removed: { comes: quiet() } },
  ];
}

/** What the operator does with an object is not the service's to know. */
export function lifecycleEdits(
  before: Spec,
  words: Readonly<Record<string, readonly [before: string, after: string]>>,
): readonly Edit[] {
  const whole = Object.fromEntries(Object.entries(words).map(([name, [word]]) => [name, word]));
  return [
    { field: 'lifecycle', before: { ...before, lifecycle: whole }, removed: { comes: quiet() } },
    ...Object.entries(words).map(([name, [word, another]]) => ({
      field: `lifecycle.${name}`,
      before: { ...before, lifecycle: { [name]: word } },
      changed: {
        to: { ...before, lifecycle: { [name]: another } },
        comes: quiet(),
      },
      removed: { comes: quiet() },
    })),
  ];
}
