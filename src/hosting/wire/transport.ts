/**
 * One exchange with the service: from a request as a value to what was seen of it.
 *
 * Nothing is sent that its schema does not accept; secrets are revealed only here, while serialising. There is one deadline
 * over everything from connecting to the last byte, and no second try. Only bugs are thrown.
 */
import { type Json, Secret } from '../../base/json.ts';
import type { Clock } from '../../base/time.ts';
import { hash } from 'node:crypto';
import type { Request } from '../../engine/ports.ts';
import { errorTextOf, longestMessage, saysNo, wordsFrom, Id, Text } from '../api/endpoint.ts';
import { type Seen, retryAfterMs } from './outcome.ts';
import { bodySchemas } from '../requests.ts';
import { isAboutSecrets, withoutCredential, withoutWords } from './redaction.ts';
import type { Wire, WireFailure, WireRequest, WireResponse } from './wire.ts';

const prefix = '/api/public/v1';

/** The origin that requests go to, and the token they carry. */
export interface Target {
  readonly origin: string;
  /** The path of the base URL, without a slash at its end. */
  readonly basePath: string;
  readonly token: Secret;
  readonly caBundle: string | undefined;
}

/** Limits of one exchange. */
export interface ExchangeOptions {
  /** Asked in the tick in which the bytes go out; a sentence says why they must not. */
  readonly mayStart?: () => string | undefined;
  readonly signal?: AbortSignal;
  /** Monotonic time at which the exchange ends, where that is earlier than its own limit. */
  readonly deadline?: number;
}

/** Exchanges requests for answers. */
export type Transport = (request: Request, options?: ExchangeOptions) => Promise<Seen>;

/** Says why a request must not be sent as it is; undefined where it may. */
export function flawOf(request: Request): string | undefined {
  for (const [name, value] of Object.entries(request.query ?? {})) {
    const [issue] = (name.endsWith('Id') ? Id : Text).safeParse(value).error?.issues ?? [];
    if (issue !== undefined) return `${name}: ${issue.message}`;
  }
  if (request.body === undefined)
    return request.method === 'POST' || request.method === 'PATCH' ? 'has no body' : undefined;
  const schema = bodySchemas[request.endpoint];
  if (schema === undefined) return 'is not an endpoint of the interface';
  const [issue] = schema.safeParse(request.body).error?.issues ?? [];
  return issue === undefined ? undefined : `${issue.path.join('.') || 'body'}: ${issue.message}`;
}

function revealed(value: Json): unknown {
  if (value instanceof Secret) return value.reveal();
  if (Array.isArray(value)) return value.map(revealed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, revealed(inner)]));
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

const namesOfPrototypes = ['__proto__', '"constructor"', '"prototype"'];
/** A letter of such a name may be written as its code. */
const hidesAName = /__proto__|"constructor"|"prototype"|\\u00[567]/i;

/** JSON without the keys that could reach a prototype; undefined where it is none. */
function json(text: string): { readonly value: unknown } | undefined {
  const clean = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const suspicious = clean.includes('\\')
    ? hidesAName.test(clean)
    : namesOfPrototypes.some((name) => clean.includes(name));
  const drop = (key: string, value: unknown): unknown =>
    key === '__proto__' || key === 'constructor' || key === 'prototype' ? undefined : value;
  try {
    return { value: suspicious ? JSON.parse(clean, drop) : JSON.parse(clean) };
  } catch {
    return undefined;
  }
}

/** The words of a refusal, fit for people. */
function saidOf(target: Target, request: Request, text: string | undefined, longest: number): string {
  if (text === undefined) return '';
  if (isAboutSecrets(request)) return ' (its words are not shown: the request was about a secret)';
  // Cut last, or a part of the credential would stay.
  return `: ${wordsFrom(withoutCredential(text, target.token), longest)}`;
}

function seenOf(target: Target, request: Request, response: WireResponse, wallMs: number): Seen {
  const { status, headers } = response;
  const encoded = !['', 'identity'].includes(headers['content-encoding']?.trim().toLowerCase() ?? '');
  const text = encoded ? undefined : response.text;
  const read = text === undefined ? undefined : json(text);
  const dateMs = Date.parse(headers['date'] ?? '');
  const ok = status >= 200 && status < 300;
  const isNo = !ok || saysNo(read?.value);
  const redirect = status >= 300 && status < 400 ? ' (a redirect, which is never followed)' : '';
  const unreadable = ok && read === undefined ? ` with ${text === '' ? 'no body' : 'a body that is not JSON'}` : '';
  const message = `the service answered ${status}${redirect}${unreadable}`;
  const words = isNo ? errorTextOf(read === undefined && !ok ? text : read?.value) : undefined;
  return {
    was: 'answer',
    status,
    // Do not compare answers to calls, which have ids and states: only lists are compared.
    body: request.effect === 'read' ? read?.value : withoutCredential(withoutWords(request, read?.value), target.token),
    readable: read !== undefined,
    empty: text?.trim() === '',
    saysNo: isNo,
    digest: hash('sha256', text ?? '', 'base64url'),
    dateMs: Number.isNaN(dateMs) ? undefined : dateMs,
    retryAfterMs: retryAfterMs(headers['retry-after'], Number.isNaN(dateMs) ? wallMs : dateMs),
    message: `${message}${saidOf(target, request, words, longestMessage - message.length - 2)}`,
  };
}

/** The way to one target over one wire, for calls that may take this long and reads that may take a third of it. */
export function openTransport(target: Target, wire: Wire, clock: Clock, callMs: number): Transport {
  return async (request, options = {}) => {
    const flaw = flawOf(request);
    if (flaw !== undefined) return { was: 'invalid', message: `the request is not valid: ${flaw}` };
    const limitMs = request.effect === 'read' ? callMs / 3 : callMs;
    const leftMs = (options.deadline ?? Number.POSITIVE_INFINITY) - clock.monotonic();
    const { sent, outcome } = await carried(target, request, wire, clock, {
      ...options,
      limitMs: Math.max(0, Math.min(limitMs, leftMs)),
    });
    if ('status' in outcome) return seenOf(target, request, outcome, clock.wall());
    const { message } = outcome;
    return sent
      ? { was: 'lost', message }
      : { was: 'notSent', hostNotAllowed: outcome.failed === 'hostNotAllowed', message };
  };
}

async function carried(
  target: Target,
  request: Request,
  wire: Wire,
  clock: Clock,
  options: ExchangeOptions & { readonly limitMs: number },
): Promise<{ readonly sent: boolean; readonly outcome: WireResponse | WireFailure }> {
  const cut = new AbortController();
  let sent = false;
  let bug: { readonly cause: unknown } | undefined;
  const start = (): string | undefined => {
    if (cut.signal.aborted) return 'nobody waits for it any longer';
    try {
      const no = options.mayStart?.();
      sent ||= no === undefined;
      return no;
    } catch (cause) {
      bug = { cause };
      return 'the check right before sending failed';
    }
  };
  const outcome = await new Promise<WireResponse | WireFailure>((resolve) => {
    const end = (message: string): void => {
      resolve({ failed: 'connection', message });
      cut.abort();
    };
    const cancel = clock.after(options.limitMs, () => end(`no answer within ${Math.round(options.limitMs / 1000)} s`));
    const stopped = (): void => end('stopped');
    if (options.signal?.aborted === true) stopped();
    options.signal?.addEventListener('abort', stopped, { once: true });
    cut.signal.addEventListener('abort', cancel, { once: true });
    wire(wireRequest(target, request, { start, signal: cut.signal }))
      .then(resolve, (cause: unknown) => {
        bug = { cause };
        resolve({ failed: 'connection', message: 'the transport failed' });
      })
      .finally(() => {
        cancel();
        options.signal?.removeEventListener('abort', stopped);
      });
  });
  if (bug !== undefined) throw new Error(`${request.endpoint} failed by a bug`, { cause: bug.cause });
  return { sent, outcome };
}
