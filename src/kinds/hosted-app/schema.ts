import type { z } from 'zod';
import { externalId, specInAccount } from '../../engine/kind/schema/parts.ts';
import {
  atMostOne,
  facts,
  fields,
  flag,
  givenText,
  immutableFields,
  integer,
  listByKey,
  listOf,
  mapOf,
  ownName,
  serviceId,
  shown,
  text,
  time,
  type Rule,
  withRule,
  withTransition,
} from '../../engine/kind/schema/schema.ts';
import { databasePresets } from '../shared/presets.ts';
import { count, namedValues, objectLifecycle, wholeNumber } from '../shared/schema.ts';

/** The presets in the service's API documentation that are not databases. */
const appPresets = [
  'NEXT_JS',
  'REMIX',
  'VITE',
  'VUE_JS',
  'EXPRESS',
  'NODE_JS_INSTALL_START',
  'NODE_JS_INSTALL_BUILD_START',
  'ANGULAR',
  'METEOR_JS',
  'CUSTOM',
  'FUNCTION',
  'JOB',
] as const;

const Git = fields(
  'The git repository that the service builds from. The repository can be set only when the resource is created.',
  {
    namespace: text('The owner of the repository (API field: gitNamespace).', { min: 1, max: 256 }),
    repo: text('The name of the repository (API field: gitRepo).', { min: 1, max: 256 }),
    installationId: text(
      'The id of the installation at the git provider that lets the service read the repository; required for GitHub (API field: gitInstallationId).',
      { min: 1, max: 128 },
    ).optional(),
  },
);

const Source = withRule(
  atMostOne(
    fields('Builds the app from source.', {
      git: Git.optional(),
      cliDeployment: flag("True if the service's CLI pushes the source (API field: isCliDeployment).").optional(),
      contextDir: text('The folder of the source in which the build runs. Default: ./', { max: 1024 }).optional(),
      dockerfilePath: text('The path of the Dockerfile. Default with preset CUSTOM: Dockerfile.', {
        min: 1,
        max: 1024,
      }).optional(),
      dockerfile: givenText('The content of the Dockerfile (API field: customDockerfileContent).').optional(),
      buildArgs: text('The build arguments, in the format of the service.', { max: 16_384 }).optional(),
      builder: text('The builder of the source, such as DOCKER or NIXPACKS.', { min: 1, max: 64 }).optional(),
      pullSecretId: serviceId(
        'The id of the registry credential for base images (API field: buildPullAccountSecretId).',
      ).optional(),
    }),
    ['dockerfilePath', 'dockerfile'],
  ),
  {
    rule: 'has(self.git) != (has(self.cliDeployment) && self.cliDeployment)',
    message: 'source needs git or cliDeployment: true, but not both',
    check: ({ git, cliDeployment = false }) => (git !== undefined) !== cliDeployment,
  },
);

const Image = fields('Runs a pre-built image (API field: useImage).', {
  reference: text('The image, such as registry.example.com/team/web:1.2 (API field: image).', { min: 1, max: 1024 }),
  pullSecretId: serviceId(
    'The id of the registry credential for the image (API field: imagePullAccountSecretId).',
  ).optional(),
});

const portNumber = (description: string) => integer(description, { min: 1, max: 65_535 }).optional();

const HealthCheck = fields('The health check with which the service tests that the app answers.', {
  path: text('The path of the health check request (API field: healthCheckPath).', { max: 2048 }).optional(),
  port: portNumber('The port of the health check request (API field: healthCheckPort). Default: the port of the app.'),
  headers: namedValues(
    'Headers of the health check request (API field: healthCheckHeaders).',
    'A header.',
    text('The name of the header.', { min: 1, max: 256, pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" }),
    50,
  ),
});

const JobConfig = fields('The command and the limits of a job; allowed only with preset JOB.', {
  command: text('The command to run.', { max: 16_384 }).optional(),
  shell: flag('True to run the command in a shell.').optional(),
  timeoutSeconds: count('Maximum duration of a run, in seconds.'),
  ttlSecondsAfterFinished: count('Time for which a finished run is kept, in seconds.'),
  backoffLimit: integer('Number of times that a failed run is repeated.', { min: 0, max: 1_000_000 }).optional(),
  concurrency: fields(
    "The setting in jobConfig that says whether runs of the job can overlap. The service's API documentation does not give the name of this setting, so set both its name and its value.",
    {
      settingName: text('The name of the concurrency setting in the service.', { min: 1, max: 128 }),
      value: text(
        'The value of the setting. A value of 1 to 15 digits is sent as a number, true and false as booleans, anything else as text.',
        { min: 1, max: 256 },
      ),
    },
  ).optional(),
});

const Database = fields('The size and settings of a database or service.', {
  containers: integer('Number of replicas. CouchDB has 1.', { min: 1, max: 1000 }).optional(),
  disk: integer('The size of the disk, in the same unit as the limit maxDisk in status.catalog of the account.', {
    min: 1,
    max: 2_000_000_000,
  }).optional(),
  withPersistence: flag('True to keep data on disk.').optional(),
  settings: mapOf(
    'Settings of the database (API field: databaseSettings). A value that consists of digits is sent as a number; true and false are sent as booleans.',
    text('The value of a database setting.', { max: 4096 }),
    { maxProperties: 100, maxKeyLength: 128 },
  ).optional(),
});

const AtCreation = fields(
  'Fields that can be set only when the resource is created, because the service can neither change them later nor show them.',
  {
    presetVersion: text('The version of the preset (API field: dockerPresetVersion).', { min: 1, max: 128 }).optional(),
    database: Database.optional(),
  },
);

const Fields = specInAccount('The app to run, and how to build it.', {
  name: ownName('The name of the app in the service.', {
    max: 128,
    fixed: 'spec.name cannot be changed: the service cannot rename an app',
  }).optional(),
  preset: text(
    'The preset of the app: CUSTOM, FUNCTION, JOB, POSTGRESQL, or another preset in status.catalog of the account (API field: dockerPreset). Default: CUSTOM.',
    { min: 1, max: 64, pattern: '^[A-Z][A-Z0-9_]*$' },
  ).optional(),
  port: portNumber('The port that the app listens on. Required unless preset is JOB.'),
  source: Source.optional(),
  image: Image.optional(),
  healthCheck: HealthCheck.optional(),
  jobConfig: JobConfig.optional(),
  atCreation: AtCreation.optional(),
  applyImmediately: flag('True to apply changes at once, not at the next deployment. Default: false.').optional(),
  externalId: externalId('an app', 'appId'),
  lifecycle: objectLifecycle('Stall', 'Delete removes the app with all its environments. Default: Retain.'),
});

type Fields = z.output<typeof Fields>;
const asksForDatabase = ({ preset, atCreation }: Fields) =>
  atCreation?.database !== undefined || (databasePresets as readonly string[]).includes(preset ?? 'CUSTOM');
const words = (presets: readonly string[]) => `[${presets.map((preset) => `'${preset}'`).join(', ')}]`;
/** The names of the fields of spec.jobConfig, except concurrency. */
const jobSettings = Object.keys(JobConfig.shape).filter((name) => name !== 'concurrency');

const preset = "self.?preset.orValue('CUSTOM')";
const database = `self.?atCreation.?database.hasValue() || ${preset} in ${words(databasePresets)}`;

/** The validation rules between fields of a HostedApp, in the order of the fields. */
const rules: readonly Rule<Fields>[] = [
  {
    rule: `has(self.port) || ${preset} == 'JOB'`,
    message: 'port is required unless preset is JOB',
    fieldPath: '.port',
    reason: 'FieldValueRequired',
    check: (spec) => spec.port !== undefined || spec.preset === 'JOB',
  },
  {
    rule: `has(self.source) != has(self.image) || (!has(self.source) && (has(self.externalId) || ${database}))`,
    message: 'set exactly one of source and image; a database, or an app that externalId names, may have neither',
    check: (spec) =>
      (spec.source !== undefined) !== (spec.image !== undefined) ||
      (spec.source === undefined && (spec.externalId !== undefined || asksForDatabase(spec))),
  },
  {
    rule: `!(${database}) || (!has(self.source) && !has(self.image))`,
    message: 'a database must have neither source nor image',
    reason: 'FieldValueForbidden',
    check: (spec) => !asksForDatabase(spec) || (spec.source === undefined && spec.image === undefined),
  },
  {
    rule: `!has(self.jobConfig) || ${preset} == 'JOB'`,
    message: 'jobConfig is only allowed when preset is JOB',
    fieldPath: '.jobConfig',
    reason: 'FieldValueForbidden',
    check: (spec) => spec.jobConfig === undefined || spec.preset === 'JOB',
  },
  {
    rule: `!has(self.jobConfig) || !has(self.jobConfig.concurrency) || !(self.jobConfig.concurrency.settingName in ${words(jobSettings)})`,
    message: 'jobConfig.concurrency.settingName must not be the name of another setting of jobConfig',
    fieldPath: '.jobConfig.concurrency.settingName',
    check: ({ jobConfig: settings }) => !jobSettings.includes(settings?.concurrency?.settingName ?? ''),
  },
  {
    rule: `!self.?atCreation.?database.hasValue() || !(${preset} in ${words(appPresets)})`,
    message: 'atCreation.database is only allowed when preset names a database or service',
    fieldPath: '.atCreation',
    reason: 'FieldValueForbidden',
    check: (spec) =>
      spec.atCreation?.database === undefined || !(appPresets as readonly string[]).includes(spec.preset ?? 'CUSTOM'),
  },
  {
    rule: `${preset} != 'COUCHDB' || self.?atCreation.?database.?containers.orValue(1) == 1`,
    message: 'CouchDB is a single node: atCreation.database.containers must be 1',
    fieldPath: '.atCreation',
    check: (spec) => spec.preset !== 'COUCHDB' || (spec.atCreation?.database?.containers ?? 1) === 1,
  },
];

/** Adds validation rules for the fields that the service's API cannot change after creation. */
function withFixedFields(schema: typeof Fields): typeof Fields {
  const given = (of: string, field: string) => `has(${of}.source) && has(${of}.source.${field})`;
  const same = (field: string) =>
    `(${given('self', field)} ? ${given('oldSelf', field)} && self.source.${field} == oldSelf.source.${field} : !(${given('oldSelf', field)}))`;
  const git = withTransition(schema, {
    rule: `has(self.image) && !has(self.source) || ${same('git')} && ${same('cliDeployment')}`,
    message:
      'source.git and source.cliDeployment cannot be added or changed later; they can only be removed, by replacing source with image',
    reason: 'FieldValueForbidden',
  });
  return immutableFields(git, ['atCreation'], 'set this field when you create the resource');
}

/** The spec of a HostedApp: an app, database, function or job. */
export const HostedAppSpec = withFixedFields(rules.reduce(withRule, Fields));
export type HostedAppSpec = z.output<typeof HostedAppSpec>;

/** The status fields of a HostedApp. */
export const HostedAppFacts = facts({
  slug: text('The slug of the app.', { max: 256 }).optional(),
  type: text('The type of the app: App, Database, Function or Job.', { max: 32 }).optional(),
  gitProvider: text('The provider of the git repository, such as GITHUB.', { max: 64 }).optional(),
  template: text('The template that the app was created from.', { max: 128 }).optional(),
  createdTime: time('Time at which the app was created in the service (API field: createdAt).').optional(),
  updatedTime: time('Time of the last change of the app, as the service reports it (API field: updatedAt).').optional(),
  observed: shown('The settings of the app, as the service shows them.', {
    preset: text('The preset of the app (API field: dockerPreset).', { max: 64 }).optional(),
    port: integer('The port that the app listens on.', { min: 0, max: 65_535 }).optional(),
    useImage: flag('True if the app runs a pre-built image.').optional(),
    builder: text('The builder of the app.', { max: 64 }).optional(),
    contextDir: text('The folder that the app is built in.', { max: 1024 }).optional(),
    dockerfilePath: text('The path of the Dockerfile.', { max: 1024 }).optional(),
    useSSL: flag('True if the app is reached over TLS.').optional(),
    useTCP: flag('True if the app is reached over TCP and not HTTP.').optional(),
  }).optional(),
  environments: listByKey(
    'The environments of the app.',
    shown('An environment.', {
      externalId: text('The id of the environment (API field: appEnvId).', { max: 128 }),
      name: text('The name of the environment.', { max: 256 }).optional(),
      region: text('The region of the environment.', { max: 128 }).optional(),
      state: text('The status of the environment in the service (API field: status).', { max: 64 }).optional(),
    }),
    ['externalId'],
    { max: 100 },
  ).optional(),
  pendingChanges: listOf(
    'Fields whose change takes effect in each environment only with its next deployment.',
    text('A field.', { max: 128 }),
    { max: 50 },
  ).optional(),
  pendingSinceMs: wholeNumber('When the newest pending change was sent, in milliseconds since 1970.').optional(),
  takenOverGeneration: wholeNumber(
    'The generation of the spec at which the operator sent the adopted app fields that the service does not show. It did not apply them at once, although spec.applyImmediately is true. The next edit of the spec applies them at once.',
  ).optional(),
  applyInDoubt: shown('A change with applyImmediately whose outcome is not known.', {
    digest: text('The fingerprint (a keyed hash) of the change.', { max: 128 }),
    calls: integer('Number of times that the change was sent.', { min: 1, max: 100 }),
  }).optional(),
  environmentsAffected: count('Number of environments that the last change affected.'),
});
export type HostedAppFacts = z.output<typeof HostedAppFacts>;
