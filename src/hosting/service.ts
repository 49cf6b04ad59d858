import type { Clock, Entropy } from '../base/time.ts';
import type {
  Log,
  Metrics,
  Outcome,
  Request,
  SendOptions,
  Service,
  ServiceSettings,
  Urgency,
  ListListener,
} from '../engine/ports.ts';
import type { Credential } from './credential.ts';
import { startGauges } from './gauges.ts';
import type { BaseUrl } from './wire/hosts.ts';
import { Mirror } from './mirror/mirror.ts';
import { outcomeOf, type Seen, openTransport, shownText, withoutCredential } from './wire/transport.ts';
import type { Wire } from './wire/wire.ts';

/** The parts that a service is built from. */
export interface ServiceSurroundings {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly base: BaseUrl;
  readonly wire: Wire;
  readonly credential: Credential;
  /** How long a call that changes something may take; a read may take a third of it. */
  readonly callMs: number;
}

function isSlowedDown(seen: Seen): boolean {
  return seen.was === 'answer' && (seen.status === 429 || seen.status === 425);
}

type Listing = Omit<Parameters<ListListener>[0], 'service'>;

/** The account that a request names, wherever it does. */
function accountIn(request: Request): unknown {
  return request.query?.['accountId'] ?? request.body?.['accountId'];
}

/** Opens one account behind one credential. */
export function openService(
  settings: ServiceSettings,
  around: ServiceSurroundings,
  onList: (listing: Listing) => void,
  release: () => Promise<void>,
): Service {
  const { clock, credential } = around;
  const closing = new AbortController();
  const sending = new Set<Promise<unknown>>();
  const target = {
    origin: around.base.origin,
    basePath: around.base.path,
    token: settings.token,
    caBundle: settings.caBundle,
  };
  const transport = openTransport(target, around.wire, clock, around.callMs);
  const leaveBudget = credential.budget.join(settings);
  const mirror = new Mirror({
    ...around,
    ask: (request, urgency) =>
      credential.exchange(transport, request, { urgency, leaveQueue: closing.signal, signal: closing.signal }),
    pollMs: settings.pollSeconds * 1000,
    listsAtOnce: Math.max(settings.concurrency, 1),
    onList: (key, changed, problem) => onList({ key, changed, problem }),
  });

  const { budget } = credential;
  const { name: account } = settings;
  const stopGauges = account === undefined ? undefined : startGauges({ ...around, account, mirror, budget });

  const sent = async (request: Request, options: SendOptions): Promise<Outcome> => {
    const named = accountIn(request);
    if (named !== undefined && named !== settings.accountId) {
      return { is: 'notSent', message: 'the request is about another account' };
    }
    const exchange = (urgency: Urgency): Promise<Seen> =>
      credential.exchange(transport, request, {
        urgency,
        leaveQueue: closing.signal,
        ...(options.deadline !== undefined && { deadline: options.deadline }),
        mayStart: () => (closing.signal.aborted ? 'the account is being closed' : options.mayDispatch()),
      });
    const first = await exchange(options.urgency);
    // Another client may have used up this second's allowance: after the pause the request is sent once more, ahead of all
    // others.
    const again = options.deadline !== undefined && isSlowedDown(first) ? await exchange('dangerous') : first;
    const seen = again.was === 'notSent' || again.was === 'heldBack' ? first : again;
    const heldUntil = credential.heldUntil() ?? credential.budget.throttledUntil();
    const outcome = outcomeOf(
      request.effect,
      seen,
      heldUntil === undefined ? undefined : heldUntil - clock.monotonic(),
    );
    return outcome;
  };

  return {
    endpoint: around.base.host,
    accountId: settings.accountId,
    snapshot: (read) => mirror.snapshot(read),
    problem: (read) => mirror.problem(read),
    want: (read, since, urgency) => mirror.want(read, since, urgency),
    follow: (read) => mirror.follow(read),
    send: (request, options) => {
      const call = sent(request, options);
      sending.add(call);
      const ended = (): boolean => sending.delete(call);
      call.then(ended, ended);
      return call;
    },
    shown: <Value>(value: Value) =>
      typeof value === 'string'
        ? (shownText(value, settings.token) as Value & string)
        : withoutCredential(value, settings.token),
    waitMs: (urgency) => credential.budget.waitMs(urgency),
    announce: (urgency) => credential.budget.announce(urgency),
    health: () => ({
      unauthorizedSince: credential.unauthorizedSince,
      throttledUntil: credential.budget.throttledUntil(),
      slowedUntil: credential.budget.slowedUntil(),
      requestsPerSecond: credential.budget.requestsPerSecond(),
      forecastPerHour: mirror.schedule.forecastPerHour(),
      pollIntervalMs: mirror.schedule.pollIntervalMs(),
      rateLimitedMs: mirror.schedule.rateLimitedMs(),
    }),
    close: async () => {
      stopGauges?.();
      mirror.close();
      closing.abort();
      await Promise.allSettled(sending);
      leaveBudget();
      await release();
    },
  };
}
