/**
 * Keeps the operator from setting up protection again by itself after a configuration is gone.
 *
 * A resource usually knows its configuration from status. A new resource, or one restored without status, looks for
 * DisasterResets of its environment instead.
 *
 * Why: docs/design/recovery-requests.md#a-wiped-environment-is-protected-again-only-on-request
 */
import { isoSeconds } from '../../base/time.ts';
import type { Related } from '../../engine/kind/contract/pass.ts';
import { missedTwice, readOf, sightLost } from '../../engine/kind/planner/observe.ts';
import type { Verdict } from '../../engine/kind/contract/step.ts';
import { drConfigurationsOf, drSourcesOf } from '../../hosting/requests.ts';
import { provenTwice } from '../recovery/configurations.ts';
import { unprotected } from './conditions.ts';
import { environmentOf, type Configurations, type ProtectionPass, type ProtectionStep } from './binding.ts';
import type { DisasterProtectionFacts } from './schema.ts';
import type { DisasterResetSpec } from '../disaster-reset/schema.ts';

/** The status fields that stay when a configuration is gone. */
export function historyOf(facts: DisasterProtectionFacts): DisasterProtectionFacts {
  const { environmentId, enrollment, operations, goneTime, wipedBy } = facts;
  return { environmentId, enrollment, operations, goneTime, wipedBy };
}

/**
 * The bound configuration in the newest list. Once the configuration is proved gone it is not looked up by id any more, so that
 * the account does not count it as missing.
 */
export function sightOf({ view, account, memory }: ProtectionPass, id: string) {
  const read = drConfigurationsOf(account.accountId);
  if (memory.facts.goneTime === undefined) return view.one(read, id);
  const snapshot = view.all(read);
  return snapshot && { snapshot, item: snapshot.items.get(id) };
}

/** Stalls on a configuration that is gone: protection is not set up again by itself. */
export function gone(pass: ProtectionPass, id: string): ProtectionStep {
  const { facts } = pass.memory;
  const wipedBy = wiperOf(pass, id) ?? facts.wipedBy;
  const how = wipedBy === undefined ? notListed(id) : `${notListed(id)}; ${wipedBy} wiped it`;
  const remember = { facts: { ...facts, wipedBy } };
  return { ...lost(wipedBy !== undefined, how, (facts.enrollment ?? 1) + 1), remember };
}

/** The next step until a missing configuration is proved gone; undefined once status has the proof. */
export function unproved(pass: ProtectionPass, snapshot: Configurations, id: string): ProtectionStep | undefined {
  const { facts } = pass.memory;
  if (facts.goneTime !== undefined) return undefined;
  const wipedBy = wiperOf(pass, id);
  const blind = sightLost(pass);
  const unsure = blind === undefined ? unseen(pass, snapshot, id) : unseenBlind(pass, snapshot, id, blind);
  if (unsure !== undefined) return unsure;
  const goneTime = isoSeconds(pass.wallMs);
  return { is: 'again', remember: { facts: { ...historyOf(facts), goneTime, wipedBy: wipedBy ?? facts.wipedBy } } };
}

/** The name of the accepted DisasterReset that wiped a configuration, if there is one. */
function wiperOf(pass: ProtectionPass, id: string): string | undefined {
  const resets = pass.related?.('DisasterReset', id) ?? [];
  return resets.find(({ facts }) => facts['acceptedTime'] !== undefined)?.name;
}

function notListed(id: string): string {
  return `the service shows no configuration ${id}`;
}

/** How often to list the configurations again while the bound one is missing, since a list may lag. */
const lookMs = 10_000;

/** Proves a loss while the account is not frozen: two lists must miss the configuration. */
function unseen(pass: ProtectionPass, snapshot: Configurations, id: string): ProtectionStep | undefined {
  // After a restart the time of our last write is unknown, so count from the first list that misses the configuration.
  const missedAt = pass.notes['missedAt'] ?? snapshot.begunAt;
  const wroteAt = pass.wrote?.at ?? missedAt;
  const message = notListed(id);
  if (wiperOf(pass, id) === undefined && snapshot.begunAt < wroteAt + pass.horizonMs) {
    const note = { ...pass.notes, missedAt };
    const wait = { is: 'wait', reason: 'ObjectMissing', message: `${message} yet`, retryInMs: lookMs, note } as const;
    const read = drConfigurationsOf(pass.account.accountId);
    return snapshot.begunAt + lookMs > pass.monotonicMs ? wait : { ...wait, awaits: { read, since: pass.monotonicMs } };
  }
  return provenTwice(pass, snapshot, 'ObjectMissing', message);
}

/**
 * Proves a loss while the account is frozen, when the list itself may be wrong. The configuration counts as gone when lists
 * miss it for longer than a list may lag, and a later list of sources shows its environment without it.
 */
function unseenBlind(
  pass: ProtectionPass,
  snapshot: Configurations,
  id: string,
  blind: Extract<ProtectionStep, { is: 'wait' }>,
): ProtectionStep | undefined {
  // Report the proof to the account, which unfreezes when every missing object is proved gone.
  if (pass.notes['provedGone'] !== undefined) return blind;
  const { accountId } = pass.account;
  const { reason, message } = blind;
  const read = drConfigurationsOf(accountId);
  const unsure = missedTwice(pass, { read, begunAt: snapshot.begunAt, apartMs: pass.horizonMs }, { reason, message });
  if (unsure !== undefined) return unsure;
  const since = (pass.notes['missedAt'] ?? snapshot.begunAt) + pass.horizonMs;
  const sources = drSourcesOf(accountId);
  const source = pass.view.one(sources, environmentOf(pass));
  if (source === undefined || source.snapshot.begunAt < since) {
    return pass.view.problem(sources) === undefined ? { ...readOf(pass, sources, since), note: pass.notes } : blind;
  }
  if (source.item === undefined || source.item.configurationId === id) return blind;
  return { ...readOf(pass, read, pass.monotonicMs), note: { ...pass.notes, provedGone: 1 } };
}

/**
 * Stalls a resource without status when resets in its namespace wiped configurations of its environment, unless spec.enrollment
 * is above their number.
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
  // A reset that was never accepted proves nothing: it may name a configuration that never existed.
  const how = isWiped
    ? `${first.name} wiped ${which}`
    : `${first.name} names ${which}, which the service does not show (if there never was one of that id, delete the reset)`;
  return lost(isWiped, how, count + 1);
}

/** The resets of the same environment in this namespace, found by its id or by the name of its AppEnvironment. */
function resetsOf(pass: ProtectionPass): readonly Related[] {
  const { subject, spec, related, inAccount } = pass;
  const byId = related?.('DisasterReset', environmentOf(pass)) ?? [];
  const { name } = spec.environmentRef;
  const byName = (name === undefined ? undefined : inAccount?.('DisasterReset')) ?? [];
  const named = byName.filter(
    (reset) => (reset.spec as Partial<DisasterResetSpec> | undefined)?.environmentRef?.name === name,
  );
  const resets = new Map([...byId, ...named].map((reset) => [reset.name, reset]));
  return [...resets.values()].filter(({ namespace }) => namespace === subject.namespace);
}

function lost(isWiped: boolean, how: string, enrollment: number): Verdict<DisasterProtectionFacts> {
  const reason = isWiped ? 'WipedByReset' : 'ConfigurationGone';
  const message = `${how}; to protect the environment again, raise spec.enrollment to ${enrollment}`;
  return { is: 'stall', reason, message, conditions: [unprotected(reason, message)] };
}
