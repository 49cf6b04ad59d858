import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { operatorNamespace, type SandboxSettings } from '../config.ts';
import type { Binaries } from './binaries/binaries.ts';
import { CannotStart } from './cannot-start.ts';
import { type ControlPlane, startControlPlane } from './control-plane/control-plane.ts';
import { Daemon, type Program } from './control-plane/daemon.ts';
import { freePorts, isFree } from './control-plane/ports.ts';
import { clusterAt, type SandboxCluster } from './cluster.ts';
import { keepPorts, type Ports, portsIn, writeWhole } from './data-folder.ts';
import { inApplyOrder, type Manifest, manifestsIn } from './manifests.ts';
import { type Commands, operator, operatorKubeconfig, simulator, simulatorState } from './programs.ts';
import { revival } from './revival.ts';

/** The settings and files with which a sandbox is started. */
interface Recipe {
  readonly dir: string;
  readonly binaries: Binaries;
  readonly commands: Commands;
  readonly settings: SandboxSettings;
  readonly crds: readonly Manifest[];
  readonly samples: readonly Manifest[];
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** A sandbox whose parts are all up. */
export type Sandbox = Awaited<ReturnType<typeof launch>>;

/** The name of the Secret from which the samples take the base URL of the service and a token. */
const credentialsSecret = 'hosting-credentials';

const demoToken = 'demo-admin';

/** Starts all parts of a sandbox and applies the samples. If that fails, ends every part that was started, then throws. */
export async function launch(recipe: Recipe) {
  const { dir, binaries, commands, settings, say, signal } = recipe;
  const files = { urls: join(dir, 'urls.json'), pids: join(dir, 'pids.json') };
  await Promise.all(Object.values(files).map((path) => rm(path, { force: true })));
  const ports = await choosePorts(dir);
  const revived = revival(say, signal, () => writePids());
  const keptUp = (program: Program) => {
    const daemon: Daemon = new Daemon(program, (how) => revived.ended(program.name, how, () => daemon.start()));
    return daemon;
  };
  const service = keptUp(simulator(commands, dir, ports.simulator, settings));
  const ours = keptUp(operator(commands, dir, ports.metrics, settings.operatorArgs));
  let plane: ControlPlane | undefined;
  let cluster: SandboxCluster | undefined;
  const writePids = () => {
    const processes = { ...plane?.daemons, simulator: service, operator: ours };
    const pids = Object.entries(processes).map(([name, { pid }]) => [name, pid]);
    return writeWhole(files.pids, JSON.stringify(Object.fromEntries(pids)));
  };
  /**
   * Ends every process of the sandbox. The operator ends first, because it sends requests to the simulator and to
   * Kubernetes.
   */
  const stop = async () => {
    await cluster?.close();
    await ours.stop();
    await Promise.all([plane?.stop(), service.stop()]);
  };
  try {
    await mkdir(dirname(simulatorState(dir)), { recursive: true });
    const starting = startControlPlane({
      dir,
      binaries,
      say,
      signal,
      port: ports.kubernetes,
      onEnded: (part, how) => revived.ended(part, how, async () => plane?.daemons[part]?.start()),
    }).then((started) => (plane = started));
    for (const ground of await Promise.allSettled([service.start(signal), starting])) {
      if (ground.status === 'rejected') throw ground.reason;
    }
    const { url, ca, adminToken, kubeconfigPath, kubeconfig } = await starting;
    signal.throwIfAborted();
    say('Kubernetes and the simulator are up');
    const urls = {
      kubernetes: url,
      simulator: `http://127.0.0.1:${ports.simulator}`,
      metrics: `http://127.0.0.1:${ports.metrics}/metrics`,
    };
    await keepPorts(dir, { ...ports, kubernetes: Number(new URL(url).port) });
    cluster = clusterAt({ url, ca, adminToken });
    await install(cluster, recipe.crds, urls.simulator);
    signal.throwIfAborted();
    const ownConfig = operatorKubeconfig(dir);
    await mkdir(dirname(ownConfig), { recursive: true, mode: 0o700 });
    await writeFile(ownConfig, kubeconfig('operator'), { mode: 0o600 });
    await ours.start(signal);
    say('the operator is up');
    for (const sample of inApplyOrder(recipe.samples)) await cluster.apply(sample);
    await writeWhole(files.urls, JSON.stringify(urls));
    await writePids();
    // The promise `broken` rejects when a part of the sandbox has ended too often to be started again. It never
    // resolves.
    return { cluster, urls, kubeconfigPath, broken: revived.broken, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Installs the CRDs, the operator's namespace, and the Secret that the samples refer to. */
async function install(cluster: SandboxCluster, crds: readonly Manifest[], simulatorUrl: string): Promise<void> {
  await Promise.all(crds.map((crd) => cluster.apply(crd)));
  await cluster.established(crds.map(({ metadata }) => metadata.name));
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: operatorNamespace } });
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: credentialsSecret, namespace: 'default' },
    stringData: { baseUrl: simulatorUrl, token: demoToken },
  });
}

/** Loads the manifests of a folder. Leaves out the placeholder for the Secret that the sandbox creates itself. */
export async function samplesIn(dir: string): Promise<readonly Manifest[]> {
  const isPlaceholder = ({ kind, metadata }: Manifest) =>
    kind === 'Secret' && metadata.name === credentialsSecret && (metadata.namespace ?? 'default') === 'default';
  return (await manifestsIn(dir)).filter((manifest) => !isPlaceholder(manifest));
}

/**
 * Chooses the ports of a sandbox. In a folder that was used before, chooses the ports of the last start, but another
 * port for metrics if that one is taken. Throws `CannotStart` if the port of the simulator is taken, because the
 * objects in the cluster have recorded the simulator's address.
 */
async function choosePorts(dir: string): Promise<Ports> {
  const before = await portsIn(dir);
  const [kubernetes = 0, simulator = 0, metrics = 0] = await freePorts(3);
  if (before === undefined) return { kubernetes, simulator, metrics };
  if (!(await isFree(before.simulator))) {
    throw new CannotStart(
      `port ${before.simulator} is taken, but the data kept in ${dir} works only with a simulator at that port: ` +
        'free the port, or name another folder with --data',
    );
  }
  return { ...before, metrics: (await isFree(before.metrics)) ? before.metrics : metrics };
}
