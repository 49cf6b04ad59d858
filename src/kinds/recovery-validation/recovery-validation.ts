import type { Pass } from '../../engine/kind/contract/pass.ts';
import { type Memory, type OwnCondition, type Step, about, writtenBody } from '../../engine/kind/contract/step.ts';
import { sightLost } from '../../engine/kind/planner/observe.ts';
import type { Snapshot } from '../../engine/ports.ts';
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
  endedInVain,
  filledFrom,
  isWarm,
  lookAt,
  operationInWords,
  newOperationId,
  operationIn,
  provenTwice,
  sameMoment,
  shownConfiguration,
  withoutConfiguration,
  type SeenConfiguration,
} from '../recovery/configurations.ts';
import {
  accepted,
  defineRequest,
  ended,
  isWhole,
  notShownYet,
  protectionNeed,
  wasSent,
  type End,
  type OncePlan,
} from '../recovery/one-shot.ts';
import { requestIdOf } from '../recovery/request-id.ts';
import { atStage } from '../recovery/stages.ts';
import { identity, type RecoveryValidationFacts, type RecoveryValidationSpec } from './schema.ts';

/** A pass over a validation. */
type ValidationPass = Pass<RecoveryValidationSpec, RecoveryValidationFacts>;
type ValidationStep = Step<RecoveryValidationFacts>;

/** How far the start of an operation may be from the time when we saw it accepted: the two come from different clocks. */
const apartMs = 60_000;

/** The operation of this validation: by its id, or else the only history entry without an id that fits. */
function ownOperation({ memory }: ValidationPass, configuration: ConfigurationItem): DrOperation | undefined {
  const { id, facts } = memory;
  const named = operationIn(configuration, id);
  const { startedTime, acceptedTime = '' } = facts;
  const isActive = id !== undefined && activeIdOf(configuration) === id;
  const others = configuration.activities.filter((one) => one.operationId === undefined && isValidation(one));
  const [nameless, ...more] = others.filter((one) => {
    if (startedTime !== undefined) return sameMoment(one.startedAt, startedTime);
    if (one.startedAt === undefined || one.endedAt !== undefined) return false;
    return isActive || Math.abs(Date.parse(one.startedAt) - Date.parse(acceptedTime)) <= apartMs;
  });
  if (id === undefined || nameless === undefined || more.length > 0) return named;
  return { ...filledFrom(named ?? nameless, nameless), operationId: id };
}

/** True for an operation that the service shows as a validation. */
function isValidation({ kind }: DrOperation): boolean {
  return kind !== undefined && /validat/i.test(kind);
}

/** A validation that does not change for this long ends with an unknown outcome. */
const patienceMs = 3_600_000;

/** Waits for the end of a listed validation. The outcome is unknown once nothing has changed for too long. */
function untilUnknown(
  pass: ValidationPass,
  configuration: ConfigurationItem,
  operation: DrOperation,
  { begunAt }: Snapshot,
  message: string,
): ValidationStep {
  const { monotonicMs, memory, notes } = pass;
  if (mayBeActive(configuration, memory.id)) return { is: 'wait', reason: 'InProgress', message, note: {} };
  const hasMoved = operation.phase !== undefined && operation.phase !== memory.facts.stage;
  const endlessSince = hasMoved ? monotonicMs : (notes['endlessSince'] ?? monotonicMs);
  const due = endlessSince + (isOvertaken(configuration, operation) ? pass.horizonMs : patienceMs);
  if (begunAt < due) {
    const retryInMs = Math.max(10_000, due - monotonicMs);
    return { is: 'wait', reason: 'InProgress', message, retryInMs, note: { endlessSince } };
  }
  const stage = operation.phase === undefined ? '' : ` as ${operation.phase}`;
  const silent = `the service lists operation ${memory.id ?? ''}${stage} and shows neither its end nor what came of it; look there`;
  return ended(pass, never('UnknownState', silent));
}

/** True when the active operation is this validation, or may be. */
function mayBeActive(configuration: ConfigurationItem, id: string | undefined): boolean {
  const activeId = activeIdOf(configuration);
  return activeId === undefined ? activeOf(configuration) !== undefined : activeId === id;
}

/** True when another operation is active or began later, so that this one must be over. Proves nothing in warm mode, where operations run beside the standby. */
function isOvertaken(configuration: ConfigurationItem, { startedAt }: DrOperation): boolean {
  if (isWarm(configuration)) return false;
  const isLater = (other: DrOperation) => Date.parse(other.startedAt ?? '') > Date.parse(startedAt ?? '');
  return activeOf(configuration) !== undefined || configuration.activities.some(isLater);
}

/** An operation may show a start this much before the journal entry and still be ours, since clocks differ. */
const slackMs = 5_000;

/** The id of the configuration to validate: as recorded in status, or as the protection has it now. */
function configurationIdOf({ spec, memory, referred }: ValidationPass): string {
  return memory.facts.configurationId ?? referred('DisasterProtection', spec.protectionRef.name)?.id ?? '';
}

/** The body of the request, with the generation of the body in the journal if there is one. */
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
  const left = leftAlone(pass);
  if (left !== undefined) return left;
  if (configuration === undefined) return withoutConfiguration(pass, snapshot, configurationIdOf(pass));
  if (bodyOf(pass, seen).expectedGeneration !== configuration.generation) {
    return never('Superseded', `the configuration has generation ${configuration.generation} by now`);
  }
  return busy(pass, configuration);
}

/** Ends a request in doubt whose protection is gone; a request that was never sent starts over. */
function leftAlone({ spec, memory, notes, referred }: ValidationPass): ValidationStep | undefined {
  const { name } = spec.protectionRef;
  if (memory.journal === undefined || referred('DisasterProtection', name) !== undefined) return undefined;
  if (notes['unsent'] !== undefined) return { is: 'again', remember: { journal: undefined }, note: {} };
  return never('Superseded', `the answer was lost, and DisasterProtection ${name} is gone`);
}

/** Waits for the end of any operation that is neither a settled standby nor possibly our own. */
function busy({ memory }: ValidationPass, configuration: ConfigurationItem): Fence | undefined {
  const active = activeOf(configuration);
  const activeId = active && activeIdOf(configuration);
  if (active === undefined || (activeId !== undefined && activeId === configuration.warmValidationOperationId)) {
    return undefined;
  }
  if (activeId !== undefined && memory.journal?.create?.excluded.includes(activeId) === false) return undefined;
  const message = `the service works on ${operationInWords({ operationId: activeId })}; a validation needs a completed enrollment and no other operation`;
  return notYet('OperationInProgress', message);
}

function follow(pass: ValidationPass, { configuration, snapshot }: SeenConfiguration): ValidationStep {
  const blind = configuration === undefined ? sightLost(pass) : undefined;
  if (blind !== undefined) return blind;
  const { id } = pass.memory;
  const operation = configuration && ownOperation(pass, configuration);
  if (operation?.endedAt !== undefined) return ended(pass, endOf(operation));
  const stage = operation?.phase === undefined ? '' : ` (${operation.phase})`;
  const running = `the service accepted it as operation ${id ?? '(not shown)'}${stage} and has not shown its end yet`;
  const isActive = configuration !== undefined && id !== undefined && activeIdOf(configuration) === id;
  if (configuration !== undefined && operation !== undefined) {
    return untilUnknown(pass, configuration, operation, snapshot, running);
  }
  if (isActive || id === undefined) return { is: 'wait', reason: 'InProgress', message: running, note: {} };
  const since = pass.notes['followedSince'] ?? pass.monotonicMs;
  const note = { ...pass.notes, followedSince: since };
  if (snapshot.begunAt < since + pass.horizonMs) return { ...notShownYet(pass, 'validation'), note };
  const isNameless = configuration?.activities.some(({ operationId }) => operationId === undefined) === true;
  const message = isNameless
    ? `the service does not show what came of operation ${id}: its history has no ids`
    : `operation ${id} is not shown any more`;
  const unsure = provenTwice({ ...pass, notes: note }, snapshot, 'InProgress', message);
  return unsure ?? ended(pass, never('UnknownState', message));
}

/** Judges how a validation ended. An unknown outcome is neither success nor failure. */
function endOf(operation: DrOperation): End {
  const { outcome } = operation;
  if (outcome !== undefined && /^succe(eded|ss|ssful)$/i.test(outcome)) {
    return { is: 'ready', reason: 'Succeeded', message: 'the recovery worked in isolation' };
  }
  const said = outcome === undefined ? 'the service does not show how' : `the service says: ${outcome}`;
  if (outcome !== undefined && /^superseded$/i.test(outcome)) {
    const why =
      'the configuration changed while the validation ran, so the result does not count for the new generation; create another RecoveryValidation';
    return never('Superseded', `${said}: ${why}`);
  }
  if (!endedInVain(operation)) return never('UnknownState', `the validation ended, and ${said}`);
  const next = 'a failed one blocks recovery until its clean-up is verified and a later validation succeeds';
  return never('OperationFailed', `${said}; ${next}`);
}

function shown(pass: ValidationPass): RecoveryValidationFacts {
  const { facts } = pass.memory;
  const configuration = shownConfiguration(pass, configurationIdOf(pass));
  const operation = configuration && ownOperation(pass, configuration);
  const { phase, startedAt = facts.startedTime, failedSteps = facts.failedSteps } = operation ?? {};
  const validationCleanup = (operation && cleanupFacts(operation)) ?? facts.validationCleanup;
  return atStage({ ...facts, startedTime: startedAt, failedSteps, validationCleanup }, phase, pass.wallMs);
}

/** Finds a validation that is newer than the journal entry and that no other resource claims: it is presumed to be ours. */
function trace(pass: ValidationPass, seen: SeenConfiguration): Partial<Memory<RecoveryValidationFacts>> | undefined {
  const { configuration } = seen;
  const { journal } = pass.memory;
  if (configuration === undefined || journal?.create === undefined || !wasSent(pass)) return undefined;
  const body = bodyOf(pass, seen);
  if (!isWhole(body, journal)) return undefined;
  const earliest = Date.parse(journal.create.serviceTime ?? journal.startedAt) - slackMs;
  const isEarlier = ({ startedAt = '' }: DrOperation) => Date.parse(startedAt) < earliest;
  const id = newOperationId(pass, configuration, (one) => isValidation(one) && !isEarlier(one));
  if (id === undefined) return undefined;
  return { id, ownership: 'Presumed', journal: undefined, facts: acceptedAs(pass, body) };
}

/** The status fields after the service accepted a validation with this body. */
function acceptedAs(pass: ValidationPass, body: Validation, phase?: string): RecoveryValidationFacts {
  const { requestId, expectedGeneration: configurationGeneration } = body;
  return { ...accepted(pass, phase), requestId, configurationGeneration };
}

const scheduled = about('Scheduled');

/** The condition `Scheduled`: whether the service also runs validations by schedule. */
function scheduledBy({ validationScheduleEstablished: isEstablished }: ConfigurationItem): OwnCondition {
  if (isEstablished === undefined) {
    return scheduled.unknown('NotDisclosed', 'the service does not show whether validations run by schedule');
  }
  return isEstablished
    ? scheduled.yes('ScheduleEstablished', 'validations also run by schedule; this one does not change it')
    : scheduled.no(
        'NoSchedule',
        'validations do not run by schedule for this configuration yet; this one does not start the schedule',
      );
}

const plan: OncePlan<RecoveryValidationSpec, RecoveryValidationFacts, SeenConfiguration, Validation> = {
  noun: 'validation',
  operation: 'validate',
  refersTo: protectionNeed,
  facts: (pass) => ({ configurationId: configurationIdOf(pass) }),
  look: (pass, since) => lookAt(pass, configurationIdOf(pass), since),
  trace,
  fence,
  body: bodyOf,
  subject: ({ configurationId }) => configurationId,
  request: postDisasterReadinessValidate,
  words: (pass) => `validate configuration ${configurationIdOf(pass)}`,
  committed: (pass, answer, body) => {
    const { operationId: id, generation = body.expectedGeneration, phase } = receiptOf(answer) ?? {};
    if (id === undefined) return undefined;
    const facts = { ...acceptedAs(pass, body, phase), configurationGeneration: generation };
    return { facts, journal: pass.memory.journal, id, ownership: 'Created' };
  },
  follow,
  shown,
  conditions: (pass) => {
    const configuration = shownConfiguration(pass, configurationIdOf(pass));
    return configuration === undefined ? [] : [scheduledBy(configuration)];
  },
};

/** Tries a recovery out once, in isolation. */
export const recoveryValidation = defineRequest(plan, {
  ...identity,
  // Let the protection find a validation in doubt and wait for it, because new settings would end the validation.
  made: ({ configurationId }) => (configurationId === undefined ? [] : [configurationId]),
  always: ['Scheduled'],
  moving: ['observedTime'],
});
