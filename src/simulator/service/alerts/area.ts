import { adminOf } from '../accounts/access.ts';
import { appNamed, kindOf } from '../apps/app.ts';
import { type Area, type AreaAnswer, type AreaCall, control, nothing, ok, route } from '../area.ts';
import { contactPointNamed, contactPoints, usedIn } from '../contact-points/contact-point.ts';
import { type Environment, environmentFor, environmentForAdmin } from '../environments/environment.ts';
import { environmentNamed } from '../environments/environment.ts';
import { environmentMeant } from '../environments/lifecycle.ts';
import { type BodyFields, flag, list, must, optional, readFields, required, sent, text } from '../../http/fields.ts';
import { invalid, notFound } from '../../http/refusal.ts';
import { date, listed, patched, rejected, requireFree, single } from '../shape.ts';
import type { World } from '../../store/store.ts';
import { type Alert, alertNamed, alerts, evaluateAll, evaluateOnTime, evaluates, evaluationWorkIn } from './alert.ts';
import { keepEvaluating, metricFields, type MetricName, metrics, removeAlert, ruleFields, ruleOf } from './alert.ts';
import { shownAlert, shownContactPoints, toggled, withNewCondition } from './alert.ts';

const { name: alertName, metric, operator, threshold, duration } = ruleFields;

/** The fields of the rule in POST /app-env/alert; description, aggregation and queryRange are optional. */
const newRule = {
  ...ruleFields,
  name: must(alertName),
  metric: must(metric),
  operator: must(operator),
  threshold: must(threshold),
  duration: must(duration),
};

/** The fields that POST /app-env/alert takes. */
const creatable = ['appEnvId', 'envName', ...Object.keys(newRule), 'contactPointIds', 'contactPointNames'];

/** The fields that PATCH /alert may change. */
const patchable = [...Object.keys(ruleFields), 'contactPointIds', 'enabled'];

/** Handles POST /app-env/alert, which creates an alert. */
function postAlert(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const environment = environmentMeant(call);
  adminOf(call, environment.accountId);
  const { appEnvId, accountId, region } = environment;
  const contactPointIds = deliveredTo(world, accountId, body);
  const rule = readFields(body, newRule);
  requireMetric(world, environment, rule.metric);
  requireFreeName(world, appEnvId, rule.name);
  const alert: Alert = {
    alertId: world.id('alert'),
    appEnvId,
    accountId,
    region,
    aggregation: 'mean',
    queryRange: '10m',
    ...rule,
    contactPointIds,
    enabled: true,
    lastKnownState: 'Normal',
    liveState: 'Normal',
    createdAt: world.now,
  };
  world.change(alerts, alert, 'alert.created', { name: alert.name, appEnvId, metric: alert.metric });
  for (const contactPointId of contactPointIds) usedIn(world, contactPointId, region);
  keepEvaluating(world);
  return ok({ message: 'Alert created', alert: createdAlert(world, alert) });
}

/** Handles PATCH /alert, which changes an alert. */
function patchAlert(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const alert = alertNamed(world, required(body, 'alertId', text()));
  const environment = environmentForAdmin(call, alert.appEnvId);
  const isSent = sent(body, 'contactPointIds');
  const contactPointIds = isSent ? pointsById(world, alert.accountId, body) : alert.contactPointIds;
  const rule = readFields(body, ruleFields);
  const enabled = optional(body, 'enabled', flag) ?? alert.enabled;
  if (rule.metric !== undefined) requireMetric(world, environment, rule.metric);
  const next = withNewCondition(alert, { ...toggled(alert, enabled), ...rule, contactPointIds });
  if (next.name !== alert.name) requireFreeName(world, alert.appEnvId, next.name);
  const changed = patchable.filter((field) => sent(body, field));
  if (changed.length > 0) {
    world.change(alerts, next, 'alert.updated', { fields: changed });
    for (const contactPointId of contactPointIds) usedIn(world, contactPointId, alert.region);
  }
  return patched(world, 'Alert updated', { alert: shownAlert(world, next) });
}

function createdAlert(world: World, alert: Alert): object {
  const { alertId, name, enabled, lastKnownState } = alert;
  return { alertId, name, ...ruleOf(alert), enabled, lastKnownState, contactPoints: shownContactPoints(world, alert) };
}

/** Fails with 400 if the metric is an ingress metric and the environment is a database, because databases have no ingress. */
function requireMetric(world: World, { appId }: Environment, metric: MetricName): void {
  if (metric.startsWith('ingress_') && kindOf(appNamed(world, appId)) === 'database') {
    throw invalid('ingress metrics are unavailable for database environments');
  }
}

/** Reads the contact points of an alert from a request, which lists them either as contactPointIds or as contactPointNames. */
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
    if (point === undefined) throw notFound(`no contact point has the name ${JSON.stringify(name)}`);
    if (other !== undefined) throw rejected(world, `more than one contact point has the name ${JSON.stringify(name)}`);
    return point.contactPointId;
  });
  return [...new Set(ids)];
}

function requireFreeName(world: World, appEnvId: string, name: string): void {
  requireFree(world, 'alerts', world.of(alerts).where('name', `${appEnvId}/${name}`));
}

/** Serves alerts, which watch the metrics of environments. */
export const alertsArea: Area = {
  collections: [alerts, metrics],
  routes: [
    route('GET /app-env/alerts', ['svc:read'], listAlerts, ['appEnvId']),
    route('GET /alert', ['svc:read'], getAlert, ['alertId']),
    route('POST /app-env/alert', ['svc:write:config'], postAlert, creatable),
    route('PATCH /alert', ['svc:write:config'], patchAlert, ['alertId', ...patchable]),
    route('DELETE /alert', ['svc:write:config'], deleteAlert, ['alertId']),
    route('POST /alert/toggle', ['svc:write:config'], toggleAlert, ['alertId', 'enabled']),
    route('POST /alert/refresh', ['svc:read'], refreshAlert, ['alertId']),
  ],
  timers: { [evaluates]: evaluateOnTime },
  workIn: evaluationWorkIn,
  control: [
    control(
      'POST /metrics',
      'sets the value that a metric has from now on: {appEnvId, metric, value, pods?}',
      metricFields,
      ({ world, body: { appEnvId, metric, value, pods = [] } }) => {
        environmentNamed(world, appEnvId);
        world.of(metrics).put({ appEnvId, metric, value, pods });
        return ok({ appEnvId, metric });
      },
    ),
    control('POST /alerts/evaluate', 'evaluates every alert now', nothing, ({ world }) => {
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
  world.change(alerts, toggled(alert, enabled), 'alert.updated', { enabled });
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
  const next = { ...alert, lastKnownState: state, lastStateCheck: world.now };
  world.change(alerts, next, 'alert.refreshed', { state, previousState });
  return ok({ state, previousState, lastStateCheck: date(world, world.now) });
}
