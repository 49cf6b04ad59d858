import { collection } from '../store/collection.ts';

/** The metrics, with suggested thresholds. */
export const metricThresholds = {
  cpu_percent: 80,
  memory_percent: 80,
  cpu_usage: 500,
  memory_usage: 512,
  cpu_percent_per_pod: 80,
  memory_percent_per_pod: 80,
  cpu_usage_per_pod: 500,
  memory_usage_per_pod: 512,
  ingress_request_rate: 1000,
  ingress_5xx_rate: 1,
  ingress_5xx_percent: 5,
  ingress_4xx_rate: 10,
  ingress_4xx_percent: 10,
  ingress_p95_latency: 2,
  ingress_p99_latency: 5,
} as const;

/** The name of a metric. */
export type MetricName = keyof typeof metricThresholds;

/** The names of all metrics. */
export const metricNames = Object.keys(metricThresholds) as MetricName[];

/** The ways to make one value of those of several containers. */
export type Aggregation = 'mean' | 'max' | 'min' | 'last';

/** The value of a metric from now on; null is no data, and "error" fails the query. */
export interface Metric {
  readonly appEnvId: string;
  readonly metric: MetricName;
  readonly value: number | null | 'error';
  readonly pods: readonly number[];
}

/** The values that were set; any other metric has no data. */
export const metrics = collection<Metric>('metrics', metricKey, {
  indexes: { environment: ({ appEnvId }) => appEnvId },
});

/** The key of a metric's value. */
export function metricKey({ appEnvId, metric }: Pick<Metric, 'appEnvId' | 'metric'>): string {
  return `${appEnvId}/${metric}`;
}

/** The one value an alert looks at. */
export function observed(metric: Metric | undefined, aggregation: Aggregation): number | null | 'error' {
  if (metric === undefined) return null;
  const { value, pods } = metric;
  if (typeof value !== 'number' || pods.length === 0) return value;
  switch (aggregation) {
    case 'mean':
      return pods.reduce((sum, each) => sum + each, 0) / pods.length;
    case 'max':
      return pods.reduce((most, each) => Math.max(most, each), -Infinity);
    case 'min':
      return pods.reduce((least, each) => Math.min(least, each), Infinity);
    case 'last':
      return pods.at(-1) ?? value;
  }
}
