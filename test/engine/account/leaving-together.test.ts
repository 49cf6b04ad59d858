import { describe, expect, it } from 'vitest';
import { InProcess } from '../../support/in-process.ts';

const email = { email: { addresses: ['on-call@example.com'] } };

async function aWorld(): Promise<InProcess> {
  const world = new InProcess();
  await world.start();
  world.account();
  world.apply('ContactPoint', 'on-call', email);
  await world.run(5_000);
  expect(world.get('ContactPoint', 'on-call')?.status).toHaveProperty('externalId');
  return world;
}

async function names(world: InProcess): Promise<readonly string[]> {
  const { body } = await world.request('GET', '/contact-points?accountId=acc_demo');
  return (body as { contactPoints: readonly { name: string }[] }).contactPoints.map(({ name }) => name);
}

describe('an account and what uses it', () => {
  it('comes to an end when the account is deleted before what uses it', async () => {
    const world = await aWorld();
    world.delete('HostingAccount', 'default');
    await world.run(5_000);
    expect(world.get('HostingAccount', 'default')?.status).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready', reason: 'InUse' })]),
    });

    world.delete('ContactPoint', 'on-call');
    await world.run(30_000);

    expect(world.get('ContactPoint', 'on-call')).toBeUndefined();
    expect(world.get('HostingAccount', 'default')).toBeUndefined();
    expect(await names(world)).not.toContain('on-call');
  });

  it('comes to an end in the same way when another process finds both being deleted', async () => {
    const world = await aWorld();
    world.delete('HostingAccount', 'default');
    world.delete('ContactPoint', 'on-call');

    await world.crash();
    await world.run(30_000);

    expect(world.get('ContactPoint', 'on-call')).toBeUndefined();
    expect(world.get('HostingAccount', 'default')).toBeUndefined();
  });
});
