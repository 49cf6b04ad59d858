// Reads data that disaster readiness needs but does not store itself: environments as sources, and regions as destinations.
import { regions } from '../accounts/records.ts';
import { type App, apps } from '../apps/app.ts';
import { isDatabase } from '../apps/presets.ts';
import { type Environment, environments } from '../environments/environment.ts';
import type { World } from '../../store/store.ts';

const VOLUME_CAPACITY = '10Gi';
const WITHOUT_VOLUMES: readonly string[] = ['FUNCTION', 'JOB'];

/** Finds an environment of an account by its id. */
export function environmentIn(world: World, accountId: string, appEnvId: string): Environment | undefined {
  const environment = world.of(environments).get(appEnvId);
  return environment?.accountId === accountId ? environment : undefined;
}

/** Returns the data about a source environment that its disaster-readiness configuration stores: app, name, region, preset and sizes. */
export function sourceOf(world: World, environment: Environment) {
  const { appId, name: environmentName, region } = environment;
  // The app can be missing: a list that shows an older state can contain an environment whose app has been deleted since.
  const app: Partial<App> = world.of(apps).get(appId) ?? {};
  const { dockerPreset = 'CUSTOM', name: appName = '' } = app;
  const sizing = sizingOf(environment);
  return { appId, appName, environmentName, region, dockerPreset, isDatabase: isDatabase(dockerPreset), sizing };
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

/** Lists the reasons why an environment cannot be protected; the list is empty if it can. */
export function unsupportedReasons(world: World, environment: Environment): readonly string[] {
  const { dockerPreset } = sourceOf(world, environment);
  const reasons: string[] = [];
  if (WITHOUT_VOLUMES.includes(dockerPreset)) reasons.push('presetUnsupported');
  if (environment.volumes === 0) reasons.push('noPersistentVolume');
  if (!supports(world, environment.region)) reasons.push('regionUnsupported');
  if (eligibleDestinations(world, environment).length === 0) reasons.push('noEligibleDestination');
  return reasons;
}

/**
 * Lists the regions to which a source environment can be copied. The first is the default destination. The source's own
 * region comes last, because protection in the same region needs an acknowledgement.
 */
export function eligibleDestinations(world: World, { region: own }: Pick<Environment, 'region'>): readonly string[] {
  const all = world.of(regions).all();
  const names = all.filter(({ name }) => supports(world, name)).map(({ name }) => name);
  return [...names.filter((name) => name !== own), ...names.filter((name) => name === own)];
}

/** True if the region supports disaster readiness. */
export function supports(world: World, region: string): boolean {
  return world.of(regions).get(region)?.supports.disasterReadiness === true;
}

/** True if the region is up; a control request (/_sim) can take a region down. */
export function isUp(world: World, region: string): boolean {
  return world.of(regions).get(region)?.up === true;
}
