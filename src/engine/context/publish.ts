/** Events, log lines and metrics about an object. */
import { sameJson } from '../../base/json.ts';
import type { Call, Condition, OwnCondition, Told, Verdict } from '../kind/contract/step.ts';
import type { AnyKind } from '../kind/contract/define.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import { storedInWords, type Stored } from '../objects/object-index.ts';
import type { KubeObject, Outcome } from '../ports.ts';
import type { EngineParts, ReadableContext } from './parts.ts';

/** Reasons of waiting that deserve a Warning event. */
const warnings: ReadonlySet<string> = new Set<Reason>(['VisibilityLost', 'DeletionBlocked']);
const headlines: ReadonlySet<string> = new Set(['Ready', 'Reconciling', 'Stalled', 'Synced', 'Drifted']);

/** True when the conditions that every kind has say the same. */
export function sameHeadline(before: readonly Condition[], after: readonly Condition[]): boolean {
  const [was, is] = [before, after].map((rows) => rows.filter(({ type }) => headlines.has(type)));
  return sameJson(was, is);
}

/** Conditions that the verdict states, and the shown ones of other types. */
export function merged(stated: readonly OwnCondition[], shown: readonly OwnCondition[]): readonly OwnCondition[] {
  const types = new Set(stated.map(({ type }) => type));
  return [...stated, ...shown.filter(({ type }) => !types.has(type))];
}

/** Adds the conditions that the kind always has, as `Unknown` with the reason of the verdict where nothing is known. */
export function completed(
  own: readonly OwnCondition[],
  kind: AnyKind,
  { reason = 'ReadingService', message = 'nothing was read of it yet' }: Verdict<unknown>,
): readonly OwnCondition[] {
  const missing = (kind.always ?? []).filter((type) => own.every((condition) => condition.type !== type));
  return [...own, ...missing.map((type) => ({ type, status: 'Unknown', reason, message }) as const)];
}

/** The kind's own conditions of an object that could not be read: unchanged, except fleeting ones, which become Unknown. */
export function keptConditions(
  kind: AnyKind,
  conditions: readonly Condition[],
  { reason = 'InSync', message = '' }: Verdict<unknown>,
): readonly OwnCondition[] {
  const own = conditions.filter(({ type }) => !headlines.has(type)) as readonly OwnCondition[];
  if (reason === 'ReadingService' || reason === 'InDoubt') return own;
  return own.map((condition) =>
    kind.fleeting?.includes(condition.type) === true ? { ...condition, status: 'Unknown', reason, message } : condition,
  );
}

/** Publishes a change of Ready's reason, except a success right after a call, which the call's own event shows. */
export function announce(
  { log, events }: EngineParts,
  object: KubeObject,
  verdict: Verdict<unknown>,
  previous: readonly Condition[],
  conditions: readonly Condition[],
): void {
  const before = previous.find(({ type }) => type === 'Ready');
  const after = conditions.find(({ type }) => type === 'Ready');
  if (after === undefined || (before?.reason === after.reason && before.status === after.status)) return;
  const { kind, metadata } = object;
  log.info({ kind, namespace: metadata.namespace, name: metadata.name, reason: after.reason }, after.message);
  const recovered = before !== undefined && before.reason !== 'Creating' && before.reason !== 'ReadingService';
  if (verdict.is === 'ready' && !recovered) return;
  const type = verdict.is === 'stall' || warnings.has(after.reason) ? 'Warning' : 'Normal';
  const isRoutine = type === 'Normal';
  events.record({ regarding: object, type, reason: after.reason, action: 'Reconcile', note: after.message, isRoutine });
}

const doneReasons = {
  create: 'Created',
  update: 'Updated',
  remove: 'Deleted',
  identified: 'Requested',
  read: 'Read',
} as const;

/** Publishes a call to the service, once. */
export function publishCall(context: ReadableContext, call: Call<unknown>, outcome: Outcome): void {
  const { parts, object } = context;
  const { kind, metadata } = object;
  const { endpoint, effect } = call.request;
  parts.metrics.count('apphosting_calls_total', { kind, endpoint, outcome: outcome.is });
  // A call that was not carried out is logged at debug level only: status gives its reason.
  const isNews = outcome.is !== 'notSent' && outcome.is !== 'notExecuted';
  parts.log[isNews ? 'info' : 'debug'](
    { kind, namespace: metadata.namespace, name: metadata.name, endpoint, outcome: outcome.is },
    call.words,
  );
  if (call.warns !== undefined) tell(context, 'Warning', call.warns);
  if (outcome.is !== 'committed') return;
  const told = call.tells?.(outcome.body);
  if (told !== undefined) tell(context, 'Normal', told);
  const reason = doneReasons[effect];
  const note = `done: ${call.words}`;
  parts.events.record({ regarding: object, type: 'Normal', reason, action: reason, note, isRoutine: true });
}

function tell(context: ReadableContext, type: 'Normal' | 'Warning', { reason, note }: Told): void {
  const { parts, object } = context;
  parts.events.record({ regarding: object, type, reason, action: reason, note: context.redacted(note) });
}

/** Publishes what stays in the service after a resource is deleted. */
export function publishRetained(
  { events, log }: Pick<EngineParts, 'events' | 'log'>,
  stored: Stored,
  note: string,
): void {
  log.warn({ object: storedInWords(stored) }, note);
  events.record({ regarding: stored.object, type: 'Warning', reason: 'Retained', action: 'Release', note });
}
