import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../src/sandbox/data-folder.ts';
import type { KubeObject } from '../../../src/engine/ports.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { LeaseElection, leaseResource } from '../../../src/kube/lease.ts';
import { Reflector } from '../../../src/kube/reflector.ts';
import { present, thing, things } from '../../kube/example.ts';
import { CollectedLog } from '../../support/collected-log.ts';
import { realClock, realEntropy } from '../../support/real-time.ts';
import { definitions, defineThings, kubeAt, ownNamespace } from '../support/kube.ts';
import { definedPlane, eventually, type OwnPlane } from '../support/kubernetes.ts';

interface Scene {
  readonly namespace: string;
  readonly admin: KubeClient;
  readonly reflector: Reflector;
  readonly log: CollectedLog;
  readonly rewinds: () => number;
  readonly create: (name: string) => Promise<KubeObject>;
  /** Waits until the reflector says that something is wrong. */
  readonly noticed: () => Promise<void>;
  /** Whether the reflector holds exactly what is there. */
  readonly agrees: () => Promise<boolean>;
}

/** What the tests of this file break, one after the other. */
let plane: OwnPlane;

beforeAll(async () => {
  plane = await definedPlane();
});

afterAll(() => plane.stop());

/** A namespace with one object, and a reflector that watches it. */
async function aScene(): Promise<Scene> {
  const admin = await kubeAt(plane.kubeconfigPath);
  onTestFinished(() => admin.close());
  const api = await kubeAt(plane.kubeconfigPath);
  onTestFinished(() => api.close());
  await defineThings(admin);
  const { name: namespace } = await ownNamespace(admin);
  const create = (name: string): Promise<KubeObject> => admin.create(things, namespace, thing(name));
  await create('one');
  const log = new CollectedLog();
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
  return { namespace, admin, reflector, log, rewinds: () => rewinds, create, noticed, agrees };
}

function succeeds(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  );
}

describe('the reflector on a control plane that fails', () => {
  it('notices a restore by one lost edit, and the lease by itself, though the cluster has overtaken them', async () => {
    const { namespace, admin, rewinds, agrees } = await aScene();
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

  it('is quiet while a definition is removed and comes back', async () => {
    const { admin, create, reflector, log, agrees, noticed } = await aScene();

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
