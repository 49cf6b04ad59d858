import { appNamed, kindOf } from '../apps/app.ts';
import { type AreaAnswer, type AreaCall, ok } from '../area.ts';
import { contactPointNamed, contactPoints, usedIn } from '../contact-points/contact-point.ts';
import { adminOf } from '../accounts/access.ts';
import { type Environment, environmentForAdmin, environmentNamed } from '../environments/environment.ts';
import { environmentMeant } from '../environments/lifecycle.ts';
import { choice, type BodyFields, flag, list, number, optional, present } from '../http/fields.ts';
import { readFields, required, sent, text } from '../http/fields.ts';
import { invalid, notFound } from '../http/refusal.ts';
import { patched, rejected } from '../public/shape.ts';
import type { World } from '../store/store.ts';
import { type Alert, alertNamed, alerts, durations, queryRanges, ruleOf } from './alert.ts';
import { shownAlert, shownContactPoints } from './alert.ts';
import { keepEvaluating, toggled, withNewCondition } from './evaluation.ts';
import { type MetricName, metricNames } from './metrics.ts';

const alertName = text({ min: 1, max: 100 });
const description = text({ min: 0, max: 500 });
const operator = choice(['gt', 'lt']);
const duration = choice(durations);
const aggregation = choice(['mean', 'max', 'min', 'last']);
const queryRange = choice(queryRanges);

/** The fields of POST /app-env/alert. */
export const creationFields = (
  'appEnvId envName name description metric operator threshold duration aggregation queryRange contactPointIds ' +
  'contactPointNames'
).split(' ');

/** POST /app-env/alert. */
export function postAlert(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const environment = environmentMeant(call);
  adminOf(call, environment.accountId);
  const contactPointIds = deliveredTo(world, environment.accountId, body);
  const name = required(body, 'name', alertName);
  const alert: Alert = present({
    alertId: world.id('alert'),
    appEnvId: environment.appEnvId,
    accountId: environment.accountId,
    region: environment.region,
    name,
    description: optional(body, 'description', description),
    metric: metricFor(world, environment, required(body, 'metric', choice(metricNames))),
    operator: required(body, 'operator', operator),
    threshold: required(body, 'threshold', number()),
    duration: required(body, 'duration', duration),
    aggregation: optional(body, 'aggregation', aggregation) ?? 'mean',
    queryRange: optional(body, 'queryRange', queryRange) ?? '10m',
    contactPointIds,
    enabled: true,
    lastKnownState: 'Normal',
    liveState: 'Normal',
    createdAt: world.now,
  } as const);
  requireFreeName(world, environment.appEnvId, name);
  world.of(alerts).put(alert);
  const { alertId: id, accountId, appEnvId } = alert;
  world.record({ kind: 'alert.created', id, accountId, detail: { name, appEnvId, metric: alert.metric } });
  for (const contactPointId of contactPointIds) usedIn(world, contactPointId, alert.region);
  keepEvaluating(world);
  return ok({ message: 'Alert created', alert: createdAlert(world, alert) });
}

/** PATCH /alert. */
export function patchAlert(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const alert = alertNamed(world, required(body, 'alertId', text()));
  const environment = environmentForAdmin(call, alert.appEnvId);
  const isSent = sent(body, 'contactPointIds');
  const contactPointIds = isSent ? pointsById(world, alert.accountId, body) : alert.contactPointIds;
  const name = optional(body, 'name', alertName) ?? alert.name;
  const metric = optional(body, 'metric', choice(metricNames));
  const enabled = optional(body, 'enabled', flag) ?? alert.enabled;
  const changed: Alert = present({
    ...toggled(alert, enabled),
    name,
    ...readFields(body, { description }),
    metric: metric === undefined ? alert.metric : metricFor(world, environment, metric),
    ...readFields(body, { operator, threshold: number(), duration, aggregation, queryRange }),
    contactPointIds,
  });
  const next = withNewCondition(alert, changed);
  if (name !== alert.name) requireFreeName(world, alert.appEnvId, name);
  const fields = patchable.filter((field) => sent(body, field));
  if (fields.length > 0) {
    world.of(alerts).put(next);
    world.record({ kind: 'alert.updated', id: alert.alertId, accountId: alert.accountId, detail: { fields } });
    for (const contactPointId of contactPointIds) usedIn(world, contactPointId, alert.region);
  }
  return patched(world, { message: 'Alert updated', alert: shownAlert(world, next) });
}

/** The fields of an alert that PATCH /alert changes. */
export const patchable =
  'name description metric operator threshold duration aggregation queryRange contactPointIds enabled'.split(' ');

function createdAlert(world: World, alert: Alert): object {
  const { alertId, name, enabled, lastKnownState } = alert;
  return { alertId, name, ...ruleOf(alert), enabled, lastKnownState, contactPoints: shownContactPoints(world, alert) };
}

/** Databases are not reached through ingress. */
function metricFor(world: World, environment: Environment, metric: MetricName): MetricName {
  const app = appNamed(world, environmentNamed(world, environment.appEnvId).appId);
  if (metric.startsWith('ingress_') && kindOf(app) === 'database') {
    throw invalid('ingress metrics are unavailable for database environments');
  }
  return metric;
}

/** Exactly one of contactPointIds and contactPointNames says where an alert is delivered. */
function deliveredTo(world: World, accountId: string, body: BodyFields): readonly string[] {
  if (sent(body, 'contactPointIds') === sent(body, 'contactPointNames')) {
    throw invalid('exactly one of contactPointIds and contactPointNames is required');
  }
  return sent(body, 'contactPointIds') ? pointsById(world, accountId, body) : pointsByName(world, accountId, body);
}

const names = list(text(), { min: 1 });

function pointsById(world: World, accountId: string, body: BodyFields): readonly string[] {
  const ids = [...new Set(required(body, 'contactPointIds', names))];
  for (const id of ids) {
    if (contactPointNamed(world, id).accountId !== accountId) throw notFound('contact point not found');
  }
  return ids;
}

function pointsByName(world: World, accountId: string, body: BodyFields): readonly string[] {
  const ids = required(body, 'contactPointNames', names).map((name) => {
    const [point, other] = world.of(contactPoints).where('name', `${accountId}/${name}`);
    if (point === undefined) throw notFound(`no contact point is called ${JSON.stringify(name)}`);
    if (other !== undefined) throw rejected(world, `more than one contact point is called ${JSON.stringify(name)}`);
    return point.contactPointId;
  });
  return [...new Set(ids)];
}

function requireFreeName(world: World, appEnvId: string, name: string): void {
  if (world.readings['names.alerts'] === 'repeatable') return;
  const others = world.of(alerts).where('environment', appEnvId);
  if (others.some((alert) => alert.name === name)) {
    throw rejected(world, 'an alert of this environment has this name already');
  }
}
