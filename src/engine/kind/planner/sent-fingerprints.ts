/**
 * Fingerprints of fields of which nobody knows what the service holds.
 *
 * Guarantees: until it is known how a call ended, what it changes counts as set to nobody knows what: whatever is wanted then
 * is sent, and where nothing is wanted any more it is cleared, or told as left over. A mark says which call it was: only what
 * the newest one is about is `underWay`, with what was known before it, and a no to that call takes back just this. What a
 * call before it left in doubt stays so until a call that carries the field is answered with yes.
 *
 * Why: docs/design/at-most-once.md#mark-changed-fields-as-in-doubt-before-the-call
 */
import type { Memory } from '../contract/step.ts';

type Prints = Readonly<Record<string, string>>;
type Applied = Memory<unknown>['applied'];

/** In doubt for good; a mark with something behind it is one of an older version, which did not tell the two apart. */
const doubt = '?';
/** In doubt while the newest call is; what was known before stands behind it. */
const underWay = `${doubt}>`;

/** Whether the service may hold the value of a call whose end is not known. */
export function isInDoubt(print: string | undefined): boolean {
  return print?.startsWith(doubt) === true;
}

/** What is remembered while a call that carries these fields is under way. */
export function begun(applied: Applied, fields: readonly string[]): Applied {
  if (applied === undefined && fields.length === 0) return undefined;
  const { generation, prints } = doubted(applied, []);
  const marked = fields.map((field) => [field, `${underWay}${prints[field] ?? ''}`]);
  return { generation, prints: { ...prints, ...(Object.fromEntries(marked) as Prints) } };
}

/** What is remembered when it will never be known what became of these fields, nor of what the newest call carried. */
export function doubted(applied: Applied, fields: readonly string[]): NonNullable<Applied> {
  const { generation = -1, prints = {} } = applied ?? {};
  const lasting = Object.entries(prints).map(([field, print]) => [field, print.startsWith(underWay) ? doubt : print]);
  const marked = fields.map((field) => [field, doubt]);
  return { generation, prints: Object.fromEntries([...lasting, ...marked]) as Prints };
}

/** What was remembered before the newest call: it was not carried out. */
export function notDone(applied: Applied): Applied {
  if (applied === undefined) return undefined;
  const before = Object.entries(applied.prints).flatMap(([field, print]) => {
    const known = print.startsWith(underWay) ? print.slice(underWay.length) : print;
    return known === '' ? [] : [[field, known] as const];
  });
  return { ...applied, prints: Object.fromEntries(before) };
}
