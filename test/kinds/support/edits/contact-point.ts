import { ContactPointSpec as schema, ways } from '../../../../src/kinds/contact-point/schema.ts';
import type { InProcess } from '../../../support/in-process.ts';
import { accountEdits, lifecycleEdits, quiet, refused, sent, type Edit, type Edits, type Spec } from './table.ts';

const email = { email: { addresses: ['a@example.com'] } };
const key = (name: string) => ({ valueFrom: { secretKeyRef: { name: 'values', key: name } } });
const config = (changed: object) => sent('PATCH /contact-point', { contactPointId: '{id}', config: changed });

const bare: Readonly<Record<(typeof ways)[number], Spec>> = {
  email: { addresses: ['a@example.com'] },
  webhook: { url: key('hookA') },
  chatA: { webhookUrl: key('hookA') },
  chatB: { webhookUrl: key('hookA') },
  chatC: { webhookUrl: key('hookA') },
  incident: { integrationKey: key('a') },
};

/** One way cannot take the place of another, and one must be there. */
const wayRows: readonly Edit[] = ways.map((way) => ({
  field: way,
  before: { [way]: bare[way] },
  changed: {
    to: way === 'email' ? { webhook: bare.webhook } : email,
    comes: refused('the type of a contact point cannot be changed'),
  },
  removed: { comes: refused('set exactly one of email') },
}));

interface Setting {
  readonly way: (typeof ways)[number];
  readonly name: string;
  /** What of the setting the values differ in. */
  readonly within?: string;
  readonly values: readonly [before: unknown, after: unknown];
  readonly sends: object;
}

/** A setting that a contact point of this way cannot do without. */
function needed({ way, name, within = '', values: [one, two], sends }: Setting): Edit {
  return {
    field: `${way}.${name}${within}`,
    before: { [way]: { ...bare[way], [name]: one } },
    changed: { to: { [way]: { ...bare[way], [name]: two } }, comes: config(sends) },
  };
}

/** A setting that may be left out; the interface does not show how it is cleared. */
function further(setting: Setting): readonly Edit[] {
  const { way, name, values } = setting;
  const [leftover = ''] = Object.keys(setting.sends);
  const whole = { field: `${way}.${name}`, before: { [way]: { ...bare[way], [name]: values[0] } } };
  return [needed(setting), { ...whole, removed: { comes: quiet(), leftover: [`config.${leftover}`] } }];
}

const within = '.valueFrom.secretKeyRef';
const fromConfigMap = (name: string) => ({ valueFrom: { configMapKeyRef: { name: 'files', key: name } } });
const urls = [key('hookA'), key('hookB')] as const;
const webhookUrl = 'https://chat.example.com/b';

const settingRows: readonly Edit[] = [
  needed({
    way: 'email',
    name: 'addresses',
    values: [['a@example.com'], ['b@example.com']],
    sends: { addresses: ['b@example.com'] },
  }),
  needed({ way: 'webhook', name: 'url', within, values: urls, sends: { url: webhookUrl } }),
  needed({
    way: 'webhook',
    name: 'url',
    within: '.valueFrom.configMapKeyRef',
    values: [fromConfigMap('hookA'), fromConfigMap('hookB')],
    sends: { url: webhookUrl },
  }),
  needed({
    way: 'webhook',
    name: 'url',
    within: '.value',
    values: [{ value: 'https://chat.example.com/a' }, { value: webhookUrl }],
    sends: { url: webhookUrl },
  }),
  // Another origin of the same value is no change.
  ...['.value', '.valueFrom', '.valueFrom.secretKeyRef', '.valueFrom.configMapKeyRef'].map((at) => ({
    field: `webhook.url${at}`,
    before: {
      webhook: {
        url:
          at === '.value'
            ? { value: webhookUrl }
            : at.endsWith('configMapKeyRef')
              ? fromConfigMap('hookB')
              : key('hookB'),
      },
    },
    removed: {
      to: { webhook: { url: at === '.value' ? key('hookB') : { value: webhookUrl } } },
      comes: quiet(),
    },
  })),
  ...further({ way: 'webhook', name: 'httpMethod', values: ['POST', 'PUT'], sends: { httpMethod: 'PUT' } }),
  ...further({ way: 'webhook', name: 'username', values: ['one', 'two'], sends: { username: 'two' } }),
  ...further({
    way: 'webhook',
    name: 'password',
    within,
    values: [key('a'), key('b')],
    sends: { password: 'secret b' },
  }),
  needed({ way: 'chatA', name: 'webhookUrl', within, values: urls, sends: { webhookUrl } }),
  ...further({ way: 'chatA', name: 'channel', values: ['#a', '#b'], sends: { channel: '#b' } }),
  ...further({ way: 'chatA', name: 'mentionUsers', values: ['@a', '@b'], sends: { mentionUsers: '@b' } }),
  needed({ way: 'chatB', name: 'webhookUrl', within, values: urls, sends: { webhookUrl } }),
  needed({ way: 'chatC', name: 'webhookUrl', within, values: urls, sends: { webhookUrl } }),
  needed({
    way: 'incident',
    name: 'integrationKey',
    within,
    values: [key('a'), key('b')],
    sends: { integrationKey: 'secret b' },
  }),
  ...further({ way: 'incident', name: 'severity', values: ['critical', 'warning'], sends: { severity: 'warning' } }),
];

/** Every field of a ContactPoint. */
export const contactPointEdits: Edits = {
  kind: 'ContactPoint',
  schema,
  prepare: async (world: InProcess, name) => {
    const body = { accountId: 'acc_demo', name: `hand-${name}`, type: 'email', config: email.email };
    const make = async () =>
      (await world.request('POST', '/contact-point', body)).body as { contactPoint: { contactPointId: string } };
    return { one: (await make()).contactPoint.contactPointId, two: (await make()).contactPoint.contactPointId };
  },
  rows: [
    ...accountEdits(email),
    ...lifecycleEdits(email, {
      managementPolicy: ['Manage', 'Observe'],
      adoption: ['ById', 'Never'],
      drift: ['Correct', 'Report'],
      onDelete: ['Delete', 'Retain'],
      onMissing: ['Recreate', 'Stall'],
    }),
    ...wayRows,
    ...settingRows,
    {
      field: 'name',
      before: { ...email, name: 'one {row}' },
      changed: {
        to: { ...email, name: 'two {row}' },
        comes: sent('PATCH /contact-point', { contactPointId: '{id}', name: 'two {row}' }),
      },
      removed: { comes: sent('PATCH /contact-point', { contactPointId: '{id}', name: '{row}' }) },
    },
    {
      field: 'verifyConfig',
      before: { ...email, verifyConfig: false },
      changed: { to: { ...email, verifyConfig: true }, comes: quiet() },
      removed: { comes: quiet() },
    },
    {
      field: 'externalId',
      before: { ...email, name: 'hand-{row}', externalId: '{one}' },
      changed: {
        to: { ...email, name: 'hand-{row}', externalId: '{two}' },
        comes: quiet(),
      },
      removed: { comes: quiet() },
    },
  ],
};
