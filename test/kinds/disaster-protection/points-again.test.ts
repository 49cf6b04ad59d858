/** Which changes of a configuration make its recovery points be listed again. */
import { expect, it } from 'vitest';
import type { View } from '../../../src/engine/kind/contract/pass.ts';
import type { Snapshot } from '../../../src/engine/ports.ts';
import { fit } from '../../../src/engine/kind/schema/schema.ts';
import type { ProtectionPass } from '../../../src/kinds/disaster-protection/binding.ts';
import { disasterProtection } from '../../../src/kinds/disaster-protection/disaster-protection.ts';
import { protectionFacts } from '../../../src/kinds/disaster-protection/facts.ts';
import { DisasterProtectionFacts } from '../../../src/kinds/disaster-protection/schema.ts';
import { aConfiguration, aPass, aWorld, configurationId, noMemory } from '../support/disaster-pass.ts';

/** A pass that sees this configuration now, and whose points were listed when it was still as `known`. */
function aLaterPass(known: object, now: object): ProtectionPass {
  const of = (shown: object, facts: DisasterProtectionFacts): ProtectionPass => {
    const world = aWorld({ configurations: [aConfiguration(shown)] });
    const { view, ...pass } = aPass({ world, monotonicMs: 61_000, askedAt: 61_000 });
    const aged = <Item>(key: string, snapshot: Snapshot<Item>): Snapshot<Item> =>
      key === 'drConfigurations' ? { ...snapshot, begunAt: 60_000 } : snapshot;
    const later: View = {
      ...view,
      all: (read) => {
        const snapshot = view.all(read);
        return snapshot && aged(read.key, snapshot);
      },
      one: (read, id) => {
        const seen = view.one(read, id);
        return seen && { ...seen, snapshot: aged(read.key, seen.snapshot) };
      },
    };
    const spec = { environmentRef: { externalId: 'env_1' } };
    return { ...pass, view: later, spec, memory: { ...noMemory, id: configurationId, facts } };
  };
  const facts = protectionFacts(of(known, {}), { environmentId: 'env_1', configuration: aConfiguration(known) });
  return of(now, fit(DisasterProtectionFacts, { ...facts, enrollment: 1 }).value);
}

const readiness = { state: 'ready', cutoffAt: '2025-12-31T23:00:00.000Z' };
const validation = { operationId: 'op_v', kind: 'validation', startedAt: '2026-01-01T00:00:00Z' };
const inOtherForm = { ...validation, startedAt: '2026-01-01 00:00:00' };

it.each([
  ['nothing', { activities: [validation] }, { activities: [validation] }, false],
  [
    'nothing, with times that status does not hold',
    { activities: [inOtherForm] },
    { activities: [inOtherForm] },
    false,
  ],
  [
    'the outcome of a validation',
    { activities: [validation] },
    { activities: [{ ...validation, outcome: 'ok' }] },
    true,
  ],
  ['a new validation', { activities: [] }, { activities: [validation] }, true],
  [
    'a new validation beside a standby of which only the id is shown',
    { activeOperationId: 'op_warm', activities: [] },
    { activeOperationId: 'op_warm', activities: [validation] },
    true,
  ],
  [
    'the outcome of a validation beside a standby of which only the id is shown',
    { activeOperationId: 'op_warm', activities: [validation] },
    { activeOperationId: 'op_warm', activities: [{ ...validation, outcome: 'ok' }] },
    true,
  ],
])('%s has changed', (_what, known, now, isListed) => {
  const step = disasterProtection.step(aLaterPass({ readiness, ...known }, { readiness, ...now }));

  expect(step.is === 'read' && step.read.key.startsWith('drPoints')).toBe(isListed);
});
