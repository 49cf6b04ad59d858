import type { Entry } from '../objects/object-index.ts';
import { accountLabel } from '../objects/names.ts';
import type { ObjectMeta } from '../ports.ts';

/** Counts over all objects, for metrics. */
export interface Census {
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
  /** How long ago the newest of the requests that ended in failure did so, by kind. */
  readonly newestFailureSeconds: ReadonlyMap<string, number>;
  /** What status says of each account: how many resources use it, and how many orphans it has. */
  readonly accounts: readonly { readonly account: string; readonly resources: number; readonly orphans: number }[];
  /** Calls that were begun and whose outcome status does not say yet, by what they do. */
  readonly doubts: readonly { readonly kind: string; readonly operation: string; readonly count: number }[];
  /** Zero when no call is in doubt. */
  readonly oldestDoubtSeconds: number;
}

/** Counts the objects by kind and Ready condition. */
export function census(entries: Iterable<Entry>, wallMs: number): Census {
  const counts = new Map<string, Census['objects'][number]>();
  const drifted = new Map<string, number>();
  const others = new Map<string, Census['conditions'][number]>();
  const accounts: Census['accounts'][number][] = [];
  const newestFailureSeconds = new Map<string, number>();
  const doubts = new Map<string, Census['doubts'][number]>();
  let oldest = wallMs;
  for (const { kind, object, recollection } of entries) {
    if (kind.life === 'account') accounts.push(usedAs(object.metadata, recollection.memory.facts));
    const condition = recollection.conditions.find(({ type }) => type === 'Ready');
    const [ready, reason] = [condition?.status ?? 'Unknown', condition?.reason ?? 'New'];
    const name = `${kind.kind}/${ready}/${reason}`;
    counts.set(name, { kind: kind.kind, ready, reason, count: (counts.get(name)?.count ?? 0) + 1 });
    for (const { type, status, reason: why } of recollection.conditions.filter((one) => one.type !== 'Ready')) {
      const line = `${kind.kind}/${type}/${status}/${why}`;
      others.set(line, { kind: kind.kind, type, status, reason: why, count: (others.get(line)?.count ?? 0) + 1 });
    }
    const failedAt = kind.life === 'request' ? stalledSince(recollection.conditions) : undefined;
    if (failedAt !== undefined) {
      const age = (wallMs - failedAt) / 1_000;
      newestFailureSeconds.set(kind.kind, Math.min(age, newestFailureSeconds.get(kind.kind) ?? age));
    }
    const differs = recollection.conditions.some(({ type, status }) => type === 'Drifted' && status === 'True');
    if (differs) drifted.set(kind.kind, (drifted.get(kind.kind) ?? 0) + 1);
    const { journal } = recollection.memory;
    if (journal === undefined || kind.answered?.(recollection.memory) === true) continue;
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

function stalledSince(conditions: Entry['recollection']['conditions']): number | undefined {
  const stalled = conditions.find(({ type, status }) => type === 'Stalled' && status === 'True');
  return stalled === undefined ? undefined : Date.parse(stalled.lastTransitionTime);
}

function usedAs(meta: ObjectMeta, facts: unknown): Census['accounts'][number] {
  const { counts = [], orphans = [] } = facts as {
    counts?: readonly { total: number }[];
    orphans?: readonly unknown[];
  };
  const resources = counts.reduce((sum, { total }) => sum + total, 0);
  return { account: accountLabel(meta), resources, orphans: orphans.length };
}
