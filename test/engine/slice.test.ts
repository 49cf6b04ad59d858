import { describe, expect, it } from 'vitest';
import { InProcess } from '../support/in-process.ts';
import { flawsOf } from '../support/memory/status-checker.ts';

/** A world with a Ready account and one webhook contact point of that name. */
async function aWorld(options: ConstructorParameters<typeof InProcess>[0] = {}): Promise<InProcess> {
  const world = new InProcess(options);
  await world.start();
  world.account();
  world.secret('hook', { url: 'https://hook.example.com/1' });
  return world;
}

const webhook = { webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } } };

async function contactPoints(world: InProcess): Promise<readonly { contactPointId: string; name: string }[]> {
  const { body } = await world.request('GET', '/contact-points?accountId=acc_demo');
  return (body as { contactPoints: readonly { contactPointId: string; name: string }[] }).contactPoints;
}

describe('a contact point', () => {
  it('is created once, shown Ready with its id, and then left alone', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'on-call', webhook);

    await world.run(5_000);
    const { calls } = world;
    const before = world.get('ContactPoint', 'on-call');
    await world.run(30_000);

    expect(await contactPoints(world)).toHaveLength(1);
    expect(before?.status).toMatchObject({
      externalId: expect.any(String),
      internal: { ownership: 'Created' },
      observedGeneration: 1,
    });
    expect(before && flawsOf(before)).toEqual([]);
    expect(world.get('ContactPoint', 'on-call')).toEqual(before);
    expect(world.calls).toBe(calls);
  });
});
