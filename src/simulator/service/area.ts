/**
 * Defines what an area of the simulator is, such as apps or alerts, and how to add an area. Four files serve a request: `simulator.ts`
 * takes the request, `public/interface.ts` finds the route, `AREA/area.ts` has the route with its handler, and another file of that folder
 * defines the stored objects that the handler works on, such as `apps/app.ts`.
 *
 * An area is one value of type `Area`, listed once in `areas.ts`. It has these fields:
 *
 * - `collections`: the types of object that the area stores. Declare each with `collection()`, next to the TypeScript type of the object.
 *   Objects are plain JSON with dates in milliseconds.
 * - `routes`: its endpoints in the public API. The handler of a route, `handle(call)`, is synchronous and runs in one transaction. It
 *   changes `call.world` and returns its response, or throws a `RequestRefusal`, which undoes its changes. Token and scopes are checked
 *   before the handler runs (401, 403). A handler first finds the objects that the request refers to (`memberOf`, `adminOf`,
 *   `environmentFor`: 403, 404), then reads the fields (400), then applies the business rules. If the API does not document the status
 *   of a business rule's error, use `rejected(world, …)`.
 * - `timers`: functions that run later, without a request. `world.schedule('area.event', subject, at, data)` makes the function with that
 *   name run later in its own transaction, in which `world.now` is the time of the timer. Timers are stored, so they survive a restart.
 * - `control`: its routes under /_sim. The handlers of these routes also run in one transaction, but have no caller.
 *
 * For responses, format dates with `date(world, ms)`, read lists with `listed(call, …)`, and get the cursor of the next page from
 * `nextCursor(world, …)`. Set absent optional fields to undefined, so that the simulator option `fields.nulls` can show them as null.
 * Delays and rate limits follow wall time and not the simulator's clock, so an area does not handle them.
 */
import type { AnyCollection } from '../store/collection.ts';
import { type BodyFields, fields, type Reads } from '../http/fields.ts';
import type { MembershipRecord, Scope, Token } from './accounts/records.ts';
import type { RequestRefusal } from '../http/refusal.ts';
import type { World } from '../store/store.ts';

/** The HTTP methods that the service supports. */
export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** True if a request with this method sends its fields in the body; requests with other methods send their fields in the query. */
export function carriesBody(method: string): boolean {
  return method === 'POST' || method === 'PATCH';
}

/** The caller of a public request: the API token and its memberships. */
export interface Caller {
  readonly token: Token;
  readonly memberships: readonly MembershipRecord[];
}

/**
 * What the handler of a public endpoint receives: the request, its caller, and the settings of those faults that the handler itself
 * simulates.
 */
export interface AreaCall {
  readonly world: World;
  readonly caller: Caller;
  readonly query: BodyFields;
  readonly body: BodyFields;
  /** The age of the data that lists show, in milliseconds; set only by an injected `staleList` fault. */
  readonly staleListMs?: number | undefined;
  /** The number of components after which POST /solutions fails; set only by an injected fault. */
  readonly failAfterComponents?: number | undefined;
}

/** The answer of a route's handler. Simulator options may still change the body before it is sent. */
export interface AreaAnswer {
  readonly body?: unknown;
  /**
   * The error that the client receives. If the handler returns the error in this field, the handler's changes are kept. If it throws the
   * error instead, its changes are undone.
   */
  readonly refusal?: RequestRefusal;
}

/** Returns an answer with status 200 and the given body. */
export function ok(body?: unknown): AreaAnswer {
  return { body };
}

/** A public endpoint. Its path is relative to /api/public/v1. */
export interface Route {
  readonly method: Method;
  readonly path: string;
  /** The scopes of this endpoint; a token needs every one of them. */
  readonly scopes: readonly Scope[];
  /**
   * The names of the fields that the API documents for this endpoint: body fields for POST and PATCH, query parameters
   * for GET and DELETE. The simulator option `fields.unknown` decides whether a request with other fields is refused.
   * If the names are left out, the handler itself refuses other fields.
   */
  readonly takes?: readonly string[] | undefined;
  readonly handle: (call: AreaCall) => AreaAnswer;
}

/** A request to the control API, which serves the paths under /_sim. */
export interface ControlCall<Body = BodyFields> {
  readonly world: World;
  /** The part of the path that replaces `:id` in the route, such as an account id; empty if the route has no `:id`. */
  readonly id: string;
  readonly query: BodyFields;
  readonly body: Body;
}

/** A route of the control API. Its path is relative to /_sim and may contain `/:id`. */
export interface ControlRoute {
  readonly method: Method;
  readonly path: string;
  readonly does: string;
  readonly handle: (call: ControlCall) => AreaAnswer;
}

/** Creates a public endpoint from a string such as `GET /apps`. */
export function route(name: string, scopes: Route['scopes'], handle: Route['handle'], takes?: Route['takes']): Route {
  return { ...addressed(name), scopes, handle, takes };
}

/** Creates a route of the control API from a string such as `POST /accounts`; `reads` validates the body before the handler runs. */
export function control<Body>(
  name: string,
  does: string,
  reads: Reads<Body>,
  handle: (call: ControlCall<Body>) => AreaAnswer,
): ControlRoute {
  return { ...addressed(name), does, handle: (call) => handle({ ...call, body: reads(call.body, '') }) };
}

/** Validates the body of a control request that takes no fields. */
export const nothing = fields({});

/** Splits a string such as `GET /apps` into method and path. */
export function addressed(name: string): Pick<Route, 'method' | 'path'> {
  const [method, path = ''] = name.split(' ');
  return { method: method as Method, path };
}

/** A function that runs when its timer fires. */
export type Fires = (world: World, data: never) => void;

/** An area of the simulator, such as apps or alerts: its stored objects, endpoints, timers and control routes. */
export interface Area {
  readonly collections: readonly AnyCollection[];
  readonly routes: readonly Route[];
  readonly control?: readonly ControlRoute[];
  readonly timers?: Readonly<Record<string, Fires>>;
  /**
   * Estimates how much work the repeating timers of this area cause while the clock advances by `ms` milliseconds. The
   * result is a number of firings of a simple timer. If the total of all areas is too high, the clock refuses to
   * advance that far.
   */
  readonly workIn?: (world: World, ms: number) => number;
}
