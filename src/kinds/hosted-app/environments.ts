/**
 * Finds the environments of an app in the lists of the service. Finds the AppEnvironments that are bound to these
 * environments, and those AppEnvironments that deploy an image.
 */
import type { Pass, Related } from '../../engine/kind/contract/pass.ts';
import type { Step } from '../../engine/kind/contract/step.ts';
import { appEnvsOf, type AppEnvItem } from '../../hosting/requests.ts';
import { boundToEnvironment } from '../shared/others-in-doubt.ts';
import type { AppEnvironmentFacts, AppEnvironmentSpec } from '../app-environment/schema.ts';
import type { HostedAppFacts, HostedAppSpec } from './schema.ts';

export type AppPass = Pass<HostedAppSpec, HostedAppFacts>;
export type AppStep = Step<HostedAppFacts>;

/** Returns the app's environments in the service; undefined until the list of environments was read. */
export function environmentsOf({ memory, view, account }: AppPass): readonly AppEnvItem[] | undefined {
  return view.group(appEnvsOf(account.accountId), memory.id ?? '')?.items;
}

/** Returns the ids of the app's environments in the service. */
export function environmentIds(pass: AppPass): readonly string[] {
  return environmentsOf(pass)?.map(({ appEnvId }) => appEnvId) ?? [];
}

/** Returns the AppEnvironments that are bound to environments of the app, no matter how their specs name the environment. */
export function boundEnvironments(pass: AppPass): readonly Related[] {
  return environmentIds(pass).flatMap((appEnvId) => boundToEnvironment(pass, appEnvId));
}

/**
 * True if every environment of the app was deployed or restarted by its AppEnvironment after `sinceMs`. If `how` is
 * `settingsMs`, any deployment or restart counts. If `how` is `versionMs`, only deployments that made a new content
 * version count.
 */
export function haveTaken(pass: AppPass, how: 'settingsMs' | 'versionMs', sinceMs: number): boolean {
  const ids = environmentIds(pass);
  const taken = boundEnvironments(pass).filter(({ facts }) => {
    const { tookChanges } = facts as AppEnvironmentFacts;
    return (tookChanges?.[how] ?? 0) > sinceMs;
  });
  return ids.length > 0 && ids.every((appEnvId) => taken.some(({ id }) => id === appEnvId));
}

/** Returns the names of the AppEnvironments that deploy an image of their own to environments of the app. */
export function boundDeployers(pass: AppPass): readonly string[] {
  return boundEnvironments(pass)
    .filter(deploysImage)
    .map(({ name }) => name);
}

/**
 * True if an AppEnvironment deploys an image of its own to the app. Considers each AppEnvironment that is bound to an
 * environment of the app, or that is not bound yet, but is in the same namespace and refers to the app. The image in
 * the spec of the HostedApp is then used only to create the app.
 */
export function isDeployedByEnvironment(pass: AppPass): boolean {
  if (pass.memory.id === undefined) return false;
  const unbound = (pass.inAccount?.('AppEnvironment') ?? []).filter(
    ({ id, namespace, spec }) =>
      id === undefined && namespace === pass.subject.namespace && refersTo(pass, (spec ?? {}) as AppEnvironmentSpec),
  );
  return [...boundEnvironments(pass), ...unbound].some(deploysImage);
}

/** True if the spec of an AppEnvironment refers to the app, or to an environment of the app. */
function refersTo(pass: AppPass, { appRef, externalId, cliEnvironmentName }: Partial<AppEnvironmentSpec>): boolean {
  if (appRef !== undefined) return appRef.name === pass.subject.name || appRef.externalId === pass.memory.id;
  const environments = environmentsOf(pass) ?? [];
  return externalId === undefined
    ? environments.some(({ cliEnvName }) => cliEnvName !== undefined && cliEnvName === cliEnvironmentName)
    : environments.some(({ appEnvId }) => appEnvId === externalId);
}

function deploysImage({ spec }: Related): boolean {
  const { deploy, lifecycle } = (spec ?? {}) as Partial<AppEnvironmentSpec>;
  return lifecycle?.managementPolicy !== 'Observe' && deploy?.image !== undefined;
}
