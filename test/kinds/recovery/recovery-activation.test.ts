import { canonicalJson } from '../../../src/base/json.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Pass } from '../../../src/engine/kind/contract/pass.ts';
import { activationId } from '../../../src/kinds/recovery-activation/content.ts';
import { namesMatch } from '../../../src/kinds/recovery-activation/ours.ts';
import { recoveryActivation } from '../../../src/kinds/recovery-activation/recovery-activation.ts';
import { requestIdOf } from '../../../src/kinds/recovery/request-id.ts';
import type { RecoveryActivationFacts, RecoveryActivationSpec } from '../../../src/kinds/recovery-activation/schema.ts';
import {
  aConfiguration,
  aPass,
  aPoint,
  aSource,
  aSpec,
  aWorld,
  wallStart,
  type World,
} from '../support/disaster-pass.ts';

type Row = readonly [because: string, expected: string, pass: Pass<RecoveryActivationSpec, RecoveryActivationFacts>];

const showing = (more: Partial<World>): Pass<RecoveryActivationSpec, RecoveryActivationFacts> =>
  aPass({ world: aWorld(more) });
const configured = (more: object): Pass<RecoveryActivationSpec, RecoveryActivationFacts> =>
  showing({ configurations: [aConfiguration(more)] });
const stepOf = (pass: Pass<RecoveryActivationSpec, RecoveryActivationFacts>): string => {
  const step = recoveryActivation.step(pass);
  return 'reason' in step ? `${step.is}/${step.reason}` : step.is;
};
const activity = (more: object) => ({ operationId: 'op_1', kind: 'activation', phase: 'x', ...more });

/** A spec that comes after `op_2`, which began at 11:00; `op_1` is an activation besides it. */
function afterOther(
  one: object,
  afterOperationId = 'op_2',
  shown: object = { activationResult: { operationId: 'op_2', completedAt: '2026-01-01T11:10:00Z' } },
): Pass<RecoveryActivationSpec, RecoveryActivationFacts> {
  const activities = [
    activity({ outcome: 'succeeded', ...one }),
    activity({
      operationId: 'op_2',
      startedAt: '2026-01-01T11:00:00Z',
      endedAt: '2026-01-01T11:10:00Z',
      outcome: 'succeeded',
    }),
  ];
  const configuration = aConfiguration({ activities, ...shown });
  return aPass({ spec: aSpec({ afterOperationId }), world: aWorld({ configurations: [configuration] }) });
}

const aNewApp = { envName: 'recovered', createNewApp: true, appName: 'orders-recovered' };

/** A spec with these names besides that of the environment, and a settled standby with those. */
function takingOver(names: object, warmDestination: object): Pass<RecoveryActivationSpec, RecoveryActivationFacts> {
  const standby = { activeOperationId: 'op_9', warmRecoveryOperationId: 'op_9' };
  const configuration = aConfiguration({ settings: { mode: 'warm' }, ...standby, warmDestination });
  const spec = aSpec({ target: { environmentName: 'recovered', ...names } });
  return aPass({ spec, world: aWorld({ configurations: [configuration] }) });
}

const fences: readonly Row[] = [
  ['the approval has passed here', 'stall/Expired', aPass({ wallMs: wallStart + 3_600_001 })],
  ['the approval has passed in Kubernetes', 'stall/Expired', aPass({ clusterMs: wallStart + 3_600_001 })],
  ['the approval has passed at the service', 'stall/Expired', showing({ dateMs: wallStart + 3_600_001 })],
  [
    'it is valid for longer than a day',
    'stall/InvalidSpec',
    aPass({ spec: aSpec({ validUntil: '2026-01-02T00:00:05Z' }) }),
  ],
  ['this clock is ahead', 'wait/ClockUnsure', aPass({ wallMs: wallStart + 62_001 })],
  [
    'nobody else shows a clock',
    'wait/ClockUnsure',
    (({ clusterMs: _cluster, ...pass }) => pass)(showing({ dateMs: undefined })),
  ],
  [
    'the protection has another configuration',
    'stall/Superseded',
    aPass({ referred: () => ({ id: 'cfg_2', facts: {} }) }),
  ],
  ['the generation moved', 'stall/Superseded', configured({ generation: 4 })],
  ['the list lags behind the generation', 'wait/ReadingService', configured({ generation: 2 })],
  ['the configuration is not shown', 'wait/ObjectMissing', showing({ configurations: [] })],
  [
    'the confirmation names another source',
    'stall/ConfirmationMismatch',
    aPass({ spec: aSpec({ confirmation: 'orders/staging' }) }),
  ],
  ['the names of the source are not shown', 'wait/ConfirmationMismatch', showing({ sources: [] })],
  [
    'the source engine cannot be activated',
    'stall/ActivationUnavailable',
    configured({ activationUnavailableReason: 'no engine' }),
  ],
  ['a result is there', 'stall/AlreadyActivated', configured({ activationResult: { operationId: 'op_1' } })],
  ['a result is there that cannot be read', 'stall/AlreadyActivated', configured({ activationResult: {} })],
  [
    'an activation is under way',
    'stall/AlreadyActivated',
    configured({ activeOperationId: 'op_1', activeOperation: activity({}) }),
  ],
  ['the history shows an activation', 'stall/AlreadyActivated', configured({ activities: [activity({})] })],
  [
    'the history shows a discarded activation',
    'begin',
    configured({ activities: [activity({ endedAt: '2026-01-01T00:00:00Z', outcome: 'discarded' })] }),
  ],
  [
    'the activation named as the one before ended well, and another one had ended before it began',
    'begin',
    afterOther({ endedAt: '2026-01-01T10:00:00Z' }),
  ],
  [
    'another activation began after the named one was complete',
    'stall/AlreadyActivated',
    afterOther({ startedAt: '2026-01-01T11:20:00Z' }),
  ],
  [
    'another activation does not show when it began, and the named one has the result',
    'stall/AlreadyActivated',
    afterOther({ phase: 'promoting', outcome: undefined }),
  ],
  [
    'the named one has the result, and does not show when it was complete',
    'stall/AlreadyActivated',
    afterOther({ startedAt: '2026-01-01T11:20:00Z' }, 'op_2', { activationResult: { operationId: 'op_2' } }),
  ],
  [
    'another activation began before the named one was complete, when none but it can have been over',
    'begin',
    afterOther({ startedAt: '2026-01-01T10:50:00Z' }),
  ],
  [
    'the service shows no result of the named one, and another activation ended only after that had begun',
    'stall/AlreadyActivated',
    afterOther({ endedAt: '2026-01-01T12:00:00Z' }, 'op_2', {}),
  ],
  [
    'the service shows no result of the named one, nor the end of another activation',
    'stall/AlreadyActivated',
    afterOther({}, 'op_2', {}),
  ],
  [
    'the result is of another activation than the named one',
    'stall/AlreadyActivated',
    afterOther({ endedAt: '2026-01-01T10:00:00Z' }, 'op_1'),
  ],
  ['another operation is under way', 'stall/OperationInProgress', configured({ activeOperationId: 'op_9' })],
  [
    'a standby has settled',
    'begin',
    configured({
      settings: { mode: 'warm' },
      activeOperationId: 'op_9',
      warmRecoveryOperationId: 'op_9',
      warmDestination: { envName: 'recovered', createNewApp: true, appName: 'orders-recovered' },
    }),
  ],
  [
    'the warm destination has another name',
    'stall/DestinationMismatch',
    configured({
      settings: { mode: 'warm' },
      warmDestination: { envName: 'other', createNewApp: true, appName: 'orders-recovered' },
    }),
  ],
  [
    'the warm destination has another app',
    'stall/DestinationMismatch',
    configured({
      settings: { mode: 'warm' },
      warmDestination: { envName: 'recovered', createNewApp: true, appName: 'x' },
    }),
  ],
  [
    'the spec names the new app alone, as for a database',
    'begin',
    takingOver({ appName: 'orders-recovered' }, aNewApp),
  ],
  [
    'the spec rules out the new app of the warm destination',
    'stall/DestinationMismatch',
    takingOver({ createNewApp: false, appName: 'orders-recovered' }, aNewApp),
  ],
  ['the spec names no app', 'stall/DestinationMismatch', takingOver({}, aNewApp)],
  ['the spec names another app alone', 'stall/DestinationMismatch', takingOver({ appName: 'x' }, aNewApp)],
  ['the warm destination is in the app of the source', 'begin', takingOver({}, { envName: 'recovered' })],
  ['the warm destination is not shown', 'stall/DestinationMismatch', configured({ settings: { mode: 'warm' } })],
  [
    'only a standby tells that the protection is warm',
    'stall/DestinationMismatch',
    configured({
      settings: undefined,
      standby: { state: 'ready' },
      activeOperationId: 'op_9',
      warmRecoveryOperationId: 'op_9',
    }),
  ],
  [
    'a cold protection still shows the destination that it had when it was warm',
    'begin',
    configured({ settings: { mode: 'cold' }, warmDestination: { envName: 'other' } }),
  ],
  ['the point is gone', 'stall/Superseded', showing({ points: [] })],
  [
    'the moment is written otherwise',
    'stall/Superseded',
    showing({ points: [{ ...aPoint, cutoffAt: '2025-12-31T23:00:00Z' }] }),
  ],
  ['the points are of a newer generation', 'stall/Superseded', showing({ points: [{ ...aPoint, generation: 4 }] })],
  [
    'the operator lacks the power',
    'stall/ActivationDisabled',
    aPass({ powers: { sinceMs: 0, activation: false, accountReset: true } }),
  ],
  [
    'it may have been made before the operator started',
    'stall/ActivationDisabled',
    aPass({ powers: { sinceMs: wallStart + 1, activation: true, accountReset: false } }),
  ],
  ['nobody said what the operator may', 'stall/ActivationDisabled', (({ powers: _powers, ...pass }) => pass)(aPass())],
  [
    'the account lost sight of things',
    'wait/VisibilityLost',
    aPass({ account: { ...aPass().account, frozen: 'lost' } }),
  ],
  ['the operator has just taken over', 'wait/TakeOver', aPass({ takeOverMs: 5 })],
  ['another resource is at it', 'wait/OperationInProgress', aPass({ creating: () => 'RecoveryActivation team/other' })],
  ['nothing stands in the way', 'begin', aPass()],
];

describe('an accepted activation without a result', () => {
  const ended = { endedAt: '2026-01-01T00:00:00Z' };

  it.each([
    ['is listed without an end', 'wait/NotDisclosed', { activities: [activity({})] }],
    ['is listed with a good end', 'wait/NotDisclosed', { activities: [activity({ ...ended, outcome: 'succeeded' })] }],
    ['stands in no history yet', 'wait/InProgress', { activities: [] }],
    ['is listed with a bad end', 'wait/InProgress', { activities: [activity({ ...ended, outcome: 'failed' })] }],
    ['is being worked on', 'wait/InProgress', { activities: [activity({})], activeOperationId: 'op_1' }],
  ])('that %s: %s', (_because, expected, shown) => {
    const { memory } = aPass();
    const accepted = { ...memory, id: 'op_1', facts: { acceptedTime: '2026-01-01T00:00:00Z' } };
    const world = aWorld({ configurations: [aConfiguration(shown)] });

    expect(stepOf(aPass({ memory: accepted, world }))).toBe(expected);
  });

  it('that stands in no history for longer than lists may lag: wait/NotDisclosed', () => {
    const { memory, horizonMs, monotonicMs } = aPass();
    const accepted = { ...memory, id: 'op_1', facts: { acceptedTime: '2026-01-01T00:00:00Z' } };
    const world = aWorld({ configurations: [aConfiguration({ activities: [] })] });
    const notes = { operationMissedAt: monotonicMs - 2 * horizonMs };

    expect(stepOf(aPass({ memory: accepted, world, notes }))).toBe('wait/NotDisclosed');
  });

  it('that is the one which the spec comes after is no new one', () => {
    const { memory } = aPass();
    const accepted = { ...memory, id: 'op_1', facts: { acceptedTime: '2026-01-01T00:00:00Z' } };
    const world = aWorld({ configurations: [aConfiguration({ activationResult: { operationId: 'op_1' } })] });

    expect(stepOf(aPass({ memory: accepted, world, spec: aSpec({ afterOperationId: 'op_1' }) }))).toBe(
      'stall/AlreadyActivated',
    );
  });

  it('has failed when two looks agree that its bad end is shown', () => {
    const { memory } = aPass();
    const accepted = { ...memory, id: 'op_1', facts: { acceptedTime: '2026-01-01T00:00:00Z' } };
    const activities = [activity({ ...ended, outcome: 'failed' })];
    const world = aWorld({ configurations: [aConfiguration({ activities })], begunAt: 20_000 });
    const notes = { missedAt: 5_000 };

    expect(stepOf(aPass({ memory: accepted, world, notes, monotonicMs: 20_000 }))).toBe('stall/OperationFailed');
  });
});

describe('the fences of an activation', () => {
  it.each(fences)('when %s: %s', (_because, expected, pass) => {
    const step = recoveryActivation.step(pass);

    expect(stepOf(pass)).toBe(expected);
    if (step.is === 'stall') expect(step.remember?.facts?.finishedTime).toBeDefined();
  });

  // What was written down was begun by an operator with the power: its age counts no more.
  const ofAge = 'it may have been made before the operator started';
  it.each(fences.filter(([because, expected]) => expected !== 'begin' && because !== ofAge))(
    'hold for a resend too, when %s',
    (_because, _expected, pass) => {
      const begun = recoveryActivation.step(aPass());
      if (begun.is !== 'begin') throw new Error('nothing was begun');
      const journal = {
        ...begun.journal,
        endpoint: 'api.example.com',
        accountId: 'acc_1',
        startedAt: '2026-01-01T00:00:00Z',
        deadlineSeconds: 30,
      };

      const step = recoveryActivation.step({ ...pass, creating: () => undefined, memory: { ...pass.memory, journal } });

      expect(step.is === 'call' && _expected !== 'wait/OperationInProgress').toBe(false);
    },
  );

  it('refuse an object that is older than the operator, taken up before or not, unless a call of it was written down', () => {
    const powers = { sinceMs: wallStart + 5_000, activation: true, accountReset: false };
    const { binding: _binding, ...memory } = aPass().memory;
    const refused = {
      is: 'stall',
      reason: 'ActivationDisabled',
      message: expect.stringContaining('create a new resource'),
    };
    const begun = recoveryActivation.step(aPass());
    if (begun.is !== 'begin') throw new Error('nothing was begun');
    const { account } = aPass();
    const entry = { endpoint: account.endpoint, accountId: account.accountId, startedAt: '2026-01-01T00:00:00Z' };
    const journal = { ...begun.journal, ...entry, deadlineSeconds: 30 };

    expect(recoveryActivation.step(aPass({ powers }))).toMatchObject(refused);
    expect(recoveryActivation.step(aPass({ powers, memory: { ...memory, binding: undefined } }))).toMatchObject(
      refused,
    );
    expect(recoveryActivation.step(aPass({ powers, memory: { ...aPass().memory, journal } })).is).not.toBe('stall');
  });

  it("do not take a result for somebody else's before its names were read", () => {
    const activationResult = {
      operationId: 'op_1',
      targetAppEnvId: 'env_2',
      pointId: aPoint.pointId,
      cutoffAt: aPoint.cutoffAt,
    };
    const world = aWorld({ configurations: [aConfiguration({ activationResult })] });

    expect(recoveryActivation.step(aPass({ world: { ...world, sourcesBegunAt: 500 } }))).toMatchObject({
      is: 'read',
      read: { key: 'drSources' },
    });
    expect(recoveryActivation.step(aPass({ world }))).toMatchObject({ reason: 'AlreadyActivated' });
  });

  it('know the source from the protection when the service lists it no more', () => {
    const source = { appName: 'orders', environmentName: 'prod' };
    const pass = aPass({ world: aWorld({ sources: [] }), referred: () => ({ id: 'cfg_1', facts: { source } }) });

    expect(recoveryActivation.step(pass).is).toBe('begin');
  });

  it('refuse a journal that does not say what the spec says', () => {
    const begun = recoveryActivation.step(aPass());
    if (begun.is !== 'begin') throw new Error('nothing was begun');
    const payload = begun.journal.payload?.replace('recovered', 'elsewhere') ?? '';
    const journal = {
      ...begun.journal,
      payload,
      endpoint: 'api.example.com',
      accountId: 'acc_1',
      startedAt: '2026-01-01T00:00:00Z',
      deadlineSeconds: 30,
    };

    const step = recoveryActivation.step(aPass({ memory: { ...aPass().memory, journal }, notes: { timesSent: 0 } }));

    expect(step).toMatchObject({ is: 'stall', reason: 'JournalDamaged' });
  });
});

describe('the names of a result', () => {
  const { activationResult } = aConfiguration({ activationResult: { operationId: 'op_1', targetAppEnvId: 'env_2' } });
  const there = { appEnvId: 'env_2', appId: 'app_2', environmentName: 'recovered', appName: 'orders' };
  const isOurs = (spec: Partial<RecoveryActivationSpec['target']>, shown: object): boolean | undefined =>
    activationResult &&
    namesMatch(aSpec({ target: { environmentName: 'recovered', ...spec } }), activationResult, {
      ...aSource,
      target: { ...there, ...shown },
    });
  const fresh = { appName: 'orders-recovered' };

  it.each<
    readonly [
      because: string,
      expected: boolean | undefined,
      spec: Partial<RecoveryActivationSpec['target']>,
      shown: object,
    ]
  >([
    ['a new app was asked for and is there', true, { ...fresh, createNewApp: true }, fresh],
    ['a new app was asked for and another one is there', false, { ...fresh, createNewApp: true }, {}],
    ['the app of the source was asked for', true, {}, {}],
    ['the app of the source was asked for and another one is there', false, {}, fresh],
    ['a database was given the new app that the spec names', true, fresh, fresh],
    [
      'a database was given it although the spec says that it needs none',
      true,
      { ...fresh, createNewApp: false },
      fresh,
    ],
    ['an application stays where it is, whatever app the spec names besides', true, fresh, {}],
    ['the app is neither that of the source nor the one that the spec names', false, fresh, { appName: 'other' }],
    ['no app is shown', undefined, {}, { appName: undefined }],
    [
      'no app is shown and a new one was asked for',
      undefined,
      { ...fresh, createNewApp: true },
      { appName: undefined },
    ],
    ['the environment has another name', false, fresh, { ...fresh, environmentName: 'other' }],
  ])('when %s: %s', (_because, expected, spec, shown) => {
    expect(isOurs(spec, shown)).toBe(expected);
  });
});

describe('the requestId', () => {
  const account = aPass().account;

  it('is the same for the same content, whoever asks', () => {
    const one = activationId({ spec: aSpec(), account });

    expect(
      activationId({ spec: aSpec({ afterOperationId: 'op_1', validUntil: '2030-01-01T00:00:00Z' }), account }),
    ).toBe(one);
    expect(activationId({ spec: aSpec({ attempt: 1 }), account })).toBe(one);
    expect(one).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it.each<readonly [string, Partial<RecoveryActivationSpec>]>([
    ['attempt', { attempt: 2 }],
    ['names', { target: { environmentName: 'other' } }],
    ['point', { recoveryPoint: { ...aSpec().recoveryPoint, pointId: 'b'.repeat(64) } }],
    ['generation', { recoveryPoint: { ...aSpec().recoveryPoint, configurationGeneration: 4 } }],
    ['configuration', { configurationId: 'cfg_2' }],
  ])('differs with another %s', (_what, more) => {
    expect(activationId({ spec: aSpec(more), account })).not.toBe(activationId({ spec: aSpec(), account }));
  });

  it('is derived as the published vectors say', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/kinds/recovery-activation.md'), 'utf8');
    const vectors = [...page.matchAll(/```json\n(\{.*?\})\n```\n+gives `([0-9a-f-]{36})`/gsu)];

    expect(vectors.length).toBeGreaterThanOrEqual(2);
    for (const [, json = '', id = ''] of vectors) {
      const { purpose, ...content } = JSON.parse(json) as { purpose: string } & Record<string, string>;
      expect(canonicalJson({ ...content, purpose })).toBe(json);
      expect(requestIdOf(purpose, content)).toBe(id);
    }
  });

  it('names a source that is only known', () => {
    expect(aSource.configurationId).toBe(aSpec().configurationId);
  });
});
