import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, newestRequest, writesSince } from './support/world.ts';

const kind = 'AppEnvironment';
const name = 'staging';
const annotation = 'apphosting.dev/redeploy-at';
const spec = { externalId: 'env_web_staging', deploy: { image: 'r/x:1', onBind: 'Deploy' } };

describe('a redeployment that an annotation asks for', () => {
  it.each([
    { because: 'a token that status cannot hold whole', token: 'x'.repeat(257) },
    { because: 'a token whose cut falls into a character', token: `x${'🚀'.repeat(300)}` },
  ])('is made once for $because', async ({ token }) => {
    const world = await aWorld();
    world.apply(kind, name, spec);
    await world.run(60_000);
    const before = await newestRequest(world);
    world.apply(kind, name, spec, { [annotation]: token });
    await world.run(600_000);
    await world.crash(120_000);
    await world.run(200_000);

    expect(await writesSince(world, before)).toEqual(['POST /app-env/redeploy 200']);
    expect(conditionOf(world, kind, name)).toBe('True/InSync');
  });
});
