/** A request whose protection or environment is deleted from the cluster: what was sent goes on in the service, and is told. */
import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import {
  aDiscard,
  anActivation,
  aProtectedWorld,
  aProtection,
  aReset,
  committed,
  conditionOf,
  disaster,
  failingActivation,
  statusOf,
} from './support.ts';

/** The spec of a reset that names its environment by reference. */
function aResetByReference(world: InProcess): object {
  const { environmentRef: _id, ...spec } = aReset(world) as Readonly<Record<string, unknown>>;
  return { ...spec, environmentRef: { name: 'production' } };
}

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
    await failingActivation(world);
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
    world.apply('AppEnvironment', 'production', { externalId: 'env_db_prod' });
    await world.run(30_000);
    world.apply('DisasterReset', 'wipe', aResetByReference(world));
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

  it.each([
    {
      kind: 'RecoveryValidation',
      spec: () => ({ protectionRef: { name: 'orders' } }),
      path: 'validate',
      reference: { kind: 'DisasterProtection', name: 'orders', spec: aProtection },
      awayMs: 60_000,
      meanwhile: 'False/InDoubt',
    },
    {
      kind: 'DisasterReset',
      spec: aResetByReference,
      path: 'reset',
      reference: { kind: 'AppEnvironment', name: 'production', spec: { externalId: 'env_db_prod' } },
      awayMs: 400_000,
      meanwhile: 'False/ReferenceNotReady',
    },
  ])('does not send a $kind again until its reference is back', async (row) => {
    const { kind, spec, path, reference, awayMs, meanwhile } = row;
    const world = await aProtectedWorld();
    world.apply('AppEnvironment', 'production', { externalId: 'env_db_prod' });
    await world.run(30_000);
    let sent = 0;
    world.interference = (request) => {
      if (request.path !== `${disaster}/${path}`) return undefined;
      sent += 1;
      return sent === 1 ? 'loseBefore' : undefined;
    };
    world.apply(kind, 'lost', spec(world));
    await world.run(5_000);
    world.delete(reference.kind, reference.name);
    await world.run(awayMs);
    expect(sent).toBe(1);
    expect(conditionOf(world, kind, 'lost', 'Ready')).toBe(meanwhile);

    world.apply(reference.kind, reference.name, reference.spec);
    await world.run(900_000);
    expect(sent).toBe(2);
    expect(conditionOf(world, kind, 'lost', 'Succeeded')).toBe('True/Succeeded');
  });

  it('ends a validation whose answer was lost when nothing of it can arrive any more, and lets others go first no longer', async () => {
    const world = await aProtectedWorld();
    let sent = 0;
    world.interference = ({ path }) =>
      path === `${disaster}/validate` && (sent += 1) === 1 ? 'loseBefore' : undefined;
    world.apply('RecoveryValidation', 'lost', { protectionRef: { name: 'orders' } });
    await world.run(5_000);
    world.delete('DisasterProtection', 'orders');
    world.apply('DisasterProtection', 'renamed', aProtection);
    await world.run(30_000);
    world.apply('RecoveryValidation', 'other', { protectionRef: { name: 'renamed' } });
    await world.run(60_000);
    expect(conditionOf(world, 'RecoveryValidation', 'other', 'Ready')).toBe('False/OperationInProgress');
    await world.run(900_000);

    expect(conditionOf(world, 'RecoveryValidation', 'lost', 'Succeeded')).toBe('False/Superseded');
    expect(statusOf(world, 'RecoveryValidation', 'lost')).not.toHaveProperty('journal');
    expect(conditionOf(world, 'RecoveryValidation', 'other', 'Succeeded')).toBe('True/Succeeded');
    expect(await committed(world, 'validation.accepted')).toBe(1);
  });

  it('does not send a discard again, which ends with its approval', async () => {
    const world = await aProtectedWorld();
    await failingActivation(world);
    let sent = 0;
    world.interference = ({ path }) => {
      if (path !== `${disaster}/discard-activation`) return undefined;
      sent += 1;
      return 'loseBefore';
    };
    world.apply('ActivationDiscard', 'stop', aDiscard(world));
    await world.run(5_000);
    world.delete('DisasterProtection', 'orders');
    const before = sent;
    await world.run(600_000);
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Ready')).toBe('False/ReferenceNotReady');
    await world.run(3_600_000);

    expect(before).toBe(1);
    expect(sent).toBe(before);
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Succeeded')).toBe('False/Expired');
  });

  it('that was taken up and not sent ends with its approval, and holds no settings back after it', async () => {
    const world = await aProtectedWorld();
    world.interference = ({ path }) => (path === `${disaster}/points` ? { insteadOf: { status: 500 } } : undefined);
    world.apply('RecoveryActivation', 'now', anActivation(world));
    await world.run(5_000);
    world.interference = () => undefined;
    world.delete('DisasterProtection', 'orders');
    world.apply('DisasterProtection', 'renamed', { ...aProtection, rtoTargetSeconds: 3_600 });
    await world.run(600_000);
    expect(conditionOf(world, 'DisasterProtection', 'renamed', 'Ready')).toBe('False/OperationInProgress');

    await world.run(3_600_000);
    expect(conditionOf(world, 'RecoveryActivation', 'now', 'Ready')).toBe('False/Expired');
    expect(await committed(world, 'configuration.edited')).toBe(1);
    expect(await committed(world, 'activation.accepted')).toBe(0);
  });

  it('that refers to nothing ends with its approval', async () => {
    const world = await aProtectedWorld();
    world.apply('RecoveryActivation', 'typo', anActivation(world, { protectionRef: { name: 'oders' } }));
    world.apply('ActivationDiscard', 'typo', {
      ...aDiscard(world),
      operationId: 'op_1',
      protectionRef: { name: 'oders' },
    });
    world.apply('DisasterReset', 'typo', aResetByReference(world));
    await world.run(60_000);
    for (const kind of ['RecoveryActivation', 'ActivationDiscard', 'DisasterReset']) {
      expect(conditionOf(world, kind, 'typo', 'Ready')).toBe('False/ReferenceNotReady');
    }
    await world.run(3_600_000);

    for (const kind of ['RecoveryActivation', 'ActivationDiscard', 'DisasterReset']) {
      expect(conditionOf(world, kind, 'typo', 'Succeeded')).toBe('False/Expired');
    }
  });
});
