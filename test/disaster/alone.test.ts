/** A request whose protection or environment is deleted from the cluster: what was sent goes on in the service, and is told. */
import { describe, expect, it } from 'vitest';
import {
  aDiscard,
  anActivation,
  aProtectedWorld,
  aProtection,
  aReset,
  committed,
  conditionOf,
  disaster,
  protection,
  statusOf,
} from './support.ts';

describe('a request whose protection is deleted', () => {
  it('follows an activation to its end', async () => {
    const world = await aProtectedWorld();
    world.apply('RecoveryActivation', 'now', anActivation(world));
    await world.run(5_000);
    expect(conditionOf(world, 'RecoveryActivation', 'now', 'Accepted')).toBe('True/Accepted');
    world.delete('DisasterProtection', 'orders');
    await world.run(900_000);

    expect(conditionOf(world, 'RecoveryActivation', 'now', 'Succeeded')).toBe('True/Succeeded');
    expect(statusOf(world, 'RecoveryActivation', 'now')).toMatchObject({ result: { engine: 'postgresql' } });
  });

  it('follows a validation to its end', async () => {
    const world = await aProtectedWorld();
    world.apply('RecoveryValidation', 'trial', { protectionRef: { name: 'orders' } });
    await world.run(5_000);
    world.delete('DisasterProtection', 'orders');
    await world.run(600_000);

    expect(conditionOf(world, 'RecoveryValidation', 'trial', 'Succeeded')).toBe('True/Succeeded');
  });

  it('follows a discard to its end', async () => {
    const world = await aProtectedWorld();
    const { configurationId } = protection(world);
    await world.control('PATCH', `/configurations/${configurationId}`, { failSteps: 1_000 });
    world.apply('RecoveryActivation', 'now', anActivation(world));
    await world.run(1_500_000);
    world.apply('ActivationDiscard', 'stop', aDiscard(world));
    await world.run(5_000);
    expect(await committed(world, 'discard.accepted')).toBe(1);
    world.delete('DisasterProtection', 'orders');
    await world.run(600_000);

    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Succeeded')).toBe('True/Succeeded');
    expect(conditionOf(world, 'RecoveryActivation', 'now', 'Succeeded')).toBe('False/OperationFailed');
  });

  it('follows a reset to its end when its environment is deleted', async () => {
    const world = await aProtectedWorld();
    world.apply('AppEnvironment', 'production', { appEnvId: 'env_db_prod' });
    await world.run(30_000);
    const { appEnvId: _id, ...spec } = aReset(world) as Readonly<Record<string, unknown>>;
    world.apply('DisasterReset', 'wipe', { ...spec, environmentRef: { name: 'production' } });
    await world.run(3_000);
    expect(await committed(world, 'configuration.wiped')).toBe(1);
    world.delete('AppEnvironment', 'production');
    await world.run(600_000);

    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('True/Succeeded');
  });

  it('is not sent, nor sent again, before there is one; and is sent when it is back in time', async () => {
    const world = await aProtectedWorld();
    const spec = anActivation(world);
    let isLost = true;
    world.interference = ({ path }) => (isLost && path === `${disaster}/activate` ? 'loseBefore' : undefined);
    world.apply('RecoveryActivation', 'lost', spec);
    await world.run(5_000);
    world.delete('DisasterProtection', 'orders');
    isLost = false;
    world.apply('RecoveryActivation', 'new', { ...spec, attempt: 2 });
    await world.run(200_000);
    expect(await committed(world, 'activation.accepted')).toBe(0);
    for (const name of ['lost', 'new']) {
      expect(conditionOf(world, 'RecoveryActivation', name, 'Ready')).toBe('False/ReferenceNotReady');
    }

    world.apply('DisasterProtection', 'orders', aProtection);
    await world.run(900_000);
    expect(await committed(world, 'activation.accepted')).toBe(1);
    expect(conditionOf(world, 'RecoveryActivation', 'lost', 'Succeeded')).toBe('True/Succeeded');
  });
});
