import { describe, expect, it } from 'vitest';
import type { Pass } from '../../../src/engine/kind/contract/pass.ts';
import { recoveryValidation } from '../../../src/kinds/recovery-validation/recovery-validation.ts';
import type { RecoveryValidationFacts, RecoveryValidationSpec } from '../../../src/kinds/recovery-validation/schema.ts';
import { aConfiguration, aPass, aWorld, configurationId, noMemory } from '../support/disaster-pass.ts';

/** A pass over an accepted validation `op_1` whose place in the history is this. */
function accepted(
  shown: object,
  more: object = {},
  monotonicMs = 1_000,
): Pass<RecoveryValidationSpec, RecoveryValidationFacts> {
  const activities = [{ operationId: 'op_1', kind: 'validation', ...shown }];
  const world = aWorld({ configurations: [aConfiguration({ activities, ...more })], begunAt: monotonicMs });
  const pass = aPass({ world, monotonicMs });
  const facts = { configurationId, acceptedTime: '2026-01-01T00:00:00Z' };
  const memory = { ...noMemory, id: 'op_1', binding: pass.memory.binding, facts };
  return { ...pass, spec: { protectionRef: { name: 'orders' } }, memory };
}

it('a validation whose outcome is unknown is not sent again without its protection, and says every possible reason', () => {
  const pass = aPass({ world: aWorld({ configurations: [aConfiguration()] }), monotonicMs: 1_000 });
  const { endpoint, accountId } = pass.account;
  const payload = { accountId, configurationId, expectedGeneration: 3, requestId: 'r-1' };
  const journal = {
    operation: 'validate',
    attempt: 1,
    digest: 'd',
    requestId: 'r-1',
    payload: JSON.stringify(payload),
    endpoint,
    accountId,
    startedAt: '2026-01-01T00:00:00Z',
    deadlineSeconds: 30,
  };
  const memory = { ...noMemory, binding: pass.memory.binding, facts: { configurationId }, journal };
  const spec = { protectionRef: { name: 'orders' } };

  const step = recoveryValidation.step({ ...pass, spec, memory, referred: () => undefined });

  const why =
    'spec.protectionRef refers to DisasterProtection orders, which no longer exists, belongs to another account or has no id in the service; nothing more is sent';
  expect(step).toMatchObject({ is: 'wait', reason: 'InDoubt', message: expect.stringContaining(why) });
});

describe('an accepted validation', () => {
  const endedAt = '2026-01-01T00:01:00Z';

  it.each([
    ['succeeded', 'ready/Succeeded'],
    ['Success', 'ready/Succeeded'],
    ['failed', 'stall/OperationFailed'],
    ['superseded', 'stall/Superseded'],
    ['cancelled', 'stall/OperationFailed'],
    ['inconclusive', 'stall/UnknownState'],
    ['partially-succeeded', 'stall/UnknownState'],
    [undefined, 'stall/UnknownState'],
  ])('that ended as %s: %s', (outcome, expected) => {
    const step = recoveryValidation.step(accepted({ endedAt, outcome }));

    expect('reason' in step ? `${step.is}/${step.reason}` : step.is).toBe(expected);
  });

  it('is not told to run where only its end is not shown', () => {
    const step = recoveryValidation.step(accepted({ phase: 'stage-1' }));

    expect(step).toMatchObject({
      is: 'wait',
      reason: 'InProgress',
      message: 'the service accepted the validation as operation op_1 (stage-1), but has not reported an end yet',
    });
  });

  const startedAt = '2026-01-01T00:00:00Z';
  it.each<readonly [because: string, more: object, quietForMs: number, expected: string]>([
    ['it may still run', {}, 3_599_000, 'wait/InProgress'],
    ['nothing of it moves for an hour', {}, 3_600_000, 'stall/UnknownState'],
    ['the service works on it', { activeOperationId: 'op_1' }, 7_200_000, 'wait/InProgress'],
  ])('that shows no end, since %s: %#', (_because, more, quietForMs, expected) => {
    const pass = accepted({ phase: 'stage-1', startedAt }, more, 1_000 + quietForMs);
    const facts = { ...pass.memory.facts, stage: 'stage-1', startedTime: startedAt };
    const notes = { validationQuietSince: 1_000 };

    const step = recoveryValidation.step({ ...pass, memory: { ...pass.memory, facts }, notes });

    expect('reason' in step ? `${step.is}/${step.reason}` : step.is).toBe(expected);
  });

  it('is waited for anew when it is shown at another stage', () => {
    const pass = accepted({ phase: 'stage-2', startedAt }, {}, 3_601_000);
    const facts = { ...pass.memory.facts, stage: 'stage-1', startedTime: startedAt };
    const notes = { validationQuietSince: 1_000 };

    const step = recoveryValidation.step({ ...pass, memory: { ...pass.memory, facts }, notes });

    expect(step).toMatchObject({ is: 'wait', reason: 'InProgress', note: { validationQuietSince: 3_601_000 } });
  });
});
