/**
 * Tells people about an object: by events, log lines, metrics and conditions, and by messages about a deletion that
 * cannot proceed.
 */
import { sameJson } from '../../base/json.ts';
import { about, type Call, type Condition, type Memory, type OwnCondition } from '../kind/contract/step.ts';
import type { Step, Told, Verdict } from '../kind/contract/step.ts';
import { type AnyKind, annotations } from '../kind/contract/define.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import { isHeldByUs, storedInWords, type Stored, readyIn } from '../objects/stored.ts';
import type { KubeObject, Outcome } from '../ports.ts';
import type { EngineParts } from './parts.ts';
import { isoSeconds } from '../../base/time.ts';

/**
 * The condition reasons with which a waiting object gets a Warning event. With any other reason it gets a Normal event.
 */
const warnings: ReadonlySet<string> = new Set<Reason>(['VisibilityLost', 'DeletionBlocked']);

/**
 * Publishes a change of the condition Ready as a log line and an event. The first success gets no event here, because
 * the call that succeeded has published one.
 */
export function announce(
  { log, events }: EngineParts,
  object: KubeObject,
  verdict: Verdict,
  previous: readonly Condition[],
  conditions: readonly Condition[],
): void {
  const before = readyIn(previous);
  const after = readyIn(conditions);
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

/**
 * Publishes a call to the service as an event, a log line and a metric. The function `shown` removes secrets from a
 * text.
 */
export function publishCall(
  { events, log, metrics }: EngineParts,
  object: KubeObject,
  call: Call,
  outcome: Outcome,
  shown: (text: string) => string,
): void {
  const { kind, metadata } = object;
  const { endpoint, effect } = call.request;
  const tell = (type: 'Normal' | 'Warning', { reason, note }: Told): void =>
    events.record({ regarding: object, type, reason, action: reason, note: shown(note) });
  metrics.count('apphosting_calls_total', { kind, endpoint, outcome: outcome.is });
  // A call with the outcome `notSent` or `notExecuted` is logged only at debug level, because status gives the reason.
  const isNews = outcome.is !== 'notSent' && outcome.is !== 'notExecuted';
  log[isNews ? 'info' : 'debug'](
    { kind, namespace: metadata.namespace, name: metadata.name, endpoint, outcome: outcome.is },
    call.words,
  );
  if (call.warns !== undefined) tell('Warning', call.warns);
  if (outcome.is !== 'committed') return;
  const told = call.tells?.(outcome.body);
  if (told !== undefined) tell('Normal', told);
  const reason = doneReasons[effect];
  const note = `done: ${call.words}`;
  events.record({ regarding: object, type: 'Normal', reason, action: reason, note, isRoutine: true });
}

/** Publishes an event that says what a deleted resource leaves in the service. */
export function publishRetained(
  { events, log }: Pick<EngineParts, 'events' | 'log'>,
  stored: Stored,
  note: string,
): void {
  log.warn({ object: storedInWords(stored) }, note);
  events.record({ regarding: stored.object, type: 'Warning', reason: 'Retained', action: 'Release', note });
}

// ---- deletions that are held up --------------------------------------------------------------------------------
//
// Handles deletions that cannot be carried out as usual.
//
// Why: docs/design/ownership.md#a-resource-can-always-be-deleted-without-its-object

/**
 * The condition reasons with which the operator cannot delete an object from the service. They do not include
 * DeletionBlocked: then the service refuses, because something uses or protects the object.
 */
const outOfReach: ReadonlySet<Reason> = new Set<Reason>([
  'AccountNotReady',
  'EndpointChanged',
  'Forbidden',
  'InvalidSpec',
  'JournalDamaged',
]);

/**
 * Returns the step that removes the finalizer of an object that is being deleted, without a call to the service: for an
 * account that no resource uses, or for a resource with the annotation `on-delete: Retain`. Returns undefined for all
 * other objects.
 */
export function releasedWithoutCall(
  { object, kind }: Stored,
  memory: Memory,
  users: () => { readonly count: number },
): Extract<Step, { is: 'release' }> | undefined {
  const { deletionTimestamp, annotations: given } = object.metadata;
  if (deletionTimestamp === undefined) return undefined;
  if (kind.life === 'account') return users().count === 0 ? { is: 'release' } : undefined;
  if (given?.[annotations.onDelete] !== 'Retain') return undefined;
  const stays = staying(memory);
  return { is: 'release', ...(stays !== undefined && { stays }) };
}

/** When a deletion cannot proceed, adds to its message the name of the annotation that lets it finish. */
export function withWayOut({ object, kind }: Stored, memory: Memory, verdict: Verdict): Verdict {
  const isHeld = object.metadata.deletionTimestamp !== undefined && isHeldByUs(object);
  if (!isHeld || kind.life === 'account' || verdict.is === 'ready' || !outOfReach.has(verdict.reason)) return verdict;
  const stays = staying(memory);
  const price = stays === undefined ? '' : ` (then ${stays})`;
  return {
    ...verdict,
    message: `${verdict.message}; to delete only the Kubernetes resource, set its annotation ${annotations.onDelete}=Retain${price}`,
  };
}

/**
 * Returns a text that says what stays in the service when only the Kubernetes resource is deleted; undefined if nothing
 * stays.
 */
export function staying({ id, journal }: Memory): string | undefined {
  if (id !== undefined) return `${id} stays in the service`;
  if (journal?.create === undefined) return undefined;
  return `an object named "${journal.create.name}" may stay in the service, because the outcome of the create call is not known`;
}

// ---- conditions ------------------------------------------------------------------------------------------------

const longestMessage = 1_024;

/** The inputs from which the conditions of an object are computed. */
interface Conclusion {
  readonly verdict: Verdict;
  readonly own: readonly OwnCondition[];
  readonly drifted: readonly string[];
  /** The call that would be sent next if the policy of the resource were not `Observe`. */
  readonly wouldDo?: string | undefined;
  readonly generation: number;
  readonly previous: readonly Condition[];
  readonly wallMs: number;
}

/** Builds all conditions in the form that kstatus reads. A condition's lastTransitionTime changes only with its status. */
export function conclude(conclusion: Conclusion): readonly Condition[] {
  const { verdict, own, drifted } = conclusion;
  const drift = drifted.length === 0 ? [] : [drifting.yes('Drifted', differs(drifted))];
  const rows = [...headline(verdict), synced(conclusion), ...drift, ...own];
  return rows.map((row) => stamp(row, conclusion));
}

/**
 * The condition reasons that say that a call is being made or that its outcome is not known yet. Pausing an object
 * removes them, because a paused object makes no calls.
 */
const underWay: ReadonlySet<string> = new Set<Reason>(['Creating', 'Requesting', 'InDoubt']);

/**
 * Returns the conditions of a paused object: unchanged, unless they are about an older generation or say that a call is
 * being made.
 */
export function paused(previous: readonly Condition[], generation: number, wallMs: number): readonly Condition[] {
  const ready = readyIn(previous);
  if (ready !== undefined && ready.observedGeneration === generation && !underWay.has(ready.reason)) return previous;
  const others = previous.filter(
    ({ type, reason }) => !['Ready', 'Reconciling', 'Stalled'].includes(type) && !underWay.has(reason),
  );
  const neverSeen = others.every((condition) => condition.type !== 'Synced');
  const message = 'the annotation apphosting.dev/paused pauses this object; remove the annotation to continue';
  const rows = ['Ready', ...(neverSeen ? ['Synced'] : [])].map((type) => about(type).unknown('Paused', message));
  return [...rows.map((row) => stamp(row, { previous, generation, wallMs })), ...others];
}

const [readiness, reconciling, stalled] = [about('Ready'), about('Reconciling'), about('Stalled')];
const [syncing, drifting] = [about('Synced'), about('Drifted')];
const headlines: ReadonlySet<string> = new Set(['Ready', 'Reconciling', 'Stalled', 'Synced', 'Drifted']);

function headline(verdict: Verdict): readonly OwnCondition[] {
  if (verdict.is === 'ready') {
    const { reason = 'InSync', message = 'the service equals the spec' } = verdict;
    return [readiness.yes(reason, message)];
  }
  const { is, reason, message } = verdict;
  return [readiness.no(reason, message), (is === 'wait' ? reconciling : stalled).yes(reason, message)];
}

function synced({ verdict, drifted, wouldDo }: Conclusion): OwnCondition {
  if (drifted.length > 0) return syncing.no('Drifted', differs(drifted));
  if (verdict.is !== 'ready') return syncing.no(verdict.reason, verdict.message);
  if (wouldDo !== undefined)
    return syncing.no('Observed', `the object is only observed, so this call was not sent: ${wouldDo}`);
  return syncing.yes('Synced', 'the last call or read succeeded');
}

function differs(fields: readonly string[]): string {
  return `the service differs from the spec in ${fields.join(', ')}`;
}

function stamp(
  { type, status, reason, message }: OwnCondition,
  { previous, generation, wallMs }: Pick<Conclusion, 'previous' | 'generation' | 'wallMs'>,
): Condition {
  const before = previous.find((condition) => condition.type === type);
  const isLong = message.length > longestMessage;
  return {
    type,
    status,
    reason,
    message: isLong ? `${message.slice(0, longestMessage - 1)}…` : message,
    observedGeneration: generation,
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : isoSeconds(wallMs),
  };
}

/**
 * True when the conditions that every kind has (Ready, Reconciling, Stalled, Synced, Drifted) are equal in both sets.
 */
export function sameHeadline(before: readonly Condition[], after: readonly Condition[]): boolean {
  const [was, is] = [before, after].map((rows) => rows.filter(({ type }) => headlines.has(type)));
  return sameJson(was, is);
}

/**
 * Returns the conditions that only this kind has. Each condition comes from the verdict if the verdict contains it, and
 * otherwise from the read of the service (from the earlier status if nothing was read). A condition that the kind
 * always has but that comes from none of these sources is `Unknown`.
 */
export function ownConditions(
  kind: AnyKind,
  verdict: Verdict,
  previous: readonly Condition[],
  shown: readonly OwnCondition[] = keptConditions(kind, previous, verdict),
): readonly OwnCondition[] {
  const { conditions = [], reason = 'ReadingService', message = 'the service has not been read yet' } = verdict;
  const unknown = (kind.always ?? []).map((type): OwnCondition => ({ type, status: 'Unknown', reason, message }));
  const all = [...conditions, ...shown, ...unknown];
  return all.filter(({ type }, index) => all.findIndex((other) => other.type === type) === index);
}

/**
 * Returns the conditions that only this kind has, from the earlier status of an object that could not be read from the
 * service. They stay as they were while a read or the outcome of a call is awaited. Otherwise those that the kind lists
 * in `fleeting` become Unknown, and the rest stay as they were.
 */
function keptConditions(
  kind: AnyKind,
  conditions: readonly Condition[],
  { reason = 'InSync', message = '' }: Verdict,
): readonly OwnCondition[] {
  const own = conditions.filter(({ type }) => !headlines.has(type)) as readonly OwnCondition[];
  if (reason === 'ReadingService' || reason === 'InDoubt') return own;
  return own.map((condition) =>
    kind.fleeting?.includes(condition.type) === true ? { ...condition, status: 'Unknown', reason, message } : condition,
  );
}
