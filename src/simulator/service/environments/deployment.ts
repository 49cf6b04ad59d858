import { type App, appNamed, kindOf } from '../apps/app.ts';
import type { World } from '../../store/store.ts';
import { addContent, contents, type DeployedContent, deploymentTimers, endDeployment } from './environment.ts';
import { type Environment, environments, type Versioned } from './environment.ts';

/** Adds a new version to an environment; the version runs a ready-made image. */
export function addImage(world: World, environment: Environment, image: string): Versioned {
  return addContent(world, environment, image, world.hash('image', image));
}

/**
 * Builds a new version of an environment from its git branch or, if `from` is given, from the source of the version
 * `from`. If an earlier build had the same inputs, the new version reuses its image, unless `forced` is true.
 */
export function addBuild(world: World, environment: Environment, app: App, forced = false, from?: DeployedContent) {
  const buildHash = from?.buildHash ?? world.hash(...buildInputs(app, environment.gitBranch ?? ''));
  const earlier = forced ? undefined : imageBuiltAs(world, environment, buildHash);
  const image = earlier ?? `registry.svc.example/${app.slug}:${buildHash.slice(0, 12)}-${environment.versions + 1}`;
  return addContent(world, environment, image, buildHash);
}

/** True if an environment can be built: its app is built from source, and the environment has a git branch. */
export function isBuiltFromGit(app: App, environment: Environment): boolean {
  return !app.useImage && kindOf(app) !== 'database' && environment.gitBranch !== undefined;
}

/** The fields of an app that change the result of a build. */
const buildFields = 'useImage,dockerPreset,builder,contextDir,dockerfilePath,customDockerfileContent,buildArgs'.split(
  ',',
);

/** The fields of an app that determine which image it runs, if the app is not built from source. */
const imageFields = ['useImage', 'image'];

/** Selects the pending changes that take effect only with a new version, not with a restart of the current version. */
function needsNewVersion(app: App, pendingChanges: readonly string[]): readonly string[] {
  const fields = app.useImage ? imageFields : buildFields;
  return pendingChanges.filter((name) => fields.includes(name));
}

/**
 * Adds the new version that the pending changes of an environment need. Returns undefined if they need none, or if
 * there is no image or git branch to make it from.
 */
export function versionForChanges(world: World, environment: Environment, app: App): Versioned | undefined {
  if (needsNewVersion(app, environment.pendingChanges).length === 0) return undefined;
  if (app.useImage) return app.image === undefined ? undefined : addImage(world, environment, app.image);
  return isBuiltFromGit(app, environment) ? addBuild(world, environment, app) : undefined;
}

/** Lists everything on which the result of a build depends: the source, and the settings of the build. */
function buildInputs(app: App, gitBranch: string): readonly string[] {
  const { gitNamespace = '', gitRepo = '', dockerPreset, dockerPresetVersion = '', builder, contextDir } = app;
  const { dockerfilePath = '', customDockerfileContent = '', buildArgs = '' } = app;
  const source = [gitNamespace, gitRepo, gitBranch, contextDir];
  const howItIsBuilt = [dockerPreset, dockerPresetVersion, builder, dockerfilePath, customDockerfileContent, buildArgs];
  return ['build', ...source, ...howItIsBuilt];
}

function imageBuiltAs(world: World, environment: Environment, buildHash: string): string | undefined {
  const built = world.of(contents).where('environment', environment.appEnvId);
  return built.findLast((content) => content.buildHash === buildHash)?.image;
}

/** The kinds of deployment: run a new version, restart with an existing version, start, or stop. */
export type DeploymentKind = 'newVersion' | 'restart' | 'start' | 'stop';

/**
 * The status that an environment has after each kind of deployment. The API documentation gives the status after stop and start; for the
 * other kinds the simulator option `deploy.settles` decides.
 */
const settlesTo = { newVersion: 'deployment', restart: 'deployment', start: 'running', stop: 'stopped' } as const;

type Settles = (typeof settlesTo)[DeploymentKind];

/** Values of an environment's status that the API documentation does not mention; a client must tolerate them. */
const unknownWords = ['DEPLOYING', 'DEGRADED', 'CRASHED'] as const;

/**
 * Begins a deployment. Records its cause, such as `build`, in the change log, with the version that is deployed if one
 * is given.
 */
export function begin(
  world: World,
  environment: Environment,
  kind: DeploymentKind,
  action: string,
  content?: DeployedContent,
): Environment {
  const { appEnvId: id, accountId } = environment;
  const version = content === undefined ? {} : { contentId: content.contentId, version: content.version };
  world.record({ kind: 'environment.deployed', id, accountId, detail: { action, ...version } });
  return deploy(world, environment, kind);
}

/** Begins a deployment of an environment. If another deployment of this environment is still running, the new one replaces it. */
export function deploy(world: World, environment: Environment, kind: DeploymentKind): Environment {
  const { appEnvId } = environment;
  endDeployment(world, appEnvId);
  const takesChanges = kind !== 'stop';
  const app = appNamed(world, environment.appId);
  const next: Environment = {
    ...environment,
    jobConfig: takesChanges ? (app.jobConfig ?? environment.jobConfig) : environment.jobConfig,
    status: 'updating',
    deployed: environment.deployed || takesChanges,
    pendingChanges: stillPending(app, environment.pendingChanges, kind),
    updatedAt: world.now,
    statusBefore: environment.statusBefore ?? environment.status,
  };
  world.of(environments).put(next);
  scheduleEnd(world, appEnvId, settlesTo[kind]);
  return next;
}

/** Returns the changed app settings that stay pending, because a deployment of this kind does not apply them. */
function stillPending(app: App, pendingChanges: readonly string[], kind: DeploymentKind): readonly string[] {
  if (kind === 'newVersion') return [];
  return kind === 'stop' ? pendingChanges : needsNewVersion(app, pendingChanges);
}

function scheduleEnd(world: World, appEnvId: string, settles: Settles): void {
  const ms = world.readings['deploy.ms'];
  if (world.readings['status.words'] === 'unknownWords' && settles !== 'stopped') {
    const status = unknownWords[Number.parseInt(world.hash(appEnvId, String(world.now)).slice(0, 6), 16) % 3];
    world.schedule(deploymentTimers.passes, appEnvId, world.now + Math.floor(ms / 2), { appEnvId, status });
  }
  if (settles !== 'deployment' || world.readings['deploy.settles'] !== 'neverSettles') {
    world.schedule(deploymentTimers.settles, appEnvId, world.now + ms, { appEnvId, settlesTo: settles });
  }
}

/** Gives an environment an undocumented status halfway through its deployment. */
export function pass(world: World, { appEnvId, status }: Pick<Environment, 'appEnvId' | 'status'>): void {
  const environment = world.of(environments).get(appEnvId);
  if (environment !== undefined) world.of(environments).put({ ...environment, status, updatedAt: world.now });
}

/** Ends a deployment and sets the status of its environment. */
export function settle(world: World, due: { readonly appEnvId: string; readonly settlesTo: Settles }): void {
  const { appEnvId, settlesTo: settles } = due;
  const environment = world.of(environments).get(appEnvId);
  if (environment === undefined) return;
  const lastKnown = world.readings['deploy.settles'] === 'lastKnown' ? environment.statusBefore : undefined;
  const status = settles === 'deployment' ? (lastKnown ?? 'running') : settles;
  const settled = { ...environment, statusBefore: undefined, status, updatedAt: world.now };
  world.change(environments, settled, 'environment.settled', { status });
}

/** Gives an environment the status that a control request (/_sim) contains, and ends a running deployment. */
export function toldStatus(world: World, environment: Environment, status: string): Environment {
  endDeployment(world, environment.appEnvId);
  return { ...environment, statusBefore: undefined, status };
}

/**
 * Formats the status of an environment for a response: in a list the way it is stored, in a deployment response in
 * upper case. The simulator option `status.words` can set another form.
 */
export function statusWord(world: World, status: string, where: 'list' | 'lifecycle'): string {
  const words = world.readings['status.words'];
  if (words === 'lower') return status.toLowerCase();
  return words === 'upper' || where === 'lifecycle' ? status.toUpperCase() : status;
}
