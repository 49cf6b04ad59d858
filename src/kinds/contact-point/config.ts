/** The settings of a contact point: the service's names for them, where their secrets come from, and what it shows of them. */
import type { MaterialNeed } from '../../engine/kind/contract/define.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import { type Fields } from '../../engine/kind/planner/plan.ts';
import { definedOf } from '../../engine/kind/planner/compare.ts';
import { Secret } from '../../base/json.ts';
import type { Read } from '../../engine/ports.ts';
import {
  contactPointsOf,
  contactPointWithSecretsOf,
  type ContactPointType,
  type ContactPointWithSecrets,
} from '../../hosting/requests.ts';
import { needsOf, valueOf, type Valued } from '../shared/values.ts';
import { settingsOf, ways, type ContactPointFacts, type ContactPointSpec } from './schema.ts';

const prefix = 'config.';

type ContactPointPass = Pass<ContactPointSpec, ContactPointFacts>;

/** The service's word for each way of delivery. */
const types = {
  email: 'email',
  webhook: 'webhook',
  chatA: 'chat_webhook_a',
  chatB: 'chat_webhook_b',
  chatC: 'chat_webhook_c',
  incident: 'incident_service',
} as const satisfies Record<(typeof ways)[number], ContactPointType>;

function wayOf(spec: ContactPointSpec) {
  return ways.find((way) => way in spec) ?? 'email';
}

export function typeOf(spec: ContactPointSpec): ContactPointType {
  return types[wayOf(spec)];
}

/** The settings that may come from elsewhere, by their place in the spec. */
function valuesOf(spec: ContactPointSpec): readonly (readonly [field: string, valued: Valued])[] {
  const values = {
    'webhook.url': spec.webhook?.url,
    'webhook.password': spec.webhook?.password,
    'chatA.webhookUrl': spec.chatA?.webhookUrl,
    'chatB.webhookUrl': spec.chatB?.webhookUrl,
    'chatC.webhookUrl': spec.chatC?.webhookUrl,
    'incident.integrationKey': spec.incident?.integrationKey,
  };
  return Object.entries(values).flatMap(([field, valued]) => (valued === undefined ? [] : [[field, valued] as const]));
}

/** The keys of Secrets and ConfigMaps that the settings come from, and the fields that name them. */
export function materialOf(spec: ContactPointSpec): {
  readonly secrets: readonly MaterialNeed[];
  readonly configMaps: readonly MaterialNeed[];
} {
  return needsOf(valuesOf(spec));
}

/** The settings as the service names them, secrets looked up; no address and no key ends with the line end of a file. */
export function configOf(pass: ContactPointPass): Fields {
  const { spec } = pass;
  const from = (valued: Valued | undefined) => valued && valueOf(valued, pass);
  const chat = spec.chatA ?? spec.chatB ?? spec.chatC;
  return {
    addresses: spec.email?.addresses,
    url: trimmed(from(spec.webhook?.url)),
    httpMethod: spec.webhook?.httpMethod,
    username: spec.webhook?.username,
    password: from(spec.webhook?.password),
    webhookUrl: trimmed(from(chat?.webhookUrl)),
    channel: spec.chatA?.channel,
    mentionUsers: spec.chatA?.mentionUsers,
    integrationKey: trimmed(from(spec.incident?.integrationKey)),
    severity: spec.incident?.severity,
  };
}

function trimmed(value: string | Secret | undefined): string | Secret | undefined {
  return value instanceof Secret ? value.trimmed() : value?.trim();
}

/** The interface's names of settings, by their places in the spec. */
export function interfaceWords(spec: ContactPointSpec): Readonly<Record<string, string>> {
  const way = wayOf(spec);
  return Object.fromEntries(settingsOf(way).map((name) => [`${prefix}${name}`, `${way}.${name}`]));
}

/** True for a field of the config. */
export function isConfig(field: string): boolean {
  return field.startsWith(prefix);
}

export function configFields(config: Fields): Fields {
  return Object.fromEntries(Object.entries(config).map(([name, value]) => [`${prefix}${name}`, value]));
}

/** The config among fields, as a body takes it; undefined when none of it is there. */
export function configAmong(fields: Fields): ReturnType<typeof definedOf> | undefined {
  const rows = Object.entries(definedOf(fields)).filter(([field]) => field.startsWith(prefix));
  if (rows.length === 0) return undefined;
  return Object.fromEntries(rows.map(([field, value]) => [field.slice(prefix.length), value]));
}

/** The read of the config as of the newest change that the list shows. */
export function readConfig({ view, account }: ContactPointPass, id: string): Read<ContactPointWithSecrets> {
  return contactPointWithSecretsOf(id, view.one(contactPointsOf(account.accountId), id)?.item?.updatedAtMs);
}

/** True if the service shows this setting. Before the contact point exists, `verifyConfig` decides. */
export function isRevealed(field: string, pass: ContactPointPass): boolean {
  return pass.memory.id === undefined ? pass.spec.verifyConfig === true : shownConfig(pass)[field] !== undefined;
}

/** The config as read with `verifyConfig`. Our own writes are believed over a read that began before them. */
export function shownConfig(pass: ContactPointPass): Fields {
  const { spec, view, memory, wrote } = pass;
  if (spec.verifyConfig !== true || memory.id === undefined) return {};
  const read = view.one(readConfig(pass, memory.id), memory.id);
  if (read?.item?.config === undefined) return {};
  const isOlder = wrote !== undefined && read.snapshot.begunAt < wrote.at;
  return { ...configFields(read.item.config), ...(isOlder && wrote.fields) };
}
