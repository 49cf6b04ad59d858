import { accountLabel, readyIn, type Stored } from './stored.ts';
import type { ObjectMeta } from '../ports.ts';

/** Numbers about all objects, such as how many are Ready, for the operator's metrics. */
export type MetricsSnapshot = ReturnType<typeof metricsSnapshot>;

/**
 * Counts the objects of each kind by their condition Ready, their other conditions by type, status and reason, and the
 * calls with an unknown outcome. Also returns how many resources and orphans each account has, the age of the newest
 * failure of each kind of one-time request, and the age of the oldest unknown outcome.
 */
export function metricsSnapshot(entries: Iterable<Stored>, wallMs: number) {
  const all = [...entries];
  const conditions = all.flatMap(({ kind, status }) =>
    status.conditions.map(({ type, status: is, reason }) => ({ kind: kind.kind, type, status: is, reason })),
  );
  const doubts = all.flatMap(({ kind, status: { memory } }) =>
    memory.journal === undefined || kind.answered?.(memory) === true
      ? []
      : [{ kind: kind.kind, operation: memory.journal.operation, startedMs: Date.parse(memory.journal.startedAt) }],
  );
  const drifted = conditions.filter(({ type, status }) => type === 'Drifted' && status === 'True');
  const newestFailureSeconds = new Map<string, number>();
  for (const { kind, status } of all) {
    const failedAt = kind.life === 'request' ? stalledSince(status.conditions) : undefined;
    if (failedAt === undefined) continue;
    const age = (wallMs - failedAt) / 1_000;
    newestFailureSeconds.set(kind.kind, Math.min(age, newestFailureSeconds.get(kind.kind) ?? age));
  }
  return {
    objects: counted(
      all.map(({ kind, status }) => {
        const { status: ready = 'Unknown', reason = 'New' } = readyIn(status.conditions) ?? {};
        return { kind: kind.kind, ready, reason };
      }),
    ),
    drifted: new Map(counted(drifted.map(({ kind }) => ({ kind }))).map(({ kind, count }) => [kind, count])),
    // The number of objects with each condition. The condition Ready is not included, because `objects` counts it.
    conditions: counted(conditions.filter(({ type }) => type !== 'Ready')),
    // For each kind of one-time request, such as RecoveryActivation: the age of the newest failure, in seconds.
    newestFailureSeconds,
    // For each account, from its status: the number of resources that use the account, and the number of its orphans
    // (objects in the service that carry the operator's ownership mark but belong to no resource).
    accounts: all.flatMap(({ kind, object, status }) =>
      kind.life === 'account' ? [usedAs(object.metadata, status.memory.facts)] : [],
    ),
    // The number of calls with a journal entry whose outcome is not known, by operation.
    doubts: counted(doubts.map(({ kind, operation }) => ({ kind, operation }))),
    // The age of the oldest call with an unknown outcome, in seconds; zero when the outcome of every call is known.
    oldestDoubtSeconds: (wallMs - Math.min(wallMs, ...doubts.map(({ startedMs }) => startedMs))) / 1_000,
  };
}

/** Counts equal rows. Returns each different row once, with the number of its occurrences as `count`. */
function counted<Row extends object>(rows: readonly Row[]): readonly (Row & { readonly count: number })[] {
  const counts = new Map<string, Row & { count: number }>();
  for (const row of rows) {
    const key = Object.values(row).join('/');
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { ...row, count: 1 });
    else known.count += 1;
  }
  return [...counts.values()];
}

function stalledSince(conditions: Stored['status']['conditions']): number | undefined {
  const stalled = conditions.find(({ type, status }) => type === 'Stalled' && status === 'True');
  return stalled === undefined ? undefined : Date.parse(stalled.lastTransitionTime);
}

function usedAs(meta: ObjectMeta, facts: unknown) {
  const { counts = [], orphans = [] } = facts as {
    counts?: readonly { total: number }[];
    orphans?: readonly unknown[];
  };
  const resources = counts.reduce((sum, { total }) => sum + total, 0);
  return { account: accountLabel(meta), resources, orphans: orphans.length };
}
