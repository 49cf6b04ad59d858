import { contactPoints } from '../contact-points/contact-point.ts';
import { choice, fields, list, must, number, type ReadFields, type Reads, text } from '../../http/fields.ts';
import { found, invalid } from '../../http/refusal.ts';
import { date } from '../shape.ts';
import { collection } from '../../store/collection.ts';
import type { World } from '../../store/store.ts';

/** The metrics that an alert can watch, each with the default threshold that the API documentation gives. */
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

/** The name of a metric, such as `cpu_percent`. */
export type MetricName = keyof typeof metricThresholds;

/** The names of all metrics that an alert can watch. */
export const metricNames = Object.keys(metricThresholds) as MetricName[];

/**
 * The allowed values of an alert's `duration`, and their length in minutes. An alert fires once its condition has been met for this
 * duration.
 */
export const durationMinutes = { '1m': 1, '5m': 5, '10m': 10, '15m': 15, '30m': 30, '1h': 60 } as const;

/** The allowed values of an alert's `duration`, such as `5m`. */
export const durations = Object.keys(durationMinutes) as (keyof typeof durationMinutes)[];

/** The allowed values of an alert's `queryRange`, which is the period of metric data that the query of the alert covers. */
export const queryRanges = ['5m', '10m', '15m', '30m', '1h', '2h'] as const;

/** The fields that POST /app-env/alert and PATCH /alert both take. */
export const ruleFields = {
  name: text({ min: 1, max: 100 }),
  description: text({ min: 0, max: 500 }),
  metric: choice(metricNames),
  operator: choice(['gt', 'lt']),
  threshold: number(),
  duration: choice(durations),
  /** The way in which the values of several containers are combined into one value, such as their mean or maximum. */
  aggregation: choice(['mean', 'max', 'min', 'last']),
  queryRange: choice(queryRanges),
};

type Rule = ReadFields<typeof ruleFields>;

const metricValue: Reads<number | null | 'error'> = (value, name) => {
  if (value === null || value === 'error') return value;
  if (typeof value !== 'number') throw invalid(`${name} must be a number, null or "error"`);
  return number()(value, name);
};

/**
 * Validates the control request that sets a metric of an environment. The value is a number, null (no data) or "error" (the query fails),
 * and stays until it is set again.
 */
export const metricFields = fields({
  appEnvId: must(text()),
  metric: must(choice(metricNames)),
  value: must(metricValue),
  pods: list(number(), { max: 1000 }),
});

/** The value of an environment's metric, set by a control request (/_sim). */
export type Metric = Required<ReturnType<typeof metricFields>>;

/** All metric values that control requests have set; a metric without a stored value has no data. */
export const metrics = collection<Metric>('metrics', metricKey, { environment: ({ appEnvId }) => appEnvId });

/** Returns the key under which the simulator stores a metric of an environment. */
function metricKey({ appEnvId, metric }: Pick<Metric, 'appEnvId' | 'metric'>): string {
  return `${appEnvId}/${metric}`;
}

/**
 * Returns the value of a metric that an alert compares with its threshold. If the metric has one value for each pod, these are combined
 * into one.
 */
function observed(metric: Metric | undefined, aggregation: Alert['aggregation']): number | null | 'error' {
  if (metric === undefined) return null;
  const { value, pods } = metric;
  if (typeof value !== 'number' || pods.length === 0) return value;
  return aggregate[aggregation](pods) ?? value;
}

type Aggregate = (pods: readonly number[]) => number | undefined;

const aggregate: Readonly<Record<Alert['aggregation'], Aggregate>> = {
  mean: (pods) => pods.reduce((sum, each) => sum + each, 0) / pods.length,
  max: (pods) => Math.max(...pods),
  min: (pods) => Math.min(...pods),
  last: (pods) => pods.at(-1),
};

/** The states that an alert can have. */
type AlertState = 'Normal' | 'Pending' | 'Firing' | 'NoData' | 'Error';

/** An alert: a rule that compares a metric of an environment with a threshold. */
export interface Alert extends Required<Omit<Rule, 'description'>>, Pick<Rule, 'description'> {
  readonly alertId: string;
  readonly appEnvId: string;
  readonly accountId: string;
  readonly region: string;
  readonly contactPointIds: readonly string[];
  readonly enabled: boolean;
  /** The state of the alert as clients see it. It may lag behind `liveState`, the state that the last evaluation found. */
  readonly lastKnownState: AlertState;
  readonly lastStateCheck?: number;
  /** The state that the last evaluation of the alert found. */
  readonly liveState: AlertState;
  /** The time since which the alert's condition has been met without interruption; undefined while the condition is not met. */
  readonly metSince?: number | undefined;
  readonly createdAt: number;
}

/** All alerts in the simulator's data, indexed by environment, by contact point and by name. */
export const alerts = collection<Alert>('alerts', (alert) => alert.alertId, {
  environment: (alert) => alert.appEnvId,
  contactPoint: (alert) => alert.contactPointIds,
  name: (alert) => `${alert.appEnvId}/${alert.name}`,
});

/** Finds an alert by its id; fails with 404 if no alert has this id. */
export function alertNamed(world: World, alertId: string): Alert {
  return found(world.of(alerts).get(alertId), 'alert not found');
}

/** Lists the alerts that send their notifications to a contact point. */
export function alertsUsing(world: World, contactPointId: string): readonly Alert[] {
  return world.of(alerts).where('contactPoint', contactPointId);
}

/** Deletes an alert from the simulator's data. */
export function removeAlert(world: World, alert: Alert): void {
  world.remove(alerts, alert, 'alert.deleted', { name: alert.name, appEnvId: alert.appEnvId });
}

/** Removes the alerts and metrics of an environment that is being deleted. */
export function removeAlertsOf(world: World, appEnvId: string): void {
  for (const alert of world.of(alerts).where('environment', appEnvId)) removeAlert(world, alert);
  for (const metric of world.of(metrics).where('environment', appEnvId)) world.of(metrics).remove(metricKey(metric));
}

/** Formats the contact points of an alert for the response of an alert request. */
export function shownContactPoints(world: World, alert: Alert): readonly object[] {
  return alert.contactPointIds.flatMap((contactPointId) => {
    const point = world.of(contactPoints).get(contactPointId);
    return point === undefined ? [] : [{ contactPointId, name: point.name, type: point.type }];
  });
}

/** Formats the rule of an alert for a response: metric, condition and durations. */
export function ruleOf({ metric, operator, threshold, duration, aggregation, queryRange }: Alert): object {
  return { metric, operator, threshold, duration, aggregation, queryRange };
}

/** Formats an alert for a response, with all fields that the API shows, so without `liveState`. */
export function shownAlert(world: World, alert: Alert): object {
  return {
    alertId: alert.alertId,
    appEnvId: alert.appEnvId,
    accountId: alert.accountId,
    name: alert.name,
    description: alert.description,
    ...ruleOf(alert),
    contactPointIds: alert.contactPointIds,
    contactPoints: shownContactPoints(world, alert),
    enabled: alert.enabled,
    lastKnownState: alert.lastKnownState,
    lastStateCheck: date(world, alert.lastStateCheck),
    region: alert.region,
    createdAt: date(world, alert.createdAt),
  };
}

const evaluationMs = 15_000;

/** The name of the timer that evaluates all alerts. */
export const evaluates = 'alerts.evaluates';

/** Schedules the next evaluation of all alerts, unless it is scheduled already. */
export function keepEvaluating(world: World): void {
  if (world.isScheduled(evaluates, 'all')) return;
  const next = (Math.floor(world.now / evaluationMs) + 1) * evaluationMs;
  world.schedule(evaluates, 'all', next, {});
}

/** Estimates how much work it is to evaluate all alerts every 15 seconds while the clock advances by `ms` milliseconds. */
export function evaluationWorkIn(world: World, ms: number): number {
  const { size } = world.of(alerts);
  return size === 0 ? 0 : (ms / evaluationMs) * (1 + size / 20);
}

/** Evaluates all alerts when the evaluation timer fires, and schedules the next evaluation if at least one alert exists. */
export function evaluateOnTime(world: World): void {
  if (world.of(alerts).size === 0) return;
  evaluateAll(world);
  keepEvaluating(world);
}

/** Evaluates every enabled alert. */
export function evaluateAll(world: World): void {
  for (const alert of world.of(alerts).all()) {
    if (alert.enabled) evaluate(world, alert);
  }
}

/**
 * Returns the changed alert. If the change affects the alert's condition, the new condition must be met for the whole duration before the
 * alert fires.
 */
export function withNewCondition(before: Alert, changed: Alert): Alert {
  const isSame = conditionFields.every((field) => before[field] === changed[field]);
  return isSame ? changed : { ...changed, metSince: undefined };
}

const conditionFields = ['metric', 'operator', 'threshold', 'aggregation'] as const;

/**
 * Enables or disables an alert. After it is enabled again, its condition must be met for the whole duration before it
 * fires. Only an alert that was firing when it was disabled goes on firing at once, if its condition is still met.
 */
export function toggled(alert: Alert, enabled: boolean): Alert {
  const resumes = enabled && !alert.enabled;
  const metSince = resumes && alert.liveState !== 'Firing' ? undefined : alert.metSince;
  return { ...alert, metSince, enabled };
}

function evaluate(world: World, alert: Alert): void {
  const { operator, threshold, aggregation, metSince: before } = alert;
  const value = observed(world.of(metrics).get(metricKey(alert)), aggregation);
  const isMet = typeof value === 'number' && (operator === 'gt' ? value > threshold : value < threshold);
  const metSince = isMet ? (before ?? world.now) : undefined;
  const state = stateOf(world, alert, value, metSince);
  const isLive = world.readings['alerts.cache'] === 'live';
  const shown = isLive ? { lastKnownState: state, lastStateCheck: world.now } : {};
  const next: Alert = { ...alert, liveState: state, metSince, ...shown };
  if (!isLive && state === alert.liveState && metSince === before) return;
  if (state === alert.liveState) world.of(alerts).put(next);
  else world.change(alerts, next, 'alert.stateChanged', { from: alert.liveState, to: state });
}

function stateOf(world: World, alert: Alert, value: number | null | 'error', metSince: number | undefined): AlertState {
  if (value === null) return 'NoData';
  if (value === 'error') return 'Error';
  if (metSince === undefined) return 'Normal';
  return world.now - metSince >= durationMinutes[alert.duration] * 60_000 ? 'Firing' : 'Pending';
}
