import { definedIn } from '../../base/json.ts';
import { isoSeconds } from '../../base/time.ts';
import { defineKind } from '../../engine/kind/contract/define.ts';
import type { ObjectPlan } from '../../engine/kind/planner/plan.ts';
import { textIn } from '../../engine/kind/planner/compare.ts';
import { planObject, showObject, byName } from '../../engine/kind/planner/planner.ts';
import { readUnread } from '../../engine/kind/planner/observe.ts';
import {
  appAsOf,
  appEnvsOf,
  appOf,
  appPresetsOf,
  appsOf,
  createdAppId,
  databasePresetsOf,
  deleteApp,
  patchApp,
  postApp,
  type AppItem,
} from '../../hosting/requests.ts';
import { environmentIds, environmentsOf, type AppPass, type AppStep } from './environments.ts';
import {
  bodyOf,
  comparison,
  creationBodyOf,
  goesAlong,
  interfaceWords,
  listedApp,
  nameOf,
  presetOf,
  presetShown,
  settingsShown,
  type ShownApp,
} from './fields.ts';
import {
  applyPending,
  atRest,
  dropTaken,
  isAppliedAtOnce,
  mustWait,
  pendingAfter,
  pendingCondition,
  pendingMeanwhile,
  sentFirst,
} from './changes.ts';
import { nearest } from '../shared/nearest.ts';
import { isDatabase } from '../shared/presets.ts';
import { HostedAppFacts, HostedAppSpec } from './schema.ts';
import { needsOf } from '../../engine/kind/schema/schema.ts';

/** Stalls before anything is sent if the account does not offer the preset in the spec. */
function admit(pass: AppPass): AppStep | undefined {
  const { spec, memory, view } = pass;
  // While a create call is in the journal, do not check the preset. It was checked before the call was first sent; if
  // the call is sent again, the service decides whether it accepts the preset.
  if (memory.journal !== undefined) return undefined;
  const preset = presetOf(spec);
  const shown = listedApp(pass);
  if (shown?.dockerPreset === preset || (memory.id !== undefined && shown === undefined)) return undefined;
  const catalogs = [appPresetsOf(), databasePresetsOf()];
  const unread = readUnread(pass, catalogs);
  if (unread !== undefined) return unread;
  const known = catalogs.flatMap((read) => [...(view.all(read)?.items.keys() ?? [])]);
  // An incomplete catalog cannot prove that a preset does not exist. In that case, the service decides.
  const isWhole = catalogs.every((read) => view.all(read) !== undefined);
  if (!isWhole || known.length === 0 || known.includes(preset)) return undefined;
  const near = nearest(preset, known);
  const hint = near === undefined ? '' : `; did you mean ${near}?`;
  const message = `the account does not offer the preset ${preset} of the spec${hint}`;
  return { is: 'stall', reason: 'UnknownPreset', message };
}

/** Returns the type of the app in the service. Before the app exists, returns the type that the spec asks for. */
function typeOf(pass: AppPass): string {
  const preset = presetShown(pass) ?? presetOf(pass.spec);
  if (preset === 'FUNCTION') return 'Function';
  if (preset === 'JOB') return 'Job';
  return isDatabase(pass, preset) ? 'Database' : 'App';
}

/** Returns the status fields whose values only the list of apps shows. */
function listedFacts({ template, createdAtMs, updatedAtMs }: AppItem): HostedAppFacts {
  const time = (ms: number | undefined) => (ms === undefined ? undefined : isoSeconds(ms));
  return { template, createdTime: time(createdAtMs), updatedTime: time(updatedAtMs) };
}

const plan: ObjectPlan<HostedAppSpec, HostedAppFacts, ShownApp> = {
  noun: 'app',
  list: ({ account }) => appsOf(account.accountId),
  single: appOf,
  ...byName({ onDelete: 'Retain', onMissing: 'Stall' }),
  admit,

  alsoReads: ({ view, account }, id) => {
    const item = view.one(appsOf(account.accountId), id)?.item;
    const environments = appEnvsOf(account.accountId);
    return [
      ...(view.group(environments, id) === undefined ? [environments] : []),
      ...(item === undefined ? [] : [appAsOf(id, item.updatedAtMs)]),
    ];
  },
  ...comparison,
  mustWait,

  requests: {
    create: (pass, fields) =>
      postApp({ accountId: pass.account.accountId, name: textIn(fields, 'name'), ...creationBodyOf(fields, pass) }),
    idOfCreated: createdAppId,
    update: (appId, changed, pass) =>
      patchApp({
        appId,
        ...bodyOf({ ...changed, ...goesAlong(changed, pass) }, pass),
        ...(isAppliedAtOnce(changed, pass) && { applyImmediately: true }),
      }),
    updateFirst: sentFirst,
    learnedByUpdate: pendingAfter,
    supposedOfUpdate: pendingMeanwhile,
    updateAlone: environmentIds,
    remove: deleteApp,
  },
  blocked: ({ message }) =>
    `${message}; the deletion is tried again until no environment of the app is protected. If the service reports an ambiguous allocation, only the service's support can clear that allocation`,
  staysBehind: (pass) =>
    isDatabase(pass, presetOf(pass.spec))
      ? `app "${nameOf(pass)}" is deleted; the volumes of this database stay in the service`
      : undefined,
  whenEqual: (pass, { item }) => {
    const id = item?.appId ?? pass.memory.id ?? '';
    // Look up the app's environments here, so that a change of an environment triggers a reconcile of this HostedApp.
    pass.view.group(appEnvsOf(pass.account.accountId), id);
    return dropTaken(pass) ?? applyPending(pass, id) ?? atRest(pass);
  },
  conditions: ({ memory }) => [pendingCondition(memory.facts)],
  factsOfNext: () => ({}),
  facts: (pass, { item }) => {
    const shown: HostedAppFacts = {
      type: typeOf(pass),
      slug: item?.slug,
      gitProvider: item?.gitProvider,
      observed: item && settingsShown(item, pass),
      environments: environmentsOf(pass)
        ?.map(({ appEnvId, name, region, status }) => ({ externalId: appEnvId, name, region, state: status }))
        .toSorted((a, b) => (a.externalId < b.externalId ? -1 : 1)),
    };
    // A field that the service does not show at present keeps its value in status.
    const listed = item !== undefined && 'createdAtMs' in item && listedFacts(item);
    return { ...pass.memory.facts, ...listed, ...definedIn(shown) };
  },
};

/** The HostedApp kind: an app, database, function or job. */
export const hostedApp = defineKind<HostedAppSpec, HostedAppFacts>({
  kind: 'HostedApp',
  plural: 'hostedapps',
  shortNames: ['happ'],
  scope: 'Namespaced',
  summary: 'An app, database, function or job of the hosting service.',
  life: 'long',
  spec: HostedAppSpec,
  facts: HostedAppFacts,
  internal: ['pendingSinceMs', 'takenOverGeneration', 'applyInDoubt'],
  idWord: 'appId',
  holds: true,
  columns: [
    { name: 'TYPE', path: '.status.type', description: 'The type of the app: App, Database, Function or Job.' },
    { name: 'PRESET', path: '.spec.preset', wide: true, description: 'The preset.' },
  ],
  selectable: ['.spec.preset', '.status.type', '.status.externalId'],
  needs: ({ source, healthCheck }) => {
    const headers = healthCheck?.headers ?? [];
    return needsOf([
      ...headers.map((header) => [`healthCheck.headers (${header.name})`, header] as const),
      ...(source?.dockerfile === undefined ? [] : [['source.dockerfile', source.dockerfile] as const]),
    ]);
  },
  always: ['PendingChanges'],
  interfaceWords,
  claims: ({ externalId }) => (externalId === undefined ? [] : [externalId]),
  step: (pass) => planObject(plan, pass),
  show: (pass) => showObject(plan, pass),
});
