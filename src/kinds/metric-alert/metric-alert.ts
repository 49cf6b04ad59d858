import { definedIn } from '../../base/json.ts';
import { notGranted } from '../../engine/kind/planner/create.ts';
import { defineKind } from '../../engine/kind/contract/define.ts';
import { type Fields, type Named, type ObjectPlan } from '../../engine/kind/planner/plan.ts';
import { planObject, showObject, byName } from '../../engine/kind/planner/planner.ts';
import { readOf } from '../../engine/kind/planner/observe.ts';
import type { Step, Verdict } from '../../engine/kind/contract/step.ts';
import {
  alertOf,
  alertsOf,
  appEnvsOf,
  contactPointOf,
  createdAlert,
  deleteAlert,
  environmentOfAlerts,
  patchAlert,
  postAlertToggle,
  postAppEnvAlert,
  type AlertItem,
} from '../../hosting/requests.ts';
import { isDatabase, presetOfEnvironment } from '../shared/presets.ts';
import { idOf, needOf } from '../shared/references.ts';
import { firing, liveState, notices, type AlertPass } from './state.ts';
import { aggregations, inSpec, operators, thresholds, MetricAlertFacts, MetricAlertSpec } from './schema.ts';

type AlertBody = Parameters<typeof postAppEnvAlert>[0];

/**
 * Matches the operator's mark only at the end of a description, because the user's text before it may contain a copied
 * mark. The mark identifies the resource that created the alert.
 */
const markForm = /apphosting:[a-z2-7]{16}$/;

/**
 * Returns the id of the alert's environment. While it is not known whether a request created the alert, returns the
 * environment in that request, even if the reference in the spec now resolves to another environment.
 */
function environmentOf(pass: AlertPass): string {
  const { spec, memory } = pass;
  const { create } = memory.journal ?? {};
  if (create !== undefined) return environmentOfAlerts(create.collection);
  return idOf('AppEnvironment', spec.environmentRef, pass) ?? memory.facts.environmentId ?? '';
}

function contactPoints(pass: AlertPass): readonly Named[] {
  return pass.spec.contactPointRefs.flatMap((ref) => {
    const id = idOf('ContactPoint', ref, pass);
    if (id === undefined) return [];
    const whose = ref.name === undefined ? 'spec.contactPointRefs' : `ContactPoint ${ref.name}`;
    return [{ id, single: contactPointOf(id), words: `contact point ${id} of ${whose}` }];
  });
}

function contactPointIds(pass: AlertPass): readonly string[] {
  return [...new Set(contactPoints(pass).map(({ id }) => id))].toSorted();
}

/**
 * Returns the description to send: the user's text and, if this resource created the alert, the mark that identifies this
 * resource.
 */
function descriptionOf({ spec, memory, mark }: AlertPass): string | undefined {
  if (memory.ownership === 'Adopted') return spec.description;
  return spec.description === undefined ? mark : `${spec.description}\n\n${mark}`;
}

/**
 * If the spec gives the environment by its id, checks that adoption is allowed, and that the account lists the
 * environment.
 */
function misplaced(pass: AlertPass): Step<MetricAlertFacts> | undefined {
  const { spec, memory, account, view } = pass;
  const appEnvId = spec.environmentRef.externalId;
  if (appEnvId === undefined || memory.id !== undefined || memory.journal?.create !== undefined) return undefined;
  const refused = notGranted(
    `spec.environmentRef.externalId names environment ${appEnvId}`,
    account,
    spec.lifecycle?.adoption,
  );
  if (refused !== undefined) return refused;
  const list = appEnvsOf(account.accountId);
  const seen = view.one(list, appEnvId);
  if (seen === undefined) return readOf(pass, list);
  if (seen.item !== undefined) return undefined;
  if (seen.snapshot.begunAt < pass.askedAt) return readOf(pass, list, pass.askedAt);
  const message = `account ${account.accountId} does not list environment ${appEnvId}; the operator creates the alert once the environment is listed`;
  return { is: 'wait', reason: 'EnvironmentNotFound', message };
}

/**
 * Returns a `stall` verdict, before any call, if the spec asks for an ingress metric of a database. Returns undefined
 * if the preset of the app is not known.
 */
function unmeasured(pass: AlertPass): Verdict<MetricAlertFacts> | undefined {
  if (!pass.spec.metric.startsWith('ingress_')) return undefined;
  const preset = presetOfEnvironment(pass, environmentOf(pass));
  if (preset === undefined || !isDatabase(pass, preset)) return undefined;
  const message = `${pass.spec.metric} is not measured for databases and services such as ${preset}, which the environment runs; choose another metric`;
  return { is: 'stall', reason: 'Rejected', message };
}

const plan: ObjectPlan<MetricAlertSpec, MetricAlertFacts, AlertItem> = {
  noun: 'alert',
  list: (pass) => alertsOf(environmentOf(pass)),
  single: alertOf,
  placeOf: (pass) => ({ list: appEnvsOf(pass.account.accountId), id: environmentOf(pass) }),
  ...byName({ onDelete: undefined, onMissing: 'Recreate' }),
  accountOf: (item) => item.accountId,
  markOf: (item) => item.description?.trimEnd().match(markForm)?.[0],
  admit: (pass) => misplaced(pass) ?? unmeasured(pass),
  namesInCalls: contactPoints,

  desired: (pass) => ({
    name: plan.name(pass),
    description: descriptionOf(pass),
    metric: pass.spec.metric,
    operator: pass.spec.operator,
    threshold: pass.spec.threshold ?? thresholds[pass.spec.metric],
    duration: pass.spec.duration ?? '5m',
    aggregation: pass.spec.aggregation ?? 'Mean',
    queryRange: pass.spec.queryRange ?? '10m',
    contactPointRefs: contactPointIds(pass),
    enabled: pass.spec.enabled ?? true,
    environmentRef: environmentOf(pass),
  }),
  observed: (item, pass) => ({
    name: item.name,
    description: item.description,
    metric: item.metric,
    operator: inSpec(operators, item.operator),
    threshold: item.threshold,
    duration: item.duration,
    aggregation: inSpec(aggregations, item.aggregation),
    queryRange: item.queryRange,
    contactPointRefs: item.contactPointIds?.toSorted(),
    enabled: item.enabled,
    environmentRef: item.appEnvId ?? environmentOf(pass),
  }),
  // If the spec has no description, an adopted alert keeps its own description, because the service's API cannot clear a
  // description.
  kept: (field) => field === 'description',
  fixed: ['environmentRef'],
  afterCreation: ['enabled'],

  requests: {
    create: (_pass, fields) => postAppEnvAlert(bodyOf(fields)),
    idOfCreated: (body) => createdAlert(body)?.alertId,
    shownByCreated: (body) => ({ enabled: createdAlert(body)?.enabled ?? true }),
    update: (alertId, changed, pass) => {
      const isOnly = Object.keys(changed).length === 1 && 'enabled' in changed;
      const enabled = pass.spec.enabled ?? true;
      return isOnly ? postAlertToggle({ alertId, enabled }) : patchAlert({ alertId, ...bodyOf(changed) });
    },
    remove: deleteAlert,
  },
  // Keep the environment's id in status, so that the alert can be found after the reference stops resolving.
  factsOfNext: ({ environmentId }) => ({ environmentId }),
  facts: (pass, { item }) => ({
    environmentId: item?.appEnvId ?? environmentOf(pass),
    ...(item?.region !== undefined && { region: item.region }),
    ...liveState(pass, item),
  }),
  notices: (pass, _seen, facts) => notices(pass, plan.name(pass), facts),
  conditions: (pass, { item }, facts) => [firing(pass, item, facts)],
};

/** Builds a request body from fields of the spec. Some fields have other names or other values in the service's API. */
function bodyOf(fields: Fields): AlertBody {
  const { environmentRef, contactPointRefs, operator, aggregation, ...others } = fields;
  const body = {
    ...others,
    appEnvId: environmentRef,
    contactPointIds: contactPointRefs,
    operator: operators[operator as keyof typeof operators],
    aggregation: aggregations[aggregation as keyof typeof aggregations],
  };
  // The casts are safe: the fields come from the spec, whose schema has these types.
  return definedIn(body) as AlertBody;
}

/** The MetricAlert kind: an alert on one metric of one environment. */
export const metricAlert = defineKind<MetricAlertSpec, MetricAlertFacts>({
  kind: 'MetricAlert',
  plural: 'metricalerts',
  shortNames: ['malert'],
  scope: 'Namespaced',
  summary: 'An alert on one metric of one environment.',
  life: 'long',
  spec: MetricAlertSpec,
  facts: MetricAlertFacts,
  idWord: 'alertId',
  holds: true,
  columns: [
    { name: 'STATE', path: '.status.state', description: 'The state: Normal, Pending, Firing, NoData or Error.' },
    { name: 'SINCE', path: '.status.stateChangeTime', type: 'date', description: 'Time in the current state.' },
    { name: 'METRIC', path: '.spec.metric', description: 'The metric that is measured.' },
    {
      name: 'OBSERVED',
      path: '.status.stateObservedTime',
      type: 'date',
      wide: true,
      description: 'How long ago the state of the alert was last confirmed; this time is updated about once an hour.',
    },
    { name: 'ENVIRONMENT', path: '.status.environmentId', wide: true, description: 'The id of the environment.' },
  ],
  selectable: [
    '.spec.environmentRef.name',
    '.spec.metric',
    '.spec.enabled',
    '.status.state',
    '.status.environmentId',
    '.status.externalId',
  ],
  needs: ({ environmentRef, contactPointRefs }) => ({
    references: [
      ...needOf('AppEnvironment', environmentRef, 'environmentRef'),
      ...contactPointRefs.flatMap((ref) => needOf('ContactPoint', ref, 'contactPointRefs')),
    ],
  }),
  marks: {
    noun: 'alert',
    collection: 'alerts',
    read: (item) => {
      // The cast is safe: every list of alerts holds items of this type.
      const alert = item as AlertItem;
      return { mark: plan.markOf?.(alert), name: alert.name };
    },
  },
  claims: ({ externalId }) => (externalId === undefined ? [] : [externalId]),
  always: ['Firing'],
  interfaceWords: () => ({ contactPointIds: 'contactPointRefs', appEnvId: 'environmentRef' }),
  fleeting: ['Firing'],
  step: (pass) => planObject(plan, pass),
  show: (pass) => showObject(plan, pass),
});
