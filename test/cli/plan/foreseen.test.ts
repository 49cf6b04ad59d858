import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { plan } from '../../../src/cli/plan/command.ts';
import { Plan } from '../../../src/cli/plan/model.ts';
import { folderOf, resource } from '../support/folder.ts';
import { serviceAtSocket } from '../support/service.ts';
import { ran } from '../support/spoken.ts';

async function planned(documents: readonly string[], flags: readonly string[]): Promise<Plan> {
  const { out } = await ran(plan, [folderOf({ 'a.yaml': documents.join('---\n') }), ...flags, '-o', 'json']);
  return Plan.parse(JSON.parse(out));
}

const titlesOf = ({ rows }: Plan) => rows.map(({ kind, name, call }) => [`${kind}/${name}`, call]);
const unknownIn = (made: Plan, at: number) =>
  made.rows[at]?.fields.filter(({ after }) => after === '?').map(({ name }) => name);

const alertOn = (environment: string) =>
  resource('MetricAlert', 'busy', {
    environmentRef: { name: environment },
    metric: 'cpu_percent',
    operator: 'GreaterThan',
    contactPointRefs: [{ name: 'on-call' }],
  });
const onCall = resource('ContactPoint', 'on-call', { email: { addresses: ['a@example.com'] } });

describe('a plan of something new', () => {
  it('tells which components a solution makes, their ids as ?, and what goes on with them', async () => {
    const service = await serviceAtSocket();
    const installation = resource('SolutionInstallation', 'jobs', {
      solution: 'queue-worker',
      appName: 'jobs',
      region: 'eu-west',
    });
    const queue = resource('AppEnvironment', 'queue', { solutionRef: { name: 'jobs' }, component: 'queue' });

    const made = await planned([installation, queue, onCall, alertOn('queue')], service.flags);

    expect(titlesOf(made)).toEqual([
      ['ContactPoint/on-call', 'POST /contact-point'],
      ['SolutionInstallation/jobs', 'POST /solutions'],
      ['MetricAlert/busy', 'POST /app-env/alert'],
    ]);
    expect(made.rows[1]?.note).toBe('creates queue, worker, api');
    expect(made.rows[1]?.fields).toContainEqual({ name: 'solutionSlug', after: 'queue-worker' });
    expect(unknownIn(made, 1)).toEqual([
      'installationId',
      ...['queue', 'worker', 'api'].flatMap((name) => [`components.${name}.appId`, `components.${name}.appEnvId`]),
    ]);
    expect(made.rows[2]?.fields).toContainEqual({ name: 'appEnvId', after: 'AppEnvironment/queue' });
    expect(made).toMatchObject({ complete: true, findings: [] });
  });

  it('tells that an installation named by its id gets only what is missing of it', async () => {
    const service = await serviceAtSocket();
    const spec = { solution: 'queue-worker', appName: 'jobs', region: 'eu-west', externalId: 'inst_1' };

    const made = await planned([resource('SolutionInstallation', 'jobs', spec)], service.flags);

    expect(made.rows).toMatchObject([
      {
        call: 'POST /solutions',
        note: 'creates only the missing components of the solution; the plan cannot tell which are missing',
      },
    ]);
    expect(made.rows[0]?.fields).toContainEqual({ name: 'installationId', after: 'inst_1' });
  });

  it('tells a database with its preset, the environment that it gets, and what goes on there', async () => {
    const service = await serviceAtSocket();
    const database = { containers: 1, disk: 10 };
    const app = resource('HostedApp', 'store', { preset: 'POSTGRESQL', port: 5432, atCreation: { database } });
    const environment = resource('AppEnvironment', 'store-prod', {
      appRef: { name: 'store' },
      environmentName: 'production',
    });

    const made = await planned([app, environment, onCall, alertOn('store-prod')], service.flags);

    expect(titlesOf(made)).toEqual([
      ['ContactPoint/on-call', 'POST /contact-point'],
      ['HostedApp/store', 'POST /app'],
      ['MetricAlert/busy', 'POST /app-env/alert'],
    ]);
    expect(made.rows[1]?.note).toMatch(
      /^the service also creates an environment for the database; the id of the environment is not known yet/,
    );
    expect(made.rows[1]?.fields).toContainEqual({ name: 'dockerPreset', after: 'POSTGRESQL' });
    expect(made.rows[1]?.fields).toContainEqual({ name: 'disk', after: 10 });
    expect(made.rows[2]?.fields).toContainEqual({ name: 'appEnvId', after: 'AppEnvironment/store-prod' });
    expect(made).toMatchObject({ complete: true, findings: [] });
  });
});

const takenAt = '2026-03-01T12:00:00.000Z';
const validUntil = '2026-03-01T18:00:00Z';
const cutoffTime = '2026-03-01T11:00:00.000Z';
const pointId = 'a'.repeat(64);
const point = { selectedOperationId: 'op_7', pointId, cutoffAt: cutoffTime, availabilityRequiresVerification: true };

/** What was read of an account with one protected environment; `more` is what its configuration shows besides. */
function snapshotWith(more: object = {}): readonly string[] {
  const listed = { appId: 'app_1', slug: 'shop', createdAt: takenAt, updatedAt: takenAt, dockerPreset: 'CUSTOM' };
  const configuration = {
    configurationId: 'cfg_1',
    sourceAppEnvId: 'env_1',
    generation: 3,
    settings: { destinationRegion: 'us-east', mode: 'cold' },
    readiness: { state: 'Ready' },
    ...more,
  };
  const source = { sourceAppEnvId: 'env_1', appId: 'app_1', appName: 'shop', environmentName: 'production' };
  const environment = { appEnvId: 'env_1', appId: 'app_1', name: 'production', region: 'eu-west', status: 'running' };
  const bodies = {
    '/apps?accountId=acc_1': { apps: [{ ...listed, name: 'shop' }] },
    '/app-envs?accountId=acc_1': { appEnvs: [environment] },
    '/contact-points?accountId=acc_1': { contactPoints: [] },
    '/app-presets': { presets: [] },
    '/database-presets': { presets: [] },
    '/solutions?accountId=acc_1': { solutions: [] },
    '/disaster-readiness/configurations?accountId=acc_1&limit=100': { items: [configuration] },
    '/disaster-readiness/sources?accountId=acc_1&limit=100': {
      items: [{ ...source, configurationId: 'cfg_1', eligible: true }],
    },
    '/disaster-readiness/points?accountId=acc_1&configurationId=cfg_1&limit=100': { generation: 3, items: [point] },
  };
  const answers = Object.entries(bodies).map(([address, body]) => ({ address, status: 200, body }));
  const head = {
    format: 'apphosting-snapshot',
    version: 1,
    accountId: 'acc_1',
    endpoint: 'hosting.example.com',
    takenAt,
  };
  return ['--snapshot', join(folderOf({ 'snapshot.json': JSON.stringify({ ...head, answers }) }), 'snapshot.json')];
}

const protection = resource('DisasterProtection', 'shop', {
  environmentRef: { externalId: 'env_1' },
  lifecycle: { managementPolicy: 'Observe', adoption: 'ById' },
});
const activation = resource('RecoveryActivation', 'take-over', {
  protectionRef: { name: 'shop' },
  configurationId: 'cfg_1',
  recoveryPoint: { selectedOperationId: 'op_7', pointId, cutoffTime, configurationGeneration: 3 },
  target: { environmentName: 'recovered', createNewApp: false },
  acknowledgements: ['WriterSafety'],
  confirmation: 'shop/production',
  validUntil,
});
const validation = resource('RecoveryValidation', 'check', { protectionRef: { name: 'shop' } });
const discard = resource('ActivationDiscard', 'end-it', {
  protectionRef: { name: 'shop' },
  configurationId: 'cfg_1',
  operationId: 'op_9',
  configurationGeneration: 3,
  acknowledgements: ['DiscardsRecoveredData'],
  validUntil,
});
const reset = resource('DisasterReset', 'wipe', {
  scope: 'Environment',
  environmentRef: { externalId: 'env_1' },
  configurationId: 'cfg_1',
  configurationGeneration: 3,
  confirmation: 'production',
  acknowledgements: ['DeletesProtectionAndLeftovers'],
  validUntil,
});
const gate = `the operator sends the request at the latest at ${validUntil}, and only if this resource is created after the operator was started with --enable-activation`;
const underWay = { activeOperationId: 'op_9', activeOperation: { operationId: 'op_9', kind: 'activation' } };

describe('a plan of a protection', () => {
  it('tells which settings change, from what to what', async () => {
    const changed = resource('DisasterProtection', 'shop', {
      environmentRef: { externalId: 'env_1' },
      destinationRegion: 'us-east',
      protectionMode: 'Cold',
      snapshotIntervalSeconds: 3_600,
      target: { environmentName: 'elsewhere' },
    });
    const settings = { destinationRegion: 'us-east', mode: 'cold', snapshotIntervalMs: 86_400_000 };
    const plannedDestination = { envName: 'recovered', createNewApp: false };

    const made = await planned([changed], snapshotWith({ settings, plannedDestination }));

    expect(made.rows).toMatchObject([{ action: 'change', call: 'POST /disaster-readiness/configure' }]);
    expect(made.rows[0]?.fields).toEqual([
      { name: 'snapshotIntervalMs', before: 86_400_000, after: 3_600_000 },
      { name: 'target.envName', before: 'recovered', after: 'elsewhere' },
    ]);
  });
});

describe('a plan of a request of recovery', () => {
  it.each([
    [
      'an activation',
      activation,
      {},
      {
        call: 'POST /disaster-readiness/activate',
        note: gate,
        told: { configurationId: 'cfg_1', expectedGeneration: 3, pointId, 'target.envName': 'recovered' },
        unknown: ['operationId', 'outcome'],
      },
    ],
    [
      'a validation',
      validation,
      {},
      {
        call: 'POST /disaster-readiness/validate',
        note: 'the operator sends the request only while no other operation is in progress',
        told: { configurationId: 'cfg_1', expectedGeneration: 3 },
        unknown: ['operationId', 'outcome'],
      },
    ],
    [
      'a discard',
      discard,
      underWay,
      {
        call: 'POST /disaster-readiness/discard-activation',
        note: gate,
        told: { configurationId: 'cfg_1', operationId: 'op_9', discardAcknowledged: true },
        unknown: ['outcome'],
      },
    ],
    [
      'a reset',
      reset,
      {},
      {
        call: 'POST /disaster-readiness/reset',
        note: gate,
        told: { scope: 'environment', sourceAppEnvId: 'env_1', confirmationName: 'production' },
        unknown: ['destinations'],
        findings: [{ kind: 'DisasterProtection', message: expect.stringMatching(/^WipedByReset: /) }],
      },
    ],
    [
      'a reset of the account',
      resource('DisasterReset', 'wipe', {
        scope: 'Account',
        configurations: [{ configurationId: 'cfg_1', configurationGeneration: 3 }],
        confirmation: 'the account',
        acknowledgements: ['DeletesProtectionAndLeftovers'],
        validUntil,
      }),
      {},
      {
        call: 'POST /disaster-readiness/reset',
        note: gate.replace('activation', 'activation and --enable-account-reset'),
        told: { scope: 'account', confirmationName: 'the account' },
        unknown: ['destinations'],
        findings: [{ kind: 'DisasterProtection', message: expect.stringMatching(/^WipedByReset: /) }],
      },
    ],
  ])('tells of %s the one call, its gate, and what only the service knows', async (_what, document, more, expected) => {
    const made = await planned([protection, document], snapshotWith(more));

    const rows = made.rows.filter(({ action }) => action === 'request');
    expect(rows).toMatchObject([{ call: expected.call, note: expected.note }]);
    for (const [name, after] of Object.entries(expected.told)) expect(rows[0]?.fields).toContainEqual({ name, after });
    expect(unknownIn({ ...made, rows }, 0)).toEqual(expected.unknown);
    expect(made).toMatchObject({ complete: true, findings: 'findings' in expected ? expected.findings : [] });
  });

  it('tells what a request waits for where it is not sent', async () => {
    const made = await planned([protection, validation], snapshotWith(underWay));

    expect(made.rows).toMatchObject([
      { action: 'unknown', kind: 'RecoveryValidation', note: expect.stringMatching(/^OperationInProgress: .*op_9/) },
    ]);
  });

  it('tells as a finding what forbids a request for good', async () => {
    const late = discard.replace('op_9', 'op_8');

    const made = await planned([protection, late], snapshotWith(underWay));

    expect(made.findings).toMatchObject([
      { code: 'Stalled', kind: 'ActivationDiscard', message: expect.stringMatching(/^OperationNotActive: .*op_9/) },
    ]);
    expect(made.rows.filter(({ action }) => action === 'request')).toEqual([]);
  });
});
