/** What follows when nothing protects an environment any more: it is said for as long as it is so, and nothing is set up by itself. */
import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import { aProtectedWorld, aReset, committed, conditionOf, flaws, sentenceOf, wipedByHand } from '../support.ts';

const kind = 'DisasterProtection';

/** A world whose protection was wiped by the reset `wipe`. */
async function aWipedWorld(): Promise<InProcess> {
  const world = await aProtectedWorld();
  world.apply('DisasterReset', 'wipe', aReset(world));
  await world.run(300_000);
  expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('True/Succeeded');
  return world;
}

/** Deletes the protection and applies the same manifest again, as GitOps tools do. */
function appliedAnew(world: InProcess, more: object = {}): void {
  const spec = world.get(kind, 'orders')?.spec as object;
  world.delete(kind, 'orders');
  world.apply(kind, 'orders', { ...spec, ...more });
}

describe('a protection whose configuration is gone', () => {
  it('says that a recovery is not possible for as long as that is so, and is counted so', async () => {
    const world = await aWipedWorld();
    await world.run(7_200_000);

    expect(conditionOf(world, kind, 'orders', 'RecoveryReady')).toBe('False/WipedByReset');
    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('False/WipedByReset');
    expect(world.operator.engine.metricsSnapshot().conditions).toContainEqual({
      kind,
      type: 'RecoveryReady',
      status: 'False',
      reason: 'WipedByReset',
      count: 1,
    });
    expect(flaws(world, [kind, 'orders'])).toEqual([]);
  });

  it('does not say so before that is proved, nor that it is possible', async () => {
    const world = await aProtectedWorld();
    const said = new Set<string | undefined>();
    world.interference = () => {
      said.add(conditionOf(world, kind, 'orders', 'RecoveryReady'));
      return undefined;
    };
    await wipedByHand(world);
    await world.run(300_000);

    expect([...said]).toEqual(['True/RecoveryReady', 'Unknown/ObjectMissing', 'False/ConfigurationGone']);
  });
});

describe('a protection that is applied anew after a reset', () => {
  it('is not enrolled while the reset tells of it, until enrollment is raised', async () => {
    const world = await aWipedWorld();
    appliedAnew(world);
    await world.run(600_000);

    expect(await committed(world, 'configuration.created')).toBe(1);
    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('False/WipedByReset');
    expect(conditionOf(world, kind, 'orders', 'RecoveryReady')).toBe('False/WipedByReset');
    expect(sentenceOf(world, kind, 'orders')).toContain('raise spec.enrollment to 2');

    appliedAnew(world, { enrollment: 2 });
    await world.run(900_000);
    expect(await committed(world, 'configuration.created')).toBe(2);
    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('True/InSync');
  });

  it('is not enrolled either where both were restored without their status', async () => {
    const world = await aWipedWorld();
    const reset = world.get('DisasterReset', 'wipe')?.spec as object;
    world.kill();
    world.delete('DisasterReset', 'wipe');
    world.apply('DisasterReset', 'wipe', reset);
    appliedAnew(world);
    await world.crash();
    await world.run(600_000);

    expect(await committed(world, 'configuration.created')).toBe(1);
    expect(await committed(world, 'configuration.wiped')).toBe(1);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('False/NotFound');
    expect(conditionOf(world, kind, 'orders', 'Ready')).toMatch(/^False\/(ConfigurationGone|WipedByReset)$/);
  });

  it('is not enrolled either where both name the environment by reference, and neither knows its id any more', async () => {
    const environmentRef = { name: 'db' };
    const world = await aProtectedWorld({}, { environmentRef });
    world.apply('AppEnvironment', 'db', { externalId: 'env_db_prod' });
    await world.run(900_000);
    const reset = aReset(world, { environmentRef });
    world.apply('DisasterReset', 'wipe', reset);
    await world.run(300_000);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('True/Succeeded');

    world.delete('DisasterReset', 'wipe');
    world.kill();
    world.apply('DisasterReset', 'wipe', reset, { 'apphosting.dev/paused': 'true' });
    appliedAnew(world);
    await world.crash();
    await world.run(600_000);

    expect(await committed(world, 'configuration.created')).toBe(1);
    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('False/ConfigurationGone');
  });

  it('is a new wish where nothing in its namespace tells of what was there', async () => {
    const world = await aWipedWorld();
    world.delete('DisasterReset', 'wipe');
    appliedAnew(world);
    await world.run(900_000);

    expect(await committed(world, 'configuration.created')).toBe(2);
    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('True/InSync');
  });

  it('is told of a reset whose configuration may never have been, and goes on when that is deleted', async () => {
    const world = await aProtectedWorld();
    world.apply(
      'DisasterReset',
      'typo',
      aReset(world, { configurationId: 'drc_typo', environmentRef: { externalId: 'env_web_prod' } }),
    );
    await world.run(60_000);
    world.apply(kind, 'web', {
      environmentRef: { externalId: 'env_web_prod' },
      destinationRegion: 'us-east',
      protectionMode: 'Cold',
    });
    await world.run(300_000);
    const said = sentenceOf(world, kind, 'web');
    world.delete('DisasterReset', 'typo');
    await world.run(900_000);

    expect(said).toContain(
      'names configuration drc_typo of this environment, but the service does not list that configuration',
    );
    expect(said).toContain('if that configuration never existed, delete the DisasterReset');
    expect(said).toContain('raise spec.enrollment to 2');
    expect(conditionOf(world, kind, 'web', 'Ready')).toBe('True/InSync');
  });

  it('is a new wish, too, where only another namespace names a configuration that is not there', async () => {
    const world = await aProtectedWorld();
    const { environmentRef: _env, ...reset } = aReset(world, { configurationId: 'drc_made_up' }) as {
      environmentRef: object;
    };
    world.account({}, 'elsewhere');
    world.apply('DisasterReset', 'wipe', { ...reset, environmentRef: { externalId: 'env_web_prod' } }, {}, 'elsewhere');
    world.apply(kind, 'web', {
      environmentRef: { externalId: 'env_web_prod' },
      destinationRegion: 'us-east',
      protectionMode: 'Cold',
    });
    await world.run(900_000);

    expect(conditionOf(world, kind, 'web', 'Ready')).toBe('True/InSync');
  });
});
