import { isoSeconds } from '../../base/time.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import type { Condition, OwnCondition, Verdict } from '../kind/contract/step.ts';

const longestMessage = 1_024;

/** Everything that a set of conditions is computed from. */
export interface Conclusion {
  readonly verdict: Verdict<unknown>;
  readonly own: readonly OwnCondition[];
  readonly drifted: readonly string[];
  /** The next call, where the resource is only observed. */
  readonly wouldDo?: string | undefined;
  readonly generation: number;
  readonly previous: readonly Condition[];
  readonly wallMs: number;
}

/** The whole set of conditions for one verdict, as kstatus reads it; a time changes only with its status. */
export function conclude(conclusion: Conclusion): readonly Condition[] {
  const { verdict, own, drifted } = conclusion;
  const drift: readonly OwnCondition[] =
    drifted.length === 0
      ? []
      : [{ type: 'Drifted', status: 'True', reason: 'Drifted', message: `differs in ${drifted.join(', ')}` }];
  const rows = [...headline(verdict), synced(conclusion), ...drift, ...own];
  return rows.map((row) => stamp(row, conclusion));
}

/** Reasons that promise a call; a paused object makes none. */
const underWay: ReadonlySet<string> = new Set<Reason>(['Creating', 'InDoubt']);

/** Conditions while `apphosting.dev/paused` holds: frozen, but neither a newer generation nor a call is claimed. */
export function paused(previous: readonly Condition[], generation: number, wallMs: number): readonly Condition[] {
  const ready = previous.find((condition) => condition.type === 'Ready');
  if (ready !== undefined && ready.observedGeneration === generation && !underWay.has(ready.reason)) return previous;
  const others = previous.filter(
    ({ type, reason }) => !['Ready', 'Reconciling', 'Stalled'].includes(type) && !underWay.has(reason),
  );
  const neverSeen = others.every((condition) => condition.type !== 'Synced');
  const message = 'the annotation apphosting.dev/paused holds this object; remove it to go on';
  const rows = ['Ready', ...(neverSeen ? ['Synced'] : [])].map((type): OwnCondition => ({
    type,
    status: 'Unknown',
    reason: 'Paused',
    message,
  }));
  return [...rows.map((row) => stamp(row, { previous, generation, wallMs })), ...others];
}

function headline(verdict: Verdict<unknown>): readonly OwnCondition[] {
  switch (verdict.is) {
    case 'ready': {
      const reason = verdict.reason ?? 'InSync';
      return [{ type: 'Ready', status: 'True', reason, message: verdict.message ?? 'the service equals the spec' }];
    }
    case 'wait':
      return [
        { type: 'Ready', status: 'False', reason: verdict.reason, message: verdict.message },
        { type: 'Reconciling', status: 'True', reason: verdict.reason, message: verdict.message },
      ];
    case 'stall':
      return [
        { type: 'Ready', status: 'False', reason: verdict.reason, message: verdict.message },
        { type: 'Stalled', status: 'True', reason: verdict.reason, message: verdict.message },
      ];
  }
}

function synced({ verdict, drifted, wouldDo }: Conclusion): OwnCondition {
  if (drifted.length > 0) {
    return { type: 'Synced', status: 'False', reason: 'Drifted', message: `differs in ${drifted.join(', ')}` };
  }
  if (verdict.is === 'ready' && wouldDo !== undefined) {
    return {
      type: 'Synced',
      status: 'False',
      reason: 'Observed',
      message: `not done, as it is only observed: ${wouldDo}`,
    };
  }
  if (verdict.is === 'ready') {
    return { type: 'Synced', status: 'True', reason: 'Synced', message: 'the last call or read succeeded' };
  }
  return { type: 'Synced', status: 'False', reason: verdict.reason, message: verdict.message };
}

function stamp(
  row: OwnCondition,
  { previous, generation, wallMs }: Pick<Conclusion, 'previous' | 'generation' | 'wallMs'>,
): Condition {
  const before = previous.find((condition) => condition.type === row.type);
  const message = row.message.length > longestMessage ? `${row.message.slice(0, longestMessage - 1)}…` : row.message;
  const since = before?.status === row.status ? before.lastTransitionTime : isoSeconds(wallMs);
  return {
    type: row.type,
    status: row.status,
    reason: row.reason,
    message,
    observedGeneration: generation,
    lastTransitionTime: since,
  };
}
