/** Attempts to make the core do too much, too little, or the wrong thing to others; each is one small world. */
import { describe, expect, it } from 'vitest';
import { atFirst } from '../support/disturbed-wire.ts';
import type { InProcessOptions } from '../support/in-process.ts';
import {
  aWorld,
  committed,
  conditionOf,
  contactPointByHand,
  internalOf,
  messageOf,
  statusOf,
} from '../kinds/support/world.ts';

const mail = { email: { addresses: ['a@example.com'] } };
const writes: ReadonlySet<string> = new Set(['create', 'replace', 'replaceStatus', 'patch']);

const adoptions: readonly (readonly [
  account: string | undefined,
  object: string | undefined,
  named: boolean,
  ends: string,
])[] = [
  [undefined, undefined, false, 'False/AlreadyExists'],
  [undefined, undefined, true, 'True/InSync'],
  ['Never', undefined, true, 'False/AdoptionNotAllowed'],
  ['Never', 'ByName', true, 'False/AdoptionNotAllowed'],
  ['Never', 'ByName', false, 'False/AdoptionNotAllowed'],
  ['ById', 'ByName', false, 'False/AlreadyExists'],
  ['ByName', undefined, false, 'False/AlreadyExists'],
  ['ByName', 'ByName', false, 'True/InSync'],
  ['ByName', 'Never', true, 'False/AdoptionNotAllowed'],
];

describe('what exists in the service', () => {
  it.each(adoptions)(
    'with adoption %s of the account and %s of the object, named: %s, ends %s',
    async (cap, wish, isNamed, ends) => {
      const world = await aWorld();
      if (cap !== undefined) world.account({ lifecycle: { adoption: cap } });
      const id = await contactPointByHand(world, 'ops');
      const lifecycle = wish === undefined ? {} : { lifecycle: { adoption: wish } };
      world.apply('ContactPoint', 'ops', { ...mail, ...lifecycle, ...(isNamed && { externalId: id }) });
      await world.run(70_000);

      expect(conditionOf(world, 'ContactPoint', 'ops')).toBe(ends);
      expect(await committed(world, 'contactPoint.created')).toBe(1);
      world.delete('ContactPoint', 'ops');
      await world.run(70_000);
      expect(world.get('ContactPoint', 'ops')).toBeUndefined();
      expect(await committed(world, 'contactPoint.deleted')).toBe(0);
    },
  );
});

const observing: readonly {
  readonly where: string;
  readonly options: InProcessOptions;
  readonly account: object;
  readonly spec: object;
}[] = [
  { where: 'the object', options: {}, account: {}, spec: { lifecycle: { managementPolicy: 'Observe' } } },
  { where: 'the account', options: {}, account: { lifecycle: { managementPolicy: 'Observe' } }, spec: {} },
  { where: 'the operator', options: { readOnly: true }, account: {}, spec: {} },
];

describe('observing', () => {
  it.each(observing)('by $where writes nothing and says what would be done', async ({ options, account, spec }) => {
    const world = await aWorld(options);
    world.account(account);
    const id = await contactPointByHand(world, 'theirs');
    world.apply('ContactPoint', 'new', { ...mail, ...spec });
    world.apply('ContactPoint', 'bound', { ...mail, ...spec, externalId: id });
    world.apply('MetricAlert', 'cpu', {
      environmentRef: { externalId: 'env_web_prod' },
      metric: 'cpu_percent',
      operator: 'GreaterThan',
      contactPointRefs: [{ externalId: id }],
      ...spec,
    });
    await world.run(120_000);

    expect(statusOf(world, 'ContactPoint', 'new')['wouldDo']).toBe('create contact point "new"');
    expect(statusOf(world, 'MetricAlert', 'cpu')['wouldDo']).toBe('create alert "cpu"');
    expect(statusOf(world, 'ContactPoint', 'bound')).toMatchObject({
      wouldDo: expect.stringContaining('update contact point "bound"'),
    });
    expect(conditionOf(world, 'ContactPoint', 'bound', 'Synced')).toBe('False/Drifted');
    for (const name of ['new', 'bound']) world.delete('ContactPoint', name);
    await world.run(60_000);

    expect(world.sent).toEqual([]);
  });
});

describe('secrets and keys', () => {
  it('a lost key of the operator is no reason to send what is hidden again, and the new one is used from then on', async () => {
    const world = await aWorld();
    world.secret('hook', { url: 'https://hook.example.com/one' });
    world.apply('ContactPoint', 'hook', {
      webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } },
    });
    await world.run(30_000);
    const { applied } = internalOf(world, 'ContactPoint', 'hook');
    const before = world.sent.length;
    world.key = 'another key';
    await world.crash(120_000);
    await world.run(300_000);
    expect(world.sent.slice(before)).toEqual([]);
    expect(internalOf(world, 'ContactPoint', 'hook')['applied']).not.toEqual(applied);

    world.secret('hook', { url: 'https://hook.example.com/two' });
    await world.run(30_000);

    expect(world.sent.slice(before)).toHaveLength(1);
  });
});

describe('neighbours', () => {
  it('wait together for a credential that was told to wait, and nobody else does', async () => {
    const world = await aWorld();
    world.account({ externalId: 'acc_other' }, 'side');
    world.secret('hosting-credentials', { baseUrl: 'http://127.0.0.1:8088', token: 'demo-foreign' }, 'side');
    await world.run(10_000);
    world.interference = atFirst('POST', { insteadOf: { status: 429, headers: { 'retry-after': '120' } } });
    world.apply('ContactPoint', 'first', mail);
    await world.run(2_000);
    const before = world.sent.length;
    world.apply('ContactPoint', 'second', mail);
    world.apply('ContactPoint', 'third', mail, {}, 'side');
    await world.run(60_000);

    expect(world.sent.slice(before).map(({ body }) => (JSON.parse(body) as { name: string }).name)).toEqual(['third']);
    expect(conditionOf(world, 'HostingAccount', 'default', 'Throttled')).toBe('True/Throttling');
    await world.run(300_000);
    for (const name of ['first', 'second']) expect(conditionOf(world, 'ContactPoint', name)).toBe('True/InSync');
  });

  it('are served in turn: a thousand new objects of one namespace do not hold up one of another', async () => {
    const world = await aWorld();
    world.account({}, 'side');
    await world.run(5_000);
    for (let n = 0; n < 1_000; n += 1) world.apply('ContactPoint', `many-${n}`, mail);
    await world.run(2_000);

    world.apply('ContactPoint', 'one', mail, {}, 'side');
    await world.run(20_000);

    const status = world.get('ContactPoint', 'one', 'side')?.status as { externalId?: string } | undefined;
    expect(status?.externalId).toBeDefined();
    expect((await world.ledger()).length).toBeLessThan(200);
  });

  it('of a token that is refused are quiet: one asks whether it is still refused, and nobody writes', async () => {
    const world = await aWorld();
    for (let n = 0; n < 30; n += 1) world.apply('ContactPoint', `cp-${n}`, mail);
    await world.run(120_000);
    await world.control('DELETE', '/tokens/demo-admin');
    world.apply('ContactPoint', 'cp-0', { ...mail, name: 'edited' });
    // Each says once, when it is looked at anyway, that its account cannot be used.
    await world.run(1_800_000);
    expect(conditionOf(world, 'HostingAccount', 'default')).toBe('False/Unauthorized');
    const [calls, kube] = [world.calls, world.kube.calls.length];

    await world.run(1_800_000);

    expect(world.calls - calls).toBeLessThan(40);
    expect(world.kube.calls.slice(kube).filter(({ verb }) => writes.has(verb))).toEqual([]);
    expect(messageOf(world, 'ContactPoint', 'cp-0')).toContain('token');
  });

  it('of an item that nobody can read keep what they had', async () => {
    const world = await aWorld();
    for (const name of ['a', 'b']) world.apply('ContactPoint', name, mail);
    await world.run(30_000);
    const kept = () =>
      ['a', 'b'].map((name) => {
        // Each is looked at by itself after a while, which shows where it is deployed.
        const { deployments: _shownNow, ...status } = statusOf(world, 'ContactPoint', name);
        return status;
      });
    const before = kept();
    const poison = '{"contactPoints":[{"contactPointId":{"a":1}},null,7,{"name":"x"}]}';
    world.interference = ({ method, path }) =>
      method === 'GET' && path.endsWith('/contact-points') ? { insteadOf: { status: 200, text: poison } } : undefined;

    await world.run(600_000);

    expect(kept()).toEqual(before);
    expect(world.sent.filter(({ method }) => method !== 'POST')).toEqual([]);
  });
});

describe('rest', () => {
  it('of two hundred objects writes once that states nobody refreshes are stale, and reads a list a minute', async () => {
    const hours = Number(process.env['REST_HOURS'] ?? 2);
    const world = await aWorld();
    for (let n = 0; n < 190; n += 1) world.apply('ContactPoint', `cp-${n}`, mail);
    for (let n = 0; n < 10; n += 1) {
      const contactPointRefs = [{ name: `cp-${n}` }];
      world.apply('MetricAlert', `alert-${n}`, {
        environmentRef: { externalId: 'env_web_prod' },
        metric: 'cpu_percent',
        operator: 'GreaterThan',
        refreshSeconds: 0,
        contactPointRefs,
      });
    }
    await world.run(900_000);
    const [calls, sent, kube, timers] = [world.calls, world.sent.length, world.kube.calls.length, world.clock.pending];

    await world.run(hours * 3_600_000);

    // Apps, environments, contact points and the alerts of one environment, once a minute; the rest hourly.
    expect(world.calls - calls).toBeLessThan(4 * 60 * hours * 1.1 + 10 * hours);
    expect(world.sent).toHaveLength(sent);
    const written = world.kube.calls.slice(kube).flatMap(({ verb, name }) => (writes.has(verb) ? [name] : []));
    expect(written).toHaveLength(10);
    expect(new Set(written)).toEqual(new Set(Array.from({ length: 10 }, (_, n) => `alert-${n}`)));
    expect(world.clock.pending).toBeLessThan(timers * 1.5 + 50);
  });
});
