import { maySee, memberOf } from '../accounts/access.ts';
import { type AreaAnswer, type AreaCall, ok } from '../area.ts';
import { type Environment, environments, environmentsOf } from '../environments/environment.ts';
import { regionNamed, requireRunnable } from '../environments/environment.ts';
import { begin } from '../environments/deployment.ts';
import { versionForChanges } from '../environments/versions.ts';
import { choice, type BodyFields, flag, optional, present, readFields, record } from '../http/fields.ts';
import { required, sent, text } from '../http/fields.ts';
import { isDatabase, knownPresets } from './presets.ts';
import { credentials } from '../accounts/records.ts';
import { forbidden, invalid, notFound, RequestRefusal } from '../http/refusal.ts';
import { rejected } from '../public/shape.ts';
import type { World } from '../store/store.ts';
import { type App, appNamed, apps } from './app.ts';
import { anyText, imageReference, jobConfigFor, port, refuseStartup } from './create.ts';

/** Fields of PATCH /app that change the app. */
const settable = (
  'dockerfilePath customDockerfileContent dockerPreset port builder contextDir buildArgs useImage image ' +
  'healthCheckPath healthCheckPort healthCheckHeaders imagePullAccountSecretId buildPullAccountSecretId jobConfig'
).split(' ');

/** The fields of PATCH /app. */
export const patchFields: readonly string[] = ['appId', ...settable, 'applyImmediately'];

/** PATCH /app. */
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

/** Deploys the pending changes of an environment: with a new version where they change the image or how it is built. */
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

/** An empty path and empty headers clear what was saved. */
function healthCheck(app: App, body: BodyFields): object {
  const path = optional(body, 'healthCheckPath', anyText) ?? app.healthCheckPath;
  const headers = optional(body, 'healthCheckHeaders', record(anyText)) ?? app.healthCheckHeaders;
  return {
    healthCheckPath: path === '' ? undefined : path,
    healthCheckPort: optional(body, 'healthCheckPort', port) ?? app.healthCheckPort,
    healthCheckHeaders: headers !== undefined && Object.keys(headers).length === 0 ? undefined : headers,
  };
}

/** The registry credential a field names; empty text clears it. */
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

/** Refuses conversions that the interface forbids, and other changes together with one to or from a Function. */
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
  for (const { region, volumes, resources } of environmentsOf(world, app.appId)) {
    try {
      requireRunnable(next, { region: regionNamed(world, region), volumes, containers: resources.containers });
    } catch (error) {
      throw error instanceof RequestRefusal ? rejected(world, error.message) : error;
    }
  }
}
