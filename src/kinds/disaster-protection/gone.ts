/**
 * Handles a DisasterProtection whose configuration is gone. The operator does not set up the protection again until the
 * user raises spec.enrollment.
 *
 * Usually status has the id of the lost configuration. A new DisasterProtection, or one that was restored without its
 * status, has no such id. The operator then looks for DisasterResets of the same environment, because they can show
 * that the environment was protected before.
 *
 * Why: docs/design/recovery-requests.md#a-wiped-environment-is-protected-again-only-on-request
 */
import { isoSeconds } from '../../base/time.ts';
import type { Related } from '../../engine/kind/contract/pass.ts';
import { waitForSecondMiss, readOf, waitWhileFrozen } from '../../engine/kind/planner/observe.ts';
import type { Verdict } from '../../engine/kind/contract/step.ts';
import { drConfigurationsOf, drSourcesOf } from '../../hosting/requests.ts';
import { provenApartMs } from '../recovery/configurations.ts';
import { lookingAgain } from '../recovery/following.ts';
import { unprotected } from './conditions.ts';
import { environmentOf, type Configurations, type ProtectionPass, type ProtectionStep } from './binding.ts';
import type { DisasterProtectionFacts } from './schema.ts';
import type { DisasterResetSpec } from '../disaster-reset/schema.ts';

/** Returns the status fields that a DisasterProtection keeps when its configuration is gone. */
export function historyOf(facts: DisasterProtectionFacts): DisasterProtectionFacts {
  const { environmentId, enrollment, operations, goneTime, wipedBy } = facts;
  return { environmentId, enrollment, operations, goneTime, wipedBy };
}

/**
 * Returns the bound configuration from the newest list. If the list does not contain the configuration, `view.one`
 * reports the configuration as missing to the account. A configuration that is proved gone must not be reported, so it
 * is looked up in the whole list.
 */
export function configurationSeen({ view, account, memory }: ProtectionPass, id: string) {
  const read = drConfigurationsOf(account.accountId);
  if (memory.facts.goneTime === undefined) return view.one(read, id);
  const snapshot = view.all(read);
  return snapshot && { snapshot, item: snapshot.items.get(id) };
}

/**
 * Stalls a DisasterProtection whose configuration is gone. The operator sets up the protection again only after the
 * user has raised spec.enrollment.
 */
export function gone(pass: ProtectionPass, id: string): ProtectionStep {
  const { facts } = pass.memory;
  const wipedBy = wiperOf(pass, id) ?? facts.wipedBy;
  const how = wipedBy === undefined ? notListed(id) : `${notListed(id)}; ${wipedBy} wiped the configuration`;
  const remember = { facts: { ...facts, wipedBy } };
  return { ...lost(wipedBy !== undefined, how, (facts.enrollment ?? 1) + 1), remember };
}

/**
 * Waits until it is proved that a missing configuration is gone. Returns undefined once status records the proof.
 *
 * The proof is two lists without the configuration, read at least `horizonMs` apart. If a DisasterReset wiped the
 * configuration, `provenApartMs` is enough. While the account is frozen (too many objects are missing from the lists of
 * the service), `horizonMs` is always needed, and the list of sources (environments that can be protected) must also
 * show the environment without the configuration.
 */
export function unproved(pass: ProtectionPass, snapshot: Configurations, id: string): ProtectionStep | undefined {
  const { begunAt } = snapshot;
  const { memory, notes, account, horizonMs } = pass;
  const { facts } = memory;
  if (facts.goneTime !== undefined) return undefined;
  const blind = waitWhileFrozen(pass);
  // This resource has already reported that its configuration is gone. It still waits, because the account stays frozen
  // until all other missing objects are found again or proved gone, too.
  if (blind !== undefined && notes.provedGone === true) return blind;
  const wipedBy = wiperOf(pass, id);
  const apartMs = wipedBy === undefined || blind !== undefined ? horizonMs : provenApartMs;
  const { reason, message } = blind ?? { reason: 'ObjectMissing', message: `${notListed(id)} yet` };
  const read = drConfigurationsOf(account.accountId);
  const unsure =
    waitForSecondMiss(pass, { read, begunAt, apartMs }, { reason, message }) ??
    (blind && provenBySource(pass, id, (notes.missedAt ?? begunAt) + apartMs, blind));
  // A list that does not contain the configuration may be out of date, so read the list again soon.
  if (blind === undefined && unsure?.is === 'wait') return lookingAgain(pass, unsure, read, snapshot);
  if (unsure !== undefined) return unsure;
  const goneTime = isoSeconds(pass.wallMs);
  return { is: 'again', remember: { facts: { ...historyOf(facts), goneTime, wipedBy: wipedBy ?? facts.wipedBy } } };
}

/**
 * Looks in the list of sources (environments that can be protected) for further proof that a configuration is gone. If
 * the list shows the environment without that configuration, adds the note `provedGone`. The account then no longer
 * counts the configuration as missing.
 */
function provenBySource(pass: ProtectionPass, id: string, since: number, blind: ProtectionStep): ProtectionStep {
  const { view, account, monotonicMs, notes } = pass;
  const sources = drSourcesOf(account.accountId);
  const source = view.one(sources, environmentOf(pass));
  if (source === undefined || source.snapshot.begunAt < since) {
    return view.problem(sources) === undefined ? readOf(pass, sources, since) : blind;
  }
  if (source.item === undefined || source.item.configurationId === id) return blind;
  const again = readOf(pass, drConfigurationsOf(account.accountId), monotonicMs);
  return { ...again, note: { ...notes, provedGone: true } };
}

/** Returns the name of the accepted DisasterReset that wiped a configuration, if there is one. */
function wiperOf(pass: ProtectionPass, id: string): string | undefined {
  const resets = pass.related?.('DisasterReset', id) ?? [];
  return resets.find(({ facts }) => facts['acceptedTime'] !== undefined)?.name;
}

function notListed(id: string): string {
  return `the service does not list configuration ${id}`;
}

/**
 * Stalls a DisasterProtection whose status has no configuration, if DisasterResets suggest that its environment was
 * protected before. These DisasterResets are in its namespace, and name configurations of the environment that the
 * service does not list.
 *
 * Returns undefined if there are no such configurations. Also returns undefined if spec.enrollment is greater than
 * their number, because the user then asks to protect the environment again.
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
  // A DisasterReset that the service never accepted does not prove that the configuration was wiped: it may name a
  // configuration that never existed.
  const how = isWiped
    ? `${first.name} wiped ${which}`
    : `${first.name} names ${which}, but the service does not list that configuration; if that configuration never existed, delete the DisasterReset`;
  return lost(isWiped, how, count + 1);
}

/**
 * Returns the DisasterResets in this namespace that are for the same environment. A DisasterReset names its environment
 * by id or by an AppEnvironment.
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
