import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { BreakablePlane } from '../support/breakable-plane.ts';
import { temporaryFolder } from '../../src/sandbox/data-folder.ts';
import type { KubeObject } from '../../src/engine/ports.ts';
import type { KubeClient } from '../../src/kube/client/client.ts';
import { LeaseElection, leaseResource } from '../../src/kube/lease.ts';
import { type ListReason, Reflector } from '../../src/kube/reflector.ts';
import type { Limits } from '../../src/kube/client/transport.ts';
import { present, thing, things } from '../kube/example.ts';
import { CollectedLog } from '../support/collected-log.ts';
import { realClock, realEntropy } from '../support/real-time.ts';
import { definitions, defineThings, kubeAt, kubeconfigText, ownNamespace } from './support/kube.ts';
import { definedPlane, eventually, sharedKubernetes, type OwnPlane } from './support/kubernetes.ts';
import { type TcpGate, tcpGate } from './support/tcp-gate.ts';

/** What a scene needs to know of a control plane. */
type Plane = Pick<BreakablePlane, 'url' | 'ca' | 'adminToken' | 'kubeconfigPath'>;

interface Scene {
  readonly namespace: string;
  readonly admin: KubeClient;
  readonly gate: TcpGate;
  readonly reflector: Reflector;
  readonly lists: ListReason[];
  readonly log: CollectedLog;
  readonly rewinds: () => number;
  readonly create: (name: string) => Promise<KubeObject>;
  /** Waits until the reflector says that something is wrong. */
  readonly noticed: () => Promise<void>;
  /** Whether the reflector holds exactly what is there. */
  readonly agrees: () => Promise<boolean>;
}

/** A namespace with one object, and a reflector that watches it through a gate. */
async function sceneOn(plane: Plane, limits: Partial<Limits> = {}): Promise<Scene> {
  const folder = await temporaryFolder('tests');
  onTestFinished(folder.release);
  const gate = await tcpGate(Number(new URL(plane.url).port));
  onTestFinished(gate.close);
  const file = join(folder.dir, 'gated');
  const user = { token: plane.adminToken };
  await writeFile(file, kubeconfigText({ url: `https://127.0.0.1:${gate.port}`, ca: plane.ca, user }));
  const admin = await kubeAt(plane.kubeconfigPath);
  onTestFinished(() => admin.close());
  const api = await kubeAt(file, limits);
  onTestFinished(() => api.close());
  await defineThings(admin);
  const { name: namespace } = await ownNamespace(admin);
  const create = (name: string): Promise<KubeObject> => admin.create(things, namespace, thing(name));
  await create('one');
  const log = new CollectedLog();
  const lists: ListReason[] = [];
  let rewinds = 0;
  const reflector = new Reflector({
    api,
    resource: things,
    namespace,
    clock: realClock,
    entropy: realEntropy,
    log,
    pace: { backoff: { firstMs: 200, longestMs: 2_000, forgetMs: 120_000 } },
    onEvent: () => undefined,
    onRewind: () => (rewinds += 1),
    onList: (reason) => lists.push(reason),
  });
  onTestFinished(() => reflector.stop());
  reflector.start();
  await reflector.synced;
  const agrees = async (): Promise<boolean> => {
    const { items } = await admin.list(things, { namespace, limit: 500 });
    const versions = (objects: Iterable<KubeObject>): string =>
      [...objects]
        .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
        .toSorted()
        .join();
    return versions(reflector.values()) === versions(items);
  };
  const noticed = () => eventually('it has noticed', async () => reflector.problem() !== undefined);
  return { namespace, admin, gate, reflector, lists, log, rewinds: () => rewinds, create, noticed, agrees };
}

/** What the tests of this file break, one after the other. */
let plane: OwnPlane;

beforeAll(async () => {
  plane = await definedPlane();
});

afterAll(() => plane.stop());

/** The same on a control plane that the test may break, with a copy of its data as of now. */
async function ownScene(): Promise<Scene & { readonly plane: BreakablePlane; readonly copy: string }> {
  const scene = await sceneOn(plane);
  const folder = await temporaryFolder('tests');
  onTestFinished(folder.release);
  const copy = join(folder.dir, 'copy');
  await plane.copyEtcd(copy);
  return { ...scene, plane, copy };
}

function succeeds(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  );
}

describe('the reflector on a control plane that fails', () => {
  it('notices that etcd was restored from an older copy, and goes on in the new world', async () => {
    const { plane, copy, create, rewinds, lists, agrees } = await ownScene();
    for (let at = 0; at < 300; at += 1) await create(`lost-${at}`);
    await eventually('it agrees', agrees);

    await plane.restoreEtcd(copy);

    await eventually('it heard of it', async () => rewinds() === 1);
    await eventually('it agrees', agrees);
    expect(lists).toEqual(['start', 'rewind']);
    await create('next');
    await eventually('it agrees', agrees);
    expect(rewinds()).toBe(1);
  });

  it('notices a restore by one lost edit, and the lease by itself, though the cluster has overtaken them', async () => {
    const { plane, namespace, admin, rewinds, agrees } = await ownScene();
    let told = 0;
    const lease = new LeaseElection({
      api: admin,
      clock: realClock,
      entropy: realEntropy,
      log: new CollectedLog(),
      namespace,
      name: 'leader',
      identity: 'one',
      pace: { retryMs: 500, missingMs: 500 },
      onAcquired: () => undefined,
      onLost: () => undefined,
      onRewind: () => (told += 1),
    });
    onTestFinished(() => lease.stop());
    lease.start();
    await eventually('it leads', async () => lease.mayAct() === undefined);
    const folder = await temporaryFolder('tests');
    onTestFinished(folder.release);
    await plane.copyEtcd(join(folder.dir, 'copy'));
    const one = present(await admin.get(things, namespace, 'one'));
    await admin.replace(things, namespace, 'one', { ...one, spec: { size: 2 } });
    await eventually('it agrees', agrees);
    const renewed = async () => (await admin.get(leaseResource, namespace, 'leader'))?.metadata.resourceVersion;
    const before = await renewed();
    await eventually('the lease is renewed since the copy', async () => (await renewed()) !== before);

    await plane.restoreEtcd(join(folder.dir, 'copy'));

    await eventually('both heard of it', async () => rewinds() === 1 && told === 1);
    await eventually('it agrees', agrees);
    await eventually('it leads again', async () => lease.mayAct() === undefined);
  });
});

describe('the reflector on a network that fails', () => {
  it('gives up a connection that froze, and catches up', async () => {
    const limits = { silenceMs: 1_000, requestMs: 1_000 };
    const { create, gate, lists, agrees, noticed } = await sceneOn(sharedKubernetes(), limits);

    gate.freeze();
    await create('unseen');
    await noticed();
    gate.open();

    await eventually('it agrees', agrees);
    expect(lists).toEqual(['start']);
  });

  it('misses nothing while its connection is cut again and again', async () => {
    const { namespace, admin, create, gate, lists, agrees } = await sceneOn(sharedKubernetes());

    for (let round = 0; round < 10; round += 1) {
      gate.cut();
      await create(`round-${round}`);
      if (round > 0) await admin.delete(things, namespace, `round-${round - 1}`);
      gate.open();
      // Every second time it is cut again before it has caught up.
      if (round % 2 === 0) await eventually('it agrees', agrees);
    }

    await eventually('it agrees', agrees);
    expect(lists).toEqual(['start']);
  });

  it('is quiet while a definition is removed and comes back', async () => {
    const { admin, create, reflector, log, agrees, noticed } = await ownScene();

    await admin.delete(definitions, undefined, 'things.contract.apphosting.dev');
    await eventually('the kind is gone', async () => !(await succeeds(admin.list(things, { limit: 1 }))));
    await noticed();
    await defineThings(admin);
    await eventually('writes work', () => succeeds(create('back')));

    await eventually('it agrees', agrees);
    expect(reflector.problem()).toBeUndefined();
    expect(log.bugs).toEqual([]);
  });
});
