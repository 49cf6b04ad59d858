import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, conditionOf, eventsOf, relabel } from '../../kinds/support/world.ts';

const kind = 'SolutionInstallation';
const spec = { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' };

/** An operator of the resources of team a, with a solution that it has installed. */
async function installedByA(): Promise<InProcess> {
  const world = await aWorld({ selector: 'team=a' });
  relabel(world, 'HostingAccount', 'default', { team: 'a' });
  world.apply(kind, 's', spec);
  relabel(world, kind, 's', { team: 'a' });
  await world.run(60_000);
  expect(conditionOf(world, kind, 's')).toBe('True/InSync');
  return world;
}

const told = (world: InProcess) =>
  [...world.trace.lines, ...eventsOf(world)].filter((line) => line.includes('stays in'));

describe('an operator of some resources only', () => {
  it('says nothing of what stays in the service when a resource is given to another operator', async () => {
    const world = await installedByA();

    relabel(world, kind, 's', { team: 'b' });
    await world.run(5_000);

    expect(told(world)).toEqual([]);
  });

  it('says what stays in the service when a resource is deleted', async () => {
    const world = await installedByA();

    world.delete(kind, 's');
    await world.run(5_000);

    expect(told(world)).toHaveLength(2);
  });
});
