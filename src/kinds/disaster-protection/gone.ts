/**
 * What follows when a configuration is gone: the environment is not protected again by itself.
 *
 * A resource knows what it was bound to. One that was applied anew, or restored without its status, knows nothing: it asks
 * the resets that are there.
 *
 * Why: docs/design/recovery-requests.md#a-wiped-environment-is-protected-again-only-on-request
 */
import { isoSeconds } from '../../base/time.ts';
import type { Related } from '../../engine/kind/contract/pass.ts';
import { readOf } from '../../engine/kind/planner/reading.ts';
import { missedTwice, sightLost } from '../../engine/kind/planner/observe.ts';
import type { Step, Verdict } from '../../engine/kind/contract/step.ts';
import { drConfigurationsOf, drSourcesOf, type ConfigurationItem } from '../../hosting/requests.ts';
import { provenTwice } from '../recovery/configurations.ts';
import { unprotected } from './conditions.ts';
import { environmentOf, type Walk } from './configure.ts';
import type { ProtectionPass } from './settings.ts';
import type { DisasterProtectionFacts, DisasterProtectionSpec } from './schema.ts';
import type { DisasterResetSpec } from '../disaster-reset/schema.ts';

/** The status fields that stay when a configuration is gone. */
export function historyOf({
  environmentId,
  enrollment,
  operations,
  goneTime,
  wipedBy,
}: DisasterProtectionFacts): DisasterProtectionFacts {
  return {
    ...(environmentId !== undefined && { environmentId }),
    ...(enrollment !== undefined && { enrollment }),
    ...(operations !== undefined && { operations }),
    ...(goneTime !== undefined && { goneTime }),
    ...(wipedBy !== undefined && { wipedBy }),
  };
}

/** The bound configuration in the newest walk. One that is proved gone is not looked for by its id: it is nobody's loss any more. */
export function sightOf(
  { view, account, memory }: ProtectionPass,
  id: string,
): { readonly walk: Walk; readonly item: ConfigurationItem | undefined } | undefined {
  const read = drConfigurationsOf(account.accountId);
  if (memory.facts.goneTime === undefined) return view.one(read, id);
  const walk = view.all(read);
  return walk && { walk, item: walk.items.get(id) };
}

/** A configuration that is known to be gone: nothing is set up again by itself. */
export function gone(pass: ProtectionPass, id: string): Step<DisasterProtectionFacts> {
  const { facts } = pass.memory;
  const wipedBy = wiperOf(pass, id) ?? facts.wipedBy;
  const how = wipedBy === undefined ? notListed(id) : `${notListed(id)}; ${wipedBy} wiped it`;
  const remember = { facts: { ...facts, ...(wipedBy !== undefined && { wipedBy }) } };
  return { ...lost(wipedBy !== undefined, how, (facts.enrollment ?? 1) + 1), remember };
}

/**
 * What to do until it is known that a configuration which does not show is gone; undefined once it is. That stands in status, so
 * that it is found out once.
 */
export function unproved(pass: ProtectionPass, walk: Walk, id: string): Step<DisasterProtectionFacts> | undefined {
  const { facts } = pass.memory;
  if (facts.goneTime !== undefined) return undefined;
  const wipedBy = wiperOf(pass, id);
  const blind = sightLost<DisasterProtectionSpec, DisasterProtectionFacts>(pass);
  const unsure = blind === undefined ? unseen(pass, walk, id, wipedBy) : unseenBlind(pass, walk, id, blind);
  if (unsure !== undefined) return unsure;
  const goneTime = isoSeconds(pass.wallMs);
  const known = { ...historyOf(facts), goneTime, ...(wipedBy !== undefined && { wipedBy }) };
  return { is: 'again', remember: { facts: known } };
}

/** The reset that wiped a configuration, as far as one is there and tells. */
function wiperOf(pass: ProtectionPass, id: string): string | undefined {
  const resets = pass.related?.('DisasterReset', id) ?? [];
  return resets.find(({ facts }) => facts['acceptedTime'] !== undefined)?.name;
}

function notListed(id: string): string {
  return `the service shows no configuration ${id}`;
}

/** One among others that does not show any more. */
function unseen(
  pass: ProtectionPass,
  walk: Walk,
  id: string,
  wipedBy: string | undefined,
): Step<DisasterProtectionFacts> | undefined {
  // After a restart nobody knows when it was written: a list may be older than that.
  const missedAt = pass.notes['missedAt'] ?? walk.begunAt;
  const wroteAt = pass.wrote?.at ?? missedAt;
  const message = notListed(id);
  if (wipedBy === undefined && walk.begunAt < wroteAt + pass.horizonMs) {
    const note = { ...pass.notes, missedAt };
    return { is: 'wait', reason: 'ObjectMissing', message: `${message} yet`, retryInMs: 10_000, note };
  }
  return provenTwice<DisasterProtectionSpec, DisasterProtectionFacts>(pass, walk, { reason: 'ObjectMissing', message });
}

/**
 * One that does not show while the account has lost sight of what it owns, so that the list itself may be wrong: it is gone when
 * the list lacks it for longer than a list may lag, and another list, read after that, shows its environment without it.
 */
function unseenBlind(
  pass: ProtectionPass,
  walk: Walk,
  id: string,
  blind: Extract<Step<DisasterProtectionFacts>, { is: 'wait' }>,
): Step<DisasterProtectionFacts> | undefined {
  // It is told to the account, which sees again when all that it misses is proved so.
  if (pass.notes['provedGone'] !== undefined) return blind;
  const { accountId, pollMs } = pass.account;
  const { reason, message } = blind;
  const read = drConfigurationsOf(accountId);
  const apartMs = pass.horizonMs + pollMs;
  const unsure = missedTwice<DisasterProtectionSpec, DisasterProtectionFacts>(
    pass,
    { read, begunAt: walk.begunAt, apartMs },
    { reason, message },
  );
  if (unsure !== undefined) return unsure;
  const since = (pass.notes['missedAt'] ?? walk.begunAt) + pass.horizonMs;
  const sources = drSourcesOf(accountId);
  const source = pass.view.one(sources, environmentOf(pass));
  if (source === undefined || source.walk.begunAt < since) {
    return pass.view.problem(sources) === undefined ? { ...readOf(pass, sources, since), note: pass.notes } : blind;
  }
  if (source.item === undefined || source.item.configurationId === id) return blind;
  return { ...readOf(pass, read, pass.monotonicMs), note: { ...pass.notes, provedGone: 1 } };
}

/**
 * What keeps a resource that remembers nothing from setting a protection up: resets in its namespace name configurations of the
 * environment that are gone, and enrollment was not raised above their number.
 */
export function lostBefore(pass: ProtectionPass, walk: Walk): Verdict<DisasterProtectionFacts> | undefined {
  const resets = resetsOf(pass).flatMap((reset) => {
    const { configurationId } = (reset.spec ?? {}) as Partial<DisasterResetSpec>;
    return configurationId === undefined || walk.items.has(configurationId) ? [] : [{ ...reset, configurationId }];
  });
  const [first] = resets;
  const count = new Set(resets.map(({ configurationId }) => configurationId)).size;
  if (first === undefined || (pass.spec.enrollment ?? 1) > count) return undefined;
  const isWiped = first.facts['acceptedTime'] !== undefined;
  const which = `configuration ${first.configurationId} of this environment`;
  // One that was not accepted, as far as its status tells, may name what never was.
  const how = isWiped
    ? `${first.name} wiped ${which}`
    : `${first.name} names ${which}, which the service does not show (if there never was one of that id, delete the reset)`;
  return lost(isWiped, how, count + 1);
}

/** The resets in its namespace that are about its environment; one that names it by reference may not know its id yet. */
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
