/** Maps the fields of a HostedApp between the spec, the service's responses and request bodies. */
import { definedIn, isRecord, type Json } from '../../base/json.ts';
import type { Fields, ObjectPlan } from '../../engine/kind/planner/plan.ts';
import { appAsOf, appsOf, type AppItem, type AppRecord } from '../../hosting/requests.ts';
import { valueOf } from '../../engine/kind/schema/schema.ts';
import { isDeployedByEnvironment, type AppPass } from './environments.ts';
import type { HostedAppFacts, HostedAppSpec } from './schema.ts';

/** An app as the list of apps shows it (AppItem), or as GET /app shows it (AppRecord). */
export type ShownApp = AppItem | AppRecord;

/** Describes how the service's API handles a field of an app. */
interface Field {
  /** The name that the field has in the bodies of POST /app and PATCH /app. Absent if it is the path in the spec. */
  readonly wire?: string;
  /** The only request that accepts the field: POST /app or PATCH /app. Absent if both accept it. */
  readonly only?: 'POST' | 'PATCH';
  /** True if the response of GET /app has the field, under the same name as in request bodies. */
  readonly isShown?: true;
  /** True if the field keeps its value in the service when the spec no longer has the field. */
  readonly isKept?: true;
  /** The value to send if the spec no longer has the field. It clears the field in the service. */
  readonly empty?: Json;
}

/**
 * Describes each app field, by its path in the spec. The fields of `jobConfig` are missing here, because they are sent
 * together as one object.
 */
const fields: Readonly<Record<string, Field>> = {
  name: { only: 'POST' },
  preset: { wire: 'dockerPreset', isShown: true },
  port: { wire: 'port', isShown: true, isKept: true },
  useImage: { wire: 'useImage', isShown: true },
  'image.reference': { wire: 'image' },
  'image.pullSecretId': { wire: 'imagePullAccountSecretId', only: 'PATCH', empty: '' },
  'source.git.namespace': { wire: 'gitNamespace', only: 'POST' },
  'source.git.repo': { wire: 'gitRepo', only: 'POST' },
  'source.git.installationId': { wire: 'gitInstallationId', only: 'POST' },
  'source.cliDeployment': { wire: 'isCliDeployment', only: 'POST' },
  'source.contextDir': { wire: 'contextDir', isShown: true, isKept: true, empty: './' },
  'source.dockerfilePath': { wire: 'dockerfilePath', isShown: true, isKept: true },
  'source.dockerfile': { wire: 'customDockerfileContent' },
  'source.buildArgs': { wire: 'buildArgs' },
  'source.builder': { wire: 'builder', only: 'PATCH', isShown: true, isKept: true },
  'source.pullSecretId': { wire: 'buildPullAccountSecretId', only: 'PATCH', empty: '' },
  'healthCheck.path': { wire: 'healthCheckPath', only: 'PATCH', empty: '' },
  'healthCheck.port': { wire: 'healthCheckPort', only: 'PATCH' },
  'healthCheck.headers': { wire: 'healthCheckHeaders', only: 'PATCH', empty: {} },
  'atCreation.presetVersion': { wire: 'dockerPresetVersion', only: 'POST' },
  'atCreation.database.containers': { wire: 'containers', only: 'POST' },
  'atCreation.database.disk': { wire: 'disk', only: 'POST' },
  'atCreation.database.withPersistence': { wire: 'withPersistence', only: 'POST' },
  'atCreation.database.settings': { wire: 'databaseSettings', only: 'POST' },
};

const isForCreation = (field: string) => field.startsWith('atCreation.');
/** The paths in the spec of all app fields, except those under spec.atCreation. */
const lasting = Object.keys(fields).filter((field) => !isForCreation(field));

/**
 * Maps the names of fields in the service's API to their paths in the spec, for fields whose name differs from the
 * path.
 */
export function interfaceWords(): Readonly<Record<string, string>> {
  const names = Object.entries(fields).map(([field, { wire = field }]) => [wire, field]);
  return Object.fromEntries(names.filter(([wire, field]) => wire !== field));
}

/** Returns the value that a spec has at a path such as `source.git.repo`. */
function valueAt(spec: HostedAppSpec, path: string): Json | undefined {
  let value: unknown = spec;
  for (const name of path.split('.')) value = isRecord(value) ? value[name] : undefined;
  // The cast is safe: a spec consists of JSON values.
  return value as Json | undefined;
}

/** Returns the name of the app in the service. */
export const nameOf = ({ spec, subject }: AppPass): string => spec.name ?? subject.name;

export const presetOf = ({ preset = 'CUSTOM' }: HostedAppSpec): string => preset;

/**
 * Returns the values that the spec wants for the fields of the app. A field that was removed from the spec is cleared if the
 * service's API can clear it; otherwise the service keeps its value.
 */
export function desired(pass: AppPass): Fields {
  const { spec } = pass;
  const { source, image, healthCheck } = spec;
  const fingerprints = pass.memory.applied?.fingerprints ?? {};
  const cleared = (field: string) => (fingerprints[field] === undefined ? undefined : fields[field]?.empty);
  const headers = (healthCheck?.headers ?? []).map((header) => [header.name, valueOf(header, pass) ?? '']);
  return {
    ...Object.fromEntries(lasting.map((field) => [field, valueAt(spec, field) ?? cleared(field)])),
    name: nameOf(pass),
    preset: presetOf(spec),
    useImage: image !== undefined ? true : source !== undefined ? false : undefined,
    'source.cliDeployment': source?.cliDeployment === true ? true : undefined,
    'source.contextDir': source?.contextDir ?? (source && cleared('source.contextDir')),
    ...dockerfile(pass),
    'healthCheck.headers': headers.length > 0 ? Object.fromEntries(headers) : cleared('healthCheck.headers'),
    ...jobFields(spec),
  };
}

/** Returns the path or the content of the Dockerfile, never both. Returns the default path if the spec no longer has either. */
function dockerfile(pass: AppPass): Fields {
  const { spec, memory } = pass;
  const { source } = spec;
  if (source === undefined) return {};
  const { dockerfile: content, dockerfilePath } = source;
  if (content !== undefined) return { 'source.dockerfile': valueOf(content, pass) };
  const fingerprints = memory.applied?.fingerprints ?? {};
  const wasSet = fingerprints['source.dockerfile'] !== undefined || fingerprints['source.dockerfilePath'] !== undefined;
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

/** Returns the app fields that are sent only when the app is created. */
function atCreation(spec: HostedAppSpec): Fields {
  const given = Object.keys(fields).filter(isForCreation);
  const settings = Object.entries(spec.atCreation?.database?.settings ?? {}).map(([name, text]) => [name, typed(text)]);
  return {
    ...Object.fromEntries(given.map((field) => [field, valueAt(spec, field)])),
    'atCreation.database.settings': settings.length > 0 ? Object.fromEntries(settings) : undefined,
  };
}

/** Returns the app that the HostedApp is bound to, as the list of apps shows it. */
export function listedApp({ memory, view, account }: AppPass): AppItem | undefined {
  return memory.id === undefined ? undefined : view.one(appsOf(account.accountId), memory.id)?.item;
}

/** Returns the preset that the app has in the service, as far as known. */
export function presetShown(pass: AppPass): string | undefined {
  const item = listedApp(pass);
  const preset = item === undefined ? pass.wrote?.fields['preset'] : observed(item, pass)['preset'];
  return typeof preset === 'string' ? preset : undefined;
}

/** True if a change turns an app into a function, or a function into an app. */
export function converts(changed: Fields, pass: AppPass): boolean {
  return 'preset' in changed && [presetOf(pass.spec), presetShown(pass)].includes('FUNCTION');
}

/**
 * Returns unchanged fields that must be sent together with a change, because the service would otherwise reset them to their
 * defaults.
 */
export function goesAlong(changed: Fields, pass: AppPass): Fields {
  return definedIn({
    ...(changed['useImage'] === true &&
      !isDeployedByEnvironment(pass) && { 'image.reference': pass.spec.image?.reference }),
    ...(changed['preset'] === 'CUSTOM' && !converts(changed, pass) && dockerfile(pass)),
  });
}

/** Returns the value of a field in the response to GET /app; undefined if the response does not show the field. */
function shownIn(record: AppRecord | undefined, field: string): Json | undefined {
  const { wire = field, isShown } = fields[field] ?? {};
  const shown: Readonly<Record<string, Json | undefined>> = record ?? {};
  return isShown ? shown[wire] : undefined;
}

/**
 * Returns the fields of the app as the service shows them. If the operator has written a field since the read, returns
 * the written value instead.
 */
function observed(item: ShownApp, pass: AppPass): Fields {
  const found = recordOf(item, pass);
  const { record } = found ?? {};
  const wanted = desired(pass);
  const same = (field: string, value: Json | undefined) => value ?? wanted[field];
  const older = pass.wrote !== undefined && found !== undefined && found.begunAt < pass.wrote.at;
  return {
    ...Object.fromEntries(lasting.map((field) => [field, shownIn(record, field)])),
    name: item.name,
    preset: item.dockerPreset ?? record?.dockerPreset,
    'source.git.namespace': item.gitNamespace ?? record?.gitNamespace ?? (record && ''),
    'source.git.repo': item.gitRepo ?? record?.gitRepo ?? (record && ''),
    'source.git.installationId': same('source.git.installationId', record?.gitInstallationId),
    'source.cliDeployment': same('source.cliDeployment', record?.isCliDeployment),
    ...(older && pass.wrote?.fields),
  };
}

/** Returns the app as GET /app shows it, and when the read began; undefined before the app was read. */
function recordOf(item: ShownApp, { view }: AppPass): { record: AppRecord; begunAt: number } | undefined {
  if (!('createdAtMs' in item)) return { record: item, begunAt: Number.POSITIVE_INFINITY };
  const read = view.one(appAsOf(item.appId, item.updatedAtMs), item.appId);
  return read?.item === undefined ? undefined : { record: read.item, begunAt: read.snapshot.begunAt };
}

/** Returns the settings of the app that status shows; undefined until the app was read. */
export function settingsShown(item: ShownApp, pass: AppPass): HostedAppFacts['observed'] {
  const record = recordOf(item, pass)?.record;
  if (record === undefined) return undefined;
  const { dockerPreset: preset, port, useImage, builder, contextDir, dockerfilePath, useSSL, useTCP } = record;
  return { preset, port, useImage, builder, contextDir, dockerfilePath, useSSL, useTCP };
}

/** True for a field whose value the service's API never shows, or does not show for this app. */
export function isHidden(field: string, pass: AppPass): boolean {
  if (fixed.includes(field)) return false;
  const item = listedApp(pass);
  const record = item && recordOf(item, pass)?.record;
  if (field === 'source.dockerfile') return record?.customDockerfileContentInUse !== false;
  if (fields[field]?.isShown !== true) return true;
  if (record === undefined || shownIn(record, field) !== undefined) return false;
  return field !== 'source.dockerfilePath' || record.customDockerfileContentInUse !== true;
}

/** The app fields that PATCH /app does not take. */
const fixed = lasting.filter((field) => fields[field]?.only === 'POST');

/** Rules for comparing the fields of an app in the service with the spec. */
export const comparison = {
  desired,
  observed,
  hidden: isHidden,
  // A response of the service may leave out useImage if its value is false. It may also leave out the content of a
  // Dockerfile that was sent.
  hiddenAtTimes: (field: string) => field === 'useImage' || field === 'source.dockerfile',
  sentElsewhere: (field: string, pass: AppPass) => field === 'image.reference' && isDeployedByEnvironment(pass),
  kept: (field: string) => fields[field]?.isKept === true,
  // A Dockerfile is given by a path or by its content, never by both.
  replaced: (field: string, wanted: Fields) =>
    (field === 'source.dockerfilePath' && wanted['source.dockerfile'] !== undefined) ||
    (field === 'source.dockerfile' && wanted['source.dockerfilePath'] !== undefined),
  secret: (field: string) => field === 'healthCheck.headers' || field === 'source.dockerfile',
  fixed,
  afterCreation: lasting.filter((field) => fields[field]?.only === 'PATCH'),
  creationOnly: (spec: HostedAppSpec) => Object.keys(definedIn(atCreation(spec))),
} satisfies Partial<ObjectPlan<HostedAppSpec, HostedAppFacts, ShownApp>>;

/** Translates fields of the spec to the body of POST /app, and adds the fields that are sent only at creation. */
export function creationBodyOf(given: Fields, pass: AppPass): Readonly<Record<string, Json>> {
  return { ...bodyOf(given, pass), ...named({ ...given, ...atCreation(pass.spec) }) };
}

/** Translates fields of the spec to the body of PATCH /app. */
export function bodyOf(given: Fields, { spec }: AppPass): Readonly<Record<string, Json>> {
  const isJob = Object.keys(given).some((field) => field.startsWith('jobConfig.'));
  return { ...named(given), ...(isJob && { jobConfig: jobConfig(spec) }) };
}

function named(given: Fields): Readonly<Record<string, Json>> {
  const rows = Object.entries(definedIn(given)).flatMap(([field, value]) => {
    const { wire } = fields[field] ?? {};
    return wire === undefined ? [] : [[wire, value] as const];
  });
  return Object.fromEntries(rows);
}

function jobConfig(spec: HostedAppSpec): Readonly<Record<string, Json>> {
  const rows = Object.entries(definedIn(jobFields(spec)));
  return Object.fromEntries(rows.map(([field, value]) => [field.replace(/^jobConfig\.(concurrency\.)?/, ''), value]));
}

/**
 * Converts a string to a JSON value: up to 15 digits become a number, `true` and `false` become a boolean, and any other
 * string stays a string.
 */
export function typed(text: string): string | number | boolean {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  if (text === 'true' || text === 'false') return text === 'true';
  return text;
}
