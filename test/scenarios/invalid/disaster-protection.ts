import { accountChanges, inAccount, type Verdicts } from './table.ts';

const spec = { environmentRef: { externalId: 'env_db_prod' }, destinationRegion: 'us-east' };
const target = { environmentName: 'recovered', appName: 'orders', createNewApp: true };

export const disasterProtection: Verdicts = {
  kind: 'DisasterProtection',
  accepted: [
    { because: 'defaults', spec: { environmentRef: { externalId: 'env_db_prod' } } },
    inAccount(spec, { lifecycle: { managementPolicy: 'Observe', adoption: 'ById', drift: 'Report' } }),
    { because: 'cold without names', spec: { ...spec, protectionMode: 'Cold' } },
    {
      because: 'warm with names',
      spec: {
        environmentRef: { name: 'db' },
        protectionMode: 'Warm',
        target,
        storage: { source: 'Credential', credentialId: 'cred_1' },
        snapshotIntervalSeconds: 60,
        validationIntervalSeconds: 2_592_000,
        rpoTargetSeconds: 3600,
        rtoTargetSeconds: 3600,
        acknowledgements: ['SameRegion'],
        enrollment: 2,
      },
    },
    { because: 'within the same app', spec: { ...spec, target: { environmentName: 'recovered' } } },
    { because: 'storage of the service', spec: { ...spec, storage: { source: 'Platform' } } },
  ],
  refused: [
    {
      because: 'no environment',
      spec: { destinationRegion: 'us-east' },
      says: 'spec.environmentRef: Required value',
    },
    {
      because: 'one environment',
      spec: { ...spec, environmentRef: { name: 'a', externalId: 'b' } },
      says: 'set exactly one of name, externalId',
    },
    {
      because: 'warm is prepared at once',
      spec: { ...spec, protectionMode: 'Warm' },
      says: 'target is required when protectionMode is Warm',
    },
    {
      because: 'a new app has a name',
      spec: { ...spec, target: { environmentName: 'a', createNewApp: true } },
      says: 'appName is required when createNewApp is true',
    },
    {
      because: 'a credential has an id',
      spec: { ...spec, storage: { source: 'Credential' } },
      says: 'credentialId is required when source is Credential',
    },
    {
      because: 'nothing else has',
      spec: { ...spec, storage: { source: 'Platform', credentialId: 'a' } },
      says: 'and is not allowed otherwise',
    },
    { because: 'a minute', spec: { ...spec, rpoTargetSeconds: 59 }, says: 'greater than or equal to 60' },
    { because: '30 days', spec: { ...spec, rtoTargetSeconds: 2_592_001 }, says: 'less than or equal to 2592000' },
    {
      because: 'a risk by its name',
      spec: { ...spec, acknowledgements: ['Sameregion'] },
      says: 'supported values: "SameRegion"',
    },
    {
      because: 'deleting has no choice',
      spec: { ...spec, lifecycle: { onDelete: 'Retain' } },
      says: 'unknown field "spec.lifecycle.onDelete"',
    },
  ],
  changes: [
    ...accountChanges(spec),
    {
      because: 'the environment stays',
      from: spec,
      to: { ...spec, environmentRef: { externalId: 'env_other' } },
      says: 'environmentRef cannot be changed',
    },
    { because: 'enrollment grows', from: spec, to: { ...spec, enrollment: 2 } },
    {
      because: 'and never shrinks',
      from: { ...spec, enrollment: 2 },
      to: { ...spec, enrollment: 1 },
      says: 'enrollment can only be raised',
    },
    { because: 'nor vanishes', from: { ...spec, enrollment: 2 }, to: spec, says: 'enrollment can only be raised' },
    { because: 'the first may be written out', from: spec, to: { ...spec, enrollment: 1 } },
    { because: 'settings may change', from: spec, to: { ...spec, protectionMode: 'Warm', target } },
  ],
};
