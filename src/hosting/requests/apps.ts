import { z } from 'zod';
import type { Read, Request } from '../../engine/ports.ts';
import {
  appEnvsIn,
  appIn,
  appsIn,
  presetsIn,
  type AppEnvItem,
  type AppItem,
  type AppRecord,
  type PresetItem,
} from '../bodies/apps.ts';
import {
  AnyObject,
  AnyText,
  Finite,
  get,
  Id,
  MaybeSecret,
  remove,
  single,
  Text,
  write,
  type BodySchemas,
} from './endpoint.ts';

/** Job settings; the interface does not show the name of the concurrency key, so any other key passes. */
const JobConfig = AnyObject;

const PostApp = z.strictObject({
  name: Text,
  accountId: Id,
  port: Finite.exactOptional(),
  dockerPreset: Text.exactOptional(),
  dockerPresetVersion: Text.exactOptional(),
  useImage: z.boolean().exactOptional(),
  gitNamespace: Text.exactOptional(),
  gitRepo: Text.exactOptional(),
  gitInstallationId: Text.exactOptional(),
  image: Text.exactOptional(),
  buildArgs: MaybeSecret.exactOptional(),
  contextDir: Text.exactOptional(),
  dockerfilePath: Text.exactOptional(),
  customDockerfileContent: MaybeSecret.exactOptional(),
  isCliDeployment: z.boolean().exactOptional(),
  jobConfig: JobConfig.exactOptional(),
  containers: Finite.exactOptional(),
  disk: Finite.exactOptional(),
  withPersistence: z.boolean().exactOptional(),
  databaseSettings: AnyObject.exactOptional(),
});

const PatchApp = z.strictObject({
  appId: Id,
  dockerfilePath: Text.exactOptional(),
  customDockerfileContent: MaybeSecret.exactOptional(),
  dockerPreset: Text.exactOptional(),
  port: Finite.exactOptional(),
  builder: Text.exactOptional(),
  contextDir: Text.exactOptional(),
  buildArgs: MaybeSecret.exactOptional(),
  useImage: z.boolean().exactOptional(),
  image: Text.exactOptional(),
  healthCheckPath: AnyText.exactOptional(),
  healthCheckPort: Finite.exactOptional(),
  healthCheckHeaders: z.record(z.string(), MaybeSecret).readonly().exactOptional(),
  imagePullAccountSecretId: AnyText.exactOptional(),
  buildPullAccountSecretId: AnyText.exactOptional(),
  jobConfig: JobConfig.exactOptional(),
  applyImmediately: z.boolean().exactOptional(),
});

/** The body of `POST /app`. */
export type AppCreation = z.infer<typeof PostApp>;
/** The body of `PATCH /app`. */
export type AppChange = z.infer<typeof PatchApp>;

/** What may be sent about apps. */
export const appBodies: BodySchemas = { 'POST /app': PostApp, 'PATCH /app': PatchApp };

/** Creates an app. */
export function postApp(body: AppCreation): Request {
  return write('POST', '/app', 'create', body);
}

/** Changes an app for all its environments. */
export function patchApp(body: AppChange): Request {
  return write('PATCH', '/app', 'update', body);
}

/** Deletes an app. */
export function deleteApp(appId: string): Request {
  return remove('/app', { appId });
}

/** The apps of an account. */
export function appsOf(accountId: string): Read<AppItem> {
  return {
    key: 'apps',
    first: get('/apps', { accountId }),
    items: appsIn,
    idOf: (app) => app.appId,
    absentOn404: false,
    pace: 'poll',
  };
}

/** One app with everything the service shows of it. */
export function appOf(appId: string): Read<AppRecord> {
  return {
    key: `app/${appId}`,
    first: get('/app', { appId }),
    items: single(appIn),
    idOf: (app) => app.appId,
    absentOn404: true,
    pace: 'onDemand',
  };
}

/**
 * The same app, read once for each `updatedAt` that the list shows, and again every hour since that may not move.
 */
export function appAsOf(appId: string, updatedAtMs: number | undefined): Read<AppRecord> {
  return { ...appOf(appId), key: `appAsOf/${appId}/${updatedAtMs ?? ''}`, pace: 'hourly' };
}

/** True while the environment is on its way from one state to another: UPDATING, and words like it. */
export function isUnderWay(status: string | undefined): boolean {
  return status !== undefined && /^(?!running$).*ing$/i.test(status.trim());
}

/** The environments of an account. */
export function appEnvsOf(accountId: string): Read<AppEnvItem> {
  return {
    key: 'appEnvs',
    first: get('/app-envs', { accountId }),
    items: appEnvsIn,
    idOf: (environment) => environment.appEnvId,
    groupOf: (environment) => environment.appId,
    absentOn404: false,
    pace: 'poll',
    busy: (items) => [...items.values()].some(({ status }) => isUnderWay(status)),
  };
}

/** What apps may be created from, databases excepted. */
export function appPresetsOf(): Read<PresetItem> {
  return {
    key: 'appPresets',
    first: get('/app-presets'),
    items: presetsIn,
    idOf: (preset) => preset.name,
    absentOn404: false,
    pace: 'hourly',
  };
}

/** The managed databases and services that apps may be created from. */
export function databasePresetsOf(): Read<PresetItem> {
  return {
    key: 'databasePresets',
    first: get('/database-presets'),
    items: presetsIn,
    idOf: (preset) => preset.name,
    absentOn404: false,
    pace: 'hourly',
  };
}
