import { describe, expect, it } from 'vitest';
import { KubeError } from '../../../src/engine/ports.ts';
import { present, thing, things } from '../example.ts';
import { held, inCluster, started } from './reflector-scene.ts';

describe('what a reflector tells', () => {
  it('takes up the same version after a break, without a new list', async () => {
    const { clock, api, lists } = await started();

    api.endWatches(new KubeError('unavailable', 'reset'));
    await clock.advance(2_000);
    api.say({ type: 'ERROR', code: 500, message: '' });
    await clock.advance(4_000);

    expect(lists).toEqual(['start']);
    expect(api.openWatches).toBe(1);
  });

  it('lists again after history was compacted', async () => {
    const { clock, cluster, admin, api, reflector, lists } = await started();
    api.cut = true;
    await admin.create(things, 'a', thing('two'));
    cluster.compact();
    await admin.delete(things, 'a', 'one');

    await clock.advance(10_000);
    api.cut = false;
    await clock.advance(60_000);

    expect(lists).toEqual(['start', 'gone']);
    expect(held(reflector)).toEqual(inCluster(cluster));
  });

  it('tells a recreated object as gone and then applied, though the deletion was never seen', async () => {
    const { clock, cluster, admin, api, reflector, told } = await started();
    const before = present(reflector.get('a', 'one')).metadata.uid.slice(0, 4);
    api.cut = true;
    await admin.delete(things, 'a', 'one');
    const after = (await admin.create(things, 'a', thing('one'))).metadata.uid.slice(0, 4);
    cluster.compact();

    await clock.advance(100_000);
    api.cut = false;
    await clock.advance(60_000);

    expect(told.slice(1)).toEqual([`gone one ${before}`, `applied one ${after}`]);
  });

  it('keeps the new object when a late word says that the old one was deleted', async () => {
    const { clock, admin, api, reflector, told } = await started();
    const old = present(reflector.get('a', 'one'));
    await admin.delete(things, 'a', 'one');
    const recreated = await admin.create(things, 'a', thing('one'));
    await clock.advance(0);

    const late = { ...old.metadata, resourceVersion: recreated.metadata.resourceVersion };
    api.say({ type: 'DELETED', object: { ...old, metadata: late } });
    await clock.advance(0);

    expect(reflector.get('a', 'one')?.metadata.uid).toBe(recreated.metadata.uid);
    expect(told).toHaveLength(3);
  });

  it('never goes back in time: an older form ends the stream, and a list says what is true', async () => {
    const { clock, admin, api, reflector, lists } = await started();
    const old = present(reflector.get('a', 'one'));
    await admin.replace(things, 'a', 'one', { ...old, spec: { size: 2 } });
    await clock.advance(0);

    api.say({ type: 'MODIFIED', object: old });
    await clock.advance(0);
    expect(reflector.get('a', 'one')?.spec).toEqual({ size: 2 });
    await clock.advance(5_000);

    expect(reflector.get('a', 'one')?.spec).toEqual({ size: 2 });
    expect(lists).toEqual(['start', 'backwards']);
  });

  it('tells an event once when the server repeats it', async () => {
    const { clock, admin, api, told } = await started();
    const two = await admin.create(things, 'a', thing('two'));
    await clock.advance(0);

    api.say({ type: 'ADDED', object: two });
    await clock.advance(0);

    expect(told).toHaveLength(2);
  });

  it('notices that the cluster was restored from a backup, and accepts the new world', async () => {
    const { clock, cluster, admin, reflector, told, rewinds } = await started();
    const backup = cluster.snapshot();
    await admin.create(things, 'a', thing('lost'));
    await clock.advance(0);

    cluster.restore(backup);
    await clock.advance(5_000);

    expect(rewinds()).toBe(1);
    expect(held(reflector)).toEqual(inCluster(cluster));
    expect(told.slice(2).map((line) => line.split(' ', 2).join(' '))).toEqual(['gone lost', 'applied one']);
    await admin.create(things, 'a', thing('next'));
    await clock.advance(0);
    expect(held(reflector)).toEqual(inCluster(cluster));
    expect(rewinds()).toBe(1);
  });

  it('notices a restore even where a silent watch is all that it sees of it', async () => {
    const { clock, cluster, admin, api, reflector, rewinds } = await started();
    const backup = cluster.snapshot();
    await admin.create(things, 'a', thing('lost'));
    await clock.advance(0);
    api.mute();

    cluster.restore(backup);
    await clock.advance(120_000);

    expect(rewinds()).toBe(1);
    expect(held(reflector)).toEqual(inCluster(cluster));
  });

  it('notices a restore that has overtaken it, where an object is older than it was', async () => {
    const { clock, cluster, admin, reflector, rewinds } = await started();
    const backup = cluster.snapshot();
    const one = present(await admin.get(things, 'a', 'one'));
    await admin.replace(things, 'a', 'one', { ...one, spec: { size: 2 } });
    await clock.advance(0);

    cluster.restore(backup);
    cluster.skipVersions(100);
    cluster.compact();
    await clock.advance(10_000);

    expect(rewinds()).toBe(1);
    expect(held(reflector)).toEqual(inCluster(cluster));
  });

  it('tells everything again when it is told that the cluster went back in time, even after a failed try', async () => {
    const { clock, api, reflector, told, lists, rewinds } = await started();
    api.inject({ verb: 'list', effect: 'before', outcome: 'unavailable' });

    reflector.rewound();
    await clock.advance(10_000);

    expect(lists).toEqual(['start', 'rewind', 'rewind']);
    expect(told).toHaveLength(2);
    expect(rewinds()).toBe(0);
    expect(api.openWatches).toBe(1);
  });

  it('goes on when a listener throws, and says that it is a bug', async () => {
    const seen: string[] = [];
    const { clock, admin, log } = await started({
      onEvent: ({ object }) => {
        seen.push(object.metadata.name);
        throw new Error('a listener failed');
      },
    });

    await admin.create(things, 'a', thing('two'));
    await clock.advance(0);

    expect(seen).toEqual(['one', 'two']);
    expect(log.bugs).toHaveLength(2);
  });
});
