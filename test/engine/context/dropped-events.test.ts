import { describe, expect, it } from 'vitest';
import { aWorld } from '../../kinds/support/world.ts';

describe('events that are not published', () => {
  it('are counted, with why', async () => {
    const world = await aWorld();
    world.kube.inject({ verb: 'create', plural: 'events', effect: 'before', outcome: 'forbidden', times: 100 });

    world.apply('ContactPoint', 'on-call', { email: { addresses: ['a@example.com'] } });
    await world.run(60_000);

    expect(await world.metrics?.text()).toMatch(/^apphosting_events_dropped_total\{why="refused"\} [1-9]/m);
  });
});
