/**
 * Fingerprints of values that were sent and that the service does not show.
 *
 * A fingerprint stands for what the service holds. Around it a mark says how sure that is:
 *   `F`        the service answered that it took the value with fingerprint F
 *   `?S T>B`   a call from before time T that carries the value S is under way, or its answer was lost; before it, B was known
 *   `?S T`     the outcome of that call will never be known; without S it was more than one value, or an unknown one
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
/** Stands for a time: the call overwrites nothing, even if it arrives late. */
const harmless = 'never';
/** Times in marks are rounded up to so many horizons, so that repeated tries of a call need no status write each. */
const stepHorizons = 5;

/** True when the service may hold the value of a call whose outcome is unknown. */
export function isInDoubt(print: string | undefined): boolean {
  return print?.startsWith(doubt) === true;
}

/** A call that carries a field, as its mark says: fingerprint of the value and time of the decision, each where known. */
interface Lost {
  readonly sent: string;
  readonly at: string;
}

/** The fingerprints of a call's values, and when it is sent. */
interface Sending {
  readonly prints: Prints;
  /** Undefined for a call that overwrites nothing when it arrives late: a creation. */
  readonly wallMs: number | undefined;
  readonly horizonMs: number;
}

/** Parses the mark of a call under way: the call, and what was known before it. */
function underWay(print: string): (Lost & { readonly before: string }) | undefined {
  const end = isInDoubt(print) ? print.indexOf('>') : -1;
  return end === -1 ? undefined : { ...lostOf(print.slice(0, end)), before: print.slice(end + 1) };
}

/** Parses the mark of a call whose outcome will never be known. */
function lostOf(mark: string): Lost {
  const [sent = '', at = ''] = mark.slice(doubt.length).split(' ');
  return { sent, at };
}

function markOf({ sent, at }: Lost): string {
  return at === '' ? `${doubt}${sent}` : `${doubt}${sent} ${at}`;
}

/** The memory while a call that carries these fields is under way. */
export function begun(applied: Applied, fields: readonly string[], sending?: Sending): Applied {
  if (applied === undefined && fields.length === 0) return undefined;
  const { generation, prints } = doubted(applied, []);
  const at = sending === undefined ? '' : timeOf(sending);
  const marked = fields.map((field) => {
    const mark = markOf({ sent: sending?.prints[field] ?? '', at });
    return [field, `${mark}>${prints[field] ?? ''}`];
  });
  return { generation, prints: { ...prints, ...(Object.fromEntries(marked) as Prints) } };
}

function timeOf({ wallMs, horizonMs }: Sending): string {
  const stepMs = stepHorizons * horizonMs;
  return wallMs === undefined ? harmless : isoSeconds(Math.ceil(wallMs / stepMs) * stepMs);
}

/** The memory when the outcome for these fields, and for the newest call, will never be known. */
export function doubted(applied: Applied, fields: readonly string[]): NonNullable<Applied> {
  const { generation = -1, prints = {} } = applied ?? {};
  const lasting = Object.entries(prints).map(([field, print]) => [field, withoutEnd(print)]);
  const marked = fields.map((field) => [field, doubt]);
  return { generation, prints: Object.fromEntries([...lasting, ...marked]) as Prints };
}

/** The mark of a call whose outcome will never be known; with another one before it, any of their values may arrive. */
function withoutEnd(print: string): string {
  const open = underWay(print);
  if (open === undefined) return print;
  const isAlone = !isInDoubt(open.before) && !open.before.startsWith(late);
  const isSame = isInDoubt(open.before) && lostOf(open.before).sent === open.sent;
  return markOf({ sent: isAlone || isSame ? open.sent : '', at: open.at });
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

/** The times from which it follows until when a lost call may arrive. */
interface Horizon {
  readonly wallMs: number;
  /** A call ends this long after its decision; what is late arrives within the horizon after that. */
  readonly callMs: number;
  readonly horizonMs: number;
}

/**
 * The fingerprint of a value that the service has just accepted; `before` is the one from the time of the decision. A late
 * call with the same value does no harm.
 */
export function taken(print: string, before: string | undefined, horizon: Horizon): string {
  const untilMs = mayArriveUntil(print, before, horizon);
  return untilMs <= horizon.wallMs ? print : `${late}${isoSeconds(untilMs + 1_000)} ${print}`;
}

/** Until when an older call with another value may arrive. */
function mayArriveUntil(print: string, before: string | undefined, { wallMs, callMs, horizonMs }: Horizon): number {
  const older = overwritable(before);
  if (older !== undefined) return older.untilMs;
  if (before === undefined || !isInDoubt(before)) return Number.NEGATIVE_INFINITY;
  const { sent, at } = lostOf(withoutEnd(before));
  if (sent === print || at === harmless) return Number.NEGATIVE_INFINITY;
  return (at === '' ? wallMs : Date.parse(at) + callMs) + horizonMs;
}
