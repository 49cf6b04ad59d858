import { type ControlRoute, control, nothing, ok } from './area.ts';
import { collection } from '../store/collection.ts';
import { choice, fields, must, number, object, onlyFields, onlyTrue, optional, present } from '../http/fields.ts';
import { type Reads, record, text } from '../http/fields.ts';
import { found, invalid } from '../http/refusal.ts';
import type { World } from '../store/store.ts';

const status = number({ min: 200, max: 599, whole: true });
const milliseconds = number({ min: 0, max: 3_600_000 });
const bytes = number({ min: 0, max: 1_000_000_000, whole: true });

const answer = fields({ status: must(status), body: (value: unknown) => value });

/** Validates the value of an HTTP header; a number is converted to a string. */
const headerValue: Reads<string> = (value, name) =>
  text({ min: 0 })(typeof value === 'number' ? String(value) : value, name);

const table = {
  status: ['answers with {status, body?, headers?} and changes nothing', status],
  commitThen: ['carries out the request, then answers with {status, body?} instead of the result', answer],
  dropBefore: ['resets the connection and changes nothing', onlyTrue],
  dropAfter: ['carries out the request, then resets the connection', onlyTrue],
  delayMs: [
    'waits this many milliseconds of real time, then handles the request or does what `then` says',
    milliseconds,
  ],
  hang: ['never answers and changes nothing', onlyTrue],
  hangAfterCommit: ['carries out the request, but never answers', onlyTrue],
  truncate: ['carries out the request; resets the connection after this many bytes of the response', bytes],
  failAfterComponents: [
    'makes POST /solutions fail after the given number of components; the error contains the installationId',
    number({ min: 0, max: 100, whole: true }),
  ],
  garbage: ['carries out the request, then answers 200 with a body that is not JSON', onlyTrue],
  emptyBody: ['carries out the request, then answers with the usual status, but with an empty body', onlyTrue],
  redirect: ['answers 307 with the given URL as Location, and changes nothing', headerValue],
  slowBodyMsPerByte: [
    'carries out the request, then sends the response body byte by byte, with the given milliseconds between two bytes',
    milliseconds,
  ],
  hugeBody: ['carries out the request, then answers 200 with a JSON body of the given number of bytes', bytes],
  staleList: ['makes lists show the state of the given number of milliseconds ago', number({ min: 0 })],
} as const satisfies Readonly<Record<string, readonly [does: string, reads: Reads<unknown>]>>;

type Table = typeof table;

/** The effects that a fault can have, each with a one-line explanation. */
export const effects = Object.entries(table).map(([name, [does]]) => ({ name, does }));

/**
 * What a fault does to a request. Exactly one field names the effect and holds its setting, such as `delayMs: 500`. Only `status` can be
 * combined with `body` and `headers`, and only `delayMs` with `then`.
 */
export type FaultEffect = { readonly [Name in keyof Table]?: ReturnType<Table[Name][1]> } & {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly then?: FaultEffect;
};

/**
 * A fault that affects later public requests. First, `skip` matching requests pass unaffected; then `count` matching requests are affected.
 * Both numbers are counted down, and the fault is removed when `count` is used up.
 */
export interface Fault {
  readonly faultId: string;
  /** The conditions under which a request matches the fault. The first `skip` matching requests are not affected; the next `count` are. */
  readonly match: ReturnType<typeof match> & { readonly skip: number; readonly count: number };
  readonly effect: FaultEffect;
}

/** All injected faults that have not been used up yet, oldest first. */
export const faults = collection<Fault>('faults', (fault) => fault.faultId);

/** The parts of a request that are compared with the `match` field of a fault. */
type FaultTarget = Readonly<Record<'method' | 'path' | 'body', string>>;

/**
 * Finds the oldest fault that affects a request, lowers its `count` by one and returns its effect; undefined if there
 * is none. Older faults that match the request but let it pass have their `skip` lowered by one.
 */
export function takeFault(world: World, request: FaultTarget): FaultEffect | undefined {
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

/** Returns the name of a fault's effect, for the request log. */
export function effectName(effect: FaultEffect): string {
  const own = Object.keys(table).find((name) => Object.hasOwn(effect, name)) ?? 'unknown';
  return effect.then === undefined ? own : `${own}, ${effectName(effect.then)}`;
}

function matches(match: Fault['match'], request: FaultTarget): boolean {
  if (match.method !== undefined && match.method !== request.method) return false;
  if (match.path !== undefined && !pathMatches(match.path, request.path)) return false;
  return match.bodyContains === undefined || request.body.includes(match.bodyContains);
}

/** True if a path matches a pattern, in which `*` stands for any text. */
function pathMatches(pattern: string, path: string): boolean {
  const parts = pattern.split(/\*+/).map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(path);
}

/** Validates the field `effect` of a control request (/_sim) that adds a fault. */
function effectFrom(value: unknown, name: string): FaultEffect {
  const fields = object(value, name);
  const names = Object.keys(table);
  const beside = Object.hasOwn(fields, 'status') ? ['body', 'headers'] : ['then'];
  onlyFields(fields, name, [...names, ...beside]);
  const [own, ...others] = Object.entries(table).filter(([key]) => Object.hasOwn(fields, key));
  if (own === undefined || others.length > 0)
    throw invalid(`${name} must have exactly one of the fields ${names.join(', ')}`);
  const [key, [, reads]] = own;
  if (Object.hasOwn(fields, 'then') && key !== 'delayMs')
    throw invalid(`${name}.then is allowed only together with delayMs`);
  return present({
    [key]: reads(fields[key], key),
    body: fields['body'],
    headers: optional(fields, 'headers', record(headerValue)),
    // oxlint-disable-next-line unicorn/no-thenable -- the control API has a field `then`, and its value is never a function
    then: optional(fields, 'then', (then) => effectFrom(then, `${name}.then`)),
  });
}

const match = fields({
  method: choice(['GET', 'POST', 'PATCH', 'DELETE', 'PUT']),
  path: text(),
  bodyContains: text(),
  skip: number({ min: 0, whole: true }),
  count: number({ min: 1, whole: true }),
});

/** Routes of the control API (/_sim) that add, list and remove faults. */
export const faultRoutes: readonly ControlRoute[] = [
  control(
    'POST /faults',
    'injects the fault {effect} into requests that match {match: {method?, path?, bodyContains?, skip?, count?}}',
    fields({ match, effect: must(effectFrom) }),
    ({ world, body: { match: { skip = 0, count = 1, ...which } = {}, effect } }) => {
      const faultId = world.id('fault');
      world.of(faults).put({ faultId, match: { ...which, skip, count }, effect });
      return ok({ faultId });
    },
  ),
  control('GET /faults', 'lists the faults that are not used up yet', nothing, ({ world }) =>
    ok({ items: world.of(faults).all() }),
  ),
  control('DELETE /faults', 'deletes every fault', nothing, ({ world }) => {
    for (const { faultId } of world.of(faults).all()) world.of(faults).remove(faultId);
    return ok({});
  }),
  control('DELETE /faults/:id', 'deletes one fault', nothing, ({ world, id }) => {
    world.of(faults).remove(found(world.of(faults).get(id), `no fault has the id "${id}"`).faultId);
    return ok({});
  }),
];
