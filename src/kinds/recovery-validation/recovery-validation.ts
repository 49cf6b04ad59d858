import { defineKind } from '../../engine/kind/contract/define.ts';
import { isoSeconds } from '../../base/time.ts';
import { sightLost, writtenBody } from '../../engine/kind/planner/observe.ts';
import type { JournalEntry, Memory, OwnCondition, Step } from '../../engine/kind/contract/step.ts';
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
  lookAt,
  operationIdsOf,
  provenGone,
  provenTwice,
  shows,
  type SeenConfiguration,
} from '../recovery/configurations.ts';
import { ended, underWay } from '../recovery/one-shot-end.ts';
import { isAnswered, needsOf, notShownYet, protectionNeed, stepOnce, type OncePlan } from '../recovery/one-shot.ts';
import { atStage, stageNotices, stageOfReceipt } from '../recovery/stages.ts';
import { isWhole } from '../recovery-activation/content.ts';
import { untilUnknown } from './without-end.ts';
import { isValidation, ownOperation, type ValidationPass } from './ours.ts';
import { requestIdOf } from '../recovery/request-id.ts';
import { identity, type RecoveryValidationFacts, type RecoveryValidationSpec } from './schema.ts';
import { interfaceWords } from '../recovery/words.ts';

/** Clock tolerance: an operation may say that it began this much before the journal entry and still be ours. */
const slackMs = 5_000;

/** The configuration of the protection when the request was written down, or now. */
function configurationIdOf({ spec, memory, referred }: ValidationPass): string {
  return memory.facts.configurationId ?? referred('DisasterProtection', spec.protectionRef.name)?.id ?? '';
}

function bodyOf(pass: ValidationPass, expectedGeneration: number): Validation {
  const { endpoint, accountId } = pass.account;
  const content = { accountId, configurationId: configurationIdOf(pass), expectedGeneration };
  const runId = pass.spec.runId ?? pass.subject.name;
  const requestId = pass.memory.journal?.requestId ?? requestIdOf('validate/v1', { endpoint, ...content, runId });
  return { ...content, requestId };
}

/** The body that was written down; its generation was resolved once. Undefined where it does not carry what the spec asks for. */
function sentBody(pass: ValidationPass, journal: JournalEntry): Validation | undefined {
  const written = validationIn(writtenBody(journal));
  const isOurs = written !== undefined && isWhole(bodyOf(pass, written.expectedGeneration), journal);
  return isOurs ? written : undefined;
}

function fence(
  pass: ValidationPass,
  { configuration, snapshot }: SeenConfiguration,
): Step<RecoveryValidationFacts> | Fence | undefined {
  const configurationId = configurationIdOf(pass);
  const { journal } = pass.memory;
  const sent = journal && sentBody(pass, journal);
  if (journal !== undefined && sent === undefined) {
    return never('JournalDamaged', 'status.internal.journal does not carry what the spec asks for; nothing is sent');
  }
  const left = leftAlone(pass);
  if (left !== undefined) return left;
  if (configuration === undefined) {
    const message = `the service shows no configuration ${configurationId}`;
    const unsure = provenGone<RecoveryValidationSpec, RecoveryValidationFacts>(pass, snapshot, {
      reason: 'ObjectMissing',
      message,
    });
    return unsure ?? never('Superseded', message);
  }
  if (sent !== undefined && sent.expectedGeneration !== configuration.generation) {
    return never('Superseded', `the configuration has generation ${configuration.generation} by now`);
  }
  return busy(configuration, journal);
}

/** A validation has no validUntil: in doubt and without its protection it ends when none of its calls can arrive any more. */
function leftAlone({
  spec,
  memory,
  notes,
  referred,
}: ValidationPass): Step<RecoveryValidationFacts> | Fence | undefined {
  const { name } = spec.protectionRef;
  if (memory.journal === undefined || referred('DisasterProtection', name) !== undefined) return undefined;
  if (notes['unsent'] !== undefined) return { is: 'again', remember: { journal: undefined }, note: {} };
  return never('Superseded', `the answer was lost, and DisasterProtection ${name} is gone`);
}

/** Another operation must end first; a settled standby permits a check beside it, and an operation of ours is answered again. */
function busy(configuration: ConfigurationItem, journal: JournalEntry | undefined): Fence | undefined {
  const active = activeOf(configuration);
  const activeId = active && activeIdOf(configuration);
  if (active === undefined || (activeId !== undefined && activeId === configuration.warmValidationOperationId)) {
    return undefined;
  }
  if (activeId !== undefined && journal?.create?.excluded.includes(activeId) === false) return undefined;
  return notYet(
    'OperationInProgress',
    `the service works on operation ${activeId ?? '(its id is not shown)'}; a validation needs a completed enrollment and no other operation`,
  );
}

function follow(pass: ValidationPass, { configuration, snapshot }: SeenConfiguration): Step<RecoveryValidationFacts> {
  const blind = configuration === undefined ? sightLost(pass) : undefined;
  if (blind !== undefined) return blind;
  const { id } = pass.memory;
  const operation = configuration && ownOperation(pass, configuration);
  if (operation?.endedAt !== undefined) return ended(pass, endOf(operation));
  const stage = operation?.phase === undefined ? '' : ` (${operation.phase})`;
  const running = `the service accepted it as operation ${id ?? '(not shown)'}${stage} and shows no end of it yet`;
  const isActive = configuration !== undefined && id !== undefined && activeIdOf(configuration) === id;
  if (configuration !== undefined && operation !== undefined) {
    return untilUnknown(pass, { configuration, operation, snapshot, running });
  }
  if (isActive || id === undefined) return { is: 'wait', reason: 'InProgress', message: running, note: {} };
  const since = pass.notes['followedSince'] ?? pass.monotonicMs;
  const note = { ...pass.notes, followedSince: since };
  if (snapshot.begunAt < since + pass.horizonMs) return { ...notShownYet(pass, 'validation'), note };
  const isNameless = configuration?.activities.some(({ operationId }) => operationId === undefined) === true;
  const message = isNameless
    ? `the service does not show what came of operation ${id}: its history has no ids`
    : `operation ${id} is not shown any more`;
  const unsure = provenTwice<RecoveryValidationSpec, RecoveryValidationFacts>({ ...pass, notes: note }, snapshot, {
    reason: 'InProgress',
    message,
  });
  return unsure ?? ended(pass, { is: 'stall', reason: 'UnknownState', message });
}

/** Judges the end of a validation. An unknown outcome is neither success nor failure. */
function endOf(operation: DrOperation): Parameters<typeof ended>[1] {
  const { outcome } = operation;
  if (outcome !== undefined && /^succe(eded|ss|ssful)$/i.test(outcome)) {
    return { is: 'ready', reason: 'Succeeded', message: 'the recovery worked in isolation' };
  }
  const said = outcome === undefined ? 'the service does not show how' : `the service says: ${outcome}`;
  if (outcome !== undefined && /^superseded$/i.test(outcome)) {
    const message = `${said}: the configuration changed while it ran, so that it says nothing of the new one; create another`;
    return { is: 'stall', reason: 'Superseded', message };
  }
  if (!endedInVain(operation)) {
    return { is: 'stall', reason: 'UnknownState', message: `the validation ended, and ${said}` };
  }
  const next = 'a failed one blocks recovery until its clean-up is verified and a later validation succeeds';
  return { is: 'stall', reason: 'OperationFailed', message: `${said}; ${next}` };
}

function factsOf(pass: ValidationPass, configuration: ConfigurationItem | undefined): RecoveryValidationFacts {
  const { memory, wallMs } = pass;
  const operation = configuration && ownOperation(pass, configuration);
  const { phase, validationCleanup, startedAt, failedSteps } = operation ?? {};
  const cleanup = cleanupFacts(validationCleanup, memory.facts.validationCleanup);
  const facts: RecoveryValidationFacts = {
    ...memory.facts,
    ...(startedAt !== undefined && { startedTime: startedAt }),
    ...(failedSteps !== undefined && { failedSteps }),
    ...(cleanup !== undefined && { validationCleanup: cleanup }),
  };
  return atStage(facts, phase, wallMs);
}

/** A validation that began after the entry was written and belongs to no other resource: it is presumed to be this one. */
function trace(
  pass: ValidationPass,
  { configuration }: SeenConfiguration,
): Partial<Memory<RecoveryValidationFacts>> | undefined {
  const { journal, facts } = pass.memory;
  if (configuration === undefined || journal?.create === undefined || pass.notes['unsent'] !== undefined) {
    return undefined;
  }
  const sent = sentBody(pass, journal);
  if (sent === undefined) return undefined;
  const { excluded, serviceTime } = journal.create;
  const earliest = Date.parse(serviceTime ?? journal.startedAt) - slackMs;
  const active = activeOf(configuration);
  const candidates = [...(active === undefined ? [] : [active]), ...configuration.activities];
  const id = candidates.find(
    (one) =>
      isValidation(one) &&
      one.operationId !== undefined &&
      !excluded.includes(one.operationId) &&
      pass.claimant(one.operationId) === undefined &&
      !(Date.parse(one.startedAt ?? '') < earliest),
  )?.operationId;
  if (id === undefined) return undefined;
  const acceptedTime = isoSeconds(pass.wallMs);
  const { requestId, expectedGeneration: generation } = sent;
  return {
    id,
    ownership: 'Presumed',
    journal: undefined,
    facts: { ...facts, requestId, configurationGeneration: generation, acceptedTime },
  };
}

const plan: OncePlan<RecoveryValidationSpec, RecoveryValidationFacts, SeenConfiguration> = {
  noun: 'validation',
  power: () => undefined,
  refersTo: protectionNeed,
  validUntil: () => undefined,
  facts: (pass) => ({ configurationId: configurationIdOf(pass) }),
  look: (pass, since) => lookAt(pass, { configurationId: configurationIdOf(pass), appEnvId: undefined, since }),
  snapshotOf: ({ snapshot }) => snapshot,
  trace,
  fence,
  intent: (pass, { configuration, snapshot }) => {
    const body = bodyOf(pass, configuration?.generation ?? 0);
    const serviceTime = snapshot.dateMs === undefined ? {} : { serviceTime: new Date(snapshot.dateMs).toISOString() };
    const excluded = configuration === undefined ? [] : operationIdsOf(configuration);
    return {
      operation: 'validate',
      attempt: 1,
      digest: pass.print({ ...body }),
      requestId: body.requestId,
      payload: JSON.stringify(body),
      create: { collection: 'validation', name: body.configurationId, excluded, ...serviceTime },
    };
  },
  words: (pass) => `validate configuration ${configurationIdOf(pass)}`,
  call: (pass, journal) => {
    // The caller has checked that the journal entry fits the spec.
    const body = writtenBody(journal) as Validation;
    return {
      request: postDisasterReadinessValidate(body),
      committed: (answer) => {
        const { operationId, generation, phase } = receiptOf(answer) ?? {};
        if (operationId === undefined) return undefined;
        const facts: RecoveryValidationFacts = {
          ...pass.memory.facts,
          requestId: body.requestId,
          configurationGeneration: generation ?? body.expectedGeneration,
          acceptedTime: isoSeconds(pass.wallMs),
        };
        return { facts: atStage(facts, phase, pass.wallMs), journal, id: operationId, ownership: 'Created' };
      },
      tells: (answer) => stageOfReceipt(receiptOf(answer)),
    };
  },
  isShown: ({ memory }, { configuration }) => shows(configuration, memory.id),
  follow,
};

/** The condition Scheduled: says before a validation is sent whether validations also run by schedule. */
function scheduled({ validationScheduleEstablished }: ConfigurationItem): readonly OwnCondition[] {
  if (validationScheduleEstablished === undefined) {
    const message = 'the service does not show whether validations run by schedule';
    return [{ type: 'Scheduled', status: 'Unknown', reason: 'NotDisclosed', message }];
  }
  const message = validationScheduleEstablished
    ? 'validations also run by schedule; this one does not change it'
    : 'validations do not run by schedule for this configuration yet; this one does not start the schedule';
  const reason = validationScheduleEstablished ? 'ScheduleEstablished' : 'NoSchedule';
  return [{ type: 'Scheduled', status: validationScheduleEstablished ? 'True' : 'False', reason, message }];
}

function show(pass: ValidationPass) {
  const found = lookAt(pass, {
    configurationId: configurationIdOf(pass),
    appEnvId: undefined,
    since: Number.NEGATIVE_INFINITY,
  });
  const configuration = 'is' in found ? undefined : found.configuration;
  const facts = factsOf(pass, configuration);
  return {
    facts,
    notices: stageNotices(pass.memory.facts, facts, pass.memory.id),
    conditions: [...underWay(pass), ...(configuration === undefined ? [] : scheduled(configuration))],
    drift: [],
    unverified: [],
    leftover: [],
  };
}

/** One trial of a recovery, in isolation. */
export const recoveryValidation = defineKind<RecoveryValidationSpec, RecoveryValidationFacts>({
  ...identity,
  interfaceWords,
  needs: (spec) => needsOf(protectionNeed(spec)),
  finished: ({ finishedTime }) => finishedTime !== undefined,
  answered: isAnswered,
  // The protection waits for validations in doubt, because an edit would end them.
  made: ({ configurationId }) => (configurationId === undefined ? [] : [configurationId]),
  always: ['Accepted', 'Succeeded', 'Scheduled'],
  step: (pass) => stepOnce(plan, pass),
  show,
});
