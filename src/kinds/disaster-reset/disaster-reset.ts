import type { ReferenceNeed } from '../../engine/kind/contract/define.ts';
import { about } from '../../engine/kind/contract/step.ts';
import { readOf, readUnread } from '../../engine/kind/planner/observe.ts';
import {
  drConfigurationsOf,
  drSourcesOf,
  postDisasterReadinessReset,
  resetCountsOf,
  type ConfigurationItem,
  type Resetting,
  type SourceItem,
} from '../../hosting/requests.ts';
import { activationUnderWay, cleansUp, provenGone } from '../recovery/configurations.ts';
import { accepted, defineRequest, ended, lookingAgain, wasSent, type No, type OncePlan } from '../recovery/one-shot.ts';
import { atStage } from '../recovery/stages.ts';
import { needOf } from '../shared/references.ts';
import {
  bodyOf,
  cleaning,
  environmentOf,
  fence,
  pinnedOf,
  type ResetPass,
  type ResetStep,
  type ResetSubject,
} from './fences.ts';
import { identity, type DisasterResetFacts, type DisasterResetSpec } from './schema.ts';

/** Reads all configurations, because a reset may be sent only while none exists that the spec does not name. */
function look(pass: ResetPass, since: number): ResetStep | ResetSubject {
  const { accountId } = pass.account;
  const read = drConfigurationsOf(accountId);
  const snapshot = pass.view.all(read);
  if (snapshot === undefined || snapshot.begunAt < since) return readOf(pass, read, since);
  return readUnread(pass, [drSourcesOf(accountId)]) ?? { snapshot, sources: pass.view.all(drSourcesOf(accountId)) };
}

function isGone(pass: ResetPass, { snapshot }: ResetSubject): boolean {
  return pinnedOf(pass.spec).every(({ configurationId }) => !snapshot.items.has(configurationId));
}

/** The pinned configurations that the service still shows. */
function pinnedItems({ spec }: ResetPass, { snapshot }: ResetSubject): readonly ConfigurationItem[] {
  return pinnedOf(spec).flatMap(({ configurationId }) => snapshot.items.get(configurationId) ?? []);
}

/** Tells people what to look for in the service when the request expires during a clean-up. */
function untold(pass: ResetPass, seen: ResetSubject): string | undefined {
  const isCleaning = [...pinnedItems(pass, seen), ...wipedSources(pass, seen)].some(({ pendingCleanup }) =>
    cleansUp(pendingCleanup),
  );
  const isBegun = isCleaning || pass.memory.facts.stage === cleaning;
  return isBegun ? 'whether what the reset is about is gone' : undefined;
}

/**
 * Interprets a refusal: a reset that was refused because of a clean-up is sent again later, until `validUntil`; any other refusal
 * is final.
 */
function refused(pass: ResetPass, seen: ResetSubject, { words, isOver, until }: No): ResetStep | undefined {
  const { journal, facts } = pass.memory;
  const items = pinnedItems(pass, seen);
  const isCleaning = facts.stage === cleaning || items.some(({ pendingCleanup }) => cleansUp(pendingCleanup));
  if (journal === undefined || !isCleaning || items.some((item) => activationUnderWay(item) !== undefined)) {
    return undefined;
  }
  if (isOver) {
    const { conflicted: _words, ...open } = journal;
    return { is: 'again', remember: { journal: open } };
  }
  const message = `the service does not finish the reset yet (${words}); it is sent again after ${until}`;
  const conditions = [about('Accepted').unknown('CleanupPending', message)];
  const remember = { facts: atStage(facts, cleaning, pass.wallMs) };
  return { is: 'wait', reason: 'CleanupPending', message, retryInMs: 5_000, conditions, remember };
}

/** Waits until two lists show no pinned configuration, and the service has cleaned up. */
function follow(pass: ResetPass, seen: ResetSubject): ResetStep {
  if (!isGone(pass, seen)) {
    const message = 'the service accepted the reset and still lists the configuration';
    return { is: 'wait', reason: 'CleanupPending', message, retryInMs: 10_000, note: {} };
  }
  const facts = factsOf(pass, seen);
  const message = 'the configuration is gone';
  const unsure = provenGone(pass, seen.snapshot, 'InProgress', message);
  if (unsure !== undefined) return unsure;
  // An older list of sources, from before the configuration was gone, does not show the clean-up.
  const since = pass.notes['missedAt'] ?? seen.snapshot.begunAt;
  const read = drSourcesOf(pass.account.accountId);
  const { sources } = seen;
  if (sources === undefined || sources.begunAt < since) return { ...readOf(pass, read, since), note: pass.notes };
  if (wipedSources(pass, seen).some(({ pendingCleanup }) => cleansUp(pendingCleanup))) {
    const rest = { message: `${message}; the service still cleans up`, remember: { facts }, note: pass.notes };
    return lookingAgain(pass, { is: 'wait', reason: 'CleanupPending', ...rest }, read, sources);
  }
  return ended(pass, { is: 'ready', reason: 'Succeeded', message }, { facts: atStage(facts, 'Wiped', pass.wallMs) });
}

/** The environments whose protection the reset wipes, as far as the list of sources shows them. */
function wipedSources(pass: ResetPass, { sources }: ResetSubject): readonly SourceItem[] {
  const listed = [...(sources?.items ?? [])];
  const isMeant = (id: string) => pass.spec.scope === 'Account' || id === environmentOf(pass);
  return listed.flatMap(([id, source]) => (isMeant(id) ? [source] : []));
}

function factsOf(pass: ResetPass, seen: ResetSubject | undefined): DisasterResetFacts {
  const { facts } = pass.memory;
  const environmentId = environmentOf(pass);
  const { pendingCleanup = facts.pendingCleanup } = seen?.sources?.items.get(environmentId) ?? {};
  return { ...facts, ...(environmentId !== '' && { environmentId }), pendingCleanup };
}

function environmentNeed({ environmentRef }: DisasterResetSpec): ReferenceNeed | undefined {
  return needOf('AppEnvironment', environmentRef, 'environmentRef', { optional: true })[0];
}

const plan: OncePlan<DisasterResetSpec, DisasterResetFacts, ResetSubject, Resetting> = {
  noun: 'reset',
  operation: 'reset',
  power: ({ scope }) => (scope === 'Account' ? 'accountReset' : 'activation'),
  refersTo: environmentNeed,
  facts: (pass) => factsOf(pass, undefined),
  look,
  trace: (pass, seen) =>
    wasSent(pass) && isGone(pass, seen) ? { journal: undefined, facts: accepted(pass) } : undefined,
  fence,
  body: bodyOf,
  subject: (body) => (body.scope === 'environment' ? body.sourceAppEnvId : body.accountId),
  request: postDisasterReadinessReset,
  words: (pass) =>
    pass.spec.scope === 'Account'
      ? `reset all disaster readiness of account ${pass.account.accountId}`
      : `reset disaster readiness of environment ${environmentOf(pass)}`,
  committed: (pass, answer) => {
    const { configurations: wipedConfigurationCount, destinations: wipedDestinationCount } =
      resetCountsOf(answer) ?? {};
    // The answer alone proves nothing. Without a count it may come from a proxy, and a count of zero means that somebody else
    // reset first. Wait until the configurations are gone.
    if (wipedConfigurationCount === undefined || wipedConfigurationCount === 0) return undefined;
    return { facts: { ...accepted(pass, 'Accepted'), wipedConfigurationCount, wipedDestinationCount } };
  },
  untold,
  refused,
  follow,
  shown: (pass) => {
    const seen = look(pass, Number.NEGATIVE_INFINITY);
    return factsOf(pass, 'is' in seen ? undefined : seen);
  },
};

/** Removes a protection with everything that belongs to it. */
export const disasterReset = defineRequest(plan, {
  ...identity,
  // Keep the environment's id in the index: a protection without status looks for the resets of its environment.
  claims: (spec) => [
    ...pinnedOf(spec).map(({ configurationId }) => configurationId),
    ...(spec.environmentRef?.externalId === undefined ? [] : [spec.environmentRef.externalId]),
  ],
  made: ({ environmentId }) => (environmentId === undefined ? [] : [environmentId]),
  wipes: (spec, { acceptedTime }) =>
    acceptedTime === undefined ? [] : pinnedOf(spec).map(({ configurationId }) => configurationId),
  answered: ({ journal, facts }) => facts.stage === cleaning && journal?.conflicted !== undefined,
});
