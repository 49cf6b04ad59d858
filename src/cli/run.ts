import { hostname } from 'node:os';
import { hostRulesOf, runCommand, type RunSettings } from '../config.ts';
import type { Leadership, Log } from '../engine/ports.ts';
import { openHosting } from '../hosting/service.ts';
import { openKube } from '../kube/client/client.ts';
import { agesOf } from '../kube/reflector.ts';
import { LeaseElection, leasePaceOf } from '../kube/lease.ts';
import { credentialsOf } from './cluster/open.ts';
import { command, type Trouble } from './frame.ts';
import { realClock, realEntropy } from './machine.ts';
import { laterOf } from './operator/started.ts';
import { kinds } from '../kinds/index.ts';
import { openLog } from '../telemetry/logger.ts';
import { MetricRegistry } from '../telemetry/metrics.ts';
import { serveProbes } from '../telemetry/server.ts';
import { operatorKey } from './operator/key.ts';
import { createOperator, type Operator } from './operator/operator.ts';
import { preflight } from './operator/preflight.ts';
import { measure } from './operator/measure.ts';

const leaseName = 'apphosting-operator';
const stopMs = 25_000;

/** `apphosting run`: the operator until SIGTERM or SIGINT. */
export const run = command(runCommand, ({ settings }) => operate(settings));

async function operate(settings: RunSettings): Promise<number | Trouble> {
  const started = { wall: realClock.wall(), monotonic: realClock.monotonic() };
  const log = openLog(settings.logLevel, process.stdout.isTTY);
  const metrics = new MetricRegistry();
  const credentials = await credentialsOf(settings);
  const api = openKube({ credentials, clock: realClock });
  // Connections of its own: a renewal must not queue behind a thousand status writes.
  const leaseApi = openKube({ credentials, clock: realClock });
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort(signal));
  try {
    const operatorNamespace = settings.operatorNamespace ?? settings.namespace ?? credentials.namespace ?? 'default';
    const problem = await preflight(api, { ...settings, kinds, operatorNamespace, title: credentials.title });
    if (problem !== undefined) return { trouble: problem };
    const key = await operatorKey(api, operatorNamespace);
    const hosting = openHosting({
      clock: realClock,
      entropy: realEntropy,
      log,
      metrics,
      callMs: settings.callDeadlineSeconds * 1_000,
      hostRules: hostRulesOf(settings),
    });
    const instance = `${hostname()}-${process.pid}`;
    const election = elect(settings, {
      api: leaseApi,
      log,
      namespace: operatorNamespace,
      identity: instance,
      rewound: () => operator.rewound(),
    });
    const operator: Operator = createOperator({
      kinds,
      api,
      hosting,
      leadership: election.leadership,
      clock: realClock,
      entropy: realEntropy,
      log,
      metrics,
      key,
      instance,
      operatorNamespace,
      namespace: settings.namespace,
      selector: settings.selector,
      secretWatch: settings.secretWatch,
      readOnly: settings.readOnly,
      powers: {
        sinceMs: laterOf(started, api.serverDate?.()),
        activation: settings.enableActivation,
        accountReset: settings.enableAccountReset,
      },
      horizonMs: settings.horizonSeconds * 1_000,
      callMs: settings.callDeadlineSeconds * 1_000,
      pollMs: settings.pollSeconds * 1_000,
      workers: settings.workers,
    });
    return await serve(settings, { operator, election, log, metrics, stop: stop.signal });
  } finally {
    await Promise.all([api.close(), leaseApi.close()]);
  }
}

/** Leadership: how it is won and lost. */
interface Election {
  readonly leadership: Leadership;
  /** Resolves when won, with how long calls that cannot be repeated must wait. */
  readonly won: Promise<{ readonly takeOver: boolean }>;
  /** Resolves with why it was lost. */
  readonly lost: Promise<string>;
  start(): void;
  stop(): Promise<void>;
}

function elect(
  settings: RunSettings,
  around: {
    api: ReturnType<typeof openKube>;
    log: Log;
    namespace: string;
    identity: string;
    rewound: () => void;
  },
): Election {
  if (settings.leaderElect === 'off') {
    return {
      leadership: { mayAct: () => undefined },
      won: Promise.resolve({ takeOver: false }),
      lost: new Promise(() => undefined),
      start: () => undefined,
      stop: () => Promise.resolve(),
    };
  }
  const won = Promise.withResolvers<{ readonly takeOver: boolean }>();
  const lost = Promise.withResolvers<string>();
  const lease = new LeaseElection({
    ...around,
    clock: realClock,
    entropy: realEntropy,
    name: leaseName,
    pace: leasePaceOf(settings.leaseSeconds * 1_000),
    onAcquired: won.resolve,
    onLost: lost.resolve,
    onRewind: () => around.rewound(),
  });
  return {
    leadership: lease,
    won: won.promise,
    lost: lost.promise,
    start: () => lease.start(),
    stop: () => lease.stop(),
  };
}

interface Running {
  readonly operator: Operator;
  readonly election: Election;
  readonly log: Log;
  readonly metrics: MetricRegistry;
  readonly stop: AbortSignal;
}

async function serve(settings: RunSettings, { operator, election, log, metrics, stop }: Running): Promise<number> {
  const { host, port } = settings.metricsListen;
  const probes = await serveProbes(
    {
      alive: () => operator.engine.stuck(),
      ready: () => operator.complaints()[0],
      metrics: () => {
        measure(operator, metrics, agesOf(operator.listeners(), realClock));
        return metrics.text();
      },
    },
    host,
    port,
  );
  log.info({ kinds: kinds.length, metrics: `${host}:${probes.port}` }, 'the operator starts');
  operator.watch();
  election.start();
  const stopped = new Promise<'stop'>((resolve) => {
    if (stop.aborted) resolve('stop');
    stop.addEventListener('abort', () => resolve('stop'), { once: true });
  });
  const first = await Promise.race([stopped, Promise.all([operator.synced(), election.won])]);
  let code = 0;
  if (first !== 'stop') {
    const [, { takeOver }] = first;
    metrics.gauge('apphosting_leader', {}, 1);
    log.info({ takeOver }, 'this replica acts');
    operator.act(takeOver ? settings.horizonSeconds * 1_000 : 0);
    const end = await Promise.race([stopped, election.lost]);
    if (end !== 'stop') {
      log.error({ why: end }, 'the lease is lost; ending at once');
      code = 1;
    }
  }
  await finish(operator, election, probes, log);
  return code;
}

/** Shuts down: finishes running calls, writes ids to status, and releases the lease last. */
async function finish(
  operator: Operator,
  election: Election,
  probes: { close(): Promise<void> },
  log: Log,
): Promise<void> {
  const late = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), stopMs).unref());
  const ended = await Promise.race([operator.stop().then(() => 'done' as const), late]);
  if (ended === 'late') log.warn({}, 'not everything came to an end in time');
  await election.stop();
  await probes.close();
}
