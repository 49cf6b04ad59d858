/** Builds the body of an activation and its request id. */
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Step } from '../../engine/kind/contract/step.ts';
import type { Activation, PointItem, SourceItem } from '../../hosting/requests.ts';
import type { SeenConfiguration } from '../recovery/configurations.ts';
import { requestIdOf } from '../recovery/request-id.ts';
import type { DisasterProtectionFacts as ProtectionFacts } from '../disaster-protection/schema.ts';
import type { RecoveryActivationFacts, RecoveryActivationSpec } from './schema.ts';

/**
 * Everything from which the next step for a RecoveryActivation is decided: the spec, what status remembers, and what
 * the service shows.
 */
export type ActivationPass = Pass<RecoveryActivationSpec, RecoveryActivationFacts>;
export type ActivationStep = Step<RecoveryActivationFacts>;

/**
 * The data of the service from which the operator decides about an activation: its configuration, source and recovery
 * point.
 */
export interface SeenProtection extends SeenConfiguration {
  readonly source: SourceItem | undefined;
  readonly point: PointItem | undefined;
}

/** Returns the names for the recovered environment, trimmed as the service trims them. */
export function namesOf({ target }: RecoveryActivationSpec): Activation['target'] {
  const { environmentName, appName, createNewApp = false } = target;
  return { envName: environmentName.trim(), createNewApp, ...(appName !== undefined && { appName: appName.trim() }) };
}

/** Returns what the spec asks for, with the field names of the service's API. */
function contentOf({ spec, account }: Pick<ActivationPass, 'spec' | 'account'>): Omit<Activation, 'requestId'> {
  const { recoveryPoint } = spec;
  return {
    accountId: account.accountId,
    configurationId: spec.configurationId,
    expectedGeneration: recoveryPoint.configurationGeneration,
    selectedOperationId: recoveryPoint.selectedOperationId,
    pointId: recoveryPoint.pointId,
    cutoffAt: recoveryPoint.cutoffTime,
    target: namesOf(spec),
    writerSafetyAcknowledged: spec.acknowledgements?.includes('WriterSafety') === true,
  };
}

/** Returns the request id of this activation. Equal content always gives the same id. */
export function activationId({ spec, account }: Pick<ActivationPass, 'spec' | 'account'>): string {
  const { target, ...content } = contentOf({ spec, account });
  const { endpoint } = account;
  return requestIdOf('activate/v1', { endpoint, ...content, target: { ...target }, attempt: spec.attempt ?? 1 });
}

/**
 * Builds the body of the activation request. A request id in the journal or in status takes precedence over a computed
 * id.
 */
export function bodyOf({ spec, account, memory }: ActivationPass): Activation {
  const requestId = memory.journal?.requestId ?? memory.facts.requestId ?? activationId({ spec, account });
  return { ...contentOf({ spec, account }), requestId };
}

/** Returns the id of the operation that this request began, if the status of the DisasterProtection has it. */
export function ownOperationId(pass: ActivationPass): string | undefined {
  const { requestId } = bodyOf(pass);
  return protectionOf(pass)?.operations.find((operation) => operation.requestId === requestId)?.operationId;
}

/**
 * Returns the DisasterProtection that the spec refers to, with the status fields that an activation needs: the
 * environment, the source and the operations.
 */
export function protectionOf({ spec, referred }: ActivationPass) {
  const found = referred('DisasterProtection', spec.protectionRef.name);
  if (found === undefined) return undefined;
  // The cast is safe: the object is a DisasterProtection, whose own schema has checked its status fields.
  const facts = found.facts as ProtectionFacts;
  return { id: found.id, appEnvId: facts.environmentId, source: facts.source, operations: facts.operations ?? [] };
}
