import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { PackedLog } from '../../../src/simulator/store/packed-log.ts';
import { startSimulator } from '../../../src/simulator/start.ts';
import { box, contactPoint, type Json } from '../box.ts';
import { running } from '../process.ts';

let folder = '';
let file = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'simulator-'));
  file = join(folder, 'state');
});

afterEach(() => rmSync(folder, { recursive: true }));

function numbered(count: number, most?: number): PackedLog<{ readonly seq: number }> {
  const log = new PackedLog<{ readonly seq: number }>(most);
  for (let seq = 1; seq <= count; seq += 1) log.push({ seq });
  return log;
}

describe('a log', () => {
  it('keeps every line in order, packed or not', () => {
    const log = numbered(5500);

    expect(log.after(0).map(({ seq }) => seq)).toEqual(Array.from({ length: 5500 }, (_, n) => n + 1));
    expect(
      log
        .after(2999)
        .map(({ seq }) => seq)
        .slice(0, 2),
    ).toEqual([3000, 3001]);
    expect([log.after(5500), log.lastSeq, log.gone]).toEqual([[], 5500, 0]);
  });

  it('gives up the oldest beyond its bound, and says which', () => {
    const log = numbered(10_000, 3000);

    expect(log.gone).toBeGreaterThan(4000);
    expect(log.after(log.gone)[0]).toEqual({ seq: log.gone + 1 });
    expect(log.after(log.gone)).toHaveLength(10_000 - log.gone);
  });
});

describe('the ledger', () => {
  it('begins with its first commit after 102,000 of them', async () => {
    const on = box();
    for (let n = 0; n < 102_000; n += 1) {
      on.simulator.store.transact(0, undefined, (world) =>
        world.record({ kind: 'contactPoint.created', id: `cp_${n}`, accountId: 'acc_demo' }),
      );
    }

    const { items } = (await on.control('GET', '/ledger?after=0')).body;
    expect([items.length, items[0].seq, items.at(-1).id]).toEqual([102_000, 1, 'cp_101999']);
    expect((await on.control('GET', '/ledger?after=101998')).body.items).toHaveLength(2);
  });

  it('answers 410 with the first commit that is there when earlier ones are gone', async () => {
    const before = box();
    for (const name of ['one', 'two', 'three']) await contactPoint(before, name);
    const saved = before.simulator.store.save();
    const on = box({ world: { ...saved, ledger: saved.ledger.slice(1) } });

    for (const path of ['/ledger', '/ledger?after=0']) {
      expect(await on.control('GET', path)).toMatchObject({
        status: 410,
        body: { first: 2, error: expect.any(String) },
      });
    }
    expect((await on.control('GET', '/ledger?after=1')).body.items).toMatchObject([{ seq: 2 }, { seq: 3 }]);
  });
});

describe('a long log over a socket', () => {
  it('arrives whole, a piece at a time', async () => {
    const on = await startSimulator({ clock: 'virtual' });
    for (let n = 0; n < 5500; n += 1) {
      on.simulator.store.transact(0, undefined, (world) =>
        world.record({ kind: 'contactPoint.created', id: `cp_${n}`, accountId: 'acc_demo' }),
      );
    }

    const answer = await fetch(`${on.url}/_sim/ledger?after=100`);
    const { items } = (await answer.json()) as Json;
    await on.close();

    expect(answer.headers.get('content-length')).toBe(null);
    expect(items.map(({ seq }: Json) => seq)).toEqual(Array.from({ length: 5400 }, (_, n) => 101 + n));
  });
});

describe('the request log under --state', () => {
  const headers = { authorization: 'demo-admin', 'content-type': 'application/json' };

  async function ask(url: string, method: string, path: string, body?: unknown): Promise<number> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${url}/api/public/v1${path}`, { method, headers, ...sent });
    await answer.arrayBuffer();
    return answer.status;
  }

  async function shown(url: string, path: string): Promise<Json> {
    return (await fetch(`${url}/_sim${path}`)).json();
  }

  it('goes on after a restart, with its numbers and its counts', async () => {
    const one = await startSimulator({ state: file });
    await ask(one.url, 'GET', '/apps');
    await ask(one.url, 'POST', '/app', { accountId: 'acc_demo', name: 'x', port: 80 });
    await ask(one.url, 'GET', '/apps');
    await one.close();

    const two = await startSimulator({ state: file });
    await ask(two.url, 'GET', '/apps?again=1');
    const { items } = await shown(two.url, '/requests');
    const { items: counts } = await shown(two.url, '/counts');
    await two.close();

    expect(items.map(({ seq, method, path, committed }: Json) => [seq, method, path, committed])).toEqual([
      [1, 'GET', '/apps', false],
      [2, 'POST', '/app', true],
      [3, 'GET', '/apps', false],
      [4, 'GET', '/apps', false],
    ]);
    expect(counts).toEqual([
      { method: 'GET', path: '/apps', requests: 3, commits: 0 },
      { method: 'POST', path: '/app', requests: 1, commits: 1 },
    ]);
  });

  it('has every request that committed after a kill', async () => {
    const one = await running('--state', file);
    await ask(one.url, 'GET', '/apps');
    await ask(one.url, 'POST', '/app', { accountId: 'acc_demo', name: 'x', port: 80 });
    await one.end('SIGKILL');

    const two = await startSimulator({ state: file });
    const { items } = await shown(two.url, '/requests');
    await two.close();

    expect(items.map(({ seq, path }: Json) => [seq, path])).toEqual([
      [1, '/apps'],
      [2, '/app'],
    ]);
  });

  it('is packed with the ledger in the file, which a world can still be read from', async () => {
    const one = await startSimulator({ state: file });
    for (let n = 0; n < 2500; n += 1) {
      one.simulator.store.transact(0, undefined, (world) =>
        world.record({ kind: 'contactPoint.created', id: `cp_${n}`, accountId: 'acc_demo' }),
      );
    }
    await one.close();
    const [line = ''] = readFileSync(file, 'utf8').split('\n');
    const head = JSON.parse(line);

    const two = await startSimulator({ world: file });
    const ledger = await shown(two.url, '/ledger');
    await two.close();

    expect(head.ledger.sealed).toHaveLength(1);
    expect(readFileSync(file).length).toBeLessThan(400_000);
    expect(ledger.items).toHaveLength(2500);
  });
});
