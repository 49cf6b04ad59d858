import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { request } from 'undici';
import { beforeAll, describe, expect, it } from 'vitest';
import { aBreakableStage, answering, loseEtcd } from '../support/stages/breakable-stage.ts';
import { eventually } from '../support/kubernetes.ts';
import { withLease } from '../support/operator-process.ts';
import { Tenant } from '../support/stages/tenant.ts';

/* One operator lives through everything that can happen to a control plane; like a pod it is started again when it ends. */

const email = { email: { addresses: ['ops@example.com'] } };
const stage = aBreakableStage();
let tenant: Tenant;

beforeAll(async () => {
  tenant = await Tenant.arrive(stage().api, stage().service);
  await tenant.openAccount();
  await tenant.becomes('HostingAccount', 'default', 'True/InSync');
});

/** A contact point that was made and is Ready. */
async function made(name: string): Promise<void> {
  await tenant.apply('ContactPoint', name, email);
  await tenant.becomes('ContactPoint', name, 'True/InSync');
}

/** Forgets everything in etcd that is not the newest. */
async function compact(): Promise<void> {
  const line = await readFile(`/proc/${stage().plane.daemons.etcd.pid ?? 0}/cmdline`, 'utf8');
  const [, url = ''] = /--advertise-client-urls=([^\0]+)/.exec(line) ?? [];
  const ask = async (path: string, body: object) => {
    const answer = await request(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) });
    return (await answer.body.json()) as { header?: { revision: string } };
  };
  const { header } = await ask('/v3/kv/range', { key: Buffer.from('/').toString('base64'), count_only: true });
  await ask('/v3/kv/compaction', { revision: header?.revision, physical: true });
}

/** Names of the contact points that were created, each as often as it was. */
async function created(): Promise<readonly string[]> {
  return (await tenant.contactPoints()).map(({ name }) => name);
}

describe('the operator', () => {
  it('goes on when the API server is started again', async () => {
    await made('before-restart');

    await stage().plane.restartApiServer();
    await answering(stage());

    await made('after-restart');
  });

  it('goes on when etcd was killed and is started again', async () => {
    await loseEtcd(stage());

    await made('after-etcd');
  });

  it('reads everything anew when what it watched from is no longer known', async () => {
    await made('watched');
    stage().operator.current.signal('SIGSTOP');
    await tenant.apply('ContactPoint', 'watched', { ...email, name: 'changed-meanwhile' });
    await tenant.apply('ContactPoint', 'unseen', email);
    await compact();
    await stage().plane.restartApiServer();
    await answering(stage());
    await tenant.delete('ContactPoint', 'before-restart');

    stage().operator.current.signal('SIGCONT');

    await tenant.becomes('ContactPoint', 'unseen', 'True/InSync');
    await tenant.becomes('ContactPoint', 'watched', 'True/InSync');
    await tenant.goes('ContactPoint', 'before-restart');
    expect(await created()).toContain('changed-meanwhile');
    expect(stage().operator.current.output()).toContain('"list":"gone"');
    expect(stage().operator.starts).toBe(1);
  });

  it('is cut off past its lease in the middle of a create, and creates nothing twice', async () => {
    stage().operator.flags = withLease;
    stage().operator.current.signal('SIGTERM');
    await eventually(
      'it runs with a lease',
      async () => stage().operator.starts > 1 && stage().operator.current.output().includes('this replica acts'),
    );
    const match = { method: 'POST', path: '/contact-point', bodyContains: '"cut-off"' };
    await stage().service.control('POST', '/faults', { match, effect: { delayMs: 1_000 } });
    await tenant.apply('ContactPoint', 'cut-off', email);
    await eventually('the create is journalled', () => tenant.hasBegun('ContactPoint', 'cut-off'));

    const apiServer = stage().plane.daemons.apiserver.pid ?? 0;
    const holder = stage().operator.current;
    process.kill(apiServer, 'SIGSTOP');
    await eventually('it has lost its lease', async () => holder.output().includes('the lease is lost'));
    process.kill(apiServer, 'SIGCONT');

    await answering(stage());
    await tenant.becomes('ContactPoint', 'cut-off', 'True/InSync');
    // It had lost its lease: what it still had to write was written, and then it ended.
    await eventually('it is started again', async () => stage().operator.starts > 2);
    expect((await created()).filter((name) => name === 'cut-off')).toHaveLength(1);
  });

  it('creates nothing twice when etcd is restored from an older copy', async () => {
    stage().operator.current.signal('SIGSTOP');
    const contactPointRefs = [{ name: 'watched' }];
    const alert = {
      environmentRef: { externalId: tenant.appEnvId },
      metric: 'cpu_percent',
      operator: 'GreaterThan',
      contactPointRefs,
    };
    await tenant.apply('ContactPoint', 'restored', email);
    await tenant.apply('MetricAlert', 'restored', alert);
    const copy = join(await mkdtemp(join(stage().dir, 'copy-')), 'etcd');
    await stage().plane.copyEtcd(copy);
    stage().operator.current.signal('SIGCONT');
    await tenant.becomes('ContactPoint', 'restored', 'True/InSync');
    await tenant.becomes('MetricAlert', 'restored', 'True/InSync');
    await made('forgotten');
    const alertId = await tenant.status('MetricAlert', 'restored', 'externalId');

    await stage().plane.restoreEtcd(copy);
    await answering(stage());
    await tenant.apply('ContactPoint', 'forgotten', email);

    await tenant.becomes('ContactPoint', 'forgotten', 'False/AlreadyExists');
    await tenant.becomes('ContactPoint', 'restored', 'False/AlreadyExists');
    await tenant.becomes('MetricAlert', 'restored', 'True/InSync');
    expect(await tenant.status('MetricAlert', 'restored', 'externalId')).toBe(alertId);
    await made('after-restore');
  });

  it('has created each object once', async () => {
    const ledger = await stage().service.ledger();
    const creations = ledger.filter(({ kind }) => kind === 'contactPoint.created');
    const names = await created();

    expect(new Set(names).size).toBe(names.length);
    expect(creations).toHaveLength(9);
    expect(ledger.filter(({ kind }) => kind === 'alert.created')).toHaveLength(1);
  });
});
