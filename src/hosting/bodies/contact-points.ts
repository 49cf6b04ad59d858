import type { Json, JsonObject } from '../../base/json.ts';
import { z } from 'zod';
import { Secret } from '../../base/secret.ts';
import { word, words } from './said.ts';
import { dateMs, id, isObject, listed, parsed, shown, shownList, text, unwrapped } from './shape.ts';

/** A contact point as the service shows it to everybody. */
export interface ContactPointItem {
  readonly contactPointId: string;
  readonly name: string;
  readonly type: string;
  readonly accountId: string | undefined;
  readonly deployments: readonly { readonly region: string; readonly uid: string | undefined }[];
  readonly createdAtMs: number | undefined;
  readonly updatedAtMs: number | undefined;
}

/** A contact point with its config; undefined where the service does not reveal it. */
export interface ContactPointWithSecrets extends ContactPointItem {
  readonly config: JsonObject | undefined;
}

const Deployment = z
  .object({ region: word, dashboardContactPointUid: shown(words) })
  .transform(({ region, dashboardContactPointUid }) => ({ region, uid: dashboardContactPointUid }));

const fields = z.object({
  contactPointId: id,
  name: text,
  type: word,
  accountId: shown(text),
  dashboardDeployments: shownList(Deployment),
  createdAt: dateMs.optional(),
  updatedAt: dateMs.optional(),
});

const ContactPoint: z.ZodType<ContactPointItem> = fields.transform(
  ({ dashboardDeployments, createdAt, updatedAt, ...rest }) => ({
    ...rest,
    deployments: dashboardDeployments,
    createdAtMs: createdAt,
    updatedAtMs: updatedAt,
  }),
);

/** The settings that are nobody's secret; every other text of a config is wrapped. */
const openSettings: ReadonlySet<string> = new Set(['channel', 'mentionUsers', 'severity', 'httpMethod', 'addresses']);

function wrapped(value: unknown, open: boolean): Json {
  if (typeof value === 'string') return open ? value : new Secret(value);
  if (Array.isArray(value)) return value.map((entry) => wrapped(entry, open));
  if (isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, wrapped(inner, open)]));
  }
  return typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

function configIn(body: unknown): JsonObject | undefined {
  const config = isObject(body) ? body['config'] : undefined;
  if (!isObject(config)) return undefined;
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name, wrapped(value, openSettings.has(name))]),
  );
}

/** The contact points of `GET /contact-points`. */
export function contactPointsIn(body: unknown): readonly ContactPointItem[] | undefined {
  return listed(ContactPoint, body, 'contactPoints');
}

/** The contact point of `GET`, `POST` and `PATCH /contact-point`, where the answer holds it. */
export function contactPointIn(body: unknown): ContactPointItem | undefined {
  return parsed(ContactPoint, unwrapped(body, 'contactPoint'));
}

/** The contact point of `GET /contact-point` with showSecrets. */
export function contactPointWithSecretsIn(body: unknown): ContactPointWithSecrets | undefined {
  const point = contactPointIn(body);
  return point === undefined ? undefined : { ...point, config: configIn(unwrapped(body, 'contactPoint')) };
}

const Created = z.object({ contactPointId: id });

/** The id that `POST /contact-point` returned. */
export function createdContactPointId(body: unknown): string | undefined {
  return parsed(Created, unwrapped(body, 'contactPoint'))?.contactPointId;
}
