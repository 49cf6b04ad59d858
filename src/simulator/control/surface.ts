/**
 * The control surface under /_sim. It answers only to loopback hosts, so that a page elsewhere cannot reach it by giving its own name
 * the address 127.0.0.1, and never to a request that a page of another origin makes.
 */
import { type AreaAnswer, type ControlRoute, addressed } from '../area.ts';
import type { Clockwork } from '../clockwork.ts';
import { addressOf, type Answered, type Reply, type HttpRequest, type Stream } from '../http/exchange.ts';
import { bodyOf, queryOf } from '../http/input.ts';
import { RequestRefusal } from '../http/refusal.ts';
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

interface Parts {
  readonly clockwork: Clockwork;
  readonly routes: readonly (ControlRoute | OwnRoute)[];
  readonly log: (line: string) => void;
}

/** Serves everything under /_sim. */
export class ControlSurface {
  readonly #parts: Parts;
  readonly #router: Router<ControlRoute | OwnRoute>;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#router = new Router(parts.routes);
  }

  async handle(request: HttpRequest): Promise<Reply> {
    const reply = await this.#perform(request);
    const durable = this.#parts.clockwork.durable();
    if (durable !== undefined) await durable;
    return reply;
  }

  async #perform(request: HttpRequest): Promise<Reply> {
    try {
      requireLoopback(request);
      const { path, query } = addressOf(request.url);
      const { route, id } = this.#router.find(request.method, path.slice(controlPrefix.length));
      const carries = route.method === 'POST' || route.method === 'PATCH';
      const body = carries ? bodyOf(request, { type: false, empty: true }) : {};
      this.#parts.clockwork.catchUp();
      if ('own' in route) {
        const isGivenUp = request.isGivenUp ?? (() => false);
        const answer = await route.own({ query: queryOf(query), body, isGivenUp });
        return 'kind' in answer ? answer : json(answer);
      }
      const call = { id, query: queryOf(query), body };
      return json(this.#parts.clockwork.transact('control', (world) => route.handle({ ...call, world })).result);
    } catch (error) {
      if (error instanceof RequestRefusal) return refused(error);
      this.#parts.log(`${request.method} ${request.url}: ${String(error instanceof Error ? error.stack : error)}`);
      return refused(new RequestRefusal(500, 'the simulator has a bug: see its log'));
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

function json(answer: AreaAnswer): Answered {
  const body = JSON.stringify(answer.body ?? {});
  return {
    kind: 'answered',
    status: answer.status,
    headers: { 'content-type': 'application/json' },
    body,
    committed: false,
  };
}

/** A refusal as the control surface answers it. */
export function refused(refusal: RequestRefusal): Answered {
  const answered = json({ status: refusal.status, body: { error: refusal.message, ...refusal.kept } });
  return { ...answered, headers: { ...answered.headers, ...refusal.headers } };
}
