import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, definedPlane, eventually, sharedKubernetes, type Api, type OwnPlane } from './support/kubernetes.ts';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import {
  aPost,
  startOperator,
  withoutLease,
  type OperatorProcess,
  type Plane,
  type Post,
} from './support/operator-process.ts';
import { Protection } from './support/protection.ts';
import { Tenant } from './support/tenant.ts';

/*
 * What only real processes, a real lease and a real etcd can show of "activates once"; the ledger of the service is the judge. Every
 * other way to make it happen twice is tried in process, one by one and in random orders (test/disaster).
 */

const activation = 'RecoveryActivation';
const enabled = '--enable-activation';
/** Much is waiting for what may still arrive; a slow machine waits longer. */
const slow = { timeout: 400_000 };
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
    const operator = await startOperator(post, '--namespace', post.namespace, ...flags);
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
  await eventually(`${name} comes to its end`, finished, 120_000).catch(async (error: unknown) => {
    const { status } = (await tenant.get(activation, name)) ?? {};
    throw new Error(`${String(error)}: ${JSON.stringify(status)}`, { cause: error });
  });
  return (await tenant.condition(activation, name, 'Ready'))?.reason ?? '';
}

describe.concurrent('an activation whose operator dies', slow, () => {
  it('happens once when the operator is killed while the answer is under way', async () => {
    const { tenant, start } = await aPlace(sharedKubernetes(), api);
    const first = await start(enabled);
    const protection = await Protection.enrolled(tenant, 'killed');
    await protection.disturb('activate', { hangAfterCommit: true });

    await ask(protection, 'now', protection.activation());
    await eventually('the service has it', async () => (await protection.activations()) === 1, 60_000);
    first.signal('SIGKILL');
    await first.ended;
    await start(enabled);
    await protection.promote();

    expect(await endOf(protection, 'now')).toBe('Succeeded');
    expect(await protection.activations()).toBe(1);
  });
});

describe.concurrent('the power to activate', slow, () => {
  it('does not reach what is older than the process, whatever the process before was allowed', async () => {
    const { tenant, start } = await aPlace(sharedKubernetes(), api);
    let operator = await start();
    const restart = async (between: () => Promise<void>, ...flags: readonly string[]) => {
      operator.signal('SIGTERM');
      await operator.ended;
      await between();
      operator = await start(...flags);
    };
    const protection = await Protection.enrolled(tenant, 'powerless');
    const spec = protection.activation();

    await ask(protection, 'refused', spec);
    expect(await endOf(protection, 'refused')).toBe('ActivationDisabled');
    await restart(() => ask(protection, 'while-away', spec), enabled);
    expect(await endOf(protection, 'while-away')).toBe('ActivationDisabled');
    expect(await protection.activations()).toBe(0);

    await restart(() => ask(protection, 'during-restart', spec), enabled);
    expect(await endOf(protection, 'during-restart')).toBe('ActivationDisabled');

    // What is made within the second in which the process started counts as older.
    const began = Math.floor(Date.now() / 1_000);
    await eventually('that second is over', async () => Math.floor(Date.now() / 1_000) > began);
    await ask(protection, 'afterwards', spec);
    await protection.promote();
    expect(await endOf(protection, 'afterwards')).toBe('Succeeded');
    expect((await tenant.condition(activation, called(protection, 'refused'), 'Ready'))?.reason).toBe(
      'ActivationDisabled',
    );
    expect(await protection.activations()).toBe(1);
  });
});

describe.concurrent('an activation in a cluster that is restored from a copy made before it', slow, () => {
  let plane: OwnPlane;
  let own: ReturnType<typeof connect>;

  beforeAll(async () => {
    plane = await definedPlane();
    own = connect(plane);
  });

  afterAll(async () => {
    await own.close();
    await plane.stop();
  });

  it('happens once, whether it was asked for before the copy or is asked for again', async () => {
    const { tenant, start } = await aPlace(plane, own);
    const operator = await start(enabled, ...withoutLease);
    const protection = await Protection.enrolled(tenant, 'restored');
    const spec = protection.activation();
    operator.signal('SIGSTOP');
    await ask(protection, 'before', spec);
    const copy = join(await mkdtemp(join(plane.dir, 'copy-')), 'etcd');
    await plane.copyEtcd(copy);
    // A restored cluster that has written as much as the lost one since the copy does not look older.
    for (let n = 0; n < 300; n += 1) await tenant.secret('busy', { turn: String(n) });
    operator.signal('SIGCONT');
    await protection.promote();
    expect(await endOf(protection, 'before')).toBe('Succeeded');

    operator.signal('SIGSTOP');
    await plane.restoreEtcd(copy);
    const answers = () =>
      own.get('/readyz').then(
        ({ status }) => status === 200,
        () => false,
      );
    await eventually('the API server answers', answers, 60_000);
    expect(await tenant.status(activation, called(protection, 'before'), 'finishedTime')).toBeUndefined();
    operator.signal('SIGCONT');
    await ask(protection, 'again', spec);

    expect(await endOf(protection, 'before')).toBe('Succeeded');
    expect(await endOf(protection, 'again')).toBe('Succeeded');
    expect(await protection.activations()).toBe(1);
    await operator.end();
  });
});
