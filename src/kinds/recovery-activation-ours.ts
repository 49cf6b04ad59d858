/** What counts as our own activation: by its id, its result, or a lost answer. */
import { isoSeconds } from '../engine/kind/moment.ts';
import type { JournalEntry, Memory } from '../engine/kind/step.ts';
import type { ConfigurationItem, DrOperation } from '../hosting/requests.ts';
import { activeIdOf, isActivation, operationIdsOf, operationIn, sameMoment } from './configurations.ts';
import { namesOf, ownOperationId, type ActivationPass, type Seen } from './recovery-activation-content.ts';
import type { Facts, Spec } from './schema/recovery-activation.ts';

/** What an activation brought. */
export type Result = NonNullable<ConfigurationItem['activationResult']>;

/** Our own activation, when it is there although this resource does not know it: by its id, its result, or a lost answer. */
export function trace(pass: ActivationPass, { configuration, source }: Seen): Partial<Memory<Facts>> | undefined {
  if (configuration === undefined) return undefined;
  const recorded = ownOperationId(pass);
  const isBehind = recorded === pass.spec.afterOperationId;
  if (recorded !== undefined && !isBehind && operationIdsOf(configuration).includes(recorded)) {
    return adopted(pass, recorded, 'Created');
  }
  const { activationResult } = configuration;
  const repeats = (pass.spec.attempt ?? 1) > 1;
  if (activationResult?.operationId !== undefined && !repeats && isOurs(pass, activationResult, source)) {
    return adopted(pass, activationResult.operationId, 'Presumed');
  }
  const { journal } = pass.memory;
  if (journal === undefined || pass.notes['unsent'] !== undefined) return undefined;
  const fresh = newOperation(pass, configuration, journal, false);
  return fresh === undefined ? undefined : adopted(pass, fresh.operationId, 'Presumed');
}

/** Without a receipt an operation is only presumed to be ours: its result must still have our point and names. */
export function adopted(
  { memory, wallMs }: ActivationPass,
  id: string,
  ownership: 'Created' | 'Presumed',
): Partial<Memory<Facts>> {
  return { id, ownership, journal: undefined, facts: { ...memory.facts, acceptedAt: isoSeconds(wallMs) } };
}

/** A result is ours when the point, its moment and all names are, and it is not the one that the spec comes after. */
function isOurs({ spec }: ActivationPass, result: Result, source: Seen['source']): boolean {
  const { pointId, cutoffTime } = spec.recoveryPoint;
  if (result.operationId === spec.afterOperationId || result.pointId !== pointId) return false;
  return sameMoment(result.cutoffAt, cutoffTime) && namesMatch(spec, result, source) === true;
}

/**
 * Whether the recovered environment has the names of the spec; undefined where the service does not show them. Without
 * createNewApp it is in the app of the source, and that of a database is in the new app all the same.
 */
export function namesMatch(spec: Spec, result: Result, source: Seen['source']): boolean | undefined {
  const { target } = source ?? {};
  if (target?.appEnvId === undefined || target.appEnvId !== result.targetAppEnvId) return undefined;
  const wanted = namesOf(spec);
  if (target.environmentName === undefined || target.environmentName !== wanted.envName) {
    return target.environmentName === undefined ? undefined : false;
  }
  if (target.appName === undefined) return !wanted.createNewApp && source?.appName === undefined;
  if (target.appName === wanted.appName) return true;
  return !wanted.createNewApp && target.appName === (source?.appName ?? target.appName);
}

/** An activation that was not there when the entry was written, with exactly our moment, and that no other resource has. */
export function newOperation(
  pass: ActivationPass,
  configuration: ConfigurationItem,
  journal: JournalEntry,
  isAccepted: boolean,
): DrOperation | undefined {
  const excluded = new Set([...(journal.create?.excluded ?? []), pass.spec.afterOperationId]);
  const active = operationIn(configuration, activeIdOf(configuration));
  const candidates = [...(active === undefined ? [] : [active]), ...configuration.activities];
  return candidates.find(
    (operation) =>
      !excluded.has(operation.operationId) &&
      pass.claimant(operation.operationId) === undefined &&
      (operation.kind === undefined ? operation === active : isActivation(operation)) &&
      (operation.cutoffAt === undefined
        ? isAccepted
        : sameMoment(operation.cutoffAt, pass.spec.recoveryPoint.cutoffTime)),
  );
}
