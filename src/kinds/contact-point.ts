import { defineKind } from '../engine/kind/define.ts';
import { definedOf } from '../engine/kind/create.ts';
import type { Pass } from '../engine/kind/pass.ts';
import type { Read } from '../engine/ports.ts';
import { textIn, type Fields, type ObjectPlan } from '../engine/kind/plan.ts';
import { planObject, showObject } from '../engine/kind/planner.ts';
import {
  contactPointOf,
  contactPointsOf,
  contactPointWithSecretsOf,
  createdContactPointId,
  deleteContactPoint,
  patchContactPoint,
  postContactPoint,
  usedByAlertsOf,
  type ContactPointItem,
  type ContactPointType,
  type ContactPointWithSecrets,
} from '../hosting/requests.ts';
import { identity, type Facts, type Spec } from './schema/contact-point.ts';

type ContactPointPass = Pass<Spec, Facts>;

/** The service's word for each way of delivery. */
const types = {
  email: 'email',
  webhook: 'webhook',
  chatA: 'chat_webhook_a',
  chatB: 'chat_webhook_b',
  chatC: 'chat_webhook_c',
  incident: 'incident_service',
} as const satisfies Record<string, ContactPointType>;

function typeOf(spec: Spec): ContactPointType {
  for (const [way, type] of Object.entries(types)) if (way in spec) return type;
  return 'email';
}

/** The settings as the service names them, secrets looked up. */
function configOf({ spec, secret }: ContactPointPass): Fields {
  const from = (ref: { name: string; key: string } | undefined) =>
    ref === undefined ? undefined : secret(ref.name, ref.key);
  const chat = spec.chatA ?? spec.chatB ?? spec.chatC;
  return {
    addresses: spec.email?.addresses,
    url: from(spec.webhook?.urlFrom),
    httpMethod: spec.webhook?.httpMethod,
    username: spec.webhook?.username,
    password: from(spec.webhook?.passwordFrom),
    webhookUrl: from(chat?.webhookUrlFrom),
    channel: spec.chatA?.channel,
    mentionUsers: spec.chatA?.mentionUsers,
    integrationKey: from(spec.incident?.integrationKeyFrom),
    severity: spec.incident?.severity,
  };
}

const prefix = 'config.';

function configFields(config: Fields): Fields {
  return Object.fromEntries(Object.entries(config).map(([name, value]) => [`${prefix}${name}`, value]));
}

/** The config among fields, as a body takes it; undefined when none of it is there. */
function configAmong(fields: Fields): ReturnType<typeof definedOf> | undefined {
  const rows = Object.entries(definedOf(fields)).filter(([field]) => field.startsWith(prefix));
  if (rows.length === 0) return undefined;
  return Object.fromEntries(rows.map(([field, value]) => [field.slice(prefix.length), value]));
}

const plan: ObjectPlan<Spec, Facts, ContactPointItem> = {
  noun: 'contact point',
  list: ({ account }) => contactPointsOf(account.accountId),
  single: contactPointOf,
  name: ({ spec, subject }) => spec.name ?? subject.name,
  nameOf: (item) => item.name,
  createdAtOf: (item) => item.createdAtMs,
  lifecycle: ({ lifecycle }) => ({
    mode: lifecycle?.mode ?? 'Manage',
    adoption: lifecycle?.adoption,
    onDelete: lifecycle?.onDelete,
    onMissing: lifecycle?.onMissing ?? 'Recreate',
    drift: lifecycle?.drift ?? 'Correct',
  }),
  externalId: (spec) => spec.externalId,

  alsoReads: (pass, id) => (pass.spec.verifyConfig === true ? [readConfig(pass, id)] : []),
  desired: (pass) => ({
    name: plan.name(pass),
    type: typeOf(pass.spec),
    ...configFields(configOf(pass)),
  }),
  observed: (item, pass) => ({ name: item.name, type: item.type, ...shownConfig(pass) }),
  hidden: (field, pass) => field.startsWith(prefix) && !isRevealed(field, pass),
  kept: (field) => field.startsWith(prefix),
  secret: (field) => field.startsWith(prefix),
  fixed: ['type'],

  requests: {
    create: ({ account, spec }, fields) =>
      postContactPoint({
        accountId: account.accountId,
        name: textIn(fields, 'name'),
        type: typeOf(spec),
        config: configAmong(fields) ?? {},
      }),
    idOfCreated: createdContactPointId,
    update: (contactPointId, changed) => {
      const config = configAmong(changed);
      return patchContactPoint({
        contactPointId,
        ...(changed['name'] !== undefined && { name: textIn(changed, 'name') }),
        ...(config !== undefined && { config }),
      });
    },
    remove: deleteContactPoint,
  },
  blocked: (refusal) => {
    const count = 'body' in refusal ? usedByAlertsOf(refusal.body) : undefined;
    return count === undefined
      ? undefined
      : `${count} alert${count === 1 ? ' uses' : 's use'} it; delete or change them first`;
  },
  factsOfNext: () => ({}),
  facts: ({ spec }, { item }) => ({
    type: item?.type ?? typeOf(spec),
    ...(item !== undefined && {
      deployments: [...item.deployments].map(({ region, uid }) => ({ region, ...(uid !== undefined && { uid }) })),
    }),
  }),
  conditions: (_pass, { item }) =>
    item === undefined || item.deployments.length === 0
      ? [
          {
            type: 'Propagated',
            status: 'False',
            reason: 'NotDeployedYet',
            message: 'not deployed to any region yet; the first alert in a region may bring it there',
          },
        ]
      : [
          {
            type: 'Propagated',
            status: 'True',
            reason: 'Propagated',
            message: `deployed to ${item.deployments
              .map(({ region }) => region)
              .toSorted()
              .join(', ')}`,
          },
        ],
};

/** The read of the config as of the newest change that the list shows. */
function readConfig({ view, account }: ContactPointPass, id: string): Read<ContactPointWithSecrets> {
  return contactPointWithSecretsOf(id, view.one(contactPointsOf(account.accountId), id)?.item?.updatedAtMs);
}

/** Whether the service shows a setting; of what is not there yet it is taken to do so where that is asked for. */
function isRevealed(field: string, pass: ContactPointPass): boolean {
  return pass.memory.id === undefined ? pass.spec.verifyConfig === true : shownConfig(pass)[field] !== undefined;
}

/** What the service reveals of the config, where that is asked for. Our own writes are trusted over an older read. */
function shownConfig(pass: ContactPointPass): Fields {
  const { spec, view, memory, wrote } = pass;
  if (spec.verifyConfig !== true || memory.id === undefined) return {};
  const read = view.one(readConfig(pass, memory.id), memory.id);
  if (read?.item?.config === undefined) return {};
  const isOlder = wrote !== undefined && read.walk.begunAt < wrote.at;
  return { ...configFields(read.item.config), ...(isOlder && wrote.fields) };
}

/** Where alerts are delivered. */
export const contactPoint = defineKind<Spec, Facts>({
  ...identity,
  needs: (spec) => {
    const refs = {
      'webhook.urlFrom': spec.webhook?.urlFrom,
      'webhook.passwordFrom': spec.webhook?.passwordFrom,
      'chatA.webhookUrlFrom': spec.chatA?.webhookUrlFrom,
      'chatB.webhookUrlFrom': spec.chatB?.webhookUrlFrom,
      'chatC.webhookUrlFrom': spec.chatC?.webhookUrlFrom,
      'incident.integrationKeyFrom': spec.incident?.integrationKeyFrom,
    };
    return { secrets: Object.entries(refs).flatMap(([field, ref]) => (ref === undefined ? [] : [{ ...ref, field }])) };
  },
  claims: ({ externalId }) => (externalId === undefined ? [] : [externalId]),
  step: (pass) => planObject(plan, pass),
  show: (pass) => showObject(plan, pass),
});
