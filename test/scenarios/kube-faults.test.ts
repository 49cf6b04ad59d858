import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { request } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ControlPlane } from '../../src/cli/control-plane/control-plane.ts';
import { temporaryFolder } from '../../src/cli/sandbox/data-folder.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { LeaseElection } from '../../src/kube/lease.ts';
import { Reflector } from '../../src/kube/reflector.ts';
import type { ListReason, ReflectorPace } from '../../src/kube/reflector-options.ts';
import type { Limits } from '../../src/kube/transport.ts';
import { present, thing, things } from '../kube/example.ts';
import { CollectedLog } from '../support/collected-log.ts';
import { realClock, realEntropy } from '../support/real-time.ts';
import { defineThings, kubeAt, kubeconfigText } from './support/kube.ts';
import { eventually, ownControlPlane } from './support/kubernetes.ts';
import { type TcpGate, tcpGate } from './support/tcp-gate.ts';

const namespace = 'default';

interface Scene {
  readonly plane: ControlPlane;
  readonly admin: KubeClient;
  readonly gate: TcpGate;
  readonly reflector: Reflector;
  readonly lists: ListReason[];
  readonly log: CollectedLog;
  readonly rewinds: () => number;
  /** Whether the reflector holds exactly what is there. */
  readonly agrees: () => Promise<boolean>;
}

/** A control plane of its own with one object, and a reflector that watches through a gate. */
async function scene(pace: Partial<ReflectorPace> = {}, limits: Partial<Limits> = {}): Promise<Scene> {
  const plane = await ownControlPlane();
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
  await admin.create(things, namespace, thing('one'));
  const log = new CollectedLog();
  const lists: ListReason[] = [];
  let rewinds = 0;
  const reflector = new Reflector({
    api,
    resource: things,
    clock: realClock,
    entropy: realEntropy,
    log,
    pace: { backoff: { firstMs: 200, longestMs: 2_000, forgetMs: 120_000 }, relistAfter: 1_000, ...pace },
    onEvent: () => undefined,
    onRewind: () => (rewinds += 1),
    onList: (reason) => lists.push(reason),
  });
  onTestFinished(() => reflector.stop());
  reflector.start();
  await reflector.synced;
  const agrees = async (): Promise<boolean> => {
    const { items } = await admin.list(things, { limit: 500 });
    const versions = (objects: Iterable<{ metadata: { name: string; resourceVersion: string } }>): string =>
      [...objects]
        .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
        .toSorted()
        .join();
    return versions(reflector.values()) === versions(items);
  };
  return { plane, admin, gate, reflector, lists, log, rewinds: () => rewinds, agrees };
}

/** Makes etcd forget its history up to now. */
async function compact(plane: ControlPlane, revision: string): Promise<void> {
  const args = (await readFile(`/proc/${plane.pids().etcd}/cmdline`, 'utf8')).split('\0');
  const url = args.find((arg) => arg.startsWith('--listen-client-urls='))?.split('=')[1];
  const body = JSON.stringify({ revision, physical: true });
  const answer = await request(`${url}/v3/kv/compaction`, {
    method: 'POST',
    body,
    signal: AbortSignal.timeout(10_000),
  });
  expect(answer.statusCode).toBe(200);
  await answer.body.dump();
}

describe('the reflector on a control plane that fails', () => {
  it('goes on after the API server was killed and started, with one new list at most', async () => {
    const { plane, admin, lists, log, agrees } = await scene();

    await plane.killPart('apiserver');
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await plane.start('apiserver');
    await admin.create(things, namespace, thing('after'));

    await eventually('it agrees', agrees);
    // A new API server remembers nothing from before its start.
    expect(['start', 'start,gone']).toContain(lists.join());
    expect(log.bugs).toEqual([]);
  });

  it('goes on after etcd was killed and started', async () => {
    const { plane, admin, log, agrees } = await scene();

    await plane.killPart('etcd');
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await plane.startEtcd();
    await eventually('writes work', () =>
      admin.create(things, namespace, thing('after')).then(
        () => true,
        () => false,
      ),
    );

    await eventually('it agrees', agrees);
    expect(log.bugs).toEqual([]);
  });

  it('lists again when its version was compacted away', async () => {
    const { plane, admin, gate, lists, agrees } = await scene();
    gate.cut();
    const newest = await admin.create(things, namespace, thing('unseen'));
    await admin.delete(things, namespace, 'one');
    await admin.create(things, namespace, thing('one'));
    await admin.create(things, namespace, thing('newest'));
    await compact(plane, newest.metadata.resourceVersion);
    await plane.restartApiServer();

    gate.open();

    await eventually('it agrees', agrees);
    expect(lists).toEqual(['start', 'gone']);
  });

  it('notices that etcd was restored from an older copy, and goes on in the new world', async () => {
    const { plane, admin, rewinds, lists, agrees } = await scene();
    const folder = await temporaryFolder('tests');
    onTestFinished(folder.release);
    await plane.copyEtcd(join(folder.dir, 'copy'));
    for (let at = 0; at < 300; at += 1) await admin.create(things, namespace, thing(`lost-${at}`));
    await eventually('it agrees', agrees);

    await plane.restoreEtcd(join(folder.dir, 'copy'));

    await eventually('it heard of it', async () => rewinds() === 1);
    await eventually('it agrees', agrees);
    expect(lists).toEqual(['start', 'rewind']);
    await admin.create(things, namespace, thing('next'));
    await eventually('it agrees', agrees);
    expect(rewinds()).toBe(1);
  });

  it('notices a restore by one lost edit, though the cluster has overtaken it', async () => {
    const { plane, admin, rewinds, agrees } = await scene();
    const folder = await temporaryFolder('tests');
    onTestFinished(folder.release);
    await plane.copyEtcd(join(folder.dir, 'copy'));
    const one = present(await admin.get(things, namespace, 'one'));
    await admin.replace(things, namespace, 'one', { ...one, spec: { size: 2 } });
    await eventually('it agrees', agrees);

    await plane.restoreEtcd(join(folder.dir, 'copy'));

    await eventually('it heard of it', async () => rewinds() === 1);
    await eventually('it agrees', agrees);
  });

  it('hears of a restore from its own lease, whatever else was lost', async () => {
    const { plane, admin } = await scene();
    let rewinds = 0;
    const pace = { retryMs: 500, missingMs: 500 };
    const lease = new LeaseElection({
      api: admin,
      clock: realClock,
      entropy: realEntropy,
      log: new CollectedLog(),
      namespace,
      name: 'leader',
      identity: 'one',
      pace,
      onAcquired: () => undefined,
      onLost: () => undefined,
      onRewind: () => (rewinds += 1),
    });
    onTestFinished(() => lease.stop());
    lease.start();
    await eventually('it leads', async () => lease.mayAct() === undefined);
    const folder = await temporaryFolder('tests');
    onTestFinished(folder.release);
    await plane.copyEtcd(join(folder.dir, 'copy'));
    await new Promise((resolve) => setTimeout(resolve, 2_000));

    await plane.restoreEtcd(join(folder.dir, 'copy'));

    await eventually('it heard of it', async () => rewinds === 1);
    await eventually('it leads again', async () => lease.mayAct() === undefined);
  });

  it('gives up a connection that froze, and catches up', async () => {
    const { admin, gate, lists, agrees } = await scene({}, { silenceMs: 2_000, requestMs: 2_000 });

    gate.freeze();
    await admin.create(things, namespace, thing('unseen'));
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    gate.open();

    await eventually('it agrees', agrees);
    expect(lists).toEqual(['start']);
  });

  it('misses nothing while its connection is cut again and again', async () => {
    const { admin, gate, lists, agrees } = await scene();

    for (let round = 0; round < 10; round += 1) {
      gate.cut();
      await admin.create(things, namespace, thing(`round-${round}`));
      if (round > 0) await admin.delete(things, namespace, `round-${round - 1}`);
      gate.open();
      await new Promise((resolve) => setTimeout(resolve, 150));
    }

    await eventually('it agrees', agrees);
    expect(lists).toEqual(['start']);
  });

  it('is quiet while a definition is removed and comes back', async () => {
    const { admin, reflector, log, agrees } = await scene();
    const definitions = {
      group: 'apiextensions.k8s.io',
      version: 'v1',
      plural: 'customresourcedefinitions',
      namespaced: false,
    };

    await admin.delete(definitions, undefined, 'things.contract.apphosting.dev');
    await eventually('the kind is gone', () =>
      admin.list(things, { limit: 1 }).then(
        () => false,
        () => true,
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await defineThings(admin);
    await eventually('writes work', () =>
      admin.create(things, namespace, thing('back')).then(
        () => true,
        () => false,
      ),
    );

    await eventually('it agrees', agrees);
    expect(reflector.problem()).toBeUndefined();
    expect(log.bugs).toEqual([]);
  });
});
