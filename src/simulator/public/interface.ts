/**
 * Answers public requests. A request first waits for the configured latency, and for as long as a fault delays it. Then
 * all timers that are due fire. All further steps run without waiting: they check the token (401), the rate limit
 * (429), the path (404, 405), the scopes (403) and the form of the request (400, 413), and run the handler in a
 * transaction. A fault may prevent these steps, or change or replace the response. The client receives the response
 * only after all changes are on disk.
 */
import { authenticate, requireScopes } from '../service/accounts/access.ts';
import { type AreaCall, type Caller, carriesBody, type Route } from '../service/area.ts';
import { publicRoutes } from '../service/areas.ts';
import type { Clockwork } from '../service/clockwork.ts';
import { addressOf, answered, type Answered, bodyOf, bytesOf, type HttpRequest } from '../http/exchange.ts';
import type { Reply, Stream } from '../http/exchange.ts';
import { type FaultEffect, faults, effectName, takeFault } from '../service/faults.ts';
import { RateLimit } from './rate.ts';
import { invalid, notFound, refusalFor, type RequestRefusal } from '../http/refusal.ts';
import type { World } from '../store/store.ts';
import { routeFor } from '../service/router.ts';
import { bodyText, errorBody } from '../service/shape.ts';

/** The path prefix of the public API. */
export const publicPrefix = '/api/public/v1';

interface InterfaceParts {
  readonly clockwork: Clockwork;
  readonly latencyMs: number;
  readonly wait: (ms: number) => Promise<void>;
  readonly wallNow: () => number;
  readonly log: (line: string) => void;
}

/** A public request that is being answered. */
interface RunningRequest {
  readonly request: HttpRequest;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly seq: number;
  readonly effect: FaultEffect;
  /**
   * The fields and query parameters that the request has, but that the API documentation does not mention. They are listed in the request
   * log.
   */
  unknownFields: readonly string[];
}

/** Creates the functions of the public API. */
export function publicInterface({ clockwork, latencyMs, wait, wallNow, log }: InterfaceParts) {
  const { store, requests } = clockwork;
  const rate = new RateLimit();

  const refused = (refusal: RequestRefusal): Answered => {
    const { type, text } = errorBody(store.readings, refusal);
    return answered(refusal.status, text, { ...typed(type, text), ...refusal.headers });
  };

  const faultFor = (request: HttpRequest, path: string): FaultEffect | undefined => {
    if (store.of(faults).size === 0) return undefined;
    const body = Buffer.from(bytesOf(request.body)).toString('utf8');
    return clockwork.transact(undefined, (world) => takeFault(world, { method: request.method, path, body })).result;
  };

  const answer = (running: RunningRequest): Answered => {
    const { request, path, seq } = running;
    const caller = authenticate(store, request.headers['authorization']);
    const { token } = caller.token;
    rate.take(token, store.readings, wallNow());
    const { route } = routeFor(publicRoutes, request.method, path);
    requireScopes(caller, route.scopes);
    const call = callOf(running, route, caller, store);
    running.unknownFields = unknownFields(route, call);
    const cause = { requestSeq: seq, token, memberships: caller.memberships };
    const { result, committed } = clockwork.transact(cause, (world) => {
      const handled = route.handle(call);
      requireNamed(world, running.unknownFields);
      return handled;
    });
    if (result.refusal !== undefined) return { ...refused(result.refusal), committed };
    const body = result.body === undefined ? '' : bodyText(store.readings, result.body);
    return answered(200, body, typed('application/json', body), committed);
  };

  const performed = (running: RunningRequest): Answered => {
    try {
      return answer(running);
    } catch (error) {
      return refused(refusalFor(error, `${running.request.method} ${running.path}`, log));
    }
  };

  const handle = async (request: HttpRequest): Promise<Reply> => {
    const arrived = wallNow();
    const { path: address, query } = addressOf(request.url);
    const path = address.slice(publicPrefix.length);
    if (latencyMs > 0) await wait(latencyMs);
    const taken = faultFor(request, path);
    let effect = taken ?? {};
    while (effect.delayMs !== undefined) {
      await wait(effect.delayMs);
      effect = effect.then ?? {};
    }

    const seq = requests.nextSeq;
    clockwork.catchUp();
    const running: RunningRequest = { request, path, query, seq, effect, unknownFields: [] };
    const handled = instead(effect) ?? performed(running);
    const reply = handled.kind === 'answered' ? delivered(handled, effect) : handled;
    const { unknownFields: unknown } = running;
    clockwork.logRequest({
      seq,
      at: clockwork.now,
      method: request.method,
      path,
      query,
      status: reply.kind === 'answered' ? reply.status : 0,
      durationMs: Math.max(0, Math.round(wallNow() - arrived)),
      committed: handled.committed,
      ...(taken && { fault: effectName(taken) }),
      ...(unknown.length > 0 && { unknownFields: unknown }),
    });
    await clockwork.durable();
    return reply;
  };

  return {
    handle,
    /** Returns the 404 answer for a path that does not exist. */
    nothingHere: () => refused(notFound('the simulator has no route with this path')),
    /** Resets the rate limit, so that every token may send its full number of requests again. */
    reset: () => rate.clear(),
  };
}

function callOf({ request, query, effect }: RunningRequest, route: Route, caller: Caller, world: World): AreaCall {
  const body = carriesBody(route.method) ? bodyOf(request, 'strict') : {};
  const { staleList: staleListMs, failAfterComponents } = effect;
  return { world, caller, query, body, staleListMs, failAfterComponents };
}

/** Lists the fields and query parameters that a request has, but that the API documentation does not mention for the endpoint. */
function unknownFields({ takes, method }: Route, { body, query }: AreaCall): readonly string[] {
  if (takes === undefined) return [];
  const carries = carriesBody(method);
  const unknown = Object.keys(carries ? body : query).filter((name) => !takes.includes(name));
  return carries ? [...unknown, ...Object.keys(query)] : unknown;
}

/**
 * Fails if a request has undocumented fields and the simulator option `fields.unknown` is `refused`. Runs after the handler, so that the
 * handler's 403 and 404 errors come first.
 */
function requireNamed(world: World, unknown: readonly string[]): void {
  const [first] = unknown;
  const refuses = world.readings['fields.unknown'] === 'refused';
  if (first !== undefined && refuses) throw invalid(`${first} is not a field or parameter of this endpoint`);
}

function typed(type: string, body: string): Readonly<Record<string, string>> {
  return body === '' ? {} : { 'content-type': type };
}

/** Builds the response that a fault demands, with the given status, body and headers. */
function answeredWith(status: number, body: unknown, headers: Answered['headers'], committed: boolean): Answered {
  const isText = typeof body === 'string';
  const text = isText ? body : (JSON.stringify(body) ?? '');
  const type = typed(isText ? 'text/plain; charset=utf-8' : 'application/json', text);
  return answered(status, text, { ...type, ...headers }, committed);
}

/**
 * Returns what the client receives if a fault prevents the request from being carried out. Returns undefined if the
 * fault does not prevent it.
 */
function instead(effect: FaultEffect): Exclude<Reply, Stream> | undefined {
  const committed = false;
  if (effect.status !== undefined) return answeredWith(effect.status, effect.body, lowered(effect.headers), committed);
  if (effect.dropBefore === true) return { kind: 'reset', committed };
  if (effect.hang === true) return { kind: 'silent', committed };
  return effect.redirect === undefined ? undefined : answered(307, '', { location: effect.redirect });
}

/**
 * Applies a fault to a response, for example cuts off the body, or resets the connection instead of sending the
 * response.
 */
function delivered(handled: Answered, effect: FaultEffect): Reply {
  const { committed } = handled;
  const { commitThen, truncate, slowBodyMsPerByte: msPerByte, hugeBody } = effect;
  if (commitThen !== undefined) return answeredWith(commitThen.status, commitThen.body, {}, committed);
  if (effect.dropAfter === true) return { kind: 'reset', committed };
  if (effect.hangAfterCommit === true) return { kind: 'silent', committed };
  if (truncate !== undefined) return { ...handled, truncate };
  if (effect.garbage === true) return { ...handled, status: 200, headers: {}, body: '<html>{not json' };
  if (effect.emptyBody === true) return { ...handled, headers: {}, body: '' };
  if (msPerByte !== undefined) return { ...handled, msPerByte };
  if (hugeBody === undefined) return handled;
  return { ...handled, status: 200, headers: { 'content-type': 'application/json' }, hugeBody };
}

function lowered(headers: Answered['headers'] = {}): Answered['headers'] {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
