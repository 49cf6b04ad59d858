import type { World } from '../store/store.ts';
import { type Alert, alerts, type AlertState, durationMinutes, metricKey, metrics, observed } from './alert.ts';

const evaluationMs = 15_000;

/** The name of the timer that evaluates all alerts. */
export const evaluates = 'alerts.evaluates';

/** Schedules the next evaluation of all alerts, unless it is scheduled already. */
export function keepEvaluating(world: World): void {
  if (world.isScheduled(evaluates, 'all')) return;
  const next = (Math.floor(world.now / evaluationMs) + 1) * evaluationMs;
  world.schedule(evaluates, 'all', next, {});
}

/** Estimates the work of evaluating all alerts every 15 seconds over a span of time. */
export function evaluationWorkIn(world: World, ms: number): number {
  const { size } = world.of(alerts);
  return size === 0 ? 0 : (ms / evaluationMs) * (1 + size / 20);
}

/** Evaluates all alerts when the timer fires, and schedules the next evaluation; stops when no alert is left. */
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

/** Returns an alert after a change. If its condition changed, the new condition must hold for its whole duration before the alert fires. */
export function withNewCondition(before: Alert, changed: Alert): Alert {
  const isSame = conditionFields.every((field) => before[field] === changed[field]);
  return isSame ? changed : { ...changed, metSince: undefined };
}

const conditionFields = ['metric', 'operator', 'threshold', 'aggregation'] as const;

/**
 * Enables or disables an alert. After it is enabled again, its condition must hold for the whole duration; but an alert that was firing
 * keeps firing.
 */
export function toggled(alert: Alert, enabled: boolean): Alert {
  const resumes = enabled && !alert.enabled;
  const metSince = resumes && alert.liveState !== 'Firing' ? undefined : alert.metSince;
  return { ...alert, metSince, enabled };
}

function evaluate(world: World, alert: Alert): void {
  const metric = world.of(metrics).get(metricKey(alert));
  const value = observed(metric, alert.aggregation);
  const isMet =
    typeof value === 'number' && (alert.operator === 'gt' ? value > alert.threshold : value < alert.threshold);
  const { metSince: before } = alert;
  const metSince = isMet ? (before ?? world.now) : undefined;
  const state = stateOf(world, alert, value, metSince);
  const isLive = world.readings['alerts.cache'] === 'live';
  const next: Alert = {
    ...alert,
    liveState: state,
    metSince,
    ...(isLive ? { lastKnownState: state, lastStateCheck: world.now } : {}),
  };
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
