/**
 * Sends one request to the service, and decides what the response means for the caller.
 *
 * A request that does not fit its schema is not sent. The secrets of a request are revealed only here, while it is
 * serialised. One deadline covers everything from connecting to the last byte. Nothing is sent twice here; after a 429
 * or 425, `service.ts` may send a call once more. An error is thrown only for a bug. One table maps each response, and
 * a missing response, to an outcome. Texts of the service are cleaned before people see them.
 */
import { isRecord, type Json, jsonIn, mapped, revealed, Secret } from '../../base/json.ts';
import { type Clock, deadline, retryAfterMs } from '../../base/time.ts';
import { hash } from 'node:crypto';
import type { Request, Effect, Outcome, ReadProblem } from '../../engine/ports.ts';
import { errorTextOf, longestMessage, saysNo, wordsFrom, Id, Text, id, parsed, time } from '../api/endpoint.ts';
import type { Wire, WireRequest, WireResponse } from './wire.ts';

// ---- sending one request ---------------------------------------------------------------------------------------
//
// Checks one request, sends it within its deadline, and describes the response or the failure.

const prefix = '/api/public/v1';

/** The address of the service, and the token that requests carry. */
export interface Target {
  readonly origin: string;
  /** The path of the base URL, without a slash at its end. */
  readonly basePath: string;
  readonly token: Secret;
  readonly caBundle: string | undefined;
}

/** Options of one request to the service: its deadline, and a last check before it is sent. */
export interface ExchangeOptions {
  /** Called immediately before the request is sent, in the same tick. Returns the reason if the request must not be sent. */
  readonly mayStart?: () => string | undefined;
  /** Monotonic time at which the request is aborted, if that is earlier than the usual deadline of a request. */
  readonly deadline?: number;
}

/** What happened to a request: the operator did not send it, no complete response arrived, or the service responded. */
export type Seen =
  | { readonly was: 'notSent'; readonly hostNotAllowed: boolean; readonly message: string }
  /** The request was not sent, because its content does not fit the service's API. */
  | { readonly was: 'invalid'; readonly message: string }
  | { readonly was: 'lost'; readonly message: string }
  /** The request was not sent, because the service had asked for a pause or had refused the token. */
  | { readonly was: 'heldBack'; readonly why: 'throttled' | 'unauthorized'; readonly message: string }
  | Answer;

/** A complete response of the service, with its parsed body. */
export interface Answer {
  readonly was: 'answer';
  readonly status: number;
  /** The parsed body; undefined when the body is empty or not JSON. */
  readonly body: unknown;
  readonly readable: boolean;
  readonly empty: boolean;
  /** True when the status or the body reports a failure. */
  readonly saysNo: boolean;
  /** A hash of the body, to notice that two responses have the same body. */
  readonly digest: string;
  readonly dateMs: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** A short message about the response, safe to show to people. */
  readonly message: string;
}

/** Sends a request and returns the result. */
export type Transport = (request: Request, options?: ExchangeOptions) => Promise<Seen>;

/** Returns the reason why a request must not be sent; undefined when the request may be sent. */
export function flawOf(request: Request): string | undefined {
  for (const [name, value] of Object.entries(request.query ?? {})) {
    const [issue] = (name.endsWith('Id') ? Id : Text).safeParse(value).error?.issues ?? [];
    if (issue !== undefined) return `${name}: ${issue.message}`;
  }
  const { body, schema } = request;
  if (body === undefined) return undefined;
  if (schema === undefined) return 'the endpoint of the request accepts no body';
  const [issue] = schema.safeParse(body).error?.issues ?? [];
  return issue === undefined ? undefined : `${issue.path.join('.') || 'body'}: ${issue.message}`;
}

function wireRequest(target: Target, request: Request, rest: Pick<WireRequest, 'start' | 'signal'>): WireRequest {
  const query = new URLSearchParams(request.query).toString();
  const body = request.body === undefined ? undefined : JSON.stringify(revealed(request.body));
  return {
    method: request.method,
    origin: target.origin,
    path: `${target.basePath}${prefix}${request.path}${query === '' ? '' : `?${query}`}`,
    headers: {
      authorization: target.token.reveal(),
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'apphosting-operator',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    body,
    writes: request.effect !== 'read',
    caBundle: target.caBundle,
    ...rest,
  };
}

/** Returns the service's explanation of a refusal, safe to show to people. */
function saidOf(target: Target, request: Request, text: string | undefined, longest: number): string {
  if (text === undefined) return '';
  if (isAboutSecrets(request))
    return ' (the message of the service is not shown, because the request was about a secret)';
  // Remove the token before the text is cut. A cut could leave a part of the token, which would not be found any more.
  const shown = wordsFrom(withoutCredential(text, target.token), longest);
  return `: ${shown}`;
}

function seenOf(target: Target, request: Request, { status, headers, text }: WireResponse, wallMs: number): Seen {
  const read = text === undefined ? undefined : jsonIn(text);
  const dateMs = Date.parse(String(headers['date'] ?? ''));
  const ok = status >= 200 && status < 300;
  const isNo = !ok || saysNo(read);
  const redirect = status >= 300 && status < 400 ? ' (the operator follows no redirects)' : '';
  const flaw = text === '' ? ' (the body is empty)' : ' (the body is not JSON)';
  const unreadable = ok && read === undefined ? flaw : '';
  const message = `the service answered ${status}${redirect}${unreadable}`;
  const words = isNo ? errorTextOf(read === undefined && !ok ? text : read) : undefined;
  return {
    was: 'answer',
    status,
    // Responses to reads are compared with specs, so they stay unchanged. From all other responses, remove the token and every
    // text that may repeat a secret.
    body: request.effect === 'read' ? read : withoutCredential(withoutWords(request, read), target.token),
    readable: read !== undefined,
    empty: text?.trim() === '',
    saysNo: isNo,
    digest: hash('sha256', text ?? '', 'base64url'),
    dateMs: Number.isNaN(dateMs) ? undefined : dateMs,
    retryAfterMs: retryAfterMs(String(headers['retry-after'] ?? ''), Number.isNaN(dateMs) ? wallMs : dateMs),
    message: message + saidOf(target, request, words, longestMessage - message.length - 2),
  };
}

/**
 * Returns a function that sends requests to one service with one token. A request that changes something is aborted after
 * `callDeadlineMs`, and a read after a third of this time.
 */
export function openTransport(target: Target, wire: Wire, clock: Clock, callDeadlineMs: number): Transport {
  return async (request, { mayStart, deadline: latest = Number.POSITIVE_INFINITY } = {}) => {
    const flaw = flawOf(request);
    if (flaw !== undefined) return { was: 'invalid', message: `the request is not valid: ${flaw}` };
    const limitMs = request.effect === 'read' ? callDeadlineMs / 3 : callDeadlineMs;
    const inMs = Math.max(0, Math.min(limitMs, latest - clock.monotonic()));
    const { signal, cancel } = deadline(clock, inMs);
    let sent = false;
    let bug: { readonly cause: unknown } | undefined;
    const start = (): string | undefined => {
      try {
        const no = mayStart?.();
        sent = no === undefined;
        return no;
      } catch (cause) {
        bug = { cause };
        return 'the last check before sending the request failed';
      }
    };
    const outcome = await wire(wireRequest(target, request, { start, signal })).finally(cancel);
    if (bug !== undefined) throw new Error('the last check before sending the request failed', bug);
    if ('status' in outcome) return seenOf(target, request, outcome, clock.wall());
    const { failed } = outcome;
    const message = signal.aborted ? `no answer from the service within ${Math.round(inMs / 1000)} s` : outcome.message;
    return sent ? { was: 'lost', message } : { was: 'notSent', hostNotAllowed: failed === 'hostNotAllowed', message };
  };
}

// ---- the meaning of responses ----------------------------------------------------------------------------------
//
// Maps each response, and each failure, to an outcome for the caller: for example carried out, refused or unknown.

type Meaning = Exclude<Outcome['is'], 'notExecuted'> | 'throttled' | 'unauthorized' | 'forbidden';

function all(meaning: Meaning): Readonly<Record<Effect, Meaning>> {
  return { read: meaning, create: meaning, update: meaning, remove: meaning, identified: meaning };
}

/**
 * The outcome of a call. The row is what happened to the request of the call; the column is the effect that the call
 * should have. The extra column `problem` says why a page of a list could not be read.
 *
 * A call is in doubt when the service may or may not have carried it out. This is so when no complete response arrived,
 * after a 408, after any status outside of 200 to 499, and after a success whose body is not JSON. When the status is a
 * success and the body is empty, an update or a removal counts as carried out, and any other call is in doubt.
 *
 * Redirects are never followed. 301, 302, 307 and 308 count as refusals: the server did nothing and points elsewhere. After a 303
 * a call is in doubt, since a server may send a 303 after it carried out the request.
 *
 * A 403 does not make an account unauthorized, because the service may send a 403 when a business rule forbids the request.
 *
 * When the status is a success but the body reports a failure, an update or a removal counts as refused. Any other call
 * counts as carried out, perhaps only in part: the kind of the resource reads in the body what was carried out.
 */
const table = {
  notSent: { ...all('notSent'), problem: 'unreachable' },
  invalid: { ...all('refused'), problem: 'refused' },
  lost: { ...all('inDoubt'), problem: 'unreachable' },
  done: { ...all('committed'), problem: undefined },
  doneSayingNo: { ...all('committed'), update: 'refused', remove: 'refused', problem: undefined },
  doneEmpty: { ...all('inDoubt'), update: 'committed', remove: 'committed', problem: 'malformed' },
  doneUnreadable: { ...all('inDoubt'), problem: 'malformed' },
  redirect: { ...all('refused'), problem: 'refused' },
  seeOther: { ...all('inDoubt'), read: 'refused', problem: 'refused' },
  unauthorized: { ...all('unauthorized'), problem: 'unauthorized' },
  forbidden: { ...all('forbidden'), problem: 'forbidden' },
  notFound: { ...all('notFound'), create: 'refused', problem: 'refused' },
  timeout: { ...all('inDoubt'), problem: 'unreachable' },
  conflict: { ...all('conflict'), read: 'refused', problem: 'refused' },
  throttled: { ...all('throttled'), problem: 'throttled' },
  refused: { ...all('refused'), problem: 'refused' },
  failed: { ...all('inDoubt'), problem: 'unreachable' },
} as const satisfies Record<string, Readonly<Record<Effect, Meaning>> & { problem: ReadProblem['why'] | undefined }>;

type AnswerRow = keyof typeof table;

const rowsByStatus: Readonly<Record<number, AnswerRow>> = {
  303: 'seeOther',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'notFound',
  408: 'timeout',
  409: 'conflict',
  425: 'throttled',
  429: 'throttled',
};

/** True for a response by which the service asks for a pause: 425 or 429. */
export function isThrottled(seen: Seen): boolean {
  return seen.was === 'answer' && rowsByStatus[seen.status] === 'throttled';
}

function rowOf(seen: Seen): AnswerRow {
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

/**
 * Returns the outcome of a call, such as carried out, refused or in doubt. The outcome follows from what happened to
 * the call's request.
 */
export function outcomeOf(effect: Effect, seen: Seen, retryInMs?: number): Outcome {
  const meaning = table[rowOf(seen)][effect];
  const { message } = seen;
  const answer = seen.was === 'answer' ? seen : undefined;
  const body = answer?.body;
  switch (meaning) {
    case 'committed':
      return { is: meaning, body, dateMs: answer?.dateMs };
    case 'notSent':
    case 'notFound':
      return { is: meaning, message };
    case 'refused':
      return { is: meaning, status: answer?.status ?? 0, message, body };
    case 'conflict':
    case 'inDoubt':
      return { is: meaning, message, body };
    case 'throttled':
    case 'unauthorized':
    case 'forbidden':
      return { is: 'notExecuted', why: meaning, message, retryInMs, body };
  }
}

/** Returns why a page of a list could not be read; undefined when the page was read. */
export function problemOf(seen: Seen): ReadProblem['why'] | undefined {
  return seen.was === 'notSent' && seen.hostNotAllowed ? 'hostNotAllowed' : table[rowOf(seen)].problem;
}

// ---- secrets in answers (why: docs/design/secrets-and-redaction.md) --------------------------------------------
//
// When a request contained a secret or asked for one, the operator never shows free text from the response. The service may
// repeat the secret in a changed form, which no search would find. Free text from other responses is shortened to one line, and
// the API token is removed from it. Texts that are compared with a spec are never changed, because a change would hide a
// difference or invent one.

/** A token with fewer characters is not removed from texts, because it would occur in too many ordinary words. */
const shortestToken = 4;

/**
 * Matches the names of fields that contain ids, times or cursors. The operator needs these values unchanged, so they stay when
 * secrets are removed from a response.
 */
const isExact = /(?:^id|Ids?|Cursor|At|Until)$/;
/** The fields of a response whose value may be a list of ids, instead of a list of objects. */
const idLists: ReadonlySet<string> = new Set(['apps', 'appEnvs', 'components', 'environments']);

function holdsSecret(value: Json | undefined): boolean {
  if (value instanceof Secret) return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsSecret);
}

/** True when the response may contain a secret: the request carried a secret, or asked for secrets. */
function isAboutSecrets({ body, query }: Request): boolean {
  return holdsSecret(body) || query?.['showSecrets'] !== undefined;
}

/**
 * If the request carried a secret, keeps only the ids, times, numbers and booleans of the response. Otherwise keeps the whole
 * response.
 */
function withoutWords(request: Request, body: unknown): unknown {
  if (!holdsSecret(request.body)) return body;
  return withTexts(body, (text, name) => {
    const isShort = isExact.test(name) || idLists.has(name);
    return isShort && (parsed(id, text) ?? parsed(time, text)) !== undefined ? text : undefined;
  });
}

/** Removes the API token from all texts in a value. Fields with ids, times and cursors stay as they are. */
export function withoutCredential<Value>(value: Value, credential: Secret): Value {
  const token = credential.reveal();
  if (token.length < shortestToken) return value;
  const hidden = (text: string, name: string) => (isExact.test(name) ? text : text.replaceAll(token, '[credential]'));
  return withTexts(value, hidden) as Value;
}

/** Makes a text safe to show in a terminal: removes the API token, and escapes the characters that control a terminal. */
export function shownText(text: string, credential: Secret): string {
  const steering = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202A-\u202E\u2066-\u2069]/gu;
  const escaped = (sign: string): string => `\\u{${sign.codePointAt(0)?.toString(16) ?? ''}}`;
  return withoutCredential(text, credential).replaceAll(steering, escaped);
}

/**
 * Copies a value and replaces every string in it, at any depth. The function `replaced` gets each string and the name
 * of its field; for a string in a list, this is the field that holds the list. It returns the new string, or undefined
 * to leave the string out.
 */
function withTexts(value: unknown, replaced: (text: string, name: string) => string | undefined, name = ''): unknown {
  if (typeof value === 'string') return replaced(value, name);
  if (Array.isArray(value)) {
    return value.map((item) => withTexts(item, replaced, name)).filter((item) => item !== undefined);
  }
  if (!isRecord(value) || value instanceof Secret) return value;
  return mapped(value, (inner, key) => withTexts(inner, replaced, key));
}
