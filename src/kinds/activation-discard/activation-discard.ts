import { defineKind } from '../../engine/kind/contract/define.ts';
import { isoSeconds } from '../../base/time.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import { sightLost } from '../../engine/kind/planner/observe.ts';
import type { OwnCondition, Step } from '../../engine/kind/contract/step.ts';
import {
  drConfigurationsOf,
  postDisasterReadinessDiscardActivation,
  receiptOf,
  type ConfigurationItem,
  type Discarding,
} from '../../hosting/requests.ts';
import { expired, never, type Fence } from '../recovery/approval.ts';
import {
  activeIdOf,
  cleansUp,
  lookAt,
  operationIn,
  provenGone,
  activeOf,
  provenTwice,
  type SeenConfiguration,
} from '../recovery/configurations.ts';
import { ended, underWay } from '../recovery/one-shot-end.ts';
import { atStage, stageNotices, stageOfReceipt } from '../recovery/stages.ts';
import { needsOf, protectionNeed, stepOnce, wasSent, type No, type OncePlan } from '../recovery/one-shot.ts';
import { isWhole } from '../recovery-activation/content.ts';
import { movedOn } from '../recovery-activation/fences.ts';
import { requestIdOf } from '../recovery/request-id.ts';
import { identity, type ActivationDiscardFacts, type ActivationDiscardSpec } from './schema.ts';
import { interfaceWords } from '../recovery/words.ts';

type DiscardPass = Pass<ActivationDiscardSpec, ActivationDiscardFacts>;

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

/** True when the history shows the operation as discarded: the only proof besides our own receipt. */
function wasDiscarded(configuration: ConfigurationItem | undefined, operationId: string): boolean {
  const { outcome } = (configuration && operationIn(configuration, operationId)) ?? {};
  return outcome !== undefined && /^discarded$/i.test(outcome);
}

function fence(
  pass: DiscardPass,
  { configuration, snapshot }: SeenConfiguration,
): Step<ActivationDiscardFacts> | Fence | undefined {
  const { configurationId, operationId, validUntil, configurationGeneration, protectionRef } = pass.spec;
  const { journal } = pass.memory;
  if (journal !== undefined && !isWhole(bodyOf(pass), journal)) {
    return never('JournalDamaged', 'status.internal.journal does not carry what the spec asks for; nothing is sent');
  }
  const late = expired(pass, snapshot, validUntil);
  if (late?.final === true && wasSent(pass) && showsAccepted(pass, configuration)) {
    return cleanup(`${late.message}, and the service shows a discard as accepted; waiting for its result`);
  }
  if (late !== undefined) return late;
  if (configuration === undefined) {
    const message = `the service shows no configuration ${configurationId}`;
    const unsure = provenGone<ActivationDiscardSpec, ActivationDiscardFacts>(pass, snapshot, {
      reason: 'ObjectMissing',
      message,
    });
    return unsure ?? never('Superseded', message);
  }
  const known = pass.referred('DisasterProtection', protectionRef.name)?.id;
  if (known !== undefined && known !== configurationId) {
    const message = `DisasterProtection ${protectionRef.name} has configuration ${known}, not ${configurationId}`;
    return never('Superseded', message);
  }
  const activeId = activeIdOf(configuration);
  if (activeId === operationId) return movedOn(configuration.generation, configurationGeneration);
  if (configuration.activationResult?.operationId === operationId) {
    return never('AlreadyActivated', `activation ${operationId} is live; it cannot be discarded any more`);
  }
  const instead = activeId ?? (activeOf(configuration) === undefined ? 'no operation' : 'one without an id');
  return never('OperationNotActive', `the service shows ${instead} as the one it works on, not ${operationId}`);
}

/** Text for people: what to look for in the service when a lost call may have discarded the operation. */
function untold(pass: DiscardPass, { configuration }: SeenConfiguration): string | undefined {
  const { operationId } = pass.spec;
  const question = `whether operation ${operationId} is discarded`;
  if (configuration === undefined || showsAccepted(pass, configuration)) return question;
  const isLive = configuration.activationResult?.operationId === operationId;
  if (isLive || activeIdOf(configuration) === operationId) return undefined;
  return operationIn(configuration, operationId)?.outcome === undefined ? question : undefined;
}

/** True when the service shows that it accepted a discard of the operation and has not finished it. */
function showsAccepted({ spec }: DiscardPass, configuration: ConfigurationItem | undefined): boolean {
  return configuration?.canRequestDiscard === true && activeIdOf(configuration) === spec.operationId;
}

/** Wait for a discard that the service shows as accepted, even if it may not be ours. */
function cleanup(message: string): Step<ActivationDiscardFacts> {
  const accepted: OwnCondition = { type: 'Accepted', status: 'Unknown', reason: 'CleanupPending', message };
  return { is: 'wait', reason: 'CleanupPending', message, retryInMs: 10_000, conditions: [accepted] };
}

/** Waits until the service has cleaned up: the operation is not the active one any more. */
function follow(pass: DiscardPass, { configuration, snapshot }: SeenConfiguration): Step<ActivationDiscardFacts> {
  const blind = configuration === undefined ? sightLost(pass) : undefined;
  if (blind !== undefined) return blind;
  const { operationId } = pass.spec;
  if (configuration?.activationResult?.operationId === operationId) {
    const message = `activation ${operationId} became live before it could be discarded`;
    return ended(pass, { is: 'stall', reason: 'AlreadyActivated', message });
  }
  const active = configuration && activeOf(configuration);
  if (active !== undefined && (active.operationId ?? operationId) === operationId) {
    const message = `the service cleans up after operation ${operationId}`;
    return { is: 'wait', reason: 'CleanupPending', message, note: {} };
  }
  const message = `operation ${operationId} is discarded`;
  if (cleansUp(configuration?.pendingCleanup)) {
    return { is: 'wait', reason: 'CleanupPending', message: `${message}; the service still cleans up`, note: {} };
  }
  const unsure = provenTwice<ActivationDiscardSpec, ActivationDiscardFacts>(pass, snapshot, {
    reason: 'CleanupPending',
    message,
  });
  return unsure ?? ended(pass, { is: 'ready', reason: 'Succeeded', message });
}

function factsOf(
  { memory, spec, wallMs }: DiscardPass,
  configuration: ConfigurationItem | undefined,
): ActivationDiscardFacts {
  const phase = configuration && operationIn(configuration, spec.operationId)?.phase;
  const cleanup = configuration?.pendingCleanup;
  const shown = cleanup && Object.entries(cleanup).filter(([, value]) => value !== undefined);
  const facts: ActivationDiscardFacts = {
    ...memory.facts,
    ...(shown !== undefined && { pendingCleanup: Object.fromEntries(shown) }),
  };
  return atStage(facts, phase, wallMs);
}

/** The service refused the request but shows an accepted discard of the operation: wait for that one. */
function refused(
  pass: DiscardPass,
  { configuration }: SeenConfiguration,
  { words }: No,
): Step<ActivationDiscardFacts> | undefined {
  const { spec, memory, wallMs } = pass;
  const isAccepted = showsAccepted(pass, configuration);
  if (memory.journal === undefined || !isAccepted || wallMs > Date.parse(spec.validUntil)) return undefined;
  return cleanup(
    `the service said no (${words}), and yet shows a discard as accepted; until ${spec.validUntil} it is watched whether operation ${spec.operationId} is discarded`,
  );
}

const plan: OncePlan<ActivationDiscardSpec, ActivationDiscardFacts, SeenConfiguration> = {
  noun: 'discard',
  power: () => 'activation',
  refersTo: protectionNeed,
  validUntil: (spec) => spec.validUntil,
  facts: (pass) => ({
    requestId: bodyOf(pass).requestId,
    configurationId: pass.spec.configurationId,
    configurationGeneration: pass.spec.configurationGeneration,
  }),
  look: (pass, since) => lookAt(pass, { configurationId: pass.spec.configurationId, appEnvId: undefined, since }),
  snapshotOf: ({ snapshot }) => snapshot,
  trace: ({ memory, spec, wallMs }, { configuration }) =>
    wasDiscarded(configuration, spec.operationId)
      ? {
          id: spec.operationId,
          ownership: 'Presumed',
          journal: undefined,
          facts: { ...memory.facts, acceptedTime: isoSeconds(wallMs) },
        }
      : undefined,
  fence,
  intent: (pass) => {
    const body = bodyOf(pass);
    return {
      operation: 'discard',
      attempt: 1,
      digest: pass.print({ ...body }),
      requestId: body.requestId,
      payload: JSON.stringify(body),
      create: { collection: 'discard', name: body.configurationId, excluded: [] },
    };
  },
  words: ({ spec }) => `discard activation ${spec.operationId}`,
  call: (pass, { payload = JSON.stringify(bodyOf(pass)) }) => ({
    // The caller has checked that the journal entry fits the spec.
    request: postDisasterReadinessDiscardActivation(JSON.parse(payload) as Discarding),
    credential: 'dangerous',
    proof: drConfigurationsOf(pass.account.accountId).first,
    committed: (body) => {
      const { operationId, configurationId, phase } = receiptOf(body) ?? {};
      // A receipt is ours only when it names the activation that was to be discarded, or an operation on the same
      // configuration. Any other success may be a proxy's.
      const isReceipt = operationId !== undefined && configurationId === pass.spec.configurationId;
      if (operationId !== pass.spec.operationId && !isReceipt) return undefined;
      const facts: ActivationDiscardFacts = {
        ...pass.memory.facts,
        acceptedTime: isoSeconds(pass.wallMs),
      };
      return { facts: atStage(facts, phase, pass.wallMs), id: pass.spec.operationId, ownership: 'Created' };
    },
    tells: (body) => stageOfReceipt(receiptOf(body)),
  }),
  untold,
  refused,
  follow,
};

function show(pass: DiscardPass) {
  const found = lookAt(pass, {
    configurationId: pass.spec.configurationId,
    appEnvId: undefined,
    since: Number.NEGATIVE_INFINITY,
  });
  const facts = factsOf(pass, 'is' in found ? undefined : found.configuration);
  const notices = stageNotices(pass.memory.facts, facts, pass.memory.id);
  return { facts, notices, conditions: underWay(pass), drift: [], unverified: [], leftover: [] };
}

/** The end of an activation that is not live yet. */
export const activationDiscard = defineKind<ActivationDiscardSpec, ActivationDiscardFacts>({
  ...identity,
  interfaceWords,
  needs: (spec) => needsOf(protectionNeed(spec)),
  claims: ({ configurationId }) => [configurationId],
  finished: ({ finishedTime }) => finishedTime !== undefined,
  always: ['Accepted', 'Succeeded'],
  step: (pass) => stepOnce(plan, pass),
  show,
});
