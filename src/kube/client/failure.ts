/**
 * The one table from an answer of the Kubernetes API, or the lack of one, to a `KubeError`.
 *
 * It decides by status, by the machine-readable `reason` and by the shape of the answer, never by message text. Messages of the
 * server are shown after `sanitize`.
 */
import { isRecord } from '../../base/json.ts';
import { KubeError, type KubeReason } from '../../engine/ports.ts';

const longestMessage = 300;
const longestRetryMs = 15 * 60_000;

/** An answer that cannot be parsed: it is unknown what was done, and the same request may get the same answer. */
export class GarbledError extends KubeError {
  constructor(message: string) {
    super('unavailable', message);
    this.name = 'GarbledError';
  }
}

/** An answer is larger than we read; a smaller page may fit. */
export class TooLargeError extends KubeError {
  constructor(what: string, mostBytes: number) {
    super('unavailable', `${what}: the answer is larger than ${mostBytes} bytes`);
    this.name = 'TooLargeError';
  }
}

/** An answer, whatever its status. */
export interface ApiAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

interface StatusBody {
  readonly reason: string;
  readonly message: string;
  /** The object that the answer is about. */
  readonly name: string;
  readonly causes: number;
}

/** The error for an answer outside 2xx. `patched`: the request was a JSON patch, whose failed `test` is a 422. */
export function refusalOf(answer: ApiAnswer, what: string, patched = false): KubeError {
  const body = statusBodyOf(answer.text);
  const said = sanitize(body?.message ?? '');
  const message = `${what}: ${answer.status}${said === '' ? '' : ` ${said}`}`;
  const retryInMs = retryMsOf(answer.retryAfter);
  return new KubeError(reasonOf(answer.status, body, patched), message, retryInMs === undefined ? {} : { retryInMs });
}

/** The error for a request that got no answer, or for a stream that broke off. */
export function silenceOf(cause: unknown, what: string, server?: string): KubeError {
  if (cause instanceof KubeError) return cause;
  const code = codeOf(cause);
  const from = server === undefined ? '' : ` from ${server}`;
  return new KubeError('unavailable', `${what}: no answer${from}${code === undefined ? '' : ` (${code})`}`, { cause });
}

/** True when a 404 is from the API server and about exactly this object, not from a proxy or about an unknown kind. */
export function provesAbsence(text: string, name: string): boolean {
  const body = statusBodyOf(text);
  return body?.reason === 'NotFound' && body.name === name;
}

/** Makes a text of the server fit to be shown: one line, no control characters, not too long. */
function sanitize(text: string): string {
  const line = text.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
  return line.length <= longestMessage ? line : `${line.slice(0, longestMessage - 1)}…`;
}

function reasonOf(status: number, body: StatusBody | undefined, patched: boolean): KubeReason {
  switch (status) {
    case 401:
      return 'unauthorized';
    case 403:
      return 'forbidden';
    case 404:
      return 'notFound';
    case 409:
      return body?.reason === 'AlreadyExists' ? 'exists' : 'conflict';
    case 410:
      return 'gone';
    case 422:
      // When a patch does not apply, the answer names no object and no cause; when the schema refuses it, it names both.
      return patched && (body === undefined || (body.causes === 0 && body.name === '')) ? 'conflict' : 'invalid';
    case 429:
      return 'throttled';
    case 408:
      return 'unavailable';
    default:
      return status >= 400 && status < 500 ? 'invalid' : 'unavailable';
  }
}

function statusBodyOf(text: string): StatusBody | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value) || value['kind'] !== 'Status') return undefined;
  const { reason, message, details } = value;
  const { name, causes } = isRecord(details) ? details : {};
  return {
    reason: typeof reason === 'string' ? reason : '',
    message: typeof message === 'string' ? message : '',
    name: typeof name === 'string' ? name : '',
    causes: Array.isArray(causes) ? causes.length : 0,
  };
}

function retryMsOf(header: string | undefined): number | undefined {
  if (header === undefined || !/^[0-9]{1,9}$/.test(header)) return undefined;
  return Math.min(Number(header) * 1000, longestRetryMs);
}

/** The code of a transport failure; its message might quote what was sent. */
function codeOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  if ('code' in cause && typeof cause.code === 'string') return cause.code;
  return cause.cause === undefined ? cause.name : codeOf(cause.cause);
}
