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

/** The ways to deliver alerts; a contact point has exactly one. */
export const ways = ['email', 'webhook', 'chatA', 'chatB', 'chatC', 'incident'] as const;

const Fields = specInAccount(
  'Where alerts are delivered; exactly one of email, webhook, chatA, chatB, chatC, incident.',
  {
    name: ownName('The name in the service.', { max: 50 }).optional(),
    email: fields('Sends e-mail (interface: type email).', {
      addresses: setOf(
        'Who gets the mail.',
        text('An e-mail address.', { min: 3, max: 254, pattern: '^[^@ ]+@[^@ ]+$' }),
        { max: 50, min: 1 },
      ),
    }).optional(),
    webhook: fields('Calls a URL of yours (interface: type webhook).', {
      url: withRule(givenText('The URL. One that holds a secret comes from a Secret.'), {
        rule: "!has(self.value) || self.value.matches('^https?://[^ ]+$')",
        message: 'value must be a URL that begins with http:// or https://',
        fieldPath: '.value',
        check: ({ value }) => value === undefined || /^https?:\/\/[^ ]+$/u.test(value),
      }),
      httpMethod: text('The method of the call, such as POST or PUT.', {
        min: 1,
        max: 16,
        pattern: '^[A-Z]+$',
      }).optional(),
      username: text('The user name for basic authentication.', { max: 256 }).optional(),
      password: secretText('The password for basic authentication.').optional(),
    }).optional(),
    chatA: fields('Posts to the first team-chat service (interface: type chat_webhook_a).', {
      webhookUrl: secretText('The URL of its incoming webhook.'),
      channel: text('The channel; the webhook may be locked to the one it was made for.', { max: 256 }).optional(),
      mentionUsers: text('Who is mentioned, as that chat service expects it.', { max: 1024 }).optional(),
    }).optional(),
    chatB: fields('Posts to the second team-chat service (interface: type chat_webhook_b).', {
      webhookUrl: secretText('The https URL of a workflow webhook.'),
    }).optional(),
    chatC: fields('Posts to the third team-chat service (interface: type chat_webhook_c).', {
      webhookUrl: secretText("The https URL of an incoming webhook on that service's chat host."),
    }).optional(),
    incident: fields('Opens incidents in an incident-management service (interface: type incident_service).', {
      integrationKey: secretText('The integration key.'),
      severity: text('The severity of the incidents, as that service calls it.', { max: 64 }).optional(),
    }).optional(),
    verifyConfig: flag(
      'Reads the settings back with their secrets and compares them; the token needs the Secrets Access role. Default: false.',
    ).optional(),
    externalId: externalId('a contact point', 'contactPointId'),
    lifecycle: objectLifecycle(
      'Recreate',
      'Default: Delete when this resource created it, Retain when it was adopted.',
    ),
  },
);

/** Returns the names of the settings of a way to deliver. The names are the same in the interface. */
export function settingsOf(way: (typeof ways)[number]): readonly string[] {
  return Object.keys(Fields.shape[way].unwrap().shape);
}

/** A contact point: where the service delivers alerts. */
export const ContactPointSpec = withTransition(exactlyOne(Fields, ways), {
  rule: ways.map((way) => `has(self.${way}) == has(oldSelf.${way})`).join(' && '),
  message: 'the type of a contact point cannot be changed; create another ContactPoint',
  reason: 'FieldValueForbidden',
});
export type ContactPointSpec = z.output<typeof ContactPointSpec>;

/** The status fields of a contact point. */
export const ContactPointFacts = facts({
  type: text('Its type, in the words of the service.', { max: 64 }).optional(),
  deployments: listOf(
    'The regions that it is deployed to; a region may appear only once an alert there uses it.',
    shown('A region.', {
      region: text('The region.', { max: 128 }),
      uid: text('The id of the contact point in this region (interface: dashboardContactPointUid).', {
        max: 256,
      }).optional(),
    }),
    { max: 100 },
  ).optional(),
});
export type ContactPointFacts = z.output<typeof ContactPointFacts>;
