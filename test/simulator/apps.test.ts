import { describe, expect, it } from 'vitest';

import { alert, box, type Box } from './box.ts';

const smallest = { accountId: 'acc_demo', name: 'shop', port: 3000 };

async function created(on: Box, changes: object = {}): Promise<string> {
  return (await on.post('/app', { ...smallest, ...changes })).body.appId;
}

const git = { gitNamespace: 'demo', gitRepo: 'api', gitInstallationId: 'git_demo' };

async function shown(on: Box, appId: string) {
  return (await on.get(`/app?appId=${appId}`)).body;
}

describe('presets', () => {
  it('lists what apps can be made from, including FUNCTION and JOB and no databases', async () => {
    const { presets } = (await box().get('/app-presets')).body;
    const names = presets.map(({ name }: { name: string }) => name).toSorted();
    const built = ['NODE_JS_INSTALL_BUILD_START', 'NODE_JS_INSTALL_START', 'REMIX', 'VITE', 'VUE_JS'];

    expect(names).toEqual(['ANGULAR', 'CUSTOM', 'EXPRESS', 'FUNCTION', 'JOB', 'METEOR_JS', 'NEXT_JS', ...built]);
    expect(presets[0]).toMatchObject({ name: 'NEXT_JS', hasVersions: true, label: 'Next.js' });
  });

  it('lists the managed services with versions, default, protocols and limits; CouchDB is single-node', async () => {
    const { presets } = (await box().get('/database-presets')).body;
    const names = presets.map(({ name }: { name: string }) => name);

    expect(names).toEqual(['MONGODB', 'POSTGRESQL', 'MYSQL', 'REDIS', 'COUCHDB', 'RABBITMQ', 'CLICKHOUSE']);
    for (const preset of presets) {
      expect(preset.versions).toContain(preset.defaultDockerPresetVersion);
      expect(preset.protocols).toEqual(expect.arrayContaining([expect.any(String)]));
      expect(preset.limits).toEqual({ maxDisk: expect.any(Number), maxReplicas: expect.any(Number) });
    }
    expect(presets[4].limits.maxReplicas).toBe(1);
  });
});

describe('POST /app', () => {
  it.each([
    ['a second node of CouchDB', 400, { dockerPreset: 'COUCHDB', containers: 2 }],
    ['one node of CouchDB', 200, { dockerPreset: 'COUCHDB', containers: 1 }],
    ['as many replicas as the preset has', 200, { dockerPreset: 'POSTGRESQL', containers: 3, disk: 500 }],
    ['a replica too many', 400, { dockerPreset: 'POSTGRESQL', containers: 4 }],
    ['a disk too large', 400, { dockerPreset: 'POSTGRESQL', disk: 501 }],
    ['a flag that is a text', 400, { dockerPreset: 'REDIS', withPersistence: 'true' }],
    ['settings that are a list', 400, { dockerPreset: 'REDIS', databaseSettings: [] }],
    ['fields of a database for another app', 200, { containers: 2 }],
  ] as const)('takes a managed service only within its limits: %s', async (_, status, more) => {
    expect(await box().post('/app', { ...smallest, ...more })).toMatchObject({ status });
  });

  it('answers with the appId alone, and creates an app with every field of the text and its defaults', async () => {
    const on = box();

    const { body } = await on.post('/app', { ...smallest, ...git });

    expect(body).toEqual({ appId: expect.any(String) });
    expect(await shown(on, body.appId)).toEqual({
      appId: body.appId,
      name: 'shop',
      slug: 'shop',
      gitProvider: 'GITHUB',
      ...git,
      dockerPreset: 'CUSTOM',
      contextDir: './',
      customDockerfileContentInUse: false,
      dockerfilePath: 'Dockerfile',
      useSSL: true,
      useTCP: false,
      useImage: false,
      port: 3000,
      builder: 'DOCKER',
      isCliDeployment: false,
    });
  });

  it('shows the default dockerfilePath on the CUSTOM app of the demo world too', async () => {
    const on = box();

    const app = await shown(on, 'app_web');

    expect(app).toMatchObject({ dockerPreset: 'CUSTOM', dockerfilePath: 'Dockerfile', useImage: true });
  });

  it('has no default dockerfilePath with customDockerfileContent or another preset', async () => {
    const on = box();

    const custom = await shown(on, await created(on, { customDockerfileContent: 'FROM scratch' }));
    const next = await shown(on, await created(on, { dockerPreset: 'NEXT_JS' }));

    expect(custom).not.toHaveProperty('dockerfilePath');
    expect(custom.customDockerfileContentInUse).toBe(true);
    expect(next).not.toHaveProperty('dockerfilePath');
  });

  it('takes every preset of the catalogs and the versions they list', async () => {
    const on = box();
    const catalogs = [(await on.get('/app-presets')).body.presets, (await on.get('/database-presets')).body.presets];

    for (const { name, versions } of catalogs.flat()) {
      expect((await on.post('/app', { ...smallest, dockerPreset: name })).status, name).toBe(200);
      for (const dockerPresetVersion of versions) {
        expect((await on.post('/app', { ...smallest, dockerPreset: name, dockerPresetVersion })).status).toBe(200);
      }
    }
    const listed = catalogs.flat().flatMap(({ versions }) => versions);
    expect(listed).toEqual(expect.arrayContaining(['METEOR_JS_3_5', 'NEXT_JS_NODE_JS_22', 'EXPRESS_NODE_JS_20']));
  });

  it('refuses what breaks the table', async () => {
    const on = box();
    const table = [
      { body: { name: undefined }, because: 'name is required' },
      { body: { name: '' }, because: 'a name is not empty' },
      { body: { name: 7 }, because: 'name is a String' },
      { body: { accountId: undefined }, because: 'accountId is required' },
      { body: { port: undefined }, because: 'port is required for non-Job apps' },
      { body: { port: undefined, dockerPreset: 'REDIS' }, because: 'port is required for databases, too' },
      { body: { port: '3000' }, because: 'port is a Number' },
      { body: { port: 0 }, because: 'no port is 0' },
      { body: { port: -1 }, because: 'no port is less than 0' },
      { body: { port: 65_536 }, because: 'no port is so large' },
      { body: { port: 1.5 }, because: 'no port is broken' },
      { body: { dockerPreset: 'COBOL' }, because: 'not a preset' },
      { body: { dockerPreset: 'NODE' }, because: 'only responses and updates show it' },
      { body: { dockerPreset: null }, because: 'null is no preset' },
      { body: { dockerPresetVersion: 'NEXT_JS_NODE_JS_22' }, because: 'not a version of CUSTOM' },
      { body: { useImage: 'true' }, because: 'useImage is a Boolean' },
      { body: { image: 5 }, because: 'image is a String' },
      { body: { ...git, gitRepo: undefined }, because: 'a GitHub deployment needs all three' },
      { body: { isCliDeployment: 1 }, because: 'isCliDeployment is a Boolean' },
      { body: { jobConfig: { command: 'x' } }, because: 'jobConfig is only for JOB' },
      { body: { dockerPreset: 'JOB', jobConfig: [] }, because: 'jobConfig is an Object' },
      { body: { dockerPreset: 'JOB', jobConfig: { shell: 'yes' } }, because: 'shell is a Boolean' },
      { body: { dockerPreset: 'JOB', jobConfig: { timeoutSeconds: '5' } }, because: 'timeoutSeconds is a Number' },
      { body: { startupConfig: { command: 'x' } }, because: 'startup commands belong to environments' },
    ];

    for (const { body, because } of table) {
      expect((await on.post('/app', { ...smallest, ...body })).status, because).toBe(400);
    }
    expect(on.ledger()).toEqual([]);
    expect((await on.post('/app', { ...smallest, port: 65_535 })).status).toBe(200);
  });

  it('needs no port for jobs', async () => {
    const on = box();
    const jobConfig = { command: 'migrate', shell: false, timeoutSeconds: 60, backoffLimit: 2, concurrency: 'Forbid' };

    const answer = await on.post('/app', { accountId: 'acc_demo', name: 'job', dockerPreset: 'JOB', jobConfig });

    expect(answer.status).toBe(200);
  });

  it('refuses a second name only when names are unique', async () => {
    const on = box();
    await created(on);
    expect((await on.post('/app', smallest)).status).toBe(200);

    await on.readings({ 'names.apps': 'unique', 'rejection.status': '409' });
    expect((await on.post('/app', smallest)).status).toBe(409);
  });

  it('gives databases an environment by themselves only when the reading says so', async () => {
    const on = box();
    const envsOf = async (appId: string) => (await on.get(`/app-envs?appId=${appId}`)).body.appEnvs;
    const before = await created(on, { dockerPreset: 'REDIS' });
    await on.readings({ 'createApp.provisions': 'databases' });
    const after = await created(on, { dockerPreset: 'REDIS' });
    const web = await created(on);

    on.advance(1999);
    expect(await envsOf(after)).toEqual([]);
    on.advance(1);

    expect(await envsOf(before)).toEqual([]);
    expect(await envsOf(web)).toEqual([]);
    expect(await envsOf(after)).toMatchObject([{ status: 'running', appId: after }]);
  });
});

describe('PATCH /app', () => {
  it('answers with the app and the number of environments it affects', async () => {
    const { body } = await box().patch('/app', { appId: 'app_web', port: 8080 });

    expect(body).toEqual({
      appId: 'app_web',
      name: 'web',
      dockerPreset: 'CUSTOM',
      port: 8080,
      environmentsAffected: 2,
    });
  });

  it('makes changes pending per environment until the next deployment', async () => {
    const on = box();
    await on.patch('/app', { appId: 'app_web', port: 8080, contextDir: './web' });
    const before = (await on.control('GET', '/environments/env_web_prod')).body;

    await on.post('/app-env/redeploy', { appEnvId: 'env_web_prod' });
    const [deployed, other] = await Promise.all(
      ['env_web_prod', 'env_web_staging'].map(async (id) => (await on.control('GET', `/environments/${id}`)).body),
    );

    expect(before).toMatchObject({ status: 'running', pendingChanges: ['port', 'contextDir'] });
    expect(deployed).toMatchObject({ status: 'updating', pendingChanges: [] });
    expect(other.pendingChanges).toEqual(['port', 'contextDir']);
  });

  it('keeps changes pending through a stop', async () => {
    const on = box();
    await on.patch('/app', { appId: 'app_web', port: 8080 });
    await on.post('/app-env/stop', { appEnvId: 'env_web_prod' });
    on.advance(3000);

    expect((await on.control('GET', '/environments/env_web_prod')).body.pendingChanges).toEqual(['port']);
  });

  it('deploys at once with applyImmediately', async () => {
    const on = box();
    await on.patch('/app', { appId: 'app_web', port: 8080, applyImmediately: true });

    const { appEnvs } = (await on.get('/app-envs?appId=app_web')).body;

    expect(appEnvs.map(({ status }: { status: string }) => status)).toEqual(['updating', 'updating']);
  });

  /** The image of the version that an environment runs. */
  async function imageOf(on: Box, appEnvId: string): Promise<string> {
    const { currentContentId, contents } = (await on.control('GET', `/environments/${appEnvId}`)).body;
    return contents.find(({ contentId }: { contentId: string }) => contentId === currentContentId).image;
  }

  it('deploys the image at once with applyImmediately', async () => {
    const on = box();
    await on.patch('/app', { appId: 'app_web', image: 'example/web:2', applyImmediately: true });
    on.advance(5000);

    const shownHidden = (await on.control('GET', '/environments/env_web_prod')).body;
    expect(shownHidden).toMatchObject({ status: 'running', pendingChanges: [] });
    expect(await imageOf(on, 'env_web_prod')).toBe('example/web:2');
    expect(await imageOf(on, 'env_web_staging')).toBe('example/web:2');
  });

  it('deploys the image of a source app that is switched to images', async () => {
    const on = box();
    const appId = await created(on, { name: 'api', ...git });
    const place = { appEnvId: 'env_api', appId, name: 'production', region: 'eu-west', gitBranch: 'main' };
    await on.control('POST', '/environments', { ...place, status: 'running' });

    await on.patch('/app', { appId, useImage: true, image: 'example/api:1', applyImmediately: true });
    expect(await imageOf(on, 'env_api')).toBe('example/api:1');

    await on.patch('/app', { appId, useImage: false, applyImmediately: true });
    expect(await imageOf(on, 'env_api')).toMatch(/^registry\.svc\.example\/api:/);
  });

  it('leaves the image that runs alone when other fields are applied, and when the current version is restarted', async () => {
    const on = box();
    await on.post('/app-env/deploy-image', { appEnvId: 'env_web_prod', image: 'example/other:9' });
    await on.patch('/app', { appId: 'app_web', port: 8080, applyImmediately: true });
    expect(await imageOf(on, 'env_web_prod')).toBe('example/other:9');

    await on.patch('/app', { appId: 'app_web', image: 'example/web:2', healthCheckPath: '/up' });
    await on.post('/app-env/redeploy', { appEnvId: 'env_web_prod' });
    expect(await imageOf(on, 'env_web_prod')).toBe('example/other:9');
    expect((await on.control('GET', '/environments/env_web_prod')).body.pendingChanges).toEqual(['image']);
  });

  it('leaves stopped environments to their next deployment, and changes nothing when nothing is named', async () => {
    const on = box();
    await on.control('PATCH', '/environments/env_web_staging', { status: 'stopped' });
    const before = on.ledger().length;

    expect((await on.patch('/app', { appId: 'app_web', applyImmediately: true })).body.environmentsAffected).toBe(2);
    expect(on.ledger()).toHaveLength(before);
    await on.patch('/app', { appId: 'app_web', port: 8080, applyImmediately: true });

    const { appEnvs } = (await on.get('/app-envs?appId=app_web')).body;
    expect(appEnvs.map(({ status }: { status: string }) => status)).toEqual(['updating', 'stopped']);
  });

  it('needs access to every environment that it affects', async () => {
    const on = box();
    await on.control('PATCH', '/accounts/acc_demo', { memberEnvAccess: true });
    const body = { accountId: 'acc_demo', membershipId: 'mem_demo', allowedAppEnvIds: ['env_web_prod', 'env_fn_prod'] };
    await on.patch('/member/env-access', body);

    expect((await on.patch('/app', { appId: 'app_web', port: 1 }, 'demo-member')).status).toBe(403);
    expect((await on.patch('/app', { appId: 'app_fn', port: 1 }, 'demo-member')).status).toBe(200);
  });

  it('keeps dockerfilePath and customDockerfileContent apart', async () => {
    const on = box();
    const both = { appId: 'app_web', dockerfilePath: 'a', customDockerfileContent: 'FROM b' };
    expect((await on.patch('/app', both)).status).toBe(400);

    await on.patch('/app', { appId: 'app_web', customDockerfileContent: 'FROM b' });
    expect(await shown(on, 'app_web')).toMatchObject({ customDockerfileContentInUse: true });
    await on.patch('/app', { appId: 'app_web', dockerfilePath: 'other/Dockerfile' });
    expect(await shown(on, 'app_web')).toMatchObject({
      customDockerfileContentInUse: false,
      dockerfilePath: 'other/Dockerfile',
    });
  });

  it('falls back to Dockerfile when the preset becomes CUSTOM', async () => {
    const on = box();
    const appId = await created(on, { dockerPreset: 'VITE' });

    await on.patch('/app', { appId, dockerPreset: 'CUSTOM' });

    expect(await shown(on, appId)).toMatchObject({ dockerPreset: 'CUSTOM', dockerfilePath: 'Dockerfile' });
  });

  it('wants useImage true in the same request when an image comes to an app built from source', async () => {
    const on = box();
    const appId = await created(on);

    expect((await on.patch('/app', { appId, image: 'x:1' })).status).toBe(400);
    expect((await on.patch('/app', { appId, image: 'x:1', useImage: true })).status).toBe(200);
    expect((await on.patch('/app', { appId, image: 'x:2' })).status).toBe(200);
  });

  it.each(['NODE', 'METEOR', 'PYTHON'])('knows the preset %s, which creation does not', async (dockerPreset) => {
    expect((await box().patch('/app', { appId: 'app_web', dockerPreset })).body).toMatchObject({ dockerPreset });
  });

  it.each(['imagePullAccountSecretId', 'buildPullAccountSecretId'])(
    'takes a registry credential of the account only as %s',
    async (field) => {
      const on = box();
      const credentials = [
        { credentialId: 'cred_r', accountId: 'acc_demo', kind: 'registry' },
        { credentialId: 'cred_l', accountId: 'acc_demo', kind: 'llm' },
        { credentialId: 'cred_o', accountId: 'acc_other', kind: 'registry' },
      ];
      for (const credential of credentials) await on.control('POST', '/credentials', credential);
      const patch = (credentialId: string) => on.patch('/app', { appId: 'app_web', [field]: credentialId });

      expect((await patch('cred_none')).status).toBe(404);
      expect((await patch('cred_o')).status).toBe(404);
      expect((await patch('cred_l')).status).toBe(400);
      expect((await patch('cred_r')).status).toBe(200);
      expect((await on.patch('/app', { appId: 'app_web', [field]: 'cred_none', port: 'x' })).status).toBe(404);
    },
  );

  it('converts to a Function and back by dockerPreset alone', async () => {
    const on = box();
    await on.control('PATCH', '/environments/env_web_prod', { volumes: 0 });

    const mixed = await on.patch('/app', { appId: 'app_web', dockerPreset: 'FUNCTION', port: 1 });
    const alone = await on.patch('/app', { appId: 'app_web', dockerPreset: 'FUNCTION' });
    const source = await on.patch('/app', { appId: 'app_web', useImage: false });
    const back = await on.patch('/app', { appId: 'app_web', dockerPreset: 'CUSTOM' });

    expect([mixed.status, alone.status, source.status, back.status]).toEqual([400, 200, 400, 200]);
    expect(await shown(on, 'app_web')).toMatchObject({ useImage: true, dockerPreset: 'CUSTOM' });
  });

  it('refuses a Function where there are volumes or no support for Functions', async () => {
    const on = box();
    expect((await on.patch('/app', { appId: 'app_web', dockerPreset: 'FUNCTION' })).status).toBe(400);

    await on.control('PATCH', '/environments/env_web_prod', { volumes: 0, region: 'ap-south' });
    expect((await on.patch('/app', { appId: 'app_web', dockerPreset: 'FUNCTION' })).status).toBe(400);
  });

  it('keeps databases databases', async () => {
    const on = box();

    expect((await on.patch('/app', { appId: 'app_db', dockerPreset: 'CUSTOM' })).status).toBe(400);
    expect((await on.patch('/app', { appId: 'app_web', dockerPreset: 'REDIS' })).status).toBe(400);
    expect((await on.patch('/app', { appId: 'app_db', buildArgs: 'A=1' })).body).toMatchObject({ port: 5432 });
  });

  it('leaves jobs on the settings they had until pending changes are applied', async () => {
    const on = box();
    const jobOf = async () => (await on.control('GET', '/environments/env_job_prod')).body.jobConfig;
    await on.patch('/app', { appId: 'app_job', jobConfig: { command: 'migrate up' } });
    expect(await jobOf()).toBeUndefined();

    await on.post('/app-env/redeploy', { envName: 'migrate-prod' });
    expect(await jobOf()).toEqual({ command: 'migrate up' });
    expect((await on.patch('/app', { appId: 'app_web', jobConfig: {} })).status).toBe(400);
  });

  it('refuses wrong types without changing anything', async () => {
    const on = box();
    const table = [{ port: 'x' }, { builder: 1 }, { healthCheckPort: 0 }, { healthCheckHeaders: { a: 1 } }];
    const more = [{ buildArgs: 1 }, { applyImmediately: 'yes' }, { dockerPreset: 'x' }, { startupConfig: {} }];

    for (const change of [...table, ...more]) {
      expect((await on.patch('/app', { appId: 'app_web', contextDir: './new', ...change })).status).toBe(400);
    }
    expect((await shown(on, 'app_web')).contextDir).toBe('./');
  });
});

describe('DELETE /app', () => {
  it('removes the app with its environments and their alerts', async () => {
    const on = box();
    const alertId = await alert(on);

    const answer = await on.remove('/app?appId=app_web');

    expect(Object.keys(answer.body)).toEqual(['message']);
    expect((await on.get('/app?appId=app_web')).status).toBe(404);
    expect((await on.get('/app-envs')).body.appEnvs).toHaveLength(3);
    expect((await on.get(`/alert?alertId=${alertId}`)).status).toBe(404);
    const [{ contactPointId }] = (await on.get('/contact-points?accountId=acc_demo')).body.contactPoints;
    expect((await on.remove(`/contact-point?contactPointId=${contactPointId}`)).status).toBe(200);
  });

  it('checks preventDestroy before anything else', async () => {
    const on = box();
    await on.control('PATCH', '/environments/env_web_staging', { preventDestroy: true });
    await on.control('PATCH', '/apps/app_web', { sandboxTermination: 'failed' });

    const answer = await on.remove('/app?appId=app_web');

    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain('preventDestroy');
    expect((await on.get('/app-envs?appId=app_web')).body.appEnvs).toHaveLength(2);
  });

  it('keeps app and environments while sandbox workloads are not gone, so that it can be retried', async () => {
    const on = box();
    for (const sandboxTermination of ['pending', 'failed']) {
      await on.control('PATCH', '/apps/app_web', { sandboxTermination });
      expect((await on.remove('/app?appId=app_web')).status).toBe(400);
      expect((await on.get('/app-envs?appId=app_web')).body.appEnvs).toHaveLength(2);
    }

    await on.control('PATCH', '/apps/app_web', { sandboxTermination: 'done' });
    expect((await on.remove('/app?appId=app_web')).status).toBe(200);
  });

  it('keeps persistent volumes for a flow of their own', async () => {
    const on = box();
    await on.remove('/app?appId=app_db');

    const deleted = on.simulator.store.ledger.after(0).find(({ kind }) => kind === 'environment.deleted');

    expect(deleted?.detail).toMatchObject({ volumesKept: 1 });
  });
});

describe('an app that is not there', () => {
  it('is a 404 to read, to change and to delete, and must be named', async () => {
    const on = box();

    expect((await on.get('/app?appId=none')).status).toBe(404);
    expect((await on.patch('/app', { appId: 'none', port: 1 })).status).toBe(404);
    expect((await on.remove('/app?appId=none')).status).toBe(404);
    expect([await on.get('/app'), await on.remove('/app')].map(({ status }) => status)).toEqual([400, 400]);
  });
});

describe('GET /apps and GET /app-envs', () => {
  it('show the fields of the text', async () => {
    const on = box();
    const created = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' };
    await on.post('/app-env/deploy-image', { appEnvId: 'env_web_staging', image: 'x', envVars: { KEY: 'secret' } });

    const [app] = (await on.get('/apps')).body.apps;
    const [environment, staging] = (await on.get('/app-envs')).body.appEnvs;

    expect(app).toEqual({
      appId: 'app_web',
      name: 'web',
      slug: 'web',
      gitProvider: 'GITHUB',
      gitNamespace: 'demo',
      gitRepo: 'web',
      dockerPreset: 'CUSTOM',
      ...created,
      isCurrent: true,
    });
    expect(environment).toMatchObject({
      appEnvId: 'env_web_prod',
      appId: 'app_web',
      name: 'production',
      cliEnvName: 'web-prod',
      region: 'eu-west',
      hosts: [expect.any(String)],
      status: 'running',
      resources: { containers: 1, zClouds: 1, cpu: 1, memory: 1024 },
      ...created,
    });
    expect(staging).not.toHaveProperty('envVars');
  });

  it('are narrowed to one app, which must be of the account', async () => {
    const on = box();

    expect((await on.get('/app-envs?appId=app_fn')).body.appEnvs).toMatchObject([{ appEnvId: 'env_fn_prod' }]);
    expect((await on.get('/app-envs?appId=app_none')).status).toBe(404);
    expect((await on.get('/app-envs?appId=app_fn&accountId=acc_demo')).status).toBe(200);
    expect((await on.get('/app-envs?accountId=acc_other')).status).toBe(403);
  });

  it('look for an app in the current account only, unless another one is named', async () => {
    const on = box();
    const memberships = [
      { accountId: 'acc_demo', role: 'admin' },
      { accountId: 'acc_other', role: 'admin' },
    ];
    await on.control('POST', '/tokens', { token: 'adrift', memberships });
    await on.control('POST', '/tokens', { token: 'elsewhere', memberships, currentAccountId: 'acc_other' });

    expect((await on.get('/app-envs?appId=app_web', 'adrift')).status).toBe(404);
    expect((await on.get('/app-envs?appId=app_web', 'elsewhere')).status).toBe(404);
    expect((await on.get('/app-envs?appId=app_web&accountId=acc_demo', 'elsewhere')).status).toBe(200);
    expect((await on.get('/apps?accountId=acc_none')).status).toBe(404);
  });
});
