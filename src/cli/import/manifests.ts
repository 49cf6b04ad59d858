/** Turns the objects of an account into resources: references instead of ids, no defaults, no secrets. */
import type { Json } from '../../base/json.ts';
import { Secret } from '../../base/secret.ts';
import type { AppEnvironmentSpec } from '../../kinds/app-environment/schema.ts';
import type { ContactPointSpec } from '../../kinds/contact-point/schema.ts';
import type { DisasterProtectionSpec as ProtectionSpec } from '../../kinds/disaster-protection/schema.ts';
import type { HostedAppSpec } from '../../kinds/hosted-app/schema.ts';
import { thresholds, type MetricAlertSpec } from '../../kinds/metric-alert/schema.ts';
import type { MemberAccessSpec } from '../../kinds/member-access/schema.ts';
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

/** The resources of an account; `taken` are the names that a folder has for ids already. */
export function draftsOf(
  content: AccountContent,
  taken: ReadonlyMap<string, string>,
): { readonly drafts: readonly Draft[]; readonly skipped: readonly Skipped[] } {
  const { apps = [], environments = [], contactPoints = [], alerts = [], protections = [], members } = content;
  const skipped: Skipped[] = [];
  const appNames = namesOf(
    apps.map(({ appId, name }) => ({ id: appId, name })),
    taken,
  );
  const environmentNames = namesOf(
    environments.map(({ appEnvId, appId, name, cliEnvName }) => {
      return { id: appEnvId, name: cliEnvName ?? `${appNames.get(appId) ?? ''} ${name}` };
    }),
    taken,
  );
  const pointNames = namesOf(
    contactPoints.map(({ contactPointId, name }) => ({ id: contactPointId, name })),
    taken,
  );
  const alertNames = namesOf(
    alerts.map(({ alertId, name }) => ({ id: alertId, name })),
    taken,
  );
  const onEnvironment = (appEnvId: string) => {
    const name = environmentNames.get(appEnvId);
    return name === undefined ? { externalId: appEnvId } : { name };
  };
  const drafts: Draft[] = [];
  for (const app of apps) {
    if (app.record === undefined) continue;
    const name = appNames.get(app.appId) ?? '';
    const spec = appSpec(app, app.record, name);
    const own = ['preset', 'port', ...sourceFields.map((field) => `source.${field}`)];
    drafts.push({ kind: 'HostedApp', name, id: app.appId, folder: 'apps', spec, own, secrets: [] });
  }
  for (const { appEnvId, appId } of environments) {
    const name = environmentNames.get(appEnvId) ?? '';
    const app = apps.some((one) => one.appId === appId && one.record !== undefined) ? appNames.get(appId) : undefined;
    const appRef = app === undefined ? { externalId: appId } : { name: app };
    const spec = { appRef, externalId: appEnvId } satisfies AppEnvironmentSpec;
    drafts.push({ kind: 'AppEnvironment', name, id: appEnvId, folder: 'environments', spec, own: [], secrets: [] });
  }
  for (const point of contactPoints) drafts.push(contactPointDraft(point, pointNames.get(point.contactPointId) ?? ''));
  for (const alert of alerts) {
    const name = alertNames.get(alert.alertId) ?? '';
    const receivers = (alert.contactPointIds ?? []).map((id) => {
      const point = pointNames.get(id);
      return point === undefined ? { externalId: id } : { name: point };
    });
    const threshold = (thresholds as Readonly<Record<string, number>>)[alert.metric];
    const description = alert.description?.replace(mark, '');
    const spec = {
      environmentRef: onEnvironment(alert.appEnvId ?? ''),
      ...(alert.name !== name && { name: alert.name }),
      ...(description !== undefined && description !== '' && { description }),
      metric: alert.metric,
      operator: wordOf(operators, alert.operator),
      ...(alert.threshold !== threshold && { threshold: alert.threshold }),
      ...(alert.duration !== '5m' && { duration: alert.duration }),
      ...(alert.aggregation !== undefined &&
        alert.aggregation !== 'mean' && { aggregation: wordOf(aggregations, alert.aggregation) }),
      ...(alert.queryRange !== undefined && alert.queryRange !== '10m' && { queryRange: alert.queryRange }),
      contactPointRefs: receivers,
      ...(alert.enabled === false && { enabled: false }),
      externalId: alert.alertId,
    } satisfies Loose<MetricAlertSpec>;
    if (receivers.length === 0) {
      const reason = 'it tells no contact point, and a MetricAlert needs one';
      skipped.push({ what: `alert ${alert.alertId}`, code: 'NotExpressible', reason });
      continue;
    }
    const own = [
      'name',
      'description',
      'metric',
      'operator',
      'threshold',
      'duration',
      'aggregation',
      'queryRange',
      'contactPointRefs',
      'enabled',
    ];
    const isTheirs = mark.test(alert.description ?? '');
    const theirs = {
      code: 'ManagedElsewhere',
      reason: 'its description carries the mark of an operator: a resource manages it',
    };
    drafts.push({
      kind: 'MetricAlert',
      name,
      id: alert.alertId,
      folder: 'alerts',
      spec,
      own,
      secrets: [],
      ...(isTheirs && { observed: theirs }),
    });
  }
  for (const protection of protections) {
    const { configurationId: id, sourceAppEnvId } = protection;
    if (sourceAppEnvId === undefined) {
      const reason = 'the service does not show what it protects';
      skipped.push({ what: `protection ${id}`, code: 'NotExpressible', reason });
      continue;
    }
    const spec = { environmentRef: onEnvironment(sourceAppEnvId), ...protectionSpec(protection) };
    const name = taken.get(id) ?? environmentNames.get(sourceAppEnvId) ?? namesOf([{ id, name: id }]).get(id) ?? '';
    const own = Object.keys(protectionSpec(protection));
    drafts.push({ kind: 'DisasterProtection', name, id, folder: 'protections', spec, own, secrets: [] });
  }
  const memberNames = namesOf(
    members.map(({ membershipId }) => ({ id: membershipId, name: membershipId })),
    taken,
  );
  for (const { membershipId, allowedAppEnvIds } of members) {
    const isFull = allowedAppEnvIds.length === 0;
    const spec = {
      externalId: membershipId,
      access: isFull ? 'Full' : 'Restricted',
      ...(!isFull && { environmentRefs: allowedAppEnvIds.map((id) => onEnvironment(id)) }),
    } satisfies MemberAccessSpec;
    const name = memberNames.get(membershipId) ?? '';
    drafts.push({
      kind: 'MemberAccess',
      name,
      id: membershipId,
      folder: 'members',
      spec,
      own: ['access', 'environmentRefs'],
      secrets: [],
    });
  }
  return { drafts, skipped };
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

function contactPointDraft({ contactPointId: id, name: shown, type, config }: PointContent, name: string): Draft {
  const secretName = `contact-point-${name}`;
  const key = (field: string) => ({ valueFrom: { secretKeyRef: { name: secretName, key: field } } });
  const open = (field: string) => openText(config?.[field]);
  const needed: Record<string, string> = {};
  const secret = (field: string, what: string) => {
    needed[field] = what;
    return key(field);
  };
  const optional = <Name extends string>(field: Name) => {
    const value = open(field);
    return value === undefined ? {} : ({ [field]: value } as { readonly [K in Name]: string });
  };
  const common = { ...(shown !== name && { name: shown }), externalId: id };
  const settings = (): ContactPointSpec | undefined => {
    switch (type) {
      case 'email': {
        const addresses = Array.isArray(config?.['addresses'])
          ? config['addresses'].flatMap((one) => openText(one) ?? [])
          : [];
        return { ...common, email: { addresses: addresses.length > 0 ? addresses : ['fill-in@example.com'] } };
      }
      case 'webhook':
        return {
          ...common,
          webhook: {
            url: secret('url', 'the URL that is called'),
            ...optional('httpMethod'),
            ...userOf(config),
            ...(config?.['password'] !== undefined &&
              config['password'] !== null && { password: secret('password', 'the password') }),
          },
        };
      case 'chat_webhook_a':
        return {
          ...common,
          chatA: {
            webhookUrl: secret('webhookUrl', 'the incoming webhook'),
            ...optional('channel'),
            ...optional('mentionUsers'),
          },
        };
      case 'chat_webhook_b':
        return { ...common, chatB: { webhookUrl: secret('webhookUrl', 'the workflow webhook') } };
      case 'chat_webhook_c':
        return { ...common, chatC: { webhookUrl: secret('webhookUrl', 'the incoming webhook') } };
      case 'incident_service':
        return {
          ...common,
          incident: { integrationKey: secret('integrationKey', 'the integration key'), ...optional('severity') },
        };
      default:
        return undefined;
    }
  };
  const spec = settings() ?? { ...common, type };
  const secrets = Object.keys(needed).length === 0 ? [] : [{ name: secretName, keys: needed }];
  const unreadable = {
    code: 'NeedsSecret',
    reason: `settings not readable; fill them in${secrets.length > 0 ? `, and secrets/${secretName}.yaml` : ''}`,
  };
  return {
    kind: 'ContactPoint',
    name,
    id,
    folder: 'contact-points',
    spec,
    own: ['name'],
    secrets,
    ...(config === undefined && { observed: unreadable }),
  };
}

/** A user name may be shown; it arrives wrapped because every unknown setting is. */
function userOf(config: PointContent['config']): { readonly username?: string } {
  const user = config?.['username'];
  const text = user instanceof Secret ? user.reveal() : user;
  return typeof text === 'string' && text !== '' ? { username: text } : {};
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
      mode: settings.mode.toLowerCase() === 'warm' ? ('Warm' as const) : ('Cold' as const),
    }),
    ...(storage === null && { storage: { source: 'Platform' as const } }),
    ...(typeof storage === 'string' && { storage: { source: 'Credential' as const, credentialId: storage } }),
    ...stated(given),
    ...(settings?.sameRegionAcknowledged === true && { sameRegion: 'Acknowledged' as const }),
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
