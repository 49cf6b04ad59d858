/**
 * An area of the interface, and how it plugs in. A request is served in four files: `simulator.ts` takes it, `public/interface.ts` leads it
 * to the route, `AREA/area.ts` has the route with its handler, and the file of the thing beside it says what the thing is. An area is one
 * value of type `Area`, listed once in `areas.ts`:
 *
 * - `collections`: its slice of the world. Declare each with `collection()`, next to the type of its rows. Rows are plain JSON values
 *   with dates in milliseconds; `remembered: true` for what the public interface lists (lists may lag).
 * - `routes`: its public endpoints. `handle(call)` runs in one transaction and never waits: it changes `call.world` and answers, or it
 *   throws a `Refusal`, and nothing has happened. The pipeline has checked token and scopes before it (401, 403); after that the order
 *   inside a handler is: resolve what is named (`memberOf`, `adminOf`, `environmentFor`: 403, 404), then read the fields (400), then
 *   the rules. A business rule whose status the text does not show is refused with `rejected(world, …)`.
 * - `timers`: what happens by itself. `world.schedule('area.event', at, data)` and a function under the same name; each firing is a
 *   transaction of its own, with `world.now` at the timer's moment. Timers are rows: they survive a restart.
 * - `control`: its routes under /_sim, also in one transaction, without callers.
 *
 * In answers: dates go through `date(world, ms)`, optional fields are keys with the value undefined (so that `fields.nulls` can show
 * them), lists come from `listed(call, …)`, and pages end with `nextCursor(world, …)`. Times that the clock of the world should not
 * rule (delays, rate windows) belong to the pipeline, not to an area.
 */
import type { AnyCollection } from './store/collection.ts';
import type { BodyFields } from './http/fields.ts';
import type { MembershipRecord, Scope, Token } from './accounts/records.ts';
import type { RequestRefusal } from './http/refusal.ts';
import type { World } from './store/store.ts';

/** A verb of HTTP that the service knows. */
export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Tells if a request of this method carries a body; the others have a query. */
export function carriesBody(method: string): boolean {
  return method === 'POST' || method === 'PATCH';
}

/** The caller of a public request. */
export interface Caller {
  readonly token: Token;
  readonly memberships: readonly MembershipRecord[];
}

/** One public request as a handler sees it. */
export interface AreaCall {
  readonly world: World;
  readonly caller: Caller;
  readonly query: BodyFields;
  readonly body: BodyFields;
  /** An injected fault: lists as they were so long ago. */
  readonly staleListMs?: number | undefined;
  /** An injected fault: creating a solution stops after so many components. */
  readonly failAfterComponents?: number | undefined;
}

/** The answer of a handler; the readings shape its body before it is sent. */
export interface AreaAnswer {
  readonly status: number;
  readonly body?: unknown;
  /** An error that is answered although what the handler did so far stays. */
  readonly refusal?: RequestRefusal;
}

/** 200 with a body. */
export function ok(body?: unknown): AreaAnswer {
  return body === undefined ? { status: 200 } : { status: 200, body };
}

/** A public endpoint; the path is relative to the public prefix. */
export interface Route {
  readonly method: Method;
  readonly path: string;
  /** All of them are needed. */
  readonly scopes: readonly Scope[];
  /**
   * The names that the interface has for this request: fields of the body for POST and PATCH, parameters of the query for GET and DELETE. The
   * reading `fields.unknown` decides about others. Absent where the interface itself says that others are not accepted.
   */
  readonly takes?: readonly string[] | undefined;
  readonly handle: (call: AreaCall) => AreaAnswer;
}

/** One request to the control surface. */
export interface ControlCall {
  readonly world: World;
  /** The part of the path where the route says `:id`, or an empty string. */
  readonly id: string;
  readonly query: BodyFields;
  readonly body: BodyFields;
}

/** A route of the control surface; the path is relative to /_sim and may end in `/:id` or have it in the middle. */
export interface ControlRoute {
  readonly method: Method;
  readonly path: string;
  readonly does: string;
  readonly handle: (call: ControlCall) => AreaAnswer;
}

/** A public endpoint, from `METHOD /path`. */
export function route(
  name: string,
  scopes: readonly Scope[],
  handle: Route['handle'],
  takes?: readonly string[],
): Route {
  return { ...addressed(name), scopes, handle, takes };
}

/** A route of the control surface, from `METHOD /path`. */
export function control(name: string, does: string, handle: ControlRoute['handle']): ControlRoute {
  return { ...addressed(name), does, handle };
}

/** The method and the path of `METHOD /path`. */
export function addressed(name: string): Pick<Route, 'method' | 'path'> {
  const [method, path = ''] = name.split(' ');
  return { method: method as Method, path };
}

/** The function that runs when a timer fires. */
export type Fires = (world: World, data: never) => void;

/** One area of the interface. */
export interface Area {
  readonly name: string;
  readonly collections: readonly AnyCollection[];
  readonly routes: readonly Route[];
  readonly control?: readonly ControlRoute[];
  readonly timers?: Readonly<Record<string, Fires>>;
  /**
   * Estimates the work of its timers in so much time, in firings of a small timer: roughly, and only for what comes again and again. The
   * clock refuses to advance by what would take minutes.
   */
  readonly workIn?: (world: World, ms: number) => number;
}
