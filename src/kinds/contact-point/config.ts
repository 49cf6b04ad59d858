/** The settings of a contact point: the service's names for them, where their secrets come from, and what it shows of them. */
import type { MaterialNeed } from '../../engine/kind/contract/define.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import { type Fields } from '../../engine/kind/planner/plan.ts';
import { definedIn, isRecord, Secret, type JsonObject } from '../../base/json.ts';
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

type Setting = string | readonly string[] | Valued | undefined;

/** The settings of its way to deliver, as the spec gives them: by the names that the service has for them, too. */
function settingsIn(spec: ContactPointSpec): readonly [name: string, setting: Setting][] {
  return Object.entries<Setting>(spec[wayOf(spec)] ?? {});
}

/** True for a setting that says where its value comes from. */
function isValued(setting: Setting): setting is Valued {
  return isRecord(setting);
}

/** The keys of Secrets and ConfigMaps that the settings come from, and the fields that name them. */
export function materialOf(spec: ContactPointSpec): {
  readonly secrets: readonly MaterialNeed[];
  readonly configMaps: readonly MaterialNeed[];
} {
  const way = wayOf(spec);
  return needsOf(settingsIn(spec).flatMap(([name, given]) => (isValued(given) ? [[`${way}.${name}`, given]] : [])));
}

/** The settings, secrets looked up; no address and no key ends with the line end of a file. */
export function configOf(pass: ContactPointPass): Fields {
  const valueIn = (name: string, setting: Setting) => {
    if (!isValued(setting)) return setting;
    const value = valueOf(setting, pass);
    return name === 'password' ? value : trimmed(value);
  };
  return fieldsOf(Object.fromEntries(settingsIn(pass.spec).map(([name, setting]) => [name, valueIn(name, setting)])));
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

/** A config as the plan compares it, field by field. */
function fieldsOf(config: Fields): Fields {
  return Object.fromEntries(Object.entries(config).map(([name, value]) => [`${prefix}${name}`, value]));
}

/** The config among fields, as a body takes it; undefined when none of it is there. */
export function configAmong(fields: Fields): JsonObject | undefined {
  const rows = Object.entries(definedIn(fields)).filter(([field]) => field.startsWith(prefix));
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
  return { ...fieldsOf(read.item.config), ...(isOlder && wrote.fields) };
}
