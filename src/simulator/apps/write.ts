import { maySee, memberOf } from '../accounts/access.ts';
import { credentials, regions } from '../accounts/records.ts';
import { type AreaAnswer, type AreaCall, ok } from '../area.ts';
import { begin, versionForChanges } from '../environments/deployment.ts';
import { createEnvironment, type Environment, environments, environmentsOf } from '../environments/environment.ts';
import { requireRunnable } from '../environments/environment.ts';
import { type BodyFields, choice, flag, number, object, optional, present, readFields } from '../http/fields.ts';
import { type Reads, record, required, sent, text } from '../http/fields.ts';
import { forbidden, invalid, notFound, RequestRefusal } from '../http/refusal.ts';
import { rejected } from '../public/shape.ts';
import type { World } from '../store/store.ts';
import { type App, appNamed, apps, createApp, type JobConfig } from './app.ts';
import { creatablePresets, isDatabase, knownPresets, limitsOf, versionsOf } from './presets.ts';

/** Reads a TCP port. */
const port = number({ min: 1, max: 65_535, whole: true });

/** Reads a text that may be empty. */
const anyText = text({ min: 0 });

/** The fields that POST /app takes. */
export const creationFields = (
  'name accountId port dockerPreset dockerPresetVersion useImage image gitNamespace gitRepo gitInstallationId buildArgs ' +
  'contextDir dockerfilePath customDockerfileContent isCliDeployment jobConfig startupConfig ' +
  // These four are sent for Databases & Services.
  'containers disk withPersistence databaseSettings'
).split(' ');

/** Creates an app: POST /app. */
export function postApp(call: AreaCall): AreaAnswer {
  const { body, world } = call;
  const accountId = required(body, 'accountId', text());
  const { membershipId: createdBy } = memberOf(call, accountId);
  const app = createApp(world, { accountId, ...newApp(body) });
  if (isDatabase(app.dockerPreset) && world.readings['createApp.provisions'] === 'databases') {
    world.schedule('apps.provisions', world.now + provisioningMs, { appId: app.appId, createdBy });
  }
  return ok({ appId: app.appId });
}

const provisioningMs = 2000;

/** Creates the first environment of a new database, in the first region. */
export function provision(world: World, from: { readonly appId: string; readonly createdBy: string }): void {
  const [region] = world.of(regions).all();
  if (!world.of(apps).has(from.appId) || region === undefined) return;
  createEnvironment(world, { ...from, name: 'production', region: region.name, status: 'running', volumes: 1 });
}

function newApp(body: BodyFields): Pick<App, 'name'> & Partial<App> {
  const name = required(body, 'name', text());
  const dockerPreset = optional(body, 'dockerPreset', choice(creatablePresets)) ?? 'CUSTOM';
  refuseStartup(body);
  requireWithinLimits(dockerPreset, body);
  const customDockerfileContent = optional(body, 'customDockerfileContent', text());
  const isPlain = dockerPreset === 'CUSTOM' && customDockerfileContent === undefined;
  return present({
    name,
    dockerPreset,
    dockerPresetVersion: versionFor(dockerPreset, body),
    port: dockerPreset === 'JOB' ? optional(body, 'port', port) : required(body, 'port', port),
    useImage: optional(body, 'useImage', flag) ?? false,
    ...gitSource(body),
    image: optional(body, 'image', imageReference),
    buildArgs: optional(body, 'buildArgs', anyText),
    contextDir: optional(body, 'contextDir', text()) ?? './',
    dockerfilePath: optional(body, 'dockerfilePath', text()) ?? (isPlain ? 'Dockerfile' : undefined),
    customDockerfileContent,
    isCliDeployment: optional(body, 'isCliDeployment', flag) ?? false,
    jobConfig: jobConfigFor(dockerPreset, body),
  });
}

/** Refuses a startup command: it belongs to an environment, not to an app. */
function refuseStartup(body: BodyFields): void {
  if (sent(body, 'startupConfig'))
    throw invalid('startupConfig is not accepted: startup commands belong to environments');
}

/** Refuses more replicas or a larger disk than a managed service has, and environment fields of another type. */
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

function versionFor(preset: string, body: BodyFields): string | undefined {
  const version = optional(body, 'dockerPresetVersion', text());
  if (version !== undefined && !versionsOf(preset).includes(version)) {
    throw invalid(`dockerPresetVersion ${version} is not a version of ${preset}`);
  }
  return version ?? versionsOf(preset).at(-1);
}

/** Reads the three git fields of an app, which must be sent together. */
function gitSource(body: BodyFields): Partial<Pick<App, 'gitNamespace' | 'gitRepo' | 'gitInstallationId'>> {
  const names = ['gitNamespace', 'gitRepo', 'gitInstallationId'] as const;
  if (!names.some((name) => sent(body, name))) return {};
  const [gitNamespace, gitRepo, gitInstallationId] = names.map((name) => required(body, name, text()));
  return present({ gitNamespace, gitRepo, gitInstallationId });
}

/** Reads a reference to an image; checks only its form, not whether the image can be pulled. */
export const imageReference: Reads<string> = (value, name) => {
  const image = text({ max: 1000 })(value, name);
  if (/[\s\p{Cc}]/u.test(image)) throw invalid(`${name} is not an image reference`);
  return image;
};

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

/** Reads the job settings that were sent. */
function jobConfigFor(preset: string, body: BodyFields): JobConfig | undefined {
  const given = optional(body, 'jobConfig', object);
  if (given === undefined) return undefined;
  if (preset !== 'JOB') throw invalid('jobConfig is for Job apps only');
  readFields(given, namedJobSettings);
  return record(plain)(given, 'jobConfig');
}

/** The fields of PATCH /app that change the app. */
const settable = (
  'dockerfilePath customDockerfileContent dockerPreset port builder contextDir buildArgs useImage image ' +
  'healthCheckPath healthCheckPort healthCheckHeaders imagePullAccountSecretId buildPullAccountSecretId jobConfig'
).split(' ');

/** The fields that PATCH /app takes. */
export const patchFields: readonly string[] = ['appId', ...settable, 'applyImmediately'];

/** Changes an app: PATCH /app. */
export function patchApp(call: AreaCall): AreaAnswer {
  const { body, world } = call;
  const app = appNamed(world, required(body, 'appId', text()));
  const membership = memberOf(call, app.accountId);
  const affected = environmentsOf(world, app.appId);
  if (affected.some(({ appEnvId }) => !maySee(world, membership, appEnvId))) {
    throw forbidden('you have no access to every environment of this app');
  }
  const next = changed(world, app, body);
  const applyImmediately = optional(body, 'applyImmediately', flag) ?? false;
  const names = settable.filter((name) => sent(body, name));
  if (names.length > 0) save(world, next, names, applyImmediately);
  const { appId, name, dockerPreset, port: appPort } = next;
  return ok({ appId, name, dockerPreset, port: appPort, environmentsAffected: affected.length });
}

function save(world: World, app: App, names: readonly string[], applyImmediately: boolean): void {
  const { appId: id, accountId } = app;
  world.of(apps).put({ ...app, updatedAt: world.now });
  world.record({ kind: 'app.updated', id, accountId, detail: { fields: names, applyImmediately } });
  for (const environment of environmentsOf(world, id)) {
    const pendingChanges = [...new Set([...environment.pendingChanges, ...names])];
    const pending = { ...environment, pendingChanges, updatedAt: world.now };
    // An environment that is stopped or was never deployed takes the changes with its next deployment.
    const deploys = applyImmediately && environment.deployed && environment.status !== 'stopped';
    if (deploys) apply(world, pending, app);
    else world.of(environments).put(pending);
  }
}

/** Deploys the pending changes of an environment: with a new version if they change the image or its build, else with a restart. */
function apply(world: World, pending: Environment, app: App): void {
  const made = versionForChanges(world, pending, app);
  if (made === undefined) begin(world, pending, 'restart', 'apply');
  else begin(world, made.environment, 'newVersion', 'apply', made.content);
}

function changed(world: World, app: App, body: BodyFields): App {
  refuseStartup(body);
  const dockerPreset = optional(body, 'dockerPreset', choice(knownPresets)) ?? app.dockerPreset;
  const custom = optional(body, 'customDockerfileContent', text());
  const path = optional(body, 'dockerfilePath', text());
  if (custom !== undefined && path !== undefined) {
    throw invalid('dockerfilePath and customDockerfileContent exclude each other');
  }
  const next = present({
    ...app,
    ...dockerfile(app, dockerPreset, custom, path),
    dockerPreset,
    dockerPresetVersion: dockerPreset === app.dockerPreset ? app.dockerPresetVersion : undefined,
    ...readFields(body, { port, builder: text(), contextDir: text(), buildArgs: anyText, useImage: flag }),
    ...readFields(body, { image: imageReference }),
    ...healthCheck(app, body),
    imagePullAccountSecretId: secretFor(world, app, body, 'imagePullAccountSecretId'),
    buildPullAccountSecretId: secretFor(world, app, body, 'buildPullAccountSecretId'),
    jobConfig: mergedJobConfig(app, dockerPreset, body),
  });
  requireConvertible(world, app, next, body);
  if (sent(body, 'image') && !next.useImage) {
    throw invalid('image needs useImage true in the same request when the app is built from source');
  }
  return next;
}

function dockerfile(app: App, preset: string, custom: string | undefined, path: string | undefined): object {
  if (custom !== undefined) return { customDockerfileContent: custom, dockerfilePath: undefined };
  if (path !== undefined) return { dockerfilePath: path, customDockerfileContent: undefined };
  const becomesCustom = preset === 'CUSTOM' && app.dockerPreset !== 'CUSTOM';
  return becomesCustom && app.customDockerfileContent === undefined
    ? { dockerfilePath: app.dockerfilePath ?? 'Dockerfile' }
    : {};
}

/** Reads the health check of an app; an empty path or empty headers clear the saved value. */
function healthCheck(app: App, body: BodyFields): object {
  const path = optional(body, 'healthCheckPath', anyText) ?? app.healthCheckPath;
  const headers = optional(body, 'healthCheckHeaders', record(anyText)) ?? app.healthCheckHeaders;
  return {
    healthCheckPath: path === '' ? undefined : path,
    healthCheckPort: optional(body, 'healthCheckPort', port) ?? app.healthCheckPort,
    healthCheckHeaders: headers !== undefined && Object.keys(headers).length === 0 ? undefined : headers,
  };
}

/** Reads the id of a registry credential; an empty text clears the saved one. */
function secretFor(
  world: World,
  app: App,
  body: BodyFields,
  field: 'imagePullAccountSecretId' | 'buildPullAccountSecretId',
): string | undefined {
  const credentialId = optional(body, field, anyText) ?? app[field];
  if (credentialId === undefined || credentialId === '') return undefined;
  const credential = world.of(credentials).get(credentialId);
  if (credential?.accountId !== app.accountId) throw notFound(`${field}: credential not found`);
  if (credential.kind !== 'registry') throw invalid(`${field} must name a registry credential`);
  return credentialId;
}

function mergedJobConfig(app: App, preset: string, body: BodyFields): App['jobConfig'] {
  const given = jobConfigFor(preset, body);
  return given === undefined ? app.jobConfig : { ...app.jobConfig, ...given };
}

/** Refuses a change of preset that the interface forbids, and any other change beside a conversion to or from a Function. */
function requireConvertible(world: World, app: App, next: App, body: BodyFields): void {
  const isConversion = app.dockerPreset !== next.dockerPreset;
  if (isConversion && (isDatabase(app.dockerPreset) || isDatabase(next.dockerPreset))) {
    throw invalid('a database stays the database it is, and an app does not become one');
  }
  const touchesFunction = app.dockerPreset === 'FUNCTION' || next.dockerPreset === 'FUNCTION';
  if (!touchesFunction) return;
  const others = settable.filter((name) => name !== 'dockerPreset' && sent(body, name));
  if (isConversion && others.length > 0) {
    throw rejected(world, `converting to or from a Function may change only dockerPreset, not ${others.join(', ')}`);
  }
  if (app.useImage !== next.useImage) throw rejected(world, 'the source mode of a Function cannot be changed');
  if (!isConversion) return;
  for (const environment of environmentsOf(world, app.appId)) {
    try {
      requireRunnable(world, next, environment);
    } catch (error) {
      throw error instanceof RequestRefusal ? rejected(world, error.message) : error;
    }
  }
}
