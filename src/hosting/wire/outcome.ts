/**
 * The one table from what was seen of an exchange to what its caller should do.
 *
 * Its rows are kinds of answers, its columns what the request would have done. What stands in no row is in doubt. Three rows
 * need a word. A redirect is never followed; 301, 302, 307 and 308 say "ask elsewhere", so nothing was done here and they
 * refuse, but 303 is also what a server says after having done it, and is in doubt. And a 403 does not make an account
 * unauthorized: the service may answer a broken business rule with it. A body that says no under a status that says yes is a
 * no to a change or a removal; of anything else it may be the news that half of it was done, which its kind reads.
 */
import type { Effect, Outcome, ReadProblem } from '../../engine/ports.ts';

/** An exchange as it was seen from here. */
export type Seen =
  | { readonly was: 'notSent'; readonly hostNotAllowed: boolean; readonly message: string }
  /** The interface does not allow such a request, so it was not sent and never will be. */
  | { readonly was: 'invalid'; readonly message: string }
  | { readonly was: 'lost'; readonly message: string }
  /** We did not even try: the service told us lately not to. */
  | { readonly was: 'heldBack'; readonly why: 'throttled' | 'unauthorized'; readonly message: string }
  | Answer;

/** A whole response. */
export interface Answer {
  readonly was: 'answer';
  readonly status: number;
  /** Undefined where the body is empty or not readable. */
  readonly body: unknown;
  readonly readable: boolean;
  readonly empty: boolean;
  /** The body says that it was not done, whatever the status. */
  readonly saysNo: boolean;
  /** Equal for equal bodies. */
  readonly digest: string;
  readonly dateMs: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** Fit for people. */
  readonly message: string;
}

type Row =
  | 'notSent'
  | 'invalid'
  | 'lost'
  | 'done'
  | 'doneSayingNo'
  | 'doneEmpty'
  | 'doneUnreadable'
  | 'redirect'
  | 'seeOther'
  | 'unauthorized'
  | 'forbidden'
  | 'notFound'
  | 'timeout'
  | 'conflict'
  | 'throttled'
  | 'refused'
  | 'failed';

type Verdict = Exclude<Outcome['is'], 'notExecuted'> | 'throttled' | 'unauthorized' | 'forbidden';

function all(verdict: Verdict): Readonly<Record<Effect, Verdict>> {
  return { read: verdict, create: verdict, update: verdict, remove: verdict, identified: verdict };
}

const table: Readonly<Record<Row, Readonly<Record<Effect, Verdict>>>> = {
  notSent: all('notSent'),
  invalid: all('refused'),
  lost: all('inDoubt'),
  done: all('committed'),
  doneSayingNo: { ...all('committed'), update: 'refused', remove: 'refused' },
  doneEmpty: { ...all('inDoubt'), update: 'committed', remove: 'committed' },
  doneUnreadable: all('inDoubt'),
  redirect: all('refused'),
  seeOther: { ...all('inDoubt'), read: 'refused' },
  unauthorized: all('unauthorized'),
  forbidden: all('forbidden'),
  notFound: { ...all('notFound'), create: 'refused' },
  timeout: all('inDoubt'),
  conflict: { ...all('conflict'), read: 'refused' },
  throttled: all('throttled'),
  refused: all('refused'),
  failed: all('inDoubt'),
};

const rowsByStatus: Readonly<Record<number, Row>> = {
  303: 'seeOther',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'notFound',
  408: 'timeout',
  409: 'conflict',
  425: 'throttled',
  429: 'throttled',
};

function rowOf(seen: Seen): Row {
  if (seen.was === 'heldBack') return seen.why;
  if (seen.was !== 'answer') return seen.was;
  const special = rowsByStatus[seen.status];
  if (special !== undefined) return special;
  if (seen.status >= 200 && seen.status < 300) {
    if (seen.readable) return seen.saysNo ? 'doneSayingNo' : 'done';
    return seen.empty ? 'doneEmpty' : 'doneUnreadable';
  }
  if (seen.status >= 300 && seen.status < 400) return 'redirect';
  return seen.status >= 400 && seen.status < 500 ? 'refused' : 'failed';
}

/** Interprets an exchange: the outcome of a call. */
export function outcomeOf(effect: Effect, seen: Seen, retryInMs?: number): Outcome {
  const verdict = table[rowOf(seen)][effect];
  const { message } = seen;
  const answer = seen.was === 'answer' ? seen : undefined;
  const body = answer?.body;
  switch (verdict) {
    case 'committed':
      return { is: verdict, body, dateMs: answer?.dateMs };
    case 'notSent':
    case 'notFound':
      return { is: verdict, message };
    case 'refused':
      return { is: verdict, status: answer?.status ?? 0, message, body };
    case 'conflict':
    case 'inDoubt':
      return { is: verdict, message, body };
    case 'throttled':
    case 'unauthorized':
    case 'forbidden':
      return { is: 'notExecuted', why: verdict, message, retryInMs, body };
  }
}

const problems: Readonly<Record<Row, ReadProblem['why'] | undefined>> = {
  notSent: 'unreachable',
  invalid: 'refused',
  lost: 'unreachable',
  done: undefined,
  doneSayingNo: undefined,
  doneEmpty: 'malformed',
  doneUnreadable: 'malformed',
  redirect: 'refused',
  seeOther: 'refused',
  unauthorized: 'unauthorized',
  forbidden: 'forbidden',
  notFound: 'refused',
  timeout: 'unreachable',
  conflict: 'refused',
  throttled: 'throttled',
  refused: 'refused',
  failed: 'unreachable',
};

/** Says why a page of a read did not arrive; undefined where it did. */
export function problemOf(seen: Seen): ReadProblem['why'] | undefined {
  return seen.was === 'notSent' && seen.hostNotAllowed ? 'hostNotAllowed' : problems[rowOf(seen)];
}

/** The longest that a service can make us wait: 15 minutes. */
export const longestPauseMs = 15 * 60_000;

/**
 * Reads how long a `Retry-After` asks to wait: seconds, or a date by the service's own clock where it shows one. A past date, a
 * zero or a negative number means one second; what is neither a number nor a date counts as absent.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const value = header?.trim() ?? '';
  if (value === '') return undefined;
  const seconds = /^[+-]?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined;
  const ms = seconds === undefined ? Date.parse(value) - nowMs : seconds * 1000;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 1000), longestPauseMs);
}
