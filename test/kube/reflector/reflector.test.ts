import { describe, expect, it } from 'vitest';
import { KubeError } from '../../../src/engine/ports.ts';
import { GarbledError } from '../../../src/kube/client/failure.ts';
import type { MemoryKube } from '../../support/memory/memory-kube.ts';
import { present, thing, things } from '../example.ts';
import { held, inCluster, scene, started } from './reflector-scene.ts';

describe('a reflector', () => {
  it('lists what is there, and then tells what happens', async () => {
    const { clock, admin, cluster, reflector, told } = await started();
    await reflector.synced;

    await admin.create(things, 'b', thing('two'));
    const two = present(await admin.get(things, 'b', 'two'));
    await admin.replace(things, 'b', 'two', { ...two, spec: { size: 9 } });
    await admin.delete(things, 'a', 'one');
    await clock.advance(0);

    expect(told.map((line) => line.replace(/ [0-9a-f]{4}\b/, ''))).toEqual([
      'applied one at first',
      'applied two',
      'applied two',
      'gone one',
    ]);
    expect(held(reflector)).toEqual(inCluster(cluster));
    expect(reflector.get('b', 'two')?.spec).toEqual({ size: 9 });
  });

  it('lists in pages, and starts over when the pages are too old', async () => {
    const { clock, admin, api, cluster, reflector, lists } = scene({ pace: { pageSize: 2 } });
    for (const name of ['a', 'b', 'c', 'd', 'e']) await admin.create(things, 'x', thing(name));
    api.inject({ verb: 'list', after: 1, effect: 'before', outcome: 'gone' });

    reflector.start();
    await clock.advance(5_000);

    expect(held(reflector)).toEqual(inCluster(cluster));
    expect(lists).toEqual(['start', 'gone']);
    expect(api.calls.filter(({ verb }) => verb === 'list')).toHaveLength(2 + 3);
  });

  const failures: readonly { readonly what: string; readonly strike: (api: MemoryKube) => void }[] = [
    {
      what: 'the first list fails',
      strike: (api) => api.inject({ verb: 'list', effect: 'before', outcome: 'unavailable' }),
    },
    {
      what: 'lists fail ten times',
      strike: (api) => api.inject({ verb: 'list', times: 10, effect: 'before', outcome: 'unavailable' }),
    },
    { what: 'a list hangs', strike: (api) => api.inject({ verb: 'list', effect: 'before', outcome: 'hang' }) },
    {
      what: 'the watch is refused',
      strike: (api) => api.inject({ verb: 'watch', effect: 'before', outcome: 'unavailable' }),
    },
    {
      what: 'the watch is forbidden for a while',
      strike: (api) => api.inject({ verb: 'watch', times: 4, effect: 'before', outcome: 'forbidden' }),
    },
    {
      what: 'the watch is throttled',
      strike: (api) => api.inject({ verb: 'watch', effect: 'before', outcome: 'throttled', retryInMs: 20_000 }),
    },
    {
      what: 'the watch hangs before it answers',
      strike: (api) => api.inject({ verb: 'watch', effect: 'before', outcome: 'hang' }),
    },
    {
      what: 'the watch is too old from the start',
      strike: (api) => api.inject({ verb: 'watch', effect: 'before', outcome: 'gone' }),
    },
    {
      what: 'the kind is not served yet',
      strike: (api) => api.inject({ verb: 'list', times: 3, effect: 'before', outcome: 'notFound' }),
    },
    {
      what: 'the credential is refused',
      strike: (api) => api.inject({ times: 3, effect: 'before', outcome: 'unauthorized' }),
    },
  ];

  it.for(failures)('goes on when $what', async ({ strike }) => {
    const { clock, admin, api, cluster, reflector, log } = scene();
    await admin.create(things, 'a', thing('one'));
    strike(api);

    reflector.start();
    await clock.advance(30_000);
    await admin.create(things, 'a', thing('two'));
    await clock.advance(600_000);

    expect(held(reflector)).toEqual(inCluster(cluster));
    expect(log.bugs).toEqual([]);
  });

  it('logs why it fails once, and again when that changes', async () => {
    const { clock, api, reflector, log } = scene();
    api.inject({ verb: 'list', times: 4, effect: 'before', outcome: 'forbidden' });
    api.inject({ verb: 'list', times: 4, effect: 'before', outcome: 'notFound' });

    reflector.start();
    await clock.advance(600_000);

    const told = log.lines.filter(({ level }) => level !== 'debug').map(({ level, message }) => `${level} ${message}`);
    expect(told).toEqual([expect.stringContaining('forbidden'), expect.stringContaining('notFound')]);
  });

  const breaks: readonly { readonly what: string; readonly strike: (api: MemoryKube) => void }[] = [
    { what: 'the connection is reset', strike: (api) => api.endWatches(new KubeError('unavailable', 'reset')) },
    { what: 'the stream ends early', strike: (api) => api.endWatches() },
    { what: 'the stream goes silent', strike: (api) => api.mute() },
    { what: 'a line cannot be read', strike: (api) => api.endWatches(new GarbledError('a line is not JSON')) },
    { what: 'the stream says 500', strike: (api) => api.say({ type: 'ERROR', code: 500, message: '' }) },
    { what: 'the stream says 429', strike: (api) => api.say({ type: 'ERROR', code: 429, message: '' }) },
    { what: 'the stream says 410', strike: (api) => api.say({ type: 'ERROR', code: 410, message: '' }) },
    { what: 'a bookmark runs backwards', strike: (api) => api.say({ type: 'BOOKMARK', resourceVersion: '5' }) },
  ];

  it.for(breaks)('misses nothing when $what', async ({ strike }) => {
    const { clock, admin, api, cluster, reflector, log, told } = await started();

    strike(api);
    await admin.create(things, 'a', thing('two'));
    await admin.delete(things, 'a', 'one');
    await clock.advance(200_000);
    await admin.create(things, 'a', thing('three'));
    await clock.advance(200_000);

    expect(held(reflector)).toEqual(inCluster(cluster));
    expect(told.filter((line) => line.startsWith('applied two'))).toHaveLength(1);
    expect(told.filter((line) => line.startsWith('gone one'))).toHaveLength(1);
    expect(log.bugs).toEqual([]);
  });
});

describe('the pace of a reflector', () => {
  it('waits longer and longer, never in step with others, and starts over after a healthy while', async () => {
    const { clock, api } = await started();
    api.inject({ verb: 'list', times: 1_000, effect: 'before', outcome: 'unavailable' });
    api.endWatches();
    const gaps: number[] = [];
    let before = clock.monotonic();
    let count = api.calls.length;
    while (gaps.length < 12) {
      await clock.advance(50);
      if (api.calls.length === count) continue;
      count = api.calls.length;
      gaps.push(clock.monotonic() - before);
      before = clock.monotonic();
    }

    expect(gaps[0]).toBeLessThanOrEqual(850);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(30_050);
    expect(Math.min(...gaps.slice(7))).toBeGreaterThanOrEqual(15_000);
    expect(new Set(gaps.slice(7)).size).toBeGreaterThan(1);
  });

  it('keeps to Retry-After in full', async () => {
    const { clock, api } = await started();
    api.inject({ verb: 'list', effect: 'before', outcome: 'throttled', retryInMs: 60_000 });
    api.endWatches();
    await clock.advance(1_000);
    const count = api.calls.length;

    await clock.advance(59_000);
    expect(api.calls).toHaveLength(count);
    await clock.advance(14_000);
    expect(api.calls.length).toBeGreaterThan(count);
  });

  it('renews its watch in the time it asked for, without a list or a wait', async () => {
    const { clock, api, lists } = await started();

    await clock.advance(3_600_000);

    const watches = api.calls.filter(({ verb }) => verb === 'watch').length;
    expect(watches).toBeGreaterThanOrEqual(7);
    expect(watches).toBeLessThanOrEqual(13);
    expect(lists).toEqual(['start']);
    // Each watch is followed by a look, as its first bookmark is a minute away.
    expect(api.calls.filter(({ verb }) => verb === 'list').length).toBeLessThanOrEqual(1 + watches);
  });

  it('lists after the idle deadline what a server accepts to watch and never speaks of', async () => {
    const { clock, admin, api, cluster, reflector, lists } = await started();
    api.isDeaf = true;
    api.breakWatches();
    await clock.advance(2_000);

    const unseen: number[] = [];
    for (const name of ['two', 'three', 'four']) {
      await admin.create(things, 'a', thing(name));
      const changedAt = clock.monotonic();
      while (reflector.get('a', name) === undefined) await clock.advance(100);
      unseen.push(clock.monotonic() - changedAt);
    }

    expect(Math.max(...unseen)).toBeLessThanOrEqual(82_000);
    expect(held(reflector)).toEqual(inCluster(cluster));
    expect(lists).toEqual(['start', 'silent', 'silent', 'silent']);
  });

  it('lists what a proxy keeps from it that ends every watch before it said a word', async () => {
    const { clock, admin, api, reflector } = await started();
    api.isDeaf = true;
    api.breakWatches();
    await admin.create(things, 'a', thing('two'));

    for (let minutes = 0; minutes < 3; minutes += 1) {
      await clock.advance(60_000);
      api.breakWatches();
    }
    await clock.advance(10_000);

    expect(reflector.get('a', 'two')).toBeDefined();
  });

  it('does not list again what nobody changes, though the server knows only when it is asked how far it is', async () => {
    const { clock, cluster, reflector, lists } = await started();
    cluster.isDrowsy = true;

    for (let second = 0; second < 3_600; second += 2) {
      cluster.skipVersions(1);
      await clock.advance(2_000);
    }

    expect(lists).toEqual(['start']);
    expect(clock.monotonic() - (reflector.lastHeardAt() ?? 0)).toBeLessThan(125_000);
  });

  it('knows when it heard something last', async () => {
    const { clock, api, reflector } = await started();
    await clock.advance(60_000);
    expect(reflector.lastHeardAt()).toBe(60_000);

    api.mute();
    api.cut = true;
    await clock.advance(600_000);

    expect(reflector.lastHeardAt()).toBe(60_000);
    expect(reflector.problem()).toContain('cut');
  });

  const moments: readonly { readonly what: string; readonly before: (api: MemoryKube) => void; readonly ms: number }[] =
    [
      {
        what: 'a list hangs',
        before: (api) => api.inject({ verb: 'list', effect: 'before', outcome: 'hang' }),
        ms: 10,
      },
      {
        what: 'a watch hangs',
        before: (api) => api.inject({ verb: 'watch', effect: 'before', outcome: 'hang' }),
        ms: 10,
      },
      {
        what: 'it waits after a failure',
        before: (api) => api.inject({ verb: 'list', effect: 'before', outcome: 'unavailable' }),
        ms: 10,
      },
      { what: 'it watches', before: () => undefined, ms: 90_000 },
    ];

  it.for(moments)('stops for good while $what', async ({ before, ms }) => {
    const { clock, admin, api, reflector, told } = scene();
    await admin.create(things, 'a', thing('one'));
    before(api);
    reflector.start();
    await clock.advance(ms);

    await reflector.stop();
    const [calls, events] = [api.calls.length, told.length];
    await admin.create(things, 'a', thing('two'));
    await clock.advance(3_600_000);

    expect(api.calls).toHaveLength(calls);
    expect(told).toHaveLength(events);
    expect(api.openWatches).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('watches one namespace and one label only, and metadata where that is enough', async () => {
    const { clock, admin, reflector } = scene({ namespace: 'a', labelSelector: 'shard=1', metadataOnly: true });
    const labels = { shard: '1' };
    await admin.create(things, 'a', thing('in', { size: 1 }, { labels }));
    await admin.create(things, 'b', thing('elsewhere', { size: 1 }, { labels }));
    await admin.create(things, 'a', thing('other'));
    reflector.start();
    await clock.advance(0);
    const other = present(await admin.get(things, 'a', 'other'));
    await admin.replace(things, 'a', 'other', { ...other, metadata: { ...other.metadata, labels } });
    await clock.advance(0);

    expect(held(reflector)).toEqual(['in undefined', 'other undefined']);
  });
});
