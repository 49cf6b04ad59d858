import { setTimeout as sleep } from 'node:timers/promises';
import { group, version } from '../engine/kind/contract/define.ts';
import type { SandboxCluster } from './cluster.ts';
import type { Manifest } from './manifests.ts';
import { keyOf, type SandboxRow, rowOf } from './table.ts';

const groupVersion = `${group}/${version}`;

/** Shows the resources of the operator until `enough` returns true or the signal is aborted; returns the last rows. */
export async function follow(
  cluster: SandboxCluster,
  show: (rows: readonly SandboxRow[]) => void,
  signal: AbortSignal,
  enough: (rows: readonly SandboxRow[]) => boolean = () => false,
): Promise<readonly SandboxRow[]> {
  const everyMs = 1000;
  let rows: readonly SandboxRow[] = [];
  for (;;) {
    const began = performance.now();
    // If the API server does not answer, it is restarting. Keep showing the rows that were read last; the next round reads the
    // rows again.
    rows = await currentRows(cluster).catch(() => rows);
    show(rows);
    if (enough(rows)) return rows;
    const took = performance.now() - began;
    await sleep(Math.max(everyMs, took * 10), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return rows;
  }
}

/**
 * Lists the samples of the operator's kinds that are not Ready, each with its row in the table of the sandbox. The row is
 * undefined if the sample is not in the table.
 */
export function notReady(samples: readonly Manifest[], rows: readonly SandboxRow[]) {
  const all = ours(samples).map(({ kind, metadata: { name, namespace = 'default' } }) => {
    const row = rows.find((one) => one.kind === kind && one.name === name && [namespace, ''].includes(one.namespace));
    return { key: keyOf(row ?? { kind, namespace, name }), row };
  });
  return all.filter(({ row }) => row?.ready !== 'True');
}

/** Selects the samples that are resources of the operator's kinds. */
export function ours(samples: readonly Manifest[]): readonly Manifest[] {
  return samples.filter(({ apiVersion }) => apiVersion.startsWith(`${group}/`));
}

async function currentRows(cluster: SandboxCluster): Promise<readonly SandboxRow[]> {
  const kinds = await cluster.served(groupVersion);
  const lists = await Promise.all(kinds.map(({ name }) => cluster.list(groupVersion, name)));
  return lists.flat().map(rowOf);
}
