import { collection } from '../store/collection.ts';
import { contactPoints } from '../contact-points/contact-point.ts';
import { found } from '../http/refusal.ts';
import { date } from '../public/shape.ts';
import type { World } from '../store/store.ts';
import type { Aggregation, MetricName } from './metrics.ts';

/** The times a condition must hold before an alert fires. */
export const durations = ['1m', '5m', '10m', '15m', '30m', '1h'] as const;

/** The ranges that a query looks back. */
export const queryRanges = ['5m', '10m', '15m', '30m', '1h', '2h'] as const;

/** The states of an alert. */
export type AlertState = 'Normal' | 'Pending' | 'Firing' | 'NoData' | 'Error';

/** A rule on a metric of an environment. */
export interface Alert {
  readonly alertId: string;
  readonly appEnvId: string;
  readonly accountId: string;
  readonly region: string;
  readonly name: string;
  readonly description?: string;
  readonly metric: MetricName;
  readonly operator: 'gt' | 'lt';
  readonly threshold: number;
  readonly duration: (typeof durations)[number];
  readonly aggregation: Aggregation;
  readonly queryRange: (typeof queryRanges)[number];
  readonly contactPointIds: readonly string[];
  readonly enabled: boolean;
  /** The state that clients see. */
  readonly lastKnownState: AlertState;
  readonly lastStateCheck?: number;
  /** The state that the engine sees. */
  readonly liveState: AlertState;
  /** The moment since which the condition is met without a break. */
  readonly metSince?: number | undefined;
  readonly createdAt: number;
}

/** All alerts. */
export const alerts = collection<Alert>('alerts', (alert) => alert.alertId, {
  indexes: {
    environment: (alert) => alert.appEnvId,
    contactPoint: (alert) => alert.contactPointIds,
  },
  remembered: true,
});

/** An alert that exists: 404 otherwise. */
export function alertNamed(world: World, alertId: string): Alert {
  return found(world.of(alerts).get(alertId), 'alert not found');
}

/** The alerts that deliver to a contact point. */
export function alertsUsing(world: World, contactPointId: string): readonly Alert[] {
  return world.of(alerts).where('contactPoint', contactPointId);
}

/** The contact points of an alert as responses show them. */
export function shownContactPoints(world: World, alert: Alert): readonly object[] {
  return alert.contactPointIds.flatMap((contactPointId) => {
    const point = world.of(contactPoints).get(contactPointId);
    return point === undefined ? [] : [{ contactPointId, name: point.name, type: point.type }];
  });
}

/** The rule of an alert as responses show it. */
export function ruleOf({ metric, operator, threshold, duration, aggregation, queryRange }: Alert): object {
  return { metric, operator, threshold, duration, aggregation, queryRange };
}

/** An alert as responses show it. */
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
