import { DisasterProtectionSpec as schema } from '../../../../src/kinds/disaster-protection/schema.ts';
import type { InProcess } from '../../../support/in-process.ts';
import { accountEdits, lifecycleEdits, quiet, refused, sent, type Edit, type Edits, type Spec } from './table.ts';

const settings = {
  destinationRegion: 'us-east',
  protectionMode: 'Cold',
  snapshotIntervalSeconds: 300,
  validationIntervalSeconds: 86_400,
  rpoTargetSeconds: 3_600,
  rtoTargetSeconds: 7_200,
};
const protection = { environmentRef: { externalId: 'env_{row}' }, ...settings };
const item = {
  sourceAppEnvId: 'env_{row}',
  expectedGeneration: '{generation}',
  requestId: '{requestId}',
  destinationRegion: 'us-east',
  mode: 'cold',
  snapshotIntervalMs: 300_000,
  validationIntervalMs: 86_400_000,
  rpoTargetMs: 3_600_000,
  rtoTargetMs: 7_200_000,
};
const fixed = refused('environmentRef cannot be changed');

/** The interface takes settings as a whole: what the spec does not change goes along as it is. */
const configure = (changed: object) =>
  sent('POST /disaster-readiness/configure', {
    accountId: 'acc_demo',
    common: {},
    items: [{ ...item, ...changed }],
  });

/** A setting; left out, it is the service's own choice, which is what it was before. */
function row(field: string, value: unknown, changed: object, before: Spec = protection): Edit {
  return {
    field,
    before,
    changed: { to: { ...before, [field]: value }, comes: configure(changed) },
    removed: { comes: quiet() },
  };
}

const named = (target: Spec): Spec => ({ ...protection, target });
const whole = { environmentName: 'one', appName: 'app one', createNewApp: true };
const planned = { envName: 'one', appName: 'app one', createNewApp: true };

const targetRows: readonly Edit[] = [
  { field: 'target', before: named(whole), removed: { comes: quiet() } },
  {
    field: 'target.environmentName',
    before: named(whole),
    changed: {
      to: named({ ...whole, environmentName: 'two' }),
      comes: configure({ target: { ...planned, envName: 'two' } }),
    },
  },
  {
    field: 'target.appName',
    before: named(whole),
    changed: {
      to: named({ ...whole, appName: 'app two' }),
      comes: configure({ target: { ...planned, appName: 'app two' } }),
    },
    removed: { comes: refused('appName') },
  },
  {
    field: 'target.createNewApp',
    before: named({ environmentName: 'one', createNewApp: false }),
    changed: { to: named(whole), comes: configure({ target: planned }) },
    removed: { comes: quiet() },
  },
];

const acknowledged = { ...protection, acknowledgements: ['SameRegion'] };
const stored = (storage: Spec): Spec => ({ ...protection, storage });

const storageRows: readonly Edit[] = [
  { field: 'storage', before: stored({ source: 'Platform' }), removed: { comes: quiet() } },
  {
    field: 'storage.source',
    before: protection,
    changed: { to: stored({ source: 'Platform' }), comes: configure({ storageCredentialId: null }) },
  },
  {
    field: 'storage.credentialId',
    before: stored({ source: 'Credential', credentialId: 'store_a_{row}' }),
    changed: {
      to: stored({ source: 'Credential', credentialId: 'store_b_{row}' }),
      comes: configure({ storageCredentialId: 'store_b_{row}' }),
    },
    removed: { comes: refused('credentialId is required when source is Credential') },
  },
];

/** Every field of a DisasterProtection. */
export const disasterProtectionEdits: Edits = {
  kind: 'DisasterProtection',
  schema,
  prepare: async (world: InProcess, name) => {
    const at = { region: 'eu-west', status: 'running', volumes: 1 };
    await world.control('POST', '/environments', { appEnvId: `env_${name}`, appId: 'app_web', name, ...at });
    for (const credentialId of [`store_a_${name}`, `store_b_${name}`]) {
      await world.control('POST', '/credentials', { credentialId, accountId: 'acc_demo', kind: 'storage' });
    }
    return {};
  },
  rows: [
    ...accountEdits(protection),
    ...lifecycleEdits(protection, {
      managementPolicy: ['Manage', 'Observe'],
      adoption: ['ById', 'Never'],
      drift: ['Correct', 'Report'],
    }),
    {
      field: 'environmentRef.externalId',
      before: protection,
      changed: { to: { ...protection, environmentRef: { externalId: 'env_web_prod' } }, comes: fixed },
      removed: { comes: refused('set exactly one of name, externalId') },
    },
    {
      field: 'environmentRef.name',
      before: { ...settings, environmentRef: { name: 'a' } },
      changed: { to: { ...settings, environmentRef: { name: 'b' } }, comes: fixed },
      removed: { comes: refused('set exactly one of name, externalId') },
    },
    row('snapshotIntervalSeconds', 600, { snapshotIntervalMs: 600_000 }),
    row('validationIntervalSeconds', 43_200, { validationIntervalMs: 43_200_000 }),
    row('rpoTargetSeconds', 7_200, { rpoTargetMs: 7_200_000 }),
    row('rtoTargetSeconds', 3_600, { rtoTargetMs: 3_600_000 }),
    row('destinationRegion', 'eu-west', { destinationRegion: 'eu-west', sameRegionAcknowledged: true }, acknowledged),
    {
      field: 'acknowledgements',
      before: protection,
      changed: { to: acknowledged, comes: configure({ sameRegionAcknowledged: true }) },
    },
    { field: 'acknowledgements', before: acknowledged, removed: { comes: quiet() } },
    row('protectionMode', 'Warm', { mode: 'warm', target: planned }, named(whole)),
    ...storageRows,
    {
      field: 'enrollment',
      before: { ...protection, enrollment: 1 },
      changed: { to: { ...protection, enrollment: 2 }, comes: quiet() },
      removed: { comes: quiet() },
    },
    ...targetRows,
  ],
};
