import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { configMapResource, KubeMaterial, secretResource } from '../../src/kube/material.ts';
import { CollectedLog } from '../support/collected-log.ts';
import { MemoryCluster } from '../support/memory/memory-cluster.ts';
import { MemoryKube } from '../support/memory/memory-kube.ts';
import { SeededEntropy, settle } from '../../src/cli/in-memory/virtual-clock.ts';
import { SuspendableClock } from '../support/suspendable-clock.ts';

function secret(token: string): object {
  const data = { token: Buffer.from(token).toString('base64') };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'credentials' }, data };
}

async function scene(watch: 'on' | 'off' = 'on') {
  const clock = new SuspendableClock();
  const cluster = new MemoryCluster(clock);
  const admin = new MemoryKube(cluster);
  const api = new MemoryKube(cluster);
  const changes: string[] = [];
  const forsaken = new Set<string>();
  const material = new KubeMaterial({
    api,
    clock,
    entropy: new SeededEntropy(),
    log: new CollectedLog(),
    watch,
    isUsed: ({ name }) => !forsaken.has(name),
    onChanged: ({ kind, namespace, name }) => changes.push(`${kind} ${namespace}/${name}`),
  });
  await admin.create(secretResource, 'a', secret('first'));
  material.start();
  await clock.advance(0);
  const gets = (): number => api.calls.filter(({ verb }) => verb === 'get').length;
  const token = async (): Promise<string | undefined> =>
    (await material.secret('a', 'credentials'))?.get('token')?.reveal();
  return { clock, admin, api, changes, forsaken, material, gets, token };
}

describe('material', () => {
  it('is read once for all who ask at the same time, and again a moment later', async () => {
    const { clock, gets, token } = await scene();

    expect(await Promise.all([token(), token(), token()])).toEqual(['first', 'first', 'first']);
    expect(await token()).toBe('first');
    expect(gets()).toBe(1);
    await clock.advance(1_100);
    await token();

    expect(gets()).toBe(2);
    await clock.advance(1_100);
    expect(clock.pending).toBeLessThanOrEqual(6);
  });

  it('is undefined where it does not exist, and a failure where that is not known', async () => {
    const { api, material } = await scene();

    expect(await material.secret('a', 'nowhere')).toBeUndefined();
    api.inject({ verb: 'get', effect: 'before', outcome: 'forbidden' });
    await expect(material.configMap('a', 'credentials')).rejects.toMatchObject({ reason: 'forbidden' });
    expect(await material.configMap('a', 'credentials')).toBeUndefined();
  });

  it('tells what changed, but not what was there from the start', async () => {
    const { clock, admin, changes, token } = await scene();
    expect(changes).toEqual([]);
    await token();

    await admin.replace(secretResource, 'a', 'credentials', secret('second'));
    await settle();
    expect(await token()).toBe('second');
    await admin.delete(secretResource, 'a', 'credentials');
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'build' },
      data: { Dockerfile: 'FROM scratch' },
    };
    await admin.create(configMapResource, 'b', map);
    await clock.advance(0);

    expect(changes).toEqual(['Secret a/credentials', 'Secret a/credentials', 'ConfigMap b/build']);
  });

  it('does not keep what was read while it changed', async () => {
    const { clock, admin, api, token, gets } = await scene();
    api.inject({ verb: 'get', effect: 'before', outcome: 'timeout' });
    const slow = token().catch(() => 'too slow');
    await admin.replace(secretResource, 'a', 'credentials', secret('second'));
    await settle();

    expect(await token()).toBe('second');
    expect(gets()).toBe(2);
    await clock.advance(60_000);
    expect(await slow).toBe('too slow');
  });

  it('watches nothing when watching is off', async () => {
    const { api, material, token } = await scene('off');

    expect(material.reflectors).toEqual([]);
    expect(await token()).toBe('first');
    expect(api.calls.map(({ verb }) => verb)).toEqual(['get']);
  });

  it('holds no value beyond the moment, and prints none', async () => {
    const { clock, material, token } = await scene();
    await token();
    const seen = await material.secret('a', 'credentials');
    await clock.advance(1_100);

    const base64 = Buffer.from('first').toString('base64');
    const printed =
      inspect(material, { depth: 20, showHidden: true }) + inspect(seen, { depth: 20 }) + JSON.stringify(seen);

    expect(printed).not.toContain('first');
    expect(printed).not.toContain(base64);
    for (const reflector of material.reflectors) expect(JSON.stringify([...reflector.values()])).not.toContain(base64);
  });

  it('is asked for again every minute where it may not be watched, and a change, a loss and a return are told', async () => {
    const { clock, admin, api, changes, token, gets } = await scene('off');
    await token();
    const from = gets();

    await clock.advance(300_000);
    expect(gets() - from).toBeLessThanOrEqual(6);
    expect(changes).toEqual([]);

    const told = async (change: () => Promise<unknown>): Promise<number> => {
      await change();
      await clock.advance(70_000);
      return changes.length;
    };
    expect(await told(() => admin.replace(secretResource, 'a', 'credentials', secret('second')))).toBe(1);
    expect(await told(() => admin.delete(secretResource, 'a', 'credentials'))).toBe(2);
    expect(await told(() => admin.create(secretResource, 'a', secret('third')))).toBe(3);
    expect(new Set(changes)).toEqual(new Set(['Secret a/credentials']));
    expect(api.calls.every(({ verb }) => verb === 'get')).toBe(true);
  });

  it('is no longer asked for when nobody uses it', async () => {
    const { clock, forsaken, token, gets } = await scene('off');
    await token();
    forsaken.add('credentials');
    await clock.advance(70_000);
    const from = gets();

    await clock.advance(600_000);

    expect(gets()).toBe(from);
  });
});
