import { beforeEach, describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import { aWorld, commits, conditionOf, messageOf, statusOf } from './support/world.ts';

const token = 'sees-both-accounts';
const mail = { email: { addresses: ['a@example.com'] } };

/** The account of the resources is acc_demo; its token sees acc_other as well. */
async function twoAccounts(): Promise<InProcess> {
  const world = await aWorld();
  const memberships = ['acc_demo', 'acc_other'].map((accountId) => ({
    accountId,
    role: 'admin',
    permissions: ['manageMembers'],
  }));
  await world.control('POST', '/tokens', { token, memberships });
  world.secret('hosting-credentials', { baseUrl: 'http://127.0.0.1:8088', token });
  await world.run(5_000);
  return world;
}

async function made(world: InProcess, path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const answer = await world.request('POST', path, body, token);
  if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body as Readonly<Record<string, unknown>>;
}

async function theirContactPoint(world: InProcess, accountId = 'acc_other'): Promise<string> {
  const config = { addresses: ['they@example.com'] };
  const body = await made(world, '/contact-point', { accountId, name: 'theirs', type: 'email', config });
  return (body['contactPoint'] as { contactPointId: string }).contactPointId;
}

async function theirApp(world: InProcess): Promise<string> {
  const image = { useImage: true, image: 'registry.example.com/theirs:1' };
  const { appId } = await made(world, '/app', { accountId: 'acc_other', name: 'theirs', port: 80, ...image });
  const names = { appEnvId: 'env_theirs', appId, name: 'prod', region: 'eu-west' };
  await world.control('POST', '/environments', { ...names, status: 'running' });
  return String(appId);
}

function onAlert(contactPointId: string, more: object): object {
  return {
    metric: 'cpu_percent',
    operator: 'GreaterThan',
    refreshSeconds: 0,
    contactPointRefs: [{ externalId: contactPointId }],
    ...more,
  };
}

describe('what belongs to another account of the same token', () => {
  let world: InProcess;

  beforeEach(async () => {
    world = await twoAccounts();
  });

  it('is no contact point to bind, change or delete', async () => {
    const id = await theirContactPoint(world);

    world.apply('ContactPoint', 'taken', { ...mail, externalId: id, lifecycle: { onDelete: 'Delete' } });
    await world.run(180_000);
    const seen = [conditionOf(world, 'ContactPoint', 'taken'), statusOf(world, 'ContactPoint', 'taken')['externalId']];
    world.delete('ContactPoint', 'taken');
    await world.run(180_000);

    expect(seen).toEqual(['False/NotFound', undefined]);
    expect(world.sent).toEqual([]);
    expect(world.get('ContactPoint', 'taken')).toBeUndefined();
  });

  it('is no app to bind, change or delete', async () => {
    const appId = await theirApp(world);
    const image = { reference: 'registry.example.com/ours:1' };

    world.apply('HostedApp', 'taken', { externalId: appId, port: 81, image, lifecycle: { onDelete: 'Delete' } });
    await world.run(180_000);
    const seen = [conditionOf(world, 'HostedApp', 'taken'), messageOf(world, 'HostedApp', 'taken')];
    world.delete('HostedApp', 'taken');
    await world.run(180_000);

    expect(seen).toEqual([
      'False/NotFound',
      `spec.externalId names app ${appId}, which is not an object of account acc_demo`,
    ]);
    expect(world.sent).toEqual([]);
  });

  it('is no environment to put an alert on', async () => {
    await theirApp(world);
    const id = await theirContactPoint(world);

    world.apply('MetricAlert', 'cpu', onAlert(id, { environmentRef: { externalId: 'env_theirs' } }));
    await world.run(180_000);

    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('False/EnvironmentNotFound');
    expect(world.sent).toEqual([]);
  });

  it('is no alert to bind, wherever the spec says that it is', async () => {
    await theirApp(world);
    const id = await theirContactPoint(world);
    const alert = { name: 'theirs', metric: 'cpu_percent', operator: 'gt', threshold: 5, duration: '5m' };
    const body = await made(world, '/app-env/alert', { appEnvId: 'env_theirs', ...alert, contactPointIds: [id] });
    const { alertId } = body['alert'] as { alertId: string };

    world.apply(
      'MetricAlert',
      'here',
      onAlert(id, { environmentRef: { externalId: 'env_web_prod' }, externalId: alertId }),
    );
    world.apply(
      'MetricAlert',
      'there',
      onAlert(id, { environmentRef: { externalId: 'env_theirs' }, externalId: alertId }),
    );
    await world.run(180_000);

    expect(conditionOf(world, 'MetricAlert', 'there')).toBe('False/EnvironmentNotFound');
    expect(conditionOf(world, 'MetricAlert', 'here')).toBe('False/NotFound');
    expect(world.sent).toEqual([]);
  });

  it('is no environment to bind or to give access to', async () => {
    await theirApp(world);

    world.apply('AppEnvironment', 'taken', { externalId: 'env_theirs', powerState: 'Stopped' });
    world.apply('MemberAccess', 'some', {
      externalId: 'mem_demo',
      access: 'Restricted',
      environmentRefs: [{ externalId: 'env_theirs' }],
    });
    await world.run(180_000);

    expect(conditionOf(world, 'AppEnvironment', 'taken')).toBe('False/EnvironmentNotFound');
    expect(conditionOf(world, 'MemberAccess', 'some')).toBe('False/EnvironmentNotFound');
    expect(world.sent).toEqual([]);
  });
});

describe('an environment that this namespace did not make', () => {
  it.each([
    { because: 'the account allows no adoption', account: { lifecycle: { adoption: 'Never' } }, lifecycle: {} },
    { because: 'the alert itself does without', account: {}, lifecycle: { adoption: 'Never' } },
  ])('gets no alert by its id where $because', async ({ account, lifecycle }) => {
    const world = await aWorld();
    world.account(account);
    const contactPointId = await theirContactPoint(world, 'acc_demo').catch(() => 'cp_any');

    world.apply(
      'MetricAlert',
      'cpu',
      onAlert(contactPointId, { environmentRef: { externalId: 'env_web_prod' }, lifecycle }),
    );
    await world.run(60_000);

    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('False/AdoptionNotAllowed');
    expect(world.sent).toEqual([]);
  });

  it('keeps the alerts that were put on it before the account said so', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'on-call', mail);
    const contactPointRefs = [{ name: 'on-call' }];
    const alert = { ...onAlert('', { environmentRef: { externalId: 'env_web_prod' } }), contactPointRefs };
    world.apply('MetricAlert', 'cpu', alert);
    await world.run(60_000);

    world.account({ lifecycle: { adoption: 'Never' } });
    world.apply('MetricAlert', 'cpu', { ...alert, threshold: 50 });
    await world.run(60_000);
    const seen = conditionOf(world, 'MetricAlert', 'cpu');
    world.delete('MetricAlert', 'cpu');
    await world.run(180_000);

    expect(seen).toBe('True/InSync');
    expect((await commits(world)).map(({ kind }) => kind)).toContain('alert.deleted');
  });
});
