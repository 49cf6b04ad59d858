// Reads data on which a configuration depends but which it does not store, such as its source environment and the state of its regions.
// Also creates the recovered environment.
import { type App, apps, createApp } from '../apps/app.ts';
import { createEnvironment, environments } from '../environments/environment.ts';
import { present } from '../../http/fields.ts';
import type { World } from '../../store/store.ts';
import type { Configuration, Pinned, RetainedSource, TargetNames } from './model.ts';
import { runningActivation } from './operations.ts';
import { environmentIn, isUp, sourceOf, supports } from './source.ts';

/** Returns the current data about the source environment of a configuration; undefined if the environment was deleted. */
export function sourceNow(world: World, { accountId, sourceAppEnvId }: Configuration): RetainedSource | undefined {
  const environment = environmentIn(world, accountId, sourceAppEnvId);
  return environment && sourceOf(world, environment);
}

/** True if the destination region of a configuration is up. */
export function destinationUp(world: World, { settings }: Configuration): boolean {
  return isUp(world, settings.destinationRegion);
}

/** True if the source environment of a configuration exists, and its region is up and supports disaster readiness. */
export function sourceReachable(world: World, configuration: Configuration): boolean {
  const region = sourceNow(world, configuration)?.region ?? '';
  return isUp(world, region) && supports(world, region);
}

/** True if the running activation could create its environment now: the source app still exists, or the name of the new app is free. */
export function handoffPossible(world: World, configuration: Configuration): boolean {
  const target = runningActivation(configuration)?.pinned?.target;
  return target === undefined || obstacleTo(world, configuration, target) === undefined;
}

/** Returns the reason why an environment cannot be recovered with these target names; undefined if it can. */
export function obstacleTo(world: World, { accountId, source }: Configuration, target: TargetNames) {
  if (!target.createNewApp) return world.of(apps).has(source.appId) ? undefined : 'the source app no longer exists';
  const unique = world.readings['names.apps'] === 'unique';
  const taken = unique && world.of(apps).where('name', `${accountId}/${target.appName ?? ''}`).length > 0;
  return taken ? 'an app with this name already exists' : undefined;
}

/**
 * Finds the target environment of a protection: its warm standby, or else the environment that an activation created. Returns undefined
 * if there is neither.
 */
export function targetOf(world: World, configuration: Configuration) {
  const { standby, target, source, activationResult } = configuration;
  if (standby !== undefined && target !== undefined) {
    const { targetAppEnvId: appEnvId, targetAppId: appId } = standby;
    return { appEnvId, appId, appName: target.appName ?? source.appName, environmentName: target.envName };
  }
  const live = world.of(environments).get(activationResult?.targetAppEnvId ?? '');
  if (live === undefined) return undefined;
  const { appEnvId, appId, name: environmentName } = live;
  return { appEnvId, appId, appName: world.of(apps).get(appId)?.name ?? '', environmentName };
}

/**
 * Returns the engine if the source is a PostgreSQL or Redis database, which the service itself starts after a recovery. Returns undefined
 * for all other sources, which the user must deploy after a recovery.
 */
export function nativeEngine({ dockerPreset }: RetainedSource): 'postgresql' | 'redis' | undefined {
  if (dockerPreset === 'POSTGRESQL') return 'postgresql';
  return dockerPreset === 'REDIS' ? 'redis' : undefined;
}

/**
 * Creates the recovered environment, and a new app for it if the target asks for one. The new environment gets the size
 * and volumes of the source environment, but not its image, secrets, variables or hosts. If the source was deleted, the
 * size and volumes stored in the configuration are used. A PostgreSQL or Redis database runs at once; any other
 * workload is stopped until it is deployed.
 */
export function bringToLife(world: World, configuration: Configuration, pinned: Pinned): void {
  const { accountId, source, settings } = configuration;
  const { target, targetAppId, targetAppEnvId } = pinned;
  const { replicas, zClouds, cpu, memoryMb, volumeCapacities } = (sourceNow(world, configuration) ?? source).sizing;
  if (target.createNewApp) {
    const app = world.of(apps).get(source.appId);
    createApp(world, {
      ...(app && settingsOf(app)),
      appId: targetAppId,
      accountId,
      name: target.appName ?? source.appName,
      dockerPreset: source.dockerPreset,
    });
  }
  createEnvironment(world, {
    appEnvId: targetAppEnvId,
    appId: targetAppId,
    name: target.envName,
    region: settings.destinationRegion,
    status: nativeEngine(source) === undefined ? 'stopped' : 'running',
    volumes: volumeCapacities.length,
    resources: { containers: replicas, zClouds, cpu, memory: memoryMb },
  });
}

/** Selects the settings that the app of a recovered environment copies from the source app. */
function settingsOf(app: App): Partial<App> {
  const { dockerPresetVersion, contextDir, dockerfilePath, useImage, port, builder } = app;
  return present({ contextDir, useImage, builder, dockerPresetVersion, dockerfilePath, port });
}
