/** Two operators that look after the same resources, of which only one may activate: whoever is first decides, and status is true. */
import { describe, expect, it } from 'vitest';
import { InProcess } from '../../support/in-process.ts';
import { anActivation, aProtectedWorld, aReset, committed, conditionOf } from '../support.ts';

const powerless = { activation: false, accountReset: false };

describe('two operators of which one may activate', () => {
  it.each([1, 2, 3])('activate at most once, and say what happened; seed %i', async (seed) => {
    const world = await aProtectedWorld({ seed });
    const other = new InProcess({ powers: powerless, seed: seed + 1, beside: world });
    await other.start();
    await world.run(30_000);
    world.apply('RecoveryActivation', 'now', anActivation(world));
    await world.run(900_000);

    const activated = await committed(world, 'activation.accepted');
    const end = conditionOf(world, 'RecoveryActivation', 'now', 'Succeeded');
    expect([`${activated} ${end}`]).toEqual([activated === 1 ? '1 True/Succeeded' : '0 False/ActivationDisabled']);
  });

  it.each(['loseAnswer', 'loseBefore'] as const)(
    'tell the truth of what one of them sent and lost, and the other found (%s)',
    async (what) => {
      const world = await aProtectedWorld();
      world.interference = ({ path }) => {
        if (!path.endsWith('/reset')) return undefined;
        world.kill();
        return what;
      };
      world.apply('DisasterReset', 'wipe', aReset(world));
      await world.run(5_000);
      const other = new InProcess({ powers: powerless, beside: world });
      await other.start();
      await world.run(600_000);

      const wiped = await committed(world, 'configuration.wiped');
      expect(wiped).toBe(what === 'loseAnswer' ? 1 : 0);
      expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe(
        wiped === 1 ? 'True/Succeeded' : 'False/ActivationDisabled',
      );
    },
  );
});
