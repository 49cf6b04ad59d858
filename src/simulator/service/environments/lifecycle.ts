import { currentAccount } from '../accounts/access.ts';
import { type App, appNamed, imageReference, kindOf } from '../apps/app.ts';
import { type AreaAnswer, type AreaCall, ok } from '../area.ts';
import { type BodyFields, flag, object, optional, record, required, text } from '../../http/fields.ts';
import { invalid, notFound } from '../../http/refusal.ts';
import { rejected } from '../shape.ts';
import type { World } from '../../store/store.ts';
import { addBuild, addImage, begin, type DeploymentKind, isBuiltFromGit, statusWord } from './deployment.ts';
import { type DeployedContent, contents, type Environment, environmentCalled } from './environment.ts';
import { environmentFor, functionFields, startupFields, type StartupSettings } from './environment.ts';
import { withCurrent } from './environment.ts';

/** Finds the environment of a request, which contains an appEnvId, an envName or both. */
export function environmentMeant(call: AreaCall): Environment {
  const appEnvId = optional(call.body, 'appEnvId', text());
  const envName = optional(call.body, 'envName', text());
  if (appEnvId === undefined && envName === undefined) throw invalid('appEnvId or envName is required');
  const byId = appEnvId === undefined ? undefined : environmentFor(call, appEnvId);
  if (envName === undefined && byId !== undefined) return byId;
  const named = environmentCalled(call.world, currentAccount(call), envName ?? '');
  const byName = environmentFor(call, named.appEnvId);
  if (byId !== undefined && byId.appEnvId !== byName.appEnvId)
    throw invalid('appEnvId and envName name different environments');
  return byName;
}

/** Handles POST /app-env/deploy-image, which deploys an image as a new version. */
export function deployImage(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const environment = environmentMeant(call);
  const app = appNamed(world, environment.appId);
  const image = required(body, 'image', imageReference);
  const saved = withFunctionConfig(withEnvVars(withStartup(environment, app, body), body), app, body);
  if (!app.useImage && kindOf(app) !== 'function')
    throw rejected(world, 'the app does not deploy images: set useImage to true on the app');
  const { environment: next, content } = addImage(world, saved, image);
  const { contentId } = content;
  const places = { top: { top: { contentId } }, appEnv: { appEnv: { contentId } }, absent: {} };
  const shown = places[world.readings['deployImage.contentId']];
  return begun(world, next, ['newVersion', 'deploy-image', content], 'Image deployment started', shown);
}

/** Handles POST /app-env/build, which builds a new version from git and deploys it. */
export function build(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const environment = environmentMeant(call);
  const app = appNamed(world, environment.appId);
  const from = rebuilt(world, environment, body);
  const forced = optional(body, 'forceNewBuild', flag) ?? false;
  const saved = withStartup(environment, app, body);
  if (!isBuiltFromGit(app, environment)) throw rejected(world, 'this environment cannot be built from a git branch');
  const built = addBuild(world, saved, app, forced, from);
  return begun(world, built.environment, ['newVersion', 'build', built.content], 'Build started');
}

/** Handles POST /app-env/redeploy, which deploys the current version or another existing version again. */
export function redeploy(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const environment = environmentMeant(call);
  const contentId = optional(body, 'contentId', text()) ?? environment.currentContentId;
  if (contentId === undefined) throw rejected(world, 'the environment was never deployed');
  const content = contentOf(world, environment, contentId);
  return begun(world, withCurrent(environment, content), ['restart', 'redeploy', content], 'Redeployment started');
}

/** Handles POST /app-env/rollback, which deploys the previous version, or the version that the request specifies. */
export function rollback(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const environment = environmentMeant(call);
  const targetContentId = optional(body, 'targetContentId', text());
  const target = targetContentId === undefined ? undefined : contentOf(world, environment, targetContentId);
  const { currentContentId } = environment;
  if (currentContentId === undefined) throw rejected(world, 'the environment was never deployed');
  const previous = target?.contentId ?? environment.deployments.at(-2);
  if (previous === undefined) throw rejected(world, 'the environment has no previous deployment');
  if (previous === currentContentId) throw rejected(world, 'the environment already runs this version');
  const [from, to] = [contentOf(world, environment, currentContentId), contentOf(world, environment, previous)];
  const rollbackInfo = { fromVersion: from.version, toVersion: to.version, contentId: to.contentId };
  const shown = { top: { rollbackInfo } };
  return begun(world, withCurrent(environment, to), ['restart', 'rollback', to], 'Rollback started', shown);
}

/** Handles POST /app-env/stop, which stops an environment. */
export function stop(call: AreaCall): AreaAnswer {
  return begun(call.world, environmentMeant(call), ['stop', 'stop'], 'Environment is stopping');
}

/** Handles POST /app-env/start, which starts an environment that has been deployed before. */
export function start(call: AreaCall): AreaAnswer {
  const environment = environmentMeant(call);
  if (!environment.deployed) throw rejected(call.world, 'the environment must have been deployed at least once');
  return begun(call.world, environment, ['start', 'start'], 'Environment is starting');
}

/**
 * Begins a deployment and returns the response to the request that asked for it. Fails if another deployment is running and the simulator
 * option `deploy.whileUpdating` is `reject`.
 */
function begun(
  world: World,
  environment: Environment,
  what: readonly [kind: DeploymentKind, action: string, content?: DeployedContent],
  message: string,
  more: { readonly top?: object; readonly appEnv?: object } = {},
): AreaAnswer {
  if (world.readings['deploy.whileUpdating'] === 'reject' && environment.statusBefore !== undefined) {
    throw rejected(world, 'the environment is being updated');
  }
  const { appEnvId, name, status } = begin(world, environment, ...what);
  const appEnv = { appEnvId, name, status: statusWord(world, status, 'lifecycle'), ...more.appEnv };
  return ok({ success: true, message, appEnv, ...more.top });
}

function contentOf(world: World, environment: Environment, contentId: string): DeployedContent {
  const content = world.of(contents).get(contentId);
  if (content?.appEnvId !== environment.appEnvId) throw notFound('this environment has no version with this contentId');
  return content;
}

/**
 * Finds the version that a build request with `isRebuild` builds again: the version `fromContentId`, by default the
 * current one. Returns undefined if there is nothing to build again. Fails with 404 if the environment has no version
 * `fromContentId`.
 */
function rebuilt(world: World, environment: Environment, body: BodyFields): DeployedContent | undefined {
  const isRebuild = optional(body, 'isRebuild', flag) ?? false;
  const fromContentId = optional(body, 'fromContentId', text());
  if (fromContentId !== undefined && !isRebuild) throw invalid('fromContentId needs isRebuild to be true');
  const contentId = fromContentId ?? environment.currentContentId;
  return isRebuild && contentId !== undefined ? contentOf(world, environment, contentId) : undefined;
}

/** Sets, merges or clears the startup override of an environment, as the request says. */
function withStartup(environment: Environment, app: App, body: BodyFields): Environment {
  const given = optional(body, 'startupConfig', object);
  const clears = optional(body, 'clearStartupConfig', flag) ?? false;
  const replaces = optional(body, 'replaceStartupConfig', flag) ?? false;
  if (given === undefined && !clears && !replaces) return environment;
  const kind = kindOf(app);
  if (kind === 'job' || kind === 'database')
    throw invalid('only Apps and Functions have a startupConfig, not Jobs or Databases & Services');
  if (clears && given !== undefined) throw invalid('clearStartupConfig excludes startupConfig');
  if (clears && replaces) throw invalid('clearStartupConfig excludes replaceStartupConfig');
  if (clears) return { ...environment, startupConfig: undefined };
  if (given === undefined) throw invalid('replaceStartupConfig needs startupConfig');
  const startupConfig = merged(
    replaces ? {} : (environment.startupConfig ?? {}),
    startupFields(given, 'startupConfig'),
  );
  return { ...environment, startupConfig: Object.keys(startupConfig).length === 0 ? undefined : startupConfig };
}

/** Merges a startup override into the saved one; a new command runs in a shell unless the request sets `shell` to false. */
function merged(saved: StartupSettings, part: StartupSettings): StartupSettings {
  const shell = part.shell ?? (part.command === undefined ? saved.shell : true);
  const next = { ...saved, ...part, ...(shell === undefined ? {} : { shell }) };
  if (next.shell !== undefined && next.command === undefined) throw invalid('startupConfig.shell needs a command');
  if (next.shell === false && /\s/.test(next.command ?? ''))
    throw invalid(
      'if startupConfig.shell is false, startupConfig.command must be one executable without spaces; its arguments belong in startupConfig.args',
    );
  return next;
}

/** Adds variables to an environment, or changes their values. A new variable is secret and available at run time. */
function withEnvVars(environment: Environment, body: BodyFields): Environment {
  const given = optional(body, 'envVars', record(text({ min: 0 })));
  if (given === undefined) return environment;
  const bad = Object.keys(given).find((name) => !/^[-._a-zA-Z][-._a-zA-Z0-9]*$/.test(name));
  if (bad !== undefined) throw invalid(`envVars: ${JSON.stringify(bad)} is not a valid variable name`);
  return { ...environment, envVars: { ...environment.envVars, ...given } };
}

/** Merges the `functionConfig` of a request into the saved settings of an environment. */
function withFunctionConfig(environment: Environment, app: App, body: BodyFields): Environment {
  const given = optional(body, 'functionConfig', object);
  if (given === undefined) return environment;
  if (kindOf(app) !== 'function') throw invalid('only Functions have a functionConfig');
  const functionConfig = { ...environment.functionConfig, ...functionFields(given, 'functionConfig') };
  const { minScale, maxScale } = functionConfig;
  // A `maxScale` of 0 means that there is no upper limit, so that every `minScale` is allowed.
  if (minScale !== undefined && maxScale !== undefined && maxScale > 0 && minScale > maxScale)
    throw invalid('functionConfig.minScale must not be greater than functionConfig.maxScale');
  return { ...environment, functionConfig };
}
