import { hostname } from 'node:os';
import { inTime, momentOf, type Moment } from '../base/time.ts';
import { addThreads, hostRulesOf, runCommand, Trouble, type RunSettings } from '../config.ts';
import type { KubeApi, Log } from '../engine/ports.ts';
import { type MeasuredHosting, openHosting } from '../hosting/service.ts';
import { KubeClient } from '../kube/client/client.ts';
import { LeaseElection, leasePaceOf, type LeaseOptions } from '../kube/lease.ts';
import { credentialsOf } from './cluster/open.ts';
import { command } from './frame.ts';
import { realClock, realEntropy } from './machine.ts';
import { kinds } from '../kinds/index.ts';
import { openLog } from '../telemetry/logger.ts';
import { MetricRegistry } from '../telemetry/metrics.ts';
import { serveProbes } from '../telemetry/server.ts';
import { operatorKey } from './operator/key.ts';
import { createOperator, operatorName, type Operator } from './operator/operator.ts';
import { preflight } from './operator/preflight.ts';
import { measure } from './operator/measure.ts';

const stopMs = 25_000;

/** `apphosting run`: runs the operator until SIGTERM or SIGINT. */
export const run = command(runCommand, ({ settings }) => operate(settings));

async function operate(settings: RunSettings): Promise<number> {
  addThreads();
  const started = momentOf(realClock);
  const log = openLog(settings.logLevel, process.stdout.isTTY);
  const metrics = new MetricRegistry();
  const credentials = await credentialsOf(settings);
  const api = new KubeClient(credentials, realClock);
  // Give the lease a client with its own connections: renewing the lease must not wait behind a thousand status writes.
  const leaseApi = new KubeClient(credentials, realClock);
  const stopped = new Promise<'stop'>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve('stop'));
  });
  try {
    const operatorNamespace = settings.operatorNamespace ?? settings.namespace ?? credentials.namespace ?? 'default';
    const problem = await preflight(api, { ...settings, kinds, operatorNamespace, title: credentials.title });
    if (problem !== undefined) throw new Trouble(problem);
    const key = await operatorKey(api, operatorNamespace);
    const around = { clock: realClock, entropy: realEntropy, log };
    const callDeadlineMs = settings.callDeadlineSeconds * 1_000;
    const hosting = openHosting({ ...around, metrics, callDeadlineMs, hostRules: hostRulesOf(settings) });
    const instance = `${hostname()}-${process.pid}`;
    const election = electionOf(settings, {
      ...around,
      api: leaseApi,
      namespace: operatorNamespace,
      identity: instance,
      onRewind: () => operator.rewound(),
    });
    const operator: Operator = createOperator({
      ...around,
      kinds,
      api,
      hosting,
      leadership: election.lease ?? { mayAct: () => undefined },
      metrics,
      key,
      instance,
      operatorNamespace,
      namespace: settings.namespace,
      selector: settings.selector,
      secretWatch: settings.secretWatch,
      settings: {
        readOnly: settings.readOnly,
        powers: {
          sinceMs: laterOf(started, api.serverDate?.()),
          activation: settings.enableActivation,
          accountReset: settings.enableAccountReset,
        },
        horizonMs: settings.horizonSeconds * 1_000,
        callDeadlineMs,
        pollMs: settings.pollSeconds * 1_000,
        workers: settings.workers,
      },
    });
    return await serve(settings, { operator, hosting, election, log, metrics, stopped });
  } finally {
    await Promise.all([api.close(), leaseApi.close()]);
  }
}

/**
 * Returns the wall time of a moment, by the clock of this machine or of the API server, whichever is ahead. The API
 * server sets the creation times of objects. If the clock of this machine were behind, an object created before this
 * process started would seem to be newer than the process.
 */
export function laterOf({ wall, monotonic }: Moment, server: ReturnType<NonNullable<KubeApi['serverDate']>>): number {
  return server === undefined ? wall : Math.max(wall, server.dateMs - server.seenAt + monotonic);
}

/**
 * Sets up leader election. The promise `won` resolves when this process gets the
 * lease; `takeOver` is true if the previous holder did not release the lease.
 * The promise `lost` resolves with the reason when this process loses the lease.
 */
function electionOf(
  { leaderElect, leaseSeconds }: RunSettings,
  options: Omit<LeaseOptions, 'name' | 'onAcquired' | 'onLost'>,
) {
  const won = Promise.withResolvers<{ readonly takeOver: boolean }>();
  const lost = Promise.withResolvers<string>();
  const ends = { onAcquired: won.resolve, onLost: lost.resolve };
  const pace = leasePaceOf(leaseSeconds * 1_000);
  const lease = leaderElect === 'on' ? new LeaseElection({ ...options, ...ends, name: operatorName, pace }) : undefined;
  if (lease === undefined) won.resolve({ takeOver: false });
  return { lease, won: won.promise, lost: lost.promise };
}

interface Running {
  readonly operator: Operator;
  readonly hosting: MeasuredHosting;
  readonly election: ReturnType<typeof electionOf>;
  readonly log: Log;
  readonly metrics: MetricRegistry;
  /** Resolves when the process gets a signal to stop, such as SIGTERM. */
  readonly stopped: Promise<'stop'>;
}

async function serve(
  settings: RunSettings,
  { operator, hosting, election, log, metrics, stopped }: Running,
): Promise<number> {
  let leads = false;
  const probes = await serveProbes(settings.metricsListen, {
    alive: () => operator.engine.stuck(),
    ready: () => operator.complaints()[0],
    metrics: () => {
      measure(operator, metrics);
      hosting.measure();
      metrics.gauge('apphosting_leader', {}, leads ? 1 : 0);
      return metrics.text();
    },
  });
  const listen = `${settings.metricsListen.host}:${probes.port}`;
  log.info({ kinds: kinds.length, metrics: listen }, 'the operator starts');
  operator.watch();
  election.lease?.start();
  const first = await Promise.race([stopped, Promise.all([operator.synced(), election.won])]);
  let code = 0;
  if (first !== 'stop') {
    const [, { takeOver }] = first;
    leads = true;
    log.info({ takeOver }, 'this replica acts');
    operator.act(takeOver ? settings.horizonSeconds * 1_000 : 0);
    const end = await Promise.race([stopped, election.lost]);
    if (end !== 'stop') {
      log.error({ why: end }, 'the lease is lost, so the operator stops now');
      code = 1;
    }
  }
  // Before the lease is released, let calls that are under way end, and write the ids of new objects to status. The wait
  // is shorter than the deadline of a call. The next process finds the entry of a call that did not end, and treats its
  // outcome as unknown.
  const ended = await inTime(realClock, stopMs, operator.stop());
  if (ended === undefined) log.warn({}, 'some calls or status writes were still running when the process ended');
  await election.lease?.stop();
  await probes.close();
  return code;
}
