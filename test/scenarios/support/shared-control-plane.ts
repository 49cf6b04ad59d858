import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import type { TestProject } from 'vitest/node';
import type { Binaries } from '../../../src/sandbox/binaries/binaries.ts';
import { bundle } from '../../../deploy/bundle.ts';
import { startBreakablePlane } from '../../support/breakable-plane.ts';
import { progressOn } from '../../../src/sandbox/binaries/progress.ts';
import { findBinaries } from '../../../src/sandbox/binaries/sources.ts';
import { clusterAt } from '../../../src/sandbox/cluster.ts';
import { clearAbandoned, temporaryFolder } from '../../../src/sandbox/data-folder.ts';
import { manifestsIn } from '../../../src/sandbox/manifests.ts';
import { programPlaces } from '../../../src/config.ts';

/** A control plane that the scenarios of one worker share, with our definitions in it. */
export interface SharedKubernetes {
  readonly url: string;
  readonly ca: string;
  readonly adminToken: string;
  readonly kubeconfigPath: string;
  readonly auditLogPath: string;
  readonly binaries: Binaries;
}

/** What every worker is told. */
export interface Prepared {
  /** One for each worker: an operator of one file that watches all namespaces meets no operator of another file. */
  readonly planes: readonly SharedKubernetes[];
  /** A copy of etcd with our definitions in it, for control planes that a test breaks. */
  readonly etcd: string;
  /** The program as it is shipped, which starts in a third of the time that the sources take. */
  readonly program: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    prepared: Prepared;
  }
}

const crds = join(import.meta.dirname, '..', '..', '..', 'crds');

/** Starts the shared control planes before the first scenario and ends them after the last. */
export async function setup({ provide, config }: TestProject): Promise<() => Promise<void>> {
  const progress = progressOn(process.stderr);
  await clearAbandoned();
  const binaries = await findBinaries(programPlaces(), progress);
  const folder = await temporaryFolder('tests');
  const start = async (name: string, etcdFrom?: string) => {
    const dir = join(folder.dir, name);
    const from = etcdFrom === undefined ? {} : { etcdFrom };
    return startBreakablePlane({ dir, binaries, say: progress.say, audit: true, ...from });
  };
  const shipped = join(folder.dir, 'bundle');
  const [first] = await Promise.all([start('1'), bundle(shipped)]);
  await applyDefinitions(first);
  const etcd = join(folder.dir, 'prepared-etcd');
  await first.copyEtcd(etcd);
  const others = Array.from({ length: config.maxWorkers - 1 }, (_, nth) => start(String(nth + 2), etcd));
  const planes = [first, ...(await Promise.all(others))];
  provide('prepared', {
    etcd,
    program: join(shipped, 'main.mjs'),
    planes: planes.map(({ url, ca, adminToken, kubeconfigPath, auditLogPath = '' }) => {
      return { url, ca, adminToken, kubeconfigPath, auditLogPath, binaries };
    }),
  });
  return async () => {
    await Promise.all(planes.map((plane) => plane.stop()));
    await folder.release();
  };
}

/** Has our definitions served by this cluster. */
export async function applyDefinitions(plane: Parameters<typeof clusterAt>[0]): Promise<void> {
  if (!existsSync(crds)) return;
  const manifests = await manifestsIn(crds);
  const cluster = clusterAt(plane);
  await Promise.all(manifests.map((manifest) => cluster.apply(manifest)));
  await cluster.established(manifests.map(({ metadata }) => metadata.name));
  await cluster.close();
}
