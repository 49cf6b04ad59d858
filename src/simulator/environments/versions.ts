import { type App, kindOf } from '../apps/app.ts';
import type { World } from '../store/store.ts';
import { addContent, contents, type DeployedContent, type Environment, type Versioned } from './environment.ts';

/** Gives an environment a new version that runs an image as it is. */
export function addImage(world: World, environment: Environment, image: string): Versioned {
  return addContent(world, environment, image, world.hash('image', image));
}

/**
 * Gives an environment a new version built from its git branch. The image of an earlier build from the same inputs is used again unless
 * the build is forced; `from` names the build to repeat.
 */
export function addBuild(
  world: World,
  environment: Environment,
  app: App,
  forced = false,
  from?: DeployedContent,
): Versioned {
  const buildHash = from?.buildHash ?? world.hash(...buildInputs(app, environment.gitBranch ?? ''));
  const earlier = forced ? undefined : imageBuiltAs(world, environment, buildHash);
  const image = earlier ?? `registry.svc.example/${app.slug}:${buildHash.slice(0, 12)}-${environment.versions + 1}`;
  return addContent(world, environment, image, buildHash);
}

/** Tells if an environment of this app can be built: it needs source mode and a git branch. */
export function isBuiltFromGit(app: App, environment: Environment): boolean {
  return !app.useImage && kindOf(app) !== 'database' && environment.gitBranch !== undefined;
}

/** The fields of an app that decide what a build makes. */
const buildFields = 'useImage dockerPreset builder contextDir dockerfilePath customDockerfileContent buildArgs'.split(
  ' ',
);

/** The fields of an app that decide which image runs where images are not built. */
const imageFields = ['useImage', 'image'];

/** The pending changes that only a new version brings into effect: a restart of the current version leaves them pending. */
export function needsNewVersion(app: App, pendingChanges: readonly string[]): readonly string[] {
  const fields = app.useImage ? imageFields : buildFields;
  return pendingChanges.filter((name) => fields.includes(name));
}

/** Makes the version that an environment's pending changes call for; undefined when they need none. */
export function versionForChanges(world: World, environment: Environment, app: App): Versioned | undefined {
  if (needsNewVersion(app, environment.pendingChanges).length === 0) return undefined;
  if (app.useImage) return app.image === undefined ? undefined : addImage(world, environment, app.image);
  return isBuiltFromGit(app, environment) ? addBuild(world, environment, app) : undefined;
}

/** The inputs of a build: the source and how it is built, not how it is started. */
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
