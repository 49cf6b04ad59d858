/**
 * Fingerprints while a call is under way that changes what they are of.
 *
 * Guarantees: until it is known how the call ended, such a field counts as set to nobody knows what: whatever is wanted then
 * is sent, and where nothing is wanted any more it is cleared, or told as left over.
 */
import type { Memory } from './step.ts';

type Prints = Readonly<Record<string, string>>;
type Applied = Memory<unknown>['applied'];

const mark = '?';

/** Whether the service may hold the value of a call whose end is not known. */
export function isInDoubt(print: string | undefined): boolean {
  return print?.startsWith(mark) === true;
}

/** What is remembered while these fields are being changed. */
export function doubted(applied: Applied, fields: readonly string[]): NonNullable<Applied> {
  const { generation = -1, prints = {} } = applied ?? {};
  const marked = fields.map((field) => [field, marking(prints[field])]);
  return { generation, prints: { ...prints, ...(Object.fromEntries(marked) as Prints) } };
}

function marking(print: string | undefined): string {
  return print !== undefined && isInDoubt(print) ? print : `${mark}${print ?? ''}`;
}

/** What was remembered before the call: it was not carried out. */
export function notDone(applied: Applied): Applied {
  if (applied === undefined) return undefined;
  const before = Object.entries(applied.prints).flatMap(([field, print]) => {
    const known = isInDoubt(print) ? print.slice(mark.length) : print;
    return known === '' ? [] : [[field, known] as const];
  });
  return { ...applied, prints: Object.fromEntries(before) };
}
