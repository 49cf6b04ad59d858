import { z } from 'zod';
import { compared, time, word } from './said.ts';
import {
  dateMs,
  id,
  isObject,
  listed,
  number,
  optional,
  optionalList,
  parsed,
  shown,
  text,
  unwrapped,
} from './shape.ts';

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
      accountId: shown(text),
      name: compared,
      description: optional(compared),
      metric: compared,
      operator: compared,
      threshold: number,
      duration: compared,
      aggregation: optional(compared),
      queryRange: optional(compared),
      contactPointIds: optionalList(id),
      contactPoints: optionalList(z.object({ contactPointId: id })),
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

/** What `POST /app-env/alert` shows of the alert that it made. */
export interface CreatedAlert {
  readonly alertId: string;
  readonly enabled: boolean | undefined;
  readonly lastKnownState: string | undefined;
}

/** The alert that `POST /app-env/alert` made. */
export function createdAlert(body: unknown): CreatedAlert | undefined {
  return parsed(Created, unwrapped(body, 'alert'));
}

/** What `POST /alert/refresh` found. */
export interface RefreshedState {
  readonly state: string;
  readonly previousState: string | undefined;
  readonly lastStateCheck: string | undefined;
}

/** The state that `POST /alert/refresh` fetched. */
export function refreshedStateOf(body: unknown): RefreshedState | undefined {
  return parsed(Refreshed, body);
}

/** Whether the alert is evaluated, as `POST /alert/toggle` answered. */
export function toggledOf(body: unknown): boolean | undefined {
  return parsed(Toggled, body)?.enabled;
}

/** How many alerts use a contact point, where the refusal to delete it says so. */
export function usedByAlertsOf(body: unknown): number | undefined {
  const details = isObject(body) ? body['details'] : undefined;
  if (typeof details === 'number') return details;
  if (isObject(details)) return Object.values(details).find((value) => typeof value === 'number');
  const count = typeof details === 'string' ? /\d+/.exec(details)?.[0] : undefined;
  return count === undefined ? undefined : Number(count);
}
