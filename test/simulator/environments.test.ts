import { describe, expect, it } from 'vitest';

import { box, type Box } from './box.ts';

const web = { appEnvId: 'env_web_prod' };

async function hidden(on: Box, appEnvId = 'env_web_prod') {
  return (await on.control('GET', `/environments/${appEnvId}`)).body;
}

async function statusOf(on: Box, appEnvId = 'env_web_prod'): Promise<string> {
  const { appEnvs } = (await on.get('/app-envs')).body;
  return appEnvs.find((each: { appEnvId: string }) => each.appEnvId === appEnvId).status;
}

/** The demo app, built from its git branch instead of an image. */
async function built(): Promise<Box> {
  const on = box();
  await on.patch('/app', { appId: 'app_web', useImage: false });
  return on;
}

describe('naming an environment', () => {
  it('takes appEnvId, envName, or both when they agree', async () => {
    const on = box();
    const table = [
      { body: web, status: 200 },
      { body: { envName: 'web-prod' }, status: 200 },
      { body: { ...web, envName: 'web-prod' }, status: 200 },
      { body: { ...web, envName: 'web-staging' }, status: 400 },
      { body: {}, status: 400 },
      { body: { appEnvId: 'env_none' }, status: 404 },
      { body: { envName: 'none' }, status: 404 },
      { body: { envName: 'Web-Prod' }, status: 404 },
      { body: { appEnvId: 7 }, status: 400 },
    ];

    for (const { body, status } of table) {
      expect((await on.post('/app-env/redeploy', body)).status, JSON.stringify(body)).toBe(status);
    }
  });

  it('looks envName up in the current account of the token', async () => {
    const on = box();

    expect((await on.post('/app-env/redeploy', { envName: 'web-prod' }, 'demo-foreign')).status).toBe(404);
    expect((await on.post('/app-env/redeploy', web, 'demo-foreign')).status).toBe(403);
  });
});

describe('every deployment', () => {
  it('answers with success, message and an environment that is UPDATING', async () => {
    const on = box();
    const appEnv = { ...web, name: 'production', status: 'UPDATING' };
    const rest = { 'deploy-image': { contentId: expect.any(String) }, rollback: { rollbackInfo: expect.any(Object) } };
    for (const action of ['deploy-image', 'rollback', 'redeploy', 'stop', 'stop', 'start'] as const) {
      const { body } = await on.post(`/app-env/${action}`, {
        ...web,
        ...(action === 'deploy-image' && { image: 'x:2' }),
      });
      expect(body).toEqual({
        success: true,
        message: expect.any(String),
        appEnv,
        ...(action in rest && rest[action as keyof typeof rest]),
      });
    }
  });

  it('passes through updating in lists and settles after a while', async () => {
    const on = box();
    await on.post('/app-env/redeploy', web);

    on.advance(2999);
    expect(await statusOf(on)).toBe('updating');
    on.advance(1);
    expect(await statusOf(on)).toBe('running');
  });

  it('ends a stop in stopped and a start in running', async () => {
    const on = box();
    await on.post('/app-env/stop', web);
    on.advance(3000);
    expect(await statusOf(on)).toBe('stopped');

    await on.post('/app-env/start', web);
    on.advance(3000);
    expect(await statusOf(on)).toBe('running');
  });

  it('is superseded by the next one', async () => {
    const on = box();
    await on.post('/app-env/start', web);
    on.advance(1000);
    await on.post('/app-env/stop', web);

    on.advance(2000);
    expect(await statusOf(on)).toBe('updating');
    on.advance(1000);
    expect(await statusOf(on)).toBe('stopped');
  });

  it('is refused on top of another one when the reading says so', async () => {
    const on = box({ readings: { 'deploy.whileUpdating': 'reject', 'rejection.status': '409' } });
    await on.post('/app-env/redeploy', web);

    expect((await on.post('/app-env/stop', web)).status).toBe(409);
    on.advance(3000);
    expect((await on.post('/app-env/stop', web)).status).toBe(200);
  });
});

describe('POST /app-env/deploy-image', () => {
  it('makes a fresh content version for every request, even for the same image', async () => {
    const on = box();

    const first = (await on.post('/app-env/deploy-image', { ...web, image: 'x:2' })).body.contentId;
    const second = (await on.post('/app-env/deploy-image', { ...web, image: 'x:2' })).body.contentId;

    expect(first).not.toBe(second);
    const { contents, currentContentId } = await hidden(on);
    expect(contents.map(({ version }: { version: number }) => version)).toEqual([1, 2, 3]);
    expect(currentContentId).toBe(second);
  });

  it('needs an app that uses images, unless it is a Function', async () => {
    const on = await built();
    const fn = (await on.post('/app', { accountId: 'acc_demo', name: 'f', port: 80, dockerPreset: 'FUNCTION' })).body;
    await on.control('POST', '/environments', { ...fn, appEnvId: 'env_f', name: 'f', region: 'eu-west' });

    expect((await on.post('/app-env/deploy-image', { ...web, image: 'x' })).status).toBe(400);
    expect((await on.post('/app-env/deploy-image', { envName: 'orders-db-prod', image: 'x' })).status).toBe(400);
    expect((await on.post('/app-env/deploy-image', { appEnvId: 'env_f', image: 'x' })).status).toBe(200);
  });

  it('adds new variables as secrets of the runtime', async () => {
    const on = box();
    await on.post('/app-env/deploy-image', { ...web, image: 'x', envVars: { A: '1' } });
    await on.post('/app-env/deploy-image', { ...web, image: 'x', envVars: { B: '2' } });

    const { envVars, envVarKinds } = await hidden(on);
    expect([envVars, envVarKinds.B]).toEqual([
      { A: '1', B: '2' },
      { secret: true, runtime: true },
    ]);
  });

  it('takes functionConfig within its limits, which hold for the merged one, for Functions only', async () => {
    const on = box();
    const fn = { envName: 'resize-prod', image: 'x' };
    await on.post('/app-env/deploy-image', { ...fn, functionConfig: { maxScale: 5 } });

    const table = [{ minScale: 9 }, { minScale: -1 }, { minScale: '1' }, { nonsense: 1 }, { timeoutSeconds: 1e9 }];
    for (const functionConfig of table) {
      expect((await on.post('/app-env/deploy-image', { ...fn, functionConfig })).status).toBe(400);
    }
    expect((await on.post('/app-env/deploy-image', { ...web, image: 'x', functionConfig: {} })).status).toBe(400);
  });

  it('refuses wrong types and saves nothing of a refused request', async () => {
    const on = box();
    const table = [
      {},
      { image: '' },
      { image: 'two words' },
      { image: 'x', envVars: [] },
      { image: 'x', envVars: { A: 1 } },
      { image: 'x', envVars: { 'no name': '1' } },
      { image: 7, envVars: { A: '1' } },
      { image: 'x', envVars: { A: '1' }, startupConfig: 'x' },
    ];

    for (const body of table) expect((await on.post('/app-env/deploy-image', { ...web, ...body })).status).toBe(400);
    expect(await hidden(on)).toMatchObject({ envVars: {}, versions: 1, status: 'running' });
  });
});

describe('the startup override', () => {
  const deploys = async (on: Box, body: object, appEnvId = 'env_web_prod') =>
    (await on.post('/app-env/deploy-image', { appEnvId, image: 'x', ...body })).status;

  it('loses what is left out when it is replaced', async () => {
    const on = box();
    await deploys(on, { startupConfig: { command: 'serve', workingDir: '/srv' } });

    await deploys(on, { startupConfig: { workingDir: '/x' }, replaceStartupConfig: true });
    expect((await hidden(on)).startupConfig).toEqual({ workingDir: '/x' });
  });

  it('may consist of args alone or of workingDir alone', async () => {
    const on = box();

    expect(await deploys(on, { startupConfig: { args: ['-v'] } })).toBe(200);
    expect((await hidden(on)).startupConfig).toEqual({ args: ['-v'] });
    expect(await deploys(on, { startupConfig: { workingDir: '/' } }, 'env_fn_prod')).toBe(200);
  });

  it('is cleared as a whole, and not together with anything', async () => {
    const on = box();
    await deploys(on, { startupConfig: { command: 'serve' } });

    expect(await deploys(on, { clearStartupConfig: true, startupConfig: { command: 'x' } })).toBe(400);
    expect(await deploys(on, { clearStartupConfig: true, replaceStartupConfig: true })).toBe(400);
    expect(await deploys(on, { replaceStartupConfig: true })).toBe(400);
    expect((await hidden(on)).startupConfig).toEqual({ command: 'serve', shell: true });
    expect(await deploys(on, { clearStartupConfig: true })).toBe(200);
    expect((await hidden(on)).startupConfig).toBeNull();
  });

  it('persists over later versions and redeployments', async () => {
    const on = box();
    await deploys(on, { startupConfig: { command: 'serve' } });
    await deploys(on, {});
    await on.post('/app-env/redeploy', web);

    expect((await hidden(on)).startupConfig).toEqual({ command: 'serve', shell: true });
  });

  it('is not for Jobs or Databases & Services', async () => {
    const on = box();

    expect(await deploys(on, { startupConfig: { command: 'x' } }, 'env_job_prod')).toBe(400);
    expect(await deploys(on, { clearStartupConfig: true }, 'env_db_prod')).toBe(400);
  });

  it('has fields of one type each', async () => {
    const on = box();
    const table = [
      { command: 1 },
      { command: '' },
      { args: 'x' },
      { args: [1] },
      { shell: 'no' },
      { shell: false },
      { command: 'two words', shell: false },
      { workingDir: 5 },
      { entrypoint: 'x' },
    ];

    for (const startupConfig of table) expect(await deploys(on, { startupConfig })).toBe(400);
  });
});

describe('POST /app-env/build', () => {
  const hashes = async (on: Box) => (await hidden(on)).contents.slice(1);

  it('builds from the git branch, and not where images or databases run', async () => {
    const on = await built();

    expect((await on.post('/app-env/build', web)).status).toBe(200);
    expect((await box().post('/app-env/build', web)).status).toBe(400);
    expect((await on.post('/app-env/build', { envName: 'orders-db-prod' })).status).toBe(400);
  });

  it('reuses the image of the same source, whatever the startup override, unless it is forced', async () => {
    const on = await built();
    await on.post('/app-env/build', web);
    await on.post('/app-env/build', { ...web, startupConfig: { command: 'serve' } });
    await on.post('/app-env/build', { ...web, forceNewBuild: true });
    await on.patch('/app', { appId: 'app_web', buildArgs: '--fast' });
    await on.post('/app-env/build', web);
    await on.control('PATCH', '/environments/env_web_prod', { gitBranch: 'next' });
    await on.post('/app-env/build', web);

    const [first, second, forced, other, branch] = await hashes(on);

    expect(second).toMatchObject({ image: first.image, buildHash: first.buildHash });
    expect(forced.image).not.toBe(first.image);
    expect(forced.buildHash).toBe(first.buildHash);
    expect(new Set([first, other, branch].map(({ buildHash }) => buildHash)).size).toBe(3);
  });

  it('starts from an earlier content only with isRebuild true', async () => {
    const on = await built();
    await on.post('/app-env/build', web);
    const [{ contentId: fromContentId, buildHash }] = await hashes(on);

    expect((await on.post('/app-env/build', { ...web, fromContentId })).status).toBe(400);
    expect((await on.post('/app-env/build', { ...web, isRebuild: true, fromContentId: 'none' })).status).toBe(404);
    expect((await on.post('/app-env/build', { ...web, isRebuild: true, fromContentId })).status).toBe(200);
    expect((await hashes(on))[1].buildHash).toBe(buildHash);
    expect((await on.post('/app-env/build', { ...web, forceNewBuild: 1 })).status).toBe(400);
    expect((await on.post('/app-env/build', { ...web, isRebuild: 1 })).status).toBe(400);
  });
});

describe('POST /app-env/redeploy and /rollback', () => {
  const withThree = async () => {
    const on = box();
    for (const image of ['x:2', 'x:3']) await on.post('/app-env/deploy-image', { ...web, image });
    const contents: { contentId: string }[] = (await hidden(on)).contents;
    return { on, ids: contents.map(({ contentId }) => contentId) };
  };

  it('redeploys the current version or a given one', async () => {
    const { on, ids } = await withThree();
    await on.post('/app-env/redeploy', web);
    expect((await hidden(on)).currentContentId).toBe(ids[2]);

    await on.post('/app-env/redeploy', { ...web, contentId: ids[0] });
    expect((await hidden(on)).currentContentId).toBe(ids[0]);
    expect((await on.post('/app-env/redeploy', { ...web, contentId: 'none' })).status).toBe(404);
  });

  it('rolls back to the immediately previous deployment', async () => {
    const { on, ids } = await withThree();

    const { body } = await on.post('/app-env/rollback', web);

    expect(body.rollbackInfo).toEqual({ fromVersion: 3, toVersion: 2, contentId: ids[1] });
    expect((await on.post('/app-env/rollback', web)).body.rollbackInfo).toMatchObject({ toVersion: 3 });
  });

  it('rolls back to a given version, but not to the current one', async () => {
    const { on, ids } = await withThree();

    expect((await on.post('/app-env/rollback', { ...web, targetContentId: ids[2] })).status).toBe(400);
    const { body } = await on.post('/app-env/rollback', { ...web, targetContentId: ids[0] });
    expect(body.rollbackInfo).toEqual({ fromVersion: 3, toVersion: 1, contentId: ids[0] });
    expect((await on.post('/app-env/rollback', { ...web, targetContentId: 'none' })).status).toBe(404);
  });

  it('counts the same content deployed twice in a row once', async () => {
    const { on, ids } = await withThree();
    await on.post('/app-env/redeploy', web);

    expect((await on.post('/app-env/rollback', web)).body.rollbackInfo).toMatchObject({ contentId: ids[1] });
  });

  it('takes contents of the environment itself only', async () => {
    const { on, ids } = await withThree();
    const other = { appEnvId: 'env_web_staging' };

    expect((await on.post('/app-env/redeploy', { ...other, contentId: ids[0] })).status).toBe(404);
    expect((await on.post('/app-env/rollback', { ...other, targetContentId: ids[0] })).status).toBe(404);
  });

  it('has nowhere to go back to after a single deployment', async () => {
    expect((await box().post('/app-env/rollback', web)).status).toBe(400);
  });
});

describe('POST /app-env/start', () => {
  it('needs an environment that was deployed at least once', async () => {
    const on = box();
    await on.control('POST', '/environments', { appEnvId: 'env_n', appId: 'app_web', name: 'n', region: 'eu-west' });

    expect((await on.post('/app-env/start', { appEnvId: 'env_n' })).status).toBe(400);
    await on.post('/app-env/deploy-image', { appEnvId: 'env_n', image: 'x' });
    expect((await on.post('/app-env/start', { appEnvId: 'env_n' })).status).toBe(200);
  });
});

describe('environments made in the console', () => {
  const create = (on: Box, body: object) =>
    on.control('POST', '/environments', { appId: 'app_web', name: 'n', region: 'eu-west', ...body });

  it('have the defaults of the control surface', async () => {
    const on = box();
    const { appEnvId } = (await create(on, {})).body;

    expect(await hidden(on, appEnvId)).toMatchObject({
      status: 'stopped',
      deployed: false,
      contents: [],
      currentContentId: null,
      startupConfig: null,
      functionConfig: null,
      envVars: {},
    });
    const running = (await create(on, { name: 'r', status: 'running' })).body.appEnvId;
    expect(await hidden(on, running)).toMatchObject({ deployed: true, versions: 1 });
  });

  it('have no hosts when they run jobs', async () => {
    const on = box();
    const { appEnvId } = (await create(on, { appId: 'app_job' })).body;
    const { appEnvs } = (await on.get('/app-envs?appId=app_job')).body;

    expect(appEnvs.find((each: { appEnvId: string }) => each.appEnvId === appEnvId).hosts).toEqual([]);
  });

  it('cannot run where the text says they cannot', async () => {
    const on = box();
    const couch = { accountId: 'acc_demo', name: 'couch', port: 1, dockerPreset: 'COUCHDB' };
    const { appId } = (await on.post('/app', couch)).body;

    expect((await create(on, { appId: 'app_fn', region: 'ap-south' })).status).toBe(400);
    expect((await create(on, { appId: 'app_fn', volumes: 1 })).status).toBe(400);
    expect((await create(on, { appId, resources: { containers: 2 } })).status).toBe(400);
    expect((await create(on, { appId, resources: { containers: 1 } })).status).toBe(200);
  });

  it('are refused with 409 when their id or their name is taken, and 404 without app or region', async () => {
    const on = box();

    expect((await create(on, { appEnvId: 'env_web_prod' })).status).toBe(409);
    expect((await create(on, { cliEnvName: 'web-prod' })).status).toBe(409);
    expect((await create(on, { appId: 'none' })).status).toBe(404);
    expect((await create(on, { region: 'none' })).status).toBe(404);
  });

  it('have a first version once they count as deployed', async () => {
    const on = box();
    const { appEnvId } = (await create(on, {})).body;
    await on.control('PATCH', `/environments/${appEnvId}`, { deployed: true });

    expect((await on.post('/app-env/redeploy', { appEnvId })).status).toBe(200);
    expect((await hidden(on, appEnvId)).contents).toHaveLength(1);
  });

  it('take a status that ends what was going on', async () => {
    const on = box();
    await on.post('/app-env/redeploy', web);
    await on.control('PATCH', '/environments/env_web_prod', { status: 'stopped' });

    on.advance(10_000);

    expect(await statusOf(on)).toBe('stopped');
  });
});
