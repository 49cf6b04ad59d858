/** The service says no to what it did all the same, or to what it has only begun: a look that began after the answer decides. */
import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import {
  aDiscard,
  anActivation,
  aProtectedWorld,
  aReset,
  committed,
  conditionOf,
  disaster,
  edit,
  failingActivation,
  protection,
  sentenceOf,
} from './support.ts';

const conflict = { status: 409, text: '{"error":"operation already in progress"}' };

/** The first call of this path is carried out and answered with 409; counts the calls. */
function conflicting(world: InProcess, path: string): () => number {
  let count = 0;
  world.interference = (request) =>
    request.path === `${disaster}/${path}` && (count += 1) === 1 ? { afterwards: conflict } : undefined;
  return () => count;
}

describe('a conflict about what was done', () => {
  it.each([
    ['activate', 'RecoveryActivation', anActivation, 'activation.accepted'],
    ['validate', 'RecoveryValidation', () => ({ protectionRef: { name: 'orders' } }), 'validation.accepted'],
    ['discard-activation', 'ActivationDiscard', aDiscard, 'activation.discarded'],
    ['reset', 'DisasterReset', aReset, 'configuration.wiped'],
  ] as const)('is no refusal: %s', async (path, kind, spec, done) => {
    const world = await aProtectedWorld();
    if (kind === 'ActivationDiscard') await failingActivation(world);
    const sent = conflicting(world, path);
    world.apply(kind, 'x', spec(world));
    await world.run(900_000);

    expect(sent()).toBe(1);
    expect(await committed(world, done)).toBe(1);
    expect(conditionOf(world, kind, 'x', 'Succeeded')).toBe('True/Succeeded');
  });

  it('is no refusal: configure', async () => {
    const world = await aProtectedWorld();
    const sent = conflicting(world, 'configure');
    edit(world, { rtoTargetSeconds: 7_200 });
    await world.run(10_000);

    expect(sent()).toBe(1);
    expect(conditionOf(world, 'DisasterProtection', 'orders', 'Ready')).toBe('True/InSync');
  });
});

describe('a conflict about what was not done', () => {
  it.each([
    ['activate', 'RecoveryActivation', anActivation],
    ['validate', 'RecoveryValidation', () => ({ protectionRef: { name: 'orders' } })],
    ['reset', 'DisasterReset', aReset],
  ] as const)('ends the request: %s', async (path, kind, spec) => {
    const world = await aProtectedWorld();
    world.interference = (request) => (request.path === `${disaster}/${path}` ? { insteadOf: conflict } : undefined);
    world.apply(kind, 'x', spec(world));
    await world.run(30_000);

    expect(conditionOf(world, kind, 'x', 'Accepted')).toBe('False/Rejected');
    expect(sentenceOf(world, kind, 'x')).toContain('operation already in progress');
  });
});

describe('a reset that itself begins the clean-up', () => {
  it.each(['400', '403', '409', '422'])('is repeated when it is over, refused with %s', async (status) => {
    const world = await aProtectedWorld({ readings: { 'rejection.status': status } });
    const { externalId: configurationId } = protection(world);
    let begun: Promise<unknown> | undefined;
    world.interference = ({ path }) => {
      if (path !== `${disaster}/reset`) return undefined;
      const pendingCleanup = { pendingCount: 2, retainedDiskCount: 0, retryingCount: 0 };
      begun ??= world.control('PATCH', `/configurations/${configurationId}`, { pendingCleanup });
      return undefined;
    };
    world.apply('DisasterReset', 'wipe', aReset(world));
    await world.run(30_000);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Ready')).toBe('False/CleanupPending');
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Accepted')).toBe('Unknown/CleanupPending');
    expect(sentenceOf(world, 'DisasterReset', 'wipe')).toContain('send the same reset again');
    expect(world.operator.engine.metricsSnapshot().oldestDoubtSeconds).toBe(0);

    await world.control('PATCH', `/configurations/${configurationId}`, { pendingCleanup: null });
    await world.run(600_000);
    expect(await committed(world, 'configuration.wiped')).toBe(1);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('True/Succeeded');
  });

  it('is repeated once more when the clean-up ended between the answer and the look', async () => {
    const world = await aProtectedWorld({ readings: { 'rejection.status': '409' } });
    const { externalId: configurationId } = protection(world);
    const cleansUp = (pendingCleanup: object | null) =>
      world.control('PATCH', `/configurations/${configurationId}`, { pendingCleanup });
    await cleansUp({ pendingCount: 2, retainedDiskCount: 0, retryingCount: 0 });
    let count = 0;
    world.interference = ({ path, method }) => {
      if (path === `${disaster}/reset`) count += 1;
      else if (count === 2 && method === 'GET' && path === `${disaster}/configurations`) void cleansUp(null);
      return undefined;
    };
    world.apply('DisasterReset', 'wipe', aReset(world));
    await world.run(900_000);

    expect(count).toBe(3);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('True/Succeeded');
  });
});
