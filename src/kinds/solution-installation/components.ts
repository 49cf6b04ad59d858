/**
 * Finds the components of an installation. Decides which apps may be components, merges what several responses of the
 * service say about a component, and checks whether the components still exist.
 *
 * The service's API neither lists installations nor documents how it names their apps. So any app with a matching name
 * counts as a possible component, unless another resource created the app.
 */
import { definedIn } from '../../base/json.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import { arrivesWithinMs, mostExcluded, type JournalEntry, type Step } from '../../engine/kind/contract/step.ts';
import { waitForSecondMiss, waitWhileFrozen, readOf } from '../../engine/kind/planner/observe.ts';
import { appEnvsOf, appsOf, isUnderWay, solutionsOf, type AppItem } from '../../hosting/requests.ts';
import { awaitDoubts, boundToEnvironment } from '../shared/others-in-doubt.ts';
import type { SolutionInstallationFacts, SolutionInstallationSpec } from './schema.ts';

export type SolutionPass = Pass<SolutionInstallationSpec, SolutionInstallationFacts>;
export type SolutionStep = Step<SolutionInstallationFacts>;

type Component = NonNullable<SolutionInstallationFacts['components']>[number];

/**
 * Returns the apps whose names contain `appName`, the name that the spec gives to an installation. Only letters and
 * digits are compared.
 */
export function alike({ view, account }: SolutionPass, appName: string): readonly AppItem[] {
  const name = squashed(appName);
  const apps = view.all(appsOf(account.accountId))?.items.values() ?? [];
  return [...apps].filter((app) => squashed(app.name).includes(name));
}

/** Returns those of the given apps that no other resource is known to have created. */
export function unexplained(pass: SolutionPass, apps: readonly AppItem[]): readonly AppItem[] {
  const isMade = (appId: string) =>
    (pass.related?.('SolutionInstallation', appId) ?? []).length > 0 ||
    (pass.related?.('HostedApp', appId) ?? []).some(({ ownership }) => ownership === 'Created');
  return apps.filter(({ appId }) => !isMade(appId));
}

/**
 * True if the name of an app contains the words of spec.appName one after the other, perhaps with other words before or
 * after. Also true if the letters and digits in the name are those of spec.appName followed by those of a component's
 * name.
 */
export function isNamedAfter(pass: SolutionPass, app: AppItem): boolean {
  const [own, all] = [wordsOf(pass.spec.appName), wordsOf(app.name)];
  const isPart = all.some((_, at) => own.every((word, index) => all[at + index] === word));
  return isPart || componentNames(pass).some((name) => squashed(app.name) === squashed(pass.spec.appName + name));
}

/**
 * Merges the components in status with the components in a response of the service. The response may contain only some
 * of the components, or only their ids.
 */
export function merged(known: readonly Component[], told: readonly Component[]): Component[] {
  const isReplaced = (one: Component) =>
    told.some((other) => one.name !== undefined && other.name === one.name && !isSame(one, other));
  const kept = known
    .filter((one) => !isReplaced(one))
    .map((one) => ({ ...one, ...definedIn(told.find((other) => isSame(one, other)) ?? {}) }));
  return [...kept, ...told.filter((other) => !known.some((one) => isSame(one, other)))];
}

function isSame(one: Component, other: Component): boolean {
  if (one.environmentId !== undefined && other.environmentId !== undefined)
    return one.environmentId === other.environmentId;
  return one.appId !== undefined && one.appId === other.appId;
}

/** Returns the components in status, completed with values from the lists of apps and environments. */
export function completed(pass: SolutionPass): Component[] {
  return (pass.memory.facts.components ?? []).map((component) => completedOne(pass, component));
}

function completedOne(pass: SolutionPass, component: Component): Component {
  const { view, account } = pass;
  const list = appEnvsOf(account.accountId);
  const shown = component.environmentId === undefined ? undefined : view.one(list, component.environmentId)?.item;
  const appId = component.appId ?? shown?.appId;
  if (appId === undefined) return component;
  // The service's response does not say which environment belongs to which app. So if the list of environments shows
  // the environment of a component in another app, the component gets the only environment of its own app instead.
  const isItsOwn = component.environmentId !== undefined && (shown === undefined || shown.appId === appId);
  const environmentId = isItsOwn ? component.environmentId : onlyEnvironment(pass, appId);
  return definedIn({ ...component, name: component.name ?? componentName(pass, appId), appId, environmentId });
}

function onlyEnvironment({ view, account }: SolutionPass, appId: string): string | undefined {
  const items = view.group(appEnvsOf(account.accountId), appId)?.items ?? [];
  return items.length === 1 ? items[0]?.appEnvId : undefined;
}

/**
 * Returns a name for the component to which this app belongs. If the name of the app is spec.appName followed by the
 * name of a component in the catalog, returns the name of that component; otherwise returns the name of the app.
 */
function componentName(pass: SolutionPass, appId: string): string | undefined {
  const { view, account, spec } = pass;
  const app = view.one(appsOf(account.accountId), appId)?.item;
  const catalog = solutionsOf(account.accountId);
  const isReadable = view.all(catalog) !== undefined || view.problem(catalog) !== undefined;
  if (app === undefined || !isReadable) return undefined;
  return componentNames(pass).find((name) => squashed(app.name) === squashed(spec.appName + name)) ?? app.name;
}

/** Returns the names of the solution's components, as the catalog lists them. */
function componentNames({ view, account, spec }: SolutionPass): readonly string[] {
  const solution = view.all(solutionsOf(account.accountId))?.items.get(spec.solution);
  return solution?.components.map(({ name }) => name) ?? [];
}

function wordsOf(name: string): readonly string[] {
  return name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [name];
}

/** Reduces a name to letters and digits in lower case. */
function squashed(name: string): string {
  return wordsOf(name).join('');
}

/**
 * Looks for components whose environments are missing from the list of environments. The service's API cannot read a
 * single environment. So a component counts as gone only if its environment is missing from two lists that were read
 * one poll interval apart. The spec says whether the component is created again.
 */
export function lookForComponents(pass: SolutionPass): SolutionStep | undefined {
  const { view, account, memory, wrote, monotonicMs, horizonMs } = pass;
  // A list may be outdated, so it proves nothing about components that were created a moment ago.
  if (wrote !== undefined && monotonicMs - wrote.at < horizonMs) return undefined;
  const list = appEnvsOf(account.accountId);
  for (const component of memory.facts.components ?? []) {
    const { environmentId, name = environmentId } = component;
    if (environmentId === undefined) continue;
    const seen = view.one(list, environmentId);
    if (seen === undefined || seen.item !== undefined) continue;
    const message = `the service does not list environment ${environmentId} of component ${name ?? ''}; the operator checks once more before it treats the component as gone`;
    const look = { read: list, begunAt: seen.snapshot.begunAt, apartMs: account.pollMs, id: environmentId };
    return waitForSecondMiss(pass, look, { reason: 'ObjectMissing', message }) ?? gone(pass, component);
  }
  return undefined;
}

function gone(pass: SolutionPass, component: Component): SolutionStep {
  const { spec, memory } = pass;
  const { appId = '', environmentId = '', name = appId } = component;
  const what = `component ${name} (app ${appId}, environment ${environmentId})`;
  if (spec.lifecycle?.onMissing !== 'Recreate') {
    const message = `${what} is partly or wholly gone from the service, and is created again only if lifecycle.onMissing is Recreate`;
    return { is: 'stall', reason: 'ObjectGone', message };
  }
  const blind = waitWhileFrozen(pass);
  if (blind !== undefined) return blind;
  if (memory.id === undefined) {
    const message = `${what} is partly or wholly gone from the service, and the operator cannot create it again without the id of the installation; set spec.externalId to that id`;
    return { is: 'stall', reason: 'InstallationIdUnknown', message };
  }
  const components = memory.facts.components?.filter((one) => one !== component);
  return { is: 'again', remember: { facts: { ...memory.facts, components, complete: false } }, note: {} };
}

/**
 * Returns a `wait` step while the environment of a component is being updated or is missing from the list. The response
 * to an installation request does not tell this, because it says only that the service accepted the request.
 */
export function awaitComponents(pass: SolutionPass): SolutionStep | undefined {
  const { view, account, memory, wrote } = pass;
  const list = appEnvsOf(account.accountId);
  const seen = (memory.facts.components ?? []).flatMap(({ name, environmentId }) => {
    const found = environmentId === undefined ? undefined : view.one(list, environmentId);
    return found === undefined ? [] : [{ ...found, name: name ?? environmentId }];
  });
  const since = wrote?.at ?? Number.NEGATIVE_INFINITY;
  const isOld = seen.some(({ snapshot }) => snapshot.begunAt < since);
  const moving = seen.filter(({ item }) => isOld || item === undefined || isUnderWay(item.status));
  if (moving.length === 0) return undefined;
  const again = readOf(pass, list, since);
  const message = `components are being updated: ${moving.map(({ name }) => name).join(', ')}`;
  const updating = { is: 'wait', reason: 'Updating', message, note: {} } as const;
  if (!isOld) return { ...updating, retryInMs: account.pollMs };
  return again.is === 'read' ? { ...updating, awaits: again } : again;
}

/**
 * Returns the components with the states of their environments from the newest list. Without a list, the states in
 * status are kept.
 */
export function statesOf(pass: SolutionPass): Pick<SolutionInstallationFacts, 'components' | 'componentsRunning'> {
  const { view, account, memory } = pass;
  const components = (memory.facts.components ?? []).map((component) => {
    const seen = view.one(appEnvsOf(account.accountId), component.environmentId ?? '');
    const isKnown = component.environmentId !== undefined && seen !== undefined;
    return isKnown ? { ...component, state: seen.item?.status ?? 'Missing' } : component;
  });
  // Before the installation is complete, the catalog says how many components there will be.
  const expected = memory.facts.complete === true ? 0 : componentNames(pass).length;
  const all = Math.max(components.length, expected);
  if (all === 0) return {};
  const running = components.filter(({ state }) => state?.toLowerCase() === 'running').length;
  return { ...(components.length > 0 && { components }), componentsRunning: `${running}/${all}` };
}

/** Returns the ids of the components' environments, as far as the ids are known. */
export function environmentIds(pass: SolutionPass): readonly string[] {
  return completed(pass).flatMap(({ environmentId }) => environmentId ?? []);
}

/**
 * Returns a `wait` step while the solution must not be upgraded because of the environment of a component: the
 * environment is being updated, it is missing from the list, or it is not known whether an AppEnvironment's call to it
 * took effect.
 */
export function awaitDeployments(pass: SolutionPass): SolutionStep | undefined {
  const { view, account, askedAt } = pass;
  const list = appEnvsOf(account.accountId);
  for (const environmentId of environmentIds(pass)) {
    const seen = view.one(list, environmentId);
    if (seen === undefined || seen.snapshot.begunAt < askedAt) return readOf(pass, list, askedAt);
    if (seen.item === undefined || isUnderWay(seen.item.status)) {
      const what =
        seen.item === undefined
          ? `the service does not list environment ${environmentId}`
          : `environment ${environmentId} is being updated`;
      const message = `${what}; the upgrade of the solution follows afterwards`;
      return { is: 'wait', reason: 'Updating', message, retryInMs: account.pollMs };
    }
    const waits = awaitDoubts(pass, boundToEnvironment(pass, environmentId), 'the solution is not upgraded');
    if (waits !== undefined) return waits;
  }
  return undefined;
}

/**
 * How far the creation time of a component may lie outside the time during which the installation request could arrive.
 * That time is counted from the last list before the request, although the request is sent a little later. Also, the
 * service may have several clocks that differ.
 */
const presumedSlackMs = 60_000;

/**
 * Finds the apps that were created by an installation request whose outcome is unknown. Returns them only if nothing
 * else can have created them: each component in the catalog has exactly one new app with a matching name, the app was
 * created while the request could arrive, and no other resource manages or creates it.
 *
 * Why: docs/design/deployments.md#after-a-lost-first-answer-matching-new-apps-are-presumed-to-be-the-components
 */
export function presumed(
  pass: SolutionPass,
  entry: JournalEntry,
  traces: readonly AppItem[],
): SolutionInstallationFacts['components'] {
  const { create } = entry;
  const names = componentNames(pass);
  if (create === undefined || create.excluded.length >= mostExcluded || traces.length !== names.length)
    return undefined;
  if (pass.creating(create.collection, create.name) !== undefined) return undefined;
  if (traces.some((app) => isOthers(pass, app) || !isInTime(pass, entry, app))) return undefined;
  const fitting = names.map((name) => traces.filter((app) => squashed(app.name) === squashed(create.name + name)));
  if (fitting.some(({ length }) => length !== 1) || new Set(fitting.flat()).size !== names.length) return undefined;
  return fitting.flat().map(({ appId }, at) => ({ name: names[at], appId }));
}

/** True if another resource manages the app, or may be creating an app with this name. */
function isOthers(pass: SolutionPass, { appId, name }: AppItem): boolean {
  const apps = appsOf(pass.account.accountId).key;
  return (pass.related?.('HostedApp', appId) ?? []).length > 0 || pass.creating(apps, name) !== undefined;
}

/**
 * True if, by the service's clock, the app was created while the installation request could arrive. Also true if the
 * service shows no creation time of the app, or sent no time with the list before the request.
 */
function isInTime({ horizonMs }: SolutionPass, entry: JournalEntry, app: AppItem): boolean {
  const { create } = entry;
  if (create?.serviceTime === undefined || app.createdAtMs === undefined) return true;
  const sinceMs = app.createdAtMs - Date.parse(create.serviceTime);
  return sinceMs >= -presumedSlackMs && sinceMs <= arrivesWithinMs(entry, horizonMs) + presumedSlackMs;
}
