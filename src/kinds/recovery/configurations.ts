/**
 * Looks up the configuration of a recovery request in the list that the service shows, and answers questions about it,
 * such as which operation is active or whether the configuration is gone.
 */
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
 * The result of looking up a configuration in a complete list. `configuration` is undefined if the list does not
 * contain it.
 */
export interface SeenConfiguration {
  readonly snapshot: Snapshot;
  readonly configuration: ConfigurationItem | undefined;
}

/**
 * Returns a configuration, together with the list in which it was looked up. If that list was not read at `since` or
 * later, returns a step that reads it.
 */
export function lookAt(pass: Pass, configurationId: string, since: number) {
  const read = drConfigurationsOf(pass.account.accountId);
  const found = pass.view.one(read, configurationId);
  if (found === undefined || found.snapshot.begunAt < since) return readOf(pass, read, since);
  return { snapshot: found.snapshot, configuration: found.item } satisfies SeenConfiguration;
}

/** Returns an operation of a configuration from the newest list of the service. */
export function shownOperation(pass: Pass, configurationId: string, operationId: string | undefined) {
  const configuration = shownConfiguration(pass, configurationId);
  return configuration && operationIn(configuration, operationId);
}

/** Returns a configuration from the newest list of the service. */
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
 * Returns the id of the first new operation for which `fits` is true. An operation is new if it did not exist before
 * the call, according to the journal entry, and if no other resource claims it.
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

/** Returns the text that messages use for an operation: the word `operation` and its id. */
export function operationInWords({ operationId }: Pick<DrOperation, 'operationId'>): string {
  return `operation ${operationId ?? '(id unknown)'}`;
}

/** Returns the activation that the service works on, if any. */
export function activationUnderWay(configuration: ConfigurationItem): DrOperation | undefined {
  const active = activeOf(configuration);
  if (active === undefined || !isActivation(active)) return undefined;
  // A cutoff time alone does not prove that an operation is an activation, because the operation that keeps a warm
  // standby may show a cutoff time too.
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

/**
 * True if an operation is an activation. If the service does not show the kind of the operation, the operation counts
 * as an activation when it shows a cutoff time. The operation of a warm standby may show one too; see
 * `activationUnderWay`.
 */
export function isActivation({ kind, cutoffAt }: Partial<DrOperation>): boolean {
  return kind === undefined ? cutoffAt !== undefined : /activat/i.test(kind);
}

/**
 * True if an operation ended without making an environment live: it failed, or was discarded, superseded or cancelled.
 */
export function failedOrCancelled({ endedAt, outcome }: Partial<DrOperation>): boolean {
  return endedAt !== undefined && outcome !== undefined && /^(failed|discarded|superseded|cancell?ed)$/i.test(outcome);
}

/**
 * True if an activation was over before the activation `later` began: it had ended by then, or it began earlier than
 * `later`. An activation that began earlier is over, because the service begins no activation while another is in
 * progress.
 */
export function wasOverBefore({ startedAt, endedAt }: DrOperation, later: DrOperation | undefined): boolean {
  if (later === undefined || !isActivation(later)) return false;
  const began = Date.parse(later.startedAt ?? '');
  return Date.parse(endedAt ?? '') <= began || Date.parse(startedAt ?? '') < began;
}

/** Converts the clean-up after a validation to the field names of status. */
export function cleanupFacts({ validationCleanup: shown }: DrOperation): ValidationCleanup | undefined {
  const { observedAt: observedTime, ...rest } = shown ?? {};
  return shown && { observedTime, ...rest };
}

/** True while the service cleans up. Disks that the service only keeps for their retention period do not count. */
export function cleansUp(cleanup: PendingCleanup | undefined): boolean {
  return (cleanup?.pendingCount ?? 0) > (cleanup?.retainedDiskCount ?? 0);
}

/** True if two texts give the same point in time, even in different formats. */
export function sameMoment(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a === b || Date.parse(a) === Date.parse(b);
}

/** An object counts as gone only if two lists, read at least this far apart, do not contain it. */
export const provenApartMs = 10_000;

/**
 * Waits until two lists prove that an object is gone. Returns undefined once they do. The lists must be complete, and
 * must be read at least `apartMs` apart.
 */
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
 * Waits until two lists prove that a missing configuration is gone. Also waits while the account is frozen. Returns
 * undefined when there is nothing left to wait for.
 */
export function provenGone(pass: Pass, snapshot: Snapshot, reason: Reason, message: string) {
  return waitWhileFrozen(pass) ?? provenTwice(pass, snapshot, reason, message);
}

/** Waits until two lists prove that the configuration of a recovery request is gone, then ends the request. */
export function withoutConfiguration(pass: Pass, snapshot: Snapshot, configurationId: string) {
  const message = `the service does not list configuration ${configurationId}`;
  return provenGone(pass, snapshot, 'ObjectMissing', message) ?? never('Superseded', message);
}

/**
 * Stalls the request if its DisasterProtection now has another configuration than the one in the spec. Returns
 * undefined if the DisasterProtection was deleted or has no configuration.
 */
export function rebound(pass: Pass<{ readonly protectionRef: { readonly name: string } }>, configurationId: string) {
  const { name } = pass.spec.protectionRef;
  const { id = configurationId } = pass.referred('DisasterProtection', name) ?? {};
  if (id === configurationId) return undefined;
  return never('Superseded', `DisasterProtection ${name} has configuration ${id}, not ${configurationId}`);
}

/**
 * Returns a reason not to send the request if the generation of the configuration differs from the one in the spec. If
 * the generation of the configuration is newer, the request fails for good. If it is older, the request only waits,
 * because the list of configurations may be out of date.
 */
export function movedOn(shown: number, pinned: number): Fence | undefined {
  if (shown === pinned) return undefined;
  const message = `the configuration has generation ${shown}, but the spec names generation ${pinned}`;
  return shown > pinned ? never('Superseded', message) : notYet('ReadingService', message);
}
