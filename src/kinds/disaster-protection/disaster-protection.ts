import { defineKind } from '../../engine/kind/contract/define.ts';
import { sameJson } from '../../base/json.ts';
import { isoSeconds } from '../../base/time.ts';
import { claimedByOlder } from '../../engine/kind/planner/planner.ts';
import { onlyReported, readOf, stallIfContested, waitWhileFrozen } from '../../engine/kind/planner/observe.ts';
import { drConfigurationsOf, drPointsOf, drSourcesOf, type ConfigurationItem } from '../../hosting/requests.ts';
import { always, fleeting, isRecoveryReady, notProtected, notShown, protectionConditions } from './conditions.ts';
import {
  bound,
  environmentOf,
  ofEnvironment,
  referredTo,
  type Configurations,
  type ProtectionPass,
  type ProtectionStep,
} from './binding.ts';
import { configure, resetAhead, resolveConfigure, underway } from './configure.ts';
import { gone, historyOf, lostBefore, configurationSeen, unproved } from './gone.ts';
import { protectionFacts, sourceFacts, type Shown } from './facts.ts';
import { differenceOf, isApplied } from './settings.ts';
import { needOf } from '../shared/references.ts';
import { identity, type DisasterProtectionFacts, type DisasterProtectionSpec } from './schema.ts';
import { freshSince, notingAnswer } from '../recovery/sending.ts';
import { recoveryWords } from '../recovery/words.ts';

/**
 * Decides the next step for a protection. First decides about a call in the journal, then about a bound configuration
 * that the list does not contain. Only after that is a configuration set up or changed.
 */
function step(pass: ProtectionPass): ProtectionStep {
  if (pass.subject.deleting) return { is: 'release' };
  const { accountId } = pass.account;
  const { id, journal } = pass.memory;
  const read = drConfigurationsOf(accountId);
  const snapshot = pass.view.all(read);
  const wanted = pass.spec.enrollment ?? 1;
  const isToEnroll = id === undefined || wanted > (pass.memory.facts.enrollment ?? wanted);
  // Look up the configuration by its id even before the first list was read. The look-up tells the account that this
  // resource needs the configuration, so the account notices if a list does not contain it.
  const seen = id === undefined ? undefined : configurationSeen(pass, id);
  const since =
    journal === undefined
      ? Math.max(isToEnroll ? pass.askedAt : Number.NEGATIVE_INFINITY, pass.wrote?.at ?? Number.NEGATIVE_INFINITY)
      : freshSince(pass);
  if (snapshot === undefined || snapshot.begunAt < since) return notingAnswer(pass, readOf(pass, read, since));
  const sources = drSourcesOf(accountId);
  if (pass.view.one(sources, environmentOf(pass)) === undefined && pass.view.problem(sources) === undefined) {
    return readOf(pass, sources);
  }
  if (journal !== undefined) return notingAnswer(pass, resolveConfigure(pass, snapshot, journal));
  const configuration = seen?.item;
  const isLost =
    id !== undefined && configuration === undefined && (!isToEnroll || ofEnvironment(pass, snapshot) === undefined);
  // Prove that the configuration is gone before another check can stall the resource. The missing configuration may
  // keep the account frozen, because a freeze ends only when each missing object is found again or proved gone.
  const unsure = isLost ? unproved(pass, snapshot, id) : undefined;
  if (unsure !== undefined) return unsure;
  const referred = referredTo(pass);
  const isAbout = configuration !== undefined || isToEnroll;
  if (id !== undefined && isAbout && referred !== undefined && referred !== environmentOf(pass)) {
    const message = `spec.environmentRef now resolves to environment ${referred}, but configuration ${id} protects environment ${environmentOf(pass)}; to protect the new one, create another DisasterProtection`;
    return { is: 'stall', reason: 'EnvironmentChanged', message };
  }
  if (isToEnroll) return enroll(pass, snapshot);
  if (configuration === undefined) return gone(pass, id);
  return claimed(pass, id) ?? newPoints(pass, configuration) ?? keep(pass, configuration);
}

function claimed(pass: ProtectionPass, id: string) {
  return claimedByOlder(pass, id, `configuration ${id}`, 'protection');
}

/**
 * Binds the DisasterProtection to the configuration that already protects its environment. If there is none, sets up a
 * new configuration.
 */
function enroll(pass: ProtectionPass, snapshot: Configurations): ProtectionStep {
  const existing = ofEnvironment(pass, snapshot);
  const wanted = pass.spec.enrollment ?? 1;
  const { id, facts: known } = pass.memory;
  const isKnown = existing !== undefined && existing.configurationId === id;
  const kept = isKnown ? known : historyOf(known);
  const facts: DisasterProtectionFacts = { ...kept, environmentId: environmentOf(pass), enrollment: wanted };
  const mayAdopt = pass.account.adoption !== 'Never' && pass.spec.lifecycle?.adoption !== 'Never';
  if (existing !== undefined) {
    const { configurationId } = existing;
    const others = isKnown ? undefined : claimed(pass, configurationId);
    if (others !== undefined) return others;
    if (!mayAdopt && !isKnown) {
      const message = `configuration ${configurationId} already protects the environment, but this resource did not create the configuration and is not allowed to adopt it; to allow this, set spec.lifecycle.adoption to ById on the account and on this resource`;
      return { is: 'stall', reason: 'AdoptionNotAllowed', message };
    }
    const ahead = isKnown ? resetAhead(pass, configurationId) : undefined;
    return ahead ?? { is: 'again', remember: bound(pass, configurationId, 'Adopted', facts), note: {} };
  }
  if (!mayAdopt && pass.spec.environmentRef.externalId !== undefined) {
    const message =
      'this resource is not allowed to name an environment by id (spec.environmentRef.externalId); to allow this, set spec.lifecycle.adoption to ById on the account and on this resource';
    return { is: 'stall', reason: 'AdoptionNotAllowed', message };
  }
  const waits = waitWhileFrozen(pass) ?? (id === undefined ? lostBefore(pass, snapshot) : underway(pass, id));
  return waits ?? configure(pass, undefined, facts);
}

function keep(pass: ProtectionPass, configuration: ConfigurationItem): ProtectionStep {
  const { configurationGeneration: known = 0 } = pass.memory.facts;
  if (configuration.generation < known) {
    const message = `the list of configurations is out of date: it shows the configuration with generation ${configuration.generation}, but an earlier answer of the service had generation ${known}; the operator reads the list again`;
    return { is: 'wait', reason: 'ReadingService', message, retryInMs: 5_000 };
  }
  const difference = differenceOf(pass, configuration);
  const changed = [...difference.differing, ...difference.unsent];
  if (changed.length > 0) return correct(pass, configuration, changed, difference.unsent.length === 0);
  const { applied, facts } = pass.memory;
  const { generation } = pass.subject;
  if (applied?.generation !== generation || facts.enrollment === undefined) {
    const enrollment = facts.enrollment ?? pass.spec.enrollment ?? 1;
    return {
      is: 'again',
      remember: { applied: { generation, fingerprints: difference.fingerprints }, facts: { ...facts, enrollment } },
    };
  }
  if (facts.firstReadyTime !== undefined) return { is: 'ready', note: {}, ...lookAgainIn(pass, configuration) };
  if (isRecoveryReady({ configuration })) {
    return { is: 'again', remember: { facts: { ...facts, firstReadyTime: isoSeconds(pass.wallMs) } } };
  }
  const state = configuration.readiness?.state ?? '(not shown)';
  const message = `the settings are applied; the operator waits until the service first reports that recovery is ready (readiness state now: ${state})`;
  return { is: 'wait', reason: 'Preparing', message, note: {}, ...lookAgainIn(pass, configuration) };
}

/**
 * Reads the recovery points again when there may be new ones: after certain changes of the configuration, or after the
 * interval from `pointsAgainMs`.
 */
function newPoints(pass: ProtectionPass, configuration: ConfigurationItem): ProtectionStep | undefined {
  const read = drPointsOf(pass.account.accountId, configuration.configurationId);
  const { begunAt = Number.NEGATIVE_INFINITY } = pass.view.all(read) ?? {};
  const now = protectionFacts(pass, { environmentId: environmentOf(pass), configuration });
  const hasMoved = !sameJson(tellingOf(pass.memory.facts), tellingOf(now));
  const againMs = pointsAgainMs(pass, configuration) ?? Number.POSITIVE_INFINITY;
  const since = hasMoved ? pass.askedAt : pass.monotonicMs - againMs;
  const isThere = begunAt > Number.NEGATIVE_INFINITY && begunAt >= since;
  return isThere || pass.view.problem(read) !== undefined ? undefined : readOf(pass, read, since);
}

/**
 * Interval at which the recovery points are read again while the service says that recovery is ready, but lists no
 * recovery point.
 */
const missingPointsMs = 60_000;

/**
 * Returns the interval at which the recovery points are listed again even if the configuration does not change. There
 * is such an interval if recovery is ready but no recovery point is known, or if the configuration does not show the
 * time of the newest recovery point. Otherwise returns undefined.
 */
function pointsAgainMs(pass: ProtectionPass, configuration: ConfigurationItem): number | undefined {
  const { pollMs } = pass.account.inEffect;
  const known = pass.view.all(drPointsOf(pass.account.accountId, configuration.configurationId));
  if (isRecoveryReady({ configuration }) && (known?.items.size ?? 0) === 0) return Math.min(pollMs, missingPointsMs);
  return configuration.readiness?.cutoffAt === undefined ? pollMs : undefined;
}

/** Returns the status fields whose change may mean that there are new recovery points. */
function tellingOf(facts: DisasterProtectionFacts) {
  const { readiness, configurationGeneration, standby, warmRecoveryOperationId, validationSchedule } = facts;
  const activeId = facts.activeOperation?.operationId;
  // Take the newest operation other than the active one. The active operation may come first in the list although
  // another operation is newer: this happens if status has no start time for the active operation.
  const newest = facts.operations?.find(({ operationId: id }) => id === undefined || id !== activeId);
  return [
    [configurationGeneration, warmRecoveryOperationId, standby?.caughtUp, activeId],
    [readiness?.cutoffTime, validationSchedule?.nextSnapshotTime],
    [newest?.operationId ?? newest?.startedTime, newest?.outcome],
  ];
}

/**
 * Returns the time until the resource is reconciled even if no list changes. If reads fail, this is the time until the
 * last successful read becomes too old to use. Otherwise, or once that read is too old, it is the interval from
 * `pointsAgainMs`.
 */
function lookAgainIn(pass: ProtectionPass, configuration: ConfigurationItem): { readonly retryInMs?: number } {
  const { dueInMs = -1 } = failing(pass) ?? {};
  const retryInMs = dueInMs < 0 ? pointsAgainMs(pass, configuration) : dueInMs + 1;
  return retryInMs === undefined ? {} : { retryInMs };
}

/**
 * If reads of the configurations fail, returns the reason, and the remaining time until the last successful read is too
 * old to use; zero or less once it is too old. Returns undefined while reads succeed.
 */
function failing({ view, account, monotonicMs }: ProtectionPass) {
  const read = drConfigurationsOf(account.accountId);
  const oldestMs = Math.max(300_000, 3 * account.pollMs);
  const problem = view.problem(read);
  return problem && { why: problem.message, dueInMs: (view.all(read)?.begunAt ?? 0) + oldestMs - monotonicMs };
}

function correct(
  pass: ProtectionPass,
  configuration: ConfigurationItem,
  changed: readonly string[],
  shownOnly: boolean,
): ProtectionStep {
  const isDrift = isApplied(pass);
  const owner = `configuration ${configuration.configurationId}`;
  const contested = isDrift ? stallIfContested(pass, changed, owner) : undefined;
  if (contested !== undefined) return contested;
  const { drift, managementPolicy } = pass.spec.lifecycle ?? {};
  if (isDrift && shownOnly && drift === 'Report') return onlyReported(pass, managementPolicy, changed);
  return (
    underway(pass, configuration.configurationId, configuration) ?? configure(pass, configuration, pass.memory.facts)
  );
}

function show(pass: ProtectionPass) {
  const { id, facts: known } = pass.memory;
  const { accountId } = pass.account;
  const environmentId = environmentOf(pass);
  const source = pass.view.one(drSourcesOf(accountId), environmentId)?.item;
  // Status shows the source (the environment to protect) even without a configuration, so that users see whether it can
  // be protected.
  const facts: DisasterProtectionFacts = {
    ...known,
    ...(source !== undefined && { environmentId, source: sourceFacts(source) }),
  };
  const nothing = { facts, conditions: [] };
  if (id === undefined) {
    const snapshot = pass.view.all(drConfigurationsOf(accountId));
    const isThere = snapshot === undefined || environmentId === '' || ofEnvironment(pass, snapshot) !== undefined;
    return isThere ? nothing : { ...nothing, conditions: notProtected(environmentId, source) };
  }
  const seen = configurationSeen(pass, id);
  if (seen === undefined) return { ...nothing, unseen: true };
  const configuration = seen.item;
  if (configuration === undefined) return { ...nothing, conditions: [notShown(id)] };
  const points = pass.view.all(drPointsOf(accountId, id));
  const failure = failing(pass);
  const unread = failure !== undefined && failure.dueInMs <= 0 ? failure.why : undefined;
  const shown: Shown = { environmentId, configuration, source, points, unread };
  const difference = differenceOf(pass, configuration);
  return {
    facts: protectionFacts(pass, shown),
    conditions: protectionConditions(shown),
    drift: difference.drift,
    unverified: Object.keys(difference.fingerprints).toSorted(),
  };
}

/** The DisasterProtection kind: protects one environment against the loss of its region. */
export const disasterProtection = defineKind<DisasterProtectionSpec, DisasterProtectionFacts>({
  ...identity,
  interfaceWords: recoveryWords,
  needs: ({ environmentRef }) => ({ references: needOf('AppEnvironment', environmentRef, 'environmentRef') }),
  always,
  fleeting,
  moving: ['recoveryPointAgeSeconds', 'lastApplySeconds', 'lastApplyBytes', 'observedTime'],
  step,
  show,
});
