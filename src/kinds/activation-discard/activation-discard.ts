import type { Pass } from '../../engine/kind/contract/pass.ts';
import { type Step, about } from '../../engine/kind/contract/step.ts';
import {
  postDisasterReadinessDiscardActivation,
  receiptOf,
  type ConfigurationItem,
  type Discarding,
} from '../../hosting/requests.ts';
import { never } from '../recovery/approval.ts';
import {
  activeIdOf,
  activeOf,
  cleansUp,
  lookAt,
  movedOn,
  operationIn,
  provenTwice,
  rebound,
  shownConfiguration,
  withoutConfiguration,
  type SeenConfiguration,
} from '../recovery/configurations.ts';
import { accepted, ended } from '../recovery/following.ts';
import { defineRequest } from '../recovery/one-shot.ts';
import type { Refused, RequestPlan } from '../recovery/plan.ts';
import { requestIdOf } from '../recovery/request-id.ts';
import { wasSent } from '../recovery/sending.ts';
import { atStage } from '../recovery/stages.ts';
import { identity, type ActivationDiscardFacts, type ActivationDiscardSpec } from './schema.ts';

type DiscardPass = Pass<ActivationDiscardSpec, ActivationDiscardFacts>;
type DiscardStep = Step<ActivationDiscardFacts>;

function bodyOf({ spec, account, memory }: DiscardPass): Discarding {
  const content = {
    accountId: account.accountId,
    configurationId: spec.configurationId,
    operationId: spec.operationId,
    expectedGeneration: spec.configurationGeneration,
  };
  const requestId = memory.facts.requestId ?? requestIdOf('discard/v1', { endpoint: account.endpoint, ...content });
  return { ...content, requestId, discardAcknowledged: true };
}

/**
 * True if the history shows that the operation was discarded. Only this outcome, or the service's response to this
 * resource's request, proves a discard.
 */
function isDiscarded({ spec }: DiscardPass, configuration: ConfigurationItem): boolean {
  return /^discarded$/i.test(operationIn(configuration, spec.operationId)?.outcome ?? '');
}

/**
 * True if the service seems to have accepted a discard of the operation: `canRequestDiscard` is true and the operation
 * is active. This does not prove that the operation was discarded.
 */
function showsAccepted({ spec }: DiscardPass, configuration: ConfigurationItem | undefined): boolean {
  return configuration?.canRequestDiscard === true && activeIdOf(configuration) === spec.operationId;
}

/**
 * Waits for the result of a discard that the service shows as accepted. Another client may have sent that discard, so
 * the condition Accepted is Unknown.
 */
function cleaningUp(message: string): DiscardStep {
  const conditions = [about('Accepted').unknown('CleanupPending', message)];
  return { is: 'wait', reason: 'CleanupPending', message, retryInMs: 10_000, conditions };
}

/**
 * Called after the service refused the discard. If the service nevertheless reports an accepted discard of the same
 * operation, returns a wait for the result of that discard, until spec.validUntil. Otherwise returns undefined.
 */
function refused(pass: DiscardPass, { configuration }: SeenConfiguration, { words }: Refused): DiscardStep | undefined {
  const { validUntil, operationId } = pass.spec;
  if (!showsAccepted(pass, configuration) || pass.wallMs > Date.parse(validUntil)) return undefined;
  return cleaningUp(
    `the service refused this request (${words}), but shows that it accepted a discard, perhaps from another client; until ${validUntil} the operator checks whether operation ${operationId} is discarded`,
  );
}

function fence(pass: DiscardPass, { configuration, snapshot }: SeenConfiguration): DiscardStep | undefined {
  const { configurationId, operationId, configurationGeneration } = pass.spec;
  if (configuration === undefined) return withoutConfiguration(pass, snapshot, configurationId);
  const other = rebound(pass, configurationId);
  if (other !== undefined) return other;
  const activeId = activeIdOf(configuration);
  if (activeId === operationId) return movedOn(configuration.generation, configurationGeneration);
  if (configuration.activationResult?.operationId === operationId)
    return never('AlreadyActivated', `activation ${operationId} is live and cannot be discarded any more`);
  const instead = activeId ?? (activeOf(configuration) === undefined ? 'no operation' : 'an operation without an id');
  return never('OperationNotActive', `the service works on ${instead}, not on operation ${operationId}`);
}

/**
 * Called when a discard request must end although the effect of a call is unknown. If the call may have discarded the
 * operation, returns a text that tells users what to check in the service. Otherwise returns undefined.
 */
function signsOfEffect(pass: DiscardPass, { configuration }: SeenConfiguration): string | undefined {
  const { operationId } = pass.spec;
  const question = `check in the service whether operation ${operationId} is discarded`;
  if (configuration === undefined || showsAccepted(pass, configuration)) return question;
  const isLive = configuration.activationResult?.operationId === operationId;
  if (isLive || activeIdOf(configuration) === operationId) return undefined;
  return operationIn(configuration, operationId)?.outcome === undefined ? question : undefined;
}

/** Waits until the discarded operation is no longer active and the service has cleaned up. */
function followAccepted(pass: DiscardPass, { configuration, snapshot }: SeenConfiguration): DiscardStep {
  const { operationId } = pass.spec;
  if (configuration?.activationResult?.operationId === operationId) {
    return ended(pass, never('AlreadyActivated', `activation ${operationId} became live before it could be discarded`));
  }
  const active = configuration && activeOf(configuration);
  if (active !== undefined && (active.operationId ?? operationId) === operationId) {
    const message = `the service is cleaning up after operation ${operationId}`;
    return { is: 'wait', reason: 'CleanupPending', message, note: {} };
  }
  const message = `operation ${operationId} is discarded`;
  if (cleansUp(configuration?.pendingCleanup)) {
    return { is: 'wait', reason: 'CleanupPending', message: `${message}; the service is still cleaning up`, note: {} };
  }
  const unsure = provenTwice(pass, snapshot, 'CleanupPending', message);
  return unsure ?? ended(pass, { is: 'ready', reason: 'Succeeded', message });
}

const plan: RequestPlan<ActivationDiscardSpec, ActivationDiscardFacts, SeenConfiguration, Discarding> = {
  noun: 'discard',
  operation: 'discard',
  power: () => 'activation',
  factsAtStart: (pass) => ({
    requestId: bodyOf(pass).requestId,
    configurationId: pass.spec.configurationId,
    configurationGeneration: pass.spec.configurationGeneration,
  }),
  look: (pass, since) => lookAt(pass, pass.spec.configurationId, since),
  findOperation: (pass, { configuration }) =>
    configuration !== undefined && isDiscarded(pass, configuration)
      ? { id: pass.spec.operationId, ownership: 'Presumed' }
      : undefined,
  fence,
  // After the request has expired, wait for its result if its call may have been sent and the service shows a discard of
  // the operation as accepted.
  waitAfterExpiry: (pass, { configuration }, late) => {
    if (late.is !== 'stall' || !wasSent(pass) || !showsAccepted(pass, configuration)) return undefined;
    return cleaningUp(`${late.message}, but the service accepted a discard; the operator waits for its result`);
  },
  body: bodyOf,
  request: postDisasterReadinessDiscardActivation,
  words: ({ spec }) => `discard activation ${spec.operationId}`,
  committed: (pass, answer) => {
    const { operationId, configurationId, phase } = receiptOf(answer) ?? {};
    // Accept the response only if it names the activation to discard, or an operation on the same configuration. Any
    // other successful response may come from a proxy.
    const isReceipt = operationId !== undefined && configurationId === pass.spec.configurationId;
    if (operationId !== pass.spec.operationId && !isReceipt) return undefined;
    return { facts: accepted(pass, phase), id: pass.spec.operationId, ownership: 'Created' };
  },
  signsOfEffect,
  refused,
  followAccepted,
  factsNow: (pass) => {
    const { memory, spec, wallMs } = pass;
    const configuration = shownConfiguration(pass, spec.configurationId);
    const { pendingCleanup = memory.facts.pendingCleanup } = configuration ?? {};
    const phase = configuration && operationIn(configuration, spec.operationId)?.phase;
    return atStage({ ...memory.facts, pendingCleanup }, phase, wallMs);
  },
};

/** The ActivationDiscard kind: ends an activation before the recovered environment is live. */
export const activationDiscard = defineRequest(plan, {
  ...identity,
  claims: ({ configurationId }) => [configurationId],
});
