import { z } from 'zod';
import type { Read, Request } from '../../engine/ports.ts';
import { alertIn, alertsIn, refreshedStateOf, type AlertItem, type RefreshedState } from '../bodies/alerts.ts';
import { AnyText, Finite, get, Id, remove, single, Text, write, type BodySchemas } from './endpoint.ts';

const PostAppEnvAlert = z
  .strictObject({
    appEnvId: Id.exactOptional(),
    envName: Text.exactOptional(),
    name: Text,
    description: AnyText.exactOptional(),
    metric: Text,
    operator: Text,
    threshold: Finite,
    duration: Text,
    aggregation: Text.exactOptional(),
    queryRange: Text.exactOptional(),
    contactPointIds: z.array(Id).readonly().exactOptional(),
    contactPointNames: z.array(Text).readonly().exactOptional(),
  })
  .refine(({ appEnvId, envName }) => appEnvId !== undefined || envName !== undefined, 'needs appEnvId or envName')
  .refine(
    ({ contactPointIds, contactPointNames }) => (contactPointIds === undefined) !== (contactPointNames === undefined),
    'needs exactly one of contactPointIds and contactPointNames',
  );

const PatchAlert = z.strictObject({
  alertId: Id,
  name: Text.exactOptional(),
  description: AnyText.exactOptional(),
  metric: Text.exactOptional(),
  operator: Text.exactOptional(),
  threshold: Finite.exactOptional(),
  duration: Text.exactOptional(),
  aggregation: Text.exactOptional(),
  queryRange: Text.exactOptional(),
  contactPointIds: z.array(Id).readonly().exactOptional(),
  enabled: z.boolean().exactOptional(),
});

const PostAlertToggle = z.strictObject({ alertId: Id, enabled: z.boolean() });
const PostAlertRefresh = z.strictObject({ alertId: Id });

/** The body of `POST /app-env/alert`. */
export type AlertCreation = z.infer<typeof PostAppEnvAlert>;
/** The body of `PATCH /alert`. */
export type AlertChange = z.infer<typeof PatchAlert>;
/** The body of `POST /alert/toggle`. */
export type AlertToggle = z.infer<typeof PostAlertToggle>;

/** What may be sent about alerts. */
export const alertBodies: BodySchemas = {
  'POST /app-env/alert': PostAppEnvAlert,
  'PATCH /alert': PatchAlert,
  'POST /alert/toggle': PostAlertToggle,
  'POST /alert/refresh': PostAlertRefresh,
};

/** Creates an alert. */
export function postAppEnvAlert(body: AlertCreation): Request {
  return write('POST', '/app-env/alert', 'create', body);
}

/** Changes an alert. */
export function patchAlert(body: AlertChange): Request {
  return write('PATCH', '/alert', 'update', body);
}

/** Deletes an alert for good. */
export function deleteAlert(alertId: string): Request {
  return remove('/alert', { alertId });
}

/** Pauses or resumes the evaluation of an alert. */
export function postAlertToggle(body: AlertToggle): Request {
  return write('POST', '/alert/toggle', 'update', body);
}

/** Has the service fetch the live state of an alert: a read in all but its method, which may be repeated at any time. */
export function postAlertRefresh(alertId: string): Request {
  return write('POST', '/alert/refresh', 'read', { alertId });
}

const alertLists = 'alerts/';

/** The environment whose alerts the read of this name lists. */
export function environmentOfAlerts(key: string): string {
  return key.slice(alertLists.length);
}

/** The alerts of an environment. */
export function alertsOf(appEnvId: string): Read<AlertItem> {
  return {
    key: `${alertLists}${appEnvId}`,
    first: get('/app-env/alerts', { appEnvId }),
    items: alertsIn,
    idOf: (alert) => alert.alertId,
    absentOn404: false,
    pace: 'poll',
    moving: ['lastStateCheck'],
  };
}

/** One alert. */
export function alertOf(alertId: string): Read<AlertItem> {
  return {
    key: `alert/${alertId}`,
    first: get('/alert', { alertId }),
    items: single(alertIn),
    idOf: (alert) => alert.alertId,
    absentOn404: true,
    pace: 'onDemand',
    moving: ['lastStateCheck'],
  };
}

/** The live state of an alert, asked for in turns with all others; `everyMs` is how often at most. */
export function alertStateOf(alertId: string, everyMs: number): Read<RefreshedState> {
  return {
    key: `alertState/${alertId}`,
    first: postAlertRefresh(alertId),
    items: single(refreshedStateOf),
    idOf: () => alertId,
    absentOn404: true,
    pace: 'rounds',
    roundMs: everyMs,
    busy: (items) => ['Firing', 'Pending'].includes(items.get(alertId)?.state ?? ''),
    moving: ['lastStateCheck'],
  };
}
