/**
 * Turns the objects of an account into resources. The id of another object becomes a reference to that object's
 * resource. Default values and secrets are left out.
 */
import { definedIn, Secret } from '../../base/json.ts';
import type { AppEnvironmentSpec } from '../../kinds/app-environment/schema.ts';
import { settingsOf, type ways } from '../../kinds/contact-point/schema.ts';
import type { DisasterProtectionSpec as ProtectionSpec } from '../../kinds/disaster-protection/schema.ts';
import { settingsShown } from '../../kinds/disaster-protection/settings.ts';
import type { HostedAppSpec } from '../../kinds/hosted-app/schema.ts';
import { aggregations, inSpec, operators, thresholds, type MetricAlertSpec } from '../../kinds/metric-alert/schema.ts';
import type { MemberAccessSpec } from '../../kinds/member-access/schema.ts';
import type { SolutionInstallationSpec } from '../../kinds/solution-installation/schema.ts';
import { markForm } from '../plan/rows.ts';
import type { AccountContent, Gap } from './read-account.ts';

/** A resource that import writes as a manifest. */
export interface Draft {
  readonly kind: keyof typeof folders;
  readonly name: string;
  /** The id of the object in the service that the resource manages. */
  readonly id: string;
  readonly spec: Readonly<Record<string, unknown>>;
  /** Paths in the spec that every import updates; all other fields of an existing manifest stay unchanged. */
  readonly own: readonly string[];
  /**
   * The paths of spec fields that import writes only if the manifest does not have them yet. These fields refer to
   * Secrets, and people may have changed the references.
   */
  readonly ifAbsent?: readonly string[];
  /** Secrets that a person has to fill in, with a description of each of their keys. */
  readonly secrets: readonly { readonly name: string; readonly keys: Readonly<Record<string, string>> }[];
  /** The reason why the resource is imported with the policy Observe; undefined if import sets no policy. */
  readonly observed?: { readonly code: string; readonly reason: string };
}

/** Returns the spec of a resource as import writes it. */
export function writtenSpec({ spec, observed }: Draft): Draft['spec'] {
  return observed === undefined ? spec : { ...spec, lifecycle: { managementPolicy: 'Observe' } };
}

/** For each kind, the name of the folder that holds its resources. The import report uses the same names. */
export const folders = {
  HostedApp: 'apps',
  AppEnvironment: 'environments',
  ContactPoint: 'contact-points',
  MetricAlert: 'alerts',
  DisasterProtection: 'protections',
  MemberAccess: 'members',
  SolutionInstallation: 'installations',
} as const;

/** An installation of a solution. A person names it by a flag, because the service does not list installations. */
export type NamedInstallation = Readonly<Record<'id' | 'solution' | 'region' | 'appName', string>>;

/**
 * Turns the objects of an account into resources. `taken` maps the ids of objects to the resource names that an
 * existing folder already uses for them.
 */
export function draftsOf(
  content: AccountContent,
  taken: ReadonlyMap<string, string>,
  installations: readonly NamedInstallation[] = [],
): { readonly drafts: readonly Draft[]; readonly skipped: readonly Gap[] } {
  const { apps, environments, contactPoints, alerts, protections, members } = content;
  const names = namesIn(content, taken, installations);
  const nameOf = (id: string) => names.get(id) ?? '';
  const drafts: Draft[] = [];
  const skipped: Gap[] = [];
  const add = (kind: Draft['kind'], id: string, spec: Draft['spec'], more: Partial<Draft> = {}) => {
    drafts.push({ kind, id, name: nameOf(id), spec, own: [], secrets: [], ...more });
  };
  const skip = (what: string, reason: string) => void skipped.push({ what, code: 'NotExpressible', reason });
  const refTo = (id = '') => (names.has(id) ? { name: nameOf(id) } : { externalId: id });
  const unread = new Set(apps.flatMap(({ appId, record }) => (record === undefined ? [appId] : [])));
  for (const app of apps) {
    const { record } = app;
    if (record === undefined) continue;
    const own = ['preset', 'port', ...sourceFields.map((field) => `source.${field}`)];
    add('HostedApp', app.appId, appSpec(app, record, nameOf(app.appId)), { own });
  }
  for (const { appEnvId: id, appId } of environments) {
    const appRef = unread.has(appId) ? { externalId: appId } : refTo(appId);
    add('AppEnvironment', id, { appRef, externalId: id } satisfies AppEnvironmentSpec);
  }
  for (const point of contactPoints) {
    const { spec, ...more } = contactPointDraft(point, nameOf(point.contactPointId));
    add('ContactPoint', point.contactPointId, spec, more);
  }
  for (const alert of alerts) {
    const { alertId: id, contactPointIds = [], description = '' } = alert;
    if (contactPointIds.length === 0) {
      skip(`alert ${id}`, 'a MetricAlert needs a contact point');
      continue;
    }
    const shown = { contactPointRefs: contactPointIds.map(refTo), ...alertFields(alert, nameOf(id)) };
    const spec = { environmentRef: refTo(alert.appEnvId), ...definedIn(shown), externalId: id };
    const isTheirs = markForm.test(description);
    add('MetricAlert', id, spec, { own: Object.keys(shown), ...(isTheirs && { observed: theirs }) });
  }
  for (const protection of protections) {
    const { configurationId: id, sourceAppEnvId } = protection;
    if (sourceAppEnvId === undefined) {
      skip(`protection ${id}`, 'the service does not show the environment of the protection');
      continue;
    }
    const shown = protectionSpec(protection);
    const spec = { environmentRef: refTo(sourceAppEnvId), ...shown };
    add('DisasterProtection', id, spec, { own: Object.keys(shown) });
  }
  for (const { membershipId: id, allowedAppEnvIds } of members) {
    const environmentRefs = allowedAppEnvIds.map(refTo);
    const isFull = environmentRefs.length === 0;
    const access = isFull ? ({ access: 'Full' } as const) : ({ access: 'Restricted', environmentRefs } as const);
    const spec = { externalId: id, ...access } satisfies MemberAccessSpec;
    add('MemberAccess', id, spec, { own: ['access', 'environmentRefs'] });
  }
  for (const { id, ...told } of installations) {
    add('SolutionInstallation', id, { ...told, externalId: id } satisfies SolutionInstallationSpec, {
      observed: sentAnew,
    });
  }
  return { drafts, skipped };
}

/**
 * Chooses a name for each resource. Returns a map from the id of each object in the service to the name of its
 * resource.
 */
function namesIn(
  { apps, environments, contactPoints, alerts, protections, members }: AccountContent,
  taken: ReadonlyMap<string, string>,
  installations: readonly NamedInstallation[],
): ReadonlyMap<string, string> {
  const named = (items: Parameters<typeof namesOf>[0]) => namesOf(items, taken);
  const appNames = named(apps.map(({ appId: id, name }) => ({ id, name })));
  const environmentNames = named(
    environments.map(({ appEnvId: id, appId, name, cliEnvName }) => {
      return { id, name: cliEnvName ?? `${appNames.get(appId) ?? ''} ${name}` };
    }),
  );
  const protectionNames = protections.map(({ configurationId: id, sourceAppEnvId = '' }) => {
    const own = namesOf([{ id, name: id }]).get(id) ?? '';
    return [id, taken.get(id) ?? environmentNames.get(sourceAppEnvId) ?? own] as const;
  });
  return new Map([
    ...appNames,
    ...environmentNames,
    ...named(contactPoints.map(({ contactPointId: id, name }) => ({ id, name }))),
    ...named(alerts.map(({ alertId: id, name }) => ({ id, name }))),
    ...named(members.map(({ membershipId: id }) => ({ id, name: id }))),
    ...named(installations.map(({ id, appName: name }) => ({ id, name }))),
    ...protectionNames,
  ]);
}

/** Turns names of the service into valid Kubernetes names; adds the id where several objects would get the same name. */
function namesOf(
  items: readonly { readonly id: string; readonly name: string }[],
  taken: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const slugs = items.map(({ id, name }) => ({ id, slug: taken.get(id) ?? slugOf(name) }));
  const used = new Set<string>();
  return new Map(
    slugs.map(({ id, slug }) => {
      const isShared = taken.get(id) === undefined && slugs.some((other) => other.id !== id && other.slug === slug);
      const wish = slug === '' ? slugOf(id) : isShared ? `${slug.slice(0, 30)}-${slugOf(id)}` : slug;
      let name = wish;
      for (let n = 2; used.has(name); n += 1) name = `${wish}-${n}`;
      used.add(name);
      return [id, name] as const;
    }),
  );
}

/**
 * Turns a text into a Kubernetes name of at most 50 lower case letters, digits and dashes; empty if no letter or digit
 * is left.
 */
function slugOf(text: string): string {
  const plain = text.normalize('NFKD').toLowerCase();
  return (plain.match(/[a-z0-9]+/g) ?? []).join('-').slice(0, 50).replace(/-+$/, '');
}

const theirs = {
  code: 'ManagedElsewhere',
  reason: 'the description of the alert shows that an operator manages the alert',
};
const sentAnew = {
  code: 'SentAnew',
  reason:
    'to manage this installation, the operator would have to send POST /solutions again, because the service does not list installations; that call would create the components that are missing',
};

/**
 * Returns the spec fields of an alert, from what the service shows. A field that has its default value is undefined, so
 * import does not write it.
 */
function alertFields(alert: AccountContent['alerts'][number], name: string) {
  const { metric, threshold, aggregation = 'mean', queryRange = '10m' } = alert;
  return {
    name: unless(alert.name, name),
    description: unless(alert.description?.replace(markForm, ''), ''),
    metric,
    operator: inSpec(operators, alert.operator),
    threshold: unless(threshold, (thresholds as Readonly<Record<string, number>>)[metric]),
    duration: unless(alert.duration, '5m'),
    aggregation: unless(inSpec(aggregations, aggregation), 'Mean'),
    queryRange: unless(queryRange, '10m'),
    enabled: alert.enabled === false ? false : undefined,
  } satisfies Loose<Partial<MetricAlertSpec>>;
}

/**
 * A spec whose enum fields may hold any string. The strings come from the service, and are checked against the schema
 * later.
 */
type Loose<Spec> = {
  readonly [Field in keyof Spec]: (Spec[Field] extends string | undefined ? string : Spec[Field]) | undefined;
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

type AppContent = AccountContent['apps'][number];

function appSpec(app: AppContent, record: NonNullable<AppContent['record']>, name: string): HostedAppSpec {
  const preset = app.dockerPreset ?? record.dockerPreset ?? 'CUSTOM';
  const source = record.useImage === true ? undefined : sourceOf(app, record);
  const fields = { name: unless(app.name, name), preset: unless(preset, 'CUSTOM'), port: record.port, source };
  return { ...definedIn(fields), externalId: app.appId };
}

function sourceOf(app: AppContent, record: NonNullable<AppContent['record']>): HostedAppSpec['source'] {
  const namespace = app.gitNamespace ?? record.gitNamespace;
  const repo = app.gitRepo ?? record.gitRepo;
  const { builder, gitInstallationId, contextDir, dockerfilePath } = record;
  const hasGit = namespace !== undefined && namespace !== '' && repo !== undefined && repo !== '';
  if (!hasGit && record.isCliDeployment !== true) return undefined;
  const git = hasGit ? { namespace, repo, ...(gitInstallationId && { installationId: gitInstallationId }) } : undefined;
  const isOwnDockerfile = record.customDockerfileContentInUse !== true && dockerfilePath !== '';
  return {
    ...(git === undefined ? { cliDeployment: true } : { git }),
    ...definedIn({
      contextDir: unless(contextDir, './'),
      builder: unless(builder, 'DOCKER'),
      dockerfilePath: isOwnDockerfile ? unless(dockerfilePath, 'Dockerfile') : undefined,
    }),
  };
}

/**
 * Returns undefined if a value is the default, so that import leaves the field out. Returns any other value unchanged.
 */
function unless<Value>(value: Value, usual: Value): Value | undefined {
  return value === usual ? undefined : value;
}

type PointContent = AccountContent['contactPoints'][number];

/**
 * Says where a ContactPoint spec holds the settings of one type
 * of contact point, and which of these settings are secret.
 */
interface PointSettings {
  /** The field of a ContactPoint spec that holds the settings of this type of contact point, such as `webhook`. */
  readonly way: (typeof ways)[number];
  /**
   * The names of the settings that the contact point reads from a Secret, each with a description for the person who
   * fills in the Secret.
   */
  readonly secrets?: Readonly<Record<string, string>>;
}

const pointTypes: Readonly<Record<string, PointSettings>> = {
  email: { way: 'email' },
  webhook: { way: 'webhook', secrets: { url: 'the URL that the webhook calls', password: 'the password' } },
  chat_webhook_a: { way: 'chatA', secrets: { webhookUrl: 'the incoming webhook' } },
  chat_webhook_b: { way: 'chatB', secrets: { webhookUrl: 'the workflow webhook' } },
  chat_webhook_c: { way: 'chatC', secrets: { webhookUrl: 'the incoming webhook' } },
  incident_service: { way: 'incident', secrets: { integrationKey: 'the integration key' } },
};

function contactPointDraft({ contactPointId: id, name: shown, type, config }: PointContent, name: string) {
  const { way, secrets: all = {} } = pointTypes[type] ?? {};
  const open = way === undefined ? [] : settingsOf(way).filter((field) => field !== 'addresses' && !(field in all));
  const secretName = `contact-point-${name}`;
  // Refer to a Secret for the password of a webhook only if the webhook has a password. In that case, the service shows
  // a value for the password, which may be masked.
  const needed = Object.entries(all).filter(([field]) => field !== 'password' || (config?.[field] ?? null) !== null);
  const texts = open.flatMap((field) => {
    const given = config?.[field] ?? '';
    // The user name is no secret, so write it as text. The hosting layer returns it as a `Secret`, as it does with most
    // settings of a contact point.
    const text = given instanceof Secret && field === 'username' ? given.reveal() : given;
    return typeof text === 'string' ? [[field, text] as const] : [];
  });
  const addresses = addressesIn(config);
  const settings = {
    ...(type === 'email' && { addresses: addresses.length > 0 ? addresses : ['fill-in@example.com'] }),
    ...Object.fromEntries(texts.filter(([, text]) => text !== '')),
    ...Object.fromEntries(needed.map(([key]) => [key, { valueFrom: { secretKeyRef: { name: secretName, key } } }])),
  };
  const typed = way === undefined ? { type } : { [way]: settings };
  const spec = { ...(shown !== name && { name: shown }), externalId: id, ...typed };
  const secrets = needed.length === 0 ? [] : [{ name: secretName, keys: Object.fromEntries(needed) }];
  const secretFile = secrets.length > 0 ? ` and to secrets/${secretName}.yaml` : '';
  const reason = `the service did not return the settings of this contact point; add them to its manifest${secretFile}`;
  if (config === undefined) return { spec, own: ['name'], secrets, observed: { code: 'NeedsSecret', reason } };
  const inWay = (fields: readonly string[]) => fields.map((field) => `${way}.${field}`);
  const own = [...texts.map(([field]) => field), ...(addresses.length > 0 ? ['addresses'] : [])];
  return { spec, own: ['name', ...inWay(own)], ifAbsent: inWay(needed.map(([field]) => field)), secrets };
}

function addressesIn(config: PointContent['config']): readonly string[] {
  const listed = config?.['addresses'];
  return Array.isArray(listed) ? listed.filter((one) => typeof one === 'string' && one !== '') : [];
}

function protectionSpec({ settings, warmDestination, plannedDestination }: AccountContent['protections'][number]) {
  const whole = (seconds: number | undefined) => (Number.isInteger(seconds) ? seconds : undefined);
  const { storage, protectionMode: mode, sameRegionAcknowledged, ...shown } = settingsShown(settings ?? {});
  const { envName, appName, createNewApp } = warmDestination ?? plannedDestination ?? {};
  const isNew = createNewApp === true && appName !== undefined;
  const target = envName && { environmentName: envName, ...(isNew && { createNewApp, appName }) };
  return definedIn({
    destinationRegion: shown.destinationRegion,
    protectionMode: mode === undefined ? undefined : mode === 'Warm' ? ('Warm' as const) : ('Cold' as const),
    storage: storage.source === 'Inherited' ? undefined : storage,
    snapshotIntervalSeconds: whole(shown.snapshotIntervalSeconds),
    validationIntervalSeconds: whole(shown.validationIntervalSeconds),
    rpoTargetSeconds: whole(shown.rpoTargetSeconds),
    rtoTargetSeconds: whole(shown.rtoTargetSeconds),
    acknowledgements: sameRegionAcknowledged === true ? ['SameRegion' as const] : undefined,
    target: target || undefined,
  }) satisfies Omit<ProtectionSpec, 'environmentRef'>;
}
