/**
 * Everything that a benchmark plays on: a control plane of its own that writes down each request, the simulator with the
 * latency of a network, and the operator, each a process, all on loopback, all ended with the benchmark.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execPath } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { CustomObjectsApi } from '@kubernetes/client-node';
import { startBreakablePlane, type BreakablePlane } from '../../test/support/breakable-plane.ts';
import { Daemon } from '../../src/sandbox/control-plane/daemon.ts';
import { freePorts } from '../../src/sandbox/control-plane/ports.ts';
import { progressOn } from '../../src/sandbox/binaries/progress.ts';
import { findBinaries } from '../../src/sandbox/binaries/sources.ts';
import { clusterAt } from '../../src/sandbox/cluster.ts';
import { temporaryFolder } from '../../src/sandbox/data-folder.ts';
import { manifestsIn } from '../../src/sandbox/manifests.ts';
import { operator, operatorKubeconfig, operatorNode, ownCommands, simulator } from '../../src/sandbox/programs.ts';
import { operatorNamespace, programPlaces } from '../../src/config.ts';
import { ConnectedConfig } from '../../src/kube/client/api-classes.ts';
import { bundle } from '../../deploy/bundle.ts';
import { AuditLog, auditPolicy } from './audit.ts';
import { usageOf } from './processes.ts';
import { Scrape } from './scrape.ts';
import { ServiceCounts } from './service-counts.ts';
import { secretName, workNamespace } from './workload.ts';

const answerMs = 30_000;

/** The options of the command line that all benchmarks share. */
export interface BenchOptions {
  readonly count: number;
  readonly latencyMs: number;
  /** `spec.refreshSeconds` of every alert; undefined for the default. */
  readonly refreshSeconds: number | undefined;
  readonly pollSeconds: number;
  /** True to run the operator from the bundle, as it is shipped. */
  readonly isBundled: boolean;
  readonly logLevel: string;
  /** The folder in which the operator leaves its CPU profile when it ends. */
  readonly profileDir: string | undefined;
  readonly say: (text: string) => void;
  /** Told each look at the progress. */
  readonly debug: ((text: string) => void) | undefined;
}

/** The cost of a start of the operator. */
interface Start {
  readonly toLeaseSeconds: number;
  /** As soon as it held the lease. */
  readonly rssMiB: number;
}

/** A running stage. */
export interface Stage {
  readonly options: BenchOptions;
  readonly plane: BreakablePlane;
  readonly api: CustomObjectsApi;
  readonly service: ServiceCounts;
  readonly serviceUrl: string;
  readonly audit: AuditLog;
  readonly metrics: Scrape;
  readonly operatorPid: () => number;
  /** Starts the operator and waits until it holds the lease. */
  readonly startOperator: () => Promise<void>;
  /** Returns the cost of its newest start. */
  readonly lastStart: () => Start;
  readonly stopOperator: () => Promise<void>;
  /** Ends the operator as a crash would. */
  readonly killOperator: () => Promise<void>;
  readonly close: () => Promise<void>;
}

type Undo = () => Promise<unknown>;

/** Sets the stage; the operator is not started yet. */
export async function setStage(options: BenchOptions): Promise<Stage> {
  const undo: Undo[] = [];
  const close = async () => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    return await build(options, undo, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function build(options: BenchOptions, undo: Undo[], close: () => Promise<void>): Promise<Stage> {
  const binaries = await findBinaries(programPlaces(), progressOn(process.stderr));
  const { dir, release } = await temporaryFolder('tests');
  undo.push(release, () => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  const plane = await startBreakablePlane({
    dir,
    binaries,
    say: options.say,
    audit: auditPolicy('apphosting-operator'),
  });
  undo.push(() => plane.stop());
  const [simulatorPort = 0, metricsPort = 0] = await freePorts(2);
  const settings = { latency: options.latencyMs, reading: [], rateLimit: undefined, clock: undefined };
  const hosting = new Daemon(inMemory(simulator(ownCommands, dir, simulatorPort, settings)));
  await hosting.start();
  undo.push(() => hosting.stop());
  const config = new ConnectedConfig(plane.ca, answerMs);
  config.loadFromFile(plane.kubeconfigPath);
  undo.push(() => config.close());
  const api = config.makeApiClient(CustomObjectsApi);
  const serviceUrl = `http://127.0.0.1:${simulatorPort}`;
  await install(plane, serviceUrl);
  await writePrivately(operatorKubeconfig(dir), plane.kubeconfig('operator'));
  const main = options.isBundled ? await bundled(dir) : undefined;
  const audit = new AuditLog(plane.auditLogPath ?? '');
  undo.push(() => audit.close());
  const worker = new Daemon(operatorProgram(options, dir, metricsPort, main));
  undo.push(() => worker.stop());
  const metrics = new Scrape(`http://127.0.0.1:${metricsPort}`);
  let lastStart: Start = { toLeaseSeconds: Number.NaN, rssMiB: Number.NaN };
  return {
    options,
    plane,
    api,
    service: new ServiceCounts(serviceUrl),
    serviceUrl,
    audit,
    metrics,
    operatorPid: () => worker.pid ?? 0,
    startOperator: async () => {
      const began = performance.now();
      await worker.start();
      while ((await metrics.sum('apphosting_leader')) !== 1) await sleep(50);
      const toLeaseSeconds = (performance.now() - began) / 1000;
      lastStart = { toLeaseSeconds, rssMiB: (await usageOf(worker.pid ?? 0)).rssMiB };
    },
    lastStart: () => lastStart,
    stopOperator: () => worker.stop(),
    killOperator: () => worker.kill(),
    close,
  };
}

/** The simulator without its file: what is measured is the operator. */
function inMemory(program: ReturnType<typeof simulator>): ReturnType<typeof simulator> {
  return { ...program, args: program.args.filter((arg) => !arg.startsWith('--state=')) };
}

/** Makes the bundle; returns its main file. */
async function bundled(dir: string): Promise<string> {
  const into = join(dir, 'bundle');
  await bundle(into);
  return join(into, 'main.mjs');
}

function operatorProgram({ logLevel, profileDir }: BenchOptions, dir: string, port: number, main: string | undefined) {
  const profiling = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
  const own = main === undefined ? ownCommands.operator : [...operatorNode, main, 'run'];
  const commands = { ...ownCommands, operator: [...profiling, ...own] };
  const program = operator(commands, dir, port, [`--log-level ${logLevel}`]);
  // As in the image, where nothing can be written, compiled code is not kept.
  const env = { ...program.env, ...(main !== undefined && { NODE_DISABLE_COMPILE_CACHE: '1' }) };
  return { ...program, command: execPath, env, upWithinMs: 120_000, graceMs: 60_000 };
}

async function install(plane: BreakablePlane, simulatorUrl: string): Promise<void> {
  const cluster = clusterAt(plane);
  try {
    const crds = await manifestsIn(join(import.meta.dirname, '..', '..', 'crds'));
    await Promise.all(crds.map((crd) => cluster.apply(crd)));
    await cluster.established(crds.map(({ metadata }) => metadata.name));
    for (const name of [operatorNamespace, workNamespace])
      await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: secretName, namespace: workNamespace },
      stringData: { baseUrl: simulatorUrl, token: 'demo-admin', hook: 'https://hooks.example.com/bench' },
    });
  } finally {
    await cluster.close();
  }
}

async function writePrivately(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, text, { mode: 0o600 });
}
