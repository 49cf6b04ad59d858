import { collection } from '../store/collection.ts';
import { accountNamed } from '../accounts/access.ts';
import { choice, flag, matching, must, number, type ReadFields, record, text } from '../http/fields.ts';
import { found } from '../http/refusal.ts';
import { creatablePresets, isDatabase, knownPresets } from './presets.ts';
import { requireFree } from '../public/shape.ts';
import type { World } from '../store/store.ts';

/** The default settings of a job. The interface does not name the concurrency setting, so settings with unknown names are kept too. */
export type JobConfig = Readonly<Record<string, string | number | boolean>>;

/** Reads a TCP port. */
export const port = number({ min: 1, max: 65_535, whole: true });

/** Reads a text, which may be empty. */
export const anyText = text({ min: 0 });

/** Reads a reference to an image; checks the form of the reference, but not whether the image can be pulled. */
export const imageReference = matching(/^[^\s\p{Cc}]+$/u, 'is not an image reference', { max: 1000 });

/** The three git fields of an app, which a request must send together. */
export const gitFields = { gitNamespace: text(), gitRepo: text(), gitInstallationId: text() };

/** The fields that POST /app and PATCH /app both take. */
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

/** The fields of POST /app that become settings of the app as they are. */
export const newFields = {
  ...sharedFields,
  ...gitFields,
  name: must(text()),
  dockerPreset: choice(creatablePresets),
  dockerPresetVersion: text(),
  isCliDeployment: flag,
};

/** The fields of PATCH /app that become settings of the app as they are. */
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

/** The settings that an app always has, because they have defaults. */
type DefaultedSetting = 'dockerPreset' | 'contextDir' | 'useImage' | 'builder' | 'isCliDeployment';

/** An app: the settings that all its environments share. */
export interface App extends Omit<AppSettings, DefaultedSetting>, Required<Pick<AppSettings, DefaultedSetting>> {
  readonly appId: string;
  readonly accountId: string;
  readonly slug: string;
  readonly jobConfig?: JobConfig;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Whether the sandbox workloads of the app have been terminated. */
  readonly sandboxTermination: 'done' | 'pending' | 'failed';
  /** True once a deletion of the app has begun: the service allocates nothing new for the app. */
  readonly deletionStarted: boolean;
}

/** The collection of all apps. */
export const apps = collection<App>('apps', (app) => app.appId, {
  account: (app) => app.accountId,
  name: (app) => `${app.accountId}/${app.name}`,
  slug: (app) => app.slug,
});

/** The fields of a new app; only the account and the name are required. */
export type NewApp = Pick<App, 'accountId' | 'name'> & Partial<Omit<App, 'slug' | 'createdAt' | 'updatedAt'>>;

/** Creates an app with a new id. Only code that builds a world by hand gives the id itself. */
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

/** Finds an app by its id; refuses with 404 when there is none. */
export function appNamed(world: World, appId: string): App {
  return found(world.of(apps).get(appId), 'app not found');
}

/** Says which kind of workload an app is, by its preset. */
export function kindOf(app: Pick<App, 'dockerPreset'>): 'app' | 'database' | 'function' | 'job' {
  if (app.dockerPreset === 'FUNCTION') return 'function';
  if (app.dockerPreset === 'JOB') return 'job';
  return isDatabase(app.dockerPreset) ? 'database' : 'app';
}

/** Refuses a name that another app of the account has, when the reading `names.apps` says that names are unique. */
export function requireFreeAppName(world: World, accountId: string, name: string): void {
  requireFree(world, 'apps', world.of(apps).where('name', `${accountId}/${name}`));
}

/** Turns a name into a part of an address; adds a number if that part is taken. */
export function freeSlug(name: string, taken: (slug: string) => boolean): string {
  const words = name.toLowerCase().match(/[a-z0-9]+/g) ?? ['app'];
  const base = words.join('-').slice(0, 40);
  for (let n = 1; ; n += 1) {
    const slug = n === 1 ? base : `${base}-${n}`;
    if (!taken(slug)) return slug;
  }
}
