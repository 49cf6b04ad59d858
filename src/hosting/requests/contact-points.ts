import { z } from 'zod';
import type { Read, Request } from '../../engine/ports.ts';
import { contactPointIn, contactPointsIn, contactPointWithSecretsIn } from '../bodies/contact-points.ts';
import type { ContactPointItem, ContactPointWithSecrets } from '../bodies/contact-points.ts';
import { get, Id, MaybeSecret, remove, single, Text, write, type BodySchemas } from './endpoint.ts';

const Type = z.enum(['chat_webhook_a', 'chat_webhook_b', 'chat_webhook_c', 'incident_service', 'webhook', 'email']);

const Config = z
  .strictObject({
    webhookUrl: MaybeSecret.exactOptional(),
    channel: z.string().exactOptional(),
    mentionUsers: z.union([z.string(), z.array(z.string()).readonly()]).exactOptional(),
    integrationKey: MaybeSecret.exactOptional(),
    severity: z.string().exactOptional(),
    url: MaybeSecret.exactOptional(),
    httpMethod: z.string().exactOptional(),
    username: MaybeSecret.exactOptional(),
    password: MaybeSecret.exactOptional(),
    addresses: z.array(Text).readonly().exactOptional(),
  })
  .readonly();

const PostContactPoint = z.strictObject({ accountId: Id, name: Text, type: Type, config: Config });
const PatchContactPoint = z.strictObject({
  contactPointId: Id,
  name: Text.exactOptional(),
  config: Config.exactOptional(),
});

/** The six ways of delivery. */
export type ContactPointType = z.infer<typeof Type>;
/** The settings of all six; which belong to which stands in the interface. */
export type ContactPointConfig = z.infer<typeof Config>;
/** The body of `POST /contact-point`. */
export type ContactPointCreation = z.infer<typeof PostContactPoint>;
/** The body of `PATCH /contact-point`. */
export type ContactPointChange = z.infer<typeof PatchContactPoint>;

/** What may be sent about contact points. */
export const contactPointBodies: BodySchemas = {
  'POST /contact-point': PostContactPoint,
  'PATCH /contact-point': PatchContactPoint,
};

/** Creates a contact point. */
export function postContactPoint(body: ContactPointCreation): Request {
  return write('POST', '/contact-point', 'create', body);
}

/** Changes a contact point; secrets left out are kept. */
export function patchContactPoint(body: ContactPointChange): Request {
  return write('PATCH', '/contact-point', 'update', body);
}

/** Deletes a contact point that no alert uses. */
export function deleteContactPoint(contactPointId: string): Request {
  return remove('/contact-point', { contactPointId });
}

/** The contact points of an account, without their config. */
export function contactPointsOf(accountId: string): Read<ContactPointItem> {
  return {
    key: 'contactPoints',
    first: get('/contact-points', { accountId }),
    items: contactPointsIn,
    idOf: (point) => point.contactPointId,
    absentOn404: false,
    pace: 'poll',
  };
}

/** One contact point, without its config. */
export function contactPointOf(contactPointId: string): Read<ContactPointItem> {
  return {
    key: `contactPoint/${contactPointId}`,
    first: get('/contact-point', { contactPointId }),
    items: single(contactPointIn),
    idOf: (point) => point.contactPointId,
    absentOn404: true,
    pace: 'onDemand',
  };
}

/**
 * One contact point with its config, read once for each `updatedAt` that the list shows, and again every hour since that may
 * not move; needs the Secrets Access permission.
 */
export function contactPointWithSecretsOf(
  contactPointId: string,
  updatedAtMs: number | undefined,
): Read<ContactPointWithSecrets> {
  return {
    key: `contactPointWithSecrets/${contactPointId}/${updatedAtMs ?? ''}`,
    first: get('/contact-point', { contactPointId, showSecrets: 'true' }),
    items: single(contactPointWithSecretsIn),
    idOf: (point) => point.contactPointId,
    absentOn404: true,
    pace: 'hourly',
  };
}
