import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { connect, definedPlane, eventually, type OwnPlane } from './support/kubernetes.ts';
import { aPost, postIn, startOperator, type OperatorProcess, type Post } from './support/operator-process.ts';
import { Protection } from './support/protection.ts';
import { Tenant, type TenantKind } from './support/tenant.ts';

/* Two clusters with an etcd and an API server each, and one account of the service: what is approved in the one reaches the other. */

const activation = 'RecoveryActivation';
const cleanups: (() => Promise<unknown>)[] = [];
let service: HostingService;
let here: Cluster;
let there: Cluster;

interface Cluster {
  readonly plane: OwnPlane;
  readonly api: ReturnType<typeof connect>;
}

async function aCluster(): Promise<Cluster> {
  const plane = await definedPlane();
  const api = connect(plane);
  cleanups.push(async () => {
    await api.close();
    await plane.stop();
  });
  return { plane, api };
}

/** An operator that may activate. It outlives nothing: a test ends it before its cluster is put back. */
async function anOperator(post: Post, ...flags: readonly string[]): Promise<OperatorProcess> {
  const scope = ['--namespace', post.namespace, '--enable-activation'];
  const operator = await startOperator(post, ...scope, ...flags);
  let isEnded = false;
  const end = async () => {
    if (!isEnded) await operator.end();
    isEnded = true;
  };
  cleanups.unshift(end);
  return { ...operator, end };
}

beforeAll(async () => {
  [service, here, there] = await Promise.all([startHostingService(), aCluster(), aCluster()]);
});

afterAll(async () => {
  for (const cleanup of cleanups) await cleanup();
  await service.end();
});

/** A namespace of the first cluster with an account, an operator, and a protection that is ready. */
async function aProtectedPlace(name: string): Promise<{ protection: Protection; operator: OperatorProcess }> {
  const post = await aPost(here.plane, here.api, 'namespaced');
  const tenant = await Tenant.arrive(here.api, service, post.namespace);
  await tenant.openAccount();
  const operator = await anOperator(post);
  return { protection: await Protection.enrolled(tenant, name), operator };
}

/** Puts an object into the other cluster as it is in the first, without its status and as a new object. */
async function restore(from: Tenant, to: Tenant, kind: TenantKind, name: string): Promise<void> {
  const { spec } = (await from.get(kind, name)) ?? {};
  await to.apply(kind, name, spec as object, { 'velero.io/restore-name': 'made-up' });
}

/** Waits until the service has accepted an activation of this protection. */
async function isAccepted(protection: Protection): Promise<void> {
  await eventually('the service has it', async () => (await protection.activations()) === 1);
}

describe('an activation that reaches a second cluster', () => {
  it('as its objects without their status happens once, and each cluster says what is so', async () => {
    const { protection } = await aProtectedPlace('restored');
    const { tenant, name } = protection;
    const post = await aPost(there.plane, there.api, 'namespaced');
    const other = tenant.elsewhere(there.api, post.namespace);
    await other.openAccount();
    await anOperator(post);
    await tenant.apply(activation, 'now', protection.activation());
    await isAccepted(protection);

    await restore(tenant, other, 'DisasterProtection', name);
    await restore(tenant, other, activation, 'now');
    const refused = await other.becomes(activation, 'now', 'False/AlreadyActivated');
    await protection.promote();
    await tenant.becomes(activation, 'now', 'True/Succeeded');
    const operationId = await tenant.status(activation, 'now', 'externalId');
    await other.delete(activation, 'now');
    await restore(tenant, other, activation, 'now');

    await other.becomes(activation, 'now', 'True/Succeeded');
    expect(refused).toContain(operationId);
    expect(await other.status(activation, 'now', 'externalId')).toBe(operationId);
    expect(await other.status(activation, 'now', 'result')).toEqual(await tenant.status(activation, 'now', 'result'));
    expect((await other.condition('DisasterProtection', name, 'ActivationAvailable'))?.reason).toBe('AlreadyActivated');
    expect(await protection.activations()).toBe(1);
  });

  it('in a copy of etcd, with its call written down and its answer lost, is followed there', async () => {
    const { protection, operator } = await aProtectedPlace('copied');
    const { tenant } = protection;
    await protection.disturb('activate', { hangAfterCommit: true });
    await tenant.apply(activation, 'now', protection.activation());
    await isAccepted(protection);
    await tenant.apply(activation, 'later', protection.activation({ attempt: 2 }));
    const copy = join(await mkdtemp(join(here.plane.dir, 'copy-')), 'etcd');
    await here.plane.copyEtcd(copy);
    operator.signal('SIGKILL');
    await operator.ended;

    await there.plane.restoreEtcd(copy);
    const other = tenant.elsewhere(there.api, tenant.namespace);
    await eventually('the namespace is there', async () => (await other.get(activation, 'now')) !== undefined);
    expect(await other.internal(activation, 'now', 'journal')).toBeDefined();
    expect(await other.status(activation, 'now', 'externalId')).toBeUndefined();
    await anOperator(await postIn(there.plane, there.api, tenant.namespace));
    await protection.tell({ setPhase: 'succeeded' });

    await other.becomes(activation, 'now', 'True/Succeeded');
    // It was created before this operator started, and nothing was sent for it: it is not carried out by another process.
    await other.becomes(activation, 'later', 'False/ActivationDisabled');
    expect(await protection.activations()).toBe(1);
  });
});
