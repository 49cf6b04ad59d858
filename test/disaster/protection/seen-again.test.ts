/** A list that lacks a configuration once proves nothing: what proves it gone are two looks in a row. */
import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import { aProtectedWorld, conditionOf, disaster, editedByHand } from '../support.ts';

const kind = 'DisasterProtection';

/** The next list of configurations shows none. */
function lackingOnce(world: InProcess): void {
  let left = 1;
  world.interference = ({ method, path }) => {
    if (left === 0 || method !== 'GET' || !path.startsWith(`${disaster}/configurations`)) return undefined;
    left -= 1;
    return { insteadOf: { status: 200, text: '{"items":[]}' } };
  };
}

describe('a protection whose configuration a list lacks once', () => {
  it('is not gone when another list lacks it days later, though its drift is only reported', async () => {
    const world = await aProtectedWorld({}, { rtoTargetSeconds: 3_600, lifecycle: { drift: 'Report' } });
    await editedByHand(world);
    await world.run(300_000);
    const reported = conditionOf(world, kind, 'orders', 'Ready');
    const said: (string | undefined)[] = [];

    for (let day = 0; day < 2; day += 1) {
      lackingOnce(world);
      for (let polls = 0; polls < 40; polls += 1) {
        await world.run(5_000);
        said.push(conditionOf(world, kind, 'orders', 'Ready'));
      }
      await world.run(3_600_000);
    }

    expect(reported).toBe('True/DriftReported');
    expect(new Set(said)).toEqual(new Set(['False/VisibilityLost', 'True/DriftReported']));
    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('True/DriftReported');
  });
});
