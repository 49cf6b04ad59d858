import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import { aWorld, conditionOf, internalOf } from '../kinds/support/world.ts';

const names = ['a', 'b', 'c', 'd', 'e', 'f'];

/** For each creation how long after its intent was written down it went out. */
function delays(world: InProcess): readonly number[] {
  const written = new Map<string, number[]>();
  for (const { object } of world.cluster.changesAfter(0)) {
    const { internal } = (object.status ?? {}) as { internal?: { journal?: { startedAt: string } } };
    const journal = internal?.journal;
    if (journal === undefined || object.kind !== 'ContactPoint') continue;
    const { name } = object.metadata;
    written.set(name, [...(written.get(name) ?? []), Date.parse(journal.startedAt)]);
  }
  const creations = world.sent.filter(({ method, path }) => method === 'POST' && path.endsWith('/contact-point'));
  return creations.map(({ body, wallMs }) => {
    const { name } = JSON.parse(body) as { name: string };
    return wallMs - Math.max(...(written.get(name) ?? []).filter((started) => started <= wallMs));
  });
}

describe('a machine that slept', () => {
  it('sends nothing that was decided on before, although its monotonic clock stood still', async () => {
    const world = await aWorld();
    world.account({ budget: { requestsPerSecond: 1, concurrency: 1 } });
    await world.run(5_000);
    for (const name of names) world.apply('ContactPoint', name, { email: { addresses: ['a@example.com'] } });
    await world.run(3_000);
    const open = names.filter((name) => internalOf(world, 'ContactPoint', name)['journal']);
    expect(open.length).toBeGreaterThan(1);

    world.sleep(3_600_000);
    await world.run(300_000);

    for (const name of names) expect(conditionOf(world, 'ContactPoint', name)).toBe('True/InSync');
    expect(delays(world)).toHaveLength(names.length);
    for (const delay of delays(world)) expect(delay).toBeLessThanOrEqual(30_000);
  });
});
