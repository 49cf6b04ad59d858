import { describe, expect, it } from 'vitest';

import { alert, box, contactPoint } from '../box.ts';

describe('errors.body and rejection.status', () => {
  it('give every error of the public interface its form', async () => {
    const on = box();
    const table = [
      ['error', (body: unknown) => expect(body).toEqual({ error: expect.any(String) })],
      ['message', (body: unknown) => expect(body).toEqual({ message: expect.any(String) })],
      ['nested', (body: unknown) => expect(body).toEqual({ error: { message: expect.any(String), code: 'notFound' } })],
    ] as const;

    for (const [form, check] of table) {
      await on.readings({ 'errors.body': form });
      check((await on.get('/app?appId=none')).body);
    }
    await on.readings({ 'errors.body': 'text' });
    const { text, headers } = await on.get('/app?appId=none');
    expect([text, headers['content-type']]).toEqual(['app not found', 'text/plain; charset=utf-8']);
    await on.readings({ 'errors.body': 'empty' });
    expect((await on.get('/app?appId=none')).text).toBe('');
  });

  it('leave the statuses alone that the text shows', async () => {
    const on = box({ readings: { 'rejection.status': '422' } });

    expect((await on.get('/apps', 'nobody')).status).toBe(401);
    expect((await on.get('/app?appId=none')).status).toBe(404);
    expect((await on.post('/app', { accountId: 'acc_demo' })).status).toBe(400);
    const other = { appEnvId: 'env_web_prod', envName: 'web-staging' };
    expect((await on.post('/app-env/alert', other)).status).toBe(400);
    expect((await on.post('/app-env/rollback', { appEnvId: 'env_web_prod' })).status).toBe(422);
  });
});

describe('get.wrapping and envAccess.shape', () => {
  it('wrap single objects under their name', async () => {
    const on = box({ readings: { 'get.wrapping': 'wrapped' } });
    const alertId = await alert(on);
    const [{ contactPointId }] = (await on.get('/contact-points?accountId=acc_demo')).body.contactPoints;
    const access = '/member/env-access?accountId=acc_demo&membershipId=mem_demo';

    expect(Object.keys((await on.get('/app?appId=app_web')).body)).toEqual(['app']);
    expect(Object.keys((await on.get(`/alert?alertId=${alertId}`)).body)).toEqual(['alert']);
    expect(Object.keys((await on.get(`/contact-point?contactPointId=${contactPointId}`)).body)).toEqual([
      'contactPoint',
    ]);
    expect((await on.get(access)).body).toEqual({ access: { membershipId: 'mem_demo', allowedAppEnvIds: [] } });
  });

  it('show assigned environments in each form', async () => {
    const on = box();
    const body = { accountId: 'acc_demo', membershipId: 'mem_demo', allowedAppEnvIds: ['env_web_prod'] };
    const table = [
      ['allowedAppEnvIds', ['env_web_prod']],
      ['appEnvIds', ['env_web_prod']],
      ['environments', [{ appEnvId: 'env_web_prod' }]],
    ] as const;

    for (const [form, value] of table) {
      await on.readings({ 'envAccess.shape': form });
      expect((await on.patch('/member/env-access', body)).body).toEqual({ membershipId: 'mem_demo', [form]: value });
    }
  });
});

describe('deployments', () => {
  const web = { appEnvId: 'env_web_prod' };

  it('carry the contentId where the reading says', async () => {
    const on = box();
    const deployed = async (reading: string) => {
      await on.readings({ 'deployImage.contentId': reading });
      return (await on.post('/app-env/deploy-image', { ...web, image: 'x' })).body;
    };

    expect(await deployed('top')).toMatchObject({ contentId: expect.any(String) });
    expect(await deployed('appEnv')).toMatchObject({ appEnv: { contentId: expect.any(String) } });
    expect(JSON.stringify(await deployed('absent'))).not.toContain('contentId');
  });

  it('spell statuses as the reading says', async () => {
    const on = box();
    const words = async (reading: string) => {
      await on.readings({ 'status.words': reading });
      const { appEnv } = (await on.post('/app-env/redeploy', web)).body;
      const [listed] = (await on.get('/app-envs')).body.appEnvs;
      return [appEnv.status, listed.status];
    };

    expect(await words('asShown')).toEqual(['UPDATING', 'updating']);
    expect(await words('upper')).toEqual(['UPDATING', 'UPDATING']);
    expect(await words('lower')).toEqual(['updating', 'updating']);
  });

  it('pass through a word nobody knows under unknownWords, and then settle', async () => {
    const on = box({ readings: { 'status.words': 'unknownWords' } });
    const statusOf = async () => (await on.get('/app-envs')).body.appEnvs[0].status;
    await on.post('/app-env/redeploy', web);

    on.advance(1500);
    expect(['DEPLOYING', 'DEGRADED', 'CRASHED']).toContain(await statusOf());
    on.advance(1500);
    expect(await statusOf()).toBe('running');
  });

  it('settle as deploy.settles says; stop and start as the text says', async () => {
    const statusAfter = async (reading: string, action: string) => {
      const on = box({ readings: { 'deploy.settles': reading } });
      await on.control('PATCH', '/environments/env_web_prod', { status: 'stopped' });
      await on.post(`/app-env/${action}`, web);
      on.advance(3_600_000);
      return (await on.get('/app-envs')).body.appEnvs[0].status;
    };

    expect(await statusAfter('RUNNING', 'redeploy')).toBe('running');
    expect(await statusAfter('lastKnown', 'redeploy')).toBe('stopped');
    expect(await statusAfter('neverSettles', 'redeploy')).toBe('updating');
    expect(await statusAfter('neverSettles', 'start')).toBe('running');
    expect(await statusAfter('lastKnown', 'start')).toBe('running');
  });

  it('remember under lastKnown what was before the first of several', async () => {
    const on = box({ readings: { 'deploy.settles': 'lastKnown' } });
    for (let n = 0; n < 2; n += 1) await on.post('/app-env/redeploy', web);
    on.advance(3000);

    expect((await on.get('/app-envs')).body.appEnvs[0].status).toBe('running');
  });

  it('take as long as deploy.ms says, nothing included', async () => {
    const on = box({ readings: { 'deploy.ms': 0 } });
    await on.post('/app-env/stop', web);

    expect((await on.get('/app-envs')).body.appEnvs[0].status).toBe('stopped');
  });
});

describe('lists', () => {
  it('show the world of a while ago under lists.lagMs, and single reads the one of now', async () => {
    const on = box();
    const names = async () =>
      (await on.get('/contact-points?accountId=acc_demo')).body.contactPoints.map(({ name }: { name: string }) => name);
    const id = await contactPoint(on, 'early');
    on.advance(10_000);
    await on.patch('/contact-point', { contactPointId: id, name: 'renamed' });
    on.advance(10_000);
    await on.remove(`/contact-point?contactPointId=${id}`);
    await contactPoint(on, 'late');

    const seen: Record<number, unknown> = {};
    for (const lag of [0, 5000, 15_000, 20_001]) {
      await on.readings({ 'lists.lagMs': lag });
      seen[lag] = await names();
    }

    expect(seen).toEqual({ 0: ['late'], 5000: ['renamed'], 15_000: ['early'], 20_001: [] });
    expect((await on.get(`/contact-point?contactPointId=${id}`)).status).toBe(404);
  });

  it('come in another order under shuffled, and always in the same one', async () => {
    const on = box();
    for (let n = 0; n < 20; n += 1) await contactPoint(on, `point ${n}`);
    const ids = async () => (await on.get('/contact-points?accountId=acc_demo')).text;
    const created = await ids();
    await on.readings({ 'lists.order': 'shuffled' });
    const shuffled = await ids();

    expect(shuffled).not.toBe(created);
    expect(shuffled).toHaveLength(created.length);
    expect(await ids()).toBe(shuffled);
  });
});

describe('fields and dates', () => {
  it('have no milliseconds under seconds', async () => {
    const on = box({ readings: { 'dates.form': 'seconds' } });
    on.advance(1234);
    await contactPoint(on);

    expect((await on.get('/contact-points?accountId=acc_demo')).body.contactPoints[0].createdAt).toBe(
      '2026-01-01T00:00:01Z',
    );
  });

  it('come with unknown ones in every object under fields.extra', async () => {
    const on = box({ readings: { 'fields.extra': 'on' } });
    const { body } = await on.get('/app-envs');

    for (const object of [body, body.appEnvs[0], body.appEnvs[0].resources]) {
      expect(object).toHaveProperty('notInTheText');
    }
  });

  it('are null instead of absent under fields.nulls when they are optional', async () => {
    const on = box();
    await alert(on);
    const [before] = (await on.get('/app-env/alerts?appEnvId=env_web_prod')).body.alerts;
    await on.readings({ 'fields.nulls': 'on' });
    const [after] = (await on.get('/app-env/alerts?appEnvId=env_web_prod')).body.alerts;

    expect(before).not.toHaveProperty('description');
    expect(after).toEqual({ ...before, description: null, lastStateCheck: null });
  });
});

describe('rate.limit', () => {
  const limited = (readings: object) => {
    let now = 5_000_000;
    const on = box({ readings: { 'rate.limit': 2, ...readings }, wallNow: () => now });
    return { on, pass: (ms: number) => (now += ms) };
  };

  it('answers 429 when a token has had its share of a second of wall time', async () => {
    const { on, pass } = limited({});
    const statuses = async (n: number, token?: string) => {
      const all: number[] = [];
      for (let i = 0; i < n; i += 1) all.push((await on.get('/apps', token)).status);
      return all;
    };

    expect(await statuses(4)).toEqual([200, 200, 429, 429]);
    expect(await statuses(1, 'demo-member')).toEqual([200]);
    on.advance(60_000);
    expect(await statuses(1)).toEqual([429]);
    pass(1000);
    expect(await statuses(3)).toEqual([200, 200, 429]);
  });

  it('is forgotten by a reset', async () => {
    const { on } = limited({});
    for (let i = 0; i < 3; i += 1) await on.get('/apps');
    await on.control('POST', '/reset');

    expect((await on.get('/apps')).status).toBe(200);
  });

  it('says when to come back in the form of the reading', async () => {
    for (const [form, value] of [
      ['seconds', '1'],
      ['date', new Date(5_001_000).toUTCString()],
      ['absent', undefined],
    ]) {
      const { on } = limited({ 'rate.retryAfter': form });
      for (let i = 0; i < 2; i += 1) await on.get('/apps');
      expect((await on.get('/apps')).headers['retry-after']).toBe(value);
    }
  });

  it('commits nothing of what it refuses', async () => {
    const { on } = limited({});
    for (let i = 0; i < 4; i += 1) await on.post('/app', { accountId: 'acc_demo', name: `a${i}`, port: 1 });

    expect(on.ledger()).toEqual(['app.created', 'app.created']);
  });
});
