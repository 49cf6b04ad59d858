import { z } from 'zod';
import { isRecord } from '../../base/json.ts';
import type { Read, Request } from '../../engine/ports.ts';
import {
  AnyText,
  type BodySchemas,
  Id,
  Text,
  get,
  remove,
  single,
  write,
  dateMs,
  id,
  listed,
  optional,
  parsed,
  shown,
  unwrapped,
  compared,
  time,
  word,
  number,
} from './endpoint.ts';

/** An alert. */
export interface AlertItem {
  readonly alertId: string;
  readonly appEnvId: string | undefined;
  readonly accountId: string | undefined;
  readonly name: string;
  readonly description: string | undefined;
  readonly metric: string;
  readonly operator: string;
  readonly threshold: number;
  readonly duration: string;
  readonly aggregation: string | undefined;
  readonly queryRange: string | undefined;
  /** Undefined where the service shows neither ids nor contact points. */
  readonly contactPointIds: readonly string[] | undefined;
  readonly enabled: boolean | undefined;
  readonly lastKnownState: string | undefined;
  readonly lastStateCheck: string | undefined;
  readonly region: string | undefined;
  readonly createdAtMs: number | undefined;
}

const Alert: z.ZodType<AlertItem> = z.compile(
  z
    .object({
      alertId: id,
      appEnvId: optional(id),
      accountId: shown(z.string()),
      name: compared,
      description: optional(compared),
      metric: compared,
      operator: compared,
      threshold: number,
      duration: compared,
      aggregation: optional(compared),
      queryRange: optional(compared),
      contactPointIds: optional(z.array(id)),
      contactPoints: optional(z.array(z.object({ contactPointId: id }))),
      enabled: optional(z.boolean()),
      lastKnownState: shown(word),
      lastStateCheck: shown(time),
      region: shown(word),
      createdAt: dateMs.optional(),
    })
    .transform(({ contactPoints, createdAt, ...rest }) => ({
      ...rest,
      contactPointIds: rest.contactPointIds ?? contactPoints?.map(({ contactPointId }) => contactPointId),
      createdAtMs: createdAt,
    })),
);

/** The alerts of `GET /app-env/alerts`. */
export function alertsIn(body: unknown): readonly AlertItem[] | undefined {
  return listed(Alert, body, 'alerts');
}

/** The alert of `GET` and `PATCH /alert`, where the answer holds it. */
export function alertIn(body: unknown): AlertItem | undefined {
  return parsed(Alert, unwrapped(body, 'alert'));
}

const Created = z.object({ alertId: id, enabled: shown(z.boolean()), lastKnownState: shown(word) });
const Refreshed = z.compile(z.object({ state: word, previousState: shown(word), lastStateCheck: shown(time) }));
const Toggled = z.object({ enabled: z.boolean() });

/** The fields of a new alert in the answer to `POST /app-env/alert`. */
export interface CreatedAlert {
  readonly alertId: string;
  readonly enabled: boolean | undefined;
  readonly lastKnownState: string | undefined;
}

/** The alert that `POST /app-env/alert` made. */
export function createdAlert(body: unknown): CreatedAlert | undefined {
  return parsed(Created, unwrapped(body, 'alert'));
}

/** The state in the answer to `POST /alert/refresh`. */
export interface RefreshedState {
  readonly state: string;
  readonly previousState: string | undefined;
  readonly lastStateCheck: string | undefined;
}

/** The state that `POST /alert/refresh` fetched. */
export function refreshedStateOf(body: unknown): RefreshedState | undefined {
  return parsed(Refreshed, body);
}

/** Reads from the answer to `POST /alert/toggle` whether the alert is evaluated. */
export function toggledOf(body: unknown): boolean | undefined {
  return parsed(Toggled, body)?.enabled;
}

/** Reads from a refused deletion of a contact point how many alerts use it; undefined where it does not say. */
export function usedByAlertsOf(body: unknown): number | undefined {
  const details = isRecord(body) ? body['details'] : undefined;
  if (typeof details === 'number') return details;
  if (isRecord(details)) return Object.values(details).find((value) => typeof value === 'number');
  const count = typeof details === 'string' ? /\d+/.exec(details)?.[0] : undefined;
  return count === undefined ? undefined : Number(count);
}

const PostAppEnvAlert = z
  .strictObject({
    appEnvId: Id.exactOptional(),
    envName: Text.exactOptional(),
    name: Text,
    description: AnyText.exactOptional(),
    metric: Text,
    operator: Text,
    threshold: number,
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
  threshold: number.exactOptional(),
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

/** The bodies of the calls on alerts. */
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
    pace: 'rateLimited',
    rateLimitedMs: everyMs,
    busy: (items) => ['Firing', 'Pending'].includes(items.get(alertId)?.state ?? ''),
    moving: ['lastStateCheck'],
  };
}
