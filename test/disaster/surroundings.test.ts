import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import {
  aDiscard,
  anActivation,
  aProtectedWorld,
  aReset,
  committed,
  conditionOf,
  failingActivation,
  sentenceOf,
  target,
} from './support.ts';

const kind = 'RecoveryActivation';

async function activations(world: InProcess): Promise<number> {
  return committed(world, 'activation.accepted');
}

describe('the dangerous credential', () => {
  /** A world whose account has a credential `zzzz` for dangerous calls. */
  async function withDangerous(): Promise<InProcess> {
    const world = await aProtectedWorld();
    await world.control('POST', '/tokens', {
      token: 'zzzz-dangerous',
      scopes: ['svc:read', 'svc:write:deploy', 'svc:write:dangerous'],
      memberships: [{ accountId: 'acc_demo', role: 'admin' }],
    });
    world.secret('dangerous', { baseUrl: 'http://127.0.0.1:8088', token: 'zzzz-dangerous' });
    world.account({ dangerousCredentialsRef: { name: 'dangerous' } });
    return world;
  }

  /** The same after an activation to which the service answered 429. */
  async function withDangerousThrottled(): Promise<InProcess> {
    const world = await withDangerous();
    const held = { insteadOf: { status: 429, text: '{}', headers: { 'retry-after': '120' } } };
    world.interference = ({ path }) => (path.endsWith('/activate') ? held : undefined);
    world.apply(kind, 'now', anActivation(world));
    await world.run(20_000);
    return world;
  }

  it('is told to be held back by the account as well', async () => {
    const world = await withDangerousThrottled();

    expect(conditionOf(world, kind, 'now', 'Ready')).toBe('False/Throttled');
    expect(conditionOf(world, 'HostingAccount', 'default', 'Throttled')).toBe('True/Throttling');
  });

  it('does not make a read wait, since reads use the other credential', async () => {
    const world = await withDangerousThrottled();
    const slow = { match: { method: 'GET', path: '/contact-points', count: 1 }, effect: { delayMs: 8_000 } };
    await world.control('POST', '/faults', slow);
    world.apply('ContactPoint', 'on-call', { email: { addresses: ['a@example.com'] } });
    await world.run(5_000);

    expect(conditionOf(world, 'ContactPoint', 'on-call', 'Ready')).toBeUndefined();
    expect(conditionOf(world, 'HostingAccount', 'default', 'Throttled')).toBe('True/Throttling');
  });

  it('signs the activation, the discard and the reset, and nothing else', async () => {
    const world = await withDangerous();
    await failingActivation(world);
    world.apply('ActivationDiscard', 'stop', aDiscard(world));
    await world.run(300_000);
    world.apply('DisasterReset', 'wipe', aReset(world));
    await world.run(300_000);

    const ledger = (await world.ledger()) as unknown as readonly { kind: string; token: string | null }[];
    const signed = ledger.filter(({ token }) => token === 'zzzz').map(({ kind: what }) => what);
    expect(signed).toEqual(['activation.accepted', 'discard.accepted', 'configuration.wiped']);
  });

  it.each([
    ['its Secret is missing', undefined],
    ['it names another host', { baseUrl: 'http://127.0.0.1:9', token: 'demo-admin' }],
    ['it does not see the account', { baseUrl: 'http://127.0.0.1:8088', token: 'demo-foreign' }],
  ])('is not replaced by the everyday one when %s', async (_because, secret) => {
    const world = await aProtectedWorld();
    if (secret !== undefined) world.secret('dangerous', secret);
    world.account({ dangerousCredentialsRef: { name: 'dangerous' } });
    world.apply(kind, 'now', anActivation(world));
    await world.run(120_000);

    expect(await activations(world)).toBe(0);
    expect(conditionOf(world, kind, 'now', 'Ready')).toBe('False/DangerousCredential');
    expect(conditionOf(world, 'HostingAccount', 'default', 'Ready')).toBe('True/InSync');
  });
});

describe('what the service leaves open', () => {
  it.each<Readonly<Record<string, unknown>>>([
    { 'activate.receipt': 'idOnly' },
    { 'activate.receipt': 'opaque' },
    { 'dr.phases': 'opaque' },
    { 'dr.operations': 'withoutIds' },
    { 'dr.operations': 'asNamed' },
    { 'dr.readinessWord': 'Ready' },
    { 'dates.form': 'seconds' },
    { 'fields.nulls': 'on', 'fields.extra': 'on' },
    { 'cursor.end': 'null' },
    { 'configure.results': 'results' },
    { 'configure.results': 'configurations' },
    { 'lists.lagMs': 60_000 },
    { 'lists.order': 'shuffled', 'errors.body': 'nested' },
    { 'rejection.status': '409', 'activate.receipt': 'opaque', 'dr.phases': 'opaque' },
    { 'dr.operations': 'withoutIds', 'activate.receipt': 'opaque', 'fields.nulls': 'on' },
    { 'dr.operations': 'asNamed', 'activate.receipt': 'opaque', 'lists.lagMs': 60_000 },
  ])('is read rightly: %o', async (readings) => {
    const world = await aProtectedWorld({ readings });
    world.apply(kind, 'now', anActivation(world));
    await world.run(1_200_000);

    expect(await activations(world)).toBe(1);
    expect(sentenceOf(world, kind, 'now')).toMatch(/is live$/);
    expect(conditionOf(world, kind, 'now', 'Succeeded')).toBe('True/Succeeded');
    expect(conditionOf(world, 'DisasterProtection', 'orders', 'RecoveryReady')).toBeDefined();
    expect(await committed(world, 'configuration.edited')).toBe(0);
  });

  it('is never guessed where the service discloses little', async () => {
    const world = await aProtectedWorld({ readings: { 'dr.disclosed': 'minimal' } });
    world.apply(kind, 'now', anActivation(world));
    world.apply(kind, 'other', anActivation(world, { target: { ...target, environmentName: 'elsewhere' } }));
    await world.run(900_000);

    expect(await activations(world)).toBe(1);
    expect(await committed(world, 'activation.promoted')).toBe(1);
    expect(conditionOf(world, kind, 'now', 'Promoted')).toBe('Unknown/NotDisclosed');
    expect(conditionOf(world, kind, 'now', 'Succeeded')).toBe('Unknown/InProgress');
    expect(conditionOf(world, kind, 'now', 'Ready')).toBe('False/NotDisclosed');
    expect(conditionOf(world, kind, 'other', 'Accepted')).toBe('False/AlreadyActivated');
    expect(conditionOf(world, 'DisasterProtection', 'orders', 'ActivationAvailable')).toBe('False/AlreadyActivated');
  });
});
