import { memberOf } from '../accounts/access.ts';
import { type AreaAnswer, type AreaCall, ok } from '../area.ts';
import { type BodyFields, choice, flag, number, object, optional, present } from '../http/fields.ts';
import { readFields, type Reads, record, required, sent, text } from '../http/fields.ts';
import { createEnvironment } from '../environments/environment.ts';
import { creatablePresets, isDatabase, versionsOf } from './presets.ts';
import { regions } from '../accounts/records.ts';
import { invalid } from '../http/refusal.ts';
import type { World } from '../store/store.ts';
import { type App, apps, createApp, type JobConfig } from './app.ts';

/** A port of TCP. */
export const port = number({ min: 1, max: 65_535, whole: true });

/** Text that may be empty. */
export const anyText = text({ min: 0 });

/** The fields of POST /app. */
export const creationFields = (
  'name accountId port dockerPreset dockerPresetVersion useImage image gitNamespace gitRepo gitInstallationId buildArgs ' +
  'contextDir dockerfilePath customDockerfileContent isCliDeployment jobConfig startupConfig ' +
  // For Databases & Services.
  'containers disk withPersistence databaseSettings'
).split(' ');

/** POST /app. */
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

/** Gives a new database its environment. */
export function provision(world: World, from: { readonly appId: string; readonly createdBy: string }): void {
  const [region] = world.of(regions).all();
  if (!world.of(apps).has(from.appId) || region === undefined) return;
  createEnvironment(world, { ...from, name: 'production', region: region.name, status: 'running', volumes: 1 });
}

function newApp(body: BodyFields): Pick<App, 'name'> & Partial<App> {
  const name = required(body, 'name', text());
  const dockerPreset = optional(body, 'dockerPreset', choice(creatablePresets)) ?? 'CUSTOM';
  refuseStartup(body);
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

/** Startup commands belong to environments. */
export function refuseStartup(body: BodyFields): void {
  if (sent(body, 'startupConfig'))
    throw invalid('startupConfig is not accepted: startup commands belong to environments');
}

function versionFor(preset: string, body: BodyFields): string | undefined {
  const version = optional(body, 'dockerPresetVersion', text());
  if (version !== undefined && !versionsOf(preset).includes(version)) {
    throw invalid(`dockerPresetVersion ${version} is not a version of ${preset}`);
  }
  return version ?? versionsOf(preset).at(-1);
}

/** The three git fields come together. */
function gitSource(body: BodyFields): Partial<Pick<App, 'gitNamespace' | 'gitRepo' | 'gitInstallationId'>> {
  const names = ['gitNamespace', 'gitRepo', 'gitInstallationId'] as const;
  if (!names.some((name) => sent(body, name))) return {};
  const [gitNamespace, gitRepo, gitInstallationId] = names.map((name) => required(body, name, text()));
  return present({ gitNamespace, gitRepo, gitInstallationId });
}

/** A reference to an image; whether it can be pulled is another question. */
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

/** The settings of a job, as far as they were sent. */
export function jobConfigFor(preset: string, body: BodyFields): JobConfig | undefined {
  const given = optional(body, 'jobConfig', object);
  if (given === undefined) return undefined;
  if (preset !== 'JOB') throw invalid('jobConfig is for Job apps only');
  readFields(given, namedJobSettings);
  return record(plain)(given, 'jobConfig');
}
