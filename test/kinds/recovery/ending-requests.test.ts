/** What keeps a discard and a reset from being sent: the same questions as for an activation, and their own. */
import { describe, expect, it } from 'vitest';
import type { Pass } from '../../../src/engine/kind/contract/pass.ts';
import type { JournalEntry } from '../../../src/engine/kind/contract/step.ts';
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

/** What is remembered once the request of the two was written down. */
function begun(kind: { readonly step: (pass: Anything) => object }, pass: Anything, more: object = {}): Change {
  const step = kind.step(pass) as { readonly journal?: object };
  const { account, memory } = pass;
  const { endpoint, accountId } = account;
  const rest = { endpoint, accountId, startedAt: '2026-01-01T00:00:01Z', deadlineSeconds: 30, ...more };
  return { memory: { ...memory, journal: { ...step.journal, ...rest } as JournalEntry } };
}

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
  ['the operator has just taken over', 'wait/TakeOver', { takeOverMs: 5 }],
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

describe('a discard that was sent, where the service hints that it accepted one', () => {
  const hinted = { activeOperationId: 'op_1', activeOperation: { operationId: 'op_1' }, canRequestDiscard: true };
  const written = (more?: object) => begun(activationDiscard, passOf(discard, { configurations: [active] }, {}), more);
  const conflicted = 'not in this state';
  const shown = (more: object): Change => ({ world: { configurations: [aConfiguration(more)] } });
  const late = { wallMs: wallStart + 3_600_001 };
  const ended = (outcome: string) => shown({ activities: [{ operationId: 'op_1', outcome }] });

  it.each<Row>([
    ['its answer was lost', 'call', { ...written(), ...shown(hinted) }],
    [
      'its answer was lost and its approval has passed',
      'wait/CleanupPending',
      { ...written(), ...shown(hinted), ...late },
    ],
    ['it was refused', 'wait/CleanupPending', { ...written({ conflicted }), ...shown(hinted) }],
    ['its answer was lost, and the operation ended as failed', 'wait/InDoubt', { ...written(), ...ended('failed') }],
    ['its answer was lost, and the operation ended as discarded', 'again', { ...written(), ...ended('discarded') }],
  ])('when %s: %s', (_because, expected, change) => {
    expect(discarding(change)).toBe(expected);
  });

  it.each([{ ...written(), ...late }, written({ conflicted })])('is not said to be accepted', (change) => {
    const step = activationDiscard.step(passOf(discard, {}, { ...change, ...shown(hinted) }));

    expect(step).toMatchObject({ conditions: [{ type: 'Accepted', status: 'Unknown', reason: 'CleanupPending' }] });
  });

  it('was presumably accepted only where the history says so', () => {
    const step = activationDiscard.step(passOf(discard, {}, { ...written(), ...ended('discarded') }));

    expect(step).toMatchObject({ is: 'again', remember: { id: 'op_1', ownership: 'Presumed' } });
  });
});

describe('a request whose answer was lost late', () => {
  const configurations = [active];
  const lost = {
    ...begun(activationDiscard, passOf(discard, { configurations }, {})),
    notes: { sentAt: 2_400, timesSent: 1 },
    askedAt: 32_400,
    monotonicMs: 32_400,
  };
  const stepOn = (begunAt: number, more: object = {}) =>
    activationDiscard.step(passOf(discard, { configurations, begunAt }, { ...lost, ...more }));

  it('is sent again only after a read that began later', () => {
    expect(stepOn(20_000)).toMatchObject({ is: 'read', since: 32_400, note: { answeredAt: 32_400 } });
    expect(stepOn(32_500, { monotonicMs: 33_000 })).toMatchObject({
      is: 'call',
      note: { sentAt: 33_000, timesSent: 2 },
    });
  });

  it('remembers until its next call when the answer was lost, so that one such read is enough', () => {
    const notes = { ...lost.notes, answeredAt: 32_400 };
    const { note } = stepOn(32_500, { monotonicMs: 35_000, askedAt: 35_000, notes }) as { readonly note: object };

    expect(note).toEqual({ sentAt: 35_000, timesSent: 2 });
  });
});

describe('a reset that was refused', () => {
  const pendingCleanup = { pendingCount: 1, retainedDiskCount: 0, retryingCount: 0, earliestRetentionUntil: undefined };
  const written = begun(disasterReset, passOf(reset, {}, {}), { conflicted: 'clean-up in progress' });
  const cleaning = { sources: [{ ...aSource, pendingCleanup }] };

  it.each<Row>([
    [
      'the configuration shows a clean-up',
      'wait/CleanupPending',
      { world: { configurations: [aConfiguration({ pendingCleanup })] } },
    ],
    ['only its environment shows a clean-up', 'wait/CleanupPending', { world: cleaning }],
    [
      'another environment shows a clean-up',
      'stall/Rejected',
      { world: { sources: [aSource, { ...aSource, sourceAppEnvId: 'env_2', pendingCleanup }] } },
    ],
    ['the environments were read before the answer', 'read', { world: { ...cleaning, sourcesBegunAt: 500 } }],
    ['nothing shows a clean-up', 'stall/Rejected', {}],
  ])('when %s: %s', (_because, expected, change) => {
    expect(resetting({ ...written, notes: { timesSent: 1 }, ...change })).toBe(expected);
  });
});

describe('a reset that was refused during a clean-up, and refused again later', () => {
  const pendingCleanup = { pendingCount: 1, retainedDiskCount: 0, retryingCount: 0, earliestRetentionUntil: undefined };
  const written = begun(disasterReset, passOf(reset, {}, {}), { conflicted: 'not in this state' });
  const memory = { ...written.memory, facts: { stage: 'CleanupPending' } } as Anything['memory'];
  const late = { monotonicMs: 1_000_100, askedAt: 1_000_000, wallMs: wallStart + 1_000_000, notes: { timesSent: 2 } };
  const shown = (more: object, sources = [aSource]) => ({
    world: { configurations: [aConfiguration(more)], sources, begunAt: 1_000_050 },
  });
  const activating = { activeOperation: { operationId: 'op_1', kind: 'activation' } };

  it.each([
    ['an activation is under way', 'stall/Rejected', shown(activating)],
    [
      'an activation is under way, and the clean-up goes on',
      'stall/Rejected',
      shown(activating, [{ ...aSource, pendingCleanup }]),
    ],
    ['the clean-up goes on', 'again', shown({ pendingCleanup })],
  ])('when %s: %s', (_because, expected, world) => {
    expect(resetting({ memory, ...late, ...world })).toBe(expected);
  });

  it('stays in doubt during an activation when it expires after a lost answer', () => {
    const { conflicted: _words, ...journal } = memory.journal as JournalEntry;
    const lost = { ...memory, journal } as Anything['memory'];
    const expired = { wallMs: wallStart + 3_600_001 };

    expect(resetting({ ...late, memory: lost, ...expired, ...shown(activating) })).toBe('stall/UnknownState');
  });
});

describe('a discard whose operation has ended, after the service refused it', () => {
  const conflicted = 'the operation is not active';
  const written = begun(activationDiscard, passOf(discard, { configurations: [active] }, {}), { conflicted });
  const late = { monotonicMs: 1_000_100, askedAt: 1_000_000, wallMs: wallStart + 1_000_000 };
  const shown = (more: object) => ({ world: { configurations: [aConfiguration(more)], begunAt: 1_000_050 } });
  const failed = { activities: [{ operationId: 'op_1', outcome: 'failed' }] };

  it.each([
    ['it was the only call', 'stall/Rejected', { notes: { timesSent: 1 } }, {}],
    ['the answer to a call before it was lost', 'stall/UnknownState', { notes: { timesSent: 2 } }, {}],
    ['nobody knows whether a call before it was sent', 'stall/UnknownState', { notes: {} }, {}],
    ['the history shows another end of the operation', 'stall/Rejected', { notes: { timesSent: 2 } }, failed],
  ])('when %s: %s', (_because, expected, notes, more) => {
    expect(discarding({ ...written, ...late, ...notes, ...shown(more) })).toBe(expected);
  });
});
