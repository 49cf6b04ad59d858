/** What must wait for something else, and what is said meanwhile. */
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
  failingActivation,
  protection,
  statusOf,
  validUntil,
  wipedByHand,
} from './support.ts';

const cleaning = { pendingCount: 2, retainedDiskCount: 1, retryingCount: 1 };

/** The list of sources as it is, but with this clean-up of the database. */
async function sourcesWith(world: InProcess, pendingCleanup: object): Promise<string> {
  const { body } = await world.request('GET', '/disaster-readiness/sources?accountId=acc_demo');
  const { items } = body as { items: readonly { sourceAppEnvId: string }[] };
  const changed = items.map((item) => (item.sourceAppEnvId === 'env_db_prod' ? { ...item, pendingCleanup } : item));
  return JSON.stringify({ items: changed });
}

describe('the end of a request', () => {
  it.each([
    ['Environment', 'shows what is still cleaned up'],
    ['Account', 'shows what is still cleaned up'],
    ['Environment', 'cannot be read'],
    ['Account', 'cannot be read'],
  ])('of scope %s to reset waits while the list of sources that is read after it %s', async (scope, how) => {
    const world = await aProtectedWorld({ powers: { activation: true, accountReset: true } });
    const { externalId: configurationId, configurationGeneration: generation } = protection(world);
    const insteadOf =
      how === 'cannot be read' ? { status: 500 } : { status: 200, text: await sourcesWith(world, cleaning) };
    let isSent = false;
    world.interference = ({ path }) => {
      isSent ||= path === `${disaster}/reset`;
      return isSent && path === `${disaster}/sources` ? { insteadOf } : undefined;
    };
    const whole = {
      scope,
      configurations: [{ configurationId, configurationGeneration: generation }],
      confirmation: 'Demo',
      acknowledgements: ['DeletesProtectionAndLeftovers'],
      validUntil: validUntil(world),
    };
    world.apply('DisasterReset', 'wipe', scope === 'Account' ? whole : aReset(world));
    await world.run(300_000);
    expect(await committed(world, 'configuration.wiped')).toBe(1);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Ready')).toMatch(
      /^False\/(CleanupPending|ServiceUnavailable)$/,
    );
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toMatch(/^Unknown/);

    world.interference = () => undefined;
    await world.run(300_000);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('True/Succeeded');
  });

  it('to discard waits until nothing is cleaned up', async () => {
    const world = await aProtectedWorld();
    const { externalId: configurationId } = protection(world);
    const tell = (what: object) => world.control('PATCH', `/configurations/${configurationId}`, what);
    await failingActivation(world);
    world.apply('ActivationDiscard', 'stop', aDiscard(world));
    await world.run(5_000);
    await tell({ pendingCleanup: cleaning });
    await world.run(600_000);
    expect(await committed(world, 'discard.accepted')).toBe(1);
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Ready')).toBe('False/CleanupPending');

    await tell({ pendingCleanup: null });
    await world.run(300_000);
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Succeeded')).toBe('True/Succeeded');
  });
});

describe('a validation', () => {
  it('says before it is sent that validations do not run by schedule', async () => {
    const world = await aProtectedWorld();
    const { body } = await world.request('GET', '/disaster-readiness/configurations?accountId=acc_demo');
    const { items } = body as { items: readonly object[] };
    const text = JSON.stringify({ items: items.map((item) => ({ ...item, validationScheduleEstablished: false })) });
    const said: (string | undefined)[] = [];
    world.interference = ({ path }) => {
      if (path === `${disaster}/validate`) said.push(conditionOf(world, 'RecoveryValidation', 'trial', 'Scheduled'));
      return path === `${disaster}/configurations` ? { insteadOf: { status: 200, text } } : undefined;
    };
    world.apply('RecoveryValidation', 'trial', { protectionRef: { name: 'orders' } });
    await world.run(60_000);

    expect(said).toEqual(['False/NoSchedule']);
  });
});

describe('a protection', () => {
  const spec = (world: InProcess) => world.get('DisasterProtection', 'orders')?.spec as object;

  it('sends no settings while an activation of it has not come to its end, sent or not', async () => {
    const world = await aProtectedWorld();
    const { configurationGeneration: generation } = protection(world);
    world.ahead.clusterMs = 120_000;
    world.apply('RecoveryActivation', 'now', anActivation(world));
    await world.run(10_000);
    expect(conditionOf(world, 'RecoveryActivation', 'now', 'Ready')).toBe('False/ClockUnsure');

    world.apply('DisasterProtection', 'orders', { ...spec(world), rtoTargetSeconds: 3_600 });
    await world.run(120_000);
    expect(conditionOf(world, 'DisasterProtection', 'orders', 'Ready')).toBe('False/OperationInProgress');
    expect(protection(world).configurationGeneration).toBe(generation);

    world.ahead.clusterMs = 0;
    await world.run(900_000);
    expect(conditionOf(world, 'RecoveryActivation', 'now', 'Succeeded')).toBe('True/Succeeded');
    expect(await committed(world, 'configuration.edited')).toBe(1);
  });

  it('shows neither readiness nor points of a configuration that is gone', async () => {
    const world = await aProtectedWorld();
    world.apply('DisasterReset', 'wipe', aReset(world));
    await world.run(300_000);

    expect(conditionOf(world, 'DisasterProtection', 'orders', 'Ready')).toBe('False/WipedByReset');
    const status = statusOf(world, 'DisasterProtection', 'orders');
    for (const field of ['readiness', 'recoveryPoints', 'generation', 'settings'])
      expect(status).not.toHaveProperty(field);
    expect(status).toMatchObject({ environmentId: 'env_db_prod', enrollment: 1 });
  });

  it.each(['while the operator goes on', 'while another operator takes over'])(
    'is not enrolled anew where a reset that nobody knows of any more may still arrive, %s',
    async (how) => {
      const world = await aProtectedWorld();
      world.interference = ({ path }) => (path === `${disaster}/reset` ? { lateMs: 25_000 } : undefined);
      world.apply('DisasterReset', 'wipe', aReset(world));
      await world.run(3_000);
      world.interference = () => undefined;
      await wipedByHand(world);
      const old = spec(world);
      world.delete('DisasterReset', 'wipe');
      world.delete('DisasterProtection', 'orders');
      if (how.includes('takes over')) await world.crash(120_000);
      world.apply('DisasterProtection', 'orders', old);
      await world.run(900_000);

      expect(await committed(world, 'configuration.wiped')).toBe(1);
      expect(await committed(world, 'configuration.created')).toBe(2);
      expect(conditionOf(world, 'DisasterProtection', 'orders', 'Ready')).toBe('True/InSync');
    },
  );
});
