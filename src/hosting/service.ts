/**
 * Opens a service for each account, if the host rules allow its base URL. The accounts of one credential share a budget and a set
 * of connections. Each credential has connections of its own, so calls that hang do not block other credentials.
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
import { Credential } from './credential.ts';
import { checkBaseUrl, type HostRules, type BaseUrl } from './wire/hosts.ts';
import { openNames } from './wire/names.ts';
import { openUndiciWire, type OpenWire, type Wire } from './wire/wire.ts';
import { Mirror, type MirrorSurroundings } from './mirror/mirror.ts';
import { outcomeOf, type Seen, openTransport, shownText, withoutCredential } from './wire/transport.ts';

/** What the hosting layer is built from. */
interface HostingOptions {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly hostRules: HostRules;
  /** How long a call that changes something may take. A read may take a third of this. */
  readonly callMs: number;
  /** What sends the HTTP requests: undici, unless a test passes a wire without sockets. */
  readonly wire?: Wire;
}

/** Returns a function that shares one value for each key; the last user to release the value ends it. */
function sharing<Value>(end: (value: Value) => Promise<void>) {
  const all = new Map<string, { readonly value: Value; users: number }>();
  return (key: string, create: () => Value): { readonly value: Value; readonly release: () => Promise<void> } => {
    const shared = all.get(key) ?? { value: create(), users: 0 };
    all.set(key, shared);
    shared.users += 1;
    return {
      value: shared.value,
      release: async () => {
        shared.users -= 1;
        if (shared.users > 0) return;
        all.delete(key);
        await end(shared.value);
      },
    };
  };
}

/** Starts the hosting layer, which opens services. */
export function openHosting(options: HostingOptions): Hosting {
  const { clock, entropy, metrics } = options;
  const resolve = openNames({ clock });
  const credentialFor = sharing<Credential>(() => Promise.resolve());
  const wireFor = sharing<OpenWire>((wire) => wire.close());
  const given = options.wire;
  return {
    open: (settings, onList, onThrottled) => {
      const base = checkBaseUrl(settings.baseUrl.trim(), options.hostRules);
      if ('refused' in base) return base;
      const token = settings.token.trimmed();
      const key = createHash('sha256').update(`${base.origin}\n${token.reveal()}`).digest('hex');
      const wire = wireFor(`${key}\n${settings.caBundle ?? ''}`, () =>
        given === undefined
          ? openUndiciWire(options.hostRules, resolve)
          : { wire: given, close: () => Promise.resolve() },
      );
      const credential = credentialFor(key, () => new Credential(clock, entropy, metrics));
      credential.value.reopen();
      const around = { ...options, base, wire: wire.value.wire, credential: credential.value };
      const deaf = credential.value.onThrottled(() => onThrottled?.(service));
      const release = async (): Promise<void> => {
        deaf();
        await Promise.all([wire.release(), credential.release()]);
      };
      const tell: MirrorSurroundings['onList'] = (key, changed, problem) => onList({ service, key, changed, problem });
      const service: Service = openService({ ...settings, token }, around, tell, release);
      return service;
    },
  };
}

/** What a service is built from. */
interface ServiceSurroundings extends HostingOptions {
  readonly base: BaseUrl;
  readonly wire: Wire;
  readonly credential: Credential;
}

function isSlowedDown(seen: Seen): boolean {
  return seen.was === 'answer' && (seen.status === 429 || seen.status === 425);
}

/** The account that a request names in its query or its body. */
function accountIn(request: Request): unknown {
  return request.query?.['accountId'] ?? request.body?.['accountId'];
}

/** Opens the service for one account. */
function openService(
  settings: ServiceSettings,
  around: ServiceSurroundings,
  onList: MirrorSurroundings['onList'],
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
    ask: (request, urgency) => credential.exchange(transport, request, { urgency, leaveQueue: closing.signal }),
    pollMs: settings.pollSeconds * 1000,
    listsAtOnce: Math.max(settings.concurrency, 1),
    onList,
  });

  const { name: account } = settings;
  const stopGauges = account === undefined ? undefined : startGauges(account, mirror, around);

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
    // Another client of the account may have used up the limit of this second. So the request is sent once more after the pause,
    // before all others.
    const again = options.deadline !== undefined && isSlowedDown(first) ? await exchange('dangerous') : first;
    const seen = again.was === 'notSent' || again.was === 'heldBack' ? first : again;
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

const everyMs = 15_000;

/**
 * Sets an account's metrics every 15 s: the age of its data and the use of its budget. A series that has no value any more is
 * removed. The returned function ends this and removes all series.
 */
function startGauges(account: string, mirror: Mirror, around: ServiceSurroundings): () => void {
  const { clock, metrics } = around;
  const { budget } = around.credential;
  let grantedBefore = budget.granted();
  let cancel = (): void => undefined;
  let withdraw = new Map<string, () => void>();
  const state = (): void => {
    const stated = new Map<string, () => void>();
    const gauge = (name: string, value: number, collection?: string): void => {
      const labels = { account, ...(collection !== undefined && { collection }) };
      metrics.gauge(name, labels, value);
      stated.set(`${name} ${collection ?? ''}`, () => metrics.gauge(name, labels, undefined));
    };
    for (const [collection, age] of mirror.ages()) gauge('apphosting_mirror_age_seconds', age / 1000, collection);
    gauge('apphosting_poll_interval_seconds', mirror.schedule.pollIntervalMs() / 1000);
    gauge('apphosting_budget_requests_per_second', budget.requestsPerSecond());
    gauge('apphosting_budget_used_requests_per_second', ((budget.granted() - grantedBefore) * 1000) / everyMs);
    grantedBefore = budget.granted();
    gauge('apphosting_budget_waiting', budget.waiting());
    gauge('apphosting_forecast_requests_per_hour', mirror.schedule.forecastPerHour());
    for (const [key, end] of withdraw) if (!stated.has(key)) end();
    withdraw = stated;
    cancel = clock.after(everyMs, state);
  };
  cancel = clock.after(everyMs, state);
  return () => {
    cancel();
    for (const end of withdraw.values()) end();
  };
}
