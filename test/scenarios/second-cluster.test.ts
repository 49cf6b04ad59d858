import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { connect, definedPlane, eventually, sharedKubernetes, type Api } from './support/kubernetes.ts';
import { aPost, startOperator, type Plane } from './support/operator-process.ts';
import { Protection } from './support/protection.ts';
import { Tenant, type TenantKind } from './support/stages/tenant.ts';

/* Two clusters with an etcd and an API server each, and one account of the service: what is approved in the one reaches the other. */

const activation = 'RecoveryActivation';
const cleanups: (() => Promise<unknown>)[] = [];
let service: HostingService;

/** A cluster as its administrator and its operators reach it. */
interface Cluster {
  readonly plane: Plane;
  readonly api: Api;
}

/** The one that other files use, too. */
function shared(): Cluster {
  const plane = sharedKubernetes();
  const api = connect(plane);
  cleanups.unshift(api.close);
  return { plane, api };
}

async function another(): Promise<Cluster> {
  const plane = await definedPlane();
  const api = connect(plane);
  cleanups.unshift(api.close, plane.stop);
  return { plane, api };
}

/** A namespace of a cluster with an operator in it that may activate. */
async function aPlace({ plane, api }: Cluster): Promise<string> {
  const post = await aPost(plane, api, 'namespaced');
  const operator = await startOperator(post, '--namespace', post.namespace, '--enable-activation');
  cleanups.unshift(operator.end);
  return post.namespace;
}

beforeAll(async () => {
  service = await startHostingService();
  cleanups.push(service.end);
});

afterAll(async () => {
  for (const cleanup of cleanups) await cleanup();
});

/** Puts an object into the other cluster as it is in the first, without its status and as a new object. */
async function restore(from: Tenant, to: Tenant, kind: TenantKind, name: string): Promise<void> {
  const { spec } = (await from.get(kind, name)) ?? {};
  await to.apply(kind, name, spec as object, { 'velero.io/restore-name': 'made-up' });
}

describe('an activation that reaches a second cluster', () => {
  it('as its objects without their status happens once, and each cluster says what is so', async () => {
    const [here, there] = [shared(), await another()];
    const [own, others] = [await aPlace(here), await aPlace(there)];
    const tenant = await Tenant.arrive(here.api, service, own);
    await tenant.openAccount();
    const protection = await Protection.enrolled(tenant, 'restored');
    const { name } = protection;
    const other = tenant.elsewhere(there.api, others);
    await other.openAccount();
    await tenant.apply(activation, 'now', protection.activation());
    await eventually('the service has it', async () => (await protection.activations()) === 1);

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
});
