import { describe, expect, it } from 'vitest';
import type { Read, Request } from '../../../src/engine/ports.ts';
import type { Seen } from '../../../src/hosting/wire/transport.ts';
import { alertOf, appsOf, drSourcesOf } from '../../../src/hosting/requests.ts';
import { fullList, type Listed } from '../../../src/hosting/mirror/polled-list.ts';

function seen(status: number, body: unknown = {}): Seen {
  const digest = JSON.stringify(body);
  const rest = {
    readable: true,
    empty: false,
    saysNo: false,
    digest,
    retryAfterMs: undefined,
    message: `the service answered ${status}`,
  };
  return { was: 'answer', status, body, dateMs: 1000, ...rest };
}

function page(ids: readonly string[], nextCursor?: string | null): Seen {
  const items = ids.map((id) => ({ sourceAppEnvId: id }));
  return seen(200, nextCursor === undefined ? { items } : { items, nextCursor });
}

/** Walks over pages by cursor. */
async function listed(
  pages: Readonly<Record<string, Seen>>,
  read: Read = drSourcesOf('acc'),
): Promise<{ readonly result: Listed<unknown>; readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const result = await fullList(read, (request: Request) => {
    const cursor = request.query?.['after'] ?? 'first';
    asked.push(cursor);
    return Promise.resolve(pages[cursor] ?? seen(400, { error: 'no such cursor' }));
  });
  return { result, asked };
}

function idsOf(result: Listed<unknown>): readonly string[] | string {
  return result.complete ? [...(result.items?.keys() ?? ['unchanged'])] : result.why;
}

describe('a full list', () => {
  it.each([
    { end: undefined, because: 'it is absent' },
    { end: null, because: 'it is null' },
    { end: '', because: 'it is empty' },
  ])('reads all pages, and takes a cursor for the end when $because', async ({ end }) => {
    const { result, asked } = await listed({ first: page(['a'], 'p2'), p2: page(['b'], 'p3'), p3: page(['c'], end) });

    expect(idsOf(result)).toEqual(['a', 'b', 'c']);
    expect(asked).toEqual(['first', 'p2', 'p3']);
    expect(result).toMatchObject({ pages: 3, dateMs: 1000 });
  });

  it('counts an item once that shows up on two pages', async () => {
    const { result } = await listed({ first: page(['a', 'b'], 'p2'), p2: page(['b', 'c']) });

    expect(idsOf(result)).toEqual(['a', 'b', 'c']);
  });

  it('fails when the pages go round in a circle', async () => {
    const { result, asked } = await listed({ first: page(['a'], 'p2'), p2: page(['b'], 'p3'), p3: page(['c'], 'p2') });

    expect(idsOf(result)).toBe('malformed');
    expect(asked).toHaveLength(3);
  });

  it('fails when the pages never end', async () => {
    let count = 0;
    const result = await fullList(drSourcesOf('acc'), () => Promise.resolve(page([], `p${(count += 1)}`)));

    expect(idsOf(result)).toBe('malformed');
    expect(count).toBe(1000);
  });

  it.each([
    { second: seen(401), why: 'unauthorized' },
    { second: seen(403), why: 'forbidden' },
    { second: seen(429), why: 'throttled' },
    { second: seen(500), why: 'unreachable' },
    { second: { was: 'lost', message: 'reset' } as const, why: 'unreachable' },
    { second: seen(200, { items: [{ noId: true }] }), why: 'malformed' },
    { second: seen(200, { items: 'many' }), why: 'malformed' },
    { second: seen(200, []), why: 'malformed' },
  ])('is $why when its second page is so, and no half list', async ({ second, why }) => {
    const { result } = await listed({ first: page(['a'], 'p2'), p2: second });

    expect(idsOf(result)).toBe(why);
  });

  it('does not read again what is byte for byte the same', async () => {
    const pages = (second: string) => (request: Request) =>
      Promise.resolve(request.query?.['after'] === undefined ? page(['a'], 'p2') : page([second]));
    const first = await fullList(drSourcesOf('acc'), pages('b'));
    const digest = first.complete ? first.digest : undefined;

    const same = await fullList(drSourcesOf('acc'), pages('b'), digest);
    const other = await fullList(drSourcesOf('acc'), pages('c'), digest);

    expect(same).toMatchObject({ complete: true, items: undefined, digest });
    expect(idsOf(other)).toEqual(['a', 'c']);
  });

  it('takes a 404 for proof of absence where the read says so, and nowhere else', async () => {
    const one = await listed({ first: seen(404) }, alertOf('alert_1'));
    const list = await listed({ first: seen(404) }, appsOf('acc'));

    expect(idsOf(one.result)).toEqual([]);
    expect(idsOf(list.result)).toBe('refused');
  });
});
