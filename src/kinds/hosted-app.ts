import { defineKind } from '../engine/kind/define.ts';
import { definedOf, textIn, type Fields, type ObjectPlan } from '../engine/kind/plan.ts';
import { planObject, showObject } from '../engine/kind/planner.ts';
import { readOf } from '../engine/kind/reading.ts';
import type { Step } from '../engine/kind/step.ts';
import {
  appAsOf,
  appEnvsOf,
  appOf,
  appPresetsOf,
  appsOf,
  createdAppId,
  databasePresetsOf,
  deleteApp,
  environmentsAffectedOf,
  patchApp,
  postApp,
} from '../hosting/requests.ts';
import {
  afterCreation,
  bodyOf,
  boundEnvironments,
  converts,
  environmentIds,
  desired,
  fixed,
  goesAlong,
  isDeployedByEnvironment,
  isHidden,
  isKept,
  isReplaced,
  observed,
  presetOf,
  presetShown,
  type AppPass,
  type ShownApp,
} from './hosted-app-fields.ts';
import { countedIn, hasUnseen, sentOften, unseenOf } from './hosted-app-doubt.ts';
import { nearest } from './nearest.ts';
import { awaitDoubts } from './others-in-doubt.ts';
import { databasePresets, identity, type Facts, type Spec } from './schema/hosted-app.ts';
import { needsOf, typed } from './values.ts';

/** Refuses a preset that the account does not have, before anything is sent. */
function admit(pass: AppPass): Step<Facts> | undefined {
  const { spec, memory, view, account } = pass;
  if (memory.journal !== undefined) return undefined;
  const preset = presetOf(spec);
  const shown = memory.id === undefined ? undefined : view.one(appsOf(account.accountId), memory.id)?.item;
  if (shown?.dockerPreset === preset || (memory.id !== undefined && shown === undefined)) return undefined;
  const catalogues = [appPresetsOf(), databasePresetsOf()];
  const unread = catalogues.find((read) => view.all(read) === undefined && view.problem(read) === undefined);
  if (unread !== undefined) return readOf(pass, unread, Number.NEGATIVE_INFINITY);
  const known = catalogues.flatMap((read) => [...(view.all(read)?.items.keys() ?? [])]);
  // Half a catalogue proves nothing: the service itself refuses what it does not have.
  const isWhole = catalogues.every((read) => view.all(read) !== undefined);
  if (!isWhole || known.length === 0 || known.includes(preset)) return undefined;
  const near = nearest(preset, known);
  const message = `spec.preset ${preset} is none of the presets of the account${near === undefined ? '' : `; did you mean ${near}?`}`;
  return { is: 'stall', reason: 'UnknownPreset', message };
}

function isDatabase(preset: string, { view }: AppPass): boolean {
  return (
    (databasePresets as readonly string[]).includes(preset) || view.one(databasePresetsOf(), preset)?.item !== undefined
  );
}

/** What the app is in the service; before it is there, what it is to be. */
function typeOf(pass: AppPass): string {
  const preset = presetShown(pass) ?? presetOf(pass.spec);
  if (preset === 'FUNCTION') return 'Function';
  if (preset === 'JOB') return 'Job';
  return isDatabase(preset, pass) ? 'Database' : 'App';
}

/** What creation alone takes. */
function creationOnly({ presetVersion, source, database }: Spec): Fields {
  const settings = Object.entries(database?.settings ?? {}).map(([name, value]) => [name, typed(value)]);
  return {
    dockerPresetVersion: presetVersion,
    gitNamespace: source?.git?.namespace,
    gitRepo: source?.git?.repo,
    gitInstallationId: source?.git?.installationId,
    isCliDeployment: source?.cliDeployment === true ? true : undefined,
    containers: database?.containers,
    disk: database?.disk,
    withPersistence: database?.withPersistence,
    databaseSettings: settings.length > 0 ? Object.fromEntries(settings) : undefined,
  };
}

/** Changes wait in each environment for its next deployment, unless they were to be applied at once. */
function pendingAfter(body: unknown, changed: Fields, pass: AppPass): Facts {
  const affected = environmentsAffectedOf(body);
  const { facts } = pass.memory;
  const before = facts.pendingChanges ?? [];
  const isApplied = pass.spec.applyImmediately === true;
  const left = isApplied ? before.filter((field) => !(field in changed)) : before;
  const { pendingChanges } = isApplied || affected === 0 ? withPending(facts, left) : pendingMeanwhile(changed, pass);
  return {
    ...facts,
    applyInDoubt: undefined,
    pendingChanges,
    ...(affected !== undefined && { environmentsAffected: affected }),
  };
}

/** A change whose answer is not there may wait in the environments already. */
function pendingMeanwhile(changed: Fields, pass: AppPass): Facts {
  if (pass.spec.applyImmediately === true) return countedIn(unseenOf(changed, pass), pass);
  const { facts } = pass.memory;
  return withPending(facts, [...(facts.pendingChanges ?? []), ...Object.keys(changed)]);
}

function withPending(facts: Facts, fields: readonly string[]): Facts {
  return { ...facts, pendingChanges: fields.length > 0 ? [...new Set(fields)].toSorted() : undefined };
}

/** Why the app is not changed at the moment. */
function mustWait(pass: AppPass, changed: Fields): Step<Facts> | undefined {
  const often = pass.spec.applyImmediately === true ? sentOften(unseenOf(changed, pass), pass) : undefined;
  return often ?? environmentInDoubt(pass);
}

/** A change of the app shows in its environments, and would be taken for the trace of a deployment whose answer was lost. */
function environmentInDoubt(pass: AppPass): Step<Facts> | undefined {
  return awaitDoubts(pass, boundEnvironments(pass), 'the app is not changed');
}

function noLongerInDoubt(facts: Facts): Step<Facts> | undefined {
  if (facts.applyInDoubt === undefined) return undefined;
  return { is: 'again', remember: { facts: { ...facts, applyInDoubt: undefined } } };
}

/** Sends again what was changed and is still waiting, once it is to be applied at once. */
function applyPending(pass: AppPass, id: string): Step<Facts> | undefined {
  const { spec, memory } = pass;
  const pending = memory.facts.pendingChanges ?? [];
  if (spec.applyImmediately !== true || pending.length === 0) return noLongerInDoubt(memory.facts);
  const wanted = definedOf(desired(pass));
  const isLeft = (field: string) => field === 'image.reference' && isDeployedByEnvironment(pass);
  const again = Object.fromEntries(
    Object.entries(wanted).filter(([field]) => pending.includes(field) && !isLeft(field)),
  );
  if (Object.keys(again).length === 0) {
    return { is: 'again', remember: { facts: { ...memory.facts, pendingChanges: undefined } } };
  }
  const held = sentOften(again, pass) ?? environmentInDoubt(pass);
  if (held !== undefined) return held;
  return {
    is: 'call',
    call: {
      request: patchApp({ appId: id, ...bodyOf(again, pass), applyImmediately: true }),
      alone: environmentIds(pass),
      words: `apply ${Object.keys(again).join(', ')} of app "${plan.name(pass)}" at once`,
      urgency: 'edit',
      meanwhile: { facts: countedIn(again, pass) },
      counted: true,
      committed: () => ({ facts: { ...memory.facts, pendingChanges: undefined, applyInDoubt: undefined } }),
    },
  };
}

const plan: ObjectPlan<Spec, Facts, ShownApp> = {
  noun: 'app',
  list: ({ account }) => appsOf(account.accountId),
  single: appOf,
  name: ({ spec, subject }) => spec.name ?? subject.name,
  nameOf: (item) => item.name,
  createdAtOf: (item) => ('createdAtMs' in item ? item.createdAtMs : undefined),
  lifecycle: ({ lifecycle }) => ({
    mode: lifecycle?.mode ?? 'Manage',
    adoption: lifecycle?.adoption,
    onDelete: lifecycle?.onDelete ?? 'Retain',
    onMissing: lifecycle?.onMissing ?? 'Stall',
    drift: lifecycle?.drift ?? 'Correct',
  }),
  externalId: (spec) => spec.externalId,
  admit,

  alsoReads: ({ view, account }, id) => {
    const item = view.one(appsOf(account.accountId), id)?.item;
    const environments = appEnvsOf(account.accountId);
    return [
      ...(view.group(environments, id) === undefined ? [environments] : []),
      ...(item === undefined ? [] : [appAsOf(id, item.updatedAtMs)]),
    ];
  },
  desired,
  observed,
  mustWait,
  hidden: isHidden,
  sentElsewhere: (field, pass) => field === 'image.reference' && isDeployedByEnvironment(pass),
  kept: isKept,
  replaced: isReplaced,
  secret: (field) => field === 'healthCheck.headersFrom',
  fixed,
  afterCreation,

  requests: {
    create: (pass, fields) =>
      postApp({
        accountId: pass.account.accountId,
        name: textIn(fields, 'name'),
        ...bodyOf(fields, pass),
        ...definedOf(creationOnly(pass.spec)),
      }),
    idOfCreated: createdAppId,
    update: (appId, changed, pass) =>
      patchApp({
        appId,
        ...bodyOf({ ...changed, ...goesAlong(changed, pass) }, pass),
        ...(pass.spec.applyImmediately === true && { applyImmediately: true }),
      }),
    // An app becomes a function, or stops being one, in a request that changes nothing else.
    updateFirst: (changed, pass) => {
      return converts(changed, pass) && Object.keys(changed).length > 1 ? ['preset'] : undefined;
    },
    learnedByUpdate: pendingAfter,
    supposedOfUpdate: pendingMeanwhile,
    countsUpdate: (changed, pass) => pass.spec.applyImmediately === true && hasUnseen(changed, pass),
    updateAlone: environmentIds,
    remove: deleteApp,
  },
  blocked: ({ message }) =>
    `${message}; tried again until nothing protects it. Should the service speak of an ambiguous allocation, only its support can clear that`,
  staysBehind: (pass) =>
    isDatabase(presetOf(pass.spec), pass)
      ? `app "${plan.name(pass)}" is deleted; the volumes of this database stay in the service`
      : undefined,
  settle: (pass, { item }) => {
    const id = item?.appId ?? pass.memory.id ?? '';
    // Looked at here so that a change of an environment leads to a new status.
    pass.view.group(appEnvsOf(pass.account.accountId), id);
    return applyPending(pass, id) ?? { is: 'ready' };
  },
  factsOfNext: () => ({}),
  facts: (pass, { item }) => {
    const environments = pass.view.group(appEnvsOf(pass.account.accountId), pass.memory.id ?? '')?.items;
    return {
      ...pass.memory.facts,
      type: typeOf(pass),
      ...(item?.slug !== undefined && { slug: item.slug }),
      ...(item?.gitProvider !== undefined && { gitProvider: item.gitProvider }),
      ...(environments !== undefined && {
        environments: environments
          .map(({ appEnvId, name, region, status }) => ({ id: appEnvId, name, region, status }))
          .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      }),
    };
  },
};

/** An app, database, function or job. */
export const hostedApp = defineKind<Spec, Facts>({
  ...identity,
  needs: ({ source, healthCheck }) => {
    const headers = needsOf(
      (healthCheck?.headersFrom ?? []).map((header) => [`healthCheck.headersFrom (${header.name})`, header]),
    );
    const dockerfile = source?.dockerfileFrom;
    return {
      secrets: headers.secrets,
      configMaps: [
        ...headers.configMaps,
        ...(dockerfile === undefined ? [] : [{ ...dockerfile, field: 'source.dockerfileFrom' }]),
      ],
    };
  },
  claims: ({ externalId }) => (externalId === undefined ? [] : [externalId]),
  step: (pass) => planObject(plan, pass),
  show: (pass) => showObject(plan, pass),
});
