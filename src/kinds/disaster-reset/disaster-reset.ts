import type { Pass } from '../../engine/kind/contract/pass.ts';
import { about, type Step } from '../../engine/kind/contract/step.ts';
import { readOf, readUnread } from '../../engine/kind/planner/observe.ts';
import type { Snapshot } from '../../engine/ports.ts';
import {
  drConfigurationsOf,
  drSourcesOf,
  postDisasterReadinessReset,
  resetCountsOf,
  type ConfigurationItem,
  type Resetting,
  type SourceItem,
} from '../../hosting/requests.ts';
import { never, type Fence } from '../recovery/approval.ts';
import { activationUnderWay, cleansUp, movedOn, provenGone } from '../recovery/configurations.ts';
import { accepted, ended, lookingAgain } from '../recovery/following.ts';
import { defineRequest } from '../recovery/one-shot.ts';
import type { Refused, RequestPlan } from '../recovery/plan.ts';
import { wasSent } from '../recovery/sending.ts';
import { atStage } from '../recovery/stages.ts';
import { idOf } from '../shared/references.ts';
import { identity, type DisasterResetFacts, type DisasterResetSpec } from './schema.ts';

/**
 * The input for deciding the next step of a DisasterReset: the spec, what status remembers, and what the service shows.
 */
type ResetPass = Pass<DisasterResetSpec, DisasterResetFacts>;
type ResetStep = Step<DisasterResetFacts>;

/**
 * The lists that the operator needs for deciding about a reset: all configurations, and all sources (environments that
 * can be protected).
 */
interface ResetSubject {
  readonly snapshot: Snapshot<ConfigurationItem>;
  readonly sources: Snapshot<SourceItem> | undefined;
}

interface Pinned {
  readonly configurationId: string;
  readonly configurationGeneration: number;
}

/** Returns the configurations that the spec allows a reset to wipe. */
function pinnedOf({ configurations, configurationId, configurationGeneration }: DisasterResetSpec): readonly Pinned[] {
  if (configurations !== undefined) return configurations;
  if (configurationId === undefined || configurationGeneration === undefined) return [];
  return [{ configurationId, configurationGeneration }];
}

/** Returns the id of the environment whose protection the reset wipes. */
function environmentOf({ spec, referred, memory }: ResetPass): string {
  const { environmentRef } = spec;
  const found = idOf('AppEnvironment', environmentRef, { referred });
  return environmentRef?.externalId ?? memory.facts.environmentId ?? found ?? '';
}

/** Builds the body of the reset request. */
function bodyOf(pass: ResetPass): Resetting {
  const { accountId } = pass.account;
  const { scope, confirmation: confirmationName } = pass.spec;
  if (scope === 'Account') return { accountId, scope: 'account', confirmationName };
  return { accountId, scope: 'environment', confirmationName, sourceAppEnvId: environmentOf(pass) };
}

/**
 * Returns the configurations that a reset would wipe if it were sent now: all configurations of the account, or those
 * of one environment.
 */
function reached(pass: ResetPass, { snapshot }: ResetSubject): readonly ConfigurationItem[] {
  const isWhole = pass.spec.scope === 'Account';
  return [...snapshot.items.values()].filter((one) => isWhole || one.sourceAppEnvId === environmentOf(pass));
}

/** The stage that status shows when the service has begun a reset but not finished it. */
const cleaning = 'CleanupPending';

/**
 * Reads all configurations, because a reset may be sent only if the spec lists every configuration that it would wipe.
 */
function look(pass: ResetPass, since: number): ResetStep | ResetSubject {
  const { accountId } = pass.account;
  const read = drConfigurationsOf(accountId);
  const snapshot = pass.view.all(read);
  if (snapshot === undefined || snapshot.begunAt < since) return readOf(pass, read, since);
  const list = drSourcesOf(accountId);
  const sources = pass.view.all(list);
  // The service may have refused the reset because of a clean-up that only the list of sources (environments that can
  // be protected) shows. If that list cannot be read, decide without it.
  const isOld = pass.memory.journal?.conflicted !== undefined && sources !== undefined && sources.begunAt < since;
  const again = isOld ? readOf(pass, list, since) : readUnread(pass, [list]);
  return again?.is === 'read' ? again : { snapshot, sources };
}

/** Returns the first reason not to send the reset now; undefined when it may be sent. */
function fence(pass: ResetPass, seen: ResetSubject): ResetStep | undefined {
  return foreign(pass) ?? others(pass, seen) ?? absent(pass, seen) ?? misnamed(pass, seen) ?? moved(pass, seen);
}

/**
 * Returns a `stall` step if the spec names objects of the service by id although the account does not allow this. Such
 * objects may belong to another namespace.
 */
function foreign({ spec, account }: ResetPass): Fence | undefined {
  if (spec.environmentRef?.name !== undefined || account.adoption !== 'Never') return undefined;
  const message =
    'the spec names objects by id, and the account does not allow this, because these objects may belong to another namespace; set spec.lifecycle.adoption to ById on the account, or use spec.environmentRef.name, then create a new DisasterReset';
  return never('AdoptionNotAllowed', message);
}

/**
 * Returns a `stall` step if the reset would also wipe a configuration that the spec does not list, for example because
 * somebody has set up the protection again.
 */
function others(pass: ResetPass, seen: ResetSubject): Fence | undefined {
  const pinned = new Set(pinnedOf(pass.spec).map(({ configurationId }) => configurationId));
  const other = reached(pass, seen).find(({ configurationId }) => !pinned.has(configurationId));
  if (other === undefined) return undefined;
  return never('Superseded', `a reset would wipe configuration ${other.configurationId}, which the spec does not list`);
}

function absent(pass: ResetPass, seen: ResetSubject): ResetStep | undefined {
  const here = new Set(reached(pass, seen).map(({ configurationId }) => configurationId));
  const missing = pinnedOf(pass.spec).find(({ configurationId }) => !here.has(configurationId));
  if (missing === undefined) return undefined;
  const { configurationId } = missing;
  const elsewhere = seen.snapshot.items.get(configurationId);
  if (elsewhere !== undefined) {
    const owner = `environment ${elsewhere.sourceAppEnvId ?? '(id unknown)'}`;
    return never('Superseded', `configuration ${configurationId} protects ${owner}, not ${environmentOf(pass)}`);
  }
  const message = `the spec names configuration ${configurationId}, but the service does not list that configuration`;
  return provenGone(pass, seen.snapshot, 'ObjectMissing', message) ?? never('NotFound', message);
}

function misnamed(pass: ResetPass, { sources }: ResetSubject): Fence | undefined {
  if (pass.spec.scope === 'Account') return undefined;
  const name = sources?.items.get(environmentOf(pass))?.environmentName;
  if (name === undefined || name === pass.spec.confirmation) return undefined;
  return never('ConfirmationMismatch', `spec.confirmation must be ${name}`);
}

/**
 * Returns a reason not to send the reset if a configuration does not have the generation in the spec. Once the service
 * has begun the reset, the generation no longer matters, because a repeated request only finishes that reset.
 */
function moved(pass: ResetPass, { snapshot }: ResetSubject): Fence | undefined {
  if (pass.memory.facts.stage === cleaning) return undefined;
  for (const { configurationId, configurationGeneration } of pinnedOf(pass.spec)) {
    const shown = snapshot.items.get(configurationId);
    const fenced = shown && movedOn(shown.generation, configurationGeneration);
    if (fenced !== undefined) return fenced;
  }
  return undefined;
}

/** Returns the configurations that the spec of a DisasterReset lists and that the service still shows. */
function pinnedItems({ spec }: ResetPass, { snapshot }: ResetSubject): readonly ConfigurationItem[] {
  return pinnedOf(spec).flatMap(({ configurationId }) => snapshot.items.get(configurationId) ?? []);
}

/**
 * Called when a reset request must end although the effect of a call is unknown. If a clean-up shows that the call may
 * have taken effect, returns a text that tells users what to check in the service. Returns undefined if there is no
 * clean-up, or if an activation in progress explains why the service refused the reset.
 */
function signsOfEffect(pass: ResetPass, seen: ResetSubject): string | undefined {
  const isRefused = pass.memory.journal?.conflicted !== undefined;
  if ((isRefused && isActivating(pass, seen)) || !isCleaning(pass, seen)) return undefined;
  return 'check in the service whether the configurations in the spec are gone';
}

/**
 * True while the service works on an activation of a configuration in the spec. Until the activation ends, the service
 * refuses the reset.
 */
function isActivating(pass: ResetPass, seen: ResetSubject): boolean {
  return pinnedItems(pass, seen).some((item) => activationUnderWay(item) !== undefined);
}

/**
 * True if the service has begun the reset but not finished it, or if it is still cleaning up a configuration that the
 * spec lists, or an environment whose protection the reset wipes.
 */
function isCleaning(pass: ResetPass, seen: ResetSubject): boolean {
  const shown = [...pinnedItems(pass, seen), ...wipedSources(pass, seen)];
  return pass.memory.facts.stage === cleaning || shown.some(({ pendingCleanup }) => cleansUp(pendingCleanup));
}

/**
 * Called after the service refused the reset. If the service is still cleaning up, the reset is sent again later, until
 * `validUntil`. Any other refusal is final.
 */
function refused(pass: ResetPass, seen: ResetSubject, { words, isOver, until }: Refused): ResetStep | undefined {
  const { journal, facts } = pass.memory;
  if (journal === undefined || isActivating(pass, seen) || !isCleaning(pass, seen)) return undefined;
  if (isOver) {
    const { conflicted: _words, ...open } = journal;
    return { is: 'again', remember: { journal: open } };
  }
  const message = `the service has not finished the reset yet (${words}); the operator sends the reset again after ${until}`;
  const conditions = [about('Accepted').unknown('CleanupPending', message)];
  const remember = { facts: atStage(facts, cleaning, pass.wallMs) };
  return { is: 'wait', reason: 'CleanupPending', message, retryInMs: 5_000, conditions, remember };
}

/**
 * Follows an accepted reset: waits until two lists show no configuration from the spec, and until the service has
 * cleaned up.
 */
function followAccepted(pass: ResetPass, seen: ResetSubject): ResetStep {
  if (pinnedItems(pass, seen).length > 0) {
    const message = 'the service still lists a configuration that the spec names';
    return { is: 'wait', reason: 'CleanupPending', message, retryInMs: 10_000, note: {} };
  }
  const facts = factsOf(pass, seen);
  const message = 'the configuration is gone';
  const unsure = provenGone(pass, seen.snapshot, 'InProgress', message);
  if (unsure !== undefined) return unsure;
  // The list of sources (environments that can be protected) shows whether a clean-up is pending. A list that was read
  // before the configuration was gone may not show the clean-up yet, so read the list again.
  const since = pass.notes.missedAt ?? seen.snapshot.begunAt;
  const read = drSourcesOf(pass.account.accountId);
  const { sources } = seen;
  if (sources === undefined || sources.begunAt < since) return { ...readOf(pass, read, since), note: pass.notes };
  if (wipedSources(pass, seen).some(({ pendingCleanup }) => cleansUp(pendingCleanup))) {
    const rest = { message: `${message}; the service is still cleaning up`, remember: { facts }, note: pass.notes };
    return lookingAgain(pass, { is: 'wait', reason: 'CleanupPending', ...rest }, read, sources);
  }
  return ended(pass, { is: 'ready', reason: 'Succeeded', message }, { facts: atStage(facts, 'Wiped', pass.wallMs) });
}

/**
 * Returns the sources (environments that can be protected) whose protection the reset wipes, as far as the service
 * lists them.
 */
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

const plan: RequestPlan<DisasterResetSpec, DisasterResetFacts, ResetSubject, Resetting> = {
  noun: 'reset',
  operation: 'reset',
  power: ({ scope }) => (scope === 'Account' ? 'accountReset' : 'activation'),
  factsAtStart: (pass) => factsOf(pass, undefined),
  look,
  findOperation: (pass, seen) =>
    wasSent(pass) && pinnedItems(pass, seen).length === 0 ? { ownership: 'Presumed' } : undefined,
  fence,
  body: bodyOf,
  request: postDisasterReadinessReset,
  words: (pass) =>
    pass.spec.scope === 'Account'
      ? `reset all disaster readiness of account ${pass.account.accountId}`
      : `reset disaster readiness of environment ${environmentOf(pass)}`,
  committed: (pass, answer) => {
    const { configurations: wipedConfigurationCount, destinations: wipedDestinationCount } =
      resetCountsOf(answer) ?? {};
    // A successful response alone proves nothing. A response without a count may come from a proxy, and a count of zero
    // means that somebody else sent a reset first. Wait until the configurations are gone.
    if (wipedConfigurationCount === undefined || wipedConfigurationCount === 0) return undefined;
    return { facts: { ...accepted(pass, 'Accepted'), wipedConfigurationCount, wipedDestinationCount } };
  },
  signsOfEffect,
  refused,
  followAccepted,
  factsNow: (pass) => {
    const seen = look(pass, Number.NEGATIVE_INFINITY);
    return factsOf(pass, 'is' in seen ? undefined : seen);
  },
};

/** The DisasterReset kind: removes a protection and the leftovers of its recoveries. */
export const disasterReset = defineRequest(plan, {
  ...identity,
  claims: (spec) => pinnedOf(spec).map(({ configurationId }) => configurationId),
  wipes: (spec, { acceptedTime }) =>
    acceptedTime === undefined ? [] : pinnedOf(spec).map(({ configurationId }) => configurationId),
  answered: ({ journal, facts }) => facts.stage === cleaning && journal?.conflicted !== undefined,
});
