/**
 * Binds an AppEnvironment to one environment of the service, and checks in every reconcile that the two still belong
 * together.
 *
 * Guarantees: a bound environment is identified by its id. The AppEnvironment is bound to another environment only
 * after the first environment is proved gone. Nothing is sent to a bound environment that was renamed or that belongs
 * to another app.
 */
import { boundTo, notGranted } from '../../engine/kind/planner/create.ts';
import { claimedByOlder } from '../../engine/kind/planner/planner.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import { readOf, waitForSecondMiss, waitWhileFrozen } from '../../engine/kind/planner/observe.ts';
import type { Step } from '../../engine/kind/contract/step.ts';
import type { Snapshot } from '../../engine/ports.ts';
import { appEnvsOf, type AppEnvItem } from '../../hosting/requests.ts';
import { idOf } from '../shared/references.ts';
import type { AppEnvironmentFacts, AppEnvironmentSpec } from './schema.ts';
import type { SolutionInstallationFacts } from '../solution-installation/schema.ts';

export type EnvironmentPass = Pass<AppEnvironmentSpec, AppEnvironmentFacts>;
export type EnvironmentStep = Step<AppEnvironmentFacts>;

/**
 * The result of looking for the bound environment: the environment as the newest list shows it, or the next step of the
 * reconcile.
 */
type Located =
  | { readonly is: 'found'; readonly item: AppEnvItem; readonly snapshot: Snapshot }
  | EnvironmentStep
  /** The environment no longer exists, so an earlier call to the environment can have no effect any more. */
  | { readonly is: 'gone'; readonly step: EnvironmentStep };

/**
 * Finds the environment that the resource is bound to. Stalls if an older resource claims the environment, or if the
 * environment no longer fits the spec.
 */
export function locate(pass: EnvironmentPass): Located {
  const { id } = pass.memory;
  if (id === undefined) return bind(pass);
  const seen = pass.view.one(listOf(pass), id);
  if (seen === undefined) return readOf(pass, listOf(pass));
  const others = claimed(pass, id);
  if (others !== undefined) return others;
  const { item, snapshot } = seen;
  if (item === undefined) return missing(pass, id, snapshot);
  const changed = changeOf(pass, item);
  if (changed === undefined) return { is: 'found', item, snapshot };
  const message = `${changed}; nothing is sent to the environment. To keep managing the environment, create another AppEnvironment with its current name and app`;
  return { is: 'stall', reason: 'EnvironmentChanged', message };
}

/** Returns the read request for the list of the account's environments. */
export function listOf(pass: EnvironmentPass): ReturnType<typeof appEnvsOf> {
  return appEnvsOf(pass.account.accountId);
}

/** Returns the service's id of the app that spec.appRef names. */
function appIdOf(pass: EnvironmentPass): string | undefined {
  return idOf('HostedApp', pass.spec.appRef, pass);
}

/** Returns the id of the environment that the solution in spec.solutionRef created for spec.component. */
function componentId({ spec, referred }: EnvironmentPass): string | undefined {
  if (spec.solutionRef === undefined) return undefined;
  const { components } = (referred('SolutionInstallation', spec.solutionRef.name)?.facts ??
    {}) as SolutionInstallationFacts;
  return components?.find(({ name }) => name === spec.component)?.environmentId;
}

/** Returns those environments in the newest list that have the id, or the names, that the spec gives. */
function candidates(pass: EnvironmentPass): readonly AppEnvItem[] {
  const items = pass.view.all(listOf(pass))?.items ?? new Map<string, AppEnvItem>();
  const id = pass.spec.externalId ?? componentId(pass);
  if (id === undefined) return [...items.values()].filter((item) => isNamed(pass, item));
  const item = items.get(id);
  return item === undefined ? [] : [item];
}

function isNamed(pass: EnvironmentPass, item: AppEnvItem): boolean {
  const { environmentName, cliEnvironmentName } = pass.spec;
  const appId = appIdOf(pass);
  if (appId !== undefined && item.appId !== appId) return false;
  if (environmentName !== undefined) return item.name === environmentName;
  return cliEnvironmentName !== undefined && item.cliEnvName === cliEnvironmentName;
}

/** Binds the resource to the environment that the spec names, or reports why the environment cannot be bound. */
function bind(pass: EnvironmentPass): EnvironmentStep {
  const list = listOf(pass);
  const snapshot = pass.view.all(list);
  if (snapshot === undefined) return readOf(pass, list);
  const found = candidates(pass);
  const [only, other] = found;
  if (only === undefined) return snapshot.begunAt < pass.askedAt ? readOf(pass, list, pass.askedAt) : notFound(pass);
  if (other !== undefined) {
    const ids = found.map(({ appEnvId }) => appEnvId).toSorted();
    const message = `${found.length} environments have this name: ${ids.slice(0, 5).join(', ')}; to choose one, create another AppEnvironment with the environment's id in spec.externalId`;
    return { is: 'stall', reason: 'Ambiguous', message };
  }
  const changed = changeOf(pass, only);
  if (changed !== undefined) return { is: 'stall', reason: 'EnvironmentChanged', message: changed };
  return claimed(pass, only.appEnvId) ?? notAllowed(pass, only.appEnvId) ?? bindTo(pass, only.appEnvId);
}

function bindTo(pass: EnvironmentPass, id: string): EnvironmentStep {
  return { is: 'again', remember: { ...boundTo(pass, id, 'Adopted'), facts: {}, applied: undefined }, note: {} };
}

/**
 * Stalls if the account does not allow adoption, unless the spec names the environment through a HostedApp or
 * SolutionInstallation of this namespace.
 */
function notAllowed({ spec, account }: EnvironmentPass, id: string): EnvironmentStep | undefined {
  if (spec.appRef?.name !== undefined || spec.solutionRef !== undefined) return undefined;
  return notGranted(
    `the spec names environment ${id} without a HostedApp or SolutionInstallation of this namespace`,
    account,
  );
}

function claimed(pass: EnvironmentPass, id: string): EnvironmentStep | undefined {
  return claimedByOlder(pass, id, `environment ${id}`, 'environment');
}

/**
 * Describes how the environment differs from the spec: it belongs to another app, has another name, or is no longer the
 * component of the solution. Returns undefined if nothing differs.
 */
function changeOf(pass: EnvironmentPass, item: AppEnvItem): string | undefined {
  const { spec } = pass;
  const appId = appIdOf(pass);
  const made = componentId(pass);
  if (appId !== undefined && item.appId !== appId)
    return `environment ${item.appEnvId} belongs to app ${item.appId} and not to app ${appId}`;
  if (spec.environmentName !== undefined && item.name !== spec.environmentName)
    return `environment ${item.appEnvId} is called "${item.name}" and not "${spec.environmentName}"`;
  const { cliEnvName } = item;
  if (spec.cliEnvironmentName !== undefined && cliEnvName !== undefined && cliEnvName !== spec.cliEnvironmentName)
    return `environment ${item.appEnvId} has the CLI name "${cliEnvName}" and not "${spec.cliEnvironmentName}"`;
  return made === undefined || made === item.appEnvId
    ? undefined
    : `environment ${item.appEnvId} is no longer component "${spec.component}" of the solution`;
}

/** Treats the bound environment as gone if it is missing from two lists that were read one poll interval apart. */
function missing(pass: EnvironmentPass, id: string, snapshot: Snapshot): Located {
  const message = `the service does not list environment ${id}; the operator checks once more before it treats the environment as gone`;
  const look = { read: listOf(pass), begunAt: snapshot.begunAt, apartMs: pass.account.pollMs };
  const unsure = waitForSecondMiss(pass, look, { reason: 'ObjectMissing', message });
  if (unsure !== undefined) return unsure;
  const note = { ...pass.notes, provedGone: true };
  const blind = waitWhileFrozen(pass);
  if (blind !== undefined) return { ...blind, note };
  const [successor, other] = candidates(pass).filter(({ appEnvId }) => appEnvId !== id);
  if (successor !== undefined && other === undefined) {
    const others = claimed(pass, successor.appEnvId);
    return others ? { is: 'gone', step: others } : bindTo(pass, successor.appEnvId);
  }
  return { is: 'gone', step: { ...notFound(pass), note } };
}

function notFound(pass: EnvironmentPass): Extract<EnvironmentStep, { is: 'wait' }> {
  return { is: 'wait', reason: 'EnvironmentNotFound', message: absenceOf(pass) };
}

/** Says that the environment which the spec names does not exist, and what to do. */
function absenceOf(pass: EnvironmentPass): string {
  const { externalId, solutionRef, component, environmentName, cliEnvironmentName } = pass.spec;
  if (externalId !== undefined)
    return `the service lists no environment ${externalId}; if the id is wrong, create another AppEnvironment with the right id`;
  if (component !== undefined)
    return `status.components of SolutionInstallation ${solutionRef?.name ?? ''} shows no existing environment of component "${component}"; this resource binds to the environment once it is there`;
  const appId = appIdOf(pass);
  const where = appId === undefined ? '' : ` of app ${appId}`;
  const what =
    environmentName === undefined ? `with the CLI name "${cliEnvironmentName ?? ''}"` : `"${environmentName}"`;
  return `there is no environment ${what}${where}; create it in the service's console, because the service's API cannot create environments. This resource then binds to it`;
}
