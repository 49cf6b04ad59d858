/** What keeps a discard and a reset from being sent: the same questions as for an activation, and their own. */
import { describe, expect, it } from 'vitest';
import type { Pass } from '../../../src/engine/kind/contract/pass.ts';
import { activationDiscard } from '../../../src/kinds/activation-discard/activation-discard.ts';
import { disasterReset } from '../../../src/kinds/disaster-reset/disaster-reset.ts';
import { aConfiguration, aPass, aSource, aWorld, wallStart, type World } from '../support/disaster-pass.ts';

type Anything = Pass<never, never>;
type Change = { readonly world?: Partial<World>; readonly spec?: object } & Partial<Omit<Anything, 'spec' | 'view'>>;

const validUntil = new Date(wallStart + 3_600_000).toISOString();
const discard = {
  protectionRef: { name: 'orders' },
  configurationId: 'cfg_1',
  operationId: 'op_1',
  configurationGeneration: 3,
  acknowledgements: ['DiscardsRecoveredData'],
  validUntil,
};
const reset = {
  scope: 'Environment',
  environmentRef: { externalId: 'env_1' },
  configurationId: 'cfg_1',
  configurationGeneration: 3,
  confirmation: 'prod',
  acknowledgements: ['DeletesProtectionAndLeftovers'],
  validUntil,
};

/** A pass over one of the two, over which nothing stands in the way but the change. */
function passOf(spec: object, world: Partial<World>, { world: changed, spec: other, ...more }: Change): Anything {
  const pass = aPass({ world: aWorld({ ...world, ...changed }), ...(more as object) });
  return { ...pass, spec: { ...spec, ...other } } as unknown as Anything;
}

const active = aConfiguration({ activeOperationId: 'op_1', activeOperation: { operationId: 'op_1' } });
const said = (step: { readonly is: string; readonly reason?: string }): string =>
  step.reason === undefined ? step.is : `${step.is}/${step.reason}`;
const discarding = (change: Change): string =>
  said(activationDiscard.step(passOf(discard, { configurations: [active] }, change)));
const resetting = (change: Change): string => said(disasterReset.step(passOf(reset, {}, change)));

type Row = readonly [because: string, expected: string, change: Change];

/** What holds for both. */
const common: readonly Row[] = [
  ['nothing stands in the way', 'begin', {}],
  ['the approval has passed here', 'stall/Expired', { wallMs: wallStart + 3_600_001 }],
  ['the approval has passed in Kubernetes', 'stall/Expired', { clusterMs: wallStart + 3_600_001 }],
  ['the approval has passed at the service', 'stall/Expired', { world: { dateMs: wallStart + 3_600_001 } }],
  ['it is valid for longer than a day', 'stall/InvalidSpec', { spec: { validUntil: '2026-01-02T00:00:05Z' } }],
  ['the clocks are apart', 'wait/ClockUnsure', { world: { dateMs: wallStart - 60_001 } }],
  [
    'the operator lacks the power',
    'stall/ActivationDisabled',
    { powers: { sinceMs: 0, activation: false, accountReset: false } },
  ],
  [
    'it is older than the operator',
    'stall/ActivationDisabled',
    { powers: { sinceMs: wallStart + 5_000, activation: true, accountReset: false } },
  ],
  ['the operator has just taken over', 'wait/TakeOver', { quarantineMs: 5 }],
  ['another one is at it', 'wait/OperationInProgress', { creating: () => 'DisasterReset team/other' }],
  ['the configuration is not shown', 'wait/ObjectMissing', { world: { configurations: [] } }],
];

describe('a discard', () => {
  const shown = (more: object): Change => ({ world: { configurations: [aConfiguration(more)] } });

  it.each<Row>([
    ...common,
    ['another operation is active', 'stall/OperationNotActive', shown({ activeOperationId: 'op_2' })],
    ['no operation is active', 'stall/OperationNotActive', shown({})],
    ['the activation is live', 'stall/AlreadyActivated', shown({ activationResult: { operationId: 'op_1' } })],
    ['the generation moved', 'stall/Superseded', shown({ activeOperationId: 'op_1', generation: 4 })],
    ['the list lags behind the generation', 'wait/ReadingService', shown({ activeOperationId: 'op_1', generation: 2 })],
    ['the protection has another configuration', 'stall/Superseded', { referred: () => ({ id: 'cfg_2', facts: {} }) }],
    ['the protection is gone', 'wait/ReferenceNotReady', { referred: () => undefined }],
    [
      'the service hints that none can be requested',
      'begin',
      shown({ activeOperationId: 'op_1', canRequestDiscard: false }),
    ],
  ])('when %s: %s', (_because, expected, change) => {
    expect(discarding(change)).toBe(expected);
  });
});

describe('a reset', () => {
  const shown = (...more: readonly object[]): Change => ({
    world: { configurations: more.map((one) => aConfiguration(one)) },
  });
  const account = { account: { ...aPass().account, adoption: 'Never' as const } };

  it.each<Row>([
    ...common,
    ['another configuration has taken the place', 'stall/Superseded', shown({ configurationId: 'cfg_2' })],
    ['another configuration is there as well', 'stall/Superseded', shown({}, { configurationId: 'cfg_2' })],
    ['the configuration protects another environment', 'stall/Superseded', shown({ sourceAppEnvId: 'env_2' })],
    [
      'another environment has a configuration, too',
      'begin',
      shown({}, { configurationId: 'cfg_2', sourceAppEnvId: 'env_2' }),
    ],
    ['the generation moved', 'stall/Superseded', shown({ generation: 4 })],
    ['the list lags behind the generation', 'wait/ReadingService', shown({ generation: 2 })],
    ['the name is another one', 'stall/ConfirmationMismatch', { spec: { confirmation: 'Prod' } }],
    [
      'the service does not show the name',
      'begin',
      { world: { sources: [{ ...aSource, environmentName: undefined }] } },
    ],
    ['nothing may be adopted', 'stall/AdoptionNotAllowed', account],
  ])('when %s: %s', (_because, expected, change) => {
    expect(resetting(change)).toBe(expected);
  });

  const whole = {
    scope: 'Account',
    environmentRef: undefined,
    configurationId: undefined,
    configurationGeneration: undefined,
    configurations: [{ configurationId: 'cfg_1', configurationGeneration: 3 }],
    confirmation: 'Demo',
  };
  const powers = { sinceMs: wallStart - 60_000, activation: true, accountReset: true };

  it.each<Row>([
    ['nothing stands in the way', 'begin', { powers }],
    ['the power to activate does not do', 'stall/ActivationDisabled', {}],
    [
      'the power for accounts does not do without the other',
      'stall/ActivationDisabled',
      { powers: { ...powers, activation: false } },
    ],
    [
      'the account has another configuration',
      'stall/Superseded',
      { powers, ...shown({}, { configurationId: 'cfg_2', sourceAppEnvId: 'env_2' }) },
    ],
    ['a generation moved', 'stall/Superseded', { powers, ...shown({ generation: 4 }) }],
  ])('of an account when %s: %s', (_because, expected, change) => {
    expect(resetting({ ...change, spec: whole })).toBe(expected);
  });
});
