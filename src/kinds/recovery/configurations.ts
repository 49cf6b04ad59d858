/** Reads one configuration as the service lists it, for the requests that are about it. */
import { definedIn } from '../../base/json.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Reason } from '../../engine/kind/contract/reasons.ts';
import { missedTwice, readOf, sightLost } from '../../engine/kind/planner/observe.ts';
import type { Snapshot } from '../../engine/ports.ts';
import {
  drConfigurationsOf,
  type ConfigurationItem,
  type DrOperation,
  type PendingCleanup,
  type SourceItem,
} from '../../hosting/requests.ts';
import { never, notYet, type Fence } from './approval.ts';
import type { ValidationCleanup } from './schema.ts';

/** A configuration as one complete list shows it. */
export interface SeenConfiguration {
  readonly snapshot: Snapshot;
  readonly configuration: ConfigurationItem | undefined;
}

/** Looks for a configuration in a list begun at or after `since`. */
export function lookAt(pass: Pass, configurationId: string, since: number) {
  const read = drConfigurationsOf(pass.account.accountId);
  const found = pass.view.one(read, configurationId);
  if (found === undefined || found.snapshot.begunAt < since) return readOf(pass, read, since);
  return { snapshot: found.snapshot, configuration: found.item } satisfies SeenConfiguration;
}

/** A configuration as the newest list shows it. */
export function shownConfiguration({ view, account }: Pass, configurationId: string): ConfigurationItem | undefined {
  return view.one(drConfigurationsOf(account.accountId), configurationId)?.item;
}

/** True for a configuration of this environment: by its source, or where that is not shown by the id in the list of sources. */
export function isOf(appEnvId: string, source: SourceItem | undefined) {
  return ({ sourceAppEnvId, configurationId }: ConfigurationItem): boolean =>
    sourceAppEnvId === undefined ? configurationId === source?.configurationId : sourceAppEnvId === appEnvId;
}

/** True for a warm configuration, which keeps a standby. */
export function isWarm({ settings, warmDestination, standby, warmRecoveryOperationId }: ConfigurationItem): boolean {
  const { mode } = settings ?? {};
  if (mode !== undefined) return mode.toLowerCase() === 'warm';
  return warmDestination !== undefined || standby !== undefined || warmRecoveryOperationId !== undefined;
}

/** An operation by its id, as the active one or in the history. */
export function operationIn(
  { activeOperation, activities }: ConfigurationItem,
  operationId: string | undefined,
): DrOperation | undefined {
  if (operationId === undefined) return undefined;
  const recorded = activities.find((activity) => activity.operationId === operationId);
  return activeOperation?.operationId === operationId ? filledFrom(activeOperation, recorded) : recorded;
}

/** An operation, with what another entry of it shows where it shows nothing itself. */
export function filledFrom(operation: DrOperation, entry: DrOperation | undefined): DrOperation {
  return { ...operation, ...definedIn(entry ?? {}), ...definedIn(operation) };
}

/** The id of the operation that the service works on, if any. */
export function activeIdOf({ activeOperationId, activeOperation }: ConfigurationItem): string | undefined {
  return activeOperationId ?? activeOperation?.operationId;
}

/** The operation that the service works on, if any, as far as it shows it; it may show no id. */
export function activeOf(configuration: ConfigurationItem): DrOperation | undefined {
  return operationIn(configuration, activeIdOf(configuration)) ?? configuration.activeOperation;
}

/** An operation in messages. */
export function nameOf({ operationId }: Pick<DrOperation, 'operationId'>): string {
  return `operation ${operationId ?? '(its id is not shown)'}`;
}

/** The activation that the service works on, if any. */
export function activationUnderWay(configuration: ConfigurationItem): DrOperation | undefined {
  const active = activeOf(configuration);
  if (active === undefined || !isActivation(active)) return undefined;
  // A settled standby may show a cutoff too, so a cutoff alone does not make it an activation.
  const isStandby = active.kind === undefined && isSettledStandby(configuration);
  return isStandby ? undefined : active;
}

/** True when the active operation is the settled standby of a warm configuration, which may be taken over. */
export function isSettledStandby(configuration: ConfigurationItem): boolean {
  const { warmRecoveryOperationId } = configuration;
  return warmRecoveryOperationId !== undefined && activeIdOf(configuration) === warmRecoveryOperationId;
}

/** Every operation that is shown by its id. */
export function operationIdsOf(configuration: ConfigurationItem): readonly string[] {
  const { activities, activationResult, warmRecoveryOperationId } = configuration;
  const ids = [
    activeIdOf(configuration),
    activationResult?.operationId,
    warmRecoveryOperationId,
    ...activities.map(({ operationId }) => operationId),
  ];
  return [...new Set(ids.filter((id) => id !== undefined))].slice(0, 1_000);
}

/** True when an operation is listed anywhere in the configuration. */
export function shows(configuration: ConfigurationItem | undefined, operationId: string | undefined): boolean {
  return (
    operationId !== undefined && configuration !== undefined && operationIdsOf(configuration).includes(operationId)
  );
}

/** True for an activation: by its kind or, where no kind is shown, by its cutoff, which only activations have. */
export function isActivation({ kind, cutoffAt }: Pick<DrOperation, 'kind' | 'cutoffAt'>): boolean {
  return kind === undefined ? cutoffAt !== undefined : /activat/i.test(kind);
}

/** True for an operation that ended without a live environment. */
export function endedInVain({ endedAt, outcome }: DrOperation): boolean {
  return endedAt !== undefined && outcome !== undefined && /^(failed|discarded|superseded|cancell?ed)$/i.test(outcome);
}

/**
 * Whether an activation was over before another one began: its end is shown, or it began earlier, since the service begins none while
 * another one is in progress.
 */
export function wasOverBefore({ startedAt, endedAt }: DrOperation, later: DrOperation | undefined): boolean {
  if (later === undefined || !isActivation(later)) return false;
  const began = Date.parse(later.startedAt ?? '');
  return Date.parse(endedAt ?? '') <= began || Date.parse(startedAt ?? '') < began;
}

/** The clean-up after a validation for status. */
export function cleanupFacts({ validationCleanup: shown }: DrOperation): ValidationCleanup | undefined {
  const { observedAt: observedTime, ...rest } = shown ?? {};
  return shown && { observedTime, ...rest };
}

/** Clean-up that is under way, and not only a disk that is kept for its time. */
export function cleansUp(cleanup: PendingCleanup | undefined): boolean {
  return (cleanup?.pendingCount ?? 0) > (cleanup?.retainedDiskCount ?? 0);
}

/** True for the same moment, however each is written. */
export function sameMoment(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a === b || Date.parse(a) === Date.parse(b);
}

/** Two lists must be this far apart to prove that something is gone. */
const provenApartMs = 10_000;

/** Undefined once two complete lists, far enough apart, agree; otherwise what to do until they do. */
export function provenTwice(pass: Pass, { begunAt }: Snapshot, reason: Reason, message: string) {
  const read = drConfigurationsOf(pass.account.accountId);
  return missedTwice(pass, { read, begunAt, apartMs: provenApartMs }, { reason, message });
}

/** Undefined once it is proved that a configuration which does not show is gone; otherwise what to do until it is. */
export function provenGone(pass: Pass, snapshot: Snapshot, reason: Reason, message: string) {
  return sightLost(pass) ?? provenTwice(pass, snapshot, reason, message);
}

/** The end of a request whose configuration is gone, once that is proved. */
export function withoutConfiguration(pass: Pass, snapshot: Snapshot, configurationId: string) {
  const message = `the service shows no configuration ${configurationId}`;
  return provenGone(pass, snapshot, 'ObjectMissing', message) ?? never('Superseded', message);
}

/** The generation must be the pinned one; an older one is a list that lags. */
export function movedOn(shown: number, pinned: number): Fence | undefined {
  if (shown === pinned) return undefined;
  const message = `the configuration has generation ${shown}, and the spec pins ${pinned}`;
  return shown > pinned ? never('Superseded', message) : notYet('ReadingService', message);
}
