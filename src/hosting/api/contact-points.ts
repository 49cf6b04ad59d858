import { z } from 'zod';
import { isRecord, type Json, type JsonObject, Secret } from '../../base/json.ts';
import type { Read } from '../../engine/ports.ts';
import { compared, endpoint, get, listAt, objectAt, parsed, single, unwrapped } from './endpoint.ts';
import { dateMs, Id, id, lenient, lenientList, MaybeSecret, Text, word, words } from './endpoint.ts';

const Deployment = z
  .object({ region: word, dashboardContactPointUid: lenient(words) })
  .transform(({ region, dashboardContactPointUid }) => ({ region, uid: dashboardContactPointUid }));

const ContactPoint = z
  .object({
    contactPointId: id,
    name: compared,
    type: compared,
    accountId: lenient(z.string()),
    dashboardDeployments: lenientList(Deployment),
    createdAt: dateMs.optional(),
    updatedAt: dateMs.optional(),
  })
  .transform(({ dashboardDeployments, createdAt, updatedAt, ...rest }) => ({
    ...rest,
    deployments: dashboardDeployments,
    createdAtMs: createdAt,
    updatedAtMs: updatedAt,
  }));

/** A contact point without its secrets. */
export type ContactPointItem = Readonly<z.output<typeof ContactPoint>>;

/** A contact point with its config. The config is undefined when the service does not reveal it. */
export interface ContactPointWithSecrets extends ContactPointItem {
  readonly config: JsonObject | undefined;
}

/** The settings in a contact point's config that are not secret. Every other string of the config is kept as a `Secret`. */
const openSettings = {
  addresses: z.array(Text).readonly().exactOptional(),
  httpMethod: z.string().exactOptional(),
  channel: z.string().exactOptional(),
  mentionUsers: z.union([z.string(), z.array(z.string()).readonly()]).exactOptional(),
  severity: z.string().exactOptional(),
};

function wrapped(value: unknown, open: boolean): Json {
  if (typeof value === 'string') return open ? value : new Secret(value);
  if (Array.isArray(value)) return value.map((entry) => wrapped(entry, open));
  if (isRecord(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, wrapped(inner, open)]));
  }
  return typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

function configIn(body: unknown): JsonObject | undefined {
  const config = isRecord(body) ? body['config'] : undefined;
  if (!isRecord(config)) return undefined;
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name, wrapped(value, Object.hasOwn(openSettings, name))]),
  );
}

function contactPointWithSecretsIn(body: unknown): ContactPointWithSecrets | undefined {
  const shown = unwrapped(body, 'contactPoint');
  const point = parsed(ContactPoint, shown);
  return point && { ...point, config: configIn(shown) };
}

const Created = z.object({ contactPointId: id });

/** Reads the id of the new contact point from the answer to `POST /contact-point`. */
export function createdContactPointId(body: unknown): string | undefined {
  return parsed(Created, unwrapped(body, 'contactPoint'))?.contactPointId;
}

const Type = z.enum(['chat_webhook_a', 'chat_webhook_b', 'chat_webhook_c', 'incident_service', 'webhook', 'email']);

const Config = z
  .strictObject({
    ...openSettings,
    url: MaybeSecret.exactOptional(),
    username: MaybeSecret.exactOptional(),
    password: MaybeSecret.exactOptional(),
    webhookUrl: MaybeSecret.exactOptional(),
    integrationKey: MaybeSecret.exactOptional(),
  })
  .readonly();

const PostContactPoint = z.strictObject({ accountId: Id, name: Text, type: Type, config: Config });
const PatchContactPoint = z.strictObject({
  contactPointId: Id,
  name: Text.exactOptional(),
  config: Config.exactOptional(),
});

/** The six ways in which a contact point can deliver alerts. */
export type ContactPointType = z.infer<typeof Type>;
/** Creates a contact point. */
export const postContactPoint = endpoint('POST', '/contact-point', 'create', PostContactPoint);

/** Changes a contact point. The service keeps secrets that the request leaves out. */
export const patchContactPoint = endpoint('PATCH', '/contact-point', 'update', PatchContactPoint);

const idOf = ({ contactPointId }: ContactPointItem): string => contactPointId;
const contactPoint = objectAt('/contact-point', 'contactPoint', ContactPoint, idOf);

/** Deletes a contact point. The service refuses this while an alert uses the contact point. */
export const deleteContactPoint = contactPoint.remove;

/** Reads the contact points of an account, without their config. */
export const contactPointsOf = listAt('/contact-points', 'contactPoints', ContactPoint, idOf);

/** Reads one contact point, without its config. */
export const contactPointOf = contactPoint.read;

/**
 * Reads a contact point with its config again whenever the list of contact points shows a new `updatedAt` for the contact point.
 * Also reads the config every hour, because the service might not renew `updatedAt` at each change. The token needs the Secrets
 * Access permission.
 */
export function contactPointWithSecretsOf(
  contactPointId: string,
  updatedAtMs: number | undefined,
): Read<ContactPointWithSecrets> {
  return {
    key: `contactPointWithSecrets/${contactPointId}/${updatedAtMs ?? ''}`,
    first: get('/contact-point', { contactPointId, showSecrets: 'true' }),
    items: single(contactPointWithSecretsIn),
    idOf,
    absentOn404: true,
    pace: 'hourly',
  };
}
