import type { Clock } from '../base/time.ts';
import type { Metrics } from '../engine/ports.ts';
import type { Budget } from './credential.ts';
import type { Mirror } from './mirror/mirror.ts';

const everyMs = 15_000;

/** The parts that gauges are read from, and where they are set. */
export interface Measured {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly account: string;
  readonly mirror: Mirror;
  readonly budget: Budget;
}

/**
 * Sets an account's gauges every 15 s: the age of its data and the use of its budget. The returned function ends that and
 * removes them; a gauge that is not set again is removed as well.
 */
export function startGauges({ clock, metrics, account, mirror, budget }: Measured): () => void {
  let grantedBefore = budget.granted();
  let cancel = (): void => undefined;
  let withdraw = new Map<string, () => void>();
  const state = (): void => {
    const stated = new Map<string, () => void>();
    const gauge = (name: string, value: number, collection?: string): void => {
      const labels = { account, ...(collection !== undefined && { collection }) };
      metrics.gauge(name, labels, value);
      stated.set(`${name} ${collection ?? ''}`, () => metrics.gauge(name, labels, undefined));
    };
    for (const [collection, age] of mirror.ages()) gauge('apphosting_mirror_age_seconds', age / 1000, collection);
    gauge('apphosting_poll_interval_seconds', mirror.schedule.pollIntervalMs() / 1000);
    gauge('apphosting_budget_requests_per_second', budget.requestsPerSecond());
    gauge('apphosting_budget_used_requests_per_second', ((budget.granted() - grantedBefore) * 1000) / everyMs);
    grantedBefore = budget.granted();
    gauge('apphosting_budget_waiting', budget.waiting());
    gauge('apphosting_forecast_requests_per_hour', mirror.schedule.forecastPerHour());
    for (const [key, end] of withdraw) if (!stated.has(key)) end();
    withdraw = stated;
    cancel = clock.after(everyMs, state);
  };
  cancel = clock.after(everyMs, state);
  return () => {
    cancel();
    for (const end of withdraw.values()) end();
  };
}
