/**
 * Fingerprints of what was applied, from which a later pass knows what was sent of hidden fields, and which removed fields
 * the service keeps.
 */
import { rememberedAs, type Difference } from './compare.ts';
import type { Pass } from '../contract/pass.ts';
import type { Fields, ObjectPlan } from './plan.ts';
import { begun, taken } from './sent-fingerprints.ts';
import type { Call, Memory } from '../contract/step.ts';

type Applied = Memory<unknown>['applied'];

/** Hidden and kept fields that were set once and are no longer wanted: the interface shows no way to clear them. */
export function leftoverOf<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
): readonly string[] {
  if (pass.subject.deleting) return [];
  const desired = plan.desired(pass);
  return Object.keys(pass.memory.applied?.prints ?? {})
    .filter((field) => desired[field] === undefined && plan.replaced?.(field, desired) !== true)
    .filter((field) => plan.kept?.(field) === true || plan.hidden?.(field, pass) === true);
}

/** The fingerprints to keep: of wanted and of left-over fields; `sent` are the fields of the answered call. */
function printsOf<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  difference: Difference,
  sent: readonly string[],
): Readonly<Record<string, string>> {
  const known = pass.memory.applied?.prints ?? {};
  const leftover = leftoverOf(plan, pass).flatMap((field) =>
    known[field] === undefined ? [] : [[field, known[field]]],
  );
  return { ...Object.fromEntries(leftover), ...afterAnswer(pass, difference, sent) };
}

/** The fingerprints of the wanted values, marked where an older call may still overwrite them. */
function afterAnswer<Spec, Facts>(
  pass: Pass<Spec, Facts>,
  { prints, overwritable }: Difference,
  sent: readonly string[],
): Readonly<Record<string, string>> {
  const known = pass.memory.applied?.prints ?? {};
  const rows = Object.entries(prints).map(([field, print]) => {
    if (sent.includes(field)) return [field, taken(print, known[field], pass)];
    return [field, field in overwritable ? known[field] : print];
  });
  return Object.fromEntries(rows) as Readonly<Record<string, string>>;
}

/** The memory while an update is under way: its fields count as in doubt. */
export function meanwhile<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  now: Fields,
): Pick<Call<Facts>, 'meanwhile'> {
  const { applied } = pass.memory;
  const fields = Object.keys(now).filter((field) => {
    const how = rememberedAs(plan, pass, field);
    return how === 'sent' || (how === 'set' && applied?.prints[field] === undefined);
  });
  const facts = plan.requests.supposedOfUpdate?.(now, pass);
  if (fields.length === 0 && facts === undefined) return {};
  return {
    meanwhile: {
      ...(fields.length > 0 && {
        applied: begun(applied, fields, { prints: printed(pass, now), wallMs: pass.wallMs, horizonMs: pass.horizonMs }),
      }),
      ...(facts !== undefined && { facts }),
    },
  };
}

function printed<Spec, Facts>(pass: Pass<Spec, Facts>, values: Fields): Readonly<Record<string, string>> {
  const rows = Object.entries(values).flatMap(([field, value]) =>
    value === undefined ? [] : [[field, pass.print(value)]],
  );
  return Object.fromEntries(rows) as Readonly<Record<string, string>>;
}

/** The memory when the whole spec was applied; `sent` are the fields of the call that was answered. */
export function whole<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  difference: Difference,
  sent: readonly string[] = [],
): Applied {
  return { generation: pass.subject.generation, prints: printsOf(plan, pass, difference, sent) };
}

/** The memory when only these fields were applied yet. */
export function part<Spec, Facts>(pass: Pass<Spec, Facts>, difference: Difference, fields: readonly string[]): Applied {
  const { generation = -1, prints: known = {} } = pass.memory.applied ?? {};
  return { generation, prints: { ...known, ...only(afterAnswer(pass, difference, fields), fields) } };
}

/** The values of these fields only. */
export function only<Value>(
  values: Readonly<Record<string, Value>>,
  fields: readonly string[],
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(values).filter(([field]) => fields.includes(field)));
}
