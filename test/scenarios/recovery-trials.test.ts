import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { poll } from '../../src/sandbox/control-plane/deadline.ts';
import { connect, eventually, sharedKubernetes } from './support/kubernetes.ts';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { aPost, startOperator, withoutLease, type OperatorProcess, type Post } from './support/operator-process.ts';
import { Protection, targetOf } from './support/protection.ts';
import { Tenant } from './support/tenant.ts';

/* Trials of a recovery, and a service that says as little as it may, on the real API server. */

const validation = 'RecoveryValidation';
const activation = 'RecoveryActivation';
/** The service proves what has ended by looking twice; a slow machine waits longer. */
const slow = { timeout: 300_000 };
const api = connect(sharedKubernetes());
let post: Post;
let operator: OperatorProcess;
let talkative: HostingService;
let silent: HostingService;
const tenants: Tenant[] = [];

beforeAll(async () => {
  const minimal = ['dr.disclosed=minimal', 'dr.phases=opaque', 'activate.receipt=opaque'];
  [talkative, silent, post] = await Promise.all([
    startHostingService(),
    startHostingService(...minimal.flatMap((reading) => ['--reading', reading])),
    aPost(sharedKubernetes(), api, 'cluster-wide'),
  ]);
  operator = await startOperator(post, '--enable-activation', ...withoutLease);
});

afterAll(async () => {
  await operator.end();
  await Promise.all([talkative.end(), silent.end()]);
  for (const tenant of tenants) await tenant.leave();
  await api.delete(`/api/v1/namespaces/${post.namespace}`);
  await api.close();
});

async function aProtection(service: HostingService, protectionMode: 'Cold' | 'Warm' = 'Cold'): Promise<Protection> {
  const tenant = await Tenant.arrive(api, service);
  tenants.push(tenant);
  await tenant.openAccount();
  return Protection.enrolled(tenant, 'orders-db', { protectionMode });
}

/** Has the service go on with a trial until Ready has this reason; says which operation it was. */
async function endOf({ tenant, tell }: Runs, name: string, wanted: string): Promise<unknown> {
  let last = '';
  const ended = await poll(
    async () => {
      const ready = await tenant.condition(validation, name, 'Ready');
      last = `${ready?.reason}: ${ready?.message}`;
      if (ready?.reason === wanted) return true;
      await tell({ nextPhase: true }).catch(() => undefined);
      return undefined;
    },
    { everyMs: 500, deadlineMs: 90_000 },
  );
  if (ended === undefined) throw new Error(`${name} does not end as ${wanted}: ${last}`);
  return tenant.status(validation, name, 'externalId');
}

type Runs = Pick<Protection, 'tenant'> & { readonly tell: (what: object) => Promise<void> };

describe.concurrent('a trial of a recovery', slow, () => {
  it('is accepted, succeeds, fails when it fails, and succeeds again when asked again', async () => {
    const protection = await aProtection(talkative);
    const { tenant } = protection;
    const runs: Runs = { tenant, tell: (what) => protection.tell(what) };
    const ask = (name: string) => tenant.apply(validation, name, { protectionRef: { name: 'orders-db' } });

    await ask('first');
    const first = await endOf(runs, 'first', 'Succeeded');
    expect((await tenant.condition(validation, 'first', 'Accepted'))?.status).toBe('True');
    expect((await tenant.condition(validation, 'first', 'Scheduled'))?.status).toBe('True');
    await protection.tell({ nextValidation: 'fail' });
    await ask('failing');
    const failing = await endOf(runs, 'failing', 'OperationFailed');
    await ask('again');
    const again = await endOf(runs, 'again', 'Succeeded');

    expect(new Set([first, failing, again]).size).toBe(3);
    expect(await protection.commits('validation.accepted')).toBe(3);
    expect((await tenant.condition('DisasterProtection', 'orders-db', 'Ready'))?.status).toBe('True');
  });

  it('runs beside the receiver of a warm standby, as often as it is asked for', async () => {
    const protection = await aProtection(talkative, 'Warm');
    const { tenant } = protection;
    const runs: Runs = { tenant, tell: (what) => protection.tell(what) };
    const receiver = async () =>
      ((await tenant.status('DisasterProtection', 'orders-db', 'activeOperation')) as { operationId: string })
        .operationId;
    const before = await receiver();
    const trials: unknown[] = [];

    for (const name of ['first', 'second']) {
      await tenant.apply(validation, name, { protectionRef: { name: 'orders-db' } });
      trials.push(await endOf(runs, name, 'Succeeded'));
    }

    expect(new Set([before, ...trials]).size).toBe(3);
    expect(await receiver()).toBe(before);
  });
});

describe.concurrent('a service that says as little as it may', slow, () => {
  it('is asked once for an activation, and nothing is told that it does not say', async () => {
    const protection = await aProtection(silent);
    const { tenant } = protection;

    await tenant.apply(activation, 'now', protection.activation());
    await protection.promote();
    await tenant.becomes(activation, 'now', 'False/NotDisclosed');
    const target = { ...targetOf('orders-db'), environmentName: 'elsewhere' };
    await tenant.apply(activation, 'other', protection.activation({ target }));
    await tenant.becomes(activation, 'other', 'False/AlreadyActivated');

    expect((await tenant.condition(activation, 'now', 'Promoted'))?.status).toBe('Unknown');
    expect((await tenant.condition(activation, 'now', 'Succeeded'))?.status).toBe('Unknown');
    expect(await protection.activations()).toBe(1);
    expect(await protection.commits('activation.promoted')).toBe(1);
  });

  it('has a trial under way for ever, and a reset that is proved by what is gone', async () => {
    const protection = await aProtection(silent);
    const { tenant } = protection;

    await tenant.apply(validation, 'trial', { protectionRef: { name: 'orders-db' } });
    const done = async () => (await protection.commits('validation.succeeded')) > 0;
    await eventually('the trial is over in the service', async () => {
      await protection.tell({ nextPhase: true }).catch(() => undefined);
      return done();
    });
    await tenant.lookAt(validation, 'trial');
    await tenant.becomes(validation, 'trial', 'False/InProgress');
    const reset = await protection.again();
    await tenant.apply('DisasterReset', 'wipe', reset.reset());
    await tenant.becomes('DisasterReset', 'wipe', 'True/Succeeded');

    expect((await tenant.condition(validation, 'trial', 'Succeeded'))?.status).toBe('Unknown');
    expect(await protection.commits('configuration.wiped')).toBe(1);
  });
});
