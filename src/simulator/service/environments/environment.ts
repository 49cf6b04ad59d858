import { adminOf, maySee, memberOf, regionNamed } from '../accounts/access.ts';
import { memberships } from '../accounts/records.ts';
import type { AreaCall } from '../area.ts';
import { removeAlertsOf } from '../alerts/alert.ts';
import { type App, appNamed, freeSlug, type JobConfig, kindOf } from '../apps/app.ts';
import { collection } from '../../store/collection.ts';
import { fields, flag, list, number, text } from '../../http/fields.ts';
import { forbidden, found, invalid } from '../../http/refusal.ts';
import type { World } from '../../store/store.ts';

/** Validates a startup override: the command and arguments with which a container starts instead of those in its image. */
export const startupFields = fields({ command: text(), args: list(text({ min: 0 })), shell: flag, workingDir: text() });

/** A startup override: the command and arguments with which a container starts instead of those of its image. */
export type StartupSettings = ReturnType<typeof startupFields>;

/**
 * Validates the settings of a function (`functionConfig`). In the simulator, their limits are the same for all
 * accounts.
 */
export const functionFields = fields({
  containerConcurrency: number({ min: 0, max: 1000, whole: true }),
  timeoutSeconds: number({ min: 1, max: 3600 }),
  idleTimeoutSeconds: number({ min: 0, max: 3600 }),
  responseStartTimeoutSeconds: number({ min: 0, max: 3600 }),
  minScale: number({ min: 0, max: 100, whole: true }),
  maxScale: number({ min: 0, max: 100, whole: true }),
});

/** The settings of a function (`functionConfig`). */
type FunctionSettings = ReturnType<typeof functionFields>;

/** Validates the size of an environment: its containers, CPU and memory. */
export const sizeFields = fields({
  containers: number({ min: 0, max: 1000, whole: true }),
  zClouds: number({ min: 0, max: 1000 }),
  cpu: number({ min: 0 }),
  memory: number({ min: 0 }),
});

/** An environment: an app that is deployed to a region. */
export interface Environment {
  readonly appEnvId: string;
  readonly appId: string;
  readonly accountId: string;
  readonly name: string;
  readonly slug: string;
  readonly cliEnvName: string;
  readonly deploymentName: string;
  readonly region: string;
  readonly gitBranch?: string | undefined;
  readonly hosts: readonly string[];
  /** The status of the environment. The documented values running, stopped and updating are in lower case. */
  readonly status: string;
  readonly resources: Required<ReturnType<typeof sizeFields>>;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** True once a deployment of the environment has begun for the first time. */
  readonly deployed: boolean;
  readonly volumes: number;
  readonly preventDestroy: boolean;
  readonly startupConfig?: StartupSettings | undefined;
  readonly functionConfig?: FunctionSettings;
  /** The values of the environment variables by name; all variables are secret and available at run time. */
  readonly envVars: Readonly<Record<string, string>>;
  /** The names of the app fields that were changed but not yet deployed to this environment. */
  readonly pendingChanges: readonly string[];
  /** The job settings that are deployed; they do not contain pending changes of the app. */
  readonly jobConfig?: JobConfig | undefined;
  readonly currentContentId?: string;
  /** The version number of the environment's newest version; 0 if it has no version. */
  readonly versions: number;
  /**
   * The ids of the versions that were deployed, in the order of deployment, oldest first. Only the last 50 are kept. A version that is
   * deployed several times in succession is listed once.
   */
  readonly deployments: readonly string[];
  /**
   * The status that the environment had before the running deployment; undefined while no deployment is running. If a new deployment
   * replaces the running one, this field keeps its value.
   */
  readonly statusBefore?: string | undefined;
}

/** All environments in the simulator's data, indexed by account, by app and by cliEnvName. */
export const environments = collection<Environment>('environments', (environment) => environment.appEnvId, {
  account: (environment) => environment.accountId,
  app: (environment) => environment.appId,
  cliEnvName: (environment) => `${environment.accountId}/${environment.cliEnvName}`,
});

/** A version of an environment: an image, and a hash of the inputs of its build. */
export interface DeployedContent {
  readonly contentId: string;
  readonly appEnvId: string;
  readonly version: number;
  readonly image: string;
  readonly buildHash: string;
}

/** An environment, together with the version that was just added to it. */
export interface Versioned {
  readonly environment: Environment;
  readonly content: DeployedContent;
}

/** All versions of all environments in the simulator's data, with an index by environment. */
export const contents = collection<DeployedContent>('contents', (content) => content.contentId, {
  environment: (content) => content.appEnvId,
});

/** The fields of a new environment; only appId, name and region are required. */
export type NewEnvironment = Pick<Environment, 'appId' | 'name' | 'region'> &
  Partial<Omit<Environment, 'accountId' | 'slug' | 'deploymentName' | 'createdAt' | 'updatedAt'>> & {
    /**
     * The membership of the member who creates the environment. If this member is restricted to certain environments, the new environment
     * is added to them.
     */
    readonly createdBy?: string;
  };

/** Creates an environment. If it is created as already deployed, also creates its first version. */
export function createEnvironment(world: World, from: NewEnvironment): Environment {
  const { createdBy, ...given } = from;
  const app = appNamed(world, from.appId);
  const { region, volumes = 0, status = 'stopped' } = from;
  const { resources = { containers: 1, zClouds: 1, cpu: 1, memory: 1024 } } = from;
  requireRunnable(world, app, { region, volumes, resources });
  const isTaken = (name: string) => isCliEnvName(world, app.accountId, name);
  const cliEnvName = from.cliEnvName ?? freeSlug(`${app.slug}-${from.name}`, isTaken);
  const slug = freeSlug(cliEnvName, (each) => each === 'app');
  const environment: Environment = {
    deployed: status === 'running',
    volumes,
    preventDestroy: false,
    envVars: {},
    pendingChanges: [],
    versions: 0,
    deployments: [],
    ...(app.useImage || kindOf(app) === 'database' ? {} : { gitBranch: 'main' }),
    jobConfig: app.jobConfig,
    hosts: kindOf(app) === 'job' ? [] : [`${slug}.${region}.svc.example`],
    ...given,
    appEnvId: from.appEnvId ?? world.id('env'),
    accountId: app.accountId,
    slug,
    cliEnvName,
    deploymentName: `${slug}-${world.hash(app.appId, cliEnvName).slice(0, 6)}`,
    resources,
    status,
    createdAt: world.now,
    updatedAt: world.now,
  };
  const { appEnvId: id, name } = environment;
  world.change(environments, environment, 'environment.created', { name, appId: app.appId, region });
  if (createdBy !== undefined) assignToCreator(world, createdBy, id);
  return environment.deployed
    ? addContent(world, environment, imageOf(app), world.hash('build', id)).environment
    : environment;
}

/** Finds an environment by its id; fails with 404 if no environment has this id. */
export function environmentNamed(world: World, appEnvId: string): Environment {
  return found(world.of(environments).get(appEnvId), 'app environment not found');
}

/** Finds an environment by its id; fails with 404 if no environment has this id, and with 403 if the caller has no access to it. */
export function environmentFor(call: AreaCall, appEnvId: string): Environment {
  const environment = environmentNamed(call.world, appEnvId);
  const membership = memberOf(call, environment.accountId);
  if (!maySee(call.world, membership, appEnvId)) throw forbidden('you have no access to this environment');
  return environment;
}

/**
 * Finds an environment by its id; fails with 404 if no environment has this id, and with 403 unless the caller is an admin of its account.
 */
export function environmentForAdmin(call: AreaCall, appEnvId: string): Environment {
  const environment = environmentFor(call, appEnvId);
  adminOf(call, environment.accountId);
  return environment;
}

/** Finds an environment of an account by its cliEnvName; fails with 404 if no environment has this name. */
export function environmentCalled(world: World, accountId: string, envName: string): Environment {
  const [environment] = world.of(environments).where('cliEnvName', `${accountId}/${envName}`);
  return found(environment, 'no app environment has this envName');
}

/** Adds a new version to an environment and makes it the current version. */
export function addContent(world: World, environment: Environment, image: string, buildHash: string): Versioned {
  const { appEnvId } = environment;
  const content = { contentId: world.id('content'), appEnvId, version: environment.versions + 1, image, buildHash };
  world.of(contents).put(content);
  const next = { ...withCurrent(environment, content), versions: content.version };
  world.of(environments).put(next);
  return { environment: next, content };
}

const rememberedDeployments = 50;

/** Makes a version the current version of an environment. */
export function withCurrent(environment: Environment, content: DeployedContent): Environment {
  const { contentId } = content;
  const again = environment.deployments.at(-1) === contentId;
  const deployments = again ? environment.deployments : [...environment.deployments, contentId];
  return { ...environment, currentContentId: contentId, deployments: deployments.slice(-rememberedDeployments) };
}

/** The names of the two timers of a deployment: one sets an undocumented status, the other ends the deployment. */
export const deploymentTimers = { passes: 'environments.passes', settles: 'environments.settles' } as const;

/** Cancels the timers of a running deployment. */
export function endDeployment(world: World, appEnvId: string): void {
  for (const kind of Object.values(deploymentTimers)) world.cancel(kind, appEnvId);
}

/** Deletes an environment with its alerts, metrics, versions and timers. */
export function deleteEnvironment(world: World, environment: Environment): void {
  const { appEnvId, accountId, name, volumes } = environment;
  removeAlertsOf(world, appEnvId);
  endDeployment(world, appEnvId);
  for (const { contentId } of world.of(contents).where('environment', appEnvId)) world.of(contents).remove(contentId);
  for (const membership of world.of(memberships).where('account', accountId)) {
    if (!membership.allowedAppEnvIds.includes(appEnvId)) continue;
    // Keep the last environment id in a member's list, even though the environment is deleted: an empty list would give the member access
    // to every environment.
    const allowedAppEnvIds = membership.allowedAppEnvIds.filter((each) => each !== appEnvId);
    if (allowedAppEnvIds.length > 0) world.of(memberships).put({ ...membership, allowedAppEnvIds });
  }
  world.remove(environments, environment, 'environment.deleted', { name, volumesKept: volumes });
}

/**
 * Fails if the environment cannot run its app. A Function needs a region that supports Functions, and cannot have volumes; CouchDB cannot
 * have more than one container.
 */
export function requireRunnable(
  world: World,
  { dockerPreset }: App,
  { region, volumes, resources }: Pick<Environment, 'region' | 'volumes' | 'resources'>,
): void {
  const { supports } = regionNamed(world, region);
  if (dockerPreset === 'FUNCTION' && !supports.functions) throw invalid(`region ${region} does not support Functions`);
  if (dockerPreset === 'FUNCTION' && volumes > 0) throw invalid('Functions have no persistent volumes');
  if (dockerPreset === 'COUCHDB' && resources.containers > 1) {
    throw invalid('CouchDB runs on a single node, so containers must not be more than 1');
  }
}

/** Returns the image of the first version of an environment that the simulator sets up as already deployed. */
export function imageOf(app: App): string {
  return app.image ?? (kindOf(app) === 'database' ? app.dockerPreset.toLowerCase() : `${app.slug}:first`);
}

/** True if an environment of the account has this cliEnvName. */
export function isCliEnvName(world: World, accountId: string, name: string): boolean {
  return world.of(environments).where('cliEnvName', `${accountId}/${name}`).length > 0;
}

function assignToCreator(world: World, membershipId: string, appEnvId: string): void {
  const membership = world.of(memberships).get(membershipId);
  if (membership === undefined || membership.role === 'admin' || membership.allowedAppEnvIds.length === 0) return;
  world.of(memberships).put({ ...membership, allowedAppEnvIds: [...membership.allowedAppEnvIds, appEnvId] });
}

/** Lists the environments of an app. */
export function environmentsOf(world: World, appId: string): readonly Environment[] {
  return world.of(environments).where('app', appId);
}
