// The rest of the world as disaster readiness sees it: environments as sources, regions, and the recovered environment
// that comes into being there.
import { type App, apps, createApp } from '../apps/app.ts';
import type { AreaCall } from '../area.ts';
import { createEnvironment, type Environment, environments } from '../environments/environment.ts';
import { isDatabase } from '../apps/presets.ts';
import { present } from '../http/fields.ts';
import { regions } from '../accounts/records.ts';
import { date, listed } from '../public/shape.ts';
import type { World } from '../store/store.ts';
import type { ActivationFacts } from './activation.ts';
import type { RegionFacts, SourceFacts } from './eligibility.ts';
import type { Configuration, Pinned, RetainedSource, TargetNames } from './model.ts';
import { type Moment, runningActivation } from './operations.ts';
import { nativeEngine } from './promotion.ts';

const VOLUME_CAPACITY = '10Gi';

/** The environments of an account as a list shows them. */
export function listedEnvironments(call: AreaCall, accountId: string): readonly Environment[] {
  return listed(call, environments, 'account', accountId);
}

/** An environment of this account as a source; undefined when there is none. */
export function sourceFacts(world: World, accountId: string, appEnvId: string): SourceFacts | undefined {
  const environment = world.of(environments).get(appEnvId);
  return environment?.accountId === accountId ? factsOf(world, environment) : undefined;
}

/** An environment as a source: its facts for eligibility. */
export function factsOf(world: World, environment: Environment): SourceFacts {
  const { appEnvId, appId, name, region, volumes } = environment;
  const app = world.of(apps).get(appId);
  const dockerPreset = app?.dockerPreset ?? 'CUSTOM';
  const source: RetainedSource = {
    appId,
    appName: app?.name ?? '',
    environmentName: name,
    region,
    dockerPreset,
    isDatabase: isDatabase(dockerPreset),
    sizing: sizingOf(environment),
  };
  return { appEnvId, source, volumes };
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

/** The regions there are. */
export function regionFacts(world: World): readonly RegionFacts[] {
  return world
    .of(regions)
    .all()
    .map(({ name, up, supports }) => ({ name, up, supportsDisasterReadiness: supports.disasterReadiness }));
}

function isUp(world: World, region: string): boolean {
  return world.of(regions).get(region)?.up === true;
}

/** The circumstances of a configuration at this moment. */
export function momentOf(world: World, configuration: Configuration): Moment {
  const { accountId, sourceAppEnvId, settings } = configuration;
  const facts = sourceFacts(world, accountId, sourceAppEnvId);
  const region = world.of(regions).get(facts?.source.region ?? '');
  const target = runningActivation(configuration)?.pinned?.target;
  return {
    now: world.now,
    newId: (prefix) => world.id(prefix),
    sourceReachable: region?.up === true && region.supports.disasterReadiness,
    destinationUp: isUp(world, settings.destinationRegion),
    handoffPossible: target === undefined || obstacleTo(world, configuration, target) === undefined,
    source: facts?.source,
  };
}

/** The facts by which an activation into this target is judged. */
export function activationFacts(world: World, configuration: Configuration, target: TargetNames): ActivationFacts {
  return {
    sourceRegionUp: isUp(world, configuration.source.region),
    sameInstant: (one, other) => date(world, one) === date(world, other),
    obstacle: obstacleTo(world, configuration, target),
  };
}

/** The reason why no recovered environment can have these names, if any. */
function obstacleTo(world: World, { accountId, source }: Configuration, target: TargetNames): string | undefined {
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
