import { describe, expect, it } from 'vitest';
import { conditionOf, messageOf } from '../../kinds/support/world.ts';
import { secretResource } from '../../../src/kube/material.ts';
import { InProcess, namespace, type InProcessOptions } from '../../support/in-process.ts';

const email = { email: { addresses: ['ops@example.com'] } };

/** A world with a Ready account, and a Ready contact point `ops` of this spec. */
async function aWorld(spec: object = email, options: InProcessOptions = {}): Promise<InProcess> {
  const world = new InProcess(options);
  await world.start();
  world.account();
  await world.run(5_000);
  world.apply('ContactPoint', 'ops', spec);
  await world.run(5_000);
  return world;
}

function ready(world: InProcess, kind = 'ContactPoint', name = 'ops'): string {
  return `${conditionOf(world, kind, name)}: ${messageOf(world, kind, name)}`;
}

function removeSecret(world: InProcess): void {
  world.cluster.delete(secretResource, namespace, 'hosting-credentials');
}

const kinds = async (world: InProcess) => (await world.ledger()).map(({ kind }) => kind);

describe('a deletion whose account cannot be used', () => {
  it('waits, and names the annotation that lets go and what stays behind', async () => {
    const world = await aWorld();
    const { externalId: id } = (world.get('ContactPoint', 'ops')?.status ?? {}) as { externalId?: string };
    removeSecret(world);
    await world.run(2_000);

    world.delete('ContactPoint', 'ops');
    await world.run(2_000);

    expect(ready(world)).toContain('set its annotation apphosting.dev/on-delete=Retain');
    expect(ready(world)).toContain(`then ${id} stays in the service`);
  });

  it('ends when that annotation is set, also when the account is gone altogether', async () => {
    const world = await aWorld();
    removeSecret(world);
    world.apply('ContactPoint', 'ops', email, { 'apphosting.dev/on-delete': 'Retain' });
    await world.run(2_000);

    world.delete('ContactPoint', 'ops');
    await world.run(2_000);

    expect(world.get('ContactPoint', 'ops')).toBeUndefined();
    expect(await kinds(world)).not.toContain('contactPoint.deleted');
    expect(world.trace.lines.length).toBeGreaterThan(0);
  });

  it('ends at once where the object in the service would stay anyway', async () => {
    const world = await aWorld({ ...email, lifecycle: { onDelete: 'Retain' } });
    removeSecret(world);
    await world.run(2_000);

    world.delete('ContactPoint', 'ops');
    await world.run(2_000);

    expect(world.get('ContactPoint', 'ops')).toBeUndefined();
  });

  it('goes on with the last token when account and Secret are being deleted too', async () => {
    const world = await aWorld();

    removeSecret(world);
    await world.run(2_000);
    world.delete('HostingAccount', 'default');
    await world.run(2_000);
    expect(ready(world)).toContain('AccountNotReady');
    world.delete('ContactPoint', 'ops');
    await world.run(20_000);

    expect(world.get('ContactPoint', 'ops')).toBeUndefined();
    expect(world.get('HostingAccount', 'default')).toBeUndefined();
    expect(await kinds(world)).toContain('contactPoint.deleted');
  });

  it('does not use that token once ten minutes have passed', async () => {
    const world = await aWorld();
    removeSecret(world);
    await world.run(2_000);
    world.delete('HostingAccount', 'default');
    await world.run(600_000);

    world.delete('ContactPoint', 'ops');
    await world.run(20_000);

    expect(ready(world)).toContain('set its annotation apphosting.dev/on-delete=Retain');
    expect(await kinds(world)).not.toContain('contactPoint.deleted');
  });
});

describe('an account that is deleted', () => {
  it('goes after what uses it, though it was deleted before', async () => {
    const world = await aWorld();
    world.delete('HostingAccount', 'default');
    await world.run(5_000);
    expect(ready(world, 'HostingAccount', 'default')).toContain(
      'False/InUse: the account is still used by ContactPoint team/ops',
    );

    world.delete('ContactPoint', 'ops');
    await world.run(30_000);

    expect(world.get('ContactPoint', 'ops')).toBeUndefined();
    expect(world.get('HostingAccount', 'default')).toBeUndefined();
    expect(await kinds(world)).toContain('contactPoint.deleted');
  });

  it('goes after what uses it, though another process finds both being deleted', async () => {
    const world = await aWorld();
    world.delete('HostingAccount', 'default');
    world.delete('ContactPoint', 'ops');

    await world.crash();
    await world.run(30_000);

    expect(world.get('ContactPoint', 'ops')).toBeUndefined();
    expect(world.get('HostingAccount', 'default')).toBeUndefined();
  });

  it('goes although its Secret has gone, once nobody uses it', async () => {
    const world = await aWorld();
    world.delete('ContactPoint', 'ops');
    await world.run(5_000);
    removeSecret(world);
    await world.run(2_000);

    world.delete('HostingAccount', 'default');
    await world.run(2_000);

    expect(world.get('HostingAccount', 'default')).toBeUndefined();
  });

  it('waits for those that use it though it only observes', async () => {
    const world = new InProcess();
    await world.start();
    world.account({ lifecycle: { managementPolicy: 'Observe' } });
    world.apply('ContactPoint', 'ops', email);
    await world.run(30_000);

    world.delete('HostingAccount', 'default');
    await world.run(30_000);
    expect(ready(world, 'HostingAccount', 'default')).toContain(
      'False/InUse: the account is still used by ContactPoint team/ops',
    );
    world.delete('ContactPoint', 'ops');
    await world.run(30_000);

    expect(world.get('HostingAccount', 'default')).toBeUndefined();
  });

  const shared = { externalId: 'acc_demo', credentialsRef: { name: 'shared' } };
  const used = { ...email, accountRef: { kind: 'ClusterHostingAccount', name: 'shared' } };

  async function aSharedWorld(): Promise<InProcess> {
    const world = new InProcess();
    await world.start();
    world.secret('shared', { baseUrl: 'http://127.0.0.1:8088', token: 'demo-admin' }, 'apphosting-system');
    const allowedNamespaces = { names: [namespace] };
    world.apply('ClusterHostingAccount', 'shared', { ...shared, lifecycle: { adoption: 'ById' }, allowedNamespaces });
    await world.run(10_000);
    return world;
  }

  it('does not wait for a namespace that may not use it', async () => {
    const world = await aSharedWorld();
    world.apply('ContactPoint', 'ops', used, {}, 'stranger');
    await world.run(60_000);

    world.delete('ClusterHostingAccount', 'shared');
    await world.run(60_000);

    expect(world.get('ContactPoint', 'ops', 'stranger')).toBeDefined();
    expect(world.get('ClusterHostingAccount', 'shared')).toBeUndefined();
  });

  it('waits for what a namespace made with it while it was allowed', async () => {
    const world = await aSharedWorld();
    world.apply('ContactPoint', 'ops', used);
    await world.run(30_000);
    world.apply('ClusterHostingAccount', 'shared', { ...shared, allowedNamespaces: { names: ['another'] } });
    await world.run(30_000);

    world.delete('ClusterHostingAccount', 'shared');
    await world.run(60_000);

    expect(ready(world)).toContain('does not allow namespace team');
    expect(world.get('ClusterHostingAccount', 'shared')).toBeDefined();
  });
});

describe('a deletion', () => {
  it('ends although looking takes longer than a lost call could', async () => {
    const world = await aWorld(email, { horizonMs: 0 });

    world.delete('ContactPoint', 'ops');
    await world.run(30_000);

    expect(world.get('ContactPoint', 'ops')).toBeUndefined();
    expect((await kinds(world)).filter((kind) => kind === 'contactPoint.deleted')).toHaveLength(1);
  });
});
