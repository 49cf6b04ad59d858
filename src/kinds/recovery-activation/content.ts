/** Builds the body of an activation and its request id. */
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Step } from '../../engine/kind/contract/step.ts';
import type { Activation, PointItem, SourceItem } from '../../hosting/requests.ts';
import type { SeenConfiguration } from '../recovery/configurations.ts';
import { requestIdOf } from '../recovery/request-id.ts';
import type { DisasterProtectionFacts as ProtectionFacts } from '../disaster-protection/schema.ts';
import type { RecoveryActivationFacts, RecoveryActivationSpec } from './schema.ts';

/**
 * The input for deciding the next step of a RecoveryActivation: the spec, what status remembers, and what the service
 * shows.
 */
export type ActivationPass = Pass<RecoveryActivationSpec, RecoveryActivationFacts>;
export type ActivationStep = Step<RecoveryActivationFacts>;

/**
 * What the operator has read from the service to decide about an activation: the configuration, its source (the
 * protected environment) and the recovery point.
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

/** Builds the body of the activation request from the spec, without the request id. */
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
 * Builds the body of the activation request. Uses the request id in the journal or in status if there is one, and
 * computes it otherwise.
 */
export function bodyOf({ spec, account, memory }: ActivationPass): Activation {
  const requestId = memory.journal?.requestId ?? memory.facts.requestId ?? activationId({ spec, account });
  return { ...contentOf({ spec, account }), requestId };
}

/**
 * Returns the id of the operation that this request began, if the DisasterProtection lists that operation in its
 * status.
 */
export function ownOperationId(pass: ActivationPass): string | undefined {
  const { requestId } = bodyOf(pass);
  return protectionOf(pass)?.operations.find((operation) => operation.requestId === requestId)?.operationId;
}

/**
 * Returns what an activation needs to know of its DisasterProtection: the id of the configuration and, from status, the
 * id of the environment, the names of the environment and the operations.
 */
export function protectionOf({ spec, referred }: ActivationPass) {
  const found = referred('DisasterProtection', spec.protectionRef.name);
  if (found === undefined) return undefined;
  // The cast is safe: the object is a DisasterProtection, whose own schema has checked its status fields.
  const facts = found.facts as ProtectionFacts;
  return { id: found.id, appEnvId: facts.environmentId, source: facts.source, operations: facts.operations ?? [] };
}
