/** What the power to activate reaches: what was created after this process started, and what was begun before. */
import { describe, expect, it } from 'vitest';
import { anActivation, aProtectedWorld, committed, conditionOf, sentenceOf } from './support.ts';

const kind = 'RecoveryActivation';

describe('an activation', () => {
  it('that is created while no operator runs ends with what to do, and nothing is sent', async () => {
    const world = await aProtectedWorld();
    world.kill();
    world.apply(kind, 'meanwhile', anActivation(world));
    await world.run(5_000);
    await world.crash();
    await world.run(60_000);

    expect(conditionOf(world, kind, 'meanwhile', 'Accepted')).toBe('False/ActivationDisabled');
    expect(sentenceOf(world, kind, 'meanwhile')).toMatch(/nothing was sent; to ask for it now, create it again$/);

    const { spec } = world.get(kind, 'meanwhile') as { spec: object };
    world.delete(kind, 'meanwhile');
    world.apply(kind, 'meanwhile', spec);
    await world.run(300_000);
    expect(conditionOf(world, kind, 'meanwhile', 'Succeeded')).toBe('True/Succeeded');
    expect(await committed(world, 'activation.accepted')).toBe(1);
  });

  it('that was written down by an operator with the power is carried out by the next one', async () => {
    const world = await aProtectedWorld();
    world.interference = ({ path }) => {
      if (!path.endsWith('/activate')) return undefined;
      world.kill();
      return 'loseBefore';
    };
    world.apply(kind, 'now', anActivation(world));
    await world.run(5_000);
    world.interference = () => undefined;
    await world.crash();
    await world.run(600_000);

    expect(conditionOf(world, kind, 'now', 'Succeeded')).toBe('True/Succeeded');
    expect(await committed(world, 'activation.accepted')).toBe(1);
  });
});
