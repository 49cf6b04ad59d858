import { describe, expect, it } from 'vitest';

import { alert, box, contactPoint } from './box.ts';

describe('authentication', () => {
  it('refuses a request without the header that carries the token itself', async () => {
    const on = box();

    for (const token of ['', 'nobody', 'Bearer demo-admin']) {
      expect((await on.get('/apps', token)).status).toBe(401);
    }
  });

  it('accepts only the user token', async () => {
    const on = box();

    expect((await on.get('/apps', 'demo-environment')).status).toBe(401);
  });

  it('checks token, then permission, then existence, then form', async () => {
    const on = box();
    const nonsense = { accountId: 'acc_nowhere', name: 7 };
    const table = [
      { token: 'nobody', body: nonsense, status: 401, because: 'who is asking comes first' },
      {
        token: 'demo-readonly',
        body: nonsense,
        status: 403,
        because: 'the scope does not depend on what is asked for',
      },
      { token: 'demo-member', body: { ...nonsense, accountId: 'acc_demo' }, status: 403, because: 'a member may not' },
      {
        token: 'demo-foreign',
        body: { ...nonsense, accountId: 'acc_demo' },
        status: 403,
        because: 'not their account',
      },
      { token: 'demo-admin', body: nonsense, status: 404, because: 'there is no such account' },
      { token: 'demo-admin', body: { ...nonsense, accountId: 'acc_demo' }, status: 400, because: 'name is no text' },
    ];

    for (const { token, body, status, because } of table) {
      expect((await on.post('/contact-point', body, token)).status, because).toBe(status);
    }
  });
});

describe('scopes', () => {
  it('lets a token with svc:read read and nothing else', async () => {
    const on = box();
    const alertId = await alert(on);

    expect((await on.get('/apps', 'demo-readonly')).status).toBe(200);
    expect((await on.get(`/alert?alertId=${alertId}`, 'demo-readonly')).status).toBe(200);
    expect((await on.post('/app-env/stop', { envName: 'web-prod' }, 'demo-readonly')).status).toBe(403);
    expect((await on.remove(`/alert?alertId=${alertId}`, 'demo-readonly')).status).toBe(403);
    expect((await on.remove('/app?appId=app_web', 'demo-readonly')).status).toBe(403);
  });

  it('needs both svc:write:config and svc:write:deploy to create a solution', async () => {
    const on = box();
    const memberships = [{ accountId: 'acc_demo', role: 'admin' }];
    for (const [token, scope] of [
      ['configures', 'svc:write:config'],
      ['deploys', 'svc:write:deploy'],
    ]) {
      await on.control('POST', '/tokens', { token, scopes: ['svc:read', scope], memberships });
    }
    const body = { accountId: 'acc_demo', solutionSlug: 'queue-worker', appName: 'orders', region: 'eu-west' };

    expect((await on.post('/solutions', body, 'configures')).status).toBe(403);
    expect((await on.post('/solutions', body, 'deploys')).status).toBe(403);
    expect((await on.post('/solutions', body)).status).toBe(200);
  });
});

describe('permissions', () => {
  it('keeps admin matters from members', async () => {
    const on = box();
    const alertId = await alert(on);
    const contactPointId = await contactPoint(on, 'Other');
    const table = [
      on.remove('/app?appId=app_web', 'demo-member'),
      on.post('/solutions', { accountId: 'acc_demo' }, 'demo-member'),
      on.patch('/contact-point', { contactPointId, name: 'x' }, 'demo-member'),
      on.remove(`/contact-point?contactPointId=${contactPointId}`, 'demo-member'),
      on.post('/app-env/alert', { appEnvId: 'env_web_prod' }, 'demo-member'),
      on.patch('/alert', { alertId }, 'demo-member'),
      on.post('/alert/toggle', { alertId, enabled: false }, 'demo-member'),
      on.remove(`/alert?alertId=${alertId}`, 'demo-member'),
      on.get('/member/env-access?accountId=acc_demo&membershipId=mem_demo', 'demo-member'),
    ];

    for (const answer of await Promise.all(table)) expect(answer.status).toBe(403);
  });

  it('lets members read, deploy and create apps', async () => {
    const on = box();
    const alertId = await alert(on);

    expect((await on.get('/contact-points?accountId=acc_demo', 'demo-member')).status).toBe(200);
    expect((await on.get('/app-env/alerts?appEnvId=env_web_prod', 'demo-member')).status).toBe(200);
    expect((await on.post('/alert/refresh', { alertId }, 'demo-member')).status).toBe(200);
    expect((await on.post('/app-env/stop', { appEnvId: 'env_web_prod' }, 'demo-member')).status).toBe(200);
    const app = { accountId: 'acc_demo', name: 'mine', port: 80 };
    expect((await on.post('/app', app, 'demo-member')).status).toBe(200);
  });

  it('treats Manage Members as a permission of its own that being an admin does not confer', async () => {
    const on = box();
    const membership = { accountId: 'acc_demo', role: 'admin', permissions: ['secretsAccess'] };
    await on.control('POST', '/tokens', { token: 'plain', memberships: [membership] });
    const path = '/member/env-access?accountId=acc_demo&membershipId=mem_demo';
    const change = { accountId: 'acc_demo', membershipId: 'mem_demo', allowedAppEnvIds: ['env_web_prod'] };

    expect((await on.get(path, 'plain')).status).toBe(403);
    expect((await on.patch('/member/env-access', change, 'plain')).status).toBe(403);
    expect((await on.get(path)).body.allowedAppEnvIds).toEqual([]);
  });

  it('reveals secrets only with Secrets Access, which Admin alone does not confer', async () => {
    const on = box();
    const contactPointId = await contactPoint(on);
    const path = `/contact-point?contactPointId=${contactPointId}`;

    expect((await on.get(`${path}&showSecrets=true`, 'demo-admin-no-secrets')).status).toBe(403);
    for (const token of ['demo-admin-no-secrets', 'demo-admin']) {
      const { status, body } = await on.get(path, token);
      expect(status).toBe(200);
      expect(body).not.toHaveProperty('config');
    }
    expect((await on.get(`${path}&showSecrets=true`)).body.config).toEqual({ addresses: ['on-call@example.com'] });
  });
});

describe('the current account', () => {
  it('is what GET /apps and GET /app-envs mean without accountId, and 404 when there is none', async () => {
    const on = box();
    const memberships = [{ accountId: 'acc_demo', role: 'admin' }];
    await on.control('POST', '/tokens', { token: 'adrift', memberships });

    expect((await on.get('/apps', 'adrift')).status).toBe(404);
    expect((await on.get('/app-envs', 'adrift')).status).toBe(404);
    expect((await on.get('/apps?accountId=acc_demo', 'adrift')).body.apps).toHaveLength(4);
  });

  it('is marked by isCurrent', async () => {
    const on = box();
    const memberships = ['acc_demo', 'acc_other'].map((accountId) => ({ accountId, role: 'admin' }));
    await on.control('POST', '/tokens', { token: 'both', memberships, currentAccountId: 'acc_other' });

    const { body } = await on.get('/apps?accountId=acc_demo', 'both');

    expect(body.apps.map((app: { isCurrent: boolean }) => app.isCurrent)).toEqual([false, false, false, false]);
  });
});

describe('member environment access', () => {
  const allow = (on: ReturnType<typeof box>, allowedAppEnvIds?: readonly string[]) =>
    on.patch('/member/env-access', { accountId: 'acc_demo', membershipId: 'mem_demo', allowedAppEnvIds });
  const envsOf = async (on: ReturnType<typeof box>) =>
    (await on.get('/app-envs', 'demo-member')).body.appEnvs.map((each: { appEnvId: string }) => each.appEnvId);

  it('restricts nobody by being enabled', async () => {
    const on = box();
    await on.control('PATCH', '/accounts/acc_demo', { memberEnvAccess: true });
    const place = { appId: 'app_web', name: 'new', region: 'eu-west' };
    await on.control('POST', '/environments', { ...place, createdBy: 'demo-member' });

    expect(await envsOf(on)).toHaveLength(6);
  });

  it('takes effect only while the feature is enabled, and keeps what was saved', async () => {
    const on = box();
    await allow(on, ['env_web_prod']);
    expect(await envsOf(on)).toHaveLength(5);

    await on.control('PATCH', '/accounts/acc_demo', { memberEnvAccess: true });
    expect(await envsOf(on)).toEqual(['env_web_prod']);

    await on.control('PATCH', '/accounts/acc_demo', { memberEnvAccess: false });
    expect(await envsOf(on)).toHaveLength(5);
    const saved = await on.get('/member/env-access?accountId=acc_demo&membershipId=mem_demo');
    expect(saved.body).toEqual({ membershipId: 'mem_demo', allowedAppEnvIds: ['env_web_prod'] });

    await on.control('PATCH', '/accounts/acc_demo', { memberEnvAccess: true });
    expect(await envsOf(on)).toEqual(['env_web_prod']);
  });

  it('hides apps without an accessible environment and answers 403 for every restricted environment', async () => {
    const on = box();
    const alertId = await alert(on, { appEnvId: 'env_db_prod' });
    await on.control('PATCH', '/accounts/acc_demo', { memberEnvAccess: true });
    await allow(on, ['env_web_prod']);

    const { apps } = (await on.get('/apps', 'demo-member')).body;
    expect(apps.map(({ appId }: { appId: string }) => appId)).toEqual(['app_web']);
    expect((await on.get('/app?appId=app_db', 'demo-member')).status).toBe(403);
    expect((await on.get('/app-env/alerts?appEnvId=env_db_prod', 'demo-member')).status).toBe(403);
    expect((await on.get(`/alert?alertId=${alertId}`, 'demo-member')).status).toBe(403);
    for (const action of ['redeploy', 'stop', 'start', 'rollback', 'build', 'deploy-image']) {
      const answer = await on.post(`/app-env/${action}`, { envName: 'orders-db-prod', image: 'x' }, 'demo-member');
      expect(answer.status, action).toBe(403);
    }
    expect((await on.post('/app-env/stop', { appEnvId: 'env_web_prod' }, 'demo-member')).status).toBe(200);
  });

  it('never restricts admins', async () => {
    const on = box();
    await on.control('PATCH', '/accounts/acc_demo', { memberEnvAccess: true });
    const membershipId = 'mem_admin';
    await on.patch('/member/env-access', { accountId: 'acc_demo', membershipId, allowedAppEnvIds: ['env_web_prod'] });

    expect((await on.get('/app-envs')).body.appEnvs).toHaveLength(5);
  });

  it('means full access by an empty or an omitted list', async () => {
    const on = box();
    await on.control('PATCH', '/accounts/acc_demo', { memberEnvAccess: true });
    for (const list of [[], undefined]) {
      await allow(on, ['env_web_prod']);
      await allow(on, list);
      expect(await envsOf(on)).toHaveLength(5);
    }
  });

  it('adds what a restricted member creates to their own list, and to nobody else’s', async () => {
    const on = box();
    await on.control('PATCH', '/accounts/acc_demo', { memberEnvAccess: true });
    await on.control('POST', '/tokens', {
      token: 'second',
      memberships: [{ accountId: 'acc_demo', membershipId: 'mem_second', role: 'member' }],
    });
    const second = { accountId: 'acc_demo', membershipId: 'mem_second', allowedAppEnvIds: ['env_web_prod'] };
    await on.patch('/member/env-access', second);
    await allow(on, ['env_web_prod']);

    await on.control('POST', '/environments', {
      appEnvId: 'env_new',
      appId: 'app_web',
      name: 'new',
      region: 'eu-west',
      createdBy: 'demo-member',
    });

    expect(await envsOf(on)).toEqual(['env_web_prod', 'env_new']);
    expect((await on.get('/app-envs?accountId=acc_demo', 'second')).body.appEnvs).toHaveLength(1);
  });

  it('does not widen access when the assigned environments are deleted, not even with the last one', async () => {
    const on = box();
    await on.control('PATCH', '/accounts/acc_demo', { memberEnvAccess: true });
    await allow(on, ['env_web_staging', 'env_db_prod']);

    await on.control('DELETE', '/environments/env_web_staging');
    expect(await envsOf(on)).toEqual(['env_db_prod']);
    await on.control('DELETE', '/environments/env_db_prod');
    expect(await envsOf(on)).toEqual([]);
  });

  it('takes environments of the account only', async () => {
    const on = box();
    const app = { accountId: 'acc_other', name: 'theirs', port: 80 };
    const { appId } = (await on.post('/app', app, 'demo-foreign')).body;
    await on.control('POST', '/environments', { appEnvId: 'env_theirs', appId, name: 'p', region: 'eu-west' });

    expect((await allow(on, ['env_theirs'])).status).toBe(404);
  });

  it('stays with a membership when its token changes', async () => {
    const on = box();
    await on.control('PATCH', '/accounts/acc_demo', { memberEnvAccess: true });
    await allow(on, ['env_web_prod']);
    const memberships = [{ accountId: 'acc_demo', role: 'member', permissions: ['secretsAccess'] }];
    expect((await on.control('PATCH', '/tokens/demo-member', { memberships })).body.membershipIds).toEqual([
      'mem_demo',
    ]);

    expect(await envsOf(on)).toEqual(['env_web_prod']);
  });

  it('refuses unknown members, unknown environments and wrong types', async () => {
    const on = box();
    const body = { accountId: 'acc_demo', membershipId: 'mem_demo', allowedAppEnvIds: [] as unknown };

    expect((await on.patch('/member/env-access', { ...body, membershipId: 'mem_none' })).status).toBe(404);
    expect((await on.patch('/member/env-access', { ...body, membershipId: 'mem_foreign' })).status).toBe(404);
    expect((await on.patch('/member/env-access', { ...body, allowedAppEnvIds: ['env_none'] })).status).toBe(404);
    expect((await on.patch('/member/env-access', { ...body, allowedAppEnvIds: 'env_web_prod' })).status).toBe(400);
    expect((await on.patch('/member/env-access', { ...body, allowedAppEnvIds: null })).status).toBe(400);
  });
});
