/**
 * Defines what an area of the interface is, and how an area is added. Four files serve a request: `simulator.ts` takes the request,
 * `public/interface.ts` finds the route, `AREA/area.ts` has the route with its handler, and another file of that folder defines the rows
 * that the handler works on, such as `apps/app.ts`.
 *
 * An area is one value of type `Area`, listed once in `areas.ts`:
 *
 * - `collections`: the rows that the area adds to the world. Declare each collection with `collection()`, next to the type of its rows.
 *   Rows are plain JSON values with dates in milliseconds.
 * - `routes`: its public endpoints. `handle(call)` runs in one transaction and never waits: it changes `call.world` and answers, or it
 *   throws a `RequestRefusal` and changes nothing. Token and scopes are checked before (401, 403). A handler first finds what the request
 *   names (`memberOf`, `adminOf`, `environmentFor`: 403, 404), then reads the fields (400), then applies the rules. Use `rejected(world,
 *   …)` for a business rule whose status the interface does not say.
 * - `timers`: what happens later without a request. `world.schedule('area.event', subject, at, data)` calls the function of that name
 *   later, in a transaction of its own, with `world.now` at the time of the timer. Timers are rows, so they survive a restart.
 * - `control`: its routes under /_sim. They also run in one transaction, but have no caller.
 *
 * In answers, make dates with `date(world, ms)`, lists with `listed(call, …)` and the end of a page with `nextCursor(world, …)`. Set absent
 * optional fields to undefined, so that the reading `fields.nulls` can show them. Delays and rate limits follow wall time and not the clock
 * of the world, so an area does not handle them.
 */
import type { AnyCollection } from './store/collection.ts';
import { type BodyFields, fields, type Reads } from './http/fields.ts';
import type { MembershipRecord, Scope, Token } from './accounts/records.ts';
import type { RequestRefusal } from './http/refusal.ts';
import type { World } from './store/store.ts';

/** An HTTP method that the service knows. */
export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Tells if requests of a method send their fields in the body; requests of other methods send them in the query. */
export function carriesBody(method: string): boolean {
  return method === 'POST' || method === 'PATCH';
}

/** The caller of a public request. */
export interface Caller {
  readonly token: Token;
  readonly memberships: readonly MembershipRecord[];
}

/** A public request, as the handler of its route gets it. */
export interface AreaCall {
  readonly world: World;
  readonly caller: Caller;
  readonly query: BodyFields;
  readonly body: BodyFields;
  /** The age of the rows that lists show, in milliseconds; set by an injected fault. */
  readonly staleListMs?: number | undefined;
  /** The number of components after which creating a solution fails; set by an injected fault. */
  readonly failAfterComponents?: number | undefined;
}

/** The answer of a handler. Readings may still change the body before it is sent. */
export interface AreaAnswer {
  readonly body?: unknown;
  /** The error to answer with; unlike a thrown refusal, it keeps the changes of the handler. */
  readonly refusal?: RequestRefusal;
}

/** Makes an answer with status 200 and a body. */
export function ok(body?: unknown): AreaAnswer {
  return { body };
}

/** A public endpoint. Its path is relative to the public prefix. */
export interface Route {
  readonly method: Method;
  readonly path: string;
  /** The scopes that a token must have, all of them. */
  readonly scopes: readonly Scope[];
  /**
   * The names of the fields that the interface gives this request: in the body for POST and PATCH, in the query for GET and DELETE. The
   * reading `fields.unknown` says whether other fields are refused. Undefined if the handler itself refuses other fields.
   */
  readonly takes?: readonly string[] | undefined;
  readonly handle: (call: AreaCall) => AreaAnswer;
}

/** A request to the control surface, which serves the paths under /_sim. */
export interface ControlCall<Body = BodyFields> {
  readonly world: World;
  /** The part of the path that takes the place of `:id` in the route; empty if the route has no `:id`. */
  readonly id: string;
  readonly query: BodyFields;
  readonly body: Body;
}

/** A route of the control surface. Its path is relative to /_sim and may contain `/:id`. */
export interface ControlRoute {
  readonly method: Method;
  readonly path: string;
  readonly does: string;
  readonly handle: (call: ControlCall) => AreaAnswer;
}

/** Makes a public endpoint from `METHOD /path`. */
export function route(name: string, scopes: Route['scopes'], handle: Route['handle'], takes?: Route['takes']): Route {
  return { ...addressed(name), scopes, handle, takes };
}

/** Makes a route of the control surface from `METHOD /path`; `reads` checks the body before it is handled. */
export function control<Body>(
  name: string,
  does: string,
  reads: Reads<Body>,
  handle: (call: ControlCall<Body>) => AreaAnswer,
): ControlRoute {
  return { ...addressed(name), does, handle: (call) => handle({ ...call, body: reads(call.body, '') }) };
}

/** Reads the body of a request that takes no fields. */
export const nothing = fields({});

/** Splits `METHOD /path` into method and path. */
export function addressed(name: string): Pick<Route, 'method' | 'path'> {
  const [method, path = ''] = name.split(' ');
  return { method: method as Method, path };
}

/** A function that runs when its timer fires. */
export type Fires = (world: World, data: never) => void;

/** An area of the interface, such as apps or alerts. */
export interface Area {
  readonly collections: readonly AnyCollection[];
  readonly routes: readonly Route[];
  readonly control?: readonly ControlRoute[];
  readonly timers?: Readonly<Record<string, Fires>>;
  /**
   * Estimates how much work the repeating timers of this area cause in a span of time, counted in firings of a small timer. The clock
   * refuses to advance by a span that causes too much work.
   */
  readonly workIn?: (world: World, ms: number) => number;
}
