/** Lists that show the world as it was a while ago: what the service accepted counts from its answer on, shown or not. */
import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import {
  anActivation,
  aProtectedWorld,
  aReset,
  committed,
  conditionOf,
  protection,
  sentenceOf,
  statusOf,
} from '../support.ts';

const late = { readings: { 'lists.lagMs': 60_000 } };
const kind = 'RecoveryActivation';

/** An activation of the second newest point, under other names. */
function another(world: InProcess): object {
  const [, point] = protection(world).recoveryPoints;
  if (point === undefined) throw new Error('the protection shows only one recovery point');
  const { selectedOperationId, pointId, cutoffTime, configurationGeneration } = point;
  return anActivation(world, {
    recoveryPoint: { selectedOperationId, pointId, cutoffTime, configurationGeneration },
    target: { environmentName: 'other', appName: 'orders-other', createNewApp: true },
  });
}

describe('an activation that no list shows yet', () => {
  it.each([5_000, 45_000, 58_000])('holds another one back, asked for %i ms later', async (afterMs) => {
    const world = await aProtectedWorld(late);
    world.apply(kind, 'a', anActivation(world));
    await world.run(afterMs);
    world.apply(kind, 'b', another(world));
    await world.run(900_000);

    expect(await committed(world, 'activation.accepted')).toBe(1);
    expect(conditionOf(world, kind, 'a', 'Succeeded')).toBe('True/Succeeded');
    expect(conditionOf(world, kind, 'b', 'Accepted')).toBe('False/AlreadyActivated');
    expect(sentenceOf(world, kind, 'b')).toMatch(/spec\.afterOperationId|is under way$/);
  });

  it('holds another one back, also when its resource is deleted', async () => {
    const world = await aProtectedWorld(late);
    world.apply(kind, 'a', anActivation(world));
    await world.run(45_000);
    world.delete(kind, 'a');
    world.apply(kind, 'b', another(world));
    await world.run(900_000);

    expect(await committed(world, 'activation.accepted')).toBe(1);
    expect(conditionOf(world, kind, 'b', 'Accepted')).toBe('False/AlreadyActivated');
  });

  it('holds another one back, also when its resource is deleted while nobody runs', async () => {
    const world = await aProtectedWorld(late);
    world.apply(kind, 'a', anActivation(world));
    await world.run(20_000);
    world.kill();
    world.delete(kind, 'a');
    const spec = another(world);
    await world.crash(120_000);
    world.apply(kind, 'b', spec);
    await world.run(900_000);

    expect(await committed(world, 'activation.accepted')).toBe(1);
    expect(conditionOf(world, kind, 'b', 'Accepted')).toBe('False/AlreadyActivated');
  });

  it('is not in doubt, and its entry goes when a list shows it', async () => {
    const world = await aProtectedWorld(late);
    world.apply(kind, 'a', anActivation(world));
    await world.run(30_000);
    expect(conditionOf(world, kind, 'a', 'Accepted')).toBe('True/Accepted');
    expect(world.operator.engine.metricsSnapshot().oldestDoubtSeconds).toBe(0);

    await world.run(120_000);
    expect(statusOf(world, kind, 'a')).not.toHaveProperty('journal');
  });

  it('does not hold back the one that names it', async () => {
    const world = await aProtectedWorld(late);
    world.apply(kind, 'a', anActivation(world));
    await world.run(900_000);
    const { externalId: operationId } = statusOf<{ externalId: string }>(world, kind, 'a');
    world.apply(kind, 'b', another(world));
    await world.run(10_000);
    world.delete(kind, 'b');
    world.apply(kind, 'b', { ...another(world), afterOperationId: operationId });
    await world.run(900_000);

    expect(sentenceOf(world, kind, 'b')).toMatch(/is live$/);
    expect(await committed(world, 'activation.accepted')).toBe(2);
  });
});

describe('a validation that no list shows yet', () => {
  it('goes first, and the next one runs after it', async () => {
    const world = await aProtectedWorld(late);
    for (const name of ['one', 'two']) world.apply('RecoveryValidation', name, { protectionRef: { name: 'orders' } });
    await world.run(1_200_000);

    expect(sentenceOf(world, 'RecoveryValidation', 'one')).toBe('the recovery worked in isolation');
    expect(sentenceOf(world, 'RecoveryValidation', 'two')).toBe('the recovery worked in isolation');
    expect(await committed(world, 'validation.accepted')).toBe(2);
  });
});

describe('a reset', () => {
  it('has not succeeded while a list still shows the configuration', async () => {
    const world = await aProtectedWorld(late);
    world.apply('DisasterReset', 'wipe', aReset(world));
    await world.run(40_000);
    expect(await committed(world, 'configuration.wiped')).toBe(1);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('Unknown/InProgress');
    expect(sentenceOf(world, 'DisasterReset', 'wipe')).toContain('still lists a configuration');

    await world.run(120_000);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('True/Succeeded');
  });
});
