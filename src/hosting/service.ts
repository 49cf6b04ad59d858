/**
 * Opens a client of the hosting service for each account, if the host rules allow the account's base URL. The accounts
 * of one credential share a request budget and a set of connections. Each credential has connections of its own, so
 * calls that hang do not block other credentials.
 */
import type { Clock, Entropy } from '../base/time.ts';
import { createHash } from 'node:crypto';
import type {
  Hosting,
  Log,
  Metrics,
  Service,
  ServiceSettings,
  Outcome,
  Request,
  SendOptions,
  Urgency,
} from '../engine/ports.ts';
import { clientClosed, Credential } from './credential.ts';
import { checkBaseUrl, type HostRules, type BaseUrl } from './wire/hosts.ts';
import { openNames } from './wire/names.ts';
import { openUndiciWire, type OpenWire, type Wire } from './wire/wire.ts';
import { Mirror, type MirrorOptions } from './mirror/mirror.ts';
import { isThrottled, outcomeOf, type Seen, openTransport, shownText, withoutCredential } from './wire/transport.ts';

/** The settings and parts that are needed to open clients of the hosting service. */
interface HostingOptions {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly hostRules: HostRules;
  /** The deadline of a call that changes something, in ms. The deadline of a read is a third of this time. */
  readonly callDeadlineMs: number;
  /**
   * Sends the HTTP requests, by default with undici. Commands that only read pass a function that sends only GET
   * requests. `plan` and tests pass a function that needs no sockets.
   */
  readonly wire?: Wire;
}

/**
 * The credential, with its request budget, and the connections to the service. All accounts with the same token at the same
 * address of the service share them.
 */
interface Door {
  readonly credential: Credential;
  readonly wire: OpenWire;
  users: number;
}

/** Opens clients of the hosting service, one for each account, and can update the metrics of all open clients. */
export interface MeasuredHosting extends Hosting {
  readonly measure: () => void;
}

/** Creates the function that opens a client of the hosting service for each account. */
export function openHosting(options: HostingOptions): MeasuredHosting {
  const { clock, entropy, metrics, hostRules } = options;
  const resolve = openNames(clock);
  const doors = new Map<string, Door>();
  const measured = new Set<() => void>();
  const openDoor = (): Door => ({
    credential: new Credential(clock, entropy, metrics),
    wire:
      options.wire === undefined
        ? openUndiciWire(hostRules, resolve)
        : { wire: options.wire, close: () => Promise.resolve() },
    users: 0,
  });
  return {
    measure: () => {
      for (const measure of measured) measure();
    },
    open: (settings, onList, onThrottled) => {
      const base = checkBaseUrl(settings.baseUrl.trim(), hostRules);
      if ('refused' in base) return base;
      const token = settings.token.trimmed();
      const key = createHash('sha256').update(`${base.origin}\n${token.reveal()}`).digest('hex');
      const door = doors.get(key) ?? openDoor();
      doors.set(key, door);
      door.users += 1;
      door.credential.reopen();
      const unsubscribe = door.credential.onThrottled(() => onThrottled?.(service));
      const release = async (): Promise<void> => {
        unsubscribe();
        door.users -= 1;
        if (door.users > 0) return;
        doors.delete(key);
        await door.wire.close();
      };
      const around = { ...options, base, wire: door.wire.wire, credential: door.credential, measured };
      const tell: MirrorOptions['onList'] = (key, changed, problem) => onList({ service, key, changed, problem });
      const service: Service = openService({ ...settings, token }, around, tell, release);
      return service;
    },
  };
}

/** The settings and parts that the client of one account is built from. */
interface ServiceOptions extends HostingOptions {
  readonly base: BaseUrl;
  readonly wire: Wire;
  readonly credential: Credential;
  /** One function for each open client. It updates the metrics of the client's account. */
  readonly measured: Set<() => void>;
}

/** Opens the client of the hosting service for one account. */
function openService(
  settings: ServiceSettings,
  around: ServiceOptions,
  onList: MirrorOptions['onList'],
  release: () => Promise<void>,
): Service {
  const { clock, credential, measured } = around;
  const closing = new AbortController();
  const sending = new Set<Promise<unknown>>();
  const target = {
    origin: around.base.origin,
    basePath: around.base.path,
    token: settings.token,
    caBundle: settings.caBundle,
  };
  const transport = openTransport(target, around.wire, clock, around.callDeadlineMs);
  const leaveBudget = credential.budget.join(settings);
  const mirror = new Mirror({
    ...around,
    ask: (request, passage) => credential.exchange(transport, request, { ...passage, leaveQueue: closing.signal }),
    pollMs: settings.pollSeconds * 1000,
    onList,
  });

  const { name: account } = settings;
  const measure = account === undefined ? undefined : gaugesOf(account, mirror, around);
  if (measure !== undefined) measured.add(measure);

  const sent = async (request: Request, options: SendOptions): Promise<Outcome> => {
    const exchange = (urgency: Urgency): Promise<Seen> =>
      credential.exchange(transport, request, {
        urgency,
        leaveQueue: closing.signal,
        ...(options.deadline !== undefined && { deadline: options.deadline }),
        mayStart: () => (closing.signal.aborted ? clientClosed : options.mayDispatch()),
      });
    const first = await exchange(options.urgency);
    // A call that was answered 429 or 425 was not carried out. So send it once more after the pause, with the greatest
    // urgency. In a long pause the second try is refused at once; then the answer to the first try counts.
    const last = options.deadline !== undefined && isThrottled(first) ? await exchange('dangerous') : first;
    const seen = last.was === 'notSent' || last.was === 'heldBack' ? first : last;
    const heldUntil = credential.heldUntil() ?? credential.budget.throttledUntil();
    return outcomeOf(request.effect, seen, heldUntil === undefined ? undefined : heldUntil - clock.monotonic());
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
    }),
    polling: () => ({
      forecastPerHour: mirror.schedule.forecastPerHour(),
      pollIntervalMs: mirror.schedule.pollIntervalMs(),
      rateLimitedMs: mirror.schedule.rateLimitedMs(),
    }),
    close: async () => {
      if (measure !== undefined) measured.delete(measure);
      mirror.close();
      closing.abort();
      await Promise.allSettled(sending);
      leaveBudget();
      await release();
    },
  };
}

/** The shortest time, in ms, over which the use of a request budget is measured. */
const shortestMeasureMs = 5_000;

/**
 * Returns a function that sets an account's metrics: the age of its data, and how much of its budget was used since the
 * last measurement.
 */
function gaugesOf(account: string, mirror: Mirror, { clock, metrics, credential }: ServiceOptions): () => void {
  const { budget } = credential;
  let last = { granted: budget.granted(), at: clock.monotonic(), used: 0 };
  return () => {
    const at = clock.monotonic();
    // Do not measure the use of the budget over less than a few seconds, which would say little. So two programs that
    // read the metrics shortly after each other get the same figure.
    if (at - last.at >= shortestMeasureMs) {
      const granted = budget.granted();
      last = { granted, at, used: (1_000 * (granted - last.granted)) / (at - last.at) };
    }
    for (const [collection, age] of mirror.ages()) {
      metrics.gauge('apphosting_mirror_age_seconds', { account, collection }, age / 1_000);
    }
    metrics.gauge('apphosting_poll_interval_seconds', { account }, mirror.schedule.pollIntervalMs() / 1_000);
    metrics.gauge('apphosting_budget_requests_per_second', { account }, budget.requestsPerSecond());
    metrics.gauge('apphosting_budget_used_requests_per_second', { account }, last.used);
    metrics.gauge('apphosting_budget_waiting', { account }, budget.waiting());
    metrics.gauge('apphosting_forecast_requests_per_hour', { account }, mirror.schedule.forecastPerHour());
  };
}
