/**
 * What follows when a configuration is gone: the environment is not protected again by itself.
 *
 * A resource knows what it was bound to. One that was applied anew, or restored without its status, knows nothing: it asks
 * the resets that are there.
 */
import type { Step, Verdict } from '../engine/kind/step.ts';
import { drConfigurationsOf } from '../hosting/requests.ts';
import { provenTwice } from './configurations.ts';
import { unprotected } from './disaster-protection-conditions.ts';
import { environmentOf, type Walk } from './disaster-protection-configure.ts';
import type { ProtectionPass } from './disaster-protection-settings.ts';
import type { Facts, Spec } from './schema/disaster-protection.ts';
import type { Spec as ResetSpec } from './schema/disaster-reset.ts';

/** What outlives a configuration: what was shown of it says nothing of another one, nor of none. */
export function historyOf({ appEnvId, enrolment, operations }: Facts): Facts {
  return {
    ...(appEnvId !== undefined && { appEnvId }),
    ...(enrolment !== undefined && { enrolment }),
    ...(operations !== undefined && { operations }),
  };
}

/** A configuration that was ours and does not show: nothing is set up again by itself. */
export function gone(pass: ProtectionPass, walk: Walk, id: string): Step<Facts> {
  if (pass.account.frozen !== undefined) {
    return {
      is: 'wait',
      reason: 'VisibilityLost',
      message: pass.account.frozen,
      note: { ...pass.notes, provedGone: 1 },
    };
  }
  // After a restart nobody knows when it was written: a list may be older than that.
  const missedAt = pass.notes['missedAt'] ?? walk.begunAt;
  const wroteAt = pass.wrote?.at ?? missedAt;
  const missing = `the service shows no configuration ${id}`;
  const wiped = pass.related?.('DisasterReset', id).find(({ facts }) => facts['acceptedAt'] !== undefined);
  if (wiped === undefined && walk.begunAt < wroteAt + pass.horizonMs) {
    const note = { ...pass.notes, missedAt };
    return { is: 'wait', reason: 'ObjectMissing', message: `${missing} yet`, retryInMs: 10_000, note };
  }
  const read = drConfigurationsOf(pass.account.accountId);
  const unsure = provenTwice<Spec, Facts>(pass, read, walk, { reason: 'ObjectMissing', message: missing });
  if (unsure !== undefined) return unsure;
  const how = wiped === undefined ? missing : `${missing}; ${wiped.name} wiped it`;
  return {
    ...lost(wiped !== undefined, how, (pass.memory.facts.enrolment ?? 1) + 1),
    remember: { facts: historyOf(pass.memory.facts) },
    note: { ...pass.notes, provedGone: 1 },
  };
}

/**
 * What keeps a resource that remembers nothing from setting a protection up: resets in its namespace name configurations of the
 * environment that are gone, and enrolment was not raised above their number.
 */
export function lostBefore(pass: ProtectionPass, walk: Walk): Verdict<Facts> | undefined {
  const resets = (pass.related?.('DisasterReset', environmentOf(pass)) ?? []).flatMap((reset) => {
    const { configurationId } = (reset.spec ?? {}) as Partial<ResetSpec>;
    const isTrace = reset.namespace === pass.subject.namespace && configurationId !== undefined;
    return isTrace && !walk.items.has(configurationId) ? [{ ...reset, configurationId }] : [];
  });
  const [first] = resets;
  const count = new Set(resets.map(({ configurationId }) => configurationId)).size;
  if (first === undefined || (pass.spec.enrolment ?? 1) > count) return undefined;
  const isWiped = first.facts['acceptedAt'] !== undefined;
  const which = `configuration ${first.configurationId} of this environment`;
  // One that was not accepted, as far as its status tells, may name what never was.
  const how = isWiped
    ? `${first.name} wiped ${which}`
    : `${first.name} names ${which}, which the service does not show (if there never was one of that id, delete the reset)`;
  return lost(isWiped, how, count + 1);
}

function lost(isWiped: boolean, how: string, enrolment: number): Verdict<Facts> {
  const reason = isWiped ? 'WipedByReset' : 'ConfigurationGone';
  const message = `${how}; to protect the environment again, raise spec.enrolment to ${enrolment}`;
  return { is: 'stall', reason, message, conditions: [unprotected(reason, message)] };
}
