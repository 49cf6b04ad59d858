/**
 * Keeps the operator from setting up protection again by itself after a configuration is gone.
 *
 * A DisasterProtection usually knows its configuration from status. A new resource, or one that was restored without
 * status, looks for DisasterResets of its environment instead.
 *
 * Why: docs/design/recovery-requests.md#a-wiped-environment-is-protected-again-only-on-request
 */
import { isoSeconds } from '../../base/time.ts';
import type { Related } from '../../engine/kind/contract/pass.ts';
import { waitForSecondMiss, readOf, waitWhileFrozen } from '../../engine/kind/planner/observe.ts';
import type { Verdict } from '../../engine/kind/contract/step.ts';
import { drConfigurationsOf, drSourcesOf } from '../../hosting/requests.ts';
import { provenApartMs } from '../recovery/configurations.ts';
import { lookingAgain } from '../recovery/one-shot.ts';
import { unprotected } from './conditions.ts';
import { environmentOf, type Configurations, type ProtectionPass, type ProtectionStep } from './binding.ts';
import type { DisasterProtectionFacts } from './schema.ts';
import type { DisasterResetSpec } from '../disaster-reset/schema.ts';

/** Returns the status fields that stay when the configuration of a protection is gone. */
export function historyOf(facts: DisasterProtectionFacts): DisasterProtectionFacts {
  const { environmentId, enrollment, operations, goneTime, wipedBy } = facts;
  return { environmentId, enrollment, operations, goneTime, wipedBy };
}

/**
 * Returns the bound configuration in the newest list. If the configuration is proved gone, does not look it up by its
 * id any more, so that the account does not count it as missing.
 */
export function sightOf({ view, account, memory }: ProtectionPass, id: string) {
  const read = drConfigurationsOf(account.accountId);
  if (memory.facts.goneTime === undefined) return view.one(read, id);
  const snapshot = view.all(read);
  return snapshot && { snapshot, item: snapshot.items.get(id) };
}

/** Stalls because the configuration is gone. The operator does not set up the protection again by itself. */
export function gone(pass: ProtectionPass, id: string): ProtectionStep {
  const { facts } = pass.memory;
  const wipedBy = wiperOf(pass, id) ?? facts.wipedBy;
  const how = wipedBy === undefined ? notListed(id) : `${notListed(id)}; ${wipedBy} wiped the configuration`;
  const remember = { facts: { ...facts, wipedBy } };
  return { ...lost(wipedBy !== undefined, how, (facts.enrollment ?? 1) + 1), remember };
}

/**
 * Returns the next step as long as a missing configuration is not proved gone; undefined once status has the proof. The
 * proof takes two lists without the configuration. The second list must be read at least `horizonMs` after the first. A
 * shorter time is enough if a DisasterReset is known to have wiped the configuration and the account is not frozen.
 * While the account is frozen, the service's list of sources must also show the environment without the configuration.
 */
export function unproved(pass: ProtectionPass, snapshot: Configurations, id: string): ProtectionStep | undefined {
  const { begunAt } = snapshot;
  const { memory, notes, account, horizonMs } = pass;
  const { facts } = memory;
  if (facts.goneTime !== undefined) return undefined;
  const blind = waitWhileFrozen(pass);
  // This resource has already reported to the account that its configuration no longer exists. It still waits, because
  // the account stays frozen until every other missing object is found again or proved gone, too.
  if (blind !== undefined && notes['provedGone'] !== undefined) return blind;
  const wipedBy = wiperOf(pass, id);
  const apartMs = wipedBy === undefined || blind !== undefined ? horizonMs : provenApartMs;
  const { reason, message } = blind ?? { reason: 'ObjectMissing', message: `${notListed(id)} yet` };
  const read = drConfigurationsOf(account.accountId);
  const unsure =
    waitForSecondMiss(pass, { read, begunAt, apartMs }, { reason, message }) ??
    (blind && provenBySource(pass, id, (notes['missedAt'] ?? begunAt) + apartMs, blind));
  // A list may lag behind, so read it again soon.
  if (blind === undefined && unsure?.is === 'wait') return lookingAgain(pass, unsure, read, snapshot);
  if (unsure !== undefined) return unsure;
  const goneTime = isoSeconds(pass.wallMs);
  return { is: 'again', remember: { facts: { ...historyOf(facts), goneTime, wipedBy: wipedBy ?? facts.wipedBy } } };
}

/**
 * Checks if the list of sources (environments that can be protected) shows the environment without the configuration.
 * If so, reports to the account that the configuration is proved gone.
 */
function provenBySource(pass: ProtectionPass, id: string, since: number, blind: ProtectionStep): ProtectionStep {
  const { view, account, monotonicMs, notes } = pass;
  const sources = drSourcesOf(account.accountId);
  const source = view.one(sources, environmentOf(pass));
  if (source === undefined || source.snapshot.begunAt < since) {
    return view.problem(sources) === undefined ? { ...readOf(pass, sources, since), note: notes } : blind;
  }
  if (source.item === undefined || source.item.configurationId === id) return blind;
  const again = readOf(pass, drConfigurationsOf(account.accountId), monotonicMs);
  return { ...again, note: { ...notes, provedGone: 1 } };
}

/** Returns the name of the accepted DisasterReset that wiped a configuration, if there is one. */
function wiperOf(pass: ProtectionPass, id: string): string | undefined {
  const resets = pass.related?.('DisasterReset', id) ?? [];
  return resets.find(({ facts }) => facts['acceptedTime'] !== undefined)?.name;
}

function notListed(id: string): string {
  return `the service shows no configuration ${id}`;
}

/**
 * Stalls a DisasterProtection without status if DisasterResets in its namespace wiped configurations of its
 * environment. Returns undefined if spec.enrollment is greater than the number of these configurations, because a
 * raised spec.enrollment asks to protect the environment again.
 */
export function lostBefore(
  pass: ProtectionPass,
  snapshot: Configurations,
): Verdict<DisasterProtectionFacts> | undefined {
  const resets = resetsOf(pass).flatMap((reset) => {
    const { configurationId } = (reset.spec ?? {}) as Partial<DisasterResetSpec>;
    return configurationId === undefined || snapshot.items.has(configurationId) ? [] : [{ ...reset, configurationId }];
  });
  const [first] = resets;
  const count = new Set(resets.map(({ configurationId }) => configurationId)).size;
  if (first === undefined || (pass.spec.enrollment ?? 1) > count) return undefined;
  const isWiped = first.facts['acceptedTime'] !== undefined;
  const which = `configuration ${first.configurationId} of this environment`;
  // A DisasterReset that the service never accepted proves nothing, because it may name a configuration that never
  // existed.
  const how = isWiped
    ? `${first.name} wiped ${which}`
    : `${first.name} names ${which}, which the service does not show; if this configuration never existed, delete the DisasterReset`;
  return lost(isWiped, how, count + 1);
}

/**
 * Returns the DisasterResets of the same environment in this namespace. Their specs name the environment by its id or
 * by its AppEnvironment.
 */
function resetsOf(pass: ProtectionPass): readonly Related[] {
  const { subject, spec, inAccount } = pass;
  const { name } = spec.environmentRef;
  const appEnvId = environmentOf(pass);
  return (inAccount?.('DisasterReset') ?? []).filter((reset) => {
    const { environmentRef } = (reset.spec ?? {}) as Partial<DisasterResetSpec>;
    const isNamed = name !== undefined && environmentRef?.name === name;
    const isMeant = isNamed || [environmentRef?.externalId, reset.facts['environmentId']].includes(appEnvId);
    return isMeant && reset.namespace === subject.namespace;
  });
}

function lost(isWiped: boolean, how: string, enrollment: number): Verdict<DisasterProtectionFacts> {
  const reason = isWiped ? 'WipedByReset' : 'ConfigurationGone';
  const message = `${how}; to protect the environment again, raise spec.enrollment to ${enrollment}`;
  return { is: 'stall', reason, message, conditions: [unprotected(reason, message)] };
}
