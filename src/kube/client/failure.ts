/**
 * Turns a failed request to the Kubernetes API into a `KubeError`, whether or not the server responded.
 *
 * The kind of error follows from the status code, the machine-readable `reason` and the structure of the response, never from
 * the text of the message. `sanitize` cleans the server's messages before people see them.
 */
import { z } from 'zod';
import { jsonIn } from '../../base/json.ts';
import { type Clock, inTime, retryAfterMs } from '../../base/time.ts';
import { KubeError, type KubeReason } from '../../engine/ports.ts';

const longestMessage = 300;

/**
 * Thrown when a response from the API server cannot be parsed. The request may have been carried out all the same. Sending it
 * again may lead to the same response.
 */
export class GarbledError extends KubeError {
  constructor(message: string) {
    super('unavailable', message);
    this.name = 'GarbledError';
  }
}

/**
 * Thrown when a response from the API server is larger than the limit. If the response was a page of a list, the caller can
 * request smaller pages.
 */
export class TooLargeError extends KubeError {
  constructor(what: string, mostBytes: number) {
    super('unavailable', `${what}: the answer is larger than ${mostBytes} bytes`);
    this.name = 'TooLargeError';
  }
}

/** A response to a request to the API server, whatever its HTTP status. A proxy may have sent it. */
export interface ApiAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

/**
 * Builds the error for a response with a status other than 2xx. `patched` is true if the request was a JSON patch: a 422 may
 * then mean that a `test` operation of the patch failed.
 */
export function refusalOf(answer: ApiAnswer, what: string, patched = false): KubeError {
  const body = statusBodyOf(answer.text);
  const said = sanitize(body?.message ?? '');
  const message = `${what}: ${answer.status}${said === '' ? '' : ` ${said}`}`;
  const retryInMs = retryAfterMs(answer.retryAfter ?? '');
  return new KubeError(reasonOf(answer.status, body, patched), message, retryInMs === undefined ? {} : { retryInMs });
}

/** Builds the error for a request that got no response, or for a stream that broke off. */
export function silenceOf(cause: unknown, what: string, server = 'the API server'): KubeError {
  if (cause instanceof KubeError) return cause;
  const code = codeOf(cause);
  const detail = code === undefined ? '' : ` (${code})`;
  return new KubeError('unavailable', `${what}: no answer from ${server}${detail}`, { cause });
}

/** Waits for the answer to a request; throws a `KubeError` if it takes longer than `inMs`. */
export async function answerInTime<Answer>(
  clock: Clock,
  inMs: number,
  { what, request, signal }: { what: string; request: Promise<Answer>; signal?: AbortSignal | undefined },
): Promise<Answer> {
  const answer = await inTime(clock, inMs, request, signal);
  if (answer === undefined)
    throw new KubeError('unavailable', `${what}: no answer from the API server within ${inMs} ms`);
  return answer.value;
}

/**
 * True when a 404 proves that the named object does not exist: the response comes from the API server, not from a proxy, and
 * contains the object's name.
 */
export function provesAbsence(text: string, name: string): boolean {
  const body = statusBodyOf(text);
  return body?.reason === 'NotFound' && body.details.name === name;
}

/** Turns a text from the server into one short line without control characters. */
function sanitize(text: string): string {
  const line = text.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
  if (line.length <= longestMessage) return line;
  const start = line.slice(0, longestMessage - 1);
  return `${start}…`;
}

const reasons: Readonly<Record<number, KubeReason>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'notFound',
  408: 'unavailable',
  409: 'conflict',
  410: 'gone',
  429: 'throttled',
};

function reasonOf(status: number, body: StatusBody | undefined, patched: boolean): KubeReason {
  if (status === 409 && body?.reason === 'AlreadyExists') return 'exists';
  // The status 422 of a response to a JSON patch has two meanings. If a `test` operation of the patch failed, the response
  // contains neither the object's name nor a cause. If the schema refuses the patched object, the response contains both.
  const namesNothing = body === undefined || (body.details.causes.length === 0 && body.details.name === '');
  if (status === 422 && patched && namesNothing) return 'conflict';
  return reasons[status] ?? (status >= 400 && status < 500 ? 'invalid' : 'unavailable');
}

const text = z.string().catch('');

/**
 * The body of a response with which the API server refuses a request. Its `details` describe the object that the request was
 * about.
 */
const StatusBody = z.object({
  kind: z.literal('Status'),
  reason: text,
  message: text,
  details: z.object({ name: text, causes: z.array(z.unknown()).catch([]) }).catch({ name: '', causes: [] }),
});
type StatusBody = z.output<typeof StatusBody>;

function statusBodyOf(json: string): StatusBody | undefined {
  return StatusBody.safeParse(jsonIn(json)).data;
}

/**
 * Returns the error code of a transport failure or, without a code, the name of the innermost error. The failure's message is not
 * used, since it might quote what was sent.
 */
function codeOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  if ('code' in cause && typeof cause.code === 'string') return cause.code;
  return cause.cause === undefined ? cause.name : codeOf(cause.cause);
}
