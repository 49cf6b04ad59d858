import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CannotStart } from './control-plane/cannot-start.ts';
import { freePorts, isFree } from './control-plane/ports.ts';
import { clusterAt } from './cluster.ts';
import type { SandboxCluster } from './cluster.ts';
import { keepPorts, portsIn, writeWhole } from './data-folder.ts';
import type { Ports } from './data-folder.ts';
import { inApplyOrder, manifestsIn } from './manifests.ts';
import type { Manifest } from './manifests.ts';
import { Parts } from './parts.ts';
import type { Making } from './parts.ts';

/** What a sandbox is made of. */
export interface Recipe extends Omit<Making, 'ports' | 'onRevived'> {
  readonly crds: readonly Manifest[];
  readonly samples: readonly Manifest[];
}

/** A sandbox that is up. */
export type Sandbox = Awaited<ReturnType<typeof launch>>;

/** The Secret that samples take the service's address and token from. */
const credentialsSecret = 'hosting-credentials';

const demoToken = 'demo-admin';

/** Brings everything up and applies the samples. When it throws, all it started has ended. */
export async function launch(recipe: Recipe) {
  const { dir, say, signal } = recipe;
  const files = { urls: join(dir, 'urls.json'), pids: join(dir, 'pids.json') };
  await Promise.all(Object.values(files).map((path) => rm(path, { force: true })));
  const ports = await choosePorts(dir);
  const writePids = () => writeWhole(files.pids, JSON.stringify(parts.pids()));
  const parts: Parts = new Parts({ ...recipe, ports, onRevived: writePids });
  let cluster: SandboxCluster | undefined;
  const stop = async () => {
    await cluster?.close();
    await parts.stop();
  };
  try {
    const plane = await parts.startGround();
    say('Kubernetes and the simulator are up');
    const urls = {
      kubernetes: plane.url,
      simulator: `http://127.0.0.1:${ports.simulator}`,
      metrics: `http://127.0.0.1:${ports.metrics}/metrics`,
    };
    await keepPorts(dir, { ...ports, kubernetes: Number(new URL(plane.url).port) });
    cluster = clusterAt(plane);
    await install(cluster, recipe.crds, urls.simulator);
    signal.throwIfAborted();
    await parts.startOperator(plane);
    say('the operator is up');
    for (const sample of inApplyOrder(recipe.samples)) await cluster.apply(sample);
    await writeWhole(files.urls, JSON.stringify(urls));
    await writePids();
    const { kubeconfigPath } = plane;
    // `broken` rejects when a part does not stay up, and never resolves.
    return { cluster, urls, kubeconfigPath, broken: parts.broken, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The definitions of the kinds, and the Secret that samples refer to. */
async function install(cluster: SandboxCluster, crds: readonly Manifest[], simulatorUrl: string): Promise<void> {
  await Promise.all(crds.map((crd) => cluster.apply(crd)));
  await cluster.established(crds.map(({ metadata }) => metadata.name));
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: credentialsSecret, namespace: 'default' },
    stringData: { baseUrl: simulatorUrl, token: demoToken },
  });
}

/** The manifests of a folder without the placeholder of the Secret that the sandbox makes itself. */
export async function samplesIn(dir: string): Promise<readonly Manifest[]> {
  const isPlaceholder = ({ kind, metadata }: Manifest) =>
    kind === 'Secret' && metadata.name === credentialsSecret && (metadata.namespace ?? 'default') === 'default';
  return (await manifestsIn(dir)).filter((manifest) => !isPlaceholder(manifest));
}

/** The ports of the last start in this folder: what was made there is bound to the simulator's address. */
async function choosePorts(dir: string): Promise<Ports> {
  const before = await portsIn(dir);
  const [kubernetes = 0, simulator = 0, metrics = 0] = await freePorts(3);
  if (before === undefined) return { kubernetes, simulator, metrics };
  if (!(await isFree(before.simulator))) {
    throw new CannotStart(
      `port ${before.simulator} is taken, and the objects kept in ${dir} are bound to the simulator at that address: ` +
        'free the port, or use another --data folder',
    );
  }
  return { ...before, metrics: (await isFree(before.metrics)) ? before.metrics : metrics };
}
