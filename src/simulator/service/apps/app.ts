import { collection } from '../../store/collection.ts';
import { accountNamed } from '../accounts/access.ts';
import { choice, flag, matching, must, number, type ReadFields, record, text } from '../../http/fields.ts';
import { found } from '../../http/refusal.ts';
import { creatablePresets, isDatabase, knownPresets } from './presets.ts';
import { requireFree } from '../shape.ts';
import type { World } from '../../store/store.ts';

/**
 * The settings of a job (`jobConfig`). The API documentation does not give the name of the concurrency setting, so unknown names are stored
 * too.
 */
export type JobConfig = Readonly<Record<string, string | number | boolean>>;

/** Validates a TCP port. */
export const port = number({ min: 1, max: 65_535, whole: true });

/** Validates a string, which may be empty. */
export const anyText = text({ min: 0 });

/** Validates the form of an image reference; does not check that the image exists. */
export const imageReference = matching(/^[^\s\p{Cc}]+$/u, 'an image reference', { max: 1000 });

/** The three git fields of an app. A request that sends one of them must send all three. */
export const gitFields = { gitNamespace: text(), gitRepo: text(), gitInstallationId: text() };

/** Fields that POST /app and PATCH /app both take, and copy into the app as the request sent them. */
const sharedFields = {
  dockerfilePath: text(),
  customDockerfileContent: text(),
  dockerPreset: choice(knownPresets),
  port,
  contextDir: text(),
  buildArgs: anyText,
  useImage: flag,
  image: imageReference,
};

/** The fields of POST /app that are copied into the app as the request sent them. */
export const newFields = {
  ...sharedFields,
  ...gitFields,
  name: must(text()),
  dockerPreset: choice(creatablePresets),
  dockerPresetVersion: text(),
  isCliDeployment: flag,
};

/**
 * The fields of PATCH /app that are copied into the app as the request sent them. An empty value clears the path or the
 * headers of the health check, or a registry credential.
 */
export const changedFields = {
  ...sharedFields,
  builder: text(),
  healthCheckPath: anyText,
  healthCheckPort: port,
  healthCheckHeaders: record(anyText),
  imagePullAccountSecretId: anyText,
  buildPullAccountSecretId: anyText,
};

type AppSettings = ReadFields<typeof newFields> & ReadFields<typeof changedFields>;

/** The settings that every app has, because the API gives them default values. */
type DefaultedSetting = 'dockerPreset' | 'contextDir' | 'useImage' | 'builder' | 'isCliDeployment';

/** An app: the settings that all environments of the app share. */
export interface App extends Omit<AppSettings, DefaultedSetting>, Required<Pick<AppSettings, DefaultedSetting>> {
  readonly appId: string;
  readonly accountId: string;
  readonly slug: string;
  readonly jobConfig?: JobConfig;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The result of terminating the sandbox workloads of the app; the app can be deleted only when the result is `done`. */
  readonly sandboxTermination: 'done' | 'pending' | 'failed';
  /** True once a deletion of the app has started: the service then creates no new sandboxes for the app. */
  readonly deletionStarted: boolean;
}

/** All apps in the simulator's data, with an index for each of account, name and slug. */
export const apps = collection<App>('apps', (app) => app.appId, {
  account: (app) => app.accountId,
  name: (app) => `${app.accountId}/${app.name}`,
  slug: (app) => app.slug,
});

/** The fields of a new app; only accountId and name are required. */
export type NewApp = Pick<App, 'accountId' | 'name'> & Partial<Omit<App, 'slug' | 'createdAt' | 'updatedAt'>>;

/** Creates an app. The app gets a new id, except in the demo data and after a recovery, where the caller of this function sets the id. */
export function createApp(world: World, from: NewApp): App {
  accountNamed(world, from.accountId);
  requireFreeAppName(world, from.accountId, from.name);
  const app: App = {
    dockerPreset: 'CUSTOM',
    contextDir: './',
    useImage: false,
    builder: 'DOCKER',
    isCliDeployment: false,
    sandboxTermination: 'done',
    deletionStarted: false,
    ...from,
    appId: from.appId ?? world.id('app'),
    slug: freeSlug(from.name, (slug) => world.of(apps).where('slug', slug).length > 0),
    createdAt: world.now,
    updatedAt: world.now,
  };
  world.change(apps, app, 'app.created', { name: app.name, dockerPreset: app.dockerPreset });
  return app;
}

/** Finds an app by its id; fails with 404 if no app has this id. */
export function appNamed(world: World, appId: string): App {
  return found(world.of(apps).get(appId), 'app not found');
}

/** Returns the type of workload that an app runs, which depends on the app's dockerPreset. */
export function kindOf(app: Pick<App, 'dockerPreset'>): 'app' | 'database' | 'function' | 'job' {
  if (app.dockerPreset === 'FUNCTION') return 'function';
  if (app.dockerPreset === 'JOB') return 'job';
  return isDatabase(app.dockerPreset) ? 'database' : 'app';
}

/** Fails if another app of the account has this name and the simulator option `names.apps` is `unique`. */
export function requireFreeAppName(world: World, accountId: string, name: string): void {
  requireFree(world, 'apps', world.of(apps).where('name', `${accountId}/${name}`));
}

/** Turns a name into a slug, which can be part of a host name; appends a number if the slug is already in use. */
export function freeSlug(name: string, taken: (slug: string) => boolean): string {
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? ['app'];
  const base = words.join('-').slice(0, 40);
  for (let n = 1; ; n += 1) {
    const slug = n === 1 ? base : `${base}-${n}`;
    if (!taken(slug)) return slug;
  }
}
