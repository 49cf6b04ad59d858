/**
 * Binds an AppEnvironment to one environment of the service, and checks in every pass that the two still belong together.
 *
 * Guarantees: a bound environment is identified by its id. Another environment takes its place only after the bound one is
 * proved gone. Nothing is sent to a bound environment that was renamed or belongs to another app.
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

/** An environment as the newest list shows it. */
export interface FoundEnvironment {
  readonly is: 'found';
  readonly item: AppEnvItem;
  readonly snapshot: Snapshot<AppEnvItem>;
}

/** A bound environment, or the next step towards finding it. */
type Located =
  | FoundEnvironment
  | { readonly is: 'step'; readonly step: EnvironmentStep }
  /** The environment is proved gone, so a lost call to it can have no effect any more. */
  | { readonly is: 'gone'; readonly step: EnvironmentStep };

/** Finds the bound environment. Refuses one that an older resource claims, or that no longer fits the spec. */
export function locate(pass: EnvironmentPass): Located {
  const { id } = pass.memory;
  if (id === undefined) return { is: 'step', step: bind(pass) };
  const seen = pass.view.one(listOf(pass), id);
  if (seen === undefined) return { is: 'step', step: readOf(pass, listOf(pass)) };
  const others = claimed(pass, id);
  if (others !== undefined) return { is: 'step', step: others };
  const { item, snapshot } = seen;
  if (item === undefined) return missing(pass, id, snapshot);
  const changed = changeOf(pass, item);
  if (changed === undefined) return { is: 'found', item, snapshot };
  const message = `environment ${id} ${changed}; nothing is sent to it. To go on with it, create another resource that names it as it is now`;
  return { is: 'step', step: { is: 'stall', reason: 'EnvironmentChanged', message } };
}

/** Returns the read that lists the environments of the account. */
export function listOf(pass: EnvironmentPass): ReturnType<typeof appEnvsOf> {
  return appEnvsOf(pass.account.accountId);
}

/** Returns the service's id of the app that spec.appRef names. */
function appIdOf(pass: EnvironmentPass): string | undefined {
  return idOf('HostedApp', pass.spec.appRef, pass);
}

/** Returns the id of the environment that the solution made for spec.component. */
function componentId({ spec, referred }: EnvironmentPass): string | undefined {
  if (spec.solutionRef === undefined) return undefined;
  const { components } = (referred('SolutionInstallation', spec.solutionRef.name)?.facts ??
    {}) as SolutionInstallationFacts;
  return components?.find(({ name }) => name === spec.component)?.environmentId;
}

/** Returns the environments in the newest list that fit the spec. */
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

/** Binds the environment that the spec names, or says why it cannot be bound. */
function bind(pass: EnvironmentPass): EnvironmentStep {
  const list = listOf(pass);
  const snapshot = pass.view.all(list);
  if (snapshot === undefined) return readOf(pass, list);
  const found = candidates(pass);
  const [only, other] = found;
  if (only === undefined) return snapshot.begunAt < pass.askedAt ? readOf(pass, list, pass.askedAt) : notFound(pass);
  if (other !== undefined) {
    const ids = found.map(({ appEnvId }) => appEnvId).toSorted();
    const message = `${found.length} environments have this name: ${ids.slice(0, 5).join(', ')}; name one by spec.externalId in another resource`;
    return { is: 'stall', reason: 'Ambiguous', message };
  }
  const changed = changeOf(pass, only);
  if (changed !== undefined) {
    return { is: 'stall', reason: 'EnvironmentChanged', message: `environment ${only.appEnvId} ${changed}` };
  }
  return claimed(pass, only.appEnvId) ?? notAllowed(pass, only.appEnvId) ?? bindTo(pass, only.appEnvId);
}

function bindTo(pass: EnvironmentPass, id: string): EnvironmentStep {
  return { is: 'again', remember: { ...boundTo(pass, id, 'Adopted'), facts: {}, applied: undefined }, note: {} };
}

/** Stalls when the spec names an environment without an app or a solution of this namespace, and the account does not allow adoption. */
function notAllowed({ spec, account }: EnvironmentPass, id: string): EnvironmentStep | undefined {
  if (spec.appRef?.name !== undefined || spec.solutionRef !== undefined) return undefined;
  return notGranted(`environment ${id} was not made by this namespace`, account);
}

function claimed(pass: EnvironmentPass, id: string): EnvironmentStep | undefined {
  return claimedByOlder(pass, id, `environment ${id}`, 'environment');
}

/** Says in what the environment differs from the app, names and component in the spec; returns undefined if nothing differs. */
function changeOf(pass: EnvironmentPass, item: AppEnvItem): string | undefined {
  const { spec } = pass;
  const appId = appIdOf(pass);
  const made = componentId(pass);
  if (appId !== undefined && item.appId !== appId) return `belongs to app ${item.appId} and not to ${appId}`;
  if (spec.environmentName !== undefined && item.name !== spec.environmentName) {
    return `is called "${item.name}" and not "${spec.environmentName}"`;
  }
  const { cliEnvName } = item;
  if (spec.cliEnvironmentName !== undefined && cliEnvName !== undefined && cliEnvName !== spec.cliEnvironmentName) {
    return `has the command line name "${cliEnvName}" and not "${spec.cliEnvironmentName}"`;
  }
  return made === undefined || made === item.appEnvId ? undefined : `is not component "${spec.component}" any more`;
}

/** Counts a bound environment as gone when two lists, one poll apart, do not show it. */
function missing(pass: EnvironmentPass, id: string, snapshot: Snapshot): Located {
  const message = `environment ${id} is not found in the service; looking once more before it counts as gone`;
  const look = { read: listOf(pass), begunAt: snapshot.begunAt, apartMs: pass.account.pollMs };
  const unsure = waitForSecondMiss(pass, look, { reason: 'ObjectMissing', message });
  if (unsure !== undefined) return { is: 'step', step: unsure };
  const note = { ...pass.notes, provedGone: 1 };
  const blind = waitWhileFrozen(pass);
  if (blind !== undefined) return { is: 'step', step: { ...blind, note } };
  const [successor, other] = candidates(pass).filter(({ appEnvId }) => appEnvId !== id);
  if (successor !== undefined && other === undefined) {
    const others = claimed(pass, successor.appEnvId);
    return others ? { is: 'gone', step: others } : { is: 'step', step: bindTo(pass, successor.appEnvId) };
  }
  return { is: 'gone', step: { ...notFound(pass), note } };
}

function notFound(pass: EnvironmentPass): Extract<EnvironmentStep, { is: 'wait' }> {
  const appId = appIdOf(pass);
  const where = appId === undefined ? '' : ` of app ${appId}`;
  const message = `there is no environment ${meantBy(pass.spec)}${where}; the interface cannot create one: create it in the service's console, and it is bound as soon as it shows`;
  return { is: 'wait', reason: 'EnvironmentNotFound', message };
}

/** Describes in messages the environment that the spec means. */
function meantBy(spec: AppEnvironmentSpec): string {
  if (spec.environmentName !== undefined) return `"${spec.environmentName}"`;
  if (spec.cliEnvironmentName !== undefined) return `with the command line name "${spec.cliEnvironmentName}"`;
  return spec.component === undefined ? (spec.externalId ?? '') : `of component "${spec.component}"`;
}
