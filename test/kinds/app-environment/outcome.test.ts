import { describe, expect, it } from 'vitest';
import { aWorld, statusOf } from '../support/world.ts';

const kind = 'AppEnvironment';
const name = 'staging';
const spec = (image: string) => ({ externalId: 'env_web_staging', deploy: { image, onBind: 'Deploy' } });

describe('how a deployment ended', () => {
  it('is not told by a word on the way to that', async () => {
    const world = await aWorld({ readings: { 'status.words': 'unknownWords', 'deploy.ms': 60_000 } });
    const states = new Set<unknown>();
    const outcomes = new Set<unknown>();
    for (const image of ['r/x:1', 'r/x:2', 'r/x:3', 'r/x:4']) {
      world.apply(kind, name, spec(image));
      for (let second = 0; second < 240; second += 5) {
        await world.run(5_000);
        const { state, deploy } = statusOf(world, kind, name);
        states.add(state);
        outcomes.add((deploy as { outcome: string } | undefined)?.outcome);
      }
    }

    expect(states).toContain('DEGRADED');
    expect(outcomes).toEqual(new Set(['Updating', 'Running']));
    expect(statusOf(world, kind, name)['deploy']).toMatchObject({ revision: 'r/x:4', outcome: 'Running' });
  });

  it('is told though the next one begins as soon as the environment is at rest', async () => {
    const world = await aWorld({ readings: { 'deploy.ms': 30_000 } });
    world.apply(kind, name, spec('r/x:1'));
    await world.run(10_000);
    world.apply(kind, name, spec('r/x:2'));
    await world.run(240_000);

    expect(statusOf(world, kind, name)['history']).toMatchObject([
      { revision: 'r/x:2', outcome: 'Running' },
      { revision: 'r/x:1', outcome: 'Running' },
    ]);
  });
});
