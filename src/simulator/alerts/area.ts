import { adminOf } from '../accounts/access.ts';
import { type AreaAnswer, type Area, type AreaCall, control, ok, route } from '../area.ts';
import { environmentFor, environmentForAdmin, environmentNamed } from '../environments/environment.ts';
import { choice, flag, list, number, onlyFields, optional, type Reads, required, text } from '../http/fields.ts';
import { invalid } from '../http/refusal.ts';
import { date, listed, rejected, single } from '../public/shape.ts';
import { alertNamed, alerts, shownAlert } from './alert.ts';
import { engine, evaluateAll, evaluateOnTime, evaluationWorkIn, toggled } from './evaluation.ts';
import { type Metric, metricKey, metricNames, metrics } from './metrics.ts';
import { creationFields, patchable, patchAlert, postAlert } from './write.ts';

const metricValue: Reads<Metric['value']> = (value, name) => {
  if (value === null || value === 'error') return value;
  if (typeof value !== 'number') throw invalid(`${name} must be a number, null or "error"`);
  return number()(value, name);
};

/** Alerts on metrics of environments. */
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
  forgetEnvironment: (world, appEnvId) => {
    for (const alert of world.of(alerts).where('environment', appEnvId)) {
      const { alertId, accountId, name } = alert;
      world.of(alerts).remove(alertId);
      world.record({ kind: 'alert.deleted', id: alertId, accountId, detail: { name, appEnvId } });
    }
    for (const metric of world.of(metrics).where('environment', appEnvId)) world.of(metrics).remove(metricKey(metric));
  },
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
  const { alertId, appEnvId, accountId, name } = alertNamed(world, required(call.query, 'alertId', text()));
  environmentForAdmin(call, appEnvId);
  world.of(alerts).remove(alertId);
  world.record({ kind: 'alert.deleted', id: alertId, accountId, detail: { name, appEnvId } });
  return ok({ message: 'Alert deleted' });
}

function toggleAlert(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const alert = alertNamed(world, required(body, 'alertId', text()));
  environmentFor(call, alert.appEnvId);
  adminOf(call, alert.accountId);
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
