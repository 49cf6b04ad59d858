import type { z } from 'zod';
import { externalId, specInAccount } from '../../engine/kind/schema/parts.ts';
import {
  choice,
  facts,
  flag,
  integer,
  listOf,
  number,
  objectOrIdRef,
  ownName,
  text,
  time,
} from '../../engine/kind/schema/schema.ts';
import { environmentRef, objectLifecycle, ofOneEnvironment } from '../shared/schema.ts';

/** The metrics in the service's API documentation, each with its default threshold. */
export const thresholds = {
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

type Metric = keyof typeof thresholds;
// The cast is safe: TypeScript types the keys of any object as strings.
const metrics = Object.keys(thresholds) as [Metric, ...Metric[]];

/** Maps the operators of a spec to the values in the service's API. */
export const operators = { GreaterThan: 'gt', LessThan: 'lt' } as const;
export const aggregations = { Mean: 'mean', Max: 'max', Min: 'min', Last: 'last' } as const;

const durations = ['1m', '5m', '10m', '15m', '30m', '1h'] as const;
const queryRanges = ['5m', '10m', '15m', '30m', '1h', '2h'] as const;

/** Translates a value of the service's API to the value in a spec; an unknown value is returned unchanged. */
export function inSpec(words: Readonly<Record<string, string>>, shown: string | undefined): string | undefined {
  return Object.keys(words).find((choice) => words[choice] === shown) ?? shown;
}

const Fields = specInAccount('The metric to watch, when the alert fires, and the contact points to notify.', {
  environmentRef: environmentRef(),
  name: ownName('The name of the alert in the service.', { max: 100 }).optional(),
  description: text(
    'The description of the alert. In the service, it ends with a short mark that identifies the resource that owns the alert.',
    { max: 440 },
  ).optional(),
  metric: choice('The metric to measure. Metrics with the prefix ingress_ are not available for databases.', metrics),
  operator: choice(
    'GreaterThan fires while the value is above the threshold (API value: gt), LessThan while it is below (API value: lt).',
    ['GreaterThan', 'LessThan'],
  ),
  threshold: number(
    'The threshold. Default: 80 for percentages of CPU and memory, 500 for CPU in millicores, 512 for memory in MB, 1000 requests a second, 1 (5xx) or 10 (4xx) errors a second, 5 (5xx) or 10 (4xx) percent of requests, 2 (p95) or 5 (p99) seconds.',
    { min: -1_000_000_000_000, max: 1_000_000_000_000 },
  ).optional(),
  duration: choice('Time for which the condition must hold before the alert fires. Default: 5m.', durations).optional(),
  aggregation: choice(
    'How to combine the values of several containers: Mean, Max (the highest), Min (the lowest) or Last (the newest). Default: Mean.',
    ['Mean', 'Max', 'Min', 'Last'],
  ).optional(),
  queryRange: choice('The time range of the data that is evaluated. Default: 10m.', queryRanges).optional(),
  contactPointRefs: listOf(
    'The contact points to notify (API field: contactPointIds).',
    objectOrIdRef('A ContactPoint in this namespace, or a contact point by its id', 'contactPointId'),
    { max: 50, min: 1 },
  ),
  enabled: flag('True to evaluate the alert; false to pause it. Default: true.').optional(),
  refreshSeconds: integer(
    "Minimum time between two refreshes of the alert's state, in seconds. With 0, or with managementPolicy: Observe, the state comes only from the list of alerts. Default: 120.",
    { min: 0, max: 86_400 },
  ).optional(),
  externalId: externalId('an alert', 'alertId'),
  lifecycle: objectLifecycle('Recreate', 'Default: Delete if this resource created the alert, else Retain.'),
});

/** The spec of a MetricAlert: an alert on one metric of one environment. */
export const MetricAlertSpec = ofOneEnvironment(Fields, 'create another MetricAlert');
export type MetricAlertSpec = z.output<typeof MetricAlertSpec>;

/** The status fields of a MetricAlert. */
export const MetricAlertFacts = facts({
  environmentId: text('The id of the environment (API field: appEnvId).', { max: 128 }).optional(),
  region: text('The region of the environment.', { max: 128 }).optional(),
  state: text('The state: Normal, Pending, Firing, NoData, Error (API field: lastKnownState).', { max: 32 }).optional(),
  previousState: text('The previous state of the alert.', { max: 32 }).optional(),
  stateChangeTime: time('Time at which the current state of the alert was first seen.').optional(),
  stateObservedTime: time(
    'Time at which the state of the alert was last confirmed, updated about once an hour. If more than one hour and more than three refresh intervals have passed since then, the condition Firing has the reason StateStale.',
  ).optional(),
});
export type MetricAlertFacts = z.output<typeof MetricAlertFacts>;
