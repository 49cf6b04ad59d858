import { describe, expect, it } from 'vitest';

import { box, type Box } from './box.ts';

const queue = { accountId: 'acc_demo', solutionSlug: 'queue-worker', appName: 'orders', region: 'eu-west' };
const keyed = { llmProviderKeyId: 'cred_llm', agentPrimaryModel: 'm1', agentSecondaryModel: 'm2' };
const agent = { ...queue, solutionSlug: 'sandbox-agent', appName: 'helper', inputs: keyed };
const personal = { ...agent, inputs: { agentAuthenticationMode: 'PERSONAL_SUBSCRIPTION' } };

async function withKey(): Promise<Box> {
  const on = box();
  await on.control('POST', '/credentials', { credentialId: 'cred_llm', accountId: 'acc_demo', kind: 'llm' });
  return on;
}

async function appCount(on: Box): Promise<number> {
  return (await on.get('/apps')).body.apps.length;
}

const failAfter = (on: Box, failAfterComponents: number) =>
  on.control('POST', '/faults', { match: { path: '/solutions' }, effect: { failAfterComponents } });

describe('GET /solutions', () => {
  it('exposes only safe metadata: required inputs and the component graph', async () => {
    const { solutions } = (await box().get('/solutions?accountId=acc_demo')).body;

    expect(solutions.map(({ solutionSlug }: { solutionSlug: string }) => solutionSlug)).toEqual([
      'sandbox-agent',
      'queue-worker',
    ]);
    expect(solutions[0].components).toHaveLength(2);
    expect(solutions[0].agentImage).toBe('svc/sandbox-agent');
    expect(solutions[1]).toMatchObject({ requiredInputs: [] });
    expect(Object.keys(solutions[1].components[1])).toEqual(['name', 'dockerPreset', 'dependsOn']);
    const refused = ['?accountId=acc_other', '?accountId=acc_none', ''].map((query) => box().get(`/solutions${query}`));
    expect((await Promise.all(refused)).map(({ status }) => status)).toEqual([403, 404, 400]);
  });
});

describe('POST /solutions', () => {
  it('creates its components as normal apps and environments', async () => {
    const on = box();

    const { body } = await on.post('/solutions', queue);

    expect(body.components.map(({ name }: { name: string }) => name)).toEqual(['queue', 'worker', 'api']);
    for (const { name, appId, appEnvId } of body.components) {
      expect((await on.get(`/app?appId=${appId}`)).body).toMatchObject({ useImage: name !== 'queue' });
      expect((await on.get(`/app-envs?appId=${appId}`)).body.appEnvs).toMatchObject([{ appEnvId, region: 'eu-west' }]);
    }
    on.advance(3000);
    const { appEnvs } = (await on.get('/app-envs')).body;
    expect(appEnvs.every(({ status }: { status: string }) => status === 'running')).toBe(true);
  });

  it('carries a note on what to do next where there is something', async () => {
    const on = await withKey();

    expect((await on.post('/solutions', agent)).body.postInstallNote).toEqual(expect.any(String));
    expect((await on.post('/solutions', queue)).body).not.toHaveProperty('postInstallNote');
  });

  it('answers in the form of the readings', async () => {
    const table = [
      ['components', ['installationId', 'components']],
      ['apps', ['installationId', 'apps', 'appEnvs']],
      ['flat', ['installationId', 'appId', 'appEnvId', 'appIds', 'appEnvIds']],
    ] as const;
    for (const [form, names] of table) {
      const on = box({ readings: { 'solution.response': form } });
      expect(Object.keys((await on.post('/solutions', queue)).body)).toEqual(names);
    }
    const on = box({ readings: { 'solution.successId': 'absent' } });
    expect((await on.post('/solutions', queue)).body).not.toHaveProperty('installationId');
  });

  it('returns the installationId of a failure, and repeating it creates only the missing components', async () => {
    const on = box();
    await failAfter(on, 1);

    const failed = await on.post('/solutions', queue);
    expect(failed.status).toBe(500);
    expect(failed.body).toEqual({ error: expect.any(String), installationId: expect.any(String) });
    expect(await appCount(on)).toBe(5);

    const done = await on.post('/solutions', { ...queue, installationId: failed.body.installationId });
    expect(done.body).toMatchObject({ installationId: failed.body.installationId });
    expect(done.body.components).toHaveLength(3);
    expect(await appCount(on)).toBe(7);
    expect(on.simulator.store.ledger.after(0).at(-1)?.detail).toMatchObject({ created: ['worker', 'api'] });
  });

  it('keeps the installationId of a failure under every form of errors', async () => {
    for (const form of ['error', 'message', 'nested', 'text', 'empty']) {
      for (const place of ['top', 'details']) {
        const on = box({ readings: { 'errors.body': form, 'solution.errorId': place } });
        await failAfter(on, 2);
        const { body } = await on.post('/solutions', queue);
        expect(place === 'top' ? body.installationId : body.details.installationId).toEqual(expect.any(String));
      }
    }
  });

  it('is a no-op when a complete installation is repeated', async () => {
    const on = box();
    const first = (await on.post('/solutions', queue)).body;

    const again = await on.post('/solutions', { ...queue, installationId: first.installationId });

    expect(again.body).toEqual(first);
    expect(await appCount(on)).toBe(7);
  });

  it('wants the installation repeated with what it was made with', async () => {
    const on = await withKey();
    await on.control('POST', '/credentials', { credentialId: 'cred_2', accountId: 'acc_demo', kind: 'llm' });
    const { installationId } = (await on.post('/solutions', agent)).body;
    const again = { ...agent, installationId };
    const table = [
      { ...again, appName: 'other' },
      { ...again, region: 'us-east' },
      { ...again, solutionSlug: 'queue-worker' },
      { ...again, inputs: { ...keyed, llmProviderKeyId: 'cred_2' } },
      { ...again, inputs: { agentAuthenticationMode: 'PERSONAL_SUBSCRIPTION' } },
    ];

    for (const body of table) expect((await on.post('/solutions', body)).status).toBe(400);
    expect((await on.post('/solutions', { ...again, installationId: 'inst_none' })).status).toBe(404);
    expect((await on.post('/solutions', again)).status).toBe(200);
  });

  it('refuses unknown solutions, regions and wrong types', async () => {
    const on = await withKey();
    const table = [
      [{ ...queue, solutionSlug: 'none' }, 404],
      [{ ...queue, region: 'none' }, 404],
      [{ ...queue, accountId: 'none' }, 404],
      [{ ...queue, accountId: undefined }, 400],
      [{ ...queue, solutionSlug: undefined }, 400],
      [{ ...queue, region: undefined }, 400],
      [{ ...queue, appName: undefined }, 400],
      [{ ...queue, appName: 5 }, 400],
      [{ ...agent, inputs: [] }, 400],
      [{ ...agent, inputs: undefined }, 400],
      [{ ...agent, inputs: { ...keyed, agentPrimaryModel: undefined } }, 400],
      [{ ...agent, inputs: { ...keyed, agentAuthenticationMode: 'OTHER' } }, 400],
      [{ ...agent, inputs: { ...keyed, llmProviderKeyId: 'cred_none' } }, 404],
    ] as const;

    for (const [body, status] of table) expect((await on.post('/solutions', body)).status).toBe(status);
    expect(await appCount(on)).toBe(4);
  });
});

describe('the sandbox agent', () => {
  it('needs the entitlement and a region that is ready, before any component is created', async () => {
    const on = await withKey();
    expect((await on.post('/solutions', { ...agent, region: 'ap-south' })).status).toBe(400);
    await on.control('PATCH', '/regions/eu-west', { up: false });
    expect((await on.post('/solutions', agent)).status).toBe(400);
    await on.control('PATCH', '/regions/eu-west', { up: true });
    await on.control('PATCH', '/accounts/acc_demo', { sandboxEntitlement: false });
    expect((await on.post('/solutions', agent)).status).toBe(400);

    expect(await appCount(on)).toBe(4);
    expect((await on.post('/solutions', { ...queue, region: 'ap-south' })).status).toBe(200);
  });

  it('takes the latest tag, numeric tags and digests of its own image only', async () => {
    const on = await withKey();
    const table = [
      [undefined, 200],
      ['svc/sandbox-agent:latest', 200],
      ['svc/sandbox-agent:12', 200],
      ['svc/sandbox-agent:1.2.3', 200],
      [`svc/sandbox-agent@sha256:${'a'.repeat(64)}`, 200],
      ['svc/sandbox-agent:nightly', 400],
      ['svc/sandbox-agent', 400],
      ['svc/sandbox-agent@sha256:abc', 400],
      ['evil/sandbox-agent:latest', 400],
      ['svc/sandbox-agent:latest@x', 400],
      [5, 400],
    ] as const;

    for (const [agentImage, status] of table) {
      const answer = await on.post('/solutions', { ...agent, inputs: { ...keyed, agentImage } });
      expect(answer.status).toBe(status);
      if (status !== 200) continue;
      const { contents } = (await on.control('GET', `/environments/${answer.body.components[0].appEnvId}`)).body;
      expect(contents[0].image).toBe(agentImage ?? 'svc/sandbox-agent:latest');
    }
  });

  it('needs no provider key in personal mode, and comes back only to its owner', async () => {
    const on = box();
    await failAfter(on, 1);
    const { installationId } = (await on.post('/solutions', personal)).body;
    const again = { ...personal, installationId };

    expect((await on.post('/solutions', again, 'demo-admin-no-secrets')).status).toBe(400);
    expect((await on.post('/solutions', again)).status).toBe(200);
  });

  it('is upgraded in place by an explicit image', async () => {
    const on = await withKey();
    const { installationId, components } = (await on.post('/solutions', agent)).body;
    on.advance(3000);
    const again = { ...agent, installationId };

    await on.post('/solutions', again);
    const { appId, appEnvId: control } = components[0];
    const before = (await on.control('GET', `/environments/${control}`)).body;
    const app = (await on.get(`/app?appId=${appId}`)).body;
    const inputs = { ...keyed, agentImage: 'svc/sandbox-agent:2' };
    await on.post('/solutions', { ...again, inputs });
    const after = (await on.control('GET', `/environments/${control}`)).body;

    expect(before).toMatchObject({ status: 'running', versions: 1 });
    expect(after).toMatchObject({ status: 'updating', versions: 2, resources: before.resources });
    expect(after.contents[1].image).toBe('svc/sandbox-agent:2');
    expect((await on.get(`/app?appId=${appId}`)).body).toEqual(app);
    expect(await appCount(on)).toBe(6);
    expect((await on.post('/solutions', again)).status).toBe(200);
  });

  it('allocates nothing for an app whose deletion has begun', async () => {
    const on = await withKey();
    const { installationId, components } = (await on.post('/solutions', agent)).body;
    await on.control('PATCH', `/apps/${components[0].appId}`, { sandboxTermination: 'pending' });
    await on.remove(`/app?appId=${components[0].appId}`);

    const inputs = { ...keyed, agentImage: 'svc/sandbox-agent:2' };
    expect((await on.post('/solutions', { ...agent, installationId, inputs })).status).toBe(400);
  });
});
