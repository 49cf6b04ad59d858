import { describe, expect, it, onTestFinished } from 'vitest';
import type { Resource } from '../../../src/engine/ports.ts';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { configMapResource } from '../../../src/kube/material.ts';
import { Reflector, type ReflectorOptions } from '../../../src/kube/reflector.ts';
import { parseObject } from '../../../src/kube/client/parse.ts';
import { CollectedLog } from '../../support/collected-log.ts';
import { realClock, realEntropy, tokenCredentials } from '../../support/real-time.ts';
import { things } from '../example.ts';
import { pagingServer } from './paging-server.ts';

const mostSpecSize = 512 * 1024;

function object(at: number, metadata: object, spec?: object): object {
  return {
    metadata: { name: `n${at}`, namespace: 'a', uid: `u${at}`, resourceVersion: '5', ...metadata },
    ...(spec !== undefined && { spec }),
  };
}

function reflect(url: string, resource: Resource, options: Partial<ReflectorOptions> = {}) {
  const api = new KubeClient(tokenCredentials(url), realClock);
  const log = new CollectedLog();
  const around = { api, resource, clock: realClock, entropy: realEntropy, log, onEvent: () => undefined };
  const reflector = new Reflector({ ...around, ...options });
  onTestFinished(async () => {
    await reflector.stop();
    await api.close();
  });
  reflector.start();
  return { reflector, log };
}

describe('a list of large objects', () => {
  it('of others is read: 290 ConfigMaps whose annotations have 250 kB each', async () => {
    const annotations = { note: 'x'.repeat(250_000) };
    const { url, limits } = await pagingServer(
      'PartialObjectMetadata',
      Array.from({ length: 290 }, (_, at) => object(at, { annotations })),
    );

    const { reflector, log } = reflect(url, configMapResource, { metadataOnly: true });
    await reflector.synced;

    expect([...reflector.values()]).toHaveLength(290);
    expect(limits.slice(0, 4)).toEqual([500, 125, 31, 31]);
    expect(log.bugs).toEqual([]);
  });

  it('of our own is read, and what is too large for each of many is not kept: 50 of 1.4 MB', async () => {
    const spec = { accountRef: { name: 'other' }, args: Array.from({ length: 100 }, () => 'x'.repeat(14_000)) };
    const { url } = await pagingServer('Thing', [
      ...Array.from({ length: 50 }, (_, at) => object(at, {}, spec)),
      object(50, {}, { size: 1 }),
    ]);

    const { reflector } = reflect(url, things);
    await reflector.synced;

    expect([...reflector.values()]).toHaveLength(51);
    expect(reflector.get('a', 'n7')).toMatchObject({
      spec: { accountRef: { name: 'other' } },
      tooLarge: 'spec: the spec is larger than 512 kB, which is more than the operator reads; make the spec smaller',
    });
    expect(JSON.stringify([...reflector.values()]).length).toBeLessThan(50_000);
    expect(reflector.get('a', 'n50')).toMatchObject({ spec: { size: 1 } });
  });

  it('has two hundred thousand objects', async () => {
    const { url } = await pagingServer(
      'Thing',
      Array.from({ length: 200_000 }, (_, at) => object(at, {})),
    );

    const { reflector } = reflect(url, things, { pace: { pageSize: 5_000 } });
    await reflector.synced;

    expect([...reflector.values()]).toHaveLength(200_000);
  });

  it('stays in smaller pages, and says so once', async () => {
    const annotations = { note: 'x'.repeat(100_000) };
    const items = Array.from({ length: 200 }, (_, at) => object(at, { annotations }));
    const { url, limits } = await pagingServer('Thing', items);
    const { reflector, log } = reflect(url, things);
    await reflector.synced;
    const before = limits.length;

    reflector.rewound();
    await expect.poll(() => limits.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(before + 7);

    expect(new Set(limits.slice(before))).toEqual(new Set([31]));
    expect(log.lines.filter(({ message }) => message.includes('smaller pages'))).toHaveLength(2);
  });
});

describe('the size of a spec', () => {
  const size = (spec: unknown): boolean =>
    parseObject({ apiVersion: 'v1', kind: 'Thing', ...object(1, {}), spec }, 'reading a Thing').tooLarge === undefined;

  it.for([
    ['nothing', undefined, true],
    ['an ordinary one', { a: [1, 'x', null, { b: true }] }, true],
    ['one text at the limit', 'x'.repeat(mostSpecSize), true],
    ['one text above it', 'x'.repeat(mostSpecSize + 1), false],
    ['many small things', Array.from({ length: mostSpecSize }, () => 1), false],
    ['long keys', { ['x'.repeat(mostSpecSize + 1)]: 1 }, false],
  ] as const)('%s', ([, spec, fits]) => {
    expect(size(spec)).toBe(fits);
  });
});
