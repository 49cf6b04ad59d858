/* oxlint-disable unicorn/no-thenable -- the control surface calls the field so, and its value is never a function */
import { describe, expect, it } from 'vitest';

import { box, type Box } from '../box.ts';

const point = { accountId: 'acc_demo', name: 'On call', type: 'email', config: { addresses: ['a@example.com'] } };

const inject = (on: Box, effect: object, match: object = {}) => on.control('POST', '/faults', { match, effect });
const create = (on: Box, name = 'On call') => on.post('/contact-point', { ...point, name });
const committed = (on: Box) => on.ledger().length;

describe('fault effects', () => {
  it('commit or do not, as their row says', async () => {
    const table = [
      {
        effect: { status: 503, body: { a: 1 }, headers: { 'Retry-After': 3 } },
        kind: 'answered',
        status: 503,
        commits: 0,
      },
      { effect: { commitThen: { status: 500, body: { a: 1 } } }, kind: 'answered', status: 500, commits: 1 },
      { effect: { dropBefore: true }, kind: 'reset', status: 0, commits: 0 },
      { effect: { dropAfter: true }, kind: 'reset', status: 0, commits: 1 },
      { effect: { hang: true }, kind: 'silent', status: 0, commits: 0 },
      { effect: { hangAfterCommit: true }, kind: 'silent', status: 0, commits: 1 },
      { effect: { delayMs: 5 }, kind: 'answered', status: 200, commits: 1 },
      { effect: { delayMs: 5, then: { status: 502 } }, kind: 'answered', status: 502, commits: 0 },
      { effect: { truncate: 5 }, kind: 'answered', status: 200, commits: 1 },
      { effect: { garbage: true }, kind: 'answered', status: 200, commits: 1 },
      { effect: { emptyBody: true }, kind: 'answered', status: 200, commits: 1 },
      { effect: { redirect: 'http://localhost:1/' }, kind: 'answered', status: 307, commits: 0 },
      { effect: { slowBodyMsPerByte: 1 }, kind: 'answered', status: 200, commits: 1 },
      { effect: { hugeBody: 1000 }, kind: 'answered', status: 200, commits: 1 },
      { effect: { staleList: 1000 }, kind: 'answered', status: 200, commits: 1 },
      { effect: { failAfterComponents: 1 }, kind: 'answered', status: 200, commits: 1 },
    ];

    for (const { effect, kind, status, commits } of table) {
      const on = box();
      expect((await inject(on, effect)).status).toBe(200);

      const answer = await create(on);

      expect([answer.kind, answer.status, committed(on)], JSON.stringify(effect)).toEqual([kind, status, commits]);
      const [logged] = (await on.control('GET', '/requests')).body.items;
      expect(logged.committed).toBe(commits === 1);
      expect(logged.fault).toContain(Object.keys(effect)[0]);
      expect((await create(on)).status).toBe(200);
    }
  });

  it('replace body and headers', async () => {
    const on = box();
    await inject(on, { status: 503, body: { a: 1 }, headers: { 'Retry-After': 3 } });
    const replaced = await create(on);
    await inject(on, { garbage: true });
    const garbage = await create(on);
    await inject(on, { emptyBody: true });
    const empty = await on.get('/app?appId=none');
    await inject(on, { redirect: 'http://localhost:1/x' });
    const redirect = await create(on);

    expect(replaced).toMatchObject({ body: { a: 1 }, headers: { 'retry-after': '3' } });
    expect(garbage.body).toBeUndefined();
    expect(garbage.text.length).toBeGreaterThan(0);
    expect([empty.status, empty.text]).toEqual([404, '']);
    expect(redirect.headers['location']).toBe('http://localhost:1/x');
  });

  it('wait on wall time, and nothing happens before', async () => {
    const waits: number[] = [];
    const on: Box = box({
      latencyMs: 3,
      wait: async (ms) => {
        waits.push(ms);
        await Promise.resolve();
        expect(committed(on)).toBe(0);
      },
    });
    await inject(on, { delayMs: 50 });

    await create(on);

    expect(waits).toEqual([3, 50]);
    expect(committed(on)).toBe(1);
  });

  it('show a stale list once', async () => {
    const on = box();
    await create(on);
    on.advance(10_000);
    await inject(on, { staleList: 10_001 });
    const count = async () => (await on.get('/contact-points?accountId=acc_demo')).body.contactPoints.length;

    expect(await count()).toBe(0);
    expect(await count()).toBe(1);
  });
});

describe('matching', () => {
  const statuses = async (on: Box, n: number) => {
    const all: number[] = [];
    for (let i = 0; i < n; i += 1) all.push((await create(on)).status);
    return all;
  };

  it('is by method, path with stars, and body', async () => {
    const table = [
      [{}, 500],
      [{ method: 'POST' }, 500],
      ...['GET', 'PATCH', 'DELETE', 'PUT'].map((method) => [{ method }, 200] as const),
      [{ path: '/contact-point' }, 500],
      [{ path: '/contact' }, 200],
      [{ path: '/contact*' }, 500],
      [{ path: '*point' }, 500],
      [{ path: '/c*t*t' }, 500],
      [{ path: '*points' }, 200],
      [{ path: '/api/public/v1/contact-point' }, 200],
      [{ bodyContains: '"On call"' }, 500],
      [{ bodyContains: 'somebody else' }, 200],
    ] as const;

    for (const [match, status] of table) {
      const on = box();
      expect((await inject(on, { status: 500 }, match)).status, JSON.stringify(match)).toBe(200);
      expect((await create(on)).status, JSON.stringify(match)).toBe(status);
    }
  });

  it('is as quick with many stars in a row as with one', async () => {
    const on = box();
    await inject(on, { status: 500 }, { path: `${'*'.repeat(40)}x` });

    expect((await create(on)).status).toBe(200);
  });

  it('skips so many, then lasts so long', async () => {
    const on = box();
    await inject(on, { status: 500 }, { skip: 2, count: 2 });

    expect(await statuses(on, 5)).toEqual([200, 200, 500, 500, 200]);
    expect((await on.control('GET', '/faults')).body.items).toEqual([]);
  });

  it('takes the oldest fault that is ready', async () => {
    const on = box();
    await inject(on, { status: 501 }, { skip: 1 });
    await inject(on, { status: 502 }, { count: 2 });

    expect(await statuses(on, 4)).toEqual([502, 501, 502, 200]);
  });

  it('ends when the fault is forgotten', async () => {
    const on = box();
    const { faultId } = (await inject(on, { status: 500 })).body;
    await inject(on, { status: 500 });

    expect((await on.control('GET', '/faults')).body.items).toHaveLength(2);
    expect((await on.control('DELETE', `/faults/${faultId}`)).status).toBe(200);
    expect((await on.control('DELETE', `/faults/${faultId}`)).status).toBe(404);
    await on.control('DELETE', '/faults');
    expect(await statuses(on, 1)).toEqual([200]);
  });

  it('never touches the control surface', async () => {
    const on = box();
    await inject(on, { status: 500 }, { count: 100 });

    expect((await on.control('GET', '/clock')).status).toBe(200);
  });

  it('refuses what is no fault', async () => {
    const on = box();
    const table = [
      {},
      { effect: {} },
      { effect: { status: 500, hang: true } },
      { effect: { hang: false } },
      { effect: { status: 99 } },
      { effect: { explode: true } },
      { effect: { hang: true, then: { hang: true } } },
      { effect: { truncate: -1 } },
      { effect: { hang: true }, match: { count: 0 } },
      { effect: { hang: true }, match: { mood: 'bad' } },
    ];

    for (const body of table) expect((await on.control('POST', '/faults', body)).status).toBe(400);
  });
});
