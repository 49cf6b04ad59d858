/** Asking once more, on purpose: after an activation that went well, and after one that was given up. */
import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import {
  aDiscard,
  anActivation,
  aProtectedWorld,
  committed,
  conditionOf,
  failingActivation,
  protection,
  sentenceOf,
  statusOf,
  target,
} from '../support.ts';

const kind = 'RecoveryActivation';

/** Asks for an activation and says which operation came of it. */
async function activated(world: InProcess, name: string, more: object = {}): Promise<string> {
  const names = { ...target, environmentName: name, appName: `orders-${name}` };
  world.apply(kind, name, anActivation(world, { target: names, ...more }));
  await world.run(900_000);
  return statusOf<{ externalId: string }>(world, kind, name).externalId;
}

describe('an activation after others', () => {
  it('needs only the last one named, however many there were', async () => {
    const world = await aProtectedWorld();
    const first = await activated(world, 'first');
    const second = await activated(world, 'second', { afterOperationId: first });
    const third = await activated(world, 'third', { afterOperationId: second });

    expect(new Set([first, second, third]).size).toBe(3);
    expect(conditionOf(world, kind, 'third', 'Succeeded')).toBe('True/Succeeded');
    expect(await committed(world, 'activation.succeeded')).toBe(3);

    await activated(world, 'late', { afterOperationId: second });
    expect(conditionOf(world, kind, 'late', 'Accepted')).toBe('False/AlreadyActivated');
    expect(await committed(world, 'activation.accepted')).toBe(3);
  });

  it('needs only the last one named, too, where the service shows no ends, and says what is left where it shows nothing', async () => {
    const world = await aProtectedWorld({ readings: { 'dr.disclosed': 'minimal' } });
    const first = await activated(world, 'first');
    const second = await activated(world, 'second', { afterOperationId: first });
    const third = await activated(world, 'third', { afterOperationId: second });
    expect(new Set([first, second, third]).size).toBe(3);
    expect(await committed(world, 'activation.succeeded')).toBe(3);

    await activated(world, 'late', { afterOperationId: second });
    expect(conditionOf(world, kind, 'late', 'Accepted')).toBe('False/AlreadyActivated');
    expect(sentenceOf(world, kind, 'late')).toContain(third);
    expect(await committed(world, 'activation.accepted')).toBe(3);

    const { body } = await world.request('GET', '/disaster-readiness/configurations?accountId=acc_demo');
    const text = JSON.stringify(body, (name, value: unknown) => (name === 'startedAt' ? undefined : value));
    world.interference = ({ path }) =>
      path.endsWith('/configurations') ? { insteadOf: { status: 200, text } } : undefined;
    await activated(world, 'unknown', { afterOperationId: third });
    expect(conditionOf(world, kind, 'unknown', 'Accepted')).toBe('False/AlreadyActivated');
    expect(sentenceOf(world, kind, 'unknown')).toContain('DisasterReset');
  });

  it('is no other one when its content is the same, though only the service remembers that: it says so', async () => {
    const world = await aProtectedWorld();
    const spec = anActivation(world);
    world.apply(kind, 'first', spec);
    await world.run(900_000);
    const { externalId: operationId } = statusOf<{ externalId: string }>(world, kind, 'first');
    const old = world.get('DisasterProtection', 'orders')?.spec as object;
    world.delete(kind, 'first');
    world.delete('DisasterProtection', 'orders');
    world.apply('DisasterProtection', 'orders', old);
    await world.run(30_000);

    world.apply(kind, 'same', { ...spec, afterOperationId: operationId });
    await world.run(900_000);

    expect(await committed(world, 'activation.accepted')).toBe(1);
    expect(conditionOf(world, kind, 'same', 'Succeeded')).toBe('False/AlreadyActivated');
    expect(conditionOf(world, kind, 'same', 'Promoted')).not.toMatch(/^True/);
    expect(sentenceOf(world, kind, 'same')).toContain('create a new RecoveryActivation with a higher spec.attempt');
  });
});

describe('an activation after one that was given up', () => {
  it('of the same content is the one that was given up, and a higher attempt is another', async () => {
    const world = await aProtectedWorld();
    const { externalId: configurationId } = protection(world);
    const spec = anActivation(world);
    await failingActivation(world, 'first');
    world.apply('ActivationDiscard', 'stop', aDiscard(world));
    await world.run(600_000);
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Succeeded')).toBe('True/Succeeded');
    await world.control('PATCH', `/configurations/${configurationId}`, { failSteps: 0 });

    world.apply(kind, 'same', spec);
    await world.run(600_000);
    expect(await committed(world, 'activation.accepted')).toBe(1);
    expect(conditionOf(world, kind, 'same', 'Succeeded')).toBe('False/OperationFailed');
    expect(sentenceOf(world, kind, 'same')).toContain('create a new RecoveryActivation with a higher spec.attempt');

    world.apply(kind, 'another', { ...spec, attempt: 2 });
    await world.run(900_000);
    expect(sentenceOf(world, kind, 'another')).toMatch(/is live$/);
    expect(await committed(world, 'activation.accepted')).toBe(2);
  });
});
