/**
 * Fingerprints of values that were sent and that the service does not show.
 *
 * A fingerprint stands for what the service holds. Around it a mark says how sure that is:
 *   `F`        the service answered that it took the value with fingerprint F
 *   `?S>B`     a call that carries the value S is under way, or its answer was lost; before it, B was known
 *   `?S`, `?`  the outcome of a call with the value S, or of several, will never be known
 *   `@T F`     the service took F, but an older call with another value may still arrive until time T: then F is sent once more
 *
 * Guarantees: a value whose outcome is unknown counts as unsent, so that whatever is wanted is sent; a refusal takes back just
 * the newest call; a value that may be overwritten by a late call is sent again after it can no longer arrive.
 *
 * Why: docs/design/at-most-once.md#mark-changed-fields-as-in-doubt-before-the-call
 */
import { isoSeconds } from '../../../base/time.ts';
import type { Memory } from '../contract/step.ts';

type Prints = Readonly<Record<string, string>>;
type Applied = Memory<unknown>['applied'];

const doubt = '?';
const late = '@';

/** True when the service may hold the value of a call whose outcome is unknown. */
export function isInDoubt(print: string | undefined): boolean {
  return print?.startsWith(doubt) === true;
}

/** Takes a mark of a call under way apart: the value it carries, and what was known before it. */
function underWay(print: string): { readonly sent: string; readonly before: string } | undefined {
  const at = isInDoubt(print) ? print.indexOf('>') : -1;
  return at === -1 ? undefined : { sent: print.slice(doubt.length, at), before: print.slice(at + 1) };
}

/** The memory while a call that carries these fields is under way; `sent` has the fingerprints of its values where known. */
export function begun(applied: Applied, fields: readonly string[], sent: Prints = {}): Applied {
  if (applied === undefined && fields.length === 0) return undefined;
  const { generation, prints } = doubted(applied, []);
  const marked = fields.map((field) => [field, `${doubt}${sent[field] ?? ''}>${prints[field] ?? ''}`]);
  return { generation, prints: { ...prints, ...(Object.fromEntries(marked) as Prints) } };
}

/** The memory when the outcome for these fields, and for the newest call, will never be known. */
export function doubted(applied: Applied, fields: readonly string[]): NonNullable<Applied> {
  const { generation = -1, prints = {} } = applied ?? {};
  const lasting = Object.entries(prints).map(([field, print]) => [field, withoutEnd(print)]);
  const marked = fields.map((field) => [field, doubt]);
  return { generation, prints: Object.fromEntries([...lasting, ...marked]) as Prints };
}

/** The mark of a call whose outcome will never be known; with another such call before it, any of their values may arrive. */
function withoutEnd(print: string): string {
  const open = underWay(print);
  if (open === undefined) return print;
  const isAlone = !open.before.startsWith(late) && (!isInDoubt(open.before) || open.before === `${doubt}${open.sent}`);
  return isAlone ? `${doubt}${open.sent}` : doubt;
}

/** The memory before the newest call: it was not carried out. */
export function notDone(applied: Applied): Applied {
  if (applied === undefined) return undefined;
  const before = Object.entries(applied.prints).flatMap(([field, print]) => {
    const known = underWay(print)?.before ?? print;
    return known === '' ? [] : [[field, known] as const];
  });
  return { ...applied, prints: Object.fromEntries(before) };
}

/** Until when an older call may overwrite the value of a field, and that value's fingerprint. */
export function overwritable(
  print: string | undefined,
): { readonly untilMs: number; readonly print: string } | undefined {
  if (print?.startsWith(late) !== true) return undefined;
  const [until = '', value = ''] = print.slice(late.length).split(' ');
  return { untilMs: Date.parse(until), print: value };
}

/**
 * The fingerprint to keep of a value that the service took just now; `before` is what was known when the call was decided on. A
 * lost call with the same value does no harm when it arrives.
 */
export function taken(
  print: string,
  before: string | undefined,
  { wallMs, horizonMs }: { readonly wallMs: number; readonly horizonMs: number },
): string {
  const older = overwritable(before);
  const isSafe = older === undefined ? !isInDoubt(before) || sentBy(before) === print : older.untilMs <= wallMs;
  return isSafe ? print : `${late}${isoSeconds(wallMs + horizonMs + 1_000)} ${print}`;
}

/** The value of the only lost call; undefined when there were several, or none is known. */
function sentBy(before: string | undefined): string | undefined {
  return before === undefined ? undefined : withoutEnd(before).slice(doubt.length);
}
