import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;

interface Description {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
}

/** All metrics of the operator. A metric that is not listed here cannot be counted. */
export const metricNames = {
  apphosting_reconciles_total: {
    type: 'counter',
    help: 'Reconciles, by how they ended.',
    labels: ['kind', 'result'],
  },
  apphosting_reconcile_seconds: { type: 'histogram', help: 'How long a reconcile took.', labels: ['kind'] },
  apphosting_calls_total: {
    type: 'counter',
    help: 'Calls that change the service, by outcome.',
    labels: ['kind', 'endpoint', 'outcome'],
  },
  apphosting_status_writes_total: { type: 'counter', help: 'Status writes.', labels: ['kind'] },
  apphosting_events_dropped_total: {
    type: 'counter',
    help: 'Events that were not published: too many of one object, too many at once, or refused.',
    labels: ['why'],
  },
  apphosting_objects: {
    type: 'gauge',
    help: 'Objects by what their Ready condition says.',
    labels: ['kind', 'ready', 'reason'],
  },
  apphosting_conditions: {
    type: 'gauge',
    help: 'Objects by what their conditions besides Ready say.',
    labels: ['kind', 'type', 'status', 'reason'],
  },
  apphosting_newest_failure_seconds: {
    type: 'gauge',
    help: 'Age of the newest failure of a request that runs once; no series while none has failed.',
    labels: ['kind'],
  },
  apphosting_drifted_objects: { type: 'gauge', help: 'Objects whose spec and service differ.', labels: ['kind'] },
  apphosting_account_resources: {
    type: 'gauge',
    help: 'Resources that use an account, as its status says.',
    labels: ['account'],
  },
  apphosting_account_orphans: {
    type: 'gauge',
    help: 'Objects in the service that carry our mark and belong to no resource, as status lists them.',
    labels: ['account'],
  },
  apphosting_in_doubt_calls: {
    type: 'gauge',
    help: 'Creates and requests that were begun and whose outcome is not known yet.',
    labels: ['kind', 'operation'],
  },
  apphosting_in_doubt_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the oldest call whose outcome is not known.',
    labels: [],
  },
  apphosting_queue_depth: { type: 'gauge', help: 'Objects that wait for a worker.', labels: [] },
  apphosting_queue_wait_seconds: { type: 'histogram', help: 'How long an object waited for a worker.', labels: [] },
  apphosting_leader: { type: 'gauge', help: '1 while this replica acts.', labels: [] },
  apphosting_watch_silence_seconds: {
    type: 'gauge',
    help: 'Time since a watch last said anything.',
    labels: ['resource'],
  },
  apphosting_service_requests_total: {
    type: 'counter',
    help: 'Requests to the service, reads included.',
    labels: ['endpoint', 'outcome'],
  },
  apphosting_service_request_seconds: {
    type: 'histogram',
    help: 'How long the service took to answer.',
    labels: ['endpoint'],
  },
  apphosting_service_throttled_total: { type: 'counter', help: 'Answers that asked to wait (429).', labels: [] },
  apphosting_mirror_lists_total: {
    type: 'counter',
    help: 'Complete reads of a list, and why the others were not.',
    labels: ['collection', 'result'],
  },
  apphosting_mirror_age_seconds: {
    type: 'gauge',
    help: 'Age of the oldest list of a collection.',
    labels: ['account', 'collection'],
  },
  apphosting_poll_interval_seconds: {
    type: 'gauge',
    help: 'Poll interval in effect, longer than set where polling would take half of the budget.',
    labels: ['account'],
  },
  apphosting_budget_requests_per_second: {
    type: 'gauge',
    help: 'Request rate in effect, lower than set after a 429.',
    labels: ['account'],
  },
  apphosting_budget_used_requests_per_second: {
    type: 'gauge',
    help: 'Requests that the token of an account sent a second, over the last 15 seconds.',
    labels: ['account'],
  },
  apphosting_forecast_requests_per_hour: {
    type: 'gauge',
    help: 'Reads that an account will take an hour if nothing changes.',
    labels: ['account'],
  },
  apphosting_budget_waiting: { type: 'gauge', help: 'Requests that wait for their turn.', labels: ['account'] },
} as const satisfies Record<string, Description>;

/** How often the event loop's delay is measured. The default of 10 ms would cost more CPU than the rest of an idle operator. */
const betweenLooksAtTheLoopMs = 1_000;

const descriptions: Readonly<Record<string, Description>> = metricNames;

/**
 * Counts metrics by name. An unknown name is a bug: tests notice it through `onUnknown`, and production ignores the metric, since
 * no metric is worth a failed reconcile.
 */
export class MetricRegistry {
  readonly #registry = new Registry();
  readonly #onUnknown: (name: string) => void;

  constructor(defaults = true, onUnknown: (name: string) => void = () => undefined) {
    this.#onUnknown = onUnknown;
    if (defaults)
      collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: betweenLooksAtTheLoopMs });
    for (const [name, { type, help, labels }] of Object.entries(descriptions)) {
      const config = { name, help, labelNames: [...labels], registers: [this.#registry] };
      if (type === 'counter') new Counter(config);
      else if (type === 'gauge') new Gauge(config);
      else new Histogram({ ...config, buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 30] });
    }
  }

  count(name: string, labels: Labels = {}, by = 1): void {
    this.#known(Counter, name, labels)?.inc({ ...labels }, by);
  }

  /** Sets a gauge; without a value it removes the series. */
  gauge(name: string, labels: Labels, value: number | undefined): void {
    const gauge = this.#known(Gauge, name, labels);
    if (value === undefined) gauge?.remove({ ...labels });
    else gauge?.set({ ...labels }, value);
  }

  observe(name: string, labels: Labels, value: number): void {
    this.#known(Histogram, name, labels)?.observe({ ...labels }, value);
  }

  /** Removes all series of a gauge, before their new values are set. */
  resetGauge(name: string): void {
    this.#known(Gauge, name, {})?.reset();
  }

  /** Returns the text that Prometheus scrapes. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #known<Metric>(type: abstract new (...config: never[]) => Metric, name: string, labels: Labels): Metric | undefined {
    const metric: unknown = this.#registry.getSingleMetric(name);
    const stray = Object.keys(labels).find((label) => descriptions[name]?.labels.includes(label) !== true);
    if (metric instanceof type && stray === undefined) return metric;
    this.#onUnknown(stray === undefined ? name : `${name}{${stray}}`);
    return undefined;
  }
}
