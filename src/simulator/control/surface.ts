/**
 * The control surface under /_sim. It answers only to loopback hosts, so that a page elsewhere cannot reach it by giving its own name
 * the address 127.0.0.1, and never to a request that a page of another origin makes.
 */
import { type AreaAnswer, addressed, carriesBody, type ControlRoute } from '../area.ts';
import type { Clockwork } from '../clockwork.ts';
import { addressOf, answered, type Answered, type Reply, type HttpRequest, type Stream } from '../http/exchange.ts';
import { bodyOf, queryOf } from '../http/input.ts';
import { refusalFor, RequestRefusal } from '../http/refusal.ts';
import { Router } from '../http/router.ts';

/** A route that acts on the simulator itself, outside of any transaction. */
export interface OwnRoute extends Omit<ControlRoute, 'handle'> {
  readonly own: (call: {
    readonly query: ReturnType<typeof queryOf>;
    readonly body: ReturnType<typeof bodyOf>;
    /** Tells if the client went away. */
    readonly isGivenUp: () => boolean;
  }) => AreaAnswer | Answered | Stream | Promise<AreaAnswer>;
}

/** A route that acts on the simulator itself, from `METHOD /path`. */
export function own(name: string, does: string, run: OwnRoute['own']): OwnRoute {
  return { ...addressed(name), does, own: run };
}

/** The prefix of every control path. */
export const controlPrefix = '/_sim';

/** The longest body of a control request: a whole saved world fits. */
export const longestControlBody = 64 * 1024 * 1024;

/** Serves everything under /_sim. */
export class ControlSurface {
  readonly #clockwork: Clockwork;
  readonly #router: Router<ControlRoute | OwnRoute>;
  readonly #log: (line: string) => void;

  constructor(clockwork: Clockwork, routes: readonly (ControlRoute | OwnRoute)[], log: (line: string) => void) {
    this.#clockwork = clockwork;
    this.#router = new Router(routes);
    this.#log = log;
  }

  async handle(request: HttpRequest): Promise<Reply> {
    const reply = await this.#perform(request);
    await this.#clockwork.durable();
    return reply;
  }

  async #perform(request: HttpRequest): Promise<Reply> {
    try {
      requireLoopback(request);
      const { path, query } = addressOf(request.url);
      const { route, id } = this.#router.find(request.method, path.slice(controlPrefix.length));
      const body = carriesBody(route.method) ? bodyOf(request, { type: false, empty: true }) : {};
      this.#clockwork.catchUp();
      if ('own' in route) {
        const isGivenUp = request.isGivenUp ?? (() => false);
        const answer = await route.own({ query: queryOf(query), body, isGivenUp });
        return 'kind' in answer ? answer : json(answer);
      }
      const call = { id, query: queryOf(query), body };
      return json(this.#clockwork.transact('control', (world) => route.handle({ ...call, world })).result);
    } catch (error) {
      return refused(refusalFor(error, `${request.method} ${request.url}`, this.#log));
    }
  }
}

/** Refuses a request that does not come from this machine's own tools or page. */
export function requireLoopback(request: HttpRequest): void {
  const host = request.headers['host'] ?? '';
  const name = host.replace(/:\d+$/, '').toLowerCase();
  if (name !== 'localhost' && name !== '[::1]' && !/^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name)) {
    throw new RequestRefusal(403, 'the control surface answers to loopback hosts only');
  }
  const origin = request.headers['origin'];
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
    throw new RequestRefusal(403, 'the control surface does not answer to other origins');
  }
}

function json({ status, body = {} }: AreaAnswer): Answered {
  return answered(status, JSON.stringify(body), { 'content-type': 'application/json' });
}

/** A refusal as the control surface answers it. */
export function refused(refusal: RequestRefusal): Answered {
  const answer = json({ status: refusal.status, body: { error: refusal.message, ...refusal.kept } });
  return { ...answer, headers: { ...answer.headers, ...refusal.headers } };
}
