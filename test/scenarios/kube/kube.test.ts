import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { KubeObject, Resource } from '../../../src/engine/ports.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { EventPublisher, eventResource } from '../../../src/kube/events.ts';
import { KubeMaterial, secretResource } from '../../../src/kube/material.ts';
import { Reflector } from '../../../src/kube/reflector.ts';
import { KubeObjectWriter } from '../../../src/kube/object-writer.ts';
import { present, thing, things } from '../../kube/example.ts';
import { CollectedLog } from '../../support/collected-log.ts';
import { realClock, realEntropy } from '../../support/real-time.ts';
import { defineThings, kubeAt, ownNamespace } from '../support/kube.ts';
import { eventually, kubectl, sharedKubernetes } from '../support/kubernetes.ts';
import { Witness } from '../support/witness.ts';

/** The client under test. */
let api: KubeClient;
let witness: Witness;
let namespace: { readonly name: string; readonly remove: () => Promise<void> };

beforeAll(async () => {
  api = await kubeAt(sharedKubernetes().kubeconfigPath);
  witness = new Witness(sharedKubernetes());
  await defineThings(api);
  namespace = await ownNamespace(api);
});

afterAll(async () => {
  await namespace.remove();
  await Promise.all([api.close(), witness.close()]);
});

const log = new CollectedLog();
const common = { clock: realClock, entropy: realEntropy, log };

/** A change of what is there, whoever else is at it. */
async function edit(resource: Resource, name: string, change: (object: KubeObject) => object): Promise<void> {
  await eventually(`${name} is edited`, async () => {
    const object = present(await witness.get(resource, namespace.name, name));
    return witness.replace(resource, namespace.name, name, { ...object, ...change(object) }).then(
      () => true,
      () => false,
    );
  });
}

describe('the reflector', () => {
  it('keeps up with ten writers over many pages', async () => {
    const seen = new Map<string, string>();
    const reflector = new Reflector({
      ...common,
      api,
      resource: things,
      namespace: namespace.name,
      pace: { pageSize: 50 },
      onEvent: ({ is, object }) => {
        if (is === 'gone') seen.delete(object.metadata.name);
        else seen.set(object.metadata.name, object.metadata.resourceVersion);
      },
    });
    onTestFinished(() => reflector.stop());
    const many = Array.from({ length: 220 }, (_, at) => `churn-${at}`);
    await Promise.all(many.map((name) => witness.create(things, namespace.name, thing(name))));
    reflector.start();
    await reflector.synced;
    expect([...reflector.values()]).toHaveLength(220);

    const writers = Array.from({ length: 10 }, async (_, writer) => {
      for (let round = 0; round < 20; round += 1) {
        const name = `churn-${writer * 20 + round}`;
        if (round % 3 === 0) await witness.delete(things, namespace.name, name);
        if (round % 6 === 0) await witness.create(things, namespace.name, thing(name, { size: round }));
        if (round % 3 === 1) await edit(things, name, () => ({ spec: { size: 100 + round } }));
      }
    });
    await Promise.all(writers);
    const marker = await witness.create(things, namespace.name, thing('churn-end'));
    await eventually('the last change is seen', async () => seen.get('churn-end') === marker.metadata.resourceVersion);

    const { items } = await api.list(things, { namespace: namespace.name, limit: 1_000 });
    expect(new Map([...reflector.values()].map((o) => [o.metadata.uid, o.metadata.resourceVersion]))).toEqual(
      new Map(items.map((o) => [o.metadata.uid, o.metadata.resourceVersion])),
    );
    expect(seen).toEqual(new Map(items.map((o) => [o.metadata.name, o.metadata.resourceVersion])));
    expect(log.bugs).toEqual([]);
  });

  it('ends in time though a watch is open', async () => {
    const reflector = new Reflector({ ...common, api, resource: things, onEvent: () => undefined });
    reflector.start();
    await reflector.synced;

    const before = performance.now();
    await reflector.stop();

    // By itself a watch ends after minutes.
    expect(performance.now() - before).toBeLessThan(60_000);
  });
});

describe('the object writer', () => {
  const writerOf = () => new KubeObjectWriter({ ...common, api, resourceOf: () => things });

  it('writes over what it saw, once', async () => {
    const writer = writerOf();
    const made = await witness.create(things, namespace.name, thing('status'));

    const written = await writer.writeStatus(made, { phase: 'Ready', list: [1, { a: undefined, b: 2 }] });

    expect(written.is).toBe('written');
    const live = present(await witness.get(things, namespace.name, 'status'));
    expect(await writer.writeStatus(live, { phase: 'Ready', list: [1, { b: 2 }] })).toEqual({
      is: 'written',
      object: live,
    });
    expect((await writer.writeStatus(made, { phase: 'Other' })).is).toBe('conflict');
    await witness.delete(things, namespace.name, 'status');
    expect((await writer.writeStatus(live, { phase: 'Other' })).is).toBe('gone');
  });

  it('commits an id against a writer who is always faster, and never into a namesake', async () => {
    const writer = writerOf();
    const made = await witness.create(things, namespace.name, thing('id'));
    let busy = true;
    const rival = (async () => {
      for (let size = 0; busy; size += 1) await edit(things, 'id', () => ({ spec: { size } }));
    })();

    const committed = await writer.commitStatus(made, () => ({ id: 'env-1' }));
    busy = false;
    await rival;

    expect(committed.is).toBe('written');
    expect((await witness.get(things, namespace.name, 'id'))?.status).toEqual({ id: 'env-1' });
    await witness.delete(things, namespace.name, 'id');
    await witness.create(things, namespace.name, thing('id'));
    expect((await writer.commitStatus(made, () => ({ id: 'env-1' }))).is).toBe('gone');
    expect((await witness.get(things, namespace.name, 'id'))?.status).toBeUndefined();
  });
});

describe('events', () => {
  it('are accepted, become a series, and are shown by kubectl', async () => {
    const drops: string[] = [];
    const publisher = new EventPublisher({
      ...common,
      api,
      controller: 'apphosting.dev/operator',
      instance: 'operator-0',
      onDrop: (why) => drops.push(why),
    });
    const regarding = await witness.create(things, namespace.name, thing('noted'));
    const event = { regarding, type: 'Warning', reason: 'Contested', action: 'Update' } as const;

    for (let times = 0; times < 3; times += 1) publisher.record({ ...event, note: 'Field "name" was changed back.' });
    publisher.record({ ...event, note: 'é'.repeat(2_000) });
    await publisher.close(60_000);

    const { items } = await api.list(eventResource, { namespace: namespace.name, limit: 100 });
    const ours = items.filter((item) => item['reason'] === 'Contested');
    expect(ours).toHaveLength(2);
    expect(ours.map((item) => item['series'])).toContainEqual(expect.objectContaining({ count: 3 }));
    expect(drops).toEqual([]);
    const shown = await kubectl(sharedKubernetes(), 'events', '-n', namespace.name, '--for', 'Thing/noted');
    expect(shown).toContain('Field "name" was changed back.');
    expect(shown).toContain('(x3 over');
  });

  it('about objects of the whole cluster stand in the default namespace', async () => {
    const publisher = new EventPublisher({ ...common, api, controller: 'apphosting.dev/operator', instance: 'a' });
    const spaces = { group: '', version: 'v1', plural: 'namespaces', namespaced: false };
    const regarding = present(await witness.get(spaces, undefined, namespace.name));

    publisher.record({ regarding, type: 'Normal', reason: 'Seen', action: 'Look', note: 'It is there.' });
    await publisher.close(60_000);

    const { items } = await api.list(eventResource, { namespace: 'default', limit: 500 });
    expect(items.some(({ metadata }) => metadata.name.startsWith(`${namespace.name}.`))).toBe(true);
  });
});

describe('Secrets', () => {
  it('are read as they are now, with one request for many askers, and changes are told', async () => {
    const changes: string[] = [];
    const material = new KubeMaterial({
      ...common,
      api,
      watch: 'on',
      namespace: namespace.name,
      isUsed: () => true,
      onChanged: ({ kind, name }) => changes.push(`${kind} ${name}`),
    });
    onTestFinished(() => material.stop());
    const secret = (token: string): object => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'credentials' },
      data: { token: Buffer.from(token).toString('base64') },
    });
    await witness.create(secretResource, namespace.name, secret('first'));
    material.start();
    await Promise.all(material.reflectors.map(({ synced }) => synced));
    const read = async (): Promise<string | undefined> =>
      (await material.secret(namespace.name, 'credentials'))?.get('token')?.reveal();

    expect(await Promise.all([read(), read(), read()])).toEqual(['first', 'first', 'first']);
    await witness.replace(secretResource, namespace.name, 'credentials', secret('second'));
    await eventually('the change is told', async () => changes.includes('Secret credentials'));
    expect(await read()).toBe('second');
    await witness.delete(secretResource, namespace.name, 'credentials');
    await eventually('the deletion is told', async () => changes.length >= 2);
    expect(await material.secret(namespace.name, 'credentials')).toBeUndefined();
    const kept = [...material.reflectors].flatMap((reflector) => [...reflector.values()]);
    expect(JSON.stringify(kept)).not.toContain(Buffer.from('second').toString('base64'));
  });
});
