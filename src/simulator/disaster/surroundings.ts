// The rest of the world as disaster readiness sees it: environments as sources, regions as destinations, and the recovered
// environment that comes into being there.
import { type App, apps, createApp } from '../apps/app.ts';
import { createEnvironment, type Environment, environments } from '../environments/environment.ts';
import { isDatabase } from '../apps/presets.ts';
import { present } from '../http/fields.ts';
import { regions } from '../accounts/records.ts';
import type { World } from '../store/store.ts';
import type { Configuration, Pinned, RetainedSource, TargetNames } from './model.ts';
import { runningActivation } from './operations.ts';

const VOLUME_CAPACITY = '10Gi';
const WITHOUT_VOLUMES: readonly string[] = ['FUNCTION', 'JOB'];

/** An environment of this account; undefined when there is none. */
export function environmentIn(world: World, accountId: string, appEnvId: string): Environment | undefined {
  const environment = world.of(environments).get(appEnvId);
  return environment?.accountId === accountId ? environment : undefined;
}

/** An environment as a source of protection. */
export function sourceOf(world: World, environment: Environment): RetainedSource {
  const { appId, name, region } = environment;
  const app: Partial<App> = world.of(apps).get(appId) ?? {};
  const { dockerPreset = 'CUSTOM', name: appName = '' } = app;
  const sizing = sizingOf(environment);
  return { appId, appName, environmentName: name, region, dockerPreset, isDatabase: isDatabase(dockerPreset), sizing };
}

/** The source of a configuration as it is now; undefined when it is gone. */
export function sourceNow(world: World, { accountId, sourceAppEnvId }: Configuration): RetainedSource | undefined {
  const environment = environmentIn(world, accountId, sourceAppEnvId);
  return environment && sourceOf(world, environment);
}

function sizingOf({ resources, volumes }: Environment): NonNullable<RetainedSource['sizing']> {
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

/** The reasons why an environment cannot be protected; none when it can. */
export function unsupportedReasons(world: World, environment: Environment): readonly string[] {
  const { dockerPreset } = sourceOf(world, environment);
  const reasons: string[] = [];
  if (WITHOUT_VOLUMES.includes(dockerPreset)) reasons.push('presetUnsupported');
  if (environment.volumes === 0) reasons.push('noPersistentVolume');
  if (!supports(world, environment.region)) reasons.push('regionUnsupported');
  if (eligibleDestinations(world, environment).length === 0) reasons.push('noEligibleDestination');
  return reasons;
}

/** The regions a source can be protected into: other regions first, its own last as it needs an acknowledgment. */
export function eligibleDestinations(world: World, { region: own }: Pick<Environment, 'region'>): readonly string[] {
  const all = world.of(regions).all();
  const names = all.filter(({ name }) => supports(world, name)).map(({ name }) => name);
  return [...names.filter((name) => name !== own), ...names.filter((name) => name === own)];
}

/** Tells if a region takes part in disaster readiness. */
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

/** Tells if the source environment exists and its region is up and takes snapshots. */
export function sourceReachable(world: World, configuration: Configuration): boolean {
  const region = sourceNow(world, configuration)?.region ?? '';
  return isUp(world, region) && supports(world, region);
}

/** Tells if the account can take the environment that a running activation would bring to life. */
export function handoffPossible(world: World, configuration: Configuration): boolean {
  const target = runningActivation(configuration)?.pinned?.target;
  return target === undefined || obstacleTo(world, configuration, target) === undefined;
}

/** The reason why no recovered environment can have these names, if any. */
export function obstacleTo(world: World, { accountId, source }: Configuration, target: TargetNames) {
  if (!target.createNewApp) return world.of(apps).has(source.appId) ? undefined : 'the source app is gone';
  const unique = world.readings['names.apps'] === 'unique';
  const taken = unique && world.of(apps).where('name', `${accountId}/${target.appName ?? ''}`).length > 0;
  return taken ? 'an app with this name exists already' : undefined;
}

/** The target environment of a protection: its warm standby, or what an activation brought to life. */
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

/** The engine of a database that the service hands over itself; undefined for everything the user deploys. */
export function nativeEngine({ dockerPreset }: RetainedSource): 'postgresql' | 'redis' | undefined {
  if (dockerPreset === 'POSTGRESQL') return 'postgresql';
  return dockerPreset === 'REDIS' ? 'redis' : undefined;
}

/**
 * The recovered environment, with its app where it gets a new one. It keeps sizes and volumes of its source; image,
 * secrets, variables and hosts are not copied. A native database runs at once, everything else waits to be deployed.
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
    volumes: from?.volumes ?? source.sizing?.volumeCapacities.length ?? 1,
    ...(from && { resources: from.resources }),
  });
}

/** The settings that a new app takes over from the source app. */
function settingsOf(app: App): Partial<App> {
  const { dockerPresetVersion, contextDir, dockerfilePath, useImage, port, builder } = app;
  return present({ contextDir, useImage, builder, dockerPresetVersion, dockerfilePath, port });
}
