import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import type { TestProject } from 'vitest/node';
import type { Binaries } from '../../../src/sandbox/binaries/binaries.ts';
import { startControlPlane } from '../../../src/sandbox/control-plane/control-plane.ts';
import { progressOn } from '../../../src/sandbox/binaries/progress.ts';
import { findBinaries } from '../../../src/sandbox/binaries/sources.ts';
import { clusterAt } from '../../../src/sandbox/cluster.ts';
import { clearAbandoned, temporaryFolder } from '../../../src/sandbox/data-folder.ts';
import { manifestsIn } from '../../../src/sandbox/manifests.ts';
import { surroundings } from '../../../src/config.ts';

/** The control plane that all scenarios of a run share, with our definitions in it. */
export interface SharedKubernetes {
  readonly url: string;
  readonly ca: string;
  readonly adminToken: string;
  readonly kubeconfigPath: string;
  readonly auditLogPath: string;
  readonly binaries: Binaries;
}

declare module 'vitest' {
  export interface ProvidedContext {
    kubernetes: SharedKubernetes;
  }
}

const crds = join(import.meta.dirname, '..', '..', '..', 'crds');

/** Starts the shared control plane before the first scenario and ends it after the last. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const progress = progressOn(process.stderr);
  await clearAbandoned();
  const binaries = await findBinaries(surroundings(), progress);
  const folder = await temporaryFolder('tests');
  const plane = await startControlPlane({ dir: folder.dir, binaries, say: progress.say, audit: true });
  await applyDefinitions(plane);
  const { url, ca, adminToken, kubeconfigPath, auditLogPath = '' } = plane;
  provide('kubernetes', { url, ca, adminToken, kubeconfigPath, auditLogPath, binaries });
  return async () => {
    await plane.stop();
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
