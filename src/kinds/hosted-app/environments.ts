/** Finds the environments of an app, and the AppEnvironments that are bound to them. */
import { adoptionWithin } from '../../engine/kind/planner/create.ts';
import type { Pass, Related } from '../../engine/kind/contract/pass.ts';
import type { Step } from '../../engine/kind/contract/step.ts';
import { appEnvsOf, type AppEnvItem } from '../../hosting/requests.ts';
import type { AppEnvironmentFacts, AppEnvironmentSpec } from '../app-environment/schema.ts';
import type { HostedAppFacts, HostedAppSpec } from './schema.ts';

export type AppPass = Pass<HostedAppSpec, HostedAppFacts>;
export type AppStep = Step<HostedAppFacts>;

/** The ids of the app's environments in the service. */
export function environmentIds(pass: AppPass): readonly string[] {
  return environmentsOf(pass).map(({ appEnvId }) => appEnvId);
}

function environmentsOf({ memory, view, account }: AppPass): readonly AppEnvItem[] {
  return view.group(appEnvsOf(account.accountId), memory.id ?? '')?.items ?? [];
}

/** The AppEnvironments that are bound to environments of the app, whichever way their specs name them. */
export function boundEnvironments(pass: AppPass): readonly Related[] {
  return environmentIds(pass).flatMap((appEnvId) =>
    (pass.related?.('AppEnvironment', appEnvId) ?? []).filter(({ id }) => id === appEnvId),
  );
}

/**
 * True if AppEnvironments have deployed every environment of the app after `sinceMs`, in a way that takes up new settings
 * (`settingsMs`) or makes a new version (`versionMs`).
 */
export function haveTaken(pass: AppPass, how: 'settingsMs' | 'versionMs', sinceMs: number): boolean {
  const ids = environmentIds(pass);
  const taken = boundEnvironments(pass).filter(({ facts }) => {
    const { tookChanges } = facts as AppEnvironmentFacts;
    return (tookChanges?.[how] ?? 0) > sinceMs;
  });
  return ids.length > 0 && ids.every((appEnvId) => taken.some(({ id }) => id === appEnvId));
}

/** The names of the AppEnvironments that are bound to environments of the app and deploy an image of their own. */
export function boundDeployers(pass: AppPass): readonly string[] {
  return boundEnvironments(pass)
    .filter(deploysImage)
    .map(({ name }) => name);
}

/**
 * True if an AppEnvironment deploys an image of its own and is bound to an environment of the app, or is about to be. The app's
 * image is then used only at creation.
 */
export function isDeployedByEnvironment(pass: AppPass): boolean {
  if (pass.memory.id === undefined) return false;
  const bound = boundEnvironments(pass);
  const taken = new Set(bound.map(({ id }) => id));
  const unbound = (pass.inAccount?.('AppEnvironment') ?? []).filter(
    (other) => other.id === undefined && isMeant(pass, other, taken),
  );
  return [...bound, ...unbound].some(deploysImage);
}

/** The image that AppEnvironments deploy to all environments of the app; undefined unless they all deploy the same. */
export function imageOfAll(pass: AppPass): string | undefined {
  const bound = boundEnvironments(pass);
  const images = environmentIds(pass).map((appEnvId) => bound.filter(({ id }) => id === appEnvId).map(imageOf)[0]);
  return new Set(images).size === 1 ? images[0] : undefined;
}

function deploysImage(related: Related): boolean {
  return imageOf(related) !== undefined;
}

function imageOf({ spec }: Related): string | undefined {
  const { deploy, lifecycle } = (spec ?? {}) as Partial<AppEnvironmentSpec>;
  return lifecycle?.managementPolicy === 'Observe' ? undefined : deploy?.image;
}

/**
 * True if an AppEnvironment is about to bind an environment of the app that is free or does not exist yet. Without a reference
 * to the app it counts only where adoption is allowed.
 */
function isMeant(pass: AppPass, { spec, namespace }: Related, taken: ReadonlySet<string | undefined>): boolean {
  const { externalId, appRef, environmentName, cliEnvironmentName } = (spec ?? {}) as Partial<AppEnvironmentSpec>;
  const appId = appRef?.externalId;
  const refers = appRef?.name === pass.subject.name && namespace === pass.subject.namespace;
  if (!refers && adoptionWithin(pass.account) === 'Never') return false;
  const ofThis = appId === undefined ? refers : appId === pass.memory.id;
  const ofAny = appId === undefined && appRef === undefined;
  const named = environmentsOf(pass).filter((item) =>
    externalId !== undefined
      ? item.appEnvId === externalId
      : (ofThis || ofAny) &&
        (environmentName === undefined
          ? cliEnvironmentName !== undefined && item.cliEnvName === cliEnvironmentName
          : item.name === environmentName),
  );
  return named.length === 0 ? ofThis : named.some((item) => !taken.has(item.appEnvId));
}
