import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import { aWorld, commits, conditionOf, statusOf } from './support/world.ts';

const kind = 'ContactPoint';
const webhook = { urlFrom: { name: 'hook', key: 'url' }, httpMethod: 'POST' };

/** A world with a contact point whose settings are read back. */
async function aVerifiedWorld(): Promise<InProcess> {
  const world = await aWorld();
  world.secret('hook', { url: 'https://hook.example.com/planted-url' });
  world.apply(kind, 'hook', { webhook, verifyConfig: true });
  await world.run(30_000);
  return world;
}

async function patches(world: InProcess): Promise<number> {
  return (await commits(world)).filter((commit) => commit.kind === 'contactPoint.updated').length;
}

describe('a contact point whose settings are verified', () => {
  it('reads them back and is content with what it created', async () => {
    const world = await aVerifiedWorld();
    await world.run(300_000);

    expect(conditionOf(world, kind, 'hook')).toBe('True/InSync');
    expect(statusOf(world, kind, 'hook')['unverified']).toBeUndefined();
    expect(await patches(world)).toBe(0);
  });

  it('sets right what somebody else changed, and says it without showing a secret', async () => {
    const world = await aVerifiedWorld();
    const { contactPointId } = statusOf(world, kind, 'hook');
    const config = { url: 'https://elsewhere.example.com/planted-other', httpMethod: 'PUT' };
    await world.request('PATCH', '/contact-point', { contactPointId, config });
    await world.run(130_000);

    expect(await patches(world)).toBe(2);
    expect(conditionOf(world, kind, 'hook')).toBe('True/InSync');
    expect(JSON.stringify([world.get(kind, 'hook'), world.trace.lines])).not.toContain('planted');
  });

  it('says that it may not look when the token lacks the permission', async () => {
    const world = await aWorld();
    world.secret('hosting-credentials', { baseUrl: 'http://127.0.0.1:8088', token: 'demo-admin-no-secrets' });
    await world.run(30_000);
    world.apply(kind, 'ops', { email: { addresses: ['a@example.com'] }, verifyConfig: true });
    await world.run(60_000);

    expect(conditionOf(world, kind, 'ops')).toBe('False/Forbidden');
  });
});
