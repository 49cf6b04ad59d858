import { type ControlRoute, control } from '../area.ts';
import { ok } from '../area.ts';
import { collection } from '../store/collection.ts';
import {
  choice,
  type BodyFields,
  number,
  object,
  onlyFields,
  optional,
  present,
  record,
  required,
  text,
} from '../http/fields.ts';
import { invalid, notFound } from '../http/refusal.ts';
import type { World } from '../store/store.ts';

/** The effect of a fault on a request: exactly one of these fields (and `then` beside delayMs). */
export interface FaultEffect {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly commitThen?: { readonly status: number; readonly body?: unknown };
  readonly dropBefore?: boolean;
  readonly dropAfter?: boolean;
  readonly delayMs?: number;
  readonly then?: FaultEffect;
  readonly hang?: boolean;
  readonly hangAfterCommit?: boolean;
  readonly truncate?: number;
  readonly failAfterComponents?: number;
  readonly garbage?: boolean;
  readonly emptyBody?: boolean;
  readonly redirect?: string;
  readonly slowBodyMsPerByte?: number;
  readonly hugeBody?: number;
  readonly staleList?: number;
}

/** Every effect with one line. */
export const effects = {
  status: 'answers {status, body?, headers?}; nothing is committed',
  commitThen: 'commits, then answers {status, body?} instead',
  dropBefore: 'resets the connection; nothing is committed',
  dropAfter: 'commits, then resets the connection',
  delayMs: 'waits so long on wall time, then handles the request, under the effect `then` if there is one',
  hang: 'never answers; nothing is committed',
  hangAfterCommit: 'commits and never answers',
  truncate: 'commits, announces the whole body, sends so many bytes of it and resets the connection',
  failAfterComponents: 'POST /solutions fails after so many components, with the installationId',
  garbage: 'commits, then answers 200 with a body that is not JSON',
  emptyBody: 'commits, then answers with the right status and no body',
  redirect: 'answers 307 to this address; nothing is committed',
  slowBodyMsPerByte: 'commits, then sends the body byte by byte',
  hugeBody: 'commits, then answers 200 with a JSON body of so many bytes',
  staleList: 'lists show the world as it was so many milliseconds ago',
} as const;

/** Which requests a fault waits for. */
interface Match {
  readonly method?: string;
  readonly path?: string;
  readonly bodyContains?: string;
  readonly skip: number;
  readonly count: number;
}

/** A fault that waits; skip and count go down as requests match. */
export interface Fault {
  readonly faultId: string;
  readonly match: Match;
  readonly effect: FaultEffect;
}

/** The faults that wait, oldest first. */
export const faults = collection<Fault>('faults', (fault) => fault.faultId);

/** The request as faults look at it. */
export interface Matched {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** The effect for a request, if a fault waits for it; uses the fault up. */
export function takeFault(world: World, request: Matched): FaultEffect | undefined {
  for (const fault of world.of(faults).all()) {
    if (!matches(fault.match, request)) continue;
    const { skip, count } = fault.match;
    if (skip > 0) {
      world.of(faults).put({ ...fault, match: { ...fault.match, skip: skip - 1 } });
      continue;
    }
    if (count <= 1) world.of(faults).remove(fault.faultId);
    else world.of(faults).put({ ...fault, match: { ...fault.match, count: count - 1 } });
    return fault.effect;
  }
  return undefined;
}

/** The name of an effect, for the request log. */
export function nameOf(effect: FaultEffect): string {
  const own = Object.keys(effects).find((name) => Object.hasOwn(effect, name)) ?? 'unknown';
  return effect.then === undefined ? own : `${own}, ${nameOf(effect.then)}`;
}

function matches(match: Match, request: Matched): boolean {
  if (match.method !== undefined && match.method !== request.method) return false;
  if (match.path !== undefined && !pathMatches(match.path, request.path)) return false;
  return match.bodyContains === undefined || request.body.includes(match.bodyContains);
}

/** `*` stands for anything, without backtracking. */
function pathMatches(pattern: string, path: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return path === head;
  if (!path.startsWith(head)) return false;
  const tail = rest.pop() ?? '';
  let at = head.length;
  for (const part of rest) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return path.length - tail.length >= at && path.endsWith(tail);
}

const status = number({ min: 200, max: 599, whole: true });
const milliseconds = number({ min: 0, max: 3_600_000 });
const longestBody = 1_000_000_000;

/** `{dropAfter: true}`; `false` would be a fault that does nothing. */
function on(value: unknown, name: string): true {
  if (value !== true) throw invalid(`${name} is true or left out`);
  return true;
}

function effectFrom(fields: BodyFields, name: string): FaultEffect {
  const beside: readonly string[] = Object.hasOwn(fields, 'status') ? ['body', 'headers'] : ['then'];
  onlyFields(fields, name, [...Object.keys(effects), ...beside]);
  const own = Object.keys(effects).filter((key) => Object.hasOwn(fields, key));
  if (own.length !== 1) throw invalid(`${name} must name exactly one of ${Object.keys(effects).join(', ')}`);
  if (Object.hasOwn(fields, 'then') && own[0] !== 'delayMs') throw invalid(`${name}.then belongs to delayMs`);
  const then = optional(fields, 'then', object);
  const commitThen = optional(fields, 'commitThen', object);
  return present({
    status: optional(fields, 'status', status),
    body: fields['body'],
    headers: optional(fields, 'headers', headers),
    commitThen: commitThen && { status: required(commitThen, 'status', status), body: commitThen['body'] },
    dropBefore: optional(fields, 'dropBefore', on),
    dropAfter: optional(fields, 'dropAfter', on),
    delayMs: optional(fields, 'delayMs', milliseconds),
    // oxlint-disable-next-line unicorn/no-thenable -- the name is fixed, and the value is never a function
    then: then && effectFrom(then, `${name}.then`),
    hang: optional(fields, 'hang', on),
    hangAfterCommit: optional(fields, 'hangAfterCommit', on),
    truncate: optional(fields, 'truncate', number({ min: 0, max: longestBody, whole: true })),
    failAfterComponents: optional(fields, 'failAfterComponents', number({ min: 0, max: 100, whole: true })),
    garbage: optional(fields, 'garbage', on),
    emptyBody: optional(fields, 'emptyBody', on),
    redirect: optional(fields, 'redirect', headerValue),
    slowBodyMsPerByte: optional(fields, 'slowBodyMsPerByte', milliseconds),
    hugeBody: optional(fields, 'hugeBody', number({ min: 0, max: longestBody, whole: true })),
    staleList: optional(fields, 'staleList', number({ min: 0 })),
  });
}

function headerValue(value: unknown, name: string): string {
  const given = text({ min: 0, max: 8000 })(typeof value === 'number' ? String(value) : value, name);
  if (/[^\t\x20-\x7e]/.test(given)) throw invalid(`${name} is not a header value`);
  return given;
}

function headers(value: unknown, name: string): Readonly<Record<string, string>> {
  const given = record(headerValue)(value, name);
  const bad = Object.keys(given).find((key) => !/^[A-Za-z0-9_-]+$/.test(key));
  if (bad !== undefined) throw invalid(`${name}.${bad} is not a header name`);
  return given;
}

function matchFrom(fields: BodyFields): Match {
  onlyFields(fields, 'match', ['method', 'path', 'bodyContains', 'skip', 'count']);
  return present({
    method: optional(fields, 'method', choice(['GET', 'POST', 'PATCH', 'DELETE', 'PUT'])),
    path: optional(fields, 'path', text()),
    bodyContains: optional(fields, 'bodyContains', text()),
    skip: optional(fields, 'skip', number({ min: 0, whole: true })) ?? 0,
    count: optional(fields, 'count', number({ min: 1, whole: true })) ?? 1,
  });
}

/** The routes of the control surface about faults. */
export const faultRoutes: readonly ControlRoute[] = [
  control(
    'POST /faults',
    'a fault for the requests that match {method?, path?, bodyContains?, skip?, count?}',
    ({ world, body }) => {
      onlyFields(body, '', ['match', 'effect']);
      const match = matchFrom(optional(body, 'match', object) ?? {});
      const effect = effectFrom(required(body, 'effect', object), 'effect');
      const faultId = world.id('fault');
      world.of(faults).put({ faultId, match, effect });
      return ok({ faultId });
    },
  ),
  control('GET /faults', 'the faults that wait', ({ world }) => ok({ items: world.of(faults).all() })),
  control('DELETE /faults', 'forgets every fault', ({ world }) => {
    for (const { faultId } of world.of(faults).all()) world.of(faults).remove(faultId);
    return ok({});
  }),
  control('DELETE /faults/:id', 'forgets one fault', ({ world, id }) => {
    if (!world.of(faults).has(id)) throw notFound(`there is no fault "${id}"`);
    world.of(faults).remove(id);
    return ok({});
  }),
];
