/** A service that shows of operations only what its interface names: no id beside them, and perhaps neither kind nor end. */
import { describe, expect, it } from 'vitest';
import type { Pass } from '../../../src/engine/kind/contract/pass.ts';
import type { JournalEntry } from '../../../src/engine/kind/contract/step.ts';
import { drConfigurationsOf, isOperating } from '../../../src/hosting/requests.ts';
import { activationDiscard } from '../../../src/kinds/activation-discard/activation-discard.ts';
import { protectionFacts } from '../../../src/kinds/disaster-protection/facts.ts';
import type { ProtectionPass } from '../../../src/kinds/disaster-protection/binding.ts';
import { recoveryActivation } from '../../../src/kinds/recovery-activation/recovery-activation.ts';
import { recoveryValidation } from '../../../src/kinds/recovery-validation/recovery-validation.ts';
import type { RecoveryActivationFacts, RecoveryActivationSpec } from '../../../src/kinds/recovery-activation/schema.ts';
import type * as discard from '../../../src/kinds/activation-discard/schema.ts';
import type * as validation from '../../../src/kinds/recovery-validation/schema.ts';
import {
  aConfiguration,
  aPass,
  aSource,
  aSpec,
  aWorld,
  configurationId,
  cutoffTime,
  noMemory,
  pointId,
} from '../support/disaster-pass.ts';

const other = '2025-12-31T22:00:00.000Z';
const ours = { cutoffAt: cutoffTime };
const vain = { kind: 'activation', endedAt: '2026-01-01T00:00:00Z', outcome: 'discarded' };
const result = { operationId: 'op_1', targetAppEnvId: 'env_2', pointId, cutoffAt: cutoffTime };
const recovered = { appEnvId: 'env_2', appId: 'app_2', environmentName: 'recovered', appName: 'orders-recovered' };

const journal: JournalEntry = {
  operation: 'activate',
  attempt: 1,
  endpoint: 'api.example.com',
  accountId: 'acc_1',
  startedAt: '2026-01-01T00:00:00Z',
  deadlineSeconds: 30,
  digest: 'x',
  create: { collection: 'activation', name: configurationId, excluded: ['op_0'] },
};

/** A pass over an activation that was accepted, with or without an id in its receipt, while this is shown. */
function accepted(shown: object, { id, ...more }: { readonly id?: string } & Parameters<typeof aPass>[0] = {}) {
  const notes = { operationMissedAt: -200_000 };
  const facts = { acceptedTime: '2026-01-01T00:00:00Z' };
  const memory = { ...aPass().memory, id, facts, journal: id === undefined ? journal : undefined };
  const sources = [{ ...aSource, target: recovered }];
  return aPass({ memory, world: aWorld({ configurations: [aConfiguration(shown)], sources }), notes, ...more });
}

function stepOf(pass: Pass<RecoveryActivationSpec, RecoveryActivationFacts>): string {
  const step = recoveryActivation.step(pass);
  return 'reason' in step ? `${step.is}/${step.reason}` : step.is;
}

describe('the operation that a service works on', () => {
  const { items } = drConfigurationsOf('acc_demo');
  const read = (shown: object) => items({ items: [{ configurationId, generation: 1, ...shown }] })?.[0];

  it('has the id that stands beside it', () => {
    const seen = read({
      activeOperationId: 'op_1',
      activeOperation: ours,
      activities: [ours, {}, { operationId: null }],
    });

    expect(seen?.activeOperation).toMatchObject({ operationId: 'op_1', cutoffAt: cutoffTime });
    expect(seen?.activities.map(({ operationId }) => operationId)).toEqual([undefined, undefined, undefined]);
    expect(read({ activeOperationId: 'op_1' })?.activeOperation?.operationId).toBe('op_1');
    expect(read({ activeOperation: { operationId: 'op_2' } })?.activeOperation?.operationId).toBe('op_2');
  });

  it.each([
    ['it shows no id at all', true, { activeOperation: ours }],
    ['it shows nothing', false, {}],
    ['it shows only empty fields', false, { activeOperation: { operationId: null, cutoffAt: null } }],
    ['a standby keeps up', false, { activeOperationId: 'op_1', warmRecoveryOperationId: 'op_1' }],
  ])('is there or not where %s', (_because, expected, shown) => {
    const seen = aConfiguration(shown);

    expect(isOperating(seen)).toBe(expected);
  });
});

describe('an accepted activation without an id', () => {
  it.each<readonly [because: string, expected: string, shown: object]>([
    ['the service works on something of our moment', 'again', { activeOperationId: 'op_1', activeOperation: ours }],
    ['the service works on something', 'wait/NotDisclosed', { activeOperationId: 'op_1', activities: [ours] }],
    ['it works on something without an id', 'wait/NotDisclosed', { activeOperation: ours, activities: [ours] }],
    [
      'it works on something of another moment',
      'wait/NotDisclosed',
      { activeOperation: { cutoffAt: other }, activities: [{ cutoffAt: other }] },
    ],
    ['the history may have it', 'wait/NotDisclosed', { activities: [ours] }],
    ['the history has it as discarded', 'wait/NotDisclosed', { activities: [{ ...ours, ...vain }] }],
    ['a result of our point and names is there', 'ready/Succeeded', { activities: [ours], activationResult: result }],
    ['it is there without its id', 'ready/Succeeded', { activationResult: { ...result, operationId: undefined } }],
    [
      'a result of another point is there',
      'wait/NotDisclosed',
      { activities: [ours], activationResult: { ...result, pointId: 'b' } },
    ],
  ])('when %s: %s', (_because, expected, shown) => {
    expect(stepOf(accepted(shown))).toBe(expected);
  });

  it('is called neither live nor not while the names of its result are not shown', () => {
    const world = aWorld({ configurations: [aConfiguration({ activationResult: result })], sources: [aSource] });

    expect(recoveryActivation.step(accepted({}, { world }))).toMatchObject({
      reason: 'UnknownState',
      conditions: [{ type: 'Promoted', status: 'Unknown', reason: 'NotDisclosed' }],
    });
  });

  it('is known by its result from then on', () => {
    const step = recoveryActivation.step(accepted({ activationResult: result }));

    expect(step).toMatchObject({ remember: { id: 'op_1', ownership: 'Presumed', facts: { result: { pointId } } } });
  });

  it('is not the one that a result of other names is of', () => {
    const sources = [{ ...aSource, target: { ...recovered, environmentName: 'elsewhere' } }];
    const world = aWorld({
      configurations: [aConfiguration({ activities: [ours], activationResult: result })],
      sources,
    });

    expect(stepOf(accepted({}, { world }))).toBe('wait/NotDisclosed');
    expect(stepOf(accepted({}, { world: { ...world, sources: [aSource] } }))).toBe('wait/UnknownState');
    expect(stepOf(accepted({}, { world: { ...world, sources: [aSource], sourcesBegunAt: 500 } }))).toBe('read');
  });

  it('is not the one that the spec comes after, nor one from before when it repeats', () => {
    const shown = { activities: [ours], activationResult: result };
    const repeated = { spec: aSpec({ attempt: 2 }) };
    const before = { ...journal, create: { ...journal.create, excluded: ['op_1'] } } as JournalEntry;
    const memory = { ...accepted({}).memory, journal: before };

    expect(stepOf(accepted(shown, { spec: aSpec({ afterOperationId: 'op_1' }) }))).toBe('wait/NotDisclosed');
    expect(stepOf(accepted(shown, repeated))).toBe('ready/Succeeded');
    expect(stepOf(accepted(shown, { ...repeated, memory }))).toBe('wait/NotDisclosed');
  });
});

describe('an accepted activation whose id a history does not show', () => {
  it.each<readonly [because: string, expected: string, shown: object]>([
    [
      'the service works on it',
      'wait/InProgress',
      { activeOperationId: 'op_1', activeOperation: ours, activities: [ours] },
    ],
    ['the history may have it', 'wait/NotDisclosed', { activities: [ours] }],
    ['the service works on another one', 'wait/NotDisclosed', { activeOperationId: 'op_2', activities: [ours] }],
    ['the service works on one without an id', 'wait/NotDisclosed', { activeOperation: ours, activities: [ours] }],
  ])('when %s: %s', (_because, expected, shown) => {
    expect(stepOf(accepted(shown, { id: 'op_1' }))).toBe(expected);
  });

  it.each<readonly [because: string, expected: string, entry: object]>([
    ['it has our moment and ended well', 'wait/NotDisclosed', { ...ours, outcome: 'succeeded' }],
    ['it has our moment and ended in vain', 'stall/OperationFailed', { ...ours, ...vain }],
    ['it has another moment', 'stall/OperationFailed', { cutoffAt: other, outcome: 'succeeded' }],
    ['it is of another kind', 'stall/OperationFailed', { ...ours, kind: 'validation', outcome: 'succeeded' }],
  ])('was seen at work, and then the history has one without an id; when %s: %s', (_because, expected, entry) => {
    const world = aWorld({ configurations: [aConfiguration({ activities: [entry] })], begunAt: 200_000 });
    const notes = { activationSeen: true, missedAt: 5_000 };
    const pass = accepted({}, { id: 'op_1', world, monotonicMs: 200_000, notes });

    expect(stepOf(pass)).toBe(expected);
    if (expected === 'wait/NotDisclosed') {
      expect(recoveryActivation.step(pass)).toMatchObject({ conditions: [{ type: 'Promoted', status: 'Unknown' }] });
    }
  });

  it.each<readonly [because: string, more: Parameters<typeof accepted>[1]]>([
    ['this process saw the service work on it', { notes: { activationSeen: true, missedAt: 5_000 } }],
    [
      'the protection remembers that it was shown',
      { referred: () => ({ id: configurationId, facts: { operations: [{ operationId: 'op_1' }] } }) },
    ],
    [
      'it was found by what the service worked on',
      { memory: { ...accepted({}, { id: 'op_1' }).memory, ownership: 'Presumed' } },
    ],
  ])('has failed when two looks agree that it is worked on no more, and %s', (_because, more) => {
    const world = aWorld({ configurations: [aConfiguration({ activities: [ours] })], begunAt: 200_000 });
    const late = { world, monotonicMs: 200_000, notes: { missedAt: 5_000, operationMissedAt: 5_000 } };

    expect(stepOf(accepted({}, { id: 'op_1', ...late, ...more }))).toBe('stall/OperationFailed');
    expect(stepOf(accepted({}, { id: 'op_1', ...late }))).toBe('wait/NotDisclosed');
  });
});

describe('an activation before it is sent', () => {
  const fence = (shown: object, more: Parameters<typeof aPass>[0] = {}) =>
    stepOf(aPass({ world: aWorld({ configurations: [aConfiguration(shown)] }), ...more }));
  const named = (operations: readonly object[], more: object = {}) => ({
    spec: aSpec({ afterOperationId: 'op_1' }),
    referred: () => ({ id: configurationId, facts: { operations } }),
    ...more,
  });

  it.each<readonly [because: string, expected: string, shown: object]>([
    ['an operation without an id or a kind has a moment', 'stall/AlreadyActivated', { activeOperation: ours }],
    [
      'an operation has only an id and a moment',
      'stall/AlreadyActivated',
      { activeOperationId: 'op_1', activeOperation: ours },
    ],
    ['an operation without an id is under way', 'stall/OperationInProgress', { activeOperation: { phase: 'x' } }],
    ['the history has an activation without an id', 'stall/AlreadyActivated', { activities: [{ kind: 'activation' }] }],
    ['the history has only a moment', 'stall/AlreadyActivated', { activities: [{ cutoffAt: other }] }],
    ['the history has one that ended in vain', 'begin', { activities: [vain] }],
    ['the history has what may be anything', 'begin', { activities: [{}, { kind: 'enrollment' }] }],
    [
      'a settled standby shows what it has received',
      'begin',
      {
        activeOperationId: 'op_9',
        activeOperation: ours,
        warmRecoveryOperationId: 'op_9',
        warmDestination: { envName: 'recovered', createNewApp: true, appName: 'orders-recovered' },
      },
    ],
  ])('when %s: %s', (_because, expected, shown) => {
    expect(fence(shown)).toBe(expected);
  });

  it('may come after one whose result is shown, whatever the history has besides', () => {
    const shown = { activities: [ours, ours, { cutoffAt: other }], activationResult: result };

    expect(fence(shown, named([]))).toBe('begin');
    expect(fence({ ...shown, activationResult: { ...result, operationId: 'op_2' } }, named([]))).toBe(
      'stall/AlreadyActivated',
    );
    const completed = { ...result, completedAt: '2026-01-01T00:00:00Z' };
    const later = { kind: 'activation', startedAt: '2026-01-01T00:00:01Z' };
    expect(fence({ activities: [ours, later], activationResult: completed }, named([]))).toBe('stall/AlreadyActivated');
  });

  it('may come after one whose result is not shown, as far as the history has only entries of its moment', () => {
    const before = { id: 'op_1', finished: true, spec: aSpec(), facts: {} };
    const known = named([], { related: () => [before] });

    expect(fence({ activities: [ours] }, known)).toBe('begin');
    expect(fence({ activities: [ours, { cutoffAt: other }] }, known)).toBe('stall/AlreadyActivated');
    expect(fence({ activities: [{ kind: 'activation' }] }, known)).toBe('stall/AlreadyActivated');
    expect(fence({ activities: [ours] }, named([]))).toBe('stall/AlreadyActivated');
    expect(fence({ activities: [ours, ours] }, known)).toBe('stall/AlreadyActivated');
    expect(fence({ activities: [{ ...ours, operationId: 'op_1' }, ours] }, known)).toBe('stall/AlreadyActivated');
    expect(fence({ activities: [{ ...ours, ...vain }] }, named([]))).toBe('begin');
  });

  it('may come after several, as far as each entry is explained by one that was accepted before the named one and has ended', () => {
    const one = (id: string, acceptedTime: string, more: object = {}) => ({
      id,
      finished: true,
      spec: aSpec(),
      facts: { acceptedTime },
      ...more,
    });
    const last = one('op_1', '2026-01-01T00:00:00Z', { finished: false });
    const first = one('op_0', '2025-12-31T23:30:00Z');
    const begins = (activities: readonly object[], ...related: readonly object[]) =>
      fence({ activities }, named([], { related: () => related }));

    expect(begins([ours, ours], last, first)).toBe('begin');
    expect(begins([ours, ours, ours], last, first)).toBe('stall/AlreadyActivated');
    expect(begins([ours, ours, ours], last, first, first)).toBe('stall/AlreadyActivated');
    expect(begins([ours, ours], last, one('op_2', '2026-01-01T00:00:30Z'))).toBe('stall/AlreadyActivated');
    expect(begins([ours, ours], last, { ...first, finished: false })).toBe('stall/AlreadyActivated');
    expect(begins([ours, ours], last, { ...first, spec: undefined })).toBe('stall/AlreadyActivated');
    expect(begins([ours], first)).toBe('stall/AlreadyActivated');
  });

  it('is told of a reset only where no other one can be named', () => {
    const before = { id: 'op_0', finished: true, spec: aSpec(), facts: { acceptedTime: '2026-01-01T00:00:00Z' } };
    const message = (more: object) => {
      const world = aWorld({ configurations: [aConfiguration({ activities: [ours] })] });
      const step = recoveryActivation.step(aPass({ world, ...more }));
      return 'message' in step ? step.message : step.is;
    };

    expect(message({ related: () => [before] })).toMatch(
      /create a new RecoveryActivation with spec\.afterOperationId set to status\.externalId of the last RecoveryActivation$/,
    );
    expect(message({ related: () => [] })).toMatch(/DisasterReset \(which deletes all recovery points\)/);
  });
});

describe('a validation', () => {
  const acceptedTime = '2026-01-01T00:00:00Z';

  /** A pass over an accepted validation `op_1` that knows this, while that is shown. */
  function following(
    shown: object,
    facts: object = {},
  ): Pass<validation.RecoveryValidationSpec, validation.RecoveryValidationFacts> {
    const pass = aPass({ world: aWorld({ configurations: [aConfiguration(shown)] }) });
    const memory = { ...noMemory, id: 'op_1', binding: pass.memory.binding };
    return {
      ...pass,
      spec: { protectionRef: { name: 'orders' } },
      memory: { ...memory, facts: { configurationId, acceptedTime, ...facts } },
    };
  }
  it('that nobody can tell from others ends as neither a success nor a failure', () => {
    const pass = following({ activities: [{}] });
    const world = aWorld({ configurations: [aConfiguration({ activities: [{}] })], begunAt: 200_000 });
    const { view } = aPass({ world });
    const late = { ...pass, view, monotonicMs: 200_000, notes: { operationMissedAt: 5_000 } };

    expect(recoveryValidation.step(late)).toMatchObject({
      is: 'stall',
      reason: 'UnknownState',
      conditions: [
        { type: 'Accepted', status: 'True' },
        { type: 'Succeeded', status: 'Unknown' },
      ],
    });
  });

  it('waits for what has no id', () => {
    const { acceptedTime: _not, ...facts } = following({}).memory.facts;
    const pass = following({ activeOperation: { phase: 'x' } });

    expect(recoveryValidation.step({ ...pass, memory: { ...pass.memory, id: undefined, facts } })).toMatchObject({
      reason: 'OperationInProgress',
    });
  });
});

describe('a discard', () => {
  /** A pass over a discard of `op_1`, accepted or not, while this is shown. */
  function discarding(
    shown: object,
    acceptedTime?: string,
  ): Pass<discard.ActivationDiscardSpec, discard.ActivationDiscardFacts> {
    const pass = aPass({ world: aWorld({ configurations: [aConfiguration(shown)] }) });
    const { validUntil } = pass.spec;
    const spec: discard.ActivationDiscardSpec = {
      protectionRef: { name: 'orders' },
      configurationId,
      operationId: 'op_1',
      configurationGeneration: 3,
      acknowledgements: ['DiscardsRecoveredData'],
      validUntil,
    };
    const facts = acceptedTime === undefined ? {} : { acceptedTime };
    return { ...pass, spec, memory: { ...noMemory, binding: pass.memory.binding, facts } };
  }

  it('is asked for by the id that stands beside the operation, and for nothing without one', () => {
    const step = activationDiscard.step(discarding({ activeOperation: ours }));

    expect(step).toMatchObject({ is: 'stall', reason: 'OperationNotActive' });
    expect('message' in step && step.message).toContain('an operation without an id');
    expect(activationDiscard.step(discarding({ activeOperationId: 'op_1', activeOperation: ours })).is).toBe('begin');
  });

  it('that was accepted waits while the service works on what may be it', () => {
    const waits = { is: 'wait', reason: 'CleanupPending', message: 'the service is cleaning up after operation op_1' };
    const acceptedTime = '2026-01-01T00:00:00Z';

    expect(activationDiscard.step(discarding({ activeOperation: ours }, acceptedTime))).toMatchObject(waits);
    expect(activationDiscard.step(discarding({ activeOperationId: 'op_2' }, acceptedTime))).not.toMatchObject(waits);
  });
});

describe('the status of a protection', () => {
  /** What status shows after one look at each of these, one after the other. */
  function after(...looks: readonly object[]) {
    let facts: ProtectionPass['memory']['facts'] = {};
    for (const shown of looks) {
      const memory = { ...noMemory, id: configurationId, facts };
      const pass = {
        ...aPass(),
        spec: { environmentRef: { externalId: 'env_1' } },
        memory,
        related: () => [],
      } as unknown as ProtectionPass;
      const configuration = aConfiguration(shown);
      facts = protectionFacts(pass, { environmentId: 'env_1', configuration, source: undefined, points: undefined });
    }
    return facts;
  }

  it('shows the id that stands beside the operation', () => {
    expect(after({ activeOperationId: 'op_1', activeOperation: ours }).activeOperation).toEqual({
      operationId: 'op_1',
      cutoffTime,
    });
    expect(after({ activeOperationId: 'op_1' }).activeOperation).toEqual({ operationId: 'op_1' });
    expect(after({ activeOperation: ours }).activeOperation).toEqual({ cutoffTime });
  });

  it('shows what has no id beside what has one, and forgets it with the service', () => {
    const active = { activeOperationId: 'op_1', activeOperation: ours, activities: [{}, { cutoffAt: other }, ours] };
    const rows = [{ operationId: 'op_1', cutoffTime }, { cutoffTime: other }, { cutoffTime }];

    expect(after(active).operations).toEqual(rows);
    expect(after(active, { activities: [{}, { cutoffAt: other }] }).operations).toEqual([{ cutoffTime: other }]);
    expect(after(active, { activities: [{}] }).operations).toBeUndefined();
  });
});
