/**
 * Serves the simulator's control API under /_sim, to this machine only. Refuses a request whose Host header is not a
 * loopback address, and a request from a web page of another origin.
 */
import { addressed, type AreaAnswer, carriesBody, control, nothing, ok } from '../service/area.ts';
import type { ControlCall, ControlRoute } from '../service/area.ts';
import { areas, collectionNames, publicRoutes } from '../service/areas.ts';
import type { Clockwork } from '../service/clockwork.ts';
import { addressOf, answered, type Answered, bodyOf, type HttpRequest, type Reply } from '../http/exchange.ts';
import type { Stream } from '../http/exchange.ts';
import { type BodyFields, fields, must, number, object, optional, queryNumber } from '../http/fields.ts';
import { invalid, refusalFor, RequestRefusal, taken } from '../http/refusal.ts';
import { routeFor } from '../service/router.ts';
import { accountRoutes, tokenRoutes } from './accounts.ts';
import { json, refused, requireLoopback } from '../http/local.ts';
import { fill, forms } from '../page/forms/fill.ts';
import { viewOf } from '../page/view.ts';
import { effects, faultRoutes } from '../service/faults.ts';
import { changeReadings, everyReading } from '../store/readings.ts';
import type { PackedLog } from '../store/packed-log.ts';
import type { LoggedRequest } from '../store/requests.ts';
import { type Commit, savedWorld, settings } from '../store/saved.ts';
import type { StartWorld } from '../service/worlds.ts';

/**
 * A control route that reads or changes the whole simulator, such as its clock. Its handler is not run in a transaction, but opens
 * transactions itself if it needs them.
 */
interface OwnRoute extends Omit<ControlRoute, 'handle'> {
  readonly own: (call: Pick<ControlCall, 'query' | 'body'>) => AreaAnswer | Answered | Stream | Promise<AreaAnswer>;
}

/** Creates a control route that reads or changes the whole simulator, from a string such as `GET /clock`. */
function own(name: string, does: string, run: OwnRoute['own']): OwnRoute {
  return { ...addressed(name), does, own: run };
}

/** The path prefix of the control API. */
export const controlPrefix = '/_sim';

/** The maximum body size of a control request in bytes; large enough for a file with the simulator's saved data. */
export const longestControlBody = 64 * 1024 * 1024;

interface ControlParts {
  readonly clockwork: Clockwork;
  readonly reset: (world?: StartWorld) => void;
  readonly events: Stream;
  readonly log: (line: string) => void;
}

/** Returns the function that handles every request to the control API (/_sim). */
export function controlSurface(parts: ControlParts): (request: HttpRequest) => Promise<Reply> {
  const { clockwork, log } = parts;
  const routes = controlRoutes(parts);
  const performed = async (request: HttpRequest): Promise<Reply> => {
    requireLoopback(request);
    const { path, query } = addressOf(request.url);
    const { route, id } = routeFor(routes, request.method, path.slice(controlPrefix.length));
    const body = carriesBody(route.method) ? bodyOf(request, 'lenient') : {};
    clockwork.catchUp();
    if ('handle' in route) {
      const { result } = clockwork.transact('control', (world) => route.handle({ world, id, query, body }));
      return json(200, result.body);
    }
    const answer = await route.own({ query, body });
    return 'kind' in answer ? answer : json(200, answer.body);
  };
  return async (request) => {
    const refuse = (error: unknown) => refused(refusalFor(error, `${request.method} ${request.url}`, log));
    const reply = await performed(request).catch(refuse);
    await clockwork.durable();
    return reply;
  };
}

const longestAdvanceMs = 10 * 366 * 24 * 3_600_000;

/** Lists every route of the control API (/_sim). */
function controlRoutes(parts: ControlParts): readonly (ControlRoute | OwnRoute)[] {
  const routes: readonly (ControlRoute | OwnRoute)[] = [
    own('GET /healthz', 'answers 200 while the simulator is running', () => ok({ status: 'ok' })),
    own('GET /', 'lists every route, fault effect and simulator option', () => ok(manual(routes))),
    ...worldRoutes(parts),
    ...logRoutes(parts.clockwork),
    ...readingRoutes,
    ...pageRoutes(parts.clockwork),
    own('GET /events', 'streams changes and public requests as server-sent events', () => parts.events),
    ...accountRoutes,
    ...tokenRoutes,
    ...faultRoutes,
    ...areas.flatMap((area) => area.control ?? []),
  ];
  return routes;
}

function worldRoutes({ clockwork, reset }: ControlParts): readonly OwnRoute[] {
  const clock = () => ok({ now: iso(clockwork.now), mode: clockwork.mode });
  return [
    own('GET /world', 'returns all data of the simulator as JSON', () => ok(clockwork.store.save())),
    own(
      'POST /reset',
      "replaces all data with the simulator's start data (flag --world), or with the data that {world} names: demo, empty, or saved data",
      ({ body }) => {
        reset(fields({ world: startWorld })(body, '').world);
        return ok({});
      },
    ),
    own('GET /clock', "returns the time of the simulator's clock, and if the clock is real or virtual", clock),
    own('POST /clock/advance', 'advances the virtual clock by {ms} milliseconds', async ({ body }) => {
      const { ms } = fields({ ms: must(number({ min: 0, max: longestAdvanceMs, whole: true })) })(body, '');
      if (clockwork.mode === 'real') throw taken('the simulator runs with a real clock, which cannot be advanced');
      const atMost = clockwork.tooMuchFor(ms);
      if (atMost !== undefined)
        throw invalid(`ms is too large: the clock can advance by at most ${atMost} ms at a time`);
      const end = await clockwork.advanceInSlices(ms);
      if (end === 'stopped')
        throw new RequestRefusal(
          503,
          `the clock advanced only to ${iso(clockwork.now)}, because the simulator ends or was reset`,
        );
      return clock();
    }),
  ];
}

function startWorld(given: unknown): StartWorld {
  if (given === 'demo' || given === 'empty') return given;
  if (typeof given === 'string') throw invalid('world must be demo, empty or the JSON of GET /_sim/world');
  const saved = savedWorld(given, collectionNames);
  if (typeof saved === 'string') throw invalid(`world: ${saved}`);
  return saved;
}

function logRoutes({ store, requests }: Clockwork): readonly OwnRoute[] {
  const after = (query: BodyFields) =>
    optional(query, 'after', queryNumber({ min: 0, max: Number.MAX_SAFE_INTEGER })) ?? 0;
  return [
    own('GET /ledger', 'lists the changes whose number is greater than SEQ (after=SEQ)', ({ query }) =>
      linesAfter(store.ledger, after(query), shownCommit),
    ),
    own(
      'GET /requests',
      'lists the requests of the public API whose number is greater than SEQ (after=SEQ)',
      ({ query }) => linesAfter(requests.log, after(query), shownRequest),
    ),
    own('GET /counts', 'counts requests, and requests that changed something, by method and path', () =>
      ok({ items: requests.counts() }),
    ),
  ];
}

/**
 * Answers with the lines of a log whose numbers are above `seq`. If some of these lines were dropped, fails with 410 and the number of the
 * first line that is still in the log.
 */
function linesAfter<T extends { readonly seq: number }>(
  log: PackedLog<T>,
  seq: number,
  show: (line: T) => unknown,
): Answered {
  const { gone } = log;
  if (seq < gone)
    throw new RequestRefusal(410, `the lines up to ${gone} are no longer kept: use after=${gone} or higher`, {
      first: gone + 1,
    });
  const pieces = () => itemsText(log.partsAfter(seq), show);
  return {
    ...answered(200, '', { 'content-type': 'application/json' }),
    get body() {
      return [...pieces()].join('');
    },
    pieces,
  };
}

/** Yields the JSON text `{"items": […]}` in pieces; the items are the lines of a log. */
function* itemsText<T>(parts: Iterable<readonly T[]>, show: (line: T) => unknown): Iterable<string> {
  yield '{"items":[';
  let comma = '';
  for (const lines of parts) {
    if (lines.length === 0) continue;
    yield comma + lines.map((line) => JSON.stringify(show(line))).join(',');
    comma = ',';
  }
  yield ']}';
}

const readingRoutes: readonly ControlRoute[] = [
  control('GET /readings', 'returns the values of all simulator options', nothing, ({ world }) => ok(world.readings)),
  control('PATCH /readings', 'changes simulator options: {NAME: VALUE}', object, ({ world, body }) => {
    const readings = changeReadings(world.readings, body);
    if (typeof readings === 'string') throw invalid(readings);
    world.of(settings).put({ key: 'readings', value: readings });
    return ok(readings);
  }),
];

/** Lists the control routes (/_sim) that serve the simulator's web page. */
function pageRoutes(clockwork: Clockwork): readonly ControlRoute[] {
  return [
    control(
      'GET /view',
      'returns the data for the web page, without secrets; with epoch= and after=REVISION, only what has changed since',
      nothing,
      ({ world, query }) => ok(viewOf(clockwork, world, query)),
    ),
    control('GET /forms', 'lists every request that the web page can send, with its fields', nothing, () =>
      ok({ items: forms }),
    ),
    control(
      'POST /forms',
      'fills in the form of a request with ids and values of existing objects: {method, path, token?, given?: {FIELD: VALUE}}',
      object,
      ({ world, body }) => ok(fill(world, body, clockwork.requests.log.lastSeq)),
    ),
  ];
}

function manual(routes: readonly (ControlRoute | OwnRoute)[]): unknown {
  return {
    routes: routes.map(({ method, path, does }) => ({ method, path: `/_sim${path}`, does })),
    publicRoutes: publicRoutes.map(({ method, path, scopes }) => ({ method, path, scopes })),
    effects,
    readings: everyReading,
  };
}

/** Formats a line of the change log for `GET /_sim/ledger`. */
export function shownCommit(commit: Commit): unknown {
  const { seq, at, kind, id, accountId, requestSeq, token, membershipId, control, requestId, detail = {} } = commit;
  return { seq, at: iso(at), kind, id, accountId, requestSeq, token, membershipId, control, requestId, detail };
}

/** Formats a line of the request log for `GET /_sim/requests`. */
export function shownRequest(request: LoggedRequest): unknown {
  return { ...request, at: iso(request.at) };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
