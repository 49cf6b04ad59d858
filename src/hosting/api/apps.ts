import { z } from 'zod';
import type { Read } from '../../engine/ports.ts';
import { anyListNamed, bareOrIn, compared, dateMs, endpoint, get, id, lenient, lenientList } from './endpoint.ts';
import { listAt, number, objectAt, optional, parsed, unwrapped, word, words, AnyObject } from './endpoint.ts';
import { AnyText, Id, MaybeSecret, Text } from './endpoint.ts';

const App = z
  .object({
    appId: id,
    name: compared,
    slug: lenient(words),
    dockerPreset: optional(compared),
    gitProvider: lenient(compared),
    gitNamespace: optional(compared),
    gitRepo: optional(compared),
    template: lenient(words),
    createdAt: dateMs.optional(),
    updatedAt: dateMs.optional(),
  })
  .transform(({ createdAt, updatedAt, ...rest }) => ({ ...rest, createdAtMs: createdAt, updatedAtMs: updatedAt }));

/** An app as `GET /apps` lists it. */
export type AppItem = Readonly<z.output<typeof App>>;

const Record = z.object({
  appId: id,
  name: compared,
  slug: lenient(words),
  gitProvider: lenient(compared),
  gitNamespace: optional(compared),
  gitRepo: optional(compared),
  gitInstallationId: optional(compared),
  dockerPreset: optional(compared),
  contextDir: optional(compared),
  customDockerfileContentInUse: optional(z.boolean()),
  dockerfilePath: optional(compared),
  useSSL: lenient(z.boolean()),
  useTCP: lenient(z.boolean()),
  useImage: optional(z.boolean()),
  port: optional(number),
  builder: optional(compared),
  isCliDeployment: optional(z.boolean()),
});

/** The full record of an app, as `GET /app` returns it. */
export type AppRecord = Readonly<z.output<typeof Record>>;

const AppEnv = z
  .object({
    appEnvId: id,
    appId: id,
    name: compared,
    slug: lenient(words),
    region: optional(compared),
    gitBranch: lenient(compared),
    deploymentName: lenient(words),
    cliEnvName: optional(compared),
    hosts: lenientList(words),
    /**
     * The status of the environment, such as `running`. The service's API does not say which values exist, nor whether they are
     * in upper or lower case.
     */
    status: optional(word),
    resources: lenient(
      z.object({
        containers: lenient(number),
        zClouds: lenient(number),
        cpu: lenient(number),
        memory: lenient(number),
      }),
    ),
    createdAt: dateMs.optional(),
    updatedAt: dateMs.optional(),
  })
  .transform(({ createdAt, updatedAt, ...rest }) => ({ ...rest, createdAtMs: createdAt, updatedAtMs: updatedAt }));

/** An app environment as `GET /app-envs` lists it. */
export type AppEnvItem = Readonly<z.output<typeof AppEnv>>;

/** The schema of a preset's version: a string, or an object that has the string in one of several fields, such as `version`. */
const Version = bareOrIn(compared, 'name', 'dockerPresetVersion', 'version', 'value');

const Preset = z
  .object({
    name: compared.pipe(z.string().min(1)),
    label: lenient(words),
    versions: lenientList(Version),
    defaultDockerPresetVersion: lenient(compared),
    isCustom: lenient(z.boolean()),
    isFunction: lenient(z.boolean()),
    isJob: lenient(z.boolean()),
    requiresDockerfile: lenient(z.boolean()),
    protocols: lenientList(words),
    limits: lenient(z.object({ maxDisk: lenient(number), maxReplicas: lenient(number) })),
  })
  .transform(({ defaultDockerPresetVersion, limits, ...rest }) => ({
    ...rest,
    defaultVersion: defaultDockerPresetVersion,
    maxDisk: limits?.maxDisk,
    maxReplicas: limits?.maxReplicas,
  }));

/** A preset from which users can create an app or a database. */
export type PresetItem = Readonly<z.output<typeof Preset>>;

const Created = z.object({ appId: id });
const Affecting = z.object({ environmentsAffected: number });

/** Reads the id of the new app from the answer to `POST /app`. */
export function createdAppId(body: unknown): string | undefined {
  return parsed(Created, unwrapped(body, 'app'))?.appId;
}

/** Reads the number of affected environments from the answer to `PATCH /app`. */
export function environmentsAffectedOf(body: unknown): number | undefined {
  return parsed(Affecting, unwrapped(body, 'app'))?.environmentsAffected;
}

/** The fields that both `POST /app` and `PATCH /app` accept. */
const settings = {
  port: number.exactOptional(),
  dockerPreset: Text.exactOptional(),
  useImage: z.boolean().exactOptional(),
  image: Text.exactOptional(),
  buildArgs: MaybeSecret.exactOptional(),
  contextDir: Text.exactOptional(),
  dockerfilePath: Text.exactOptional(),
  customDockerfileContent: MaybeSecret.exactOptional(),
  /**
   * The settings of a Job app. Any keys are accepted, because the service's API does not document the key of the
   * concurrency setting.
   */
  jobConfig: AnyObject.exactOptional(),
};

const PostApp = z.strictObject({
  ...settings,
  name: Text,
  accountId: Id,
  dockerPresetVersion: Text.exactOptional(),
  gitNamespace: Text.exactOptional(),
  gitRepo: Text.exactOptional(),
  gitInstallationId: Text.exactOptional(),
  isCliDeployment: z.boolean().exactOptional(),
  containers: number.exactOptional(),
  disk: number.exactOptional(),
  withPersistence: z.boolean().exactOptional(),
  databaseSettings: AnyObject.exactOptional(),
});

const PatchApp = z.strictObject({
  ...settings,
  appId: Id,
  builder: Text.exactOptional(),
  healthCheckPath: AnyText.exactOptional(),
  healthCheckPort: number.exactOptional(),
  healthCheckHeaders: z.record(z.string(), MaybeSecret).readonly().exactOptional(),
  imagePullAccountSecretId: AnyText.exactOptional(),
  buildPullAccountSecretId: AnyText.exactOptional(),
  applyImmediately: z.boolean().exactOptional(),
});

/** Creates an app. */
export const postApp = endpoint('POST', '/app', 'create', PostApp);

/** Changes an app. The change applies to all environments of the app. */
export const patchApp = endpoint('PATCH', '/app', 'update', PatchApp);

const app = objectAt('/app', 'app', Record, ({ appId }) => appId);

/** Deletes an app. */
export const deleteApp = app.remove;

/** Reads the apps of an account. */
export const appsOf = listAt('/apps', 'apps', App, ({ appId }) => appId);

/** Reads the full record of one app. */
export const appOf = app.read;

/**
 * Reads the full record of an app again whenever `GET /apps` shows a new `updatedAt` for the app. Also reads the record every
 * hour, because the service might not renew `updatedAt` at each change.
 */
export function appAsOf(appId: string, updatedAtMs: number | undefined): Read<AppRecord> {
  return { ...appOf(appId), key: `appAsOf/${appId}/${updatedAtMs ?? ''}`, pace: 'hourly' };
}

/** True if the status of an environment means that the environment is changing, such as `UPDATING`. */
export function isUnderWay(status: string | undefined): boolean {
  return status !== undefined && /^(?!running$).*ing$/i.test(status.trim());
}

const appEnvs = listAt('/app-envs', 'appEnvs', AppEnv, ({ appEnvId }) => appEnvId);

/** Reads the environments of an account. */
export function appEnvsOf(accountId: string): Read<AppEnvItem> {
  return {
    ...appEnvs(accountId),
    groupOf: ({ appId }) => appId,
    busy: (items) => [...items.values()].some(({ status }) => isUnderWay(status)),
  };
}

const presets = {
  items: anyListNamed(Preset, 'presets'),
  idOf: ({ name }: PresetItem) => name,
  pace: 'hourly',
} as const;

/** Reads the presets for apps other than databases. */
export function appPresetsOf(): Read<PresetItem> {
  return { key: 'appPresets', first: get('/app-presets'), ...presets };
}

/** Reads the presets for managed databases and services. */
export function databasePresetsOf(): Read<PresetItem> {
  return { key: 'databasePresets', first: get('/database-presets'), ...presets };
}
