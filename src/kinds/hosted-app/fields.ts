/** The fields of a HostedApp: as the spec wants them, as the service shows them, and as request bodies name them. */
import { definedIn, type Json } from '../../base/json.ts';
import { type Fields } from '../../engine/kind/planner/plan.ts';
import { appAsOf, appsOf, type AppItem, type AppRecord } from '../../hosting/requests.ts';
import { imageOfAll, isDeployedByEnvironment, type AppPass } from './environments.ts';
import type { HostedAppFacts, HostedAppSpec } from './schema.ts';
import { typed, valueOf } from '../shared/values.ts';

/** An app from a list, or from a read of its own. */
export type ShownApp = AppItem | AppRecord;

/** Names of fields in PATCH /app, by their paths in the spec. The fields of `jobConfig` are sent together. */
const bodyNames = {
  preset: 'dockerPreset',
  port: 'port',
  useImage: 'useImage',
  'image.reference': 'image',
  'image.pullSecretId': 'imagePullAccountSecretId',
  'source.contextDir': 'contextDir',
  'source.dockerfilePath': 'dockerfilePath',
  'source.dockerfile': 'customDockerfileContent',
  'source.buildArgs': 'buildArgs',
  'source.builder': 'builder',
  'source.pullSecretId': 'buildPullAccountSecretId',
  'healthCheck.path': 'healthCheckPath',
  'healthCheck.port': 'healthCheckPort',
  'healthCheck.headers': 'healthCheckHeaders',
} as const;

/** Names of fields that only POST /app takes, by their paths in the spec. */
const creationNames: Readonly<Record<string, string>> = {
  'atCreation.presetVersion': 'dockerPresetVersion',
  'source.git.namespace': 'gitNamespace',
  'source.git.repo': 'gitRepo',
  'source.git.installationId': 'gitInstallationId',
  'source.cliDeployment': 'isCliDeployment',
  'atCreation.database.containers': 'containers',
  'atCreation.database.disk': 'disk',
  'atCreation.database.withPersistence': 'withPersistence',
  'atCreation.database.settings': 'databaseSettings',
};

/** Translates the interface's names of fields to their paths in the spec, where the two differ. */
export function interfaceWords(): Readonly<Record<string, string>> {
  const names = Object.entries({ ...bodyNames, ...creationNames });
  return Object.fromEntries(names.flatMap(([field, name]) => (name === field ? [] : [[name, field]])));
}

/** Fields that POST /app does not take. */
export const afterCreation = [
  'source.builder',
  'source.pullSecretId',
  'image.pullSecretId',
  'healthCheck.path',
  'healthCheck.port',
  'healthCheck.headers',
];

/** Fields that PATCH /app does not take. */
export const fixed = [
  'name',
  'source.git.namespace',
  'source.git.repo',
  'source.git.installationId',
  'source.cliDeployment',
];

/** Fields that GET /app shows, under the same names as in PATCH /app. */
const shownFields = [
  'preset',
  'port',
  'useImage',
  'source.contextDir',
  'source.dockerfilePath',
  'source.builder',
] as const satisfies (keyof typeof bodyNames)[];

/** True for a field that keeps its value in the service when the spec no longer has it. */
export function isKept(field: string): boolean {
  return ['port', 'source.builder', 'source.contextDir', 'source.dockerfilePath'].includes(field);
}

/** True for a field that the service mentions only while it is missing. */
export function isHiddenOnceSent(field: string): boolean {
  return field === 'source.dockerfile';
}

/** True for a field that the service may leave out when it is false, or once it was sent. */
export function isHiddenAtTimes(field: string): boolean {
  return isHiddenOnceSent(field) || field === 'useImage';
}

/** True when the spec replaces this form of the Dockerfile by the other one: a path and a content exclude each other. */
export function isReplaced(field: string, wanted: Fields): boolean {
  if (field === 'source.dockerfilePath') return wanted['source.dockerfile'] !== undefined;
  return field === 'source.dockerfile' && wanted['source.dockerfilePath'] !== undefined;
}

/** The name of the app in the service. */
export const nameOf = ({ spec, subject }: AppPass): string => spec.name ?? subject.name;

export const presetOf = ({ preset = 'CUSTOM' }: HostedAppSpec): string => preset;

/** The fields that the spec wants. A field taken out of the spec is cleared if the interface can clear it, else kept. */
export function desired(pass: AppPass): Fields {
  const { spec } = pass;
  const { source, image, healthCheck } = spec;
  const cleared = (field: string, empty: Json) =>
    pass.memory.applied?.prints[field] === undefined ? undefined : empty;
  const headers = healthCheck?.headers ?? [];
  return {
    name: nameOf(pass),
    preset: presetOf(spec),
    port: spec.port,
    useImage: image !== undefined ? true : source !== undefined ? false : undefined,
    'image.reference': image?.reference,
    'image.pullSecretId': image?.pullSecretId ?? cleared('image.pullSecretId', ''),
    'source.git.namespace': source?.git?.namespace,
    'source.git.repo': source?.git?.repo,
    'source.git.installationId': source?.git?.installationId,
    'source.cliDeployment': source?.cliDeployment === true ? true : undefined,
    'source.contextDir': source?.contextDir ?? (source && cleared('source.contextDir', './')),
    ...dockerfile(pass),
    'source.buildArgs': source?.buildArgs,
    'source.builder': source?.builder,
    'source.pullSecretId': source?.pullSecretId ?? cleared('source.pullSecretId', ''),
    'healthCheck.path': healthCheck?.path ?? cleared('healthCheck.path', ''),
    'healthCheck.port': healthCheck?.port,
    'healthCheck.headers':
      headers.length > 0
        ? Object.fromEntries(headers.map((header) => [header.name, valueOf(header, pass) ?? '']))
        : cleared('healthCheck.headers', {}),
    ...jobFields(spec),
  };
}

/** The fields that the spec has for the creation only. */
export function atCreation({ atCreation: given }: HostedAppSpec): Fields {
  const { presetVersion, database } = given ?? {};
  const settings = Object.entries(database?.settings ?? {}).map(([name, value]) => [name, typed(value)]);
  return {
    'atCreation.presetVersion': presetVersion,
    'atCreation.database.containers': database?.containers,
    'atCreation.database.disk': database?.disk,
    'atCreation.database.withPersistence': database?.withPersistence,
    'atCreation.database.settings': settings.length > 0 ? Object.fromEntries(settings) : undefined,
  };
}

/** The path or the content of the Dockerfile, never both. When the spec no longer has either, it is the default path. */
function dockerfile(pass: AppPass): Fields {
  const { spec, memory } = pass;
  const { source } = spec;
  if (source === undefined) return {};
  const { dockerfile: content, dockerfilePath } = source;
  if (content !== undefined) return { 'source.dockerfile': valueOf(content, pass) };
  const prints = memory.applied?.prints ?? {};
  const wasSet = prints['source.dockerfile'] !== undefined || prints['source.dockerfilePath'] !== undefined;
  const usual = wasSet && presetOf(spec) === 'CUSTOM' ? 'Dockerfile' : undefined;
  return { 'source.dockerfilePath': dockerfilePath ?? usual };
}

function jobFields({ jobConfig: config }: HostedAppSpec): Fields {
  const { concurrency, ...plain } = config ?? {};
  return {
    ...Object.fromEntries(Object.entries(plain).map(([name, value]) => [`jobConfig.${name}`, value])),
    ...(concurrency && { [`jobConfig.concurrency.${concurrency.settingName}`]: typed(concurrency.value) }),
  };
}

/** The preset that the app has in the service, as far as known. */
export function presetShown(pass: AppPass): string | undefined {
  const { memory, view, account, wrote } = pass;
  const item = memory.id === undefined ? undefined : view.one(appsOf(account.accountId), memory.id)?.item;
  const preset = item === undefined ? wrote?.fields['preset'] : observed(item, pass)['preset'];
  return typeof preset === 'string' ? preset : undefined;
}

/** True if a change turns an app into a function, or a function into an app. */
export function converts(changed: Fields, pass: AppPass): boolean {
  return 'preset' in changed && [presetOf(pass.spec), presetShown(pass)].includes('FUNCTION');
}

/** Unchanged fields that must go into the same request as a change, because the service would else set a default. */
export function goesAlong(changed: Fields, pass: AppPass): Fields {
  return definedIn({
    ...(changed['useImage'] === true && imageAlong(pass)),
    ...(changed['preset'] === 'CUSTOM' && !converts(changed, pass) && dockerfile(pass)),
  });
}

/**
 * The image to send along with a change, which deploys it if it is applied at once. So this is the image that all
 * AppEnvironments deploy, or none where they differ. An image that was sent before is not sent again.
 */
function imageAlong(pass: AppPass): Fields {
  if (!isDeployedByEnvironment(pass)) return { 'image.reference': pass.spec.image?.reference };
  const hadOne = pass.memory.applied?.prints['image.reference'] !== undefined;
  return hadOne ? {} : { 'image.reference': imageOfAll(pass) };
}

/** The fields as the service shows them. A newer write of ours replaces what an older record shows. */
export function observed(item: ShownApp, pass: AppPass): Fields {
  const found = 'createdAtMs' in item ? recordOf(item, pass) : { record: item, begunAt: Number.POSITIVE_INFINITY };
  const { record } = found ?? {};
  const wanted = desired(pass);
  const same = (field: string, value: Json | undefined) => value ?? wanted[field];
  const rows = shownFields.map((field) => [field, record?.[bodyNames[field]]] as const);
  const older = pass.wrote !== undefined && found !== undefined && found.begunAt < pass.wrote.at;
  return {
    ...Object.fromEntries(rows),
    name: item.name,
    preset: item.dockerPreset ?? record?.dockerPreset,
    'source.git.namespace': item.gitNamespace ?? record?.gitNamespace ?? (record && ''),
    'source.git.repo': item.gitRepo ?? record?.gitRepo ?? (record && ''),
    'source.git.installationId': same('source.git.installationId', record?.gitInstallationId),
    'source.cliDeployment': same('source.cliDeployment', record?.isCliDeployment),
    ...(older && pass.wrote?.fields),
  };
}

/** The result of reading the listed app on its own; undefined before it was read. */
function recordOf(item: AppItem, { view }: AppPass): { record: AppRecord; begunAt: number } | undefined {
  const read = view.one(appAsOf(item.appId, item.updatedAtMs), item.appId);
  return read?.item === undefined ? undefined : { record: read.item, begunAt: read.snapshot.begunAt };
}

/** The settings of the app for status; undefined before they were read. */
export function settingsShown(item: ShownApp, pass: AppPass): HostedAppFacts['observed'] {
  const record = 'createdAtMs' in item ? recordOf(item, pass)?.record : item;
  if (record === undefined) return undefined;
  const { dockerPreset: preset, port, useImage, builder, contextDir, dockerfilePath, useSSL, useTCP } = record;
  return { preset, port, useImage, builder, contextDir, dockerfilePath, useSSL, useTCP };
}

/** True for a field that the interface never shows, or does not show of this app. */
export function isHidden(field: string, pass: AppPass): boolean {
  if (fixed.includes(field)) return false;
  const { id } = pass.memory;
  const item = id === undefined ? undefined : pass.view.one(appsOf(pass.account.accountId), id)?.item;
  const record = item && recordOf(item, pass)?.record;
  if (field === 'source.dockerfile') return record?.customDockerfileContentInUse !== false;
  const shown = shownFields.find((one) => one === field);
  if (shown === undefined) return true;
  if (record === undefined || record[bodyNames[shown]] !== undefined) return false;
  return field !== 'source.dockerfilePath' || record.customDockerfileContentInUse !== true;
}

/** The body of POST /app from these fields. */
export function creationBodyOf(fields: Fields, pass: AppPass): Readonly<Record<string, Json>> {
  return { ...bodyOf(fields, pass), ...named({ ...fields, ...atCreation(pass.spec) }, creationNames) };
}

/** The body of PATCH /app from these fields. */
export function bodyOf(fields: Fields, pass: AppPass): Readonly<Record<string, Json>> {
  const isJob = Object.keys(fields).some((field) => field.startsWith('jobConfig.'));
  return { ...named(fields, bodyNames), ...(isJob && { jobConfig: jobConfig(pass.spec) }) };
}

function named(fields: Fields, names: Readonly<Record<string, string>>): Readonly<Record<string, Json>> {
  const rows = Object.entries(definedIn(fields)).flatMap(([field, value]) => {
    const name = names[field];
    return name === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(rows);
}

function jobConfig(spec: HostedAppSpec): Readonly<Record<string, Json>> {
  const rows = Object.entries(definedIn(jobFields(spec)));
  return Object.fromEntries(rows.map(([field, value]) => [field.replace(/^jobConfig\.(concurrency\.)?/, ''), value]));
}
