/**
 * The one table from what the Kubernetes API answered, or did not, to a `KubeError`.
 *
 * It decides by status, by the machine-readable `reason` and by the shape of the answer, never by message text; texts of the
 * server are only shown, after sanitising.
 */
import { KubeError, type KubeReason } from '../../engine/ports.ts';

const longestMessage = 300;
const longestRetryMs = 15 * 60_000;

/** An answer that cannot be read: what was done is not known, and the same question may get the same answer. */
export class GarbledError extends KubeError {
  constructor(message: string) {
    super('unavailable', message);
    this.name = 'GarbledError';
  }
}

/** An answer of the API server, as far as a failure needs it. */
export interface Refusal {
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

/** What an answer outside 2xx means. `patched` says that the request was a JSON patch, whose failed `test` is a 422. */
export function refusalOf(refusal: Refusal, what: string, patched = false): KubeError {
  const body = statusBodyOf(refusal.text);
  const said = sanitize(body?.message ?? '');
  const message = `${what}: ${refusal.status}${said === '' ? '' : ` ${said}`}`;
  const retryInMs = retryMsOf(refusal.retryAfter);
  return new KubeError(reasonOf(refusal.status, body, patched), message, retryInMs === undefined ? {} : { retryInMs });
}

/** What it means that no answer arrived. */
export function silenceOf(cause: unknown, what: string): KubeError {
  if (cause instanceof KubeError) return cause;
  const code = codeOf(cause);
  return new KubeError('unavailable', `${what}: no answer${code === undefined ? '' : ` (${code})`}`, { cause });
}

/** Whether a 404 is the word of the API server about exactly this object, and not of a proxy or a missing kind. */
export function provesAbsence(text: string, name: string): boolean {
  const body = statusBodyOf(text);
  return body?.reason === 'NotFound' && body.name === name;
}

/** Text of the server as it may be shown: one line, no control characters, cut. */
export function sanitize(text: string): string {
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
      // A patch that does not apply names no object and no cause; one that was refused by the schema names both.
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
  if (typeof value !== 'object' || value === null || !('kind' in value) || value.kind !== 'Status') return undefined;
  const details =
    'details' in value && typeof value.details === 'object' && value.details !== null ? value.details : {};
  const causes = 'causes' in details && Array.isArray(details.causes) ? details.causes.length : 0;
  return {
    reason: 'reason' in value && typeof value.reason === 'string' ? value.reason : '',
    message: 'message' in value && typeof value.message === 'string' ? value.message : '',
    name: 'name' in details && typeof details.name === 'string' ? details.name : '',
    causes,
  };
}

function retryMsOf(header: string | undefined): number | undefined {
  if (header === undefined || !/^[0-9]{1,9}$/.test(header)) return undefined;
  return Math.min(Number(header) * 1000, longestRetryMs);
}

/** The code of a transport failure, which unlike its message never holds what was sent. */
function codeOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  if ('code' in cause && typeof cause.code === 'string') return cause.code;
  return cause.cause === undefined ? cause.name : codeOf(cause.cause);
}
