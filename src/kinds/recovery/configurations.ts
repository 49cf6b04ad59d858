/** Reads one configuration from the service's list, for recovery requests about that configuration. */
import { definedIn } from '../../base/json.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Reason } from '../../engine/kind/contract/reasons.ts';
import { waitForSecondMiss, readOf, waitWhileFrozen } from '../../engine/kind/planner/observe.ts';
import type { Snapshot } from '../../engine/ports.ts';
import {
  drConfigurationsOf,
  type ConfigurationItem,
  type DrOperation,
  type PendingCleanup,
} from '../../hosting/requests.ts';
import { never, notYet, type Fence } from './approval.ts';
import type { ValidationCleanup } from './schema.ts';

/**
 * The configuration that was looked for, and the complete list in which it was looked for. The configuration is
 * undefined if the list does not contain it.
 */
export interface SeenConfiguration {
  readonly snapshot: Snapshot;
  readonly configuration: ConfigurationItem | undefined;
}

/** Looks for a configuration in a list whose read began at or after `since`. */
export function lookAt(pass: Pass, configurationId: string, since: number) {
  const read = drConfigurationsOf(pass.account.accountId);
  const found = pass.view.one(read, configurationId);
  if (found === undefined || found.snapshot.begunAt < since) return readOf(pass, read, since);
  return { snapshot: found.snapshot, configuration: found.item } satisfies SeenConfiguration;
}

/** Returns an operation of a configuration as the newest list shows it. */
export function shownOperation(pass: Pass, configurationId: string, operationId: string | undefined) {
  const configuration = shownConfiguration(pass, configurationId);
  return configuration && operationIn(configuration, operationId);
}

/** Returns a configuration as the newest list shows it. */
export function shownConfiguration({ view, account }: Pass, configurationId: string): ConfigurationItem | undefined {
  return view.one(drConfigurationsOf(account.accountId), configurationId)?.item;
}

/** True for a warm configuration, which keeps a standby. */
export function isWarm({ settings, warmDestination, standby, warmRecoveryOperationId }: ConfigurationItem): boolean {
  const { mode } = settings ?? {};
  if (mode !== undefined) return mode.toLowerCase() === 'warm';
  return warmDestination !== undefined || standby !== undefined || warmRecoveryOperationId !== undefined;
}

/** Finds an operation of a configuration by its id, as the active operation or in the history. */
export function operationIn(
  { activeOperation, activities }: ConfigurationItem,
  operationId: string | undefined,
): DrOperation | undefined {
  if (operationId === undefined) return undefined;
  const recorded = activities.find((activity) => activity.operationId === operationId);
  if (activeOperation?.operationId !== operationId) return recorded;
  return { ...activeOperation, ...definedIn(recorded ?? {}), ...definedIn(activeOperation) };
}

/** Returns the id of the operation that the service works on, if any. */
export function activeIdOf({ activeOperation }: ConfigurationItem): string | undefined {
  return activeOperation?.operationId;
}

/** Returns the operation that the service works on, if any. The operation may have no id yet. */
export function activeOf(configuration: ConfigurationItem): DrOperation | undefined {
  return operationIn(configuration, activeIdOf(configuration)) ?? configuration.activeOperation;
}

/** Returns the operation that the service works on, followed by the operations in the history of the configuration. */
export function operationsOf(configuration: ConfigurationItem): readonly DrOperation[] {
  const active = activeOf(configuration);
  return [...(active === undefined ? [] : [active]), ...configuration.activities];
}

/**
 * Returns the id of the first operation that `fits` accepts and that is new. An operation is new if the journal entry
 * does not list it as existing before the call, and no other resource claims it.
 */
export function newOperationId(
  { memory, claimant }: Pass,
  configuration: ConfigurationItem,
  fits: (operation: DrOperation) => boolean,
): string | undefined {
  const { excluded = [] } = memory.journal?.create ?? {};
  const isNew = (id: string) => !excluded.includes(id) && claimant(id) === undefined;
  return operationsOf(configuration).find(
    (operation) => operation.operationId !== undefined && isNew(operation.operationId) && fits(operation),
  )?.operationId;
}

/** Describes an operation for messages by its id. */
export function operationInWords({ operationId }: Pick<DrOperation, 'operationId'>): string {
  return `operation ${operationId ?? '(the service does not show the id)'}`;
}

/** Returns the activation that the service works on, if any. */
export function activationUnderWay(configuration: ConfigurationItem): DrOperation | undefined {
  const active = activeOf(configuration);
  if (active === undefined || !isActivation(active)) return undefined;
  // The operation of a warm standby may show a cutoff too, so a cutoff alone does not prove that an operation is an
  // activation.
  const isStandby = active.kind === undefined && isSettledStandby(configuration);
  return isStandby ? undefined : active;
}

/**
 * True if the active operation only keeps a warm standby up to date. An activation may take over such a standby.
 */
export function isSettledStandby(configuration: ConfigurationItem): boolean {
  const { warmRecoveryOperationId } = configuration;
  return warmRecoveryOperationId !== undefined && activeIdOf(configuration) === warmRecoveryOperationId;
}

/** Returns the ids of all operations that the configuration shows. */
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

/** True when the configuration shows the operation: as the active operation, in the history or in another field. */
export function shows(configuration: ConfigurationItem | undefined, operationId: string | undefined): boolean {
  return (
    operationId !== undefined && configuration !== undefined && operationIdsOf(configuration).includes(operationId)
  );
}

/** True for an activation. If no kind is shown, an activation is recognised by its cutoff, which only activations have. */
export function isActivation({ kind, cutoffAt }: Partial<DrOperation>): boolean {
  return kind === undefined ? cutoffAt !== undefined : /activat/i.test(kind);
}

/** True for an operation that ended without a live environment. */
export function endedInVain({ endedAt, outcome }: Partial<DrOperation>): boolean {
  return endedAt !== undefined && outcome !== undefined && /^(failed|discarded|superseded|cancell?ed)$/i.test(outcome);
}

/**
 * True if an activation was over before the activation `later` began: it has an end before that moment, or an earlier
 * start. An earlier start is enough, because the service begins no activation while another is in progress.
 */
export function wasOverBefore({ startedAt, endedAt }: DrOperation, later: DrOperation | undefined): boolean {
  if (later === undefined || !isActivation(later)) return false;
  const began = Date.parse(later.startedAt ?? '');
  return Date.parse(endedAt ?? '') <= began || Date.parse(startedAt ?? '') < began;
}

/** Returns the clean-up after a validation, with the field names of status. */
export function cleanupFacts({ validationCleanup: shown }: DrOperation): ValidationCleanup | undefined {
  const { observedAt: observedTime, ...rest } = shown ?? {};
  return shown && { observedTime, ...rest };
}

/** True while the service cleans up. Disks that the service only keeps for their retention period do not count. */
export function cleansUp(cleanup: PendingCleanup | undefined): boolean {
  return (cleanup?.pendingCount ?? 0) > (cleanup?.retainedDiskCount ?? 0);
}

/** True if two texts mean the same moment, whichever way the times are written. */
export function sameMoment(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a === b || Date.parse(a) === Date.parse(b);
}

/** Minimum time between the two lists that prove that an object is gone. */
export const provenApartMs = 10_000;

/** Waits until two complete lists, far enough apart, prove that an object is gone; returns undefined once they do. */
export function provenTwice(
  pass: Pass,
  { begunAt }: Snapshot,
  reason: Reason,
  message: string,
  apartMs = provenApartMs,
) {
  const read = drConfigurationsOf(pass.account.accountId);
  return waitForSecondMiss(pass, { read, begunAt, apartMs }, { reason, message });
}

/**
 * Waits until two lists prove that a missing configuration is gone; returns undefined once they do. While the account
 * is frozen, waits in any case.
 */
export function provenGone(pass: Pass, snapshot: Snapshot, reason: Reason, message: string) {
  return waitWhileFrozen(pass) ?? provenTwice(pass, snapshot, reason, message);
}

/** Ends a recovery request because its configuration is gone. Before that, waits until two lists prove it. */
export function withoutConfiguration(pass: Pass, snapshot: Snapshot, configurationId: string) {
  const message = `the service shows no configuration ${configurationId}`;
  return provenGone(pass, snapshot, 'ObjectMissing', message) ?? never('Superseded', message);
}

/**
 * Requires that the DisasterProtection still has the configuration that the spec names. If the DisasterProtection was
 * deleted or has no configuration, the check passes.
 */
export function rebound(pass: Pass<{ readonly protectionRef: { readonly name: string } }>, configurationId: string) {
  const { name } = pass.spec.protectionRef;
  const { id = configurationId } = pass.referred('DisasterProtection', name) ?? {};
  if (id === configurationId) return undefined;
  return never('Superseded', `DisasterProtection ${name} has configuration ${id}, not ${configurationId}`);
}

/**
 * Requires that the configuration has the generation in the spec. A newer generation ends the request. With an older
 * one the operator waits, because the list may be out of date.
 */
export function movedOn(shown: number, pinned: number): Fence | undefined {
  if (shown === pinned) return undefined;
  const message = `the configuration has generation ${shown}, but the spec names generation ${pinned}`;
  return shown > pinned ? never('Superseded', message) : notYet('ReadingService', message);
}
