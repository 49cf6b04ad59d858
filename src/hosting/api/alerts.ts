import { z } from 'zod';
import { isRecord } from '../../base/json.ts';
import type { Read } from '../../engine/ports.ts';
import { compared, dateMs, endpoint, get, id, lenient, listNamed, number, objectAt, optional } from './endpoint.ts';
import { parsed, single, time, unwrapped, word, AnyText, Id, Text } from './endpoint.ts';

const Alert = z.compile(
  z
    .object({
      alertId: id,
      appEnvId: optional(id),
      accountId: lenient(z.string()),
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
      lastKnownState: lenient(word),
      lastStateCheck: lenient(time),
      region: lenient(word),
      createdAt: dateMs.optional(),
    })
    .transform(({ contactPoints, createdAt, ...rest }) => ({
      ...rest,
      /**
       * The ids of the alert's contact points; undefined when the service's answer has neither `contactPointIds` nor
       * `contactPoints`.
       */
      contactPointIds: rest.contactPointIds ?? contactPoints?.map(({ contactPointId }) => contactPointId),
      createdAtMs: createdAt,
    })),
);

/** An alert, as the service returns it. */
export type AlertItem = Readonly<z.output<typeof Alert>>;

const Created = z.object({ alertId: id, enabled: lenient(z.boolean()), lastKnownState: lenient(word) });
const Refreshed = z.compile(z.object({ state: word, previousState: lenient(word), lastStateCheck: lenient(time) }));

/** Reads the new alert from the answer to `POST /app-env/alert`. */
export function createdAlert(body: unknown): Readonly<z.output<typeof Created>> | undefined {
  return parsed(Created, unwrapped(body, 'alert'));
}

/**
 * When the service refuses to delete a contact point, reads from its response how many alerts use the contact point.
 * Returns undefined if the response contains no number.
 */
export function usedByAlertsOf(body: unknown): number | undefined {
  const details = isRecord(body) ? body['details'] : undefined;
  if (typeof details === 'number') return details;
  if (isRecord(details)) return Object.values(details).find((value) => typeof value === 'number');
  const count = typeof details === 'string' ? /\d+/.exec(details)?.[0] : undefined;
  return count === undefined ? undefined : Number(count);
}

/** The fields that the requests to create and to change an alert have in common. */
const settings = {
  name: Text,
  description: AnyText.exactOptional(),
  metric: Text,
  operator: Text,
  threshold: number,
  duration: Text,
  aggregation: Text.exactOptional(),
  queryRange: Text.exactOptional(),
  contactPointIds: z.array(Id).readonly().exactOptional(),
};

const PostAppEnvAlert = z
  .strictObject({
    ...settings,
    appEnvId: Id.exactOptional(),
    envName: Text.exactOptional(),
    contactPointNames: z.array(Text).readonly().exactOptional(),
  })
  .refine(({ appEnvId, envName }) => appEnvId !== undefined || envName !== undefined, 'appEnvId or envName is needed')
  .refine(
    ({ contactPointIds, contactPointNames }) => (contactPointIds === undefined) !== (contactPointNames === undefined),
    'the request needs either contactPointIds or contactPointNames, not both',
  );

const PatchAlert = z
  .strictObject(settings)
  .exactPartial()
  .extend({ alertId: Id, enabled: z.boolean().exactOptional() });

/** Creates an alert. */
export const postAppEnvAlert = endpoint('POST', '/app-env/alert', 'create', PostAppEnvAlert);

/** Changes an alert. */
export const patchAlert = endpoint('PATCH', '/alert', 'update', PatchAlert);

/** Pauses or resumes the evaluation of an alert. */
export const postAlertToggle = endpoint(
  'POST',
  '/alert/toggle',
  'update',
  z.strictObject({ alertId: Id, enabled: z.boolean() }),
);

/**
 * Makes the service fetch the live state of an alert. The request changes nothing although it is a POST, so the request
 * may be repeated.
 */
export const postAlertRefresh = endpoint('POST', '/alert/refresh', 'read', z.strictObject({ alertId: Id }));

const alert = objectAt('/alert', 'alert', Alert, ({ alertId }) => alertId);

/** Deletes an alert for good. */
export const deleteAlert = alert.remove;

const alertLists = 'alerts/';

/**
 * Takes the environment's id out of the key under which the alerts of an environment are cached: returns `env_1` for
 * `alerts/env_1`.
 */
export function environmentOfAlerts(key: string): string {
  return key.slice(alertLists.length);
}

/** Reads the alerts of an environment. */
export function alertsOf(appEnvId: string): Read<AlertItem> {
  return {
    key: `${alertLists}${appEnvId}`,
    first: get('/app-env/alerts', { appEnvId }),
    items: listNamed(Alert, 'alerts'),
    idOf: (item) => item.alertId,
    pace: 'poll',
    moving: ['lastStateCheck'],
  };
}

/** Reads one alert. */
export function alertOf(alertId: string): Read<AlertItem> {
  return { ...alert.read(alertId), moving: ['lastStateCheck'] };
}

/**
 * Reads the live state of one alert about once in `everyMs`, or less often: the reads of the live states of all alerts
 * share one part of the request budget.
 */
export function alertStateOf(alertId: string, everyMs: number): Read<z.output<typeof Refreshed>> {
  return {
    key: `alertState/${alertId}`,
    first: postAlertRefresh({ alertId }),
    items: single((body) => parsed(Refreshed, body)),
    idOf: () => alertId,
    absentOn404: true,
    pace: 'rateLimited',
    rateLimitedMs: everyMs,
    busy: (items) => ['Firing', 'Pending'].includes(items.get(alertId)?.state ?? ''),
    moving: ['lastStateCheck'],
  };
}
