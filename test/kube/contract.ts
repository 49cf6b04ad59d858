/**
 * What the Kubernetes API does, as far as the operator relies on it. The same sequences run against the double in memory and
 * against a real API server, so that what is proved on the double holds.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KubeApi, KubeError, type KubeObject, type KubeReason, type WatchEvent } from '../../src/engine/ports.ts';
import { KubeObjectWriter } from '../../src/kube/object-writer.ts';
import { eventResource } from '../../src/kube/events.ts';
import { leaseResource } from '../../src/kube/lease.ts';
import { isOlderVersion, isVersion } from '../../src/base/json.ts';
import { CollectedLog } from '../support/collected-log.ts';
import { realClock, realEntropy } from '../support/real-time.ts';
import { present, thing, things } from './example.ts';

/** A cluster that has the `things` of `example.ts`, and a namespace in it that is empty. */
export interface OpenedCluster {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly close: () => Promise<void>;
}

/** The reason for which a call is refused. */
async function reasonOf(call: Promise<unknown>): Promise<KubeReason | 'done'> {
  try {
    await call;
    return 'done';
  } catch (error) {
    if (error instanceof KubeError) return error.reason;
    throw error;
  }
}

/** The first events of a watch, up to one that is wanted. */
async function eventsUntil(
  cluster: OpenedCluster,
  resourceVersion: string,
  last: (event: WatchEvent) => boolean,
  labelSelector?: string,
): Promise<WatchEvent[]> {
  const ending = new AbortController();
  const events: WatchEvent[] = [];
  const options = { namespace: cluster.namespace, resourceVersion, timeoutSeconds: 20, signal: ending.signal };
  for await (const event of cluster.api.watch(things, {
    ...options,
    ...(labelSelector !== undefined && { labelSelector }),
  })) {
    if (event.type === 'BOOKMARK') continue;
    events.push(event);
    if (last(event)) break;
  }
  ending.abort();
  return events;
}

function namesOf(events: readonly WatchEvent[]): string[] {
  return events.map((event) => ('object' in event ? `${event.type} ${event.object.metadata.name}` : event.type));
}

function statusOver(seen: KubeObject, status: object): Record<string, unknown> {
  const { name, namespace, uid, resourceVersion } = seen.metadata;
  const { apiVersion, kind } = seen;
  return { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion }, status };
}

export function describeKubeContract(open: () => Promise<OpenedCluster>): void {
  let cluster: OpenedCluster;
  beforeAll(async () => {
    cluster = await open();
  });
  afterAll(async () => {
    await cluster.close();
  });
  const create = (name: string, spec?: object, metadata?: object): Promise<KubeObject> =>
    cluster.api.create(things, cluster.namespace, thing(name, spec, metadata));
  const get = (name: string): Promise<KubeObject | undefined> => cluster.api.get(things, cluster.namespace, name);

  describe('an object', () => {
    it('is undefined where it does not exist', async () => {
      expect(await get('nowhere')).toBeUndefined();
    });

    it('gets an identity when it is created, and keeps no status that came with it', async () => {
      const made = await cluster.api.create(things, cluster.namespace, { ...thing('fresh'), status: { phase: 'x' } });

      expect(made.metadata.uid).not.toBe('');
      expect(isVersion(made.metadata.resourceVersion)).toBe(true);
      expect(made.metadata.generation).toBe(1);
      expect(made.metadata.namespace).toBe(cluster.namespace);
      expect(made.status).toBeUndefined();
      expect(await get('fresh')).toEqual(made);
    });

    it('is refused with a name that is none', async () => {
      for (const name of ['Capital', 'under_score', 'ends-', `${'x'.repeat(250)}.${'y'.repeat(10)}`]) {
        expect([name, await reasonOf(create(name))]).toEqual([name, 'invalid']);
      }
    });

    it('is created once', async () => {
      await create('twice');

      expect(await reasonOf(create('twice'))).toBe('exists');
    });

    it('is refused where it says nothing about what it is', async () => {
      expect(await reasonOf(cluster.api.create(things, cluster.namespace, { metadata: { name: 'a' } }))).toBe(
        'invalid',
      );
    });

    it('is not created with a resourceVersion: the API server answers 500', async () => {
      expect(await reasonOf(create('early', {}, { resourceVersion: '5' }))).toBe('unavailable');
      expect(await get('early')).toBeUndefined();
    });

    it('gets a new generation with a new spec only', async () => {
      const made = await create('generations');
      const edited = await cluster.api.replace(things, cluster.namespace, 'generations', {
        ...made,
        spec: { size: 2 },
      });
      const labels = { ...edited.metadata, labels: { a: 'b' } };
      const labelled = await cluster.api.replace(things, cluster.namespace, 'generations', {
        ...edited,
        metadata: labels,
      });

      expect(edited.metadata.generation).toBe(2);
      expect(labelled.metadata.generation).toBe(2);
      expect(labelled.metadata.labels).toEqual({ a: 'b' });
      expect(isOlderVersion(edited.metadata.resourceVersion, labelled.metadata.resourceVersion)).toBe(true);
    });

    it('keeps its version when nothing changes', async () => {
      const made = await create('idle');

      const same = await cluster.api.replace(things, cluster.namespace, 'idle', made);

      expect(same.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
    });

    it('is not replaced without a version, in another version, or under another uid', async () => {
      const made = await create('fenced');
      const { name, namespace, uid, resourceVersion } = made.metadata;
      const put = (metadata: object): Promise<KubeObject> =>
        cluster.api.replace(things, cluster.namespace, 'fenced', { ...made, spec: { size: 3 }, metadata });

      expect(await reasonOf(put({ name, namespace }))).toBe('invalid');
      expect(await reasonOf(put({ name, namespace, resourceVersion: '1' }))).toBe('conflict');
      expect(await reasonOf(put({ name, namespace, uid: 'other', resourceVersion }))).toBe('conflict');
      expect(await reasonOf(put({ name, namespace, uid, resourceVersion }))).toBe('done');
    });

    it('cannot be replaced, patched or deleted where it does not exist', async () => {
      const metadata = { resourceVersion: '1' };
      const absent = thing('absent', {}, metadata);

      expect(await reasonOf(cluster.api.replace(things, cluster.namespace, 'absent', absent))).toBe('notFound');
      expect(await reasonOf(cluster.api.replaceStatus(things, cluster.namespace, 'absent', absent))).toBe('notFound');
      expect(await reasonOf(cluster.api.patch(things, cluster.namespace, 'absent', []))).toBe('notFound');
      expect(await reasonOf(cluster.api.delete(things, cluster.namespace, 'absent'))).toBe('notFound');
    });
  });

  describe('status', () => {
    it('is written by itself, and touches neither spec nor generation nor metadata', async () => {
      const made = await create('status');

      const body = { ...statusOver(made, { phase: 'Ready' }), spec: { size: 99 } };
      const written = await cluster.api.replaceStatus(things, cluster.namespace, 'status', body);

      expect(written.status).toEqual({ phase: 'Ready' });
      expect(written.spec).toEqual(made.spec);
      expect(written.metadata.generation).toBe(1);
      expect(isOlderVersion(made.metadata.resourceVersion, written.metadata.resourceVersion)).toBe(true);
    });

    it('is not touched by a write of the object', async () => {
      const made = await create('kept');
      const ready = await cluster.api.replaceStatus(
        things,
        cluster.namespace,
        'kept',
        statusOver(made, { phase: 'A' }),
      );

      const edited = { ...ready, spec: { size: 5 }, status: { phase: 'B' } };
      const written = await cluster.api.replace(things, cluster.namespace, 'kept', edited);

      expect(written.status).toEqual({ phase: 'A' });
    });

    it('is refused over another version and for a recreated namesake', async () => {
      const first = await create('namesake');
      await cluster.api.delete(things, cluster.namespace, 'namesake');
      const second = await create('namesake');
      const stale = statusOver(first, { phase: 'A' });
      const mixed = statusOver(
        { ...second, metadata: { ...second.metadata, uid: first.metadata.uid } },
        { phase: 'A' },
      );

      expect(await reasonOf(cluster.api.replaceStatus(things, cluster.namespace, 'namesake', stale))).toBe('conflict');
      expect(await reasonOf(cluster.api.replaceStatus(things, cluster.namespace, 'namesake', mixed))).toBe('conflict');
    });
  });

  describe('a JSON patch', () => {
    it('applies as a whole, or not at all', async () => {
      const made = await create('patched');
      const test = { op: 'test', path: '/metadata/uid', value: 'other' } as const;
      const change = { op: 'replace', path: '/spec/size', value: 7 } as const;

      expect(await reasonOf(cluster.api.patch(things, cluster.namespace, 'patched', [change, test]))).toBe('conflict');
      expect((await get('patched'))?.spec).toEqual({ size: 1 });
      const passing = { ...test, value: made.metadata.uid };
      const patched = await cluster.api.patch(things, cluster.namespace, 'patched', [passing, change]);
      expect(patched.spec).toEqual({ size: 7 });
      expect(patched.metadata.generation).toBe(2);
    });

    it('of something that is not there means look again', async () => {
      await create('hollow');
      const remove = { op: 'remove', path: '/metadata/annotations' } as const;

      expect(await reasonOf(cluster.api.patch(things, cluster.namespace, 'hollow', [remove]))).toBe('conflict');
    });
  });

  describe('a finalizer', () => {
    const writer = () =>
      new KubeObjectWriter({
        api: cluster.api,
        clock: realClock,
        entropy: realEntropy,
        log: new CollectedLog(),
        resourceOf: () => things,
      });

    it('keeps a deleted object until it is released', async () => {
      const made = await create('held');
      await writer().hold(made);

      await cluster.api.delete(things, cluster.namespace, 'held');

      const going = present(await get('held'));
      expect(going.metadata.deletionTimestamp).toBeDefined();
      expect(going.metadata.generation).toBe(2);
      expect((await writer().release(going)).is).toBe('written');
      expect(await get('held')).toBeUndefined();
    });

    it('is not added to an object that is being deleted', async () => {
      const made = await create('late');
      await writer().hold(made);
      await cluster.api.delete(things, cluster.namespace, 'late');
      const going = present(await get('late'));

      const another = [...(going.metadata.finalizers ?? []), 'contract.apphosting.dev/hold'];
      const added = cluster.api.patch(things, cluster.namespace, 'late', [
        { op: 'add', path: '/metadata/finalizers', value: another },
      ]);

      expect(await reasonOf(added)).toBe('invalid');
      await writer().release(going);
    });

    it('is written only over the form that was seen', async () => {
      const made = await create('moved');
      const edited = { ...made, spec: { size: 2 } };
      await cluster.api.replace(things, cluster.namespace, 'moved', edited);

      expect((await writer().hold(made)).is).toBe('conflict');
      await cluster.api.delete(things, cluster.namespace, 'moved');
      expect((await writer().hold(made)).is).toBe('gone');
    });
  });

  describe('a list', () => {
    it('comes in pages of one version, in order, by label, and as metadata', async () => {
      const labels = { list: 'pages' };
      for (const name of ['page-c', 'page-a', 'page-e', 'page-b', 'page-d'])
        await create(name, { size: 1 }, { labels });
      const options = { namespace: cluster.namespace, limit: 2, labelSelector: 'list=pages' };

      const names: string[] = [];
      const versions = new Set<string>();
      let token: string | undefined;
      do {
        const page = await cluster.api.list(things, { ...options, ...(token !== undefined && { continue: token }) });
        names.push(...page.items.map(({ metadata }) => metadata.name));
        versions.add(page.resourceVersion);
        // What happens between two pages is not seen in them.
        if (token === undefined) await create('page-bb', { size: 1 }, { labels });
        token = page.continue;
      } while (token !== undefined);

      expect(names).toEqual(['page-a', 'page-b', 'page-c', 'page-d', 'page-e']);
      expect(versions.size).toBe(1);
      const metadata = await cluster.api.list(things, { ...options, limit: 500, metadataOnly: true });
      expect(metadata.items).toHaveLength(6);
      expect(metadata.items.every((item) => item.spec === undefined && item.kind === 'PartialObjectMetadata')).toBe(
        true,
      );
    });
  });

  describe('a watch', () => {
    it('tells everything after a version, in order', async () => {
      const { resourceVersion } = await cluster.api.list(things, { namespace: cluster.namespace, limit: 1 });
      const made = await create('watched');
      await cluster.api.replaceStatus(things, cluster.namespace, 'watched', statusOver(made, { phase: 'Ready' }));
      await cluster.api.delete(things, cluster.namespace, 'watched');

      const events = await eventsUntil(cluster, resourceVersion, ({ type }) => type === 'DELETED');

      expect(namesOf(events)).toEqual(['ADDED watched', 'MODIFIED watched', 'DELETED watched']);
      const versions = events.map((event) => ('object' in event ? event.object.metadata.resourceVersion : ''));
      expect(versions.slice(1).map((version, at) => isOlderVersion(versions[at] ?? '', version))).toEqual([true, true]);
    });

    it('of metadata tells nothing else', async () => {
      const { resourceVersion } = await cluster.api.list(things, { namespace: cluster.namespace, limit: 1 });
      const made = await create('bare');
      await cluster.api.delete(things, cluster.namespace, 'bare');
      const ending = new AbortController();
      const options = { namespace: cluster.namespace, resourceVersion, timeoutSeconds: 20, signal: ending.signal };
      const seen: unknown[] = [];
      for await (const event of cluster.api.watch(things, { ...options, metadataOnly: true })) {
        if (event.type === 'BOOKMARK' || !('object' in event)) continue;
        const { kind, metadata, spec } = event.object;
        seen.push([event.type, kind, metadata.uid === made.metadata.uid, spec]);
        if (event.type === 'DELETED') break;
      }
      ending.abort();

      expect(seen).toEqual([
        ['ADDED', 'PartialObjectMetadata', true, undefined],
        ['DELETED', 'PartialObjectMetadata', true, undefined],
      ]);
    });

    it('tells of a label selector what comes in and what goes out', async () => {
      const { resourceVersion } = await cluster.api.list(things, { namespace: cluster.namespace, limit: 1 });
      const made = await create('outside', { size: 1 }, { labels: { shard: 'b' } });
      const inside = { ...made, metadata: { ...made.metadata, labels: { shard: 'a' } } };
      const moved = await cluster.api.replace(things, cluster.namespace, 'outside', inside);
      const out = { ...moved, metadata: { ...moved.metadata, labels: { shard: 'b' } } };
      await cluster.api.replace(things, cluster.namespace, 'outside', out);

      const events = await eventsUntil(cluster, resourceVersion, ({ type }) => type === 'DELETED', 'shard=a');

      expect(namesOf(events)).toEqual(['ADDED outside', 'DELETED outside']);
    });
  });

  describe('an Event', () => {
    const event = (name: string, fields: object = {}): Record<string, unknown> => ({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace: cluster.namespace },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'apphosting.dev/contract',
      reportingInstance: 'one',
      regarding: { apiVersion: 'v1', kind: 'Thing', name: 'a', namespace: cluster.namespace },
      type: 'Normal',
      reason: 'Tried',
      action: 'Try',
      note: 'é'.repeat(512),
      ...fields,
    });
    const record = (name: string, fields?: object) =>
      cluster.api.create(eventResource, cluster.namespace, event(name, fields));

    it('is refused where the API server has a bound that the definitions do not show', async () => {
      const rows: readonly (readonly [string, object])[] = [
        ['long-note', { note: 'é'.repeat(513) }],
        ['odd-type', { type: 'Odd' }],
        ['no-action', { action: '' }],
        ['long-action', { action: 'x'.repeat(129) }],
        ['no-reason', { reason: '' }],
        ['long-reason', { reason: 'x'.repeat(129) }],
        ['no-time', { eventTime: null }],
        ['no-reporter', { reportingController: '' }],
        ['odd-reporter', { reportingController: 'no reporter' }],
        ['no-instance', { reportingInstance: '' }],
        ['long-instance', { reportingInstance: 'x'.repeat(129) }],
      ];

      expect(await reasonOf(record('right'))).toBe('done');
      for (const [name, fields] of rows) {
        expect([name, await reasonOf(record(name, fields))]).toEqual([name, 'invalid']);
      }
    });
  });

  describe('a Lease', () => {
    const lease = (name: string, metadata: object = {}): Record<string, unknown> => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, ...metadata },
      spec: { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' },
    });

    it('is replaced only in the version that was seen', async () => {
      const made = await cluster.api.create(leaseResource, cluster.namespace, lease('contract'));
      const { uid, resourceVersion } = made.metadata;
      const put = (metadata: object): Promise<KubeObject> =>
        cluster.api.replace(leaseResource, cluster.namespace, 'contract', {
          ...lease('contract', metadata),
          spec: { leaseDurationSeconds: 1 },
        });

      expect(await reasonOf(put({ uid, resourceVersion: '1' }))).toBe('conflict');
      expect(await reasonOf(put({ uid: 'other', resourceVersion }))).toBe('conflict');
      const written = await put({ uid, resourceVersion });
      expect(written.spec).toEqual({ leaseDurationSeconds: 1 });
      await cluster.api.delete(leaseResource, cluster.namespace, 'contract');
      expect(await reasonOf(put(written.metadata))).toBe('conflict');
      expect(await cluster.api.get(leaseResource, cluster.namespace, 'contract')).toBeUndefined();
    });
  });
}
