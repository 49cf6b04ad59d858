import { describe, expect, it } from 'vitest';
import { atFirst } from '../../support/disturbed-wire.ts';
import { aWorld, commits, conditionOf, eventsOf, messageOf, statusOf } from '../support/world.ts';

const image = { port: 8080, image: { reference: 'r/mine:1' } };

describe('HostedApp in a world', () => {
  it('shows the environments of the app as they come and change', async () => {
    const world = await aWorld();
    world.apply('HostedApp', 'api', image);
    await world.run(5_000);
    const { externalId: appId } = statusOf(world, 'HostedApp', 'api');
    await world.control('POST', '/environments', { appEnvId: 'env_api', appId, name: 'prod', region: 'eu-west' });
    await world.run(70_000);

    expect(statusOf(world, 'HostedApp', 'api')['environments']).toEqual([
      { externalId: 'env_api', name: 'prod', region: 'eu-west', state: 'stopped' },
    ]);
    expect(statusOf(world, 'HostedApp', 'api')).toMatchObject({
      createdTime: expect.stringMatching(/Z$/u) as string,
      observed: { preset: 'CUSTOM', useImage: true },
    });
  });

  it('shows what the service has of the app besides what the spec says', async () => {
    const world = await aWorld();
    world.interference = ({ method, path }) => {
      if (method !== 'GET' || !/\/apps?$/u.test(path)) return undefined;
      const more = path.endsWith('/apps') ? '"template":"shop"' : '"useSSL":true,"useTCP":false';
      return { retold: (text) => text.replaceAll('"appId":', `${more},"appId":`) };
    };
    world.apply('HostedApp', 'api', image);
    await world.run(70_000);
    const { updatedTime } = statusOf(world, 'HostedApp', 'api');

    world.apply('HostedApp', 'api', { ...image, port: 9090 });
    await world.run(70_000);

    const shown = statusOf(world, 'HostedApp', 'api');
    expect(shown).toMatchObject({
      template: 'shop',
      observed: { useSSL: true, useTCP: false, builder: 'DOCKER', contextDir: './', dockerfilePath: 'Dockerfile' },
    });
    expect(Date.parse(String(shown['updatedTime']))).toBeGreaterThan(Date.parse(String(updatedTime)));
  });

  it('is not refused for a preset of a catalog that cannot be read', async () => {
    const world = await aWorld();
    world.interference = ({ path }) =>
      path.includes('/database-presets') ? { insteadOf: { status: 503 } } : undefined;
    await world.crash();
    world.apply('HostedApp', 'store', { preset: 'POSTGRESQL', port: 5432 });
    await world.run(200_000);

    expect(conditionOf(world, 'HostedApp', 'store')).toBe('True/InSync');
  });

  it('does not take what it wrote to the app before for what stands in the one that it binds now', async () => {
    const world = await aWorld();
    world.apply('HostedApp', 'api', image);
    await world.run(5_000);
    const other = { accountId: 'acc_demo', name: 'api', port: 1, useImage: true, image: 'r/x' };
    const { appId } = (await world.request('POST', '/app', other)).body as { appId: string };
    await world.run(61_000);
    world.apply('HostedApp', 'api', { ...image, port: 9090 });
    await world.run(100);
    world.apply('HostedApp', 'api', { ...image, port: 9090, externalId: appId });
    await world.run(1_000);

    expect(conditionOf(world, 'HostedApp', 'api')).toBe('True/InSync');
    expect((await world.request('GET', `/app?appId=${appId}`)).body).toMatchObject({ port: 9090 });
  });

  it.each([
    {
      because: 'an environment is protected',
      of: 'environment',
      field: 'preventDestroy',
      value: true,
      over: false,
      says: 'preventDestroy',
    },
    {
      because: 'sandboxes are ending',
      of: 'app',
      field: 'sandboxTermination',
      value: 'pending',
      over: 'done',
      says: 'sandbox',
    },
    {
      because: 'sandboxes do not end',
      of: 'app',
      field: 'sandboxTermination',
      value: 'failed',
      over: 'done',
      says: 'sandbox',
    },
  ])('waits with its deletion while $because, and says why', async ({ of, field, value, over, says }) => {
    const world = await aWorld();
    world.apply('HostedApp', 'api', { ...image, lifecycle: { onDelete: 'Delete' } });
    await world.run(5_000);
    const { externalId: appId } = statusOf(world, 'HostedApp', 'api');
    await world.control('POST', '/environments', { appEnvId: 'env_api', appId, name: 'prod', region: 'eu-west' });
    const path = of === 'app' ? `/apps/${String(appId)}` : '/environments/env_api';
    await world.control('PATCH', path, { [field]: value });
    world.delete('HostedApp', 'api');
    await world.run(40_000);
    const blocked = [conditionOf(world, 'HostedApp', 'api'), messageOf(world, 'HostedApp', 'api')];
    await world.control('PATCH', path, { [field]: over });
    await world.run(700_000);

    expect(blocked).toEqual(['False/DeletionBlocked', expect.stringContaining(says)]);
    expect(world.get('HostedApp', 'api')).toBeUndefined();
  });

  it.each([
    '{"error":"sandboxes still end","details":"try again"}',
    '{"success":false,"message":"sandboxes still end"}',
  ])('does not take an answer for a deletion that says no in its body: %s', async (text) => {
    const world = await aWorld();
    world.apply('HostedApp', 'api', { ...image, lifecycle: { onDelete: 'Delete' } });
    await world.run(5_000);
    world.interference = ({ method }) => (method === 'DELETE' ? { insteadOf: { status: 200, text } } : undefined);
    world.delete('HostedApp', 'api');
    await world.run(20_000);

    expect(conditionOf(world, 'HostedApp', 'api')).toBe('False/DeletionBlocked');
    expect(messageOf(world, 'HostedApp', 'api')).toContain('sandboxes still end');
  });

  it('tells by an event that the volumes of a deleted database stay', async () => {
    const world = await aWorld();
    world.apply('HostedApp', 'db', { preset: 'POSTGRESQL', port: 5432, lifecycle: { onDelete: 'Delete' } });
    await world.run(5_000);
    world.delete('HostedApp', 'db');
    await world.run(10_000);

    expect(world.get('HostedApp', 'db')).toBeUndefined();
    expect(eventsOf(world)).toContainEqual(expect.stringContaining('the volumes of this database stay in the service'));
  });

  it('presumes the app to be its own when the answer to its creation was lost, and writes again what is not shown', async () => {
    const world = await aWorld();
    world.interference = atFirst('POST /app', 'loseAnswer');
    world.apply('HostedApp', 'api', image);
    await world.run(10_000);

    expect(statusOf(world, 'HostedApp', 'api')).toMatchObject({
      internal: { ownership: 'Presumed' },
      externalId: expect.any(String),
    });
    expect((await commits(world)).map(({ kind }) => kind)).toEqual(['app.created', 'app.updated']);
  });

  it.each([
    { cliEnvironmentName: 'web-staging' },
    { externalId: 'env_web_staging' },
    { appRef: { externalId: 'app_web' }, environmentName: 'staging' },
  ])(
    'leaves the image to an AppEnvironment that comes with it and names %j, and after that has gone',
    async (names) => {
      const world = await aWorld();
      const app = { ...image, externalId: 'app_web', name: 'web', applyImmediately: true };
      world.apply('HostedApp', 'web', { ...app, lifecycle: { drift: 'Report' } });
      world.apply('AppEnvironment', 'staging', { ...names, deploy: { image: 'r/x:6' } });
      await world.run(130_000);
      world.delete('AppEnvironment', 'staging');
      await world.run(1_500_000);

      expect(world.sent.filter(({ body }) => body.includes('r/mine:1'))).toEqual([]);
      expect(conditionOf(world, 'HostedApp', 'web')).toMatch(/^True/);
    },
  );

  it('becomes an app again in a request of its own, though the first was refused for a while', async () => {
    const world = await aWorld();
    world.apply('HostedApp', 'fn', { ...image, preset: 'FUNCTION' });
    await world.run(70_000);
    world.interference = atFirst('PATCH', { insteadOf: { status: 429, text: '{}' } });
    world.apply('HostedApp', 'fn', { ...image, port: 9090 });
    await world.run(300_000);

    expect(conditionOf(world, 'HostedApp', 'fn')).toBe('True/InSync');
    expect(statusOf(world, 'HostedApp', 'fn')).toMatchObject({ type: 'App' });
  });

  it('becomes an app again after a slip in the name of the preset', async () => {
    const world = await aWorld();
    world.apply('HostedApp', 'fn', { ...image, preset: 'FUNCTION' });
    await world.run(70_000);
    world.apply('HostedApp', 'fn', { ...image, preset: 'CUSTUM', port: 9090 });
    await world.run(70_000);
    expect([conditionOf(world, 'HostedApp', 'fn'), statusOf(world, 'HostedApp', 'fn')['type']]).toEqual([
      'False/UnknownPreset',
      'Function',
    ]);
    world.apply('HostedApp', 'fn', { ...image, preset: 'CUSTOM', port: 9090 });
    await world.run(300_000);

    expect(conditionOf(world, 'HostedApp', 'fn')).toBe('True/InSync');
  });

  it('is converted back and corrected when somebody made it a function and changed its port', async () => {
    const world = await aWorld();
    world.apply('HostedApp', 'api', image);
    await world.run(70_000);
    const { externalId: appId } = statusOf(world, 'HostedApp', 'api');
    await world.request('PATCH', '/app', { appId, dockerPreset: 'FUNCTION' });
    await world.request('PATCH', '/app', { appId, port: 1 });
    await world.run(300_000);

    expect(conditionOf(world, 'HostedApp', 'api')).toBe('True/InSync');
    expect((await world.request('GET', `/app?appId=${String(appId)}`)).body).toMatchObject({
      port: 8080,
      dockerPreset: 'CUSTOM',
    });
  });
});
