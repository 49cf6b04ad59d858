import { describe, expect, it } from 'vitest';
import { InProcess } from '../support/in-process.ts';
import { contactPointByHand } from './support/world.ts';

const mail = { email: { addresses: ['a@example.com'] } };

/** A world with a contact point that somebody else made, and its id. */
async function withContactPoint(): Promise<{ readonly world: InProcess; readonly externalId: string }> {
  const world = new InProcess({ world: 'demo' });
  await world.start();
  world.account({ lifecycle: { adoption: 'ByName' } });
  const externalId = await contactPointByHand(world, 'ops');
  await world.run(70_000);
  world.sent.splice(0);
  return { world, externalId };
}

const mutating = (world: InProcess) => world.sent.map(({ method, path }) => `${method} ${path.replace(/.*v1/, '')}`);

describe('an object that is taken over by its id', () => {
  it('is assumed to have what never shows, and is told so as unverified', async () => {
    const { world, externalId } = await withContactPoint();

    world.apply('ContactPoint', 'ops', { ...mail, externalId });
    await world.run(200_000);

    expect(mutating(world)).toEqual([]);
    expect(world.get('ContactPoint', 'ops')?.status).toMatchObject({
      internal: { ownership: 'Adopted' },
      unverified: ['config.addresses'],
    });
  });

  it('gets what never shows once the spec changes it', async () => {
    const { world, externalId } = await withContactPoint();
    world.apply('ContactPoint', 'ops', { ...mail, externalId });
    await world.run(200_000);

    world.apply('ContactPoint', 'ops', { email: { addresses: ['b@example.com'] }, externalId });
    await world.run(200_000);

    expect(mutating(world)).toEqual(['PATCH /contact-point']);
  });

  it.each([
    ['something that shows differs', { name: 'on call' }],
    ['its name decided', { externalId: undefined, lifecycle: { adoption: 'ByName' } }],
  ])('gets it at once where %s', async (_because, change) => {
    const { world, externalId } = await withContactPoint();

    world.apply('ContactPoint', 'ops', { ...mail, externalId, ...change });
    await world.run(200_000);

    expect(mutating(world)).toEqual(['PATCH /contact-point']);
  });
});
