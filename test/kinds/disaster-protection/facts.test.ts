import { describe, expect, it } from 'vitest';
import { protectionFacts } from '../../../src/kinds/disaster-protection/facts.ts';
import type { ProtectionPass } from '../../../src/kinds/disaster-protection/binding.ts';
import { aConfiguration, aPass, noMemory } from '../support/disaster-pass.ts';

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

describe('the storage of a protection', () => {
  it.each([
    { because: 'left out it is inherited', shown: undefined, told: { source: 'Inherited' } },
    { because: 'null is that of the service', shown: null, told: { source: 'Platform' } },
    { because: 'an id is yours', shown: 'cred_1', told: { source: 'Credential', credentialId: 'cred_1' } },
  ])('says where snapshots are kept: $because', ({ shown, told }) => {
    const settings = { storageCredentialId: shown, destinationRegion: 'us-east' };
    const configuration = aConfiguration({ settings: settings as never });

    const facts = protectionFacts(aProtectionPass([]), {
      environmentId: 'env_1',
      configuration,
      source: undefined,
      points: undefined,
    });

    expect(facts.settings?.storage).toEqual(told);
  });
});
