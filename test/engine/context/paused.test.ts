import { describe, expect, it } from 'vitest';
import { secretResource } from '../../../src/kube/material.ts';
import { InProcess } from '../../support/in-process.ts';
import { aWorld, conditionOf, messageOf, statusOf } from '../../kinds/support/world.ts';

const paused = { 'apphosting.dev/paused': 'true' };
const mail = { email: { addresses: ['a@example.com'] } };

describe('a paused object', () => {
  it('says so although it was never looked at, and nothing is sent for it', async () => {
    const world = await aWorld();
    const { calls } = world;
    world.apply('ContactPoint', 'on-call', mail, paused);

    await world.run(5_000);

    expect(statusOf(world, 'ContactPoint', 'on-call')).toMatchObject({ observedGeneration: 1 });
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('Unknown/Paused');
    expect(conditionOf(world, 'ContactPoint', 'on-call', 'Synced')).toBe('Unknown/Paused');
    expect(world.calls).toBe(calls);
  });

  it('answers who asks for a look, so that it is known to be held', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    const { calls } = world;

    world.apply('ContactPoint', 'on-call', mail, { ...paused, 'apphosting.dev/reconcile-at': 'now' });
    await world.run(5_000);

    expect(statusOf(world, 'ContactPoint', 'on-call')).toMatchObject({ lastHandledReconcileAt: 'now' });
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
    expect(world.calls).toBe(calls);
  });

  it('is not deleted from the service before it goes on', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    world.apply('ContactPoint', 'on-call', mail, paused);
    world.delete('ContactPoint', 'on-call');
    await world.run(600_000);
    expect(world.get('ContactPoint', 'on-call')).toBeDefined();
    expect((await world.ledger()).filter(({ kind }) => kind === 'contactPoint.deleted')).toEqual([]);

    world.apply('ContactPoint', 'on-call', mail);
    await world.run(30_000);

    expect(world.get('ContactPoint', 'on-call')).toBeUndefined();
    expect((await world.ledger()).filter(({ kind }) => kind === 'contactPoint.deleted')).toHaveLength(1);
  });
});

describe('an account that is paused', () => {
  it('serves what uses it, before and after the operator is started again, and stays as it is itself', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'old', mail);
    await world.run(30_000);
    const spec = world.get('HostingAccount', 'default')?.spec as object;
    world.apply('HostingAccount', 'default', { ...spec, pollSeconds: 90 }, paused);
    await world.run(30_000);

    await world.crash();
    world.apply('ContactPoint', 'new', mail);
    world.apply('ContactPoint', 'old', { email: { addresses: ['b@example.com'] } });
    await world.run(120_000);

    expect(conditionOf(world, 'ContactPoint', 'new')).toBe('True/InSync');
    expect(statusOf(world, 'ContactPoint', 'old')).toMatchObject({ observedGeneration: 2 });
    expect(conditionOf(world, 'HostingAccount', 'default')).toBe('Unknown/Paused');
  });

  it('is named by what needs it when it was never Ready', async () => {
    const world = new InProcess();
    await world.start();
    world.account();
    const spec = world.get('HostingAccount', 'default')?.spec as object;
    world.apply('HostingAccount', 'default', spec, paused);
    world.apply('ContactPoint', 'new', mail);
    await world.run(60_000);

    expect(conditionOf(world, 'ContactPoint', 'new')).toBe('False/AccountNotReady');
    expect(messageOf(world, 'ContactPoint', 'new')).toBe(
      'HostingAccount team/default: the account is paused and was never Ready before',
    );
  });

  it('is named by what uses it when its Secret goes, and serves again when that is back', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(30_000);
    const spec = world.get('HostingAccount', 'default')?.spec as object;
    world.apply('HostingAccount', 'default', spec, paused);
    await world.run(10_000);
    world.cluster.delete(secretResource, 'team', 'hosting-credentials');
    await world.run(60_000);

    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('False/AccountNotReady');
    expect(messageOf(world, 'ContactPoint', 'on-call')).toContain(
      'is paused, and the operator is not connected to it: Secret team/',
    );
    world.secret('hosting-credentials', { baseUrl: 'http://127.0.0.1:8088', token: 'demo-admin' });
    await world.run(60_000);

    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
  });
});
