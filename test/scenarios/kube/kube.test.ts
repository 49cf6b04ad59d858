import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { KubeObject, Resource } from '../../../src/engine/ports.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { EventPublisher, eventResource } from '../../../src/kube/events.ts';
import { Reflector } from '../../../src/kube/reflector.ts';
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
