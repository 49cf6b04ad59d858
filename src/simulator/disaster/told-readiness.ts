// Handles a readiness that the control surface sets by hand, which lasts until there is new evidence.
import type { Configuration } from './model.ts';

/** Tells if the reason of a readiness excuses a missed RPO target for a while: a full copy is under way, or the standby is catching up. */
export function isExcuse({ state, reason }: { readonly state: string; readonly reason?: string | undefined }): boolean {
  return state === 'needsAttention' && (reason === 'chainRollover' || reason === 'catchingUp');
}

/** Tells if scheduled snapshots pause, because the readiness set by hand says that a full copy or a catching-up standby delays them. */
export function standsStill({ told: { readiness } }: Configuration): boolean {
  return readiness !== undefined && isExcuse(readiness);
}

/** Removes a readiness that was set by hand, so that readiness is computed again. */
export function withoutToldReadiness(configuration: Configuration): Configuration {
  return { ...configuration, told: { ...configuration.told, readiness: undefined } };
}

/**
 * Removes a readiness set by hand after a check or an applied change. A readiness that excuses a missed RPO target stays until a new
 * snapshot.
 */
export function withEvidence(configuration: Configuration): Configuration {
  return standsStill(configuration) ? configuration : withoutToldReadiness(configuration);
}
