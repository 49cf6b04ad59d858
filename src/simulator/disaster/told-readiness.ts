// The readiness that the control surface set by hand, and the evidence that ends it.
import type { Configuration } from './model.ts';

/** A rollover of the chain, or a standby catching up: the reasons that excuse a missed RPO target for a while. */
export function isExcuse(state: string, reason: string | undefined): boolean {
  return state === 'needsAttention' && (reason === 'chainRollover' || reason === 'catchingUp');
}

/** While a chain is said to be rolled over or a standby to catch up, no new point comes of its own. */
export function standsStill({ told: { readiness } }: Configuration): boolean {
  return readiness !== undefined && isExcuse(readiness.state, readiness.reason);
}

/** Ends a readiness set by hand: it is computed again. */
export function withoutToldReadiness(configuration: Configuration): Configuration {
  return { ...configuration, told: { ...configuration.told, readiness: undefined } };
}

/** New evidence ends a readiness set by hand; a rollover or catching up ends only with a new point. */
export function withEvidence(configuration: Configuration): Configuration {
  return standsStill(configuration) ? configuration : withoutToldReadiness(configuration);
}
