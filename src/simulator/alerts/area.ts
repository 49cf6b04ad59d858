import { adminOf } from '../accounts/access.ts';
import { appNamed, kindOf } from '../apps/app.ts';
import { type Area, type AreaAnswer, type AreaCall, control, ok, route } from '../area.ts';
import { contactPointNamed, contactPoints, usedIn } from '../contact-points/contact-point.ts';
import { type Environment, environmentFor, environmentForAdmin } from '../environments/environment.ts';
import { environmentNamed } from '../environments/environment.ts';
import { environmentMeant } from '../environments/lifecycle.ts';
import { type BodyFields, choice, flag, list, number, onlyFields, optional, present } from '../http/fields.ts';
import { readFields, type Reads, required, sent, text } from '../http/fields.ts';
import { invalid, notFound } from '../http/refusal.ts';
import { date, listed, patched, rejected, single } from '../public/shape.ts';
import type { World } from '../store/store.ts';
import { type Alert, alertNamed, alerts, durations, type Metric, type MetricName, removeAlert } from './alert.ts';
import { metricNames, metrics, queryRanges, ruleOf, shownAlert, shownContactPoints } from './alert.ts';
import { engine, evaluateAll, evaluateOnTime, evaluationWorkIn, keepEvaluating, toggled } from './evaluation.ts';
import { withNewCondition } from './evaluation.ts';

const alertName = text({ min: 1, max: 100 });
const description = text({ min: 0, max: 500 });
const operator = choice(['gt', 'lt']);
const duration = choice(durations);
const aggregation = choice(['mean', 'max', 'min', 'last']);
const queryRange = choice(queryRanges);

/** The fields that POST /app-env/alert takes. */
const creationFields = (
  'appEnvId envName name description metric operator threshold duration aggregation queryRange contactPointIds ' +
  'contactPointNames'
).split(' ');

/** Creates an alert: POST /app-env/alert. */
function postAlert(call: AreaCall): AreaAnswer {
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

/** Changes an alert: PATCH /alert. */
function patchAlert(call: AreaCall): AreaAnswer {
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

/** The fields of an alert that PATCH /alert can change. */
const patchable =
  'name description metric operator threshold duration aggregation queryRange contactPointIds enabled'.split(' ');

function createdAlert(world: World, alert: Alert): object {
  const { alertId, name, enabled, lastKnownState } = alert;
  return { alertId, name, ...ruleOf(alert), enabled, lastKnownState, contactPoints: shownContactPoints(world, alert) };
}

/** Checks that an environment has a metric: databases have no ingress metrics, as no ingress leads to them. */
function metricFor(world: World, environment: Environment, metric: MetricName): MetricName {
  const app = appNamed(world, environmentNamed(world, environment.appEnvId).appId);
  if (metric.startsWith('ingress_') && kindOf(app) === 'database') {
    throw invalid('ingress metrics are unavailable for database environments');
  }
  return metric;
}

/** Reads the contact points of an alert: the request names them either by contactPointIds or by contactPointNames. */
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

const metricValue: Reads<Metric['value']> = (value, name) => {
  if (value === null || value === 'error') return value;
  if (typeof value !== 'number') throw invalid(`${name} must be a number, null or "error"`);
  return number()(value, name);
};

/** Serves alerts on metrics of environments. */
export const alertsArea: Area = {
  name: 'alerts',
  collections: [alerts, metrics, engine],
  routes: [
    route('GET /app-env/alerts', ['svc:read'], listAlerts, ['appEnvId']),
    route('GET /alert', ['svc:read'], getAlert, ['alertId']),
    route('POST /app-env/alert', ['svc:write:config'], postAlert, creationFields),
    route('PATCH /alert', ['svc:write:config'], patchAlert, ['alertId', ...patchable]),
    route('DELETE /alert', ['svc:write:config'], deleteAlert, ['alertId']),
    route('POST /alert/toggle', ['svc:write:config'], toggleAlert, ['alertId', 'enabled']),
    route('POST /alert/refresh', ['svc:read'], refreshAlert, ['alertId']),
  ],
  timers: { 'alerts.evaluates': evaluateOnTime },
  workIn: evaluationWorkIn,
  control: [
    control(
      'POST /metrics',
      'the value of a metric from now on: {appEnvId, metric, value, pods?}',
      ({ world, body }) => {
        onlyFields(body, '', ['appEnvId', 'metric', 'value', 'pods']);
        const { appEnvId } = environmentNamed(world, required(body, 'appEnvId', text()));
        const metric = required(body, 'metric', choice(metricNames));
        const value = required(body, 'value', metricValue);
        const pods = optional(body, 'pods', list(number(), { max: 1000 })) ?? [];
        world.of(metrics).put({ appEnvId, metric, value, pods });
        return ok({ appEnvId, metric });
      },
    ),
    control('POST /alerts/evaluate', 'evaluates every rule now', ({ world, body }) => {
      onlyFields(body, '', []);
      evaluateAll(world);
      return ok({});
    }),
  ],
};

function listAlerts(call: AreaCall): AreaAnswer {
  const environment = environmentFor(call, required(call.query, 'appEnvId', text()));
  const rows = listed(call, alerts, 'environment', environment.appEnvId);
  return ok({ alerts: rows.map((alert) => shownAlert(call.world, alert)) });
}

function getAlert(call: AreaCall): AreaAnswer {
  const alert = alertNamed(call.world, required(call.query, 'alertId', text()));
  environmentFor(call, alert.appEnvId);
  return ok(single(call.world, 'alert', shownAlert(call.world, alert)));
}

function deleteAlert(call: AreaCall): AreaAnswer {
  const { world } = call;
  const alert = alertNamed(world, required(call.query, 'alertId', text()));
  environmentForAdmin(call, alert.appEnvId);
  removeAlert(world, alert);
  return ok({ message: 'Alert deleted' });
}

function toggleAlert(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const alert = alertNamed(world, required(body, 'alertId', text()));
  environmentForAdmin(call, alert.appEnvId);
  const enabled = required(body, 'enabled', flag);
  const next = toggled(alert, enabled);
  world.of(alerts).put(next);
  world.record({ kind: 'alert.updated', id: alert.alertId, accountId: alert.accountId, detail: { enabled } });
  return ok({ message: enabled ? 'Alert enabled' : 'Alert paused', enabled });
}

function refreshAlert(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const alert = alertNamed(world, required(body, 'alertId', text()));
  environmentFor(call, alert.appEnvId);
  if (!alert.enabled && world.readings['alerts.refreshPaused'] === 'rejects')
    throw rejected(world, 'the alert is paused');
  const previousState = alert.lastKnownState;
  const state = alert.enabled ? alert.liveState : previousState;
  world.of(alerts).put({ ...alert, lastKnownState: state, lastStateCheck: world.now });
  const { alertId: id, accountId } = alert;
  world.record({ kind: 'alert.refreshed', id, accountId, detail: { state, previousState } });
  return ok({ state, previousState, lastStateCheck: date(world, world.now) });
}
