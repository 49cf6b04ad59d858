import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, eventually, sharedKubernetes, type Api } from './support/kubernetes.ts';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import {
  aPost,
  startOperator,
  withLease,
  type OperatorProcess,
  type Plane,
  type Post,
} from './support/operator-process.ts';
import { Protection } from './support/protection.ts';
import { Tenant } from './support/tenant.ts';

/*
 * The one scenario of "activates once": a real process is killed. Every other way to make it happen twice is tried in process, call by
 * call (test/properties/standing.test.ts) and in random orders, restored clusters included (test/disaster/interleavings.test.ts).
 */

const activation = 'RecoveryActivation';
const enabled = '--enable-activation';
const api = connect(sharedKubernetes());
const running: OperatorProcess[] = [];
const posts: Post[] = [];
let service: HostingService;
/** A namespace with a tenant in it, and the operators that act there. */
interface Place {
  readonly post: Post;
  readonly tenant: Tenant;
  readonly start: (...flags: readonly string[]) => Promise<OperatorProcess>;
}

/** A place of a new tenant. */
async function aPlace(plane: Plane, at: Api): Promise<Place> {
  const post = await aPost(plane, at, 'namespaced');
  posts.push(post);
  const tenant = await Tenant.arrive(at, service, post.namespace);
  await tenant.openAccount();
  const start = async (...flags: readonly string[]) => {
    const operator = await startOperator(post, '--namespace', post.namespace, ...withLease, ...flags);
    running.push(operator);
    return operator;
  };
  return { post, tenant, start };
}

beforeAll(async () => {
  service = await startHostingService();
});

afterAll(async () => {
  await Promise.all(running.map((operator) => operator.end()));
  await service.end();
  for (const { namespace } of posts) await api.delete(`/api/v1/namespaces/${namespace}`);
  await api.close();
});

/** The name of an activation of this protection: several protections share a namespace. */
function called({ name }: Protection, which: string): string {
  return `${name}-${which}`;
}

/** Applies an activation. */
async function ask(protection: Protection, which: string, spec: object): Promise<void> {
  await protection.tenant.apply(activation, called(protection, which), spec);
}

/** The reason of Ready, once an activation has come to its end. */
async function endOf(protection: Protection, which: string): Promise<string> {
  const { tenant } = protection;
  const name = called(protection, which);
  const finished = async () => (await tenant.status(activation, name, 'finishedTime')) !== undefined;
  await eventually(`${name} comes to its end`, finished).catch(async (error: unknown) => {
    const { status } = (await tenant.get(activation, name)) ?? {};
    throw new Error(`${String(error)}: ${JSON.stringify(status)}`, { cause: error });
  });
  return (await tenant.condition(activation, name, 'Ready'))?.reason ?? '';
}

describe.concurrent('an activation whose operator dies', () => {
  it('happens once when the operator is killed while the answer is under way', async () => {
    const { tenant, start } = await aPlace(sharedKubernetes(), api);
    const first = await start(enabled);
    const protection = await Protection.enrolled(tenant, 'killed');
    await protection.disturb('activate', { hangAfterCommit: true });

    await ask(protection, 'now', protection.activation());
    await eventually('the service has it', async () => (await protection.activations()) === 1);
    first.signal('SIGKILL');
    await first.ended;
    await start(enabled);
    await protection.promote();

    expect(await endOf(protection, 'now')).toBe('Succeeded');
    expect(await protection.activations()).toBe(1);
  });
});
