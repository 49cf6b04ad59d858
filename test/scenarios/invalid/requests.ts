import { inAccount, type Change, type Spec, type Verdicts } from './table.ts';

const protectionRef = { name: 'orders-db' };
const validUntil = '2026-01-31T13:00:00Z';
const says = 'a request cannot be changed';

function fixed(spec: Spec, to: Spec): readonly Change[] {
  return [
    { because: 'nothing can be changed', from: spec, to: { ...spec, ...to }, says },
    { because: 'nothing can be added', from: spec, to: { ...spec, accountRef: { name: 'default' } }, says },
  ];
}

const validation = { protectionRef };

export const recoveryValidation: Verdicts = {
  kind: 'RecoveryValidation',
  accepted: [{ because: 'a run of its own', spec: { ...validation, runId: 'run-7' } }, inAccount(validation)],
  refused: [{ because: 'of something', spec: {}, says: 'spec.protectionRef: Required value' }],
  changes: fixed(validation, { runId: 'run-8' }),
};

const point = {
  selectedOperationId: 'op_1',
  pointId: 'ab'.repeat(32),
  cutoffTime: '2026-01-31T11:00:00.123Z',
  configurationGeneration: 3,
};
const activation = {
  protectionRef,
  configurationId: 'cfg_1',
  recoveryPoint: point,
  target: { environmentName: 'recovered' },
  confirmation: 'orders-db/prod',
  validUntil,
};
const without = (field: string) => ({ ...activation, [field]: undefined });

export const recoveryActivation: Verdicts = {
  kind: 'RecoveryActivation',
  accepted: [
    { because: 'all pinned', spec: activation },
    inAccount(activation, { target: { environmentName: 'orders', createNewApp: true, appName: 'orders' } }),
    {
      because: 'seconds only',
      spec: {
        ...activation,
        recoveryPoint: { ...point, cutoffTime: '2026-01-31T11:00:00Z' },
        acknowledgements: ['WriterSafety'],
        afterOperationId: 'op_0',
        attempt: 2,
      },
    },
  ],
  refused: [
    ...['protectionRef', 'configurationId', 'recoveryPoint', 'target', 'confirmation', 'validUntil'].map((field) => ({
      because: `${field} is pinned`,
      spec: without(field),
      says: `spec.${field}: Required value`,
    })),
    {
      because: 'there is no latest',
      spec: { ...activation, recoveryPoint: { ...point, pointId: 'latest' } },
      says: 'spec.recoveryPoint.pointId',
    },
    {
      because: '64 digits',
      spec: { ...activation, recoveryPoint: { ...point, pointId: 'a'.repeat(63) } },
      says: 'at least 64 chars long',
    },
    {
      because: 'a moment in UTC',
      spec: { ...activation, validUntil: '2026-01-31T13:00:00+02:00' },
      says: 'spec.validUntil',
    },
    {
      because: 'a new app has a name',
      spec: { ...activation, target: { environmentName: 'a', createNewApp: true } },
      says: 'appName is required',
    },
    { because: 'app and environment', spec: { ...activation, confirmation: 'prod' }, says: 'spec.confirmation' },
    {
      because: 'a risk by its name',
      spec: { ...activation, acknowledgements: ['Everything'] },
      says: 'supported values: "WriterSafety"',
    },
  ],
  changes: [
    ...fixed(activation, { attempt: 2 }),
    { because: 'not even its end', from: activation, to: { ...activation, validUntil: '2027-01-31T13:00:00Z' }, says },
  ],
};

const discard = {
  protectionRef,
  configurationId: 'cfg_1',
  operationId: 'op_1',
  configurationGeneration: 3,
  acknowledgements: ['DiscardsRecoveredData'],
  validUntil,
};

export const activationDiscard: Verdicts = {
  kind: 'ActivationDiscard',
  accepted: [{ because: 'all pinned', spec: discard }, inAccount(discard)],
  refused: [
    {
      because: 'acknowledged in words',
      spec: { ...discard, acknowledgements: ['Yes'] },
      says: 'supported values: "DiscardsRecoveredData"',
    },
    {
      because: 'acknowledged at all',
      spec: { ...discard, acknowledgements: [] },
      says: 'should have at least 1 items',
    },
    {
      because: 'one operation',
      spec: { ...discard, operationId: undefined },
      says: 'spec.operationId: Required value',
    },
  ],
  changes: fixed(discard, { operationId: 'op_2' }),
};

const reset = {
  scope: 'Environment',
  environmentRef: { externalId: 'env_db_prod' },
  configurationId: 'cfg_1',
  configurationGeneration: 3,
  confirmation: 'prod',
  acknowledgements: ['DeletesProtectionAndLeftovers'],
  validUntil,
};
const pins = [{ configurationId: 'cfg_1', configurationGeneration: 3 }];
const account = {
  scope: 'Account',
  configurations: pins,
  confirmation: 'Demo',
  acknowledgements: reset.acknowledgements,
  validUntil,
};

export const disasterReset: Verdicts = {
  kind: 'DisasterReset',
  accepted: [
    { because: 'one environment', spec: reset },
    inAccount(reset, { environmentRef: { name: 'db' } }),
    { because: 'the account', spec: account },
  ],
  refused: [
    {
      because: 'an environment',
      spec: { ...reset, environmentRef: undefined },
      says: 'with scope Environment, set environmentRef, configurationId',
    },
    {
      because: 'one environment',
      spec: { ...reset, environmentRef: { name: 'a', externalId: 'b' } },
      says: 'set exactly one of name, externalId',
    },
    {
      because: 'a pinned generation',
      spec: { ...reset, configurationGeneration: undefined },
      says: 'configurationId and configurationGeneration; do not set configurations',
    },
    {
      because: 'an account has no environment',
      spec: { ...account, environmentRef: { externalId: 'a' } },
      says: 'with scope Account, set configurations',
    },
    {
      because: 'an account is pinned too',
      spec: { ...account, configurations: undefined },
      says: 'with scope Account, set configurations',
    },
    {
      because: 'a name to confirm',
      spec: { ...reset, confirmation: undefined },
      says: 'spec.confirmation: Required value',
    },
  ],
  changes: fixed(reset, { configurationId: 'cfg_2' }),
};
