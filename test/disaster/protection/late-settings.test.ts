/** Lists that show a protection as it was a while ago, and restarts in between. */
import { describe, expect, it } from 'vitest';
import { InProcess } from '../../support/in-process.ts';
import {
  aProtectedWorld,
  aProtection,
  aReset,
  committed,
  conditionOf,
  edit,
  protection,
  sentenceOf,
} from '../support.ts';

const kind = 'DisasterProtection';
const late = { readings: { 'lists.lagMs': 60_000 } };

describe('a protection that no list shows yet', () => {
  it('is not told to be gone after a restart', async () => {
    const world = new InProcess(late);
    await world.start();
    world.account();
    await world.run(2_000);
    world.apply(kind, 'orders', aProtection);
    while ((await committed(world, 'configuration.created')) === 0) await world.run(1_000);
    await world.run(2_000);
    await world.crash(120_000);
    const said = new Set<string | undefined>();
    for (let count = 0; count < 20; count += 1) {
      await world.run(10_000);
      said.add(conditionOf(world, kind, 'orders', 'Ready'));
    }

    expect(said).not.toContain('False/ConfigurationGone');
    expect(said).toContain('True/InSync');
  });
});

describe('an edit that no list shows yet', () => {
  it('is known after a restart, and the next one is made on top of it', async () => {
    const world = await aProtectedWorld(late);
    edit(world, { rtoTargetSeconds: 3_600 });
    await world.run(5_000);
    edit(world, { rtoTargetSeconds: 7_200 });
    await world.run(5_000);
    await world.crash(1_000);
    const said = new Set<string | undefined>();
    for (let count = 0; count < 30; count += 1) {
      await world.run(10_000);
      said.add(conditionOf(world, kind, 'orders', 'Ready'));
    }

    expect(said).not.toContain('False/Rejected');
    expect(await committed(world, 'configuration.edited')).toBe(2);
    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('True/InSync');
  });
});

describe('a raised enrollment in the same commit as the reset', () => {
  it.each([{}, late])('is kept until the reset has ended, and then enrolls anew: %j', async (options) => {
    const world = await aProtectedWorld(options);
    const before = protection(world).externalId;
    world.apply('DisasterReset', 'wipe', aReset(world));
    edit(world, { enrollment: 2 });
    await world.run(1_500_000);

    expect(await committed(world, 'configuration.wiped')).toBe(1);
    expect(await committed(world, 'configuration.created')).toBe(2);
    expect(protection(world).externalId).not.toBe(before);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('True/Succeeded');
    expect(sentenceOf(world, kind, 'orders')).toBe('the service equals the spec');
  });
});
