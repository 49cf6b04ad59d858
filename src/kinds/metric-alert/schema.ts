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

/** The metrics that the interface knows, each with the threshold that the interface suggests. */
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

/** Maps the operators of a spec to the service's words. */
export const operators = { GreaterThan: 'gt', LessThan: 'lt' } as const;
export const aggregations = { Mean: 'mean', Max: 'max', Min: 'min', Last: 'last' } as const;

const durations = ['1m', '5m', '10m', '15m', '30m', '1h'] as const;
const queryRanges = ['5m', '10m', '15m', '30m', '1h', '2h'] as const;

/** Translates a word of the service to the word of the spec; an unknown word stays as it is. */
export function inSpec(words: Readonly<Record<string, string>>, shown: string | undefined): string | undefined {
  return Object.keys(words).find((choice) => words[choice] === shown) ?? shown;
}

const Fields = specInAccount('What is watched, when it fires, and who is told.', {
  environmentRef: environmentRef(),
  name: ownName('The name in the service.', { max: 100 }).optional(),
  description: text(
    'What the alert is about. The service shows it with a short mark that says which resource owns it.',
    { max: 440 },
  ).optional(),
  metric: choice('What is measured. Those with the prefix ingress_ are not available for databases.', metrics),
  operator: choice('Fires while the value is above the threshold (interface: gt), or below it (interface: lt).', [
    'GreaterThan',
    'LessThan',
  ]),
  threshold: number(
    'The value to compare with. Default: 80 for percentages of CPU and memory, 500 for CPU in millicores, 512 for memory in MB, 1000 requests a second, 1 (5xx) or 10 (4xx) errors a second, 5 (5xx) or 10 (4xx) percent of requests, 2 (p95) or 5 (p99) seconds.',
    { min: -1_000_000_000_000, max: 1_000_000_000_000 },
  ).optional(),
  duration: choice('How long the condition must hold. Default: 5m.', durations).optional(),
  aggregation: choice(
    'How the values of several containers become one: their mean, the highest, the lowest, or the newest. Default: Mean.',
    ['Mean', 'Max', 'Min', 'Last'],
  ).optional(),
  queryRange: choice('The stretch of time that is looked at. Default: 10m.', queryRanges).optional(),
  contactPointRefs: listOf(
    'Who is told (interface: contactPointIds).',
    objectOrIdRef('A ContactPoint in this namespace, or a contact point by its id', 'contactPointId'),
    { max: 50, min: 1 },
  ),
  enabled: flag('Whether the alert is evaluated. Default: true.').optional(),
  refreshSeconds: integer(
    'How often its state is asked for at most, in seconds; 0 shows only what the list of alerts shows, as does managementPolicy: Observe. Default: 120.',
    { min: 0, max: 86_400 },
  ).optional(),
  externalId: externalId('an alert', 'alertId'),
  lifecycle: objectLifecycle('Recreate', 'Default: Delete when this resource created it, Retain when it was adopted.'),
});

/** An alert on one metric of one environment. */
export const MetricAlertSpec = ofOneEnvironment(
  Fields,
  'cannot be changed: an alert belongs to its environment; create another MetricAlert',
);
export type MetricAlertSpec = z.output<typeof MetricAlertSpec>;

/** The status fields of an alert. */
export const MetricAlertFacts = facts({
  environmentId: text('The id of the environment (interface: appEnvId).', { max: 128 }).optional(),
  region: text('Where the environment runs.', { max: 128 }).optional(),
  state: text('Normal, Pending, Firing, NoData or Error (interface: lastKnownState).', { max: 32 }).optional(),
  previousState: text('The state before.', { max: 32 }).optional(),
  stateChangeTime: time('When this state was seen first.').optional(),
  stateObservedTime: time(
    'When the state was last seen to be so; it is written about once an hour. When nothing has shown the state for an hour, or for three refreshes, Firing says StateStale.',
  ).optional(),
});
export type MetricAlertFacts = z.output<typeof MetricAlertFacts>;
