/**
 * The pipeline of the public interface. In order: an injected fault is taken, delays pass, timers that are due fire, then in one step
 * without waiting: token (401), rate (429), path (404, 405), scopes (403), form of the request (400, 413), the handler in its
 * transaction. What was committed is on disk before the answer, or the fault that replaces it, goes out.
 */
import { authenticate, requireScopes } from '../accounts/access.ts';
import type { AreaAnswer, AreaCall, Caller, Route } from '../area.ts';
import type { Clockwork } from '../clockwork.ts';
import { type PeerAddress, addressOf, type Answered, bytesOf, type Reply, type HttpRequest } from '../http/exchange.ts';
import { type FaultEffect, faults, nameOf, takeFault } from './faults.ts';
import { bodyOf, queryOf } from '../http/input.ts';
import { RateLimit } from './rate.ts';
import { invalid, RequestRefusal } from '../http/refusal.ts';
import type { World } from '../store/store.ts';
import type { RequestLog } from '../store/requests.ts';
import { Router } from '../http/router.ts';
import { bodyText, errorBody } from './shape.ts';

/** The prefix of every public path. */
export const publicPrefix = '/api/public/v1';

interface Parts {
  readonly clockwork: Clockwork;
  readonly routes: readonly Route[];
  readonly requests: RequestLog;
  readonly latencyMs: number;
  readonly wait: (ms: number) => Promise<void>;
  readonly wallNow: () => number;
  readonly log: (line: string) => void;
}

/** Facts about a request that only the request log shows. */
interface Noted {
  unknownFields: readonly string[];
}

interface About {
  readonly seq: number;
  readonly noted: Noted;
}

/** Serves everything under the public prefix. */
export class PublicInterface {
  readonly #parts: Parts;
  readonly #router: Router<Route>;
  readonly #rate = new RateLimit();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#router = new Router(parts.routes);
  }

  /** Gives every token its whole share of this second again. */
  reset(): void {
    this.#rate.clear();
  }

  async handle(request: HttpRequest): Promise<Reply> {
    const { clockwork, latencyMs, wait, wallNow } = this.#parts;
    const arrived = wallNow();
    const address = addressOf(request.url);
    const path = address.path.slice(publicPrefix.length);
    if (latencyMs > 0) await wait(latencyMs);
    const taken = this.#takeFault(request, path);
    let effect = taken;
    while (effect?.delayMs !== undefined) {
      await wait(effect.delayMs);
      effect = effect.then;
    }

    const seq = this.#parts.requests.next();
    clockwork.catchUp();
    const early = effect === undefined ? undefined : instead(effect);
    const noted: Noted = { unknownFields: [] };
    const answered = early ?? this.#perform(request, { ...address, path }, effect, { seq, noted });
    const reply = effect === undefined || answered.kind !== 'answered' ? answered : delivered(answered, effect);
    this.#parts.requests.add({
      seq,
      at: clockwork.now,
      method: request.method,
      path,
      query: Object.fromEntries(address.query),
      status: reply.kind === 'answered' ? reply.status : 0,
      durationMs: Math.max(0, Math.round(wallNow() - arrived)),
      committed: answered.kind === 'answered' && answered.committed,
      ...(taken === undefined ? {} : { fault: nameOf(taken) }),
      ...(noted.unknownFields.length === 0 ? {} : { unknownFields: noted.unknownFields }),
    });
    const durable = clockwork.durable();
    if (durable !== undefined) await durable;
    return reply;
  }

  /** The answer to bytes that are no valid request. */
  broken(status: number, message: string): Answered {
    return this.#refused(new RequestRefusal(status, message));
  }

  #takeFault(request: HttpRequest, path: string): FaultEffect | undefined {
    const { clockwork } = this.#parts;
    if (clockwork.store.of(faults).size === 0) return undefined;
    const body = Buffer.from(bytesOf(request.body)).toString('utf8');
    return clockwork.transact(undefined, (world) => takeFault(world, { method: request.method, path, body })).result;
  }

  #perform(request: HttpRequest, address: PeerAddress, effect: FaultEffect | undefined, about: About): Answered {
    try {
      return this.#answer(request, address, effect, about);
    } catch (error) {
      if (error instanceof RequestRefusal) return this.#refused(error);
      this.#parts.log(`${request.method} ${address.path}: ${String(error instanceof Error ? error.stack : error)}`);
      return this.#refused(new RequestRefusal(500, 'the simulator has a bug: see its log'));
    }
  }

  #answer(
    request: HttpRequest,
    address: PeerAddress,
    effect: FaultEffect | undefined,
    { seq, noted }: About,
  ): Answered {
    const { clockwork, wallNow } = this.#parts;
    const caller = authenticate(clockwork.store, request.headers['authorization']);
    this.#rate.take(caller.token.token, clockwork.store.readings, wallNow());
    const { route } = this.#router.find(request.method, address.path);
    requireScopes(caller, route.scopes);
    const call = this.#callOf(request, address, route, caller, effect);
    const cause = { requestSeq: seq, token: caller.token.token, memberships: caller.memberships };
    noted.unknownFields = unknownFields(route, call);
    const { result, committed } = clockwork.transact(cause, (world) => {
      const answer = route.handle({ ...call, world });
      requireNamed(world, noted.unknownFields);
      return answer;
    });
    return this.#rendered(result, committed);
  }

  #callOf(
    request: HttpRequest,
    address: PeerAddress,
    route: Route,
    caller: Caller,
    effect: FaultEffect | undefined,
  ): AreaCall {
    const carries = route.method === 'POST' || route.method === 'PATCH';
    if (!carries && request.tooLarge === true) bodyOf(request, { type: false, empty: true });
    return {
      world: this.#parts.clockwork.store,
      caller,
      query: queryOf(address.query),
      body: carries ? bodyOf(request, { type: true, empty: false }) : {},
      ...(effect?.staleList === undefined ? {} : { staleListMs: effect.staleList }),
      ...(effect?.failAfterComponents === undefined ? {} : { failAfterComponents: effect.failAfterComponents }),
    };
  }

  #rendered(answer: AreaAnswer, committed: boolean): Answered {
    const { readings } = this.#parts.clockwork.store;
    if (answer.refusal !== undefined) return { ...this.#refused(answer.refusal), committed };
    const body = answer.body === undefined ? '' : bodyText(readings, answer.body);
    return { kind: 'answered', status: answer.status, headers: typed('application/json', body), body, committed };
  }

  #refused(refusal: RequestRefusal): Answered {
    const { type, text } = errorBody(this.#parts.clockwork.store.readings, refusal);
    const headers = { ...typed(type, text), ...refusal.headers };
    return { kind: 'answered', status: refusal.status, headers, body: text, committed: false };
  }
}

const none: readonly string[] = [];

/** The fields and parameters of a request that the interface does not name for this route. */
function unknownFields({ takes, method }: Route, { body, query }: AreaCall): readonly string[] {
  if (takes === undefined) return none;
  const carries = method === 'POST' || method === 'PATCH';
  const unknown = Object.keys(carries ? body : query).filter((name) => !takes.includes(name));
  return carries ? [...unknown, ...Object.keys(query)] : unknown;
}

/** Refuses unknown fields where the reading says so, after 403 and 404 in the order of statuses. */
function requireNamed(world: World, unknown: readonly string[]): void {
  const [first] = unknown;
  if (first !== undefined && world.readings['fields.unknown'] === 'refused')
    throw invalid(`${first} is not a known field`);
}

function typed(type: string, body: string): Readonly<Record<string, string>> {
  return body === '' ? {} : { 'content-type': type };
}

function bodyOfEffect(body: unknown): Pick<Answered, 'body' | 'headers'> {
  if (body === undefined) return { body: '', headers: {} };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return {
    body: text,
    headers: typed(typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json', text),
  };
}

/** The reply of an effect that replaces the handling of a request; undefined for other effects. */
function instead(effect: FaultEffect): Reply | undefined {
  const committed = false;
  if (effect.status !== undefined) {
    const { body, headers } = bodyOfEffect(effect.body);
    return {
      kind: 'answered',
      status: effect.status,
      body,
      headers: { ...headers, ...lowered(effect.headers) },
      committed,
    };
  }
  if (effect.dropBefore === true) return { kind: 'reset', committed };
  if (effect.hang === true) return { kind: 'silent', committed };
  if (effect.redirect !== undefined) {
    return { kind: 'answered', status: 307, headers: { location: effect.redirect }, body: '', committed };
  }
  return undefined;
}

/** The reply after an effect has changed the answer of a request that was handled. */
function delivered(answered: Answered, effect: FaultEffect): Reply {
  const { committed } = answered;
  if (effect.commitThen !== undefined) {
    return { kind: 'answered', status: effect.commitThen.status, ...bodyOfEffect(effect.commitThen.body), committed };
  }
  if (effect.dropAfter === true) return { kind: 'reset', committed };
  if (effect.hangAfterCommit === true) return { kind: 'silent', committed };
  if (effect.truncate !== undefined) return { ...answered, truncate: effect.truncate };
  if (effect.garbage === true) return { ...answered, status: 200, headers: {}, body: '<html>{not json' };
  if (effect.emptyBody === true) return { ...answered, headers: {}, body: '' };
  if (effect.slowBodyMsPerByte !== undefined) return { ...answered, msPerByte: effect.slowBodyMsPerByte };
  if (effect.hugeBody !== undefined) {
    return { ...answered, status: 200, headers: { 'content-type': 'application/json' }, hugeBody: effect.hugeBody };
  }
  return answered;
}

function lowered(headers: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
