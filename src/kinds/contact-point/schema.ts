import type { z } from 'zod';
import { externalId, specInAccount } from '../../engine/kind/schema/parts.ts';
import {
  exactlyOne,
  facts,
  fields,
  flag,
  givenText,
  listOf,
  ownName,
  secretText,
  setOf,
  shown,
  text,
  withRule,
  withTransition,
} from '../../engine/kind/schema/schema.ts';
import { objectLifecycle } from '../shared/schema.ts';

/** The delivery types. The spec of a contact point has exactly one of these fields. */
export const ways = ['email', 'webhook', 'chatA', 'chatB', 'chatC', 'incident'] as const;

/** Builds the schema of a text that keeps its value in the service after it has left the spec. */
function keptText(description: string, bounds: Parameters<typeof text>[1]) {
  return text(`${description} If it leaves the spec, it keeps its value in the service.`, bounds).optional();
}

const Fields = specInAccount(
  'The destination of alerts. Set exactly one of email, webhook, chatA, chatB, chatC and incident.',
  {
    name: ownName('The name of the contact point in the service.', { max: 50 }).optional(),
    email: fields('Sends e-mail (API type: email).', {
      addresses: setOf(
        'The addresses that receive the e-mail.',
        text('An e-mail address.', { min: 3, max: 254, pattern: '^[^@ ]+@[^@ ]+$' }),
        { max: 50, min: 1 },
      ),
    }).optional(),
    webhook: fields('Calls a custom webhook (API type: webhook).', {
      url: withRule(
        givenText('The URL of the webhook. If the URL contains a password or a token, store the URL in a Secret.'),
        {
          rule: "!has(self.value) || self.value.matches('^https?://[^ ]+$')",
          message: 'value must be a URL that begins with http:// or https://',
          fieldPath: '.value',
          check: ({ value }) => value === undefined || /^https?:\/\/[^ ]+$/u.test(value),
        },
      ),
      httpMethod: keptText('The HTTP method, such as POST or PUT.', { min: 1, max: 16, pattern: '^[A-Z]+$' }),
      username: keptText('The user name for basic authentication.', { max: 256 }),
      password: secretText('The password for basic authentication.').optional(),
    }).optional(),
    chatA: fields('Posts to the first team-chat service (API type: chat_webhook_a).', {
      webhookUrl: secretText('The URL of the incoming webhook of the chat service.'),
      channel: keptText('The channel to post to, unless the webhook is locked to one.', { max: 256 }),
      mentionUsers: keptText('The users to mention, in the format of the chat service.', { max: 1024 }),
    }).optional(),
    chatB: fields('Posts to the second team-chat service (API type: chat_webhook_b).', {
      webhookUrl: secretText('The https URL of a workflow webhook of the chat service.'),
    }).optional(),
    chatC: fields('Posts to the third team-chat service (API type: chat_webhook_c).', {
      webhookUrl: secretText('The https URL of an incoming webhook on the host of the chat service.'),
    }).optional(),
    incident: fields('Opens incidents in an incident-management service (API type: incident_service).', {
      integrationKey: secretText('The integration key.'),
      severity: keptText('The severity of the incidents, as the incident service calls it.', { max: 64 }),
    }).optional(),
    verifyConfig: flag(
      'True to read the settings and their secrets back from the service and compare them with the spec. The token needs the Secrets Access role. Default: false.',
    ).optional(),
    externalId: externalId('a contact point', 'contactPointId'),
    lifecycle: objectLifecycle('Recreate', 'Default: Delete if this resource created the contact point, else Retain.'),
  },
);

/** Returns the names of the settings of a delivery type such as `webhook`. The service's API uses the same names. */
export function settingsOf(way: (typeof ways)[number]): readonly string[] {
  return Object.keys(Fields.shape[way].unwrap().shape);
}

/** The spec of a ContactPoint: a destination to which the service delivers alerts. */
export const ContactPointSpec = withTransition(exactlyOne(Fields, ways), {
  rule: ways.map((way) => `has(self.${way}) == has(oldSelf.${way})`).join(' && '),
  message: 'the type of a contact point cannot be changed; create another ContactPoint',
  reason: 'FieldValueForbidden',
});
export type ContactPointSpec = z.output<typeof ContactPointSpec>;

/** The status fields of a ContactPoint. */
export const ContactPointFacts = facts({
  type: text('The type of the contact point in the service.', { max: 64 }).optional(),
  deployments: listOf(
    'The regions that the contact point is deployed to. A region may appear only after an alert in that region uses the contact point.',
    shown('A region.', {
      region: text('The region.', { max: 128 }),
      uid: text('The id of the contact point in this region (API field: dashboardContactPointUid).', {
        max: 256,
      }).optional(),
    }),
    { max: 100 },
  ).optional(),
});
export type ContactPointFacts = z.output<typeof ContactPointFacts>;
