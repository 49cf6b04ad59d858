/** A miss counts with the next one only where nothing was found in between. */
import { describe, expect, it } from 'vitest';
import type { Pass } from '../../../src/engine/kind/contract/pass.ts';
import { activationDiscard } from '../../../src/kinds/activation-discard/activation-discard.ts';
import { disasterReset } from '../../../src/kinds/disaster-reset/disaster-reset.ts';
import { recoveryActivation } from '../../../src/kinds/recovery-activation/recovery-activation.ts';
import { recoveryValidation } from '../../../src/kinds/recovery-validation/recovery-validation.ts';
import { aConfiguration, aPass, aSpec, aWorld, configurationId, wallStart } from '../support/disaster-pass.ts';

type Anything = Pass<never, never>;

const validUntil = new Date(wallStart + 3_600_000).toISOString();
const discard = {
  protectionRef: { name: 'orders' },
  configurationId,
  operationId: 'op_1',
  configurationGeneration: 3,
  acknowledgements: ['DiscardsRecoveredData'],
  validUntil,
};
const reset = {
  scope: 'Environment',
  environmentRef: { externalId: 'env_1' },
  configurationId,
  configurationGeneration: 3,
  confirmation: 'prod',
  acknowledgements: ['DeletesProtectionAndLeftovers'],
  validUntil,
};
const validation = { protectionRef: { name: 'orders' } };
const missed = { missedAt: 5_000 };

/** A pass that missed something before, over what the service shows now. */
function after(spec: object, shown: object | undefined, facts: object = {}, more: object = {}): Anything {
  const { memory } = aPass();
  const configurations = shown === undefined ? [] : [aConfiguration(shown)];
  const world = aWorld({ configurations, begunAt: 9_000, dateMs: wallStart + 9_000 });
  const id = 'acceptedTime' in facts ? 'op_1' : undefined;
  const pass = aPass({ world, notes: missed, monotonicMs: 9_000, wallMs: wallStart + 9_000, ...more });
  return { ...pass, spec, memory: { ...memory, id, facts: { configurationId, ...facts } } } as unknown as Anything;
}

const acceptedTime = '2026-01-01T00:00:00Z';
const operation = { operationId: 'op_1', kind: 'activation' };

describe('a request that missed something before', () => {
  it.each([
    ['activation', () => recoveryActivation.step(after(aSpec({ confirmation: undefined as never }), {}))],
    ['activation that waits', () => recoveryActivation.step(after(aSpec(), { generation: 2 }))],
    [
      'accepted activation',
      () => recoveryActivation.step(after(aSpec(), { activities: [operation] }, { acceptedTime })),
    ],
    [
      'accepted activation at work',
      () => recoveryActivation.step(after(aSpec(), { activeOperationId: 'op_1' }, { acceptedTime })),
    ],
    ['validation', () => recoveryValidation.step(after(validation, { activeOperationId: 'op_9' }))],
    [
      'accepted validation',
      () => recoveryValidation.step(after(validation, { activities: [operation] }, { acceptedTime })),
    ],
    ['discard', () => activationDiscard.step(after(discard, { activeOperationId: 'op_1', generation: 2 }))],
    ['accepted discard', () => activationDiscard.step(after(discard, { activeOperationId: 'op_1' }, { acceptedTime }))],
    ['reset', () => disasterReset.step(after(reset, { generation: 2 }))],
    ['accepted reset', () => disasterReset.step(after(reset, {}, { acceptedTime }))],
  ])('and finds it again starts anew: %s', (_what, step) => {
    const { note } = step() as { note?: object };

    expect(note).toBeDefined();
    expect(note).not.toHaveProperty('missedAt');
  });

  it.each([
    ['activation', () => recoveryActivation.step(after(aSpec(), undefined))],
    ['accepted activation', () => recoveryActivation.step(after(aSpec(), undefined, { acceptedTime }))],
    ['validation', () => recoveryValidation.step(after(validation, undefined))],
    ['accepted validation', () => recoveryValidation.step(after(validation, undefined, { acceptedTime }))],
    ['discard', () => activationDiscard.step(after(discard, undefined))],
    ['accepted discard', () => activationDiscard.step(after(discard, undefined, { acceptedTime }))],
    ['reset', () => disasterReset.step(after(reset, undefined))],
    ['accepted reset', () => disasterReset.step(after(reset, undefined, { acceptedTime }))],
  ])('and misses it still keeps that: %s', (_what, step) => {
    expect(step()).toMatchObject({ note: missed });
  });

  const account = { ...aPass().account, frozen: 'lost' };

  it.each([
    ['activation', () => recoveryActivation.step(after(aSpec(), undefined, {}, { account }))],
    ['accepted activation', () => recoveryActivation.step(after(aSpec(), undefined, { acceptedTime }, { account }))],
    ['validation', () => recoveryValidation.step(after(validation, undefined, {}, { account }))],
    ['accepted validation', () => recoveryValidation.step(after(validation, undefined, { acceptedTime }, { account }))],
    ['discard', () => activationDiscard.step(after(discard, undefined, {}, { account }))],
    ['accepted discard', () => activationDiscard.step(after(discard, undefined, { acceptedTime }, { account }))],
    ['reset', () => disasterReset.step(after(reset, undefined, {}, { account }))],
    ['accepted reset', () => disasterReset.step(after(reset, undefined, { acceptedTime }, { account }))],
  ])('and misses it while the account has lost sight of what it owns proves nothing: %s', (what, step) => {
    // What is under way is looked at soon again.
    const soon = what.startsWith('accepted') ? { retryInMs: 4_000 } : {};
    expect(step()).toEqual({ is: 'wait', reason: 'VisibilityLost', message: 'lost', note: {}, ...soon });
  });
});
