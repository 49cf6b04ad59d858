import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import {
  aProtectedWorld,
  aReset,
  committed,
  conditionOf,
  disaster,
  flaws,
  protection,
  sentenceOf,
  statusOf,
  validUntil,
} from './support.ts';

/** A reset that the service refuses while it cleans up, and how often it was sent. */
async function aCleanUp(): Promise<{ world: InProcess; configurationId: string; resets: { sent: number } }> {
  const world = await aProtectedWorld();
  const { externalId: configurationId } = protection(world);
  const pendingCleanup = { pendingCount: 2, retainedDiskCount: 1, retryingCount: 1 };
  await world.control('PATCH', `/configurations/${configurationId}`, { pendingCleanup });
  const resets = { sent: 0 };
  world.interference = ({ path }) => {
    if (path === `${disaster}/reset`) resets.sent += 1;
    return undefined;
  };
  world.apply('DisasterReset', 'wipe', aReset(world));
  return { world, configurationId, resets };
}

describe('a validation', () => {
  it('runs once per run id, and a second one with the same content is answered with the first', async () => {
    const world = await aProtectedWorld();
    world.apply('RecoveryValidation', 'trial', { protectionRef: { name: 'orders' } });
    await world.run(300_000);

    expect(conditionOf(world, 'RecoveryValidation', 'trial', 'Succeeded')).toBe('True/Succeeded');
    expect(conditionOf(world, 'RecoveryValidation', 'trial', 'Scheduled')).toBe('True/ScheduleEstablished');
    const before = (await world.ledger()).filter(({ kind }) => kind.startsWith('validation.')).length;

    world.apply('RecoveryValidation', 'same', { protectionRef: { name: 'orders' }, runId: 'trial' });
    await world.run(120_000);
    expect((await world.ledger()).filter(({ kind }) => kind.startsWith('validation.'))).toHaveLength(before);
    expect(conditionOf(world, 'RecoveryValidation', 'same', 'Succeeded')).toBe('True/Succeeded');
    expect(flaws(world, ['RecoveryValidation', 'trial'], ['RecoveryValidation', 'same'])).toEqual([]);
  });

  it('that fails is counted from then on by how long ago that was, until it is deleted', async () => {
    const world = await aProtectedWorld();
    const { externalId: configurationId } = protection(world);
    const newest = () => world.operator.engine.metricsSnapshot().newestFailureSeconds.get('RecoveryValidation');
    await world.control('PATCH', `/configurations/${configurationId}`, { nextValidation: 'fail' });
    world.apply('RecoveryValidation', 'trial', { protectionRef: { name: 'orders' } });
    await world.run(300_000);
    const first = newest() ?? Number.NaN;
    world.apply('RecoveryValidation', 'better', { protectionRef: { name: 'orders' } });
    await world.run(300_000);
    const later = newest() ?? Number.NaN;
    world.delete('RecoveryValidation', 'trial');
    await world.run(1_000);

    expect(first).toBeLessThan(300);
    expect(later - first).toBeCloseTo(300, -1);
    expect(newest()).toBeUndefined();
  });
});

describe('a reset', () => {
  it('says that it is requested while it is, and not that something is created', async () => {
    const world = await aProtectedWorld();
    const said: (string | undefined)[] = [];
    world.interference = ({ path }) => {
      if (path === `${disaster}/reset`) said.push(conditionOf(world, 'DisasterReset', 'wipe', 'Ready'));
      return undefined;
    };
    world.apply('DisasterReset', 'wipe', aReset(world));
    await world.run(60_000);

    expect(said).toEqual(['False/Requesting']);
  });

  it('is finished however long the service cleans up', async () => {
    const { world, configurationId, resets } = await aCleanUp();
    while (resets.sent < 2) await world.run(5_000);
    await world.run(20_000);
    await world.control('PATCH', `/configurations/${configurationId}`, { pendingCleanup: null });
    await world.run(600_000);

    expect(await committed(world, 'configuration.wiped')).toBe(1);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('True/Succeeded');
  });

  it.each([
    ['goes on', 0],
    ['was started again meanwhile', 70_000],
  ])('says while it is repeated what the service said: the operator %s', async (_how, crashAfterMs) => {
    const { world, resets } = await aCleanUp();
    await world.run(10_000);
    const said = new Set<string | undefined>();
    const sentences = new Set<string | undefined>();
    for (let elapsedMs = 0; elapsedMs < 420_000; elapsedMs += 1_000) {
      if (elapsedMs === crashAfterMs && crashAfterMs > 0) await world.crash();
      await world.run(1_000);
      said.add(conditionOf(world, 'DisasterReset', 'wipe', 'Ready'));
      sentences.add(sentenceOf(world, 'DisasterReset', 'wipe'));
    }

    expect([...said]).toEqual(['False/CleanupPending']);
    for (const sentence of sentences)
      expect(sentence).toMatch(/has not finished the reset yet \(.+\); the operator sends the reset again after/);
    expect(resets.sent).toBeGreaterThan(2);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Accepted')).toBe('Unknown/CleanupPending');
  });

  it('that the service refuses while it only keeps disks is not sent again', async () => {
    const world = await aProtectedWorld();
    const { externalId: configurationId } = protection(world);
    const pendingCleanup = { pendingCount: 1, retainedDiskCount: 1, retryingCount: 0 };
    await world.control('PATCH', `/configurations/${configurationId}`, { pendingCleanup });
    let sent = 0;
    world.interference = ({ path }) => {
      if (path !== `${disaster}/reset`) return undefined;
      sent += 1;
      return { insteadOf: { status: 400, text: '{"error":"not now"}' } };
    };
    world.apply('DisasterReset', 'wipe', aReset(world));
    await world.run(600_000);

    expect(sent).toBe(1);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('False/Rejected');
  });

  it('of a whole account needs the operator to allow it', async () => {
    const world = await aProtectedWorld();
    const { externalId: configurationId, configurationGeneration: generation } = protection(world);
    const spec = {
      scope: 'Account',
      configurations: [{ configurationId, configurationGeneration: generation }],
      confirmation: 'Demo',
      acknowledgements: ['DeletesProtectionAndLeftovers'],
      validUntil: validUntil(world),
    };
    world.apply('DisasterReset', 'all', spec);
    await world.run(60_000);
    expect(conditionOf(world, 'DisasterReset', 'all', 'Accepted')).toBe('False/ActivationDisabled');

    world.powers = { activation: true, accountReset: true };
    await world.crash();
    await world.run(5_000);
    world.apply('DisasterReset', 'all-again', spec);
    await world.run(120_000);
    expect(sentenceOf(world, 'DisasterReset', 'all-again')).toBe('the configuration is gone');
    expect(await committed(world, 'configuration.wiped')).toBe(1);
  });
});

describe('a request that has ended', () => {
  it('says that it heard reconcile-at, and does nothing for it', async () => {
    const world = await aProtectedWorld();
    const spec = { protectionRef: { name: 'orders' } };
    world.apply('RecoveryValidation', 'x', spec);
    await world.run(300_000);
    const before = statusOf(world, 'RecoveryValidation', 'x');
    expect(conditionOf(world, 'RecoveryValidation', 'x', 'Succeeded')).toBe('True/Succeeded');
    const sent = world.sent.length;

    world.apply('RecoveryValidation', 'x', spec, { 'apphosting.dev/reconcile-at': 'again' });
    await world.run(60_000);
    expect(statusOf(world, 'RecoveryValidation', 'x')).toEqual({ ...before, lastHandledReconcileAt: 'again' });
    expect(world.sent).toHaveLength(sent);

    const version = world.get('RecoveryValidation', 'x')?.metadata.resourceVersion;
    await world.run(600_000);
    expect(world.get('RecoveryValidation', 'x')?.metadata.resourceVersion).toBe(version);
  });
});
