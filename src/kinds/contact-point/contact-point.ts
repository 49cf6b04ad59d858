import { definedIn, isRecord, Secret, type JsonObject, unlessEmpty } from '../../base/json.ts';
import { defineKind } from '../../engine/kind/contract/define.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Fields, ObjectPlan } from '../../engine/kind/planner/plan.ts';
import { textIn } from '../../engine/kind/planner/compare.ts';
import { planObject, showObject, byName } from '../../engine/kind/planner/planner.ts';
import { type Step, about } from '../../engine/kind/contract/step.ts';
import type { Read } from '../../engine/ports.ts';
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
} from '../../hosting/requests.ts';
import type { MetricAlertSpec } from '../metric-alert/schema.ts';
import { needsOf, valueOf, type GivenText } from '../../engine/kind/schema/schema.ts';
import { settingsOf, ways, ContactPointFacts, ContactPointSpec } from './schema.ts';

type ContactPointPass = Pass<ContactPointSpec, ContactPointFacts>;

const prefix = 'config.';

/** Maps each delivery type of the spec to the contact point type in the service's API. */
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

type Setting = string | readonly string[] | GivenText | undefined;

/**
 * Returns the settings that the spec has for its delivery type, for example for `webhook`. The spec and the service's
 * API use the same names for settings.
 */
function settingsIn(spec: ContactPointSpec): readonly [name: string, setting: Setting][] {
  return Object.entries<Setting>(spec[wayOf(spec)] ?? {});
}

/**
 * True for a setting that has a `value` or takes its value from a Secret or ConfigMap. Other settings are plain texts or
 * lists.
 */
function isGivenText(setting: Setting): setting is GivenText {
  return isRecord(setting);
}

/** Returns the keys of Secrets and ConfigMaps that settings refer to, each with the path of the setting in the spec. */
function materialOf(spec: ContactPointSpec) {
  const way = wayOf(spec);
  return needsOf(settingsIn(spec).flatMap(([name, given]) => (isGivenText(given) ? [[`${way}.${name}`, given]] : [])));
}

/**
 * Fills in the values from Secrets and ConfigMaps. Removes white space around these values and around each `value` in
 * the spec, except in a password. Other settings stay as they are.
 */
function configOf(pass: ContactPointPass): Fields {
  const valueIn = (name: string, setting: Setting) => {
    if (!isGivenText(setting)) return setting;
    const value = valueOf(setting, pass);
    if (name === 'password') return value;
    return value instanceof Secret ? value.trimmed() : value?.trim();
  };
  return fieldsOf(Object.fromEntries(settingsIn(pass.spec).map(([name, setting]) => [name, valueIn(name, setting)])));
}

/** Maps the names of settings in the service's API to their paths in the spec. */
function interfaceWords(spec: ContactPointSpec): Readonly<Record<string, string>> {
  const way = wayOf(spec);
  return Object.fromEntries(settingsOf(way).map((name) => [`${prefix}${name}`, `${way}.${name}`]));
}

/** True for a field that holds a delivery setting, such as the URL of a webhook; false for every other field. */
function isConfig(field: string): boolean {
  return field.startsWith(prefix);
}

/**
 * Returns each setting as a separate field, so that the operator compares the settings one by one with those in the
 * service.
 */
function fieldsOf(config: Fields): Fields {
  return Object.fromEntries(Object.entries(config).map(([name, value]) => [`${prefix}${name}`, value]));
}

/** Returns the settings among these fields as the `config` object of a request body; undefined if there are none. */
function configAmong(fields: Fields): JsonObject | undefined {
  const rows = Object.entries(definedIn(fields)).filter(([field]) => field.startsWith(prefix));
  if (rows.length === 0) return undefined;
  return Object.fromEntries(rows.map(([field, value]) => [field.slice(prefix.length), value]));
}

/**
 * Returns the read request for the settings of the contact point. The settings are read again whenever the list shows
 * that the contact point has changed.
 */
function readConfig({ view, account }: ContactPointPass, id: string): Read<ContactPointWithSecrets> {
  return contactPointWithSecretsOf(id, view.one(contactPointsOf(account.accountId), id)?.item?.updatedAtMs);
}

/**
 * True if the service shows the value of this setting of the contact point. Before the contact point exists, true if
 * spec.verifyConfig tells the operator to read the settings.
 */
function isRevealed(field: string, pass: ContactPointPass): boolean {
  return pass.memory.id === undefined ? pass.spec.verifyConfig === true : shownConfig(pass)[field] !== undefined;
}

/**
 * Returns the settings that were read because spec.verifyConfig is true. If the operator has written a setting since
 * the read, returns the written value instead.
 */
function shownConfig(pass: ContactPointPass): Fields {
  const { spec, view, memory, wrote } = pass;
  if (spec.verifyConfig !== true || memory.id === undefined) return {};
  const read = view.one(readConfig(pass, memory.id), memory.id);
  if (read?.item?.config === undefined) return {};
  const isOlder = wrote !== undefined && read.snapshot.begunAt < wrote.at;
  return { ...fieldsOf(read.item.config), ...(isOlder && wrote.fields) };
}

/**
 * Stalls if a setting takes its value from a Secret or ConfigMap, and the value must not be sent, for example because
 * it is empty.
 */
function unsendable({ spec, secret, configMap }: ContactPointPass): Step<ContactPointFacts> | undefined {
  const { secrets, configMaps } = materialOf(spec);
  const given = [
    ...secrets.map((need) => ({ ...need, kind: 'Secret', value: secret(need.name, need.key)?.reveal() })),
    ...configMaps.map((need) => ({ ...need, kind: 'ConfigMap', value: configMap(need.name, need.key) })),
  ];
  for (const { field, kind, name, key, value } of given) {
    const flaw = value === undefined ? undefined : flawOf(field, value.trim());
    if (flaw === undefined) continue;
    return { is: 'stall', reason: 'Rejected', message: `spec.${field}: key "${key}" of ${kind} ${name}: ${flaw}` };
  }
  return undefined;
}

/**
 * Explains why a value cannot be sent; returns undefined if the value can be sent. For an empty or masked value, the
 * service would silently keep the old value; only the password of a webhook may be empty. The chat services of `chatB`
 * and `chatC` accept only https URLs. The hosting service itself checks whether it allows the host of a URL.
 */
function flawOf(field: string, text: string): string | undefined {
  if (text === '')
    return field === 'webhook.password'
      ? undefined
      : 'the value is empty; the service would ignore it and keep the old value';
  if (text.includes('****') || /^[•*]+$/.test(text))
    return 'the value is masked, such as ****; the service would ignore it and keep the old value';
  const isSecure = !/^chat[BC]\./.test(field) || URL.parse(text)?.protocol === 'https:';
  return isSecure ? undefined : 'the value is not an https URL';
}

/** True if the spec of a MetricAlert refers to the contact point with this name. */
function refersTo(spec: unknown, contactPoint: string): boolean {
  const { contactPointRefs = [] } = (spec ?? {}) as Partial<MetricAlertSpec>;
  return contactPointRefs.some(({ name }) => name === contactPoint);
}

const propagated = about('Propagated');

const plan: ObjectPlan<ContactPointSpec, ContactPointFacts, ContactPointItem> = {
  noun: 'contact point',
  list: ({ account }) => contactPointsOf(account.accountId),
  single: contactPointOf,
  ...byName({ onDelete: undefined, onMissing: 'Recreate' }),
  accountOf: (item) => item.accountId,
  alsoReads: (pass, id) => (pass.spec.verifyConfig === true ? [readConfig(pass, id)] : []),
  desired: (pass) => ({ name: plan.name(pass), type: types[wayOf(pass.spec)], ...configOf(pass) }),
  observed: (item, pass) => ({ name: item.name, type: item.type, ...shownConfig(pass) }),
  hidden: (field, pass) => isConfig(field) && !isRevealed(field, pass),
  kept: isConfig,
  secret: isConfig,
  fixed: ['type'],

  requests: {
    create: ({ account, spec }, fields) =>
      postContactPoint({
        accountId: account.accountId,
        name: textIn(fields, 'name'),
        type: types[wayOf(spec)],
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
  admit: unsendable,
  blocked: (refusal, pass) => {
    const count = 'body' in refusal ? usedByAlertsOf(refusal.body) : undefined;
    if (count === undefined) return undefined;
    // A MetricAlert whose alert does not exist in the service does not block the deletion of the contact point.
    const known = (pass.inAccount?.('MetricAlert') ?? []).flatMap(({ id, namespace, name, spec }) =>
      id !== undefined && namespace === pass.subject.namespace && refersTo(spec, pass.subject.name)
        ? [name.replace(/^MetricAlert (.*\/)?/u, '')]
        : [],
    );
    const named = known.length === 0 ? '' : ` (MetricAlert ${known.toSorted().slice(0, 5).join(', ')})`;
    return count === 1
      ? `one alert uses the contact point${named}; delete or update this alert first`
      : `${count} alerts use the contact point${named}; delete or update these alerts first`;
  },
  factsOfNext: () => ({}),
  facts: ({ spec }, { item }) =>
    definedIn({
      type: item?.type ?? types[wayOf(spec)],
      deployments: unlessEmpty((item?.deployments ?? []).toSorted((a, b) => (a.region < b.region ? -1 : 1))),
    }),
  conditions: (_pass, { item }) => {
    const regions = (item?.deployments ?? []).map(({ region }) => region).toSorted();
    const nowhere =
      'the contact point is not deployed to any region yet; the first alert in a region may deploy it there';
    return [
      regions.length === 0
        ? propagated.no('NotDeployedYet', nowhere)
        : propagated.yes('Propagated', `the contact point is deployed to ${regions.join(', ')}`),
    ];
  },
};

/** The ContactPoint kind: a destination to which the service delivers alerts. */
export const contactPoint = defineKind<ContactPointSpec, ContactPointFacts>({
  kind: 'ContactPoint',
  plural: 'contactpoints',
  shortNames: ['cpoint'],
  scope: 'Namespaced',
  summary: 'A destination for alerts: e-mail, a webhook, a chat service or an incident service.',
  life: 'long',
  spec: ContactPointSpec,
  facts: ContactPointFacts,
  idWord: 'contactPointId',
  holds: true,
  columns: [{ name: 'TYPE', path: '.status.type', description: 'The type of the contact point in the service.' }],
  selectable: ['.status.type', '.status.externalId'],
  always: ['Propagated'],
  interfaceWords,
  needs: materialOf,
  claims: ({ externalId }) => (externalId === undefined ? [] : [externalId]),
  step: (pass) => planObject(plan, pass),
  show: (pass) => showObject(plan, pass),
});
