import { describe, expect, it } from 'vitest';
import type { KubeReason } from '../../src/engine/ports.ts';
import { KubeObjectWriter } from '../../src/kube/object-writer.ts';
import { sameJson } from '../../src/base/json.ts';
import { CollectedLog } from '../support/collected-log.ts';
import { MemoryCluster } from '../support/memory/memory-cluster.ts';
import { MemoryKube } from '../support/memory/memory-kube.ts';
import { SeededEntropy } from '../../src/cli/in-memory/virtual-clock.ts';
import { SuspendableClock } from '../support/suspendable-clock.ts';
import { present, thing, things } from './example.ts';

async function scene() {
  const clock = new SuspendableClock();
  const cluster = new MemoryCluster(clock);
  const admin = new MemoryKube(cluster);
  const api = new MemoryKube(cluster);
  const log = new CollectedLog();
  const resourceOf = () => things;
  const writer = new KubeObjectWriter({ api, clock, entropy: new SeededEntropy(), log, resourceOf });
  const made = await admin.create(things, 'a', thing('one'));
  const statusNow = (): unknown => cluster.get(things, 'a', 'one')?.status;
  const edit = async (): Promise<void> => {
    const live = present(await admin.get(things, 'a', 'one'));
    await admin.replace(things, 'a', 'one', { ...live, spec: { size: cluster.version } });
  };
  return { clock, cluster, admin, api, log, writer, made, statusNow, edit };
}

describe('a write of status', () => {
  it('costs nothing where the status is there already', async () => {
    const { writer, api, made } = await scene();
    const written = await writer.writeStatus(made, { phase: 'Ready', none: undefined });
    if (written.is !== 'written') throw new Error('it is not written');

    const again = await writer.writeStatus(written.object, { none: undefined, phase: 'Ready' });

    expect(again).toEqual(written);
    expect(api.calls).toHaveLength(1);
  });

  it('never overwrites what the writer did not see', async () => {
    const { writer, made, edit, statusNow } = await scene();
    await edit();

    expect((await writer.writeStatus(made, { phase: 'Ready' })).is).toBe('conflict');
    expect(statusNow()).toBeUndefined();
  });

  it('throws what the caller cannot expect', async () => {
    const { writer, api, made } = await scene();
    api.inject({ effect: 'after', outcome: 'unavailable' });

    await expect(writer.writeStatus(made, { phase: 'Ready' })).rejects.toMatchObject({ reason: 'unavailable' });
  });
});

describe('committing an id', () => {
  const faults: readonly { readonly outcome: KubeReason | 'timeout'; readonly effect: 'before' | 'after' }[] = [
    { outcome: 'conflict', effect: 'before' },
    { outcome: 'unavailable', effect: 'before' },
    { outcome: 'unavailable', effect: 'after' },
    { outcome: 'throttled', effect: 'before' },
    { outcome: 'unauthorized', effect: 'before' },
    { outcome: 'forbidden', effect: 'before' },
    { outcome: 'timeout', effect: 'before' },
    { outcome: 'timeout', effect: 'after' },
  ];

  it.for(faults)('goes on until it is there when calls end with $outcome $effect the effect', async (fault) => {
    const { writer, api, made, clock, statusNow, edit } = await scene();
    api.inject({ ...fault, times: 7 });
    await edit();

    const committed = writer.commitStatus(made, () => ({ id: 'env-1' }));
    await clock.advance(600_000);

    expect((await committed).is).toBe('written');
    expect(statusNow()).toEqual({ id: 'env-1' });
  });

  it('writes over the newest form, with what the caller makes of it', async () => {
    const { writer, made, edit, statusNow } = await scene();
    await edit();

    const statusOver = ({ spec }: { spec?: unknown }): object => ({ id: 'env-1', of: spec });
    await writer.commitStatus(made, statusOver);

    expect(statusNow()).toMatchObject({ id: 'env-1', of: { size: expect.any(Number) } });
  });

  it('ends where the journal is not its own any more, or the object is another one', async () => {
    const { writer, made, admin, statusNow } = await scene();

    expect((await writer.commitStatus(made, () => undefined)).is).toBe('conflict');
    await admin.delete(things, 'a', 'one');
    const gone = writer.commitStatus(made, () => ({ id: 'env-1' }));
    expect((await gone).is).toBe('gone');
    await admin.create(things, 'a', thing('one'));
    const namesake = writer.commitStatus(made, () => ({ id: 'env-1' }));
    expect((await namesake).is).toBe('gone');
    expect(statusNow()).toBeUndefined();
  });

  it('gives up on a status that the schema refuses, and says why', async () => {
    const { writer, api, made, clock } = await scene();
    api.inject({ verb: 'replaceStatus', times: 100, effect: 'before', outcome: 'invalid' });

    const committed = writer.commitStatus(made, () => ({ id: 'env-1' })).catch(String);
    await clock.advance(120_000);

    expect(await committed).toMatch(
      /^Error: the answer of the service cannot be written to the status of the object: .*invalid/,
    );
  });

  it('lets a mistake of its caller be seen', async () => {
    const { writer, made } = await scene();
    const statusOver = (): never => {
      throw new TypeError('a mistake');
    };

    await expect(writer.commitStatus(made, statusOver)).rejects.toThrow('a mistake');
  });
});

describe('a finalizer', () => {
  it('keeps those of others, and costs nothing where it is there or gone already', async () => {
    const { api, admin, writer } = await scene();
    const made = await admin.create(things, 'a', thing('two', {}, { finalizers: ['example.com/a', 'example.com/b'] }));

    const held = await writer.hold(made);
    if (held.is !== 'written') throw new Error('it is not held');
    expect(held.object.metadata.finalizers).toEqual(['example.com/a', 'example.com/b', 'apphosting.dev/hosting']);
    expect(await writer.hold(held.object)).toEqual(held);
    const released = await writer.release(held.object);
    expect(released).toMatchObject({ object: { metadata: { finalizers: ['example.com/a', 'example.com/b'] } } });
    expect(await writer.release(made)).toEqual({ is: 'written', object: made });
    expect(api.calls).toHaveLength(2);
  });
});

describe('the same JSON', () => {
  const pairs: readonly (readonly [unknown, unknown, boolean])[] = [
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [{ a: undefined }, {}, true],
    [{ a: null }, {}, false],
    [[1, 2], [2, 1], false],
    [[undefined], [null], true],
    [{}, [], false],
    [undefined, {}, false],
    ['1', 1, false],
    [{ a: { b: [1, { c: 'x' }] } }, { a: { b: [1, { c: 'x' }] } }, true],
    [{ a: { b: [1, { c: 'x' }] } }, { a: { b: [1, { c: 'y' }] } }, false],
    [{ a: 1 }, { b: 1 }, false],
  ];

  it.for(pairs)('%j and %j: %s', ([a, b, same]) => {
    expect(sameJson(a, b)).toBe(same);
    expect(sameJson(b, a)).toBe(same);
  });
});
