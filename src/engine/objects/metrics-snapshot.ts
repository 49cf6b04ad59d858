import type { Stored } from '../objects/object-index.ts';
import { accountLabel } from '../objects/names.ts';
import type { ObjectMeta } from '../ports.ts';

/** Counts over all objects, for metrics. */
export interface MetricsSnapshot {
  readonly objects: readonly {
    readonly kind: string;
    readonly ready: string;
    readonly reason: string;
    readonly count: number;
  }[];
  readonly drifted: ReadonlyMap<string, number>;
  /** Every condition but Ready, which `objects` has. */
  readonly conditions: readonly {
    readonly kind: string;
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly count: number;
  }[];
  /** The age of the newest failed request, by kind. */
  readonly newestFailureSeconds: ReadonlyMap<string, number>;
  /** The users and the orphans of each account, as its status has them. */
  readonly accounts: readonly { readonly account: string; readonly resources: number; readonly orphans: number }[];
  /** Calls with an open journal entry, by operation. */
  readonly doubts: readonly { readonly kind: string; readonly operation: string; readonly count: number }[];
  /** Zero when no call is in doubt. */
  readonly oldestDoubtSeconds: number;
}

/** Counts the objects by kind and Ready condition. */
export function metricsSnapshot(entries: Iterable<Stored>, wallMs: number): MetricsSnapshot {
  const counts = new Map<string, MetricsSnapshot['objects'][number]>();
  const drifted = new Map<string, number>();
  const others = new Map<string, MetricsSnapshot['conditions'][number]>();
  const accounts: MetricsSnapshot['accounts'][number][] = [];
  const newestFailureSeconds = new Map<string, number>();
  const doubts = new Map<string, MetricsSnapshot['doubts'][number]>();
  let oldest = wallMs;
  for (const { kind, object, status } of entries) {
    if (kind.life === 'account') accounts.push(usedAs(object.metadata, status.memory.facts));
    const condition = status.conditions.find(({ type }) => type === 'Ready');
    const [ready, reason] = [condition?.status ?? 'Unknown', condition?.reason ?? 'New'];
    const name = `${kind.kind}/${ready}/${reason}`;
    counts.set(name, { kind: kind.kind, ready, reason, count: (counts.get(name)?.count ?? 0) + 1 });
    for (const other of status.conditions.filter((one) => one.type !== 'Ready')) {
      const line = `${kind.kind}/${other.type}/${other.status}/${other.reason}`;
      const { type, reason: why } = other;
      others.set(line, {
        kind: kind.kind,
        type,
        status: other.status,
        reason: why,
        count: (others.get(line)?.count ?? 0) + 1,
      });
    }
    const failedAt = kind.life === 'request' ? stalledSince(status.conditions) : undefined;
    if (failedAt !== undefined) {
      const age = (wallMs - failedAt) / 1_000;
      newestFailureSeconds.set(kind.kind, Math.min(age, newestFailureSeconds.get(kind.kind) ?? age));
    }
    const differs = status.conditions.some(({ type, status }) => type === 'Drifted' && status === 'True');
    if (differs) drifted.set(kind.kind, (drifted.get(kind.kind) ?? 0) + 1);
    const { journal } = status.memory;
    if (journal === undefined || kind.answered?.(status.memory) === true) continue;
    oldest = Math.min(oldest, Date.parse(journal.startedAt));
    const { operation } = journal;
    const which = `${kind.kind}/${operation}`;
    doubts.set(which, { kind: kind.kind, operation, count: (doubts.get(which)?.count ?? 0) + 1 });
  }
  const conditions = [...others.values()];
  const oldestDoubtSeconds = (wallMs - oldest) / 1_000;
  const objects = [...counts.values()];
  return {
    objects,
    drifted,
    conditions,
    newestFailureSeconds,
    accounts,
    doubts: [...doubts.values()],
    oldestDoubtSeconds,
  };
}

function stalledSince(conditions: Stored['status']['conditions']): number | undefined {
  const stalled = conditions.find(({ type, status }) => type === 'Stalled' && status === 'True');
  return stalled === undefined ? undefined : Date.parse(stalled.lastTransitionTime);
}

function usedAs(meta: ObjectMeta, facts: unknown): MetricsSnapshot['accounts'][number] {
  const { counts = [], orphans = [] } = facts as {
    counts?: readonly { total: number }[];
    orphans?: readonly unknown[];
  };
  const resources = counts.reduce((sum, { total }) => sum + total, 0);
  return { account: accountLabel(meta), resources, orphans: orphans.length };
}
