import type { MetricRegistry } from '../../telemetry/metrics.ts';
import type { Operator } from './operator.ts';

/** Updates the gauges of the operator; called at each scrape of the metrics. */
export function measure(operator: Operator, metrics: MetricRegistry): void {
  metrics.resetGauges();
  for (const [resource, ageMs] of operator.ages()) {
    metrics.gauge('apphosting_watch_silence_seconds', { resource }, ageMs === undefined ? undefined : ageMs / 1_000);
  }
  metrics.gauge('apphosting_queue_depth', {}, operator.engine.depth);
  const metricsSnapshot = operator.engine.metricsSnapshot();
  for (const { kind, ready, reason, count } of metricsSnapshot.objects)
    metrics.gauge('apphosting_objects', { kind, ready, reason }, count);
  for (const { kind, type, status, reason, count } of metricsSnapshot.conditions)
    metrics.gauge('apphosting_conditions', { kind, type, status, reason }, count);
  for (const [kind, seconds] of metricsSnapshot.newestFailureSeconds)
    metrics.gauge('apphosting_newest_failure_seconds', { kind }, seconds);
  for (const [kind, count] of metricsSnapshot.drifted) metrics.gauge('apphosting_drifted_objects', { kind }, count);
  for (const { account, resources, orphans } of metricsSnapshot.accounts) {
    metrics.gauge('apphosting_account_resources', { account }, resources);
    metrics.gauge('apphosting_account_orphans', { account }, orphans);
  }
  for (const { kind, operation, count } of metricsSnapshot.doubts)
    metrics.gauge('apphosting_in_doubt_calls', { kind, operation }, count);
  metrics.gauge('apphosting_in_doubt_oldest_seconds', {}, metricsSnapshot.oldestDoubtSeconds);
}
