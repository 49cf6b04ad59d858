import type { Condition, OwnCondition, Verdict } from '../../../src/engine/kind/contract/step.ts';
import { conclude, paused } from '../../../src/engine/context/report.ts';
import { reasons, type Reason } from '../../../src/engine/kind/contract/reasons.ts';

/** What kstatus makes of an object, in its words. */
export type Verdicts = 'Current' | 'InProgress' | 'Failed' | 'Terminating';

/** An object as a tool sees it. */
export interface Seen {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly generation: number;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly status?: { readonly observedGeneration: number; readonly conditions?: readonly Condition[] };
}

/** One row of the table: a status that a kind can have, and what tools must make of it. */
export interface Row {
  readonly name: string;
  readonly object: Seen;
  readonly kstatus: Verdicts;
}

const wallMs = Date.UTC(2026, 0, 31, 12);
const generation = 3;
const own: readonly OwnCondition[] = [
  { type: 'Propagated', status: 'False', reason: 'NotDeployedYet', message: 'not deployed to any region yet' },
  { type: 'Firing', status: 'True', reason: 'Firing', message: 'the threshold was passed' },
];

function conditionsOf(verdict: Verdict<unknown>, drifted: readonly string[] = []): readonly Condition[] {
  return conclude({ verdict, own, drifted, generation, previous: [], wallMs });
}

function seen(status: Seen['status'], metadata: Partial<Seen['metadata']> = {}): Seen {
  return {
    apiVersion: 'apphosting.dev/v1alpha1',
    kind: 'ContactPoint',
    metadata: { name: 'on-call', namespace: 'team-a', generation, ...metadata },
    ...(status && { status }),
  };
}

const observed = (conditions: readonly Condition[]) => ({ observedGeneration: generation, conditions });
const ready = conditionsOf({ is: 'ready' });
const gone = { deletionTimestamp: '2026-01-31T12:00:00Z' };
const hold = { annotations: { 'apphosting.dev/paused': 'true' } };

/** Every verdict with every reason of the closed list, and what happens to an object besides. */
export function rows(): readonly Row[] {
  const names = Object.keys(reasons) as readonly Reason[];
  const message = 'contact point "On call": said "no"; it\'s that';
  const verdicts = names.flatMap((reason): readonly Row[] => [
    row(`ready with ${reason}`, seen(observed(conditionsOf({ is: 'ready', reason, message }))), 'Current'),
    row(`waiting with ${reason}`, seen(observed(conditionsOf({ is: 'wait', reason, message }))), 'InProgress'),
    row(`stalled with ${reason}`, seen(observed(conditionsOf({ is: 'stall', reason, message }))), 'Failed'),
  ]);
  // What an aspect says, whatever it is, never changes what tools make of the object.
  const aspects = (['True', 'False', 'Unknown'] as const).flatMap((status) => {
    const others = names.map((reason) => ({ type: `Aspect${reason}`, status, reason, message }));
    const about = (verdict: Verdict<unknown>) =>
      conclude({ verdict, own: others, drifted: [], generation, previous: [], wallMs });
    return [
      row(`ready, aspects ${status}`, seen(observed(about({ is: 'ready' }))), 'Current'),
      row(`stalled, aspects ${status}`, seen(observed(about({ is: 'stall', reason: 'Rejected', message }))), 'Failed'),
    ];
  });
  const recovery = (['True', 'False', 'Unknown'] as const).flatMap((status) => {
    const aspect = [{ type: 'RecoveryReady', status, reason: 'RecoveryReady' as const, message }];
    const about = (verdict: Verdict<unknown>) =>
      observed(conclude({ verdict, own: aspect, drifted: [], generation, previous: [], wallMs }));
    const older = { observedGeneration: generation - 1, conditions: about({ is: 'ready' }).conditions };
    return [
      row(`ready, recovery ${status}`, seen(about({ is: 'ready' })), 'Current'),
      row(`stalled, recovery ${status}`, seen(about({ is: 'stall', reason: 'Rejected', message })), 'Failed'),
      row(`changed since, recovery ${status}`, seen(older), 'InProgress'),
    ];
  });
  const waiting = conditionsOf({ is: 'wait', reason: 'Deleting', message });
  return [
    ...verdicts,
    ...aspects,
    ...recovery,
    row('created a moment ago', seen({ observedGeneration: -1 }), 'InProgress'),
    row('changed a moment ago', seen({ observedGeneration: generation - 1, conditions: ready }), 'InProgress'),
    row('ready and drifted', seen(observed(conditionsOf({ is: 'ready' }, ['config.url']))), 'Current'),
    row('ready and paused', seen(observed(paused(ready, generation, wallMs)), hold), 'Current'),
    row('changed and paused', seen(observed(paused(ready, generation + 1, wallMs)), hold), 'InProgress'),
    row('paused before the first look', seen({ observedGeneration: -1 }, hold), 'InProgress'),
    row('deleted before the first look', seen({ observedGeneration: -1 }, gone), 'Terminating'),
    row('deleted while ready', seen(observed(ready), gone), 'Terminating'),
    row('deleted while paused', seen(observed(paused(ready, generation, wallMs)), { ...hold, ...gone }), 'Terminating'),
    row('being deleted', seen(observed(waiting), gone), 'Terminating'),
  ];
}

function row(name: string, object: Seen, kstatus: Verdicts): Row {
  return { name, object, kstatus };
}

/** What kstatus makes of a custom resource, stated anew: `npm run check:deploy` asks the real one. */
export function kstatusOf({ metadata, status }: Seen): Verdicts {
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (status !== undefined && status.observedGeneration !== metadata.generation) return 'InProgress';
  for (const condition of status?.conditions ?? []) {
    if (condition.type === 'Reconciling' && condition.status === 'True') return 'InProgress';
    if (condition.type === 'Stalled' && condition.status === 'True') return 'Failed';
  }
  const about = status?.conditions?.find(({ type }) => type === 'Ready');
  return about === undefined || about.status === 'True' ? 'Current' : 'InProgress';
}

/** What the stricter example for Flux must make of a row; about deletions Flux asks kstatus itself. */
export function recoverableOf({ object: { metadata, status } }: Row): Verdicts {
  if (status !== undefined && status.observedGeneration !== metadata.generation) return 'InProgress';
  const holds = (wanted: string) =>
    status?.conditions?.some(({ type, status: is }) => type === wanted && is === 'True');
  if (holds('Stalled') === true) return 'Failed';
  return holds('RecoveryReady') === true ? 'Current' : 'InProgress';
}

const argoWords = { Current: 'Healthy', InProgress: 'Progressing', Failed: 'Degraded', Terminating: 'Progressing' };

/** What Argo CD must say of a row: kstatus knows no pause, and Argo CD shows it. */
export function argoOf({ object, kstatus }: Row): string {
  const paused = object.metadata.annotations?.['apphosting.dev/paused'] === 'true';
  return paused && kstatus !== 'Terminating' ? 'Suspended' : argoWords[kstatus];
}
