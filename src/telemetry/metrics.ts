import { collectDefaultMetrics, Counter, type CounterConfiguration, Gauge, Histogram, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;

interface Description {
  readonly help: string;
  readonly labels: readonly string[];
  readonly make: (config: Pick<CounterConfiguration<string>, 'name' | 'help' | 'labelNames' | 'registers'>) => unknown;
}

const describedAs =
  (make: Description['make']) =>
  (help: string, labels: readonly string[] = []): Description => ({ help, labels, make });
const counter = describedAs((config) => new Counter(config));
const gauge = describedAs((config) => new Gauge(config));
const histogram = describedAs(
  (config) => new Histogram({ ...config, buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 30] }),
);

/** All metrics of the operator. A value for a metric that is not listed here is dropped. */
export const metricNames: Readonly<Record<string, Description>> = {
  apphosting_reconciles_total: counter('Number of reconciles, by result.', ['kind', 'result']),
  apphosting_reconcile_seconds: histogram('Duration of a reconcile, in seconds.', ['kind']),
  apphosting_calls_total: counter('Calls that change the service, by outcome.', ['kind', 'endpoint', 'outcome']),
  apphosting_status_writes_total: counter('Status writes.', ['kind']),
  apphosting_events_dropped_total: counter(
    'Kubernetes events that were not published: too many about one object, too many at once, or refused by Kubernetes.',
    ['why'],
  ),
  apphosting_objects: gauge('Number of objects, by status and reason of Ready.', ['kind', 'ready', 'reason']),
  apphosting_conditions: gauge('Number of objects, by status and reason of each condition except Ready.', [
    'kind',
    'type',
    'status',
    'reason',
  ]),
  apphosting_newest_failure_seconds: gauge('Time since the most recent failure of a one-time request.', ['kind']),
  apphosting_drifted_objects: gauge('Number of objects that differ between the spec and the service.', ['kind']),
  apphosting_account_resources: gauge('Number of resources that use an account.', ['account']),
  apphosting_account_orphans: gauge(
    'Number of orphans in the status of an account: objects in the service that this operator created and that belong to no resource.',
    ['account'],
  ),
  apphosting_in_doubt_calls: gauge('Calls that must not happen twice, with unknown outcome.', ['kind', 'operation']),
  apphosting_in_doubt_oldest_seconds: gauge('Age of the oldest call whose outcome is not known.'),
  apphosting_queue_depth: gauge('Number of objects that wait for a worker.'),
  apphosting_queue_wait_seconds: histogram('Time that an object waited for a worker, in seconds.'),
  apphosting_leader: gauge('The value is 1 while this replica is the leader, and 0 otherwise.'),
  apphosting_watch_silence_seconds: gauge('Time since a watch of Kubernetes last delivered an event.', ['resource']),
  apphosting_service_requests_total: counter(
    'Requests to the service, including reads, and requests that ended before they were sent (outcomes notSent and invalid).',
    ['endpoint', 'outcome'],
  ),
  apphosting_service_request_seconds: histogram('Duration of a request in seconds, even if it fails.', ['endpoint']),
  apphosting_service_throttled_total: counter('Answers of the service that ask for fewer requests, such as 429.'),
  apphosting_mirror_lists_total: counter(
    'Number of reads of lists from the service, by result: complete, or the kind of failure.',
    ['collection', 'result'],
  ),
  apphosting_mirror_age_seconds: gauge(
    'Time since a collection was last read from the service; if a collection has several lists, the list that was read longest ago counts.',
    ['account', 'collection'],
  ),
  apphosting_poll_interval_seconds: gauge(
    'Poll interval in effect; longer than configured when polling would use more than half of the request budget.',
    ['account'],
  ),
  apphosting_budget_requests_per_second: gauge('Requests per second that may be sent now.', ['account']),
  apphosting_budget_used_requests_per_second: gauge(
    'Requests per second with the token of an account, on average since the metrics were last read.',
    ['account'],
  ),
  apphosting_forecast_requests_per_hour: gauge('Reads per hour that an account will need.', ['account']),
  apphosting_budget_waiting: gauge('Number of requests that wait for the request budget.', ['account']),
};

/**
 * The interval, in ms, at which Node measures the delay of the event loop. The default of 10 ms would cost more CPU
 * than everything else that an idle operator does.
 */
const betweenLooksAtTheLoopMs = 1_000;

/**
 * Keeps the values of all metrics. Callers give the name of the metric that they count. An unknown name is a bug: tests
 * learn of it through `onUnknown`, and in production the call is ignored, since no metric is worth a failed reconcile.
 */
export class MetricRegistry {
  readonly #registry = new Registry();
  readonly #onUnknown: (name: string) => void;

  constructor(defaults = true, onUnknown: (name: string) => void = () => undefined) {
    this.#onUnknown = onUnknown;
    if (defaults)
      collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: betweenLooksAtTheLoopMs });
    for (const [name, { make, help, labels }] of Object.entries(metricNames)) {
      make({ name, help, labelNames: [...labels], registers: [this.#registry] });
    }
  }

  count(name: string, labels: Labels = {}, by = 1): void {
    this.#known(Counter, name, labels)?.inc({ ...labels }, by);
  }

  /** Sets a gauge. If `value` is undefined, removes the series with these labels. */
  gauge(name: string, labels: Labels, value: number | undefined): void {
    const metric = this.#known(Gauge, name, labels);
    if (value === undefined) metric?.remove({ ...labels });
    else metric?.set({ ...labels }, value);
  }

  observe(name: string, labels: Labels, value: number): void {
    this.#known(Histogram, name, labels)?.observe({ ...labels }, value);
  }

  /** Removes the series of all gauges, so that none keeps an old value. A gauge without labels is set to 0. */
  resetGauges(): void {
    for (const name of Object.keys(metricNames)) {
      const metric = this.#registry.getSingleMetric(name);
      if (metric instanceof Gauge) metric.reset();
    }
  }

  /** Returns the text that Prometheus scrapes. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #known<Metric>(type: abstract new (...config: never[]) => Metric, name: string, labels: Labels): Metric | undefined {
    const metric: unknown = this.#registry.getSingleMetric(name);
    const stray = Object.keys(labels).find((label) => metricNames[name]?.labels.includes(label) !== true);
    if (metric instanceof type && stray === undefined) return metric;
    this.#onUnknown(stray === undefined ? name : `${name}{${stray}}`);
    return undefined;
  }
}
