// Reads what disaster readiness needs from other areas: environments as sources, and regions as destinations. Also creates the recovered
// environment.
import { type App, apps, createApp } from '../apps/app.ts';
import { isDatabase } from '../apps/presets.ts';
import { createEnvironment, type Environment, environments } from '../environments/environment.ts';
import { present } from '../http/fields.ts';
import { regions } from '../accounts/records.ts';
import type { World } from '../store/store.ts';
import type { Configuration, Pinned, RetainedSource, TargetNames } from './model.ts';
import { runningActivation } from './operations.ts';

const VOLUME_CAPACITY = '10Gi';
const WITHOUT_VOLUMES: readonly string[] = ['FUNCTION', 'JOB'];

/** Finds an environment of an account by its id. */
export function environmentIn(world: World, accountId: string, appEnvId: string): Environment | undefined {
  const environment = world.of(environments).get(appEnvId);
  return environment?.accountId === accountId ? environment : undefined;
}

/** Collects the facts about an environment that its protection keeps. */
export function sourceOf(world: World, environment: Environment) {
  const { appId, name: environmentName, region } = environment;
  // A list that shows an older state may contain an environment whose app is already deleted.
  const app: Partial<App> = world.of(apps).get(appId) ?? {};
  const { dockerPreset = 'CUSTOM', name: appName = '' } = app;
  const sizing = sizingOf(environment);
  return { appId, appName, environmentName, region, dockerPreset, isDatabase: isDatabase(dockerPreset), sizing };
}

/** Collects the current facts about the source of a configuration; returns undefined when the source is deleted. */
export function sourceNow(world: World, { accountId, sourceAppEnvId }: Configuration): RetainedSource | undefined {
  const environment = environmentIn(world, accountId, sourceAppEnvId);
  return environment && sourceOf(world, environment);
}

function sizingOf({ resources, volumes }: Environment) {
  const { containers, zClouds, cpu, memory } = resources;
  return {
    replicas: containers,
    zClouds,
    cpu,
    cpuRequest: cpu / 2,
    memoryMb: memory,
    memoryRequestMb: memory / 2,
    volumeCapacities: Array.from({ length: volumes }, () => VOLUME_CAPACITY),
  };
}

/** Lists the reasons why an environment cannot be protected; returns an empty list when it can be. */
export function unsupportedReasons(world: World, environment: Environment): readonly string[] {
  const { dockerPreset } = sourceOf(world, environment);
  const reasons: string[] = [];
  if (WITHOUT_VOLUMES.includes(dockerPreset)) reasons.push('presetUnsupported');
  if (environment.volumes === 0) reasons.push('noPersistentVolume');
  if (!supports(world, environment.region)) reasons.push('regionUnsupported');
  if (eligibleDestinations(world, environment).length === 0) reasons.push('noEligibleDestination');
  return reasons;
}

/** Lists the regions that can hold the copies of a source. The region of the source comes last, because it needs an acknowledgement. */
export function eligibleDestinations(world: World, { region: own }: Pick<Environment, 'region'>): readonly string[] {
  const all = world.of(regions).all();
  const names = all.filter(({ name }) => supports(world, name)).map(({ name }) => name);
  return [...names.filter((name) => name !== own), ...names.filter((name) => name === own)];
}

/** Tells if a region supports disaster readiness. */
export function supports(world: World, region: string): boolean {
  return world.of(regions).get(region)?.supports.disasterReadiness === true;
}

/** Tells if a region is up. */
export function isUp(world: World, region: string): boolean {
  return world.of(regions).get(region)?.up === true;
}

/** Tells if the region that a configuration copies to is up. */
export function destinationUp(world: World, { settings }: Configuration): boolean {
  return isUp(world, settings.destinationRegion);
}

/** Tells if a source environment exists, and its region is up and supports disaster readiness. */
export function sourceReachable(world: World, configuration: Configuration): boolean {
  const region = sourceNow(world, configuration)?.region ?? '';
  return isUp(world, region) && supports(world, region);
}

/** Tells if the running activation could create its environment: the app exists, or the name of a new app is free. */
export function handoffPossible(world: World, configuration: Configuration): boolean {
  const target = runningActivation(configuration)?.pinned?.target;
  return target === undefined || obstacleTo(world, configuration, target) === undefined;
}

/** Says why no recovered environment can be created under these names; returns undefined when one can. */
export function obstacleTo(world: World, { accountId, source }: Configuration, target: TargetNames) {
  if (!target.createNewApp) return world.of(apps).has(source.appId) ? undefined : 'the source app is gone';
  const unique = world.readings['names.apps'] === 'unique';
  const taken = unique && world.of(apps).where('name', `${accountId}/${target.appName ?? ''}`).length > 0;
  return taken ? 'an app with this name exists already' : undefined;
}

/** Finds the target environment of a protection: its warm standby, or the environment that an activation created. */
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

/** Returns the engine of a database that the service itself starts after a recovery; undefined for a workload that the user must deploy. */
export function nativeEngine({ dockerPreset }: RetainedSource): 'postgresql' | 'redis' | undefined {
  if (dockerPreset === 'POSTGRESQL') return 'postgresql';
  return dockerPreset === 'REDIS' ? 'redis' : undefined;
}

/**
 * Creates the recovered environment, and a new app for it if the target says so. The environment gets the sizes and volumes of its source,
 * but not its image, secrets, variables and hosts. A PostgreSQL or Redis database runs at once; every other workload waits for a
 * deployment.
 */
export function bringToLife(world: World, configuration: Configuration, pinned: Pinned): void {
  const { accountId, source, settings, sourceAppEnvId } = configuration;
  const { target, targetAppId, targetAppEnvId } = pinned;
  const from = world.of(environments).get(sourceAppEnvId);
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
    volumes: from?.volumes ?? source.sizing.volumeCapacities.length,
    ...(from && { resources: from.resources }),
  });
}

/** Selects the settings that the app of a recovered environment copies from the source app. */
function settingsOf(app: App): Partial<App> {
  const { dockerPresetVersion, contextDir, dockerfilePath, useImage, port, builder } = app;
  return present({ contextDir, useImage, builder, dockerPresetVersion, dockerfilePath, port });
}
