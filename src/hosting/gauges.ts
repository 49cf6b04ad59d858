import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../engine/ports.ts';
import type { Budget } from './budget.ts';
import type { Mirror } from './mirror/mirror.ts';

const everyMs = 15_000;

/** The gauges of one account that are set now. */
export interface Series {
  readonly account: string;
  /** Labels, by the name of the gauge and them. */
  readonly stated: Map<string, Readonly<Record<string, string>>>;
}

/** The parts that gauges are read from, and where they are set. */
export interface Measured {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly series: Series;
  readonly mirror: Mirror;
  readonly budget: Budget;
}

/**
 * Sets an account's gauges every 15 s: the age of its data and the use of its budget. The returned function ends that. A
 * gauge that is not set again is removed.
 */
export function startGauges({ clock, metrics, series, mirror, budget }: Measured): () => void {
  const { account, stated } = series;
  let grantedBefore = budget.granted();
  let cancel = (): void => undefined;
  const state = (): void => {
    const before = [...stated];
    stated.clear();
    const gauge = (name: string, labels: Readonly<Record<string, string>>, value: number): void => {
      stated.set(`${name} ${JSON.stringify(labels)}`, labels);
      metrics.gauge(name, labels, value);
    };
    for (const [collection, age] of mirror.ages()) {
      gauge('apphosting_mirror_age_seconds', { account, collection }, age / 1000);
    }
    gauge('apphosting_poll_interval_seconds', { account }, mirror.schedule.pollIntervalMs() / 1000);
    gauge('apphosting_budget_requests_per_second', { account }, budget.requestsPerSecond());
    const used = budget.granted() - grantedBefore;
    grantedBefore = budget.granted();
    gauge('apphosting_budget_used_requests_per_second', { account }, (used * 1000) / everyMs);
    gauge('apphosting_budget_waiting', { account }, budget.waiting());
    gauge('apphosting_forecast_requests_per_hour', { account }, mirror.schedule.forecastPerHour());
    withdraw(metrics, { account, stated: new Map(before.filter(([key]) => !stated.has(key))) });
    cancel = clock.after(everyMs, state);
  };
  cancel = clock.after(everyMs, state);
  return () => cancel();
}

/** Removes the gauges of an account. */
export function withdraw(metrics: Metrics, { stated }: Series): void {
  for (const [key, labels] of stated) metrics.gauge(key.split(' ', 1)[0] ?? key, labels, undefined);
}
