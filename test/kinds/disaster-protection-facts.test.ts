import { describe, expect, it } from 'vitest';
import { protectionFacts } from '../../src/kinds/disaster-protection/facts.ts';
import type { ProtectionPass } from '../../src/kinds/disaster-protection/settings.ts';
import { aConfiguration, aPass, noMemory } from './support/disaster-pass.ts';

/** A pass over a protection that remembers these operations. */
function aProtectionPass(operations: readonly object[]): ProtectionPass {
  const memory = { ...noMemory, id: 'cfg_1', facts: { operations } };
  return {
    ...aPass(),
    spec: { environmentRef: { externalId: 'env_1' } },
    memory,
    related: () => [],
  } as unknown as ProtectionPass;
}

describe('the operations of a protection', () => {
  const hour = (at: number) => new Date(Date.UTC(2026, 0, 1, at)).toISOString();
  const validations = Array.from({ length: 30 }, (_, at) => ({
    operationId: `op_v${at}`,
    kind: 'validation',
    startedAt: hour(at + 1),
  }));

  it('keep what tells which request of ours began which of them, however many came after', () => {
    const ours = { operationId: 'op_a', kind: 'activation', startedAt: hour(0), requestId: 'r1' };
    const shown = aConfiguration({ activities: [{ ...ours, requestId: undefined }, ...validations] });
    const facts = protectionFacts(
      aProtectionPass([{ operationId: ours.operationId, startedTime: hour(0), requestId: 'r1' }]),
      {
        environmentId: 'env_1',
        configuration: shown,
        source: undefined,
        points: undefined,
      },
    );
    const ids = facts.operations?.map(({ operationId }) => operationId) ?? [];

    expect(ids).toHaveLength(20);
    expect(ids[0]).toBe('op_v29');
    expect(ids.at(-1)).toBe('op_a');
    expect(facts.operations?.at(-1)).toMatchObject({ requestId: 'r1' });
  });
});
