import { describe, expect, it } from 'vitest';
import type { Pass } from '../../src/engine/kind/pass.ts';
import { recoveryValidation } from '../../src/kinds/recovery-validation.ts';
import type { Facts, Spec } from '../../src/kinds/schema/recovery-validation.ts';
import { aConfiguration, aPass, aWorld, configurationId, noMemory } from './support/disaster-pass.ts';

/** A pass over an accepted validation `op_1` whose place in the history is this. */
function accepted(shown: object, more: object = {}): Pass<Spec, Facts> {
  const activities = [{ operationId: 'op_1', kind: 'validation', ...shown }];
  const pass = aPass({ world: aWorld({ configurations: [aConfiguration({ activities, ...more })] }) });
  const facts = { configurationId, acceptedAt: '2026-01-01T00:00:00Z' };
  const memory = { ...noMemory, id: 'op_1', binding: pass.memory.binding, facts };
  return { ...pass, spec: { protectionRef: { name: 'orders' } }, memory };
}

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
      message: 'the service accepted it as operation op_1 (stage-1) and shows no end of it yet',
    });
  });
});
