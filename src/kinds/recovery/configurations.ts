/** Reads one configuration as the service lists it, for the requests that are about it. */
import type { Pass } from '../../engine/kind/contract/pass.ts';
import { readOf, missedTwice, sightLost } from '../../engine/kind/planner/observe.ts';
import type { Reason } from '../../engine/kind/contract/reasons.ts';
import type { Step } from '../../engine/kind/contract/step.ts';
import type { Snapshot } from '../../engine/ports.ts';
import {
  drConfigurationsOf,
  drSourcesOf,
  type ConfigurationItem,
  type DrOperation,
  type PendingCleanup,
  type SourceItem,
} from '../../hosting/requests.ts';

/** A configuration as one complete list shows it, with its source. */
export interface SeenConfiguration {
  readonly snapshot: Snapshot;
  readonly configuration: ConfigurationItem | undefined;
  readonly source: SourceItem | undefined;
}

/** Looks for a configuration in a list begun at or after `since`; `appEnvId` is the source where the service does not show it. */
export function lookAt<Spec, Facts>(
  pass: Pass<Spec, Facts>,
  asked: { readonly configurationId: string; readonly appEnvId: string | undefined; readonly since: number },
): Step<Facts> | SeenConfiguration {
  const { accountId } = pass.account;
  const read = drConfigurationsOf(accountId);
  const found = pass.view.one(read, asked.configurationId);
  if (found === undefined || found.snapshot.begunAt < asked.since) return readOf(pass, read, asked.since);
  const appEnvId = found.item?.sourceAppEnvId ?? asked.appEnvId;
  const sources = drSourcesOf(accountId);
  const source = pass.view.one(sources, appEnvId ?? '');
  if (source === undefined && pass.view.problem(sources) === undefined) {
    return readOf(pass, sources, Number.NEGATIVE_INFINITY);
  }
  return { snapshot: found.snapshot, configuration: found.item, source: source?.item };
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
  return activeOperation?.operationId === operationId ? { ...recorded, ...definedIn(activeOperation) } : recorded;
}

/** An operation without the fields that are undefined. */
export function definedIn(operation: DrOperation): DrOperation {
  const rows = Object.entries(operation).filter(([, value]) => value !== undefined);
  // Only undefined fields are left out, and those may be.
  return Object.fromEntries(rows) as unknown as DrOperation;
}

/** The id of the operation that the service works on, if any. */
export function activeIdOf({ activeOperationId, activeOperation }: ConfigurationItem): string | undefined {
  return activeOperationId ?? activeOperation?.operationId;
}

/** The operation that the service works on, if any, as far as it shows it; it may show no id. */
export function activeOf(configuration: ConfigurationItem): DrOperation | undefined {
  return operationIn(configuration, activeIdOf(configuration)) ?? configuration.activeOperation;
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

/** The clean-up after a validation as it stands in status. */
interface ShownCleanup {
  readonly observedTime?: string | undefined;
  readonly retentionUntil?: string | undefined;
  readonly retentionPending?: boolean | undefined;
}

/** The clean-up after a validation for status, without the time of the service's last check, which changes all the time. */
export function cleanupFacts(
  now: DrOperation['validationCleanup'],
  before: ShownCleanup | undefined,
): ShownCleanup | undefined {
  if (now === undefined) return undefined;
  const { retentionPending, retentionUntil } = now;
  const isSame = before?.retentionPending === retentionPending && before?.retentionUntil === retentionUntil;
  if (before !== undefined && isSame) return before;
  const rows = { observedTime: now.observedAt, retentionUntil, retentionPending };
  return Object.fromEntries(Object.entries(rows).filter(([, value]) => value !== undefined));
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

/** The reason and message to show until something is proved. */
interface Said {
  readonly reason: Reason;
  readonly message: string;
}

/** Undefined once two complete lists, far enough apart, agree; otherwise what to do until they do. */
export function provenTwice<Spec, Facts>(
  pass: Pass<Spec, Facts>,
  { begunAt }: Snapshot,
  said: Said,
): Step<Facts> | undefined {
  const read = drConfigurationsOf(pass.account.accountId);
  return missedTwice(pass, { read, begunAt, apartMs: provenApartMs }, said);
}

/** Undefined once it is proved that a configuration which does not show is gone; otherwise what to do until it is. */
export function provenGone<Spec, Facts>(
  pass: Pass<Spec, Facts>,
  snapshot: Snapshot,
  said: Said,
): Step<Facts> | undefined {
  return sightLost(pass) ?? provenTwice(pass, snapshot, said);
}
