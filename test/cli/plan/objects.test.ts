import { describe, expect, it } from 'vitest';
import { ObjectsInMemory } from '../../../src/cli/in-memory/objects.ts';
import { settle, VirtualClock } from '../../../src/cli/in-memory/virtual-clock.ts';
import { type CacheEvent, finalizer, type KubeObject } from '../../../src/engine/ports.ts';

const key = 'ContactPoint/team/on-call';
const contactPoint = (address = 'a@example.com'): KubeObject => ({
  apiVersion: 'apphosting.dev/v1alpha1',
  kind: 'ContactPoint',
  metadata: { name: 'on-call', namespace: 'team', uid: '', resourceVersion: '', creationTimestamp: '' },
  spec: { email: { addresses: [address] } },
});

/** Objects with one contact point in them, and what is told from now on. */
async function objectsWithOne() {
  const events: CacheEvent[] = [];
  const objects = new ObjectsInMemory(new VirtualClock(), (event) => events.push(event));
  objects.apply(contactPoint());
  await settle();
  events.splice(0);
  return { objects, events, one: () => objects.get(key) as KubeObject };
}

describe('objects in memory', () => {
  it('get a new generation with a new spec, keep their status, and tell of it', async () => {
    const { objects, events, one } = await objectsWithOne();
    await objects.writeStatus(one(), { externalId: 'cp_1' });

    objects.apply(contactPoint('b@example.com'));
    await settle();

    expect(one()).toMatchObject({ metadata: { generation: 2 }, status: { externalId: 'cp_1' } });
    expect(events).toEqual([{ is: 'applied', object: one(), initial: false }]);
  });

  it('begin with the generation that is given', async () => {
    const objects = new ObjectsInMemory(new VirtualClock(), () => undefined);
    const { metadata, ...rest } = contactPoint();

    objects.apply({ ...rest, metadata: { ...metadata, generation: 7 } });
    objects.apply(contactPoint('b@example.com'));

    expect(objects.get(key)).toMatchObject({ metadata: { generation: 8 } });
  });

  it('keep their spec when the engine writes an object of which it keeps none', async () => {
    const { objects, one } = await objectsWithOne();
    const { spec, ...withoutSpec } = one();

    await objects.writeStatus(withoutSpec, { externalId: 'cp_1' });

    expect(one()).toMatchObject({ metadata: { generation: 1 }, spec, status: { externalId: 'cp_1' } });
  });

  it('tell nothing where nothing changes, and nothing of what the engine writes', async () => {
    const { objects, events, one } = await objectsWithOne();

    objects.apply(contactPoint());
    await objects.hold(one());
    await objects.writeStatus(one(), {});
    await settle();

    expect(events).toEqual([]);
  });

  it('refuse a write by who has not seen the newest form, unless the write is made for that', async () => {
    const { objects, one } = await objectsWithOne();
    const seen = one();
    objects.apply(contactPoint('b@example.com'));

    const written = await objects.writeStatus(seen, { externalId: 'cp_1' });
    const committed = await objects.commitStatus(seen, () => ({ externalId: 'cp_1' }));

    expect(written).toEqual({ is: 'conflict' });
    expect(committed).toMatchObject({ is: 'written', object: { metadata: { generation: 2 } } });
  });

  it('are gone after their deletion as soon as nobody holds them', async () => {
    const { objects, events, one } = await objectsWithOne();
    await objects.hold(one());

    objects.delete(key);
    const held = one();
    await objects.release(held);
    await settle();

    expect(held.metadata).toMatchObject({ finalizers: [finalizer], generation: 2 });
    expect(events.map(({ is }) => is)).toEqual(['applied', 'gone']);
    expect(one()).toBeUndefined();
    expect(await objects.writeStatus(held, {})).toEqual({ is: 'gone' });
  });
});
