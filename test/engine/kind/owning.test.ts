import { describe, expect, it } from 'vitest';
import { finalizer } from '../../../src/engine/ports.ts';
import {
  aWorld,
  conditionOf,
  contactPointByHand,
  messageOf,
  statusOf,
  takeFinalizerOff,
} from '../../kinds/support/world.ts';

const mail = { email: { addresses: ['a@example.com'] } };

describe('an owned object', () => {
  it('is held again when somebody took the finalizer off', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);

    takeFinalizerOff(world, 'ContactPoint', 'on-call');
    await world.run(5_000);

    expect(world.get('ContactPoint', 'on-call')?.metadata.finalizers).toEqual([finalizer]);
  });

  it('is not lost to an older resource that names it and may not adopt it', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'old', { ...mail, lifecycle: { adoption: 'Never' } });
    await world.run(5_000);
    world.apply('ContactPoint', 'young', mail);
    await world.run(5_000);
    const { externalId } = statusOf(world, 'ContactPoint', 'young');

    world.apply('ContactPoint', 'old', { ...mail, externalId, lifecycle: { adoption: 'Never' } });
    await world.run(120_000);

    expect(conditionOf(world, 'ContactPoint', 'young')).toBe('True/InSync');
    expect(conditionOf(world, 'ContactPoint', 'old')).toBe('False/AdoptionNotAllowed');
  });

  it.each([
    { wish: 'ByName', reason: 'AdoptionNotAllowed' },
    { wish: 'ById', reason: 'AlreadyExists' },
  ])('of another one is $reason where it is wanted $wish and the account never allows it', async ({ wish, reason }) => {
    const world = await aWorld();
    world.account({ lifecycle: { adoption: 'Never' } });
    await contactPointByHand(world, 'there');

    world.apply('ContactPoint', 'there', { ...mail, lifecycle: { adoption: wish } });
    await world.run(60_000);

    expect(conditionOf(world, 'ContactPoint', 'there')).toBe(`False/${reason}`);
    expect(messageOf(world, 'ContactPoint', 'there')).toContain(
      'spec.lifecycle.adoption must allow ById in the account and in this resource',
    );
  });

  it('of another one is told with the field that must allow the adoption, too', async () => {
    const world = await aWorld();
    await contactPointByHand(world, 'there');

    world.apply('ContactPoint', 'there', { ...mail, lifecycle: { adoption: 'Never' } });
    await world.run(60_000);

    expect(messageOf(world, 'ContactPoint', 'there')).toMatch(
      /to adopt this object, set spec.externalId: \S+, and set spec.lifecycle.adoption to ById$/,
    );
  });

  it('is tried once more after a refusal when somebody asks to look again', async () => {
    const world = await aWorld();
    let tries = 0;
    world.interference = ({ method, path }) => {
      if (method !== 'POST' || !path.endsWith('/contact-point')) return undefined;
      tries += 1;
      return tries === 1
        ? { insteadOf: { status: 422, text: '{"error":"the plan has no contact points"}' } }
        : undefined;
    };
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(120_000);
    expect([tries, conditionOf(world, 'ContactPoint', 'on-call')]).toEqual([1, 'False/Rejected']);

    world.apply('ContactPoint', 'on-call', mail, { 'apphosting.dev/reconcile-at': 'now' });
    await world.run(5_000);

    expect([tries, conditionOf(world, 'ContactPoint', 'on-call')]).toEqual([2, 'True/InSync']);
  });
});
