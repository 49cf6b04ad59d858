/**
 * Finds out which activation in the service this resource began. The activation is recognised by the id of the
 * operation, by its result, or because it is new and fits a call whose outcome is unknown.
 *
 * Why: docs/design/recovery-requests.md#a-request-recognises-its-operation-by-id-result-or-content
 */
import type { Memory } from '../../engine/kind/contract/step.ts';
import type { ConfigurationItem, DrOperation } from '../../hosting/requests.ts';
import { failedOrCancelled, isActivation, newOperationId } from '../recovery/configurations.ts';
import { operationsOf, sameMoment, shows } from '../recovery/configurations.ts';
import { wasSent } from '../recovery/sending.ts';
import { namesOf, ownOperationId, type ActivationPass, type SeenProtection } from './content.ts';
import type { RecoveryActivationFacts, RecoveryActivationSpec } from './schema.ts';

/** The result of an activation, as the configuration in the service shows it. */
export type Result = NonNullable<ConfigurationItem['activationResult']>;

/**
 * Looks for the activation that this resource began, if status does not name it yet. The activation is recognised by
 * its id, by its result, or because it is new and fits a call whose outcome is unknown.
 *
 * `Presumed` means that no response of the service named the operation. The result of such an operation must later match
 * the recovery point and the names in the spec.
 */
export function findOperation(
  pass: ActivationPass,
  { configuration, source }: SeenProtection,
): Partial<Memory<RecoveryActivationFacts>> | undefined {
  if (configuration === undefined) return undefined;
  const recorded = ownOperationId(pass);
  if (recorded !== undefined && shows(configuration, recorded)) return { id: recorded, ownership: 'Created' };
  const { activationResult } = configuration;
  const mayHave = wasSent(pass) || (pass.spec.attempt ?? 1) === 1;
  if (
    activationResult?.operationId !== undefined &&
    mayHave &&
    isOfPoint(pass, activationResult) &&
    namesMatch(pass.spec, activationResult, source) === true
  ) {
    return { id: activationResult.operationId, ownership: 'Presumed' };
  }
  const fresh = wasSent(pass) ? newActivationId(pass, configuration, false) : undefined;
  return fresh === undefined ? undefined : { id: fresh, ownership: 'Presumed' };
}

/**
 * True if a result has the recovery point and the cutoff time in the spec, and does not belong to an earlier
 * activation.
 */
export function isOfPoint({ spec, memory }: ActivationPass, { operationId, pointId, cutoffAt }: Result): boolean {
  const { recoveryPoint, afterOperationId, attempt = 1 } = spec;
  const before = attempt > 1 ? (memory.journal?.create?.excluded ?? []) : [];
  const isBefore = operationId !== undefined && [afterOperationId, ...before].includes(operationId);
  return !isBefore && pointId === recoveryPoint.pointId && sameMoment(cutoffAt, recoveryPoint.cutoffTime);
}

/**
 * True if the recovered environment and its app have the names in the spec, false if not; undefined if the service does
 * not show enough to decide.
 *
 * Without createNewApp in the spec, the app may have the name of the source's app, or the name in spec.target.appName,
 * because a database gets a new app even without createNewApp. If the service does not show the name of the source's
 * app, the app may have any name.
 */
export function namesMatch(
  spec: RecoveryActivationSpec,
  result: Result,
  source: SeenProtection['source'],
): boolean | undefined {
  const { target } = source ?? {};
  if (target?.appEnvId === undefined || target.appEnvId !== result.targetAppEnvId) return undefined;
  const wanted = namesOf(spec);
  const { environmentName, appName } = target;
  if (environmentName !== undefined && environmentName !== wanted.envName) return false;
  if (environmentName === undefined || appName === undefined) return undefined;
  return appName === wanted.appName || (!wanted.createNewApp && appName === (source?.appName ?? appName));
}

/**
 * Returns the id of a new activation that has the cutoff time in the spec. If the service shows no cutoff time for a
 * new activation, returns its id only if the service has accepted this resource's request.
 */
export function newActivationId(
  pass: ActivationPass,
  configuration: ConfigurationItem,
  isAccepted: boolean,
): string | undefined {
  const { afterOperationId, recoveryPoint } = pass.spec;
  const isOurCutoff = ({ cutoffAt }: DrOperation) =>
    cutoffAt === undefined ? isAccepted : sameMoment(cutoffAt, recoveryPoint.cutoffTime);
  return newOperationId(
    pass,
    configuration,
    (operation) => operation.operationId !== afterOperationId && isActivation(operation) && isOurCutoff(operation),
  );
}

/** True if this resource may have begun an operation, and that operation may have made an environment live. */
function mayBeOurs({ spec }: ActivationPass, operation: Partial<DrOperation>): boolean {
  const { kind, cutoffAt } = operation;
  const isOther = failedOrCancelled(operation) || (kind !== undefined && !isActivation(operation));
  return !isOther && (cutoffAt === undefined || sameMoment(cutoffAt, spec.recoveryPoint.cutoffTime));
}

/**
 * Called when an activation request must end although the effect of a call is unknown. Returns a text that tells users
 * what to check in the service. Returns undefined if the configuration exists and shows no operation or result that may
 * come from the call.
 */
export function signsOfEffect(pass: ActivationPass, { configuration }: SeenProtection): string | undefined {
  const { spec, memory } = pass;
  const live = `check in the service whether environment "${namesOf(spec).envName}" is live`;
  if (configuration === undefined) return live;
  const before = [...(memory.journal?.create?.excluded ?? []), spec.afterOperationId];
  const { operationId, cutoffAt } = configuration.activationResult ?? {};
  const all = [...operationsOf(configuration), ...(configuration.activationResult ? [{ operationId, cutoffAt }] : [])];
  const isOther = (id: string | undefined) =>
    id !== undefined && (before.includes(id) || pass.claimant(id) !== undefined);
  return all.some((operation) => !isOther(operation.operationId) && mayBeOurs(pass, operation)) ? live : undefined;
}
