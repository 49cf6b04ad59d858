import { describe, expect, it } from 'vitest';

import { everyReading } from '../../../src/simulator/store/readings.ts';
import { alert, box, type Box, contactPoint } from '../box.ts';

const day = 24 * 3_600_000;

describe('who may use the control surface', () => {
  const ask = (headers: Record<string, string>) => box().raw({ method: 'GET', url: '/_sim/clock', headers });

  it('is whoever comes by a loopback host', async () => {
    for (const host of ['localhost', 'localhost:8088', '127.0.0.1:1', '127.8.8.8', '[::1]:8088', 'LOCALHOST']) {
      expect((await ask({ host })).status, host).toBe(200);
    }
    for (const host of ['example.com', 'localhost.example.com', '127.0.0.1.example.com', '10.0.0.1', '', '0.0.0.0']) {
      expect((await ask({ host })).status, host).toBe(403);
    }
  });

  it('is nobody from another origin', async () => {
    const host = '127.0.0.1:8088';
    expect((await ask({ host, origin: `http://${host}` })).status).toBe(200);
    for (const origin of ['null', 'http://127.0.0.1:8089', 'http://localhost:8088', 'https://127.0.0.1:8088', '']) {
      expect((await ask({ host, origin })).status, origin).toBe(403);
    }
  });
});

describe('the control surface', () => {
  it('explains every route, effect and reading', async () => {
    const { body } = await box().control('GET', '/');

    expect(body.routes.every(({ does }: { does: string }) => does.length > 5)).toBe(true);
    expect(body.effects).toHaveLength(15);
    expect(body.readings.map(({ name }: { name: string }) => name)).toEqual(everyReading.map(({ name }) => name));
  });

  it('answers errors as {error} with 4xx, whatever the readings say about the public interface', async () => {
    const on = box({ readings: { 'errors.body': 'empty' } });
    const answers = [
      await on.control('GET', '/nothing'),
      await on.control('DELETE', '/clock'),
      await on.control('POST', '/clock/advance', { ms: 'x' }),
      await on.control('POST', '/accounts', {}),
    ];

    expect(answers.map(({ status }) => status)).toEqual([404, 405, 400, 400]);
    for (const { body } of answers) expect(Object.keys(body)).toEqual(['error']);
  });

  it.each([
    ['PATCH', ['accounts', 'tokens', 'environments', 'apps', 'contact-points', 'regions', 'configurations']],
    ['DELETE', ['tokens', 'environments', 'faults']],
    ['GET', ['environments']],
  ])('answers 404 where there is nothing to %s', async (method, paths) => {
    const on = box();
    for (const path of paths) {
      const answer = await on.control(method, `/${path}/none`, method === 'PATCH' ? {} : undefined);
      expect([path, answer.status, Object.keys(answer.body)]).toEqual([path, 404, ['error']]);
    }
  });

  it.each([
    [{ metric: 'disk', value: 1 }, 400],
    [{ metric: 'cpu_percent', value: 'high' }, 400],
    [{ appEnvId: 'env_none', metric: 'cpu_percent', value: 1 }, 404],
  ])('takes no metric like %j', async (metric, status) => {
    expect(await box().control('POST', '/metrics', { appEnvId: 'env_web_prod', ...metric })).toMatchObject({ status });
  });

  it('answers 409 where a body names an id that exists', async () => {
    const on = box();
    await on.control('POST', '/credentials', { credentialId: 'cred_1', accountId: 'acc_demo', kind: 'storage' });
    const membership = { accountId: 'acc_demo', membershipId: 'mem_demo', role: 'member' };
    const table = [
      ['/accounts', { accountId: 'acc_demo', name: 'x' }],
      ['/tokens', { token: 'demo-admin', memberships: [] }],
      ['/tokens', { token: 'new', memberships: [membership] }],
      ['/environments', { appEnvId: 'env_web_prod', appId: 'app_web', name: 'x', region: 'eu-west' }],
      ['/credentials', { credentialId: 'cred_1', accountId: 'acc_demo', kind: 'storage' }],
    ] as const;

    for (const [path, body] of table) expect((await on.control('POST', path, body)).status, path).toBe(409);
    expect((await on.get('/apps', 'new')).status).toBe(401);
  });

  it('creates accounts and tokens that work at once', async () => {
    const on = box();
    const { accountId } = (await on.control('POST', '/accounts', { name: 'New' })).body;
    const memberships = [{ accountId, role: 'admin', permissions: ['manageMembers'] }];

    const { token, membershipIds } = (await on.control('POST', '/tokens', { memberships, currentAccountId: accountId }))
      .body;

    expect((await on.get('/apps', token)).body).toEqual({ apps: [] });
    expect((await on.post('/app', { accountId, name: 'first', port: 80 }, token)).status).toBe(200);
    const path = `/member/env-access?accountId=${accountId}&membershipId=${membershipIds[0]}`;
    expect((await on.get(path, token)).status).toBe(200);
    await on.control('PATCH', `/tokens/${token}`, { scopes: [] });
    expect((await on.get('/apps', token)).status).toBe(403);
  });
});

describe('the ledger', () => {
  it('changes and deletes tokens whose name has to be encoded in an address', async () => {
    const on = box();
    for (const token of ['a/b', '/', 'a%2Fb', 'what?', '#1']) {
      const path = `/tokens/${encodeURIComponent(token)}`;
      await on.control('POST', '/tokens', { token, memberships: [{ accountId: 'acc_demo', role: 'admin' }] });

      expect((await on.control('PATCH', path, { scopes: [] })).status, token).toBe(200);
      expect((await on.get('/apps', token)).status, token).toBe(403);
      expect((await on.control('DELETE', path)).status, token).toBe(200);
      expect((await on.get('/apps', token)).status, token).toBe(401);
    }
    expect((await on.control('POST', '/tokens', { token: '..', memberships: [] })).status).toBe(400);
    expect((await on.control('DELETE', '/tokens/demo/admin')).status).toBe(404);
  });

  it('refuses fields that nobody knows, on every route', async () => {
    const on = box();
    await contactPoint(on);
    const { contactPoints } = (await on.get('/contact-points?accountId=acc_demo')).body;
    const table = [
      ['PATCH', '/apps/app_web', { sandboxTermination: 'done' }],
      ['PATCH', '/accounts/acc_demo', {}],
      ['PATCH', '/tokens/demo-admin', {}],
      ['PATCH', '/environments/env_web_prod', {}],
      ['PATCH', `/contact-points/${contactPoints[0].contactPointId}`, { deployedTo: [] }],
      ['PATCH', '/regions/eu-west', {}],
      ['POST', '/accounts', { name: 'x' }],
      ['POST', '/tokens', { memberships: [] }],
      ['POST', '/environments', { appId: 'app_web', name: 'x', region: 'eu-west' }],
      ['POST', '/credentials', { accountId: 'acc_demo', kind: 'llm' }],
      ['POST', '/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent', value: 1 }],
      ['POST', '/faults', { effect: { hang: true } }],
      ['POST', '/alerts/evaluate', {}],
      ['POST', '/clock/advance', { ms: 1 }],
      ['POST', '/reset', {}],
      ['PATCH', '/readings', {}],
    ] as const;

    for (const [method, path, body] of table) {
      expect((await on.control(method, path, { ...body, sandboxtermination: 1 })).status, path).toBe(400);
      expect((await on.control(method, path, body)).status, path).toBe(200);
    }
  });

  it('has a line for every commit, with its request and the beginning of the token', async () => {
    const on = box();
    await on.get('/apps');
    const id = await contactPoint(on);
    await on.patch('/contact-point', { contactPointId: id, name: 'New' });
    await on.remove(`/contact-point?contactPointId=${id}`);
    await on.remove(`/contact-point?contactPointId=${id}`);

    const { status, body } = await on.control('GET', '/ledger');
    const { items } = body;

    expect(status).toBe(200);
    expect(items[0]).toEqual({
      seq: 1,
      at: '2026-01-01T00:00:00.000Z',
      kind: 'contactPoint.created',
      id,
      accountId: 'acc_demo',
      requestSeq: 2,
      token: 'demo',
      membershipId: 'mem_admin',
      detail: { name: 'On call', type: 'email' },
    });
    expect(items.map(({ requestSeq }: { requestSeq: number }) => requestSeq)).toEqual([2, 3, 4]);
    expect((await on.control('GET', '/ledger?after=2')).body.items).toHaveLength(1);
    expect((await on.control('GET', '/ledger?after=x')).status).toBe(400);
  });

  it('and the log of requests tell no secrets', async () => {
    const on = box();
    const webhookUrl = 'https://hooks.example.com/very-secret';
    const type = 'chat_webhook_a';
    await on.post('/contact-point', { accountId: 'acc_demo', name: 'x', type, config: { webhookUrl } });

    const told = [(await on.control('GET', '/ledger')).text, (await on.control('GET', '/requests')).text].join();

    expect(told).not.toContain('very-secret');
    expect(told).not.toContain('demo-admin');
  });

  it('has counts by method and path beside it', async () => {
    const on = box();
    await contactPoint(on);
    await on.post('/contact-point', {});

    expect((await on.control('GET', '/counts')).body.items).toEqual([
      { method: 'POST', path: '/contact-point', requests: 2, commits: 1 },
    ]);
  });

  it('says of each request whether it committed', async () => {
    const on = box();
    await contactPoint(on);
    await on.post('/contact-point', {});
    await on.get('/apps?accountId=acc_demo');

    const { items } = (await on.control('GET', '/requests?after=1')).body;

    expect(items).toMatchObject([
      { seq: 2, method: 'POST', path: '/contact-point', status: 400, committed: false },
      { seq: 3, method: 'GET', path: '/apps', query: { accountId: 'acc_demo' }, status: 200, committed: false },
    ]);
  });
});

describe('the virtual clock', () => {
  it('starts at the beginning of 2026 and passes only when told', async () => {
    const on = box();
    expect((await on.control('GET', '/clock')).body).toEqual({ now: '2026-01-01T00:00:00.000Z', mode: 'virtual' });

    const { body } = await on.control('POST', '/clock/advance', { ms: day });
    expect(body).toEqual({ now: '2026-01-02T00:00:00.000Z', mode: 'virtual' });
  });

  it('fires every timer in between, in order and at its own moment', async () => {
    const on = box();
    await on.readings({ 'deploy.ms': 5000 });
    await on.post('/app-env/stop', { appEnvId: 'env_web_prod' });
    await on.readings({ 'deploy.ms': 2000 });
    await on.post('/app-env/stop', { appEnvId: 'env_web_staging' });
    on.advance(day);

    const settled = on.simulator.store.ledger.after(0).filter(({ kind }) => kind === 'environment.settled');

    const start = Date.UTC(2026, 0, 1);
    expect(settled.map(({ id, at }) => [id, at - start])).toEqual([
      ['env_web_staging', 2000],
      ['env_web_prod', 5000],
    ]);
  });

  it('passes a day of evaluations without waiting for any', async () => {
    const on = box();
    await alert(on);
    const began = performance.now();

    on.advance(day);

    expect(performance.now() - began).toBeLessThan(15_000);
  });

  it('cannot be advanced when it is real', async () => {
    const on = box({ clock: 'real' });

    expect((await on.control('POST', '/clock/advance', { ms: 1 })).status).toBe(409);
    expect((await on.control('GET', '/clock')).body.mode).toBe('real');
    await on.simulator.close();
  });

  it('refuses amounts that make no sense', async () => {
    const on = box();
    for (const ms of [-1, 1.5, '1', null, 1e20, undefined]) {
      expect((await on.control('POST', '/clock/advance', { ms })).status).toBe(400);
    }
  });
});

describe('the world', () => {
  const busy = async (on: Box) => {
    await alert(on);
    await on.post('/app-env/deploy-image', { envName: 'web-prod', image: 'x:2', envVars: { A: '1' } });
    await on.post('/app', { accountId: 'acc_demo', name: 'shop', port: 80 });
    on.advance(20_000);
    await on.post('/app-env/stop', { envName: 'web-prod' });
    return on;
  };

  it('is the same in every run with the same seed', async () => {
    const [one, two] = await Promise.all([busy(box()), busy(box())]);
    const other = await busy(box({ seed: 'other' }));

    expect(one.simulator.store.save()).toEqual(two.simulator.store.save());
    expect((await one.get('/apps')).text).toBe((await two.get('/apps')).text);
    expect((await one.get('/apps')).text).not.toBe((await other.get('/apps')).text);
  });

  it('survives its way through a file, with everything that is under way', async () => {
    const on = await busy(box());
    const saved = JSON.parse(JSON.stringify((await on.control('GET', '/world')).body));

    const again = box({ world: saved });

    expect(again.simulator.store.save()).toEqual(on.simulator.store.save());
    on.advance(3000);
    again.advance(3000);
    expect((await again.get('/app-envs')).text).toBe((await on.get('/app-envs')).text);
  });

  it('is as it was at the start after a reset', async () => {
    const on = box();
    const before = on.simulator.store.save();
    await busy(on);
    await on.readings({ 'errors.body': 'text' });
    await on.control('POST', '/faults', { match: { skip: 9 }, effect: { status: 500 } });

    await on.control('POST', '/reset');

    expect(on.simulator.store.save()).toEqual(before);
    expect((await on.control('GET', '/requests')).body.items).toEqual([]);
    expect((await on.control('GET', '/counts')).body.items).toEqual([]);
    await contactPoint(on);
    expect(on.simulator.store.ledger.after(0)).toMatchObject([{ seq: 1, requestSeq: 1 }]);
  });

  it('is reset to another one by name or by value, and to nothing else', async () => {
    const on = box();
    const demo = on.simulator.store.save();
    await on.control('POST', '/reset', { world: 'empty' });
    expect((await on.get('/apps')).status).toBe(401);
    const { collections } = (await on.control('GET', '/world')).body;
    expect(collections.regions).toHaveLength(3);
    expect(collections.accounts).toEqual([]);

    expect((await on.control('POST', '/reset', { world: demo })).status).toBe(200);
    expect((await on.get('/apps')).body.apps).toHaveLength(4);
    for (const world of ['other', 5, {}, { ...demo, collections: { dragons: [] } }, { ...demo, version: 9 }]) {
      expect((await on.control('POST', '/reset', { world })).status).toBe(400);
    }
  });

  it('from a file comes back without its ledger and its faults', async () => {
    const on = await busy(box());
    await on.control('POST', '/faults', { match: { skip: 9 }, effect: { status: 500 } });
    const again = box({ world: on.simulator.store.save() });
    expect(again.ledger()).toEqual(on.ledger());

    await again.control('POST', '/reset');

    expect(again.ledger()).toEqual([]);
    expect((await again.control('GET', '/faults')).body.items).toEqual([]);
    expect((await again.get('/apps')).text).toBe((await on.get('/apps')).text);
  });

  it('keeps the readings it was started with through a reset', async () => {
    const on = box({ readings: { 'errors.body': 'message' } });
    await on.readings({ 'errors.body': 'text', 'dates.form': 'seconds' });
    await on.control('POST', '/reset');

    expect((await on.control('GET', '/readings')).body).toMatchObject({ 'errors.body': 'message', 'dates.form': 'ms' });
  });
});

describe('readings', () => {
  it('are all there with their default first', async () => {
    const { body } = await box().control('GET', '/readings');

    expect(Object.keys(body)).toEqual(everyReading.map(({ name }) => name));
    expect(body).toMatchObject({ 'names.apps': 'repeatable', 'deploy.ms': 3000, 'rate.limit': 'off', masking: '****' });
  });

  it('take each of their values', async () => {
    const on = box();
    for (const { name, values } of everyReading) {
      for (const word of values) {
        const value = word === 'N' ? 7 : word;
        expect((await on.readings({ [name]: value })).status, `${name}=${value}`).toBe(200);
      }
    }
  });

  it('refuse other names and values, and then change nothing', async () => {
    const on = box();
    const table: readonly Readonly<Record<string, unknown>>[] = [
      { 'no.such': 'x' },
      { 'errors.body': 'poem' },
      { 'deploy.ms': -1 },
      { 'deploy.ms': 'soon' },
      { toString: 'x' },
    ];
    for (const changes of table) {
      expect((await on.readings({ 'dates.form': 'seconds', ...changes })).status).toBe(400);
    }
    expect((await on.control('GET', '/readings')).body['dates.form']).toBe('ms');
  });
});
