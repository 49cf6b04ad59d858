import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startControlPlane, type ControlPlane } from '../../src/sandbox/control-plane/control-plane.ts';
import { temporaryFolder } from '../../src/sandbox/data-folder.ts';
import { connect, eventually, sharedKubernetes, type Api } from './support/kubernetes.ts';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { aPost, startOperator, type OperatorProcess, type Plane, type Post } from './support/operator-process.ts';
import { inSeconds, pinned, Protection, targetOf } from './support/protection.ts';
import { applyDefinitions } from './support/shared-control-plane.ts';
import { Tenant } from './support/tenant.ts';

/*
 * Everything that could make the service activate or wipe twice, on a real control plane, with the ledger of the service as
 * the judge. Each post is a namespace with operators of its own; what does not disturb an operator shares one.
 */

const activation = 'RecoveryActivation';
const enabled = '--enable-activation';
/** For an operator that is not disturbed, so that a slow machine does not end it either. */
const alone = ['--leader-elect', 'off'];
/** Much is waiting for what may still arrive; a slow machine waits longer. */
const slow = { timeout: 400_000 };
const api = connect(sharedKubernetes());
const running: OperatorProcess[] = [];
const posts: Post[] = [];
let service: HostingService;
/** A place whose operator nobody disturbs. */
let calm: Place;

/** A namespace with a tenant in it, and the operators that act there. */
interface Place {
  readonly post: Post;
  readonly tenant: Tenant;
  readonly start: (...flags: readonly string[]) => Promise<OperatorProcess>;
}

/** A place of a new tenant, or of one that has another place already. */
async function aPlace(plane: Plane, at: Api, of?: Tenant): Promise<Place> {
  const post = await aPost(plane, at, 'namespaced');
  posts.push(post);
  const tenant = of?.elsewhere(at, post.namespace) ?? (await Tenant.arrive(at, service, post.namespace));
  await tenant.openAccount();
  const start = async (...flags: readonly string[]) => {
    const operator = await startOperator(post, '--namespace', post.namespace, '--horizon-seconds', '2', ...flags);
    running.push(operator);
    return operator;
  };
  return { post, tenant, start };
}

beforeAll(async () => {
  service = await startHostingService();
  calm = await aPlace(sharedKubernetes(), api);
  await calm.start(enabled, ...alone);
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

/** Waits until an activation is written down, so that it is about to be sent or was. */
async function isWrittenDown(protection: Protection, which: string): Promise<void> {
  const name = called(protection, which);
  const journal = async () => (await protection.tenant.status(activation, name, 'journal')) !== undefined;
  await eventually(`${name} is written down`, journal, 90_000);
}

describe.concurrent('an activation', slow, () => {
  it('happens once however often it is applied, deleted and applied again, every second', async () => {
    const protection = await Protection.enrolled(calm.tenant, 'looped');
    const { tenant } = protection;
    const spec = protection.activation();

    await ask(protection, 'now', spec);
    await protection.promote();
    await tenant.becomes(activation, called(protection, 'now'), 'True/Succeeded', 90_000);
    await ask(protection, 'now', spec);
    for (let second = 0; second < 5; second += 1) {
      await tenant.delete(activation, called(protection, 'now'));
      await ask(protection, 'now', spec);
      await ask(protection, `copy-${second}`, spec);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }

    expect(await endOf(protection, 'now')).toBe('Succeeded');
    expect(await endOf(protection, 'copy-4')).toBe('Succeeded');
    expect(await protection.activations()).toBe(1);
  });

  it('happens once while a loop deletes it and applies it again before it is accepted', async () => {
    const protection = await Protection.enrolled(calm.tenant, 'impatient');
    const { tenant } = protection;
    const spec = protection.activation();

    await protection.disturb('activate', { dropBefore: true });
    for (let second = 0; second < 4; second += 1) {
      await tenant.delete(activation, called(protection, 'now'));
      await ask(protection, 'now', spec);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    await protection.promote();

    // One that was accepted and deleted may run without its names: the next one does not take it for its own.
    expect(['Succeeded', 'AlreadyActivated']).toContain(await endOf(protection, 'now'));
    expect(await protection.activations()).toBe(1);
  });

  it('happens once when others ask for another point or another target at the same time', async () => {
    const protection = await Protection.enrolled(calm.tenant, 'disputed');
    const { points } = protection;
    const [, older] = points;
    if (older === undefined) throw new Error('there is only one point');
    await protection.disturb('activate', { dropBefore: true });

    const target = { ...targetOf('disputed'), environmentName: 'elsewhere' };
    await Promise.all([
      ask(protection, 'one', protection.activation()),
      ask(protection, 'older', protection.activation({ recoveryPoint: pinned(older) })),
      ask(protection, 'elsewhere', protection.activation({ target })),
    ]);
    await protection.promote();

    const ends = await Promise.all(['one', 'older', 'elsewhere'].map((name) => endOf(protection, name)));
    expect(ends.toSorted()).toEqual(['AlreadyActivated', 'AlreadyActivated', 'Succeeded']);
    expect(await protection.activations()).toBe(1);
  });

  it('is not sent again when it was discarded while its answer was lost', async () => {
    const protection = await Protection.enrolled(calm.tenant, 'discarded');
    await protection.disturb('activate', { dropAfter: true });

    await ask(protection, 'now', protection.activation());
    await eventually('the service has it', async () => (await protection.activations()) === 1, 60_000);
    await protection.keepFailing();
    await protection.discardElsewhere();

    expect(await endOf(protection, 'now')).toBe('OperationFailed');
    expect(await protection.activations()).toBe(1);
  });

  it('is never sent after its time, lost before or not asked for in time', async () => {
    const protection = await Protection.enrolled(calm.tenant, 'late');
    const leaveAlone = await protection.disturb('activate', { dropBefore: true }, 100);

    await ask(protection, 'too-late', protection.activation({ validUntil: inSeconds(-1), attempt: 2 }));
    expect(await endOf(protection, 'too-late')).toBe('Expired');
    await ask(protection, 'lost', protection.activation({ validUntil: inSeconds(10) }));
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    await leaveAlone();

    expect(await endOf(protection, 'lost')).toBe('Expired');
    expect(await protection.activations()).toBe(0);
  });
});

describe.concurrent('a reset', slow, () => {
  it('wipes once when it is applied again and made anew, and spares what was set up since', async () => {
    const protection = await Protection.enrolled(calm.tenant, 'wiped');
    const { tenant } = protection;
    const spec = protection.reset();

    await tenant.apply('DisasterReset', 'first', spec);
    await tenant.becomes('DisasterReset', 'first', 'True/Succeeded', 90_000);
    await tenant.becomes('DisasterProtection', 'wiped', 'False/WipedByReset', 90_000);
    await Protection.applied(protection, { enrollment: 2 });
    const isNew = async () => (await protection.again(0)).configurationId !== protection.configurationId;
    await eventually('it is set up anew', isNew, 60_000);
    const anew = await protection.again(0);
    await tenant.apply('DisasterReset', 'first', spec);
    await tenant.delete('DisasterReset', 'first');
    await tenant.apply('DisasterReset', 'first', spec);

    await tenant.becomes('DisasterReset', 'first', 'False/Superseded', 90_000);
    expect(await protection.commits('configuration.wiped')).toBe(1);
    expect(await anew.commits('configuration.wiped')).toBe(0);
  });

  it('whose answer was lost does not reach a configuration that took the place meanwhile', async () => {
    const protection = await Protection.enrolled(calm.tenant, 'replaced');
    const { tenant } = protection;
    await protection.disturb('reset', { dropAfter: true });
    const leaveAlone = await protection.disturb('reset', { dropBefore: true }, 100);

    await tenant.apply('DisasterReset', 'lost', protection.reset());
    await eventually('it is wiped', async () => (await protection.commits('configuration.wiped')) === 1, 60_000);
    const { accountId, token } = tenant;
    const item = { sourceAppEnvId: protection.appEnvId, requestId: 'by-hand', expectedGeneration: 0 };
    const common = { destinationRegion: 'us-east', mode: 'cold', target: { envName: 'again', appName: 'again' } };
    await service.call(token, 'POST', '/disaster-readiness/configure', { accountId, common, items: [item] });
    await leaveAlone();

    const done = async () => (await tenant.status('DisasterReset', 'lost', 'finishedTime')) !== undefined;
    await eventually('it comes to its end', done, 90_000);
    const wiped = (await service.ledger()).filter(
      ({ kind, detail }) => kind === 'configuration.wiped' && detail['sourceAppEnvId'] === protection.appEnvId,
    );
    expect(wiped).toHaveLength(1);
  });
});

describe.concurrent('an activation whose operators are disturbed', slow, () => {
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

  it('happens once when the operator that acts is held past its lease with the call in hand', async () => {
    const { tenant, start } = await aPlace(sharedKubernetes(), api);
    const first = await start(enabled);
    const protection = await Protection.enrolled(tenant, 'held');
    const second = await start(enabled);
    const leaveAlone = await protection.disturb('activate', { dropBefore: true }, 100);

    await ask(protection, 'now', protection.activation());
    await isWrittenDown(protection, 'now');
    first.signal('SIGSTOP');
    await leaveAlone();
    await eventually('the second acts', async () => second.output().includes('this replica acts'), 60_000);
    await eventually('the service has it', async () => (await protection.activations()) === 1, 90_000);
    first.signal('SIGCONT');
    expect(await first.ended).toBe(1);
    await protection.promote();

    expect(await endOf(protection, 'now')).toBe('Succeeded');
    expect(await protection.activations()).toBe(1);
  });

  it('happens once when another cluster has the same account and the same manifest', async () => {
    const here = await aPlace(sharedKubernetes(), api);
    const there = await aPlace(sharedKubernetes(), api, here.tenant);
    await Promise.all([here.start(enabled, ...alone), there.start(enabled, ...alone)]);
    const protection = await Protection.enrolled(here.tenant, 'shared');
    const { name, appEnvId } = protection;
    const same = await Protection.applied({ name, appEnvId, tenant: there.tenant });
    const spec = protection.activation();

    await Promise.all([ask(protection, 'now', spec), ask(same, 'now', spec)]);
    await protection.promote();

    // The later one may find an activation under way that does not show its names: it is not taken for its own.
    const ends = await Promise.all([endOf(protection, 'now'), endOf(same, 'now')]);
    expect(ends).toContain('Succeeded');
    expect(['Succeeded', 'AlreadyActivated']).toEqual(expect.arrayContaining(ends));
    expect(await protection.activations()).toBe(1);
  });
});

describe.concurrent('the power to activate', slow, () => {
  it('does not reach what is older than itself, and outlives a restart', async () => {
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

    // What is made within the second in which the power began counts as older.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await restart(() => ask(protection, 'during-restart', spec), enabled);
    await protection.promote();
    expect(await endOf(protection, 'during-restart')).toBe('Succeeded');
    expect((await tenant.condition(activation, called(protection, 'refused'), 'Ready'))?.reason).toBe(
      'ActivationDisabled',
    );
    expect(await protection.activations()).toBe(1);
  });
});

describe.concurrent('an activation in a cluster that is restored from a copy made before it', slow, () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let plane: ControlPlane;
  let own: ReturnType<typeof connect>;

  beforeAll(async () => {
    folder = await temporaryFolder('tests');
    plane = await startControlPlane({ dir: folder.dir, binaries: sharedKubernetes().binaries, say: () => {} });
    await applyDefinitions(plane);
    own = connect(plane);
  });

  afterAll(async () => {
    await own.close();
    await plane.stop();
    await folder.release();
  });

  it('happens once, whether it was asked for before the copy or is asked for again', async () => {
    const { tenant, start } = await aPlace(plane, own);
    const operator = await start(enabled, ...alone);
    const protection = await Protection.enrolled(tenant, 'restored');
    const spec = protection.activation();
    operator.signal('SIGSTOP');
    await ask(protection, 'before', spec);
    const copy = join(await mkdtemp(join(folder.dir, 'copy-')), 'etcd');
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
