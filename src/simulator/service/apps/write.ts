import { maySee, memberOf, requireCredential } from '../accounts/access.ts';
import { regions } from '../accounts/records.ts';
import { type AreaAnswer, type AreaCall, ok } from '../area.ts';
import { begin, versionForChanges } from '../environments/deployment.ts';
import { createEnvironment, type Environment, environments, environmentsOf } from '../environments/environment.ts';
import { requireRunnable } from '../environments/environment.ts';
import { type BodyFields, flag, number, object, optional, present } from '../../http/fields.ts';
import { type ReadFields, readFields, type Reads, record, required, sent, text } from '../../http/fields.ts';
import { forbidden, invalid, RequestRefusal } from '../../http/refusal.ts';
import { rejected } from '../shape.ts';
import type { World } from '../../store/store.ts';
import { type App, appNamed, apps, changedFields, createApp, type JobConfig, newFields } from './app.ts';
import { anyText, gitFields, port } from './app.ts';
import { isDatabase, limitsOf, versionsOf } from './presets.ts';

/** The fields of POST /app that need checks of their own; the last four are only for Databases & Services. */
const ruledFields = 'accountId,jobConfig,startupConfig,containers,disk,withPersistence,databaseSettings'.split(',');

/** All fields that POST /app accepts. */
export const creationFields: readonly string[] = [...Object.keys(newFields), ...ruledFields];

/** Handles POST /app, which creates an app. */
export function postApp(call: AreaCall): AreaAnswer {
  const { body, world } = call;
  const accountId = required(body, 'accountId', text());
  const { membershipId: createdBy } = memberOf(call, accountId);
  const app = createApp(world, { accountId, ...newApp(body) });
  if (isDatabase(app.dockerPreset) && world.readings['createApp.provisions'] === 'databases') {
    const { appId } = app;
    world.schedule('apps.provisions', appId, world.now + provisioningMs, { appId, createdBy });
  }
  return ok({ appId: app.appId });
}

const provisioningMs = 2000;

/**
 * Creates the first environment, `production`, of an app whose preset is a database, in the first region of the
 * simulator. Does nothing if the app was deleted meanwhile.
 */
export function provision(world: World, from: { readonly appId: string; readonly createdBy: string }): void {
  const [region] = world.of(regions).all();
  if (!world.of(apps).has(from.appId) || region === undefined) return;
  createEnvironment(world, { ...from, name: 'production', region: region.name, status: 'running', volumes: 1 });
}

function newApp(body: BodyFields): Pick<App, 'name'> & Partial<App> {
  const given = readFields(body, newFields);
  const { dockerPreset = 'CUSTOM', customDockerfileContent } = given;
  refuseStartup(body);
  requireWithinLimits(dockerPreset, body);
  if (dockerPreset !== 'JOB') required(body, 'port', port);
  const isFromGit = Object.keys(gitFields).some((name) => sent(body, name));
  if (isFromGit) for (const [name, reads] of Object.entries(gitFields)) required(body, name, reads);
  const isPlain = dockerPreset === 'CUSTOM' && customDockerfileContent === undefined;
  return present({
    ...given,
    dockerPresetVersion: versionFor(dockerPreset, given.dockerPresetVersion),
    dockerfilePath: given.dockerfilePath ?? (isPlain ? 'Dockerfile' : undefined),
    jobConfig: jobConfigFor(dockerPreset, body),
  });
}

/** Fails if a request about an app contains `startupConfig`, because startup commands belong to environments. */
function refuseStartup(body: BodyFields): void {
  if (sent(body, 'startupConfig'))
    throw invalid('startupConfig is not accepted here: startup commands are set on environments');
}

/**
 * Validates those fields of a request that are only for managed services, such as `containers` and `disk`, against the
 * limits of the managed service. Does nothing for other presets.
 */
function requireWithinLimits(preset: string, body: BodyFields): void {
  const limits = limitsOf(preset);
  if (limits === undefined) return;
  readFields(body, {
    containers: number({ min: 1, max: limits.maxReplicas, whole: true }),
    disk: number({ min: 0, max: limits.maxDisk }),
    withPersistence: flag,
    databaseSettings: object,
  });
}

function versionFor(preset: string, version: string | undefined): string | undefined {
  if (version !== undefined && !versionsOf(preset).includes(version)) {
    throw invalid(`dockerPresetVersion ${version} is not a version of ${preset}`);
  }
  return version ?? versionsOf(preset).at(-1);
}

const plain: Reads<string | number | boolean> = (value, name) => {
  if (typeof value === 'boolean') return value;
  return typeof value === 'string' ? anyText(value, name) : number()(value, name);
};

const count = number({ min: 0, whole: true });
const namedJobSettings = {
  command: text(),
  shell: flag,
  timeoutSeconds: count,
  ttlSecondsAfterFinished: count,
  backoffLimit: count,
};

/** Validates the jobConfig of a request; fails if the app is not a Job app. */
function jobConfigFor(preset: string, body: BodyFields): JobConfig | undefined {
  const given = optional(body, 'jobConfig', object);
  if (given === undefined) return undefined;
  if (preset !== 'JOB') throw invalid('only Job apps have a jobConfig');
  readFields(given, namedJobSettings);
  return record(plain)(given, 'jobConfig');
}

/** The fields of PATCH /app that are settings of the app; `appId` and `applyImmediately` are not. */
const settable = [...Object.keys(changedFields), 'jobConfig'];

/** All fields that PATCH /app accepts. */
export const patchFields: readonly string[] = ['appId', ...settable, 'applyImmediately'];

/** Handles PATCH /app, which changes an app. */
export function patchApp(call: AreaCall): AreaAnswer {
  const { body, world } = call;
  const app = appNamed(world, required(body, 'appId', text()));
  const membership = memberOf(call, app.accountId);
  const affected = environmentsOf(world, app.appId);
  if (affected.some(({ appEnvId }) => !maySee(world, membership, appEnvId)))
    throw forbidden('you do not have access to every environment of this app');
  const next = changed(world, app, body);
  const applyImmediately = optional(body, 'applyImmediately', flag) ?? false;
  const names = settable.filter((name) => sent(body, name));
  if (names.length > 0) save(world, next, names, applyImmediately);
  const { appId, name, dockerPreset, port: appPort } = next;
  return ok({ appId, name, dockerPreset, port: appPort, environmentsAffected: affected.length });
}

function save(world: World, app: App, names: readonly string[], applyImmediately: boolean): void {
  world.change(apps, { ...app, updatedAt: world.now }, 'app.updated', { fields: names, applyImmediately });
  for (const environment of environmentsOf(world, app.appId)) {
    const pendingChanges = [...new Set([...environment.pendingChanges, ...names])];
    const pending = { ...environment, pendingChanges, updatedAt: world.now };
    // An environment that is stopped or was never deployed gets the changed settings with its next deployment.
    const deploys = applyImmediately && environment.deployed && environment.status !== 'stopped';
    if (deploys) apply(world, pending, app);
    else world.of(environments).put(pending);
  }
}

/**
 * Deploys the pending changes of an environment: with a new version if the changes affect the image or the build, otherwise by a restart.
 */
function apply(world: World, pending: Environment, app: App): void {
  const made = versionForChanges(world, pending, app);
  if (made === undefined) begin(world, pending, 'restart', 'apply');
  else begin(world, made.environment, 'newVersion', 'apply', made.content);
}

function changed(world: World, app: App, body: BodyFields): App {
  // Check the credentials before all other fields: an unknown credential fails with 404, which comes before every 400.
  const { accountId } = app;
  for (const field of ['imagePullAccountSecretId', 'buildPullAccountSecretId']) {
    const credentialId = optional(body, field, anyText) ?? '';
    if (credentialId !== '') requireCredential(world, field, { credentialId, accountId, kind: 'registry' });
  }
  refuseStartup(body);
  const given = readFields(body, changedFields);
  const { dockerPreset = app.dockerPreset } = given;
  const jobConfig = jobConfigFor(dockerPreset, body);
  const next = present({
    ...app,
    ...given,
    ...dockerfile(app, dockerPreset, given),
    dockerPreset,
    dockerPresetVersion: dockerPreset === app.dockerPreset ? app.dockerPresetVersion : undefined,
    jobConfig: jobConfig === undefined ? app.jobConfig : { ...app.jobConfig, ...jobConfig },
  });
  requireConvertible(world, app, next, body);
  if (sent(body, 'image') && !next.useImage)
    throw invalid('the app is built from source: a request with image must also set useImage to true');
  return withoutCleared(next);
}

/** Removes from an app the settings that a request cleared with an empty string or an empty object. */
function withoutCleared(app: App): App {
  const isCleared = (name: string, value: unknown) => clearable.includes(name) && Object.keys(value ?? {}).length === 0;
  return Object.fromEntries(Object.entries(app).filter(([name, value]) => !isCleared(name, value))) as object as App;
}

const clearable = ['healthCheckPath', 'healthCheckHeaders', 'imagePullAccountSecretId', 'buildPullAccountSecretId'];

function dockerfile(app: App, preset: string, given: ReadFields<typeof changedFields>): object {
  const { customDockerfileContent: custom, dockerfilePath: path } = given;
  if (custom !== undefined && path !== undefined)
    throw invalid('a request may contain dockerfilePath or customDockerfileContent, but not both');
  if (custom !== undefined) return { dockerfilePath: undefined };
  if (path !== undefined) return { customDockerfileContent: undefined };
  const becomesCustom = preset === 'CUSTOM' && app.dockerPreset !== 'CUSTOM';
  return becomesCustom && app.customDockerfileContent === undefined
    ? { dockerfilePath: app.dockerfilePath ?? 'Dockerfile' }
    : {};
}

/**
 * Fails if the API does not allow the new preset of an app, or a change of `useImage` of a Function. A request that
 * converts an app to or from a Function may change only `dockerPreset`, and every environment of the app must be able
 * to run with the new preset.
 */
function requireConvertible(world: World, app: App, next: App, body: BodyFields): void {
  const isConversion = app.dockerPreset !== next.dockerPreset;
  if (isConversion && (isDatabase(app.dockerPreset) || isDatabase(next.dockerPreset)))
    throw invalid('the dockerPreset of a database cannot be changed, and an app cannot become a database');
  const touchesFunction = app.dockerPreset === 'FUNCTION' || next.dockerPreset === 'FUNCTION';
  if (!touchesFunction) return;
  const others = settable.filter((name) => name !== 'dockerPreset' && sent(body, name));
  if (isConversion && others.length > 0) {
    throw rejected(world, `converting to or from a Function may change only dockerPreset, not ${others.join(', ')}`);
  }
  if (app.useImage !== next.useImage) throw rejected(world, 'useImage of a Function cannot be changed');
  if (!isConversion) return;
  for (const environment of environmentsOf(world, app.appId)) {
    try {
      requireRunnable(world, next, environment);
    } catch (error) {
      throw error instanceof RequestRefusal ? rejected(world, error.message) : error;
    }
  }
}
