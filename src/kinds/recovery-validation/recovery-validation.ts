import type { Pass } from '../../engine/kind/contract/pass.ts';
import { type OwnCondition, type Step, about, writtenBody } from '../../engine/kind/contract/step.ts';
import {
  postDisasterReadinessValidate,
  receiptOf,
  validationIn,
  type ConfigurationItem,
  type DrOperation,
  type Validation,
} from '../../hosting/requests.ts';
import { never, notYet, type Fence } from '../recovery/approval.ts';
import {
  activeIdOf,
  activeOf,
  cleanupFacts,
  failedOrCancelled,
  lookAt,
  operationInWords,
  newOperationId,
  operationIn,
  shownConfiguration,
  shownOperation,
  withoutConfiguration,
  type SeenConfiguration,
} from '../recovery/configurations.ts';
import { accepted, ended, waitUntilShown, type End } from '../recovery/following.ts';
import { defineRequest } from '../recovery/one-shot.ts';
import type { RequestPlan } from '../recovery/plan.ts';
import { requestIdOf } from '../recovery/request-id.ts';
import { wasSent } from '../recovery/sending.ts';
import { atStage } from '../recovery/stages.ts';
import { identity, type RecoveryValidationFacts, type RecoveryValidationSpec } from './schema.ts';

/**
 * The input for deciding the next step of a RecoveryValidation: the spec, what status remembers, and what the service
 * shows.
 */
type ValidationPass = Pass<RecoveryValidationSpec, RecoveryValidationFacts>;
type ValidationStep = Step<RecoveryValidationFacts>;

/**
 * True if the service shows that the operation is a validation. False if it does not show the kind of the operation.
 */
function isValidation({ kind }: DrOperation): boolean {
  return kind !== undefined && /validat/i.test(kind);
}

/**
 * If a validation is no longer active and has shown neither an end nor any change for this long, its request ends with
 * an unknown outcome.
 */
const patienceMs = 3_600_000;

/**
 * Because clocks differ, a validation may be the effect of the call even if the service shows that it started up to
 * this long before the journal entry was written.
 */
const slackMs = 5_000;

/** Returns the id of the configuration to validate: from status if recorded, otherwise from the DisasterProtection. */
function configurationIdOf({ spec, memory, referred }: ValidationPass): string {
  return memory.facts.configurationId ?? referred('DisasterProtection', spec.protectionRef.name)?.id ?? '';
}

/**
 * Builds the body of the validation request. It names the generation from the body in the journal if there is one,
 * otherwise the generation that the service shows for the configuration.
 */
function bodyOf(pass: ValidationPass, { configuration }: SeenConfiguration): Validation {
  const { endpoint, accountId } = pass.account;
  const { journal } = pass.memory;
  const written = journal && validationIn(writtenBody(journal));
  const expectedGeneration = written?.expectedGeneration ?? configuration?.generation ?? 0;
  const content = { accountId, configurationId: configurationIdOf(pass), expectedGeneration };
  const runId = pass.spec.runId ?? pass.subject.name;
  const requestId = journal?.requestId ?? requestIdOf('validate/v1', { endpoint, ...content, runId });
  return { ...content, requestId };
}

function fence(pass: ValidationPass, seen: SeenConfiguration): ValidationStep | undefined {
  const { configuration, snapshot } = seen;
  const { name } = pass.spec.protectionRef;
  if (pass.memory.journal !== undefined && pass.referred('DisasterProtection', name) === undefined) {
    const message = `spec.protectionRef refers to DisasterProtection ${name}, which no longer exists, belongs to another account or has no id in the service`;
    return never('Superseded', message);
  }
  if (configuration === undefined) return withoutConfiguration(pass, snapshot, configurationIdOf(pass));
  const { expectedGeneration } = bodyOf(pass, seen);
  if (expectedGeneration !== configuration.generation) {
    const message = `the configuration has generation ${configuration.generation}, but the request names generation ${expectedGeneration}`;
    return never('Superseded', message);
  }
  return busy(pass, configuration);
}

/**
 * Returns a `wait` step while another operation on the configuration is active. Does not wait for an operation that
 * only keeps a warm standby, nor for one that this request may have begun.
 */
function busy({ memory }: ValidationPass, configuration: ConfigurationItem): Fence | undefined {
  const active = activeOf(configuration);
  const activeId = active && activeIdOf(configuration);
  if (active === undefined || (activeId !== undefined && activeId === configuration.warmValidationOperationId)) {
    return undefined;
  }
  if (activeId !== undefined && memory.journal?.create?.excluded.includes(activeId) === false) return undefined;
  const message = `the service works on ${operationInWords({ operationId: activeId })}; the validation waits until this operation has ended`;
  return notYet('OperationInProgress', message);
}

function followAccepted(pass: ValidationPass, { configuration, snapshot }: SeenConfiguration): ValidationStep {
  const { memory, notes, monotonicMs } = pass;
  const { id } = memory;
  const operation = configuration && operationIn(configuration, id);
  if (operation === undefined) {
    const message = `the service does not show operation ${id ?? ''}; check in the service how the operation ended`;
    return waitUntilShown(pass, snapshot, 'validation') ?? ended(pass, never('UnknownState', message));
  }
  if (operation.endedAt !== undefined) return ended(pass, endOf(operation));
  const stage = operation.phase === undefined ? '' : ` (${operation.phase})`;
  const message = `the service accepted the validation as operation ${id ?? ''}${stage}, but has not reported an end yet`;
  const isActive = configuration !== undefined && activeIdOf(configuration) === id;
  const { phase = memory.facts.stage } = operation;
  const hasMoved = isActive || phase !== memory.facts.stage;
  const quietSince = hasMoved ? monotonicMs : (notes.validationQuietSince ?? monotonicMs);
  if (snapshot.begunAt < quietSince + patienceMs) {
    return { is: 'wait', reason: 'InProgress', message, note: { validationQuietSince: quietSince } };
  }
  const silent = `the service lists operation ${id ?? ''}${stage} as no longer active, but shows neither an end nor an outcome; check in the service how the operation ended`;
  return ended(pass, never('UnknownState', silent));
}

/**
 * Decides from the outcome of a validation how its request ends. An outcome that the operator does not know is neither
 * success nor failure.
 */
function endOf(operation: DrOperation): End {
  const { outcome } = operation;
  if (outcome !== undefined && /^succe(eded|ss|ssful)$/i.test(outcome)) {
    return { is: 'ready', reason: 'Succeeded', message: 'the recovery worked in isolation' };
  }
  const said = outcome === undefined ? 'the service does not report the outcome' : `the service says: ${outcome}`;
  if (outcome !== undefined && /^superseded$/i.test(outcome)) {
    const why =
      'the configuration changed while the validation ran, so the result does not count for the new generation; create another RecoveryValidation';
    return never('Superseded', `${said}: ${why}`);
  }
  if (!failedOrCancelled(operation)) return never('UnknownState', `the validation ended, and ${said}`);
  const next = 'a failed validation blocks recovery until its clean-up is verified and a later validation succeeds';
  return never('OperationFailed', `${said}; ${next}`);
}

function factsNow(pass: ValidationPass): RecoveryValidationFacts {
  const { facts } = pass.memory;
  const operation = shownOperation(pass, configurationIdOf(pass), pass.memory.id);
  const { phase, startedAt = facts.startedTime, failedSteps = facts.failedSteps } = operation ?? {};
  const validationCleanup = (operation && cleanupFacts(operation)) ?? facts.validationCleanup;
  return atStage({ ...facts, startedTime: startedAt, failedSteps, validationCleanup }, phase, pass.wallMs);
}

/**
 * Returns the status fields of a validation request that the service has accepted. The request id and the generation
 * come from the request body.
 */
function acceptedAs(pass: ValidationPass, body: Validation, phase?: string): RecoveryValidationFacts {
  const { requestId, expectedGeneration: configurationGeneration } = body;
  return { ...accepted(pass, phase), requestId, configurationGeneration };
}

const scheduled = about('Scheduled');

/** Builds the condition `Scheduled`, which says if the service also runs validations on a schedule. */
function scheduledBy({ validationScheduleEstablished: isEstablished }: ConfigurationItem): OwnCondition {
  if (isEstablished === undefined) {
    return scheduled.unknown('NotDisclosed', 'the service does not show whether it runs validations on a schedule');
  }
  return isEstablished
    ? scheduled.yes(
        'ScheduleEstablished',
        'the service also runs validations on a schedule; this validation does not change the schedule',
      )
    : scheduled.no('NoSchedule', 'the service does not run validations of this configuration on a schedule yet');
}

const plan: RequestPlan<RecoveryValidationSpec, RecoveryValidationFacts, SeenConfiguration, Validation> = {
  noun: 'validation',
  operation: 'validate',
  factsAtStart: (pass) => ({ configurationId: configurationIdOf(pass) }),
  look: (pass, since) => lookAt(pass, configurationIdOf(pass), since),
  // Find a validation that began after the journal entry was written and that no other resource claims. If the outcome of
  // the call is unknown, the operator assumes that the call began this validation.
  findOperation: (pass, seen) => {
    const { configuration } = seen;
    const { journal } = pass.memory;
    if (configuration === undefined || journal?.create === undefined || !wasSent(pass)) return undefined;
    const earliest = Date.parse(journal.create.serviceTime ?? journal.startedAt) - slackMs;
    const isEarlier = ({ startedAt = '' }: DrOperation) => Date.parse(startedAt) < earliest;
    const id = newOperationId(pass, configuration, (one) => isValidation(one) && !isEarlier(one));
    return id === undefined ? undefined : { id, ownership: 'Presumed', facts: acceptedAs(pass, bodyOf(pass, seen)) };
  },
  fence,
  body: bodyOf,
  request: postDisasterReadinessValidate,
  words: (pass) => `validate configuration ${configurationIdOf(pass)}`,
  committed: (pass, answer, body) => {
    const { operationId: id, generation = body.expectedGeneration, phase } = receiptOf(answer) ?? {};
    if (id === undefined) return undefined;
    const facts = { ...acceptedAs(pass, body, phase), configurationGeneration: generation };
    return { facts, journal: pass.memory.journal, id, ownership: 'Created' };
  },
  followAccepted,
  factsNow,
  conditions: (pass) => {
    const configuration = shownConfiguration(pass, configurationIdOf(pass));
    return configuration === undefined ? [] : [scheduledBy(configuration)];
  },
};

/** The RecoveryValidation kind: tries out a recovery once, in isolation. */
export const recoveryValidation = defineRequest(plan, {
  ...identity,
  // The DisasterProtection finds its RecoveryValidations by the id of its configuration. It delays new settings while
  // the outcome of a validation call is unknown, because new settings would end the validation.
  made: ({ configurationId }) => (configurationId === undefined ? [] : [configurationId]),
  always: ['Scheduled'],
  moving: ['observedTime'],
});
