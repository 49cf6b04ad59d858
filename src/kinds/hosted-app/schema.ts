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

/** Presets that the interface names and that are not databases. */
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

const Git = fields('The repository that the service builds from. It can only be given when the resource is created.', {
  namespace: text('The owner of the repository (interface: gitNamespace).', { min: 1, max: 256 }),
  repo: text('The name of the repository (interface: gitRepo).', { min: 1, max: 256 }),
  installationId: text(
    'The installation that lets the service read it; GitHub needs it (interface: gitInstallationId).',
    {
      min: 1,
      max: 128,
    },
  ).optional(),
});

const Source = withRule(
  atMostOne(
    fields('Builds the app from source.', {
      git: Git.optional(),
      cliDeployment: flag(
        "True for an app whose source is pushed with the service's command line (interface: isCliDeployment).",
      ).optional(),
      contextDir: text('The folder to build in. Default: ./', { max: 1024 }).optional(),
      dockerfilePath: text('The path of the Dockerfile. Default with preset CUSTOM: Dockerfile.', {
        min: 1,
        max: 1024,
      }).optional(),
      dockerfile: givenText(
        'The content of the Dockerfile, instead of a path (interface: customDockerfileContent).',
      ).optional(),
      buildArgs: text('Arguments of the build, as the service takes them.', { max: 16_384 }).optional(),
      builder: text('What builds the source, such as DOCKER or NIXPACKS.', { min: 1, max: 64 }).optional(),
      pullSecretId: serviceId(
        "The id of the registry credential for base images, among the account's secrets (interface: buildPullAccountSecretId).",
      ).optional(),
    }),
    ['dockerfilePath', 'dockerfile'],
  ),
  {
    rule: 'has(self.git) != (has(self.cliDeployment) && self.cliDeployment)',
    message: 'source needs git, or cliDeployment: true, and not both',
    check: ({ git, cliDeployment = false }) => (git !== undefined) !== cliDeployment,
  },
);

const Image = fields('Runs a pre-built image (interface: useImage).', {
  reference: text('The image, such as registry.example.com/team/web:1.2 (interface: image).', { min: 1, max: 1024 }),
  pullSecretId: serviceId(
    "The id of the registry credential, among the account's secrets (interface: imagePullAccountSecretId).",
  ).optional(),
});

const portNumber = (description: string) => integer(description, { min: 1, max: 65_535 }).optional();

const HealthCheck = fields('How the service checks that the app answers.', {
  path: text('The path that is asked (interface: healthCheckPath).', { max: 2048 }).optional(),
  port: portNumber('The port that is asked (interface: healthCheckPort). Default: the port of the app.'),
  headers: namedValues(
    'Headers to send along (interface: healthCheckHeaders).',
    'A header.',
    text('Its name.', { min: 1, max: 256, pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" }),
    50,
  ),
});

const JobConfig = fields('What a job runs; only with preset JOB.', {
  command: text('The command.', { max: 16_384 }).optional(),
  shell: flag('Whether a shell runs the command.').optional(),
  timeoutSeconds: count('How long a run may take, in seconds.'),
  ttlSecondsAfterFinished: count('How long a finished run is kept, in seconds.'),
  backoffLimit: integer('How often a failed run is repeated.', { min: 0, max: 1_000_000 }).optional(),
  concurrency: fields(
    'Whether and how runs of the job may overlap. The interface does not show what this setting of jobConfig is called, so its name is given here.',
    {
      settingName: text('What the service calls the setting.', { min: 1, max: 128 }),
      value: text('Its value; digits alone are sent as a number, true and false as such.', { min: 1, max: 256 }),
    },
  ).optional(),
});

const Database = fields('The size of a database or service.', {
  containers: integer('Replicas. CouchDB has 1.', { min: 1, max: 1000 }).optional(),
  disk: integer("The size of the disk, in the unit in which the account's status.catalog shows the limit.", {
    min: 1,
    max: 2_000_000_000,
  }).optional(),
  withPersistence: flag('Whether data is kept on disk.').optional(),
  settings: mapOf(
    'Settings of the database (interface: databaseSettings); digits alone are sent as a number, true and false as such.',
    text('The value of a setting.', { max: 4096 }),
    { maxProperties: 100, maxKeyLength: 128 },
  ).optional(),
});

const AtCreation = fields(
  'What can be given only when the resource is created: the service cannot change it later, and does not show it.',
  {
    presetVersion: text('The version of the preset (interface: dockerPresetVersion).', { min: 1, max: 128 }).optional(),
    database: Database.optional(),
  },
);

const Fields = specInAccount('What runs, and how it is built.', {
  name: ownName('The name of the app in the service.', {
    max: 128,
    fixed: 'spec.name cannot be changed: the service cannot rename an app',
  }).optional(),
  preset: text(
    'The preset: CUSTOM, FUNCTION, JOB, POSTGRESQL, or any other that status.catalog of the account lists (interface: dockerPreset). Default: CUSTOM.',
    { min: 1, max: 64, pattern: '^[A-Z][A-Z0-9_]*$' },
  ).optional(),
  port: portNumber('The port that the app listens on. Required unless preset is JOB.'),
  source: Source.optional(),
  image: Image.optional(),
  healthCheck: HealthCheck.optional(),
  jobConfig: JobConfig.optional(),
  atCreation: AtCreation.optional(),
  applyImmediately: flag(
    'Whether changes deploy to all environments at once. Otherwise they stay pending in each environment until its next deployment. Default: false.',
  ).optional(),
  externalId: externalId('an app', 'appId'),
  lifecycle: objectLifecycle('Stall', 'Delete removes the app with all its environments. Default: Retain.'),
});

type Fields = z.output<typeof Fields>;
const asksForDatabase = ({ preset, atCreation }: Fields) =>
  atCreation?.database !== undefined || (databasePresets as readonly string[]).includes(preset ?? 'CUSTOM');
const words = (presets: readonly string[]) => `[${presets.map((preset) => `'${preset}'`).join(', ')}]`;
/** The job settings other than concurrency, which are fields of spec.jobConfig. */
const jobSettings = Object.keys(JobConfig.shape).filter((name) => name !== 'concurrency');

const preset = "self.?preset.orValue('CUSTOM')";
const database = `self.?atCreation.?database.hasValue() || ${preset} in ${words(databasePresets)}`;

/** The rules between fields, in the order of the fields. */
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
    message: 'a database has neither source nor image',
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

/** Adds the rules for fields that the interface cannot change after creation. */
function withFixedFields(schema: typeof Fields): typeof Fields {
  const given = (of: string, field: string) => `has(${of}.source) && has(${of}.source.${field})`;
  const same = (field: string) =>
    `(${given('self', field)} ? ${given('oldSelf', field)} && self.source.${field} == oldSelf.source.${field} : !(${given('oldSelf', field)}))`;
  const git = withTransition(schema, {
    rule: `has(self.image) && !has(self.source) || ${same('git')} && ${same('cliDeployment')}`,
    message:
      'source.git and source.cliDeployment cannot be added or changed later; they can only be dropped, by replacing source with image',
    reason: 'FieldValueForbidden',
  });
  return immutableFields(
    git,
    ['atCreation'],
    'can only be given when the resource is created; the service cannot change it later',
  );
}

/** An app, database, function or job. */
export const HostedAppSpec = withFixedFields(rules.reduce(withRule, Fields));
export type HostedAppSpec = z.output<typeof HostedAppSpec>;

/** The status fields of an app. */
export const HostedAppFacts = facts({
  slug: text('The slug of the app.', { max: 256 }).optional(),
  type: text('What it is: App, Database, Function or Job.', { max: 32 }).optional(),
  gitProvider: text('Where its source is, such as GITHUB.', { max: 64 }).optional(),
  template: text('The template that it was made from.', { max: 128 }).optional(),
  createdTime: time('When it was created in the service (interface: createdAt).').optional(),
  updatedTime: time('When it was changed last in the service, by anybody (interface: updatedAt).').optional(),
  observed: shown('What the service shows of its settings, where it shows them.', {
    preset: text('The preset (interface: dockerPreset).', { max: 64 }).optional(),
    port: integer('The port.', { min: 0, max: 65_535 }).optional(),
    useImage: flag('Whether it runs a pre-built image.').optional(),
    builder: text('What builds it.', { max: 64 }).optional(),
    contextDir: text('The folder that is built in.', { max: 1024 }).optional(),
    dockerfilePath: text('The path of the Dockerfile.', { max: 1024 }).optional(),
    useSSL: flag('Whether it is reached over TLS.').optional(),
    useTCP: flag('Whether it is reached over TCP and not HTTP.').optional(),
  }).optional(),
  environments: listByKey(
    'Its environments.',
    shown('An environment.', {
      externalId: text('Its id (interface: appEnvId).', { max: 128 }),
      name: text('Its name.', { max: 256 }).optional(),
      region: text('Where it runs.', { max: 128 }).optional(),
      state: text('Its state, in the words of the service (interface: status).', { max: 64 }).optional(),
    }),
    ['externalId'],
    { max: 100 },
  ).optional(),
  pendingChanges: listOf(
    'Fields that were changed but wait in each environment for its next deployment.',
    text('A field.', { max: 128 }),
    { max: 50 },
  ).optional(),
  pendingSinceMs: wholeNumber(
    'When the newest of the pending changes was sent, in milliseconds since 1970.',
  ).optional(),
  takenOverGeneration: wholeNumber(
    'The generation of the spec with which the app was adopted. Changes that it left pending are applied at once from the next generation on.',
  ).optional(),
  applyInDoubt: shown('A change that is applied at once and has no answer.', {
    digest: text('The fingerprint of what was sent.', { max: 128 }),
    calls: integer('How often it was sent.', { min: 1, max: 100 }),
  }).optional(),
  environmentsAffected: count('How many environments the last change concerned.'),
});
export type HostedAppFacts = z.output<typeof HostedAppFacts>;
