import { defineKind } from '../../engine/kind/contract/define.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import { type ObjectPlan } from '../../engine/kind/planner/plan.ts';
import { textIn } from '../../engine/kind/planner/compare.ts';
import { planObject, showObject, byName } from '../../engine/kind/planner/planner.ts';
import { type Step, about } from '../../engine/kind/contract/step.ts';
import {
  contactPointOf,
  contactPointsOf,
  createdContactPointId,
  deleteContactPoint,
  patchContactPoint,
  postContactPoint,
  usedByAlertsOf,
  type ContactPointItem,
} from '../../hosting/requests.ts';
import {
  configAmong,
  configOf,
  interfaceWords,
  isConfig,
  isRevealed,
  materialOf,
  readConfig,
  shownConfig,
  typeOf,
} from './config.ts';
import type { MetricAlertSpec } from '../metric-alert/schema.ts';
import { identity, type ContactPointFacts, type ContactPointSpec } from './schema.ts';

/** Stalls on an empty or masked secret: the service would keep the old value, and nobody would notice. */
function unsendable({
  spec,
  secret,
  configMap,
}: Pass<ContactPointSpec, ContactPointFacts>): Step<ContactPointFacts> | undefined {
  const { secrets, configMaps } = materialOf(spec);
  const given = [
    ...secrets.map((need) => ({ ...need, kind: 'Secret', value: secret(need.name, need.key)?.reveal() })),
    ...configMaps.map((need) => ({ ...need, kind: 'ConfigMap', value: configMap(need.name, need.key) })),
  ];
  for (const { field, kind, name, key, value } of given) {
    const text = value?.trim();
    if (text === undefined || (text === '' && field === 'webhook.password')) continue;
    const flaw = text === '' ? 'is empty' : isMasked(text) ? 'holds a masked value' : undefined;
    if (flaw === undefined) continue;
    const message = `spec.${field}: key "${key}" of ${kind} ${name} ${flaw}; the service would keep the old value`;
    return { is: 'stall', reason: 'Rejected', message };
  }
  return undefined;
}

function isMasked(value: string): boolean {
  return value.includes('****') || /^[•*]+$/.test(value);
}

/** The interface requires https here. It does not restrict the host, so the service decides. */
function insecure({ spec, secret }: Pass<ContactPointSpec, ContactPointFacts>): Step<ContactPointFacts> | undefined {
  for (const way of ['chatB', 'chatC'] as const) {
    const from = spec[way]?.webhookUrl.valueFrom.secretKeyRef;
    const url = from && secret(from.name, from.key);
    if (url === undefined || URL.parse(url.reveal())?.protocol === 'https:') continue;
    const message = `spec.${way}.webhookUrl: key "${from?.key}" of Secret ${from?.name} does not hold an https URL`;
    return { is: 'stall', reason: 'Rejected', message };
  }
  return undefined;
}

/** True if the spec of an alert names this contact point. */
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
  desired: (pass) => ({
    name: plan.name(pass),
    type: typeOf(pass.spec),
    ...configOf(pass),
  }),
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
  admit: (pass) => unsendable(pass) ?? insecure(pass),
  blocked: (refusal, pass) => {
    const count = 'body' in refusal ? usedByAlertsOf(refusal.body) : undefined;
    if (count === undefined) return undefined;
    // A MetricAlert without an alert in the service does not block the deletion.
    const known = (pass.inAccount?.('MetricAlert') ?? []).flatMap(({ id, namespace, name, spec }) =>
      id !== undefined && namespace === pass.subject.namespace && refersTo(spec, pass.subject.name)
        ? [name.replace(/^MetricAlert (.*\/)?/u, '')]
        : [],
    );
    const named = known.length === 0 ? '' : `, MetricAlert ${known.toSorted().slice(0, 5).join(', ')} among them`;
    return `${count} alert${count === 1 ? ' uses' : 's use'} it${named}; delete or change them first`;
  },
  factsOfNext: () => ({}),
  facts: ({ spec }, { item }) => ({
    type: item?.type ?? typeOf(spec),
    ...(item !== undefined && {
      deployments: item.deployments.toSorted((a, b) => (a.region < b.region ? -1 : 1)),
    }),
  }),
  conditions: (_pass, { item }) => {
    const regions = (item?.deployments ?? []).map(({ region }) => region).toSorted();
    const nowhere = 'not deployed to any region yet; the first alert in a region may bring it there';
    return [
      regions.length === 0
        ? propagated.no('NotDeployedYet', nowhere)
        : propagated.yes('Propagated', `deployed to ${regions.join(', ')}`),
    ];
  },
};

/** Where alerts are delivered. */
export const contactPoint = defineKind<ContactPointSpec, ContactPointFacts>({
  ...identity,
  always: ['Propagated'],
  interfaceWords,
  needs: materialOf,
  claims: ({ externalId }) => (externalId === undefined ? [] : [externalId]),
  step: (pass) => planObject(plan, pass),
  show: (pass) => showObject(plan, pass),
});
