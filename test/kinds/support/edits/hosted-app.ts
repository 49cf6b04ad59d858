import { HostedAppSpec as schema } from '../../../../src/kinds/hosted-app/schema.ts';
import type { InProcess } from '../../../support/in-process.ts';
import { accountEdits, lifecycleEdits, quiet, refused, sent, type Edit, type Edits, type Spec } from './table.ts';

const image = { port: 8080, image: { reference: 'r/mine:1' } };
const git = { namespace: 'team', repo: 'mine', installationId: '7' };
const built = { port: 8080, source: { git } };
const pushed = { port: 8080, source: { cliDeployment: true } };
const redis = { preset: 'REDIS', port: 6379 };
const oneOrigin = refused('set exactly one of source and image');

const patch = (body: object) => sent('PATCH /app', { appId: '{id}', ...body });
const withSource = (more: Spec): Spec => ({ port: 8080, source: { git, ...more } });
const withImage = (more: Spec): Spec => ({ port: 8080, image: { reference: 'r/mine:1', ...more } });
const withHealth = (healthCheck: Spec): Spec => ({ ...image, healthCheck });
const withHeader = (name: string, valueFrom: Spec) => withHealth({ headers: [{ name, valueFrom }] });
const fromSecret = (key: string) => ({ secretKeyRef: { name: 'values', key } });
const fromConfigMap = (key: string) => ({ configMapKeyRef: { name: 'files', key } });
const withJob = (jobConfig: Spec): Spec => ({ preset: 'JOB', image: { reference: 'r/mine:1' }, jobConfig });

const buildRows: readonly Edit[] = [
  { field: 'source', before: built, removed: { comes: oneOrigin } },
  {
    field: 'source',
    before: withSource({ contextDir: './web' }),
    removed: { to: image, comes: patch({ useImage: true, image: 'r/mine:1' }), leftover: ['source.contextDir'] },
  },
  ...(['namespace', 'repo', 'installationId'] as const).map((name) => ({
    field: `source.git.${name}`,
    before: built,
    changed: {
      to: { port: 8080, source: { git: { ...git, [name]: 'other' } } },
      comes: refused('cannot be added or changed later'),
    },
    removed: { comes: refused(name === 'installationId' ? 'cannot be added or changed later' : 'Required value') },
  })),
  { field: 'source.git', before: built, removed: { comes: refused('source needs git') } },
  {
    field: 'source.cliDeployment',
    before: pushed,
    changed: { to: { port: 8080, source: { cliDeployment: false } }, comes: refused('source needs git') },
    removed: { comes: refused('source needs git') },
  },
  {
    field: 'source.contextDir',
    before: withSource({ contextDir: './web' }),
    changed: { to: withSource({ contextDir: './api' }), comes: patch({ contextDir: './api' }) },
    removed: { comes: patch({ contextDir: './' }) },
  },
  {
    field: 'source.dockerfilePath',
    before: withSource({ dockerfilePath: 'a.Dockerfile' }),
    changed: { to: withSource({ dockerfilePath: 'b.Dockerfile' }), comes: patch({ dockerfilePath: 'b.Dockerfile' }) },
    removed: { comes: patch({ dockerfilePath: 'Dockerfile' }) },
  },
  {
    field: 'source.dockerfile.value',
    before: withSource({ dockerfile: { value: 'FROM a' } }),
    changed: {
      to: withSource({ dockerfile: { value: 'FROM b' } }),
      comes: patch({ customDockerfileContent: 'FROM b' }),
    },
    removed: {
      to: withSource({ dockerfile: { valueFrom: fromConfigMap('a') } }),
      comes: patch({ customDockerfileContent: 'file a' }),
    },
  },
  {
    field: 'source.dockerfile.valueFrom.secretKeyRef',
    before: withSource({ dockerfile: { valueFrom: fromSecret('a') } }),
    changed: {
      to: withSource({ dockerfile: { valueFrom: fromSecret('b') } }),
      comes: patch({ customDockerfileContent: 'secret b' }),
    },
    removed: {
      to: withSource({ dockerfile: { valueFrom: fromConfigMap('a') } }),
      comes: patch({ customDockerfileContent: 'file a' }),
    },
  },
  ...['.valueFrom', '.valueFrom.configMapKeyRef'].map((at) => ({
    field: `source.dockerfile${at}`,
    before: withSource({ dockerfile: { valueFrom: fromConfigMap('a') } }),
    changed: {
      to: withSource({ dockerfile: { valueFrom: fromConfigMap('b') } }),
      comes: patch({ customDockerfileContent: 'file b' }),
    },
    removed: {
      to: withSource({ dockerfile: { value: 'FROM b' } }),
      comes: patch({ customDockerfileContent: 'FROM b' }),
    },
  })),
  {
    field: 'source.dockerfile',
    before: withSource({ dockerfile: { valueFrom: { configMapKeyRef: { name: 'files', key: 'a' } } } }),
    changed: {
      to: withSource({ dockerfile: { valueFrom: { configMapKeyRef: { name: 'files', key: 'b' } } } }),
      comes: patch({ customDockerfileContent: 'file b' }),
    },
    removed: { comes: patch({ dockerfilePath: 'Dockerfile' }) },
  },
  {
    field: 'source.dockerfile',
    before: withSource({ dockerfilePath: 'a.Dockerfile' }),
    changed: {
      to: withSource({ dockerfile: { valueFrom: { configMapKeyRef: { name: 'files', key: 'a' } } } }),
      comes: patch({ customDockerfileContent: 'file a' }),
    },
    removed: { to: withSource({}), comes: patch({ dockerfilePath: 'Dockerfile' }) },
  },
  {
    field: 'source.dockerfilePath',
    before: withSource({ dockerfile: { valueFrom: { configMapKeyRef: { name: 'files', key: 'a' } } } }),
    changed: {
      to: withSource({ dockerfilePath: 'a.Dockerfile' }),
      comes: patch({ dockerfilePath: 'a.Dockerfile' }),
    },
  },
  {
    field: 'source.buildArgs',
    before: withSource({ buildArgs: 'A=1' }),
    changed: { to: withSource({ buildArgs: 'A=2' }), comes: patch({ buildArgs: 'A=2' }) },
    removed: { comes: quiet(), leftover: ['source.buildArgs'] },
  },
  {
    field: 'source.builder',
    before: withSource({ builder: 'DOCKER' }),
    changed: { to: withSource({ builder: 'NIXPACKS' }), comes: patch({ builder: 'NIXPACKS' }) },
    removed: { comes: quiet(), leftover: ['source.builder'] },
  },
  {
    field: 'source.pullSecretId',
    before: withSource({ pullSecretId: 'cred_a' }),
    changed: { to: withSource({ pullSecretId: 'cred_b' }), comes: patch({ buildPullAccountSecretId: 'cred_b' }) },
    removed: { comes: patch({ buildPullAccountSecretId: '' }) },
  },
];

const imageRows: readonly Edit[] = [
  { field: 'image', before: image, removed: { comes: oneOrigin } },
  {
    field: 'image.reference',
    before: image,
    changed: { to: { port: 8080, image: { reference: 'r/mine:2' } }, comes: patch({ image: 'r/mine:2' }) },
  },
  {
    field: 'image.pullSecretId',
    before: withImage({ pullSecretId: 'cred_a' }),
    changed: { to: withImage({ pullSecretId: 'cred_b' }), comes: patch({ imagePullAccountSecretId: 'cred_b' }) },
    removed: { comes: patch({ imagePullAccountSecretId: '' }) },
  },
];

const healthRows: readonly Edit[] = [
  {
    field: 'healthCheck',
    before: withHealth({ path: '/a', port: 81, headers: [{ name: 'A', valueFrom: fromSecret('a') }] }),
    removed: { comes: patch({ healthCheckPath: '', healthCheckHeaders: {} }), leftover: ['healthCheck.port'] },
  },
  {
    field: 'healthCheck.path',
    before: withHealth({ path: '/a' }),
    changed: { to: withHealth({ path: '/b' }), comes: patch({ healthCheckPath: '/b' }) },
    removed: { comes: patch({ healthCheckPath: '' }) },
  },
  {
    field: 'healthCheck.port',
    before: withHealth({ port: 81 }),
    changed: { to: withHealth({ port: 82 }), comes: patch({ healthCheckPort: 82 }) },
    removed: { comes: quiet(), leftover: ['healthCheck.port'] },
  },
  {
    field: 'healthCheck.headers',
    before: withHeader('A', fromSecret('a')),
    removed: { comes: patch({ healthCheckHeaders: {} }) },
  },
  {
    field: 'healthCheck.headers[].name',
    before: withHeader('A', fromSecret('a')),
    changed: { to: withHeader('B', fromSecret('a')), comes: patch({ healthCheckHeaders: { B: 'secret a' } }) },
  },
  {
    field: 'healthCheck.headers[].value',
    before: withHealth({ headers: [{ name: 'A', value: 'a' }] }),
    changed: {
      to: withHealth({ headers: [{ name: 'A', value: 'b' }] }),
      comes: patch({ healthCheckHeaders: { A: 'b' } }),
    },
    removed: { to: withHeader('A', fromSecret('a')), comes: patch({ healthCheckHeaders: { A: 'secret a' } }) },
  },
  {
    field: 'healthCheck.headers[].valueFrom',
    before: withHeader('A', fromSecret('a')),
    removed: { to: withHealth({ headers: [{ name: 'A' }] }), comes: refused('set exactly one of value, valueFrom') },
  },
  {
    field: 'healthCheck.headers[].valueFrom.secretKeyRef',
    before: withHeader('A', fromSecret('a')),
    changed: { to: withHeader('A', fromSecret('b')), comes: patch({ healthCheckHeaders: { A: 'secret b' } }) },
    removed: { to: withHeader('A', {}), comes: refused('set exactly one of secretKeyRef, configMapKeyRef') },
  },
  {
    field: 'healthCheck.headers[].valueFrom.configMapKeyRef',
    before: withHeader('A', fromConfigMap('a')),
    changed: { to: withHeader('A', fromConfigMap('b')), comes: patch({ healthCheckHeaders: { A: 'file b' } }) },
    removed: { to: withHeader('A', fromSecret('a')), comes: patch({ healthCheckHeaders: { A: 'secret a' } }) },
  },
];

/** One setting of a job; its settings are one field of the service. */
function jobRow(name: string, before: unknown, after: unknown): Edit {
  return {
    field: `jobConfig.${name}`,
    before: withJob({ command: 'migrate', [name]: before }),
    changed: {
      to: withJob({ command: 'migrate', [name]: after }),
      comes: patch({ jobConfig: { command: 'migrate', [name]: after } }),
    },
    removed: { comes: quiet(), leftover: [`jobConfig.${name}`] },
  };
}

const concurrency = (settingName: string, value: string) => withJob({ concurrency: { settingName, value } });

const jobRows: readonly Edit[] = [
  {
    field: 'jobConfig',
    before: withJob({ command: 'migrate' }),
    removed: { comes: quiet(), leftover: ['jobConfig.command'] },
  },
  jobRow('command', 'one', 'two'),
  jobRow('shell', true, false),
  jobRow('timeoutSeconds', 60, 120),
  jobRow('ttlSecondsAfterFinished', 60, 120),
  jobRow('backoffLimit', 1, 2),
  {
    field: 'jobConfig.concurrency',
    before: concurrency('policy', 'Forbid'),
    removed: { comes: quiet(), leftover: ['jobConfig.concurrency.policy'] },
  },
  {
    field: 'jobConfig.concurrency.settingName',
    before: concurrency('policy', 'Forbid'),
    changed: {
      to: concurrency('concurrencyPolicy', 'Forbid'),
      comes: patch({ jobConfig: { concurrencyPolicy: 'Forbid' } }),
    },
  },
  {
    field: 'jobConfig.concurrency.value',
    before: concurrency('policy', 'Forbid'),
    changed: { to: concurrency('policy', '2'), comes: patch({ jobConfig: { policy: 2 } }) },
  },
];

const versioned = (presetVersion: string) => ({ ...image, preset: 'NEXT_JS', atCreation: { presetVersion } });
const onlyAtCreation = refused('atCreation cannot be changed');
const withDatabase = (database: Spec): Spec => ({ ...redis, atCreation: { database } });

const creationRows: readonly Edit[] = [
  {
    field: 'name',
    before: { ...image, name: 'one-{row}' },
    changed: { to: { ...image, name: 'two-{row}' }, comes: refused('the service cannot rename an app') },
    removed: { comes: refused('the service cannot rename an app') },
  },
  {
    field: 'atCreation.presetVersion',
    before: versioned('NEXT_JS_NODE_JS_22'),
    changed: { to: versioned('NEXT_JS_NODE_JS_20'), comes: onlyAtCreation },
    removed: { comes: onlyAtCreation },
  },
  { field: 'atCreation', before: withDatabase({ disk: 1 }), removed: { comes: onlyAtCreation } },
  { field: 'atCreation.database', before: withDatabase({ disk: 1 }), removed: { comes: onlyAtCreation } },
  {
    field: 'atCreation.database.settings',
    before: withDatabase({ settings: { a: '1' } }),
    changed: { to: withDatabase({ settings: { a: '2' } }), comes: onlyAtCreation },
    removed: { comes: onlyAtCreation },
  },
  ...Object.entries({ containers: [1, 2], disk: [1, 2], withPersistence: [true, false] }).map(([name, [one, two]]) => ({
    field: `atCreation.database.${name}`,
    before: withDatabase({ [name]: one }),
    changed: { to: withDatabase({ [name]: two }), comes: onlyAtCreation },
    removed: { comes: onlyAtCreation },
  })),
];

/** Rows for apps of another type, without those that say no. */
function ofType(preset: string, rows: readonly Edit[], spec: (before: Spec) => Spec = (before) => before): Edits {
  const as = (before: Spec) => ({ ...spec(before), preset });
  const typed = rows.flatMap(({ field, before, changed }): readonly Edit[] =>
    changed?.comes.is === 'sent'
      ? [{ field, before: as(before), changed: { to: as(changed.to), comes: changed.comes } }]
      : [],
  );
  return { kind: 'HostedApp', schema, rows: typed };
}

const sentInPlace = [...buildRows, ...imageRows, ...healthRows];
const port: Edit = {
  field: 'port',
  before: image,
  changed: { to: { ...image, port: 9090 }, comes: patch({ port: 9090 }) },
};

/** The fields of apps of every other type than those of the rows for every field. */
export const otherTypes: readonly { readonly type: string; readonly edits: Edits }[] = [
  { type: 'function', edits: ofType('FUNCTION', [...sentInPlace, port]) },
  { type: 'job', edits: ofType('JOB', [...sentInPlace, port]) },
  { type: 'database', edits: ofType('REDIS', [...healthRows, port], ({ image: _none, ...rest }) => rest) },
];

/** Every field of a HostedApp. */
export const hostedAppEdits: Edits = {
  kind: 'HostedApp',
  schema,
  prepare: async (world: InProcess, name) => {
    const app = { accountId: 'acc_demo', name: `hand-${name}`, port: 8080, useImage: true, image: 'r/mine:1' };
    const one = (await world.request('POST', '/app', app)).body as { appId: string };
    const two = (await world.request('POST', '/app', app)).body as { appId: string };
    return { one: one.appId, two: two.appId };
  },
  rows: [
    ...accountEdits(image),
    ...lifecycleEdits(image, {
      managementPolicy: ['Manage', 'Observe'],
      adoption: ['ById', 'Never'],
      drift: ['Correct', 'Report'],
      onDelete: ['Retain', 'Delete'],
      onMissing: ['Stall', 'Recreate'],
    }),
    ...creationRows,
    ...buildRows,
    ...imageRows,
    ...healthRows,
    ...jobRows,
    {
      field: 'preset',
      before: { ...image, preset: 'NEXT_JS' },
      changed: { to: { ...image, preset: 'REMIX' }, comes: patch({ dockerPreset: 'REMIX' }) },
      removed: { comes: patch({ dockerPreset: 'CUSTOM' }) },
    },
    {
      field: 'preset',
      before: image,
      changed: { to: { ...image, preset: 'FUNCTION' }, comes: patch({ dockerPreset: 'FUNCTION' }) },
    },
    {
      ...port,
      removed: { comes: refused('port is required unless preset is JOB') },
    },
    {
      field: 'port',
      before: { ...withJob({ command: 'migrate' }), port: 8080 },
      removed: { comes: quiet(), leftover: ['port'] },
    },
    {
      field: 'applyImmediately',
      before: { ...image, applyImmediately: false },
      changed: { to: { ...image, applyImmediately: true }, comes: quiet() },
      removed: { comes: quiet() },
    },
    {
      field: 'externalId',
      before: { ...image, name: 'hand-{row}', externalId: '{one}' },
      changed: { to: { ...image, name: 'hand-{row}', externalId: '{two}' }, comes: quiet() },
      removed: { comes: quiet() },
    },
  ],
};
