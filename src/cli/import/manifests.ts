/** Turns the objects of an account into resources: references instead of ids, no defaults, no secrets. */
import { type Json, Secret } from '../../base/json.ts';
import type { AppEnvironmentSpec } from '../../kinds/app-environment/schema.ts';
import type { DisasterProtectionSpec as ProtectionSpec } from '../../kinds/disaster-protection/schema.ts';
import type { HostedAppSpec } from '../../kinds/hosted-app/schema.ts';
import { thresholds, type MetricAlertSpec } from '../../kinds/metric-alert/schema.ts';
import type { MemberAccessSpec } from '../../kinds/member-access/schema.ts';
import type { SolutionInstallationSpec } from '../../kinds/solution-installation/schema.ts';
import { namesOf } from './names.ts';
import type { AccountContent } from './read-account.ts';

/** A resource to be written. */
export interface Draft {
  readonly kind: string;
  readonly name: string;
  /** The id in the service. */
  readonly id: string;
  readonly folder: string;
  readonly spec: Readonly<Record<string, unknown>>;
  /** Paths that import writes anew each time; every other field is left as it is found. */
  readonly own: readonly string[];
  /** Paths that import writes where there is nothing: references to Secrets that people may put elsewhere. */
  readonly ifAbsent?: readonly string[];
  /** Secrets that have to be filled in, with what each key is. */
  readonly secrets: readonly { readonly name: string; readonly keys: Readonly<Record<string, string>> }[];
  /** Why the resource is imported with Observe, if it is. */
  readonly observed?: { readonly code: string; readonly reason: string };
}

/** Something that becomes no resource. */
export interface Skipped {
  readonly what: string;
  readonly code: string;
  readonly reason: string;
}

/** The words of the spec for those of the service. */
const operators = { GreaterThan: 'gt', LessThan: 'lt' } as const;
const aggregations = { Mean: 'mean', Max: 'max', Min: 'min', Last: 'last' } as const;

const mark = /\s*apphosting:[a-z2-7]{16}$/;

/** An installation that a person names: the service shows none. */
export interface NamedInstallation {
  readonly id: string;
  readonly solution: string;
  readonly region: string;
  readonly appName: string;
}

/** The resources of an account; `taken` are the names that a folder has for ids already. */
export function draftsOf(
  content: AccountContent,
  taken: ReadonlyMap<string, string>,
  installations: readonly NamedInstallation[] = [],
): { readonly drafts: readonly Draft[]; readonly skipped: readonly Skipped[] } {
  const { apps = [], environments = [], contactPoints = [], alerts = [], protections = [], members } = content;
  const drafts: Draft[] = [];
  const skipped: Skipped[] = [];
  const add = (kind: keyof typeof folders, id: string, name = '', spec: Draft['spec'], more: Partial<Draft> = {}) => {
    drafts.push({ kind, folder: folders[kind], id, name, spec, own: [], secrets: [], ...more });
  };
  const skip = (what: string, reason: string) => void skipped.push({ what, code: 'NotExpressible', reason });
  const named = <Item>(items: readonly Item[], of: (item: Item) => { readonly id: string; readonly name: string }) =>
    namesOf(items.map(of), taken);
  const appNames = named(apps, ({ appId: id, name }) => ({ id, name }));
  const environmentNames = named(environments, ({ appEnvId: id, appId, name, cliEnvName }) => {
    return { id, name: cliEnvName ?? `${appNames.get(appId) ?? ''} ${name}` };
  });
  const pointNames = named(contactPoints, ({ contactPointId: id, name }) => ({ id, name }));
  const alertNames = named(alerts, ({ alertId: id, name }) => ({ id, name }));
  const memberNames = named(members, ({ membershipId: id }) => ({ id, name: id }));
  const installationNames = named(installations, ({ id, appName: name }) => ({ id, name }));
  const refIn = (names: ReadonlyMap<string, string>, id: string) => {
    const name = names.get(id);
    return name === undefined ? { externalId: id } : { name };
  };
  const written = new Map<string, string>();
  for (const app of apps) {
    if (app.record === undefined) continue;
    const name = appNames.get(app.appId) ?? '';
    written.set(app.appId, name);
    const own = ['preset', 'port', 'builder', ...sourceFields.map((field) => `source.${field}`)];
    add('HostedApp', app.appId, name, appSpec(app, app.record, name), { own });
  }
  for (const { appEnvId: id, appId } of environments) {
    const spec = { appRef: refIn(written, appId), externalId: id } satisfies AppEnvironmentSpec;
    add('AppEnvironment', id, environmentNames.get(id), spec);
  }
  for (const point of contactPoints) {
    const { contactPointId: id } = point;
    const name = pointNames.get(id) ?? '';
    const { spec, ...more } = contactPointDraft(point, name);
    add('ContactPoint', id, name, spec, more);
  }
  for (const alert of alerts) {
    const { alertId: id, contactPointIds = [], description = '' } = alert;
    if (contactPointIds.length === 0) {
      skip(`alert ${id}`, 'it tells no contact point, and a MetricAlert needs one');
      continue;
    }
    const name = alertNames.get(id) ?? '';
    const spec = {
      environmentRef: refIn(environmentNames, alert.appEnvId ?? ''),
      contactPointRefs: contactPointIds.map((point) => refIn(pointNames, point)),
      ...alertSpec(alert, name),
    };
    const own = ['contactPointRefs', ...alertFields];
    add('MetricAlert', id, name, spec, { own, ...(mark.test(description) && { observed: theirs }) });
  }
  for (const protection of protections) {
    const { configurationId: id, sourceAppEnvId } = protection;
    if (sourceAppEnvId === undefined) {
      skip(`protection ${id}`, 'the service does not show what it protects');
      continue;
    }
    const shown = protectionSpec(protection);
    const name = taken.get(id) ?? environmentNames.get(sourceAppEnvId) ?? namesOf([{ id, name: id }]).get(id);
    const spec = { environmentRef: refIn(environmentNames, sourceAppEnvId), ...shown };
    add('DisasterProtection', id, name, spec, { own: Object.keys(shown) });
  }
  for (const { membershipId: id, allowedAppEnvIds } of members) {
    const environmentRefs = allowedAppEnvIds.map((appEnvId) => refIn(environmentNames, appEnvId));
    const isFull = environmentRefs.length === 0;
    const access = isFull ? ({ access: 'Full' } as const) : ({ access: 'Restricted', environmentRefs } as const);
    const spec = { externalId: id, ...access } satisfies MemberAccessSpec;
    add('MemberAccess', id, memberNames.get(id), spec, { own: ['access', 'environmentRefs'] });
  }
  for (const { id, ...told } of installations) {
    const spec = { ...told, externalId: id } satisfies SolutionInstallationSpec;
    add('SolutionInstallation', id, installationNames.get(id), spec, { observed: sentAnew });
  }
  return { drafts, skipped };
}

const folders = {
  HostedApp: 'apps',
  AppEnvironment: 'environments',
  ContactPoint: 'contact-points',
  MetricAlert: 'alerts',
  DisasterProtection: 'protections',
  MemberAccess: 'members',
  SolutionInstallation: 'installations',
} as const;

const theirs = {
  code: 'ManagedElsewhere',
  reason: 'its description carries the mark of an operator: a resource manages it',
};
const sentAnew = {
  code: 'SentAnew',
  reason: 'the service shows no installation, so that taking it up sends POST /solutions once more',
};

type AlertContent = NonNullable<AccountContent['alerts']>[number];

const alertFields = [
  'name',
  'description',
  'metric',
  'operator',
  'threshold',
  'duration',
  'aggregation',
  'queryRange',
  'enabled',
];

function alertSpec(alert: AlertContent, name: string) {
  const description = alert.description?.replace(mark, '');
  const { metric, operator, threshold, duration, aggregation = 'mean', queryRange = '10m' } = alert;
  return {
    ...(alert.name !== name && { name: alert.name }),
    ...(description !== undefined && description !== '' && { description }),
    metric,
    operator: wordOf(operators, operator),
    ...(threshold !== (thresholds as Readonly<Record<string, number>>)[metric] && { threshold }),
    ...(duration !== '5m' && { duration }),
    ...(aggregation !== 'mean' && { aggregation: wordOf(aggregations, aggregation) }),
    ...(queryRange !== '10m' && { queryRange }),
    ...(alert.enabled === false && { enabled: false }),
    externalId: alert.alertId,
  } satisfies Partial<Loose<MetricAlertSpec>>;
}

/** The word of the spec for one of the service; a word that nobody knows stays, and the definitions refuse it. */
function wordOf(words: Readonly<Record<string, string>>, theirs: string): string {
  return Object.entries(words).find(([, word]) => word === theirs)?.[0] ?? theirs;
}

/** A spec whose enum fields may be any text; the definitions check them later. */
type Loose<Spec> = {
  readonly [Field in keyof Spec]: Spec[Field] extends string | undefined ? string | undefined : Spec[Field];
};

const sourceFields = [
  'git.namespace',
  'git.repo',
  'git.installationId',
  'cliDeployment',
  'contextDir',
  'dockerfilePath',
  'builder',
];

type AppContent = NonNullable<AccountContent['apps']>[number];

function appSpec(app: AppContent, record: NonNullable<AppContent['record']>, name: string): HostedAppSpec {
  const preset = app.dockerPreset ?? record.dockerPreset ?? 'CUSTOM';
  const source = record.useImage === true ? undefined : sourceOf(app, record);
  return {
    ...(app.name !== name && { name: app.name }),
    ...(preset !== 'CUSTOM' && { preset }),
    ...(record.port !== undefined && { port: record.port }),
    ...(source !== undefined && { source }),
    externalId: app.appId,
  };
}

function sourceOf(app: AppContent, record: NonNullable<AppContent['record']>): HostedAppSpec['source'] {
  const namespace = app.gitNamespace ?? record.gitNamespace;
  const repo = app.gitRepo ?? record.gitRepo;
  const { builder, gitInstallationId, contextDir, dockerfilePath } = record;
  const hasGit = namespace !== undefined && namespace !== '' && repo !== undefined && repo !== '';
  if (!hasGit && record.isCliDeployment !== true) return undefined;
  const git = hasGit ? { namespace, repo, ...(gitInstallationId && { installationId: gitInstallationId }) } : undefined;
  return {
    ...(git === undefined ? { cliDeployment: true } : { git }),
    ...(contextDir !== undefined && contextDir !== './' && { contextDir }),
    ...(builder !== undefined && builder !== 'DOCKER' && { builder }),
    ...(dockerfilePath &&
      record.customDockerfileContentInUse !== true &&
      dockerfilePath !== 'Dockerfile' && { dockerfilePath }),
  };
}

type PointContent = NonNullable<AccountContent['contactPoints']>[number];

/** What a contact point's settings are written from: what is open, and a reference to its Secret for what is not. */
interface PointSettings {
  readonly config: PointContent['config'];
  readonly open: <Name extends string>(field: Name) => { readonly [K in Name]?: string };
  readonly secret: (field: string, what: string) => object;
}

const settingsByType: Readonly<Record<string, (given: PointSettings) => object>> = {
  email: ({ config }) => {
    const addresses = addressesIn(config);
    return { email: { addresses: addresses.length > 0 ? addresses : ['fill-in@example.com'] } };
  },
  webhook: ({ config, open, secret }) => {
    const password = config?.['password'];
    return {
      webhook: {
        url: secret('url', 'the URL that is called'),
        ...open('httpMethod'),
        ...open('username'),
        ...(password !== undefined && password !== null && { password: secret('password', 'the password') }),
      },
    };
  },
  chat_webhook_a: ({ open, secret }) => ({
    chatA: { webhookUrl: secret('webhookUrl', 'the incoming webhook'), ...open('channel'), ...open('mentionUsers') },
  }),
  chat_webhook_b: ({ secret }) => ({ chatB: { webhookUrl: secret('webhookUrl', 'the workflow webhook') } }),
  chat_webhook_c: ({ secret }) => ({ chatC: { webhookUrl: secret('webhookUrl', 'the incoming webhook') } }),
  incident_service: ({ open, secret }) => ({
    incident: { integrationKey: secret('integrationKey', 'the integration key'), ...open('severity') },
  }),
};

function contactPointDraft(
  { contactPointId: id, name: shown, type, config }: PointContent,
  name: string,
): Pick<Draft, 'spec' | 'own' | 'ifAbsent' | 'secrets' | 'observed'> {
  const secretName = `contact-point-${name}`;
  const needed: Record<string, string> = {};
  const shownFields: string[] = [];
  const settings = settingsByType[type]?.({
    config,
    open: (field) => {
      const given = config?.[field] ?? '';
      // A user name may be shown; it arrives wrapped because every unknown setting is.
      const value = given instanceof Secret && field === 'username' ? given.reveal() : given;
      if (typeof value === 'string') shownFields.push(field);
      const text = openText(value);
      return text === undefined ? {} : ({ [field]: text } as { readonly [K in typeof field]: string });
    },
    secret: (field, what) => {
      needed[field] = what;
      return { valueFrom: { secretKeyRef: { name: secretName, key: field } } };
    },
  });
  const spec = { ...(shown !== name && { name: shown }), externalId: id, ...(settings ?? { type }) };
  const secrets = Object.keys(needed).length === 0 ? [] : [{ name: secretName, keys: needed }];
  const reason = `settings not readable; fill them in${secrets.length > 0 ? `, and secrets/${secretName}.yaml` : ''}`;
  if (config === undefined) return { spec, own: ['name'], secrets, observed: { code: 'NeedsSecret', reason } };
  const [way = ''] = Object.keys(settings ?? {});
  const inWay = (fields: readonly string[]) => fields.map((field) => `${way}.${field}`);
  if (addressesIn(config).length > 0) shownFields.push('addresses');
  return { spec, own: ['name', ...inWay(shownFields)], ifAbsent: inWay(Object.keys(needed)), secrets };
}

function addressesIn(config: PointContent['config']): readonly string[] {
  const listed = config?.['addresses'];
  return Array.isArray(listed) ? listed.flatMap((one) => openText(one) ?? []) : [];
}

function openText(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

type ProtectionContent = NonNullable<AccountContent['protections']>[number];

function protectionSpec({
  settings,
  warmDestination,
  plannedDestination,
}: ProtectionContent): Omit<ProtectionSpec, 'environmentRef'> {
  const seconds = (milliseconds: number | undefined) =>
    milliseconds === undefined || milliseconds % 1_000 !== 0 ? undefined : milliseconds / 1_000;
  const given = {
    snapshotIntervalSeconds: seconds(settings?.snapshotIntervalMs),
    validationIntervalSeconds: seconds(settings?.validationIntervalMs),
    rpoTargetSeconds: seconds(settings?.rpoTargetMs),
    rtoTargetSeconds: seconds(settings?.rtoTargetMs),
  };
  const names = warmDestination ?? plannedDestination;
  const storage = settings?.storageCredentialId;
  const isNew = names?.createNewApp === true;
  return {
    ...(settings?.destinationRegion !== undefined && { destinationRegion: settings.destinationRegion }),
    ...(settings?.mode !== undefined && {
      protectionMode: settings.mode.toLowerCase() === 'warm' ? ('Warm' as const) : ('Cold' as const),
    }),
    ...(storage === null && { storage: { source: 'Platform' as const } }),
    ...(typeof storage === 'string' && { storage: { source: 'Credential' as const, credentialId: storage } }),
    ...stated(given),
    ...(settings?.sameRegionAcknowledged === true && { acknowledgements: ['SameRegion' as const] }),
    ...(names?.envName !== undefined && {
      target: {
        environmentName: names.envName,
        ...(isNew && names.appName !== undefined && { createNewApp: true, appName: names.appName }),
      },
    }),
  };
}

/** The same without what is undefined. */
function stated<Shape extends object>(
  shape: Shape,
): { readonly [Name in keyof Shape]?: Exclude<Shape[Name], undefined> } {
  const rows = Object.entries(shape).filter(([, value]) => value !== undefined);
  return Object.fromEntries(rows) as { readonly [Name in keyof Shape]?: Exclude<Shape[Name], undefined> };
}
