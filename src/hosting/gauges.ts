import type { Clock, Metrics } from '../engine/ports.ts';
import type { Budget } from './budget.ts';
import type { Mirror } from './mirror.ts';

const everyMs = 15_000;

/** What is measured, and as which account. */
export interface Measured {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly account: string;
  readonly mirror: Mirror;
  readonly budget: Budget;
}

/** States every 15 s how old the data of an account are and how its budget fares; the returned function ends that. */
export function startGauges({ clock, metrics, account, mirror, budget }: Measured): () => void {
  let grantedBefore = budget.granted();
  const stated = new Map<string, Readonly<Record<string, string>>>();
  let cancel = (): void => undefined;
  const gauge = (name: string, labels: Readonly<Record<string, string>>, value: number): void => {
    stated.set(`${name} ${JSON.stringify(labels)}`, labels);
    metrics.gauge(name, labels, value);
  };
  const state = (): void => {
    for (const [collection, age] of mirror.ages()) {
      gauge('apphosting_mirror_age_seconds', { account, collection }, age / 1000);
    }
    gauge('apphosting_poll_interval_seconds', { account }, mirror.pace.pollIntervalMs() / 1000);
    gauge('apphosting_budget_requests_per_second', { account }, budget.requestsPerSecond());
    const used = budget.granted() - grantedBefore;
    grantedBefore = budget.granted();
    gauge('apphosting_budget_used_requests_per_second', { account }, (used * 1000) / everyMs);
    gauge('apphosting_budget_waiting', { account }, budget.waiting());
    gauge('apphosting_forecast_requests_per_hour', { account }, mirror.pace.forecastPerHour());
    cancel = clock.after(everyMs, state);
  };
  cancel = clock.after(everyMs, state);
  return () => {
    cancel();
    for (const [key, labels] of stated) metrics.gauge(key.split(' ', 1)[0] ?? key, labels, undefined);
  };
}
