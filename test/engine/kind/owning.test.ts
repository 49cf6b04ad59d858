import { describe, expect, it } from 'vitest';
import { finalizer } from '../../../src/engine/ports.ts';
import { InProcess } from '../../support/in-process.ts';

const mail = { email: { addresses: ['a@example.com'] } };
const resource = { group: 'apphosting.dev', version: 'v1alpha1', plural: 'contactpoints', namespaced: true };

async function aWorld(): Promise<InProcess> {
  const world = new InProcess();
  await world.start();
  world.account();
  await world.run(5_000);
  return world;
}

function readyOf(world: InProcess, name: string): unknown {
  const status = (world.get('ContactPoint', name)?.status ?? {}) as { conditions?: readonly { type: string }[] };
  return status.conditions?.find(({ type }) => type === 'Ready');
}

describe('an owned object', () => {
  it('is held again when somebody took the finalizer off', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    const known = world.get('ContactPoint', 'on-call');
    if (known === undefined) throw new Error('it is not there');
    const { finalizers: _taken, ...metadata } = known.metadata;
    world.cluster.update(resource, 'team', 'on-call', { ...known, metadata }, 'object');

    await world.run(5_000);

    expect(world.get('ContactPoint', 'on-call')?.metadata.finalizers).toEqual([finalizer]);
  });

  it('is not lost to an older resource that names it and may not adopt it', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'old', { ...mail, lifecycle: { adoption: 'Never' } });
    await world.run(5_000);
    world.apply('ContactPoint', 'young', mail);
    await world.run(5_000);
    const { externalId: contactPointId } = (world.get('ContactPoint', 'young')?.status ?? {}) as {
      externalId?: string;
    };

    world.apply('ContactPoint', 'old', { ...mail, externalId: contactPointId, lifecycle: { adoption: 'Never' } });
    await world.run(120_000);

    expect(readyOf(world, 'young')).toMatchObject({ status: 'True', reason: 'InSync' });
    expect(readyOf(world, 'old')).toMatchObject({ status: 'False', reason: 'AdoptionNotAllowed' });
  });

  it.each([
    { wish: 'ByName', reason: 'AdoptionNotAllowed' },
    { wish: 'ById', reason: 'AlreadyExists' },
  ])('of another one is $reason where it is wanted $wish and the account never allows it', async ({ wish, reason }) => {
    const world = await aWorld();
    world.account({ lifecycle: { adoption: 'Never' } });
    const body = { accountId: 'acc_demo', name: 'there', type: 'email', config: mail.email };
    await world.request('POST', '/contact-point', body);

    world.apply('ContactPoint', 'there', { ...mail, lifecycle: { adoption: wish } });
    await world.run(60_000);

    const message = expect.stringContaining(
      'spec.lifecycle.adoption must allow ById in the account and in this resource',
    );
    expect(readyOf(world, 'there')).toMatchObject({ status: 'False', reason, message });
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
    expect([tries, readyOf(world, 'on-call')]).toEqual([1, expect.objectContaining({ reason: 'Rejected' })]);

    world.apply('ContactPoint', 'on-call', mail, { 'apphosting.dev/reconcile-at': 'now' });
    await world.run(5_000);

    expect([tries, readyOf(world, 'on-call')]).toEqual([2, expect.objectContaining({ status: 'True' })]);
  });
});
