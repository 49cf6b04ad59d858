import { describe, expect, it } from 'vitest';
import { atFirst } from '../../support/disturbed-wire.ts';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, conditionOf, messageOf, statusOf } from '../support/world.ts';

const image = { port: 8080, image: { reference: 'r/mine:1' } };

/** An app with an environment, in which changes wait. */
async function anAppInUse(spec: object = image): Promise<InProcess> {
  const world = await aWorld();
  world.apply('HostedApp', 'api', spec);
  await world.run(5_000);
  const { externalId: appId } = statusOf(world, 'HostedApp', 'api');
  await world.control('POST', '/environments', { appEnvId: 'env_api', appId, name: 'prod', region: 'eu-west' });
  await world.run(70_000);
  return world;
}

function pending(world: InProcess): unknown {
  return statusOf(world, 'HostedApp', 'api')['pendingChanges'];
}

describe('what waits in the environments of an app', () => {
  it.each([
    ['was lost', false],
    ['was lost together with the operator', true],
  ])('is told though the answer to the change %s', async (_how, dies) => {
    const world = await anAppInUse();
    world.interference = atFirst('PATCH', () => {
      if (dies) world.kill();
      return 'hangAfter';
    });
    world.apply('HostedApp', 'api', { ...image, port: 9090 });
    await world.run(1_000);
    if (dies) await world.crash(120_000);
    await world.run(130_000);

    expect(conditionOf(world, 'HostedApp', 'api')).toBe('True/InSync');
    expect(world.sent.filter(({ method }) => method === 'PATCH')).toHaveLength(1);
    expect(pending(world)).toEqual(['port']);
    expect(conditionOf(world, 'HostedApp', 'api', 'PendingChanges')).toBe('True/ChangesPending');
    expect(messageOf(world, 'HostedApp', 'api')).toContain(
      'the change of port takes effect in each environment with its next deployment; the operator does not notice deployments that are made without an AppEnvironment',
    );
  });

  it('is not told of a change that the service refused', async () => {
    const world = await anAppInUse();
    world.interference = ({ method }) => (method === 'PATCH' ? { insteadOf: { status: 400 } } : undefined);
    world.apply('HostedApp', 'api', { ...image, port: 9090 });
    await world.run(10_000);

    expect(conditionOf(world, 'HostedApp', 'api')).toBe('False/Rejected');
    expect(pending(world)).toBeUndefined();
  });

  it('is forgotten when another app is bound', async () => {
    const world = await anAppInUse();
    world.apply('HostedApp', 'api', { ...image, port: 9090 });
    await world.run(10_000);
    const before = pending(world);
    const { body } = await world.request('POST', '/app', {
      accountId: 'acc_demo',
      name: 'api',
      port: 9090,
      useImage: true,
      image: 'r/mine:1',
    });
    const { appId } = body as { appId: string };
    world.apply('HostedApp', 'api', { ...image, port: 9090, externalId: appId });
    await world.run(130_000);

    expect(before).toEqual(['port']);
    expect(statusOf(world, 'HostedApp', 'api')).toMatchObject({
      externalId: appId,
      internal: { ownership: 'Adopted' },
    });
    expect(pending(world)).toBeUndefined();
  });

  it('is forgotten when the app is made again', async () => {
    const world = await anAppInUse({ ...image, lifecycle: { onMissing: 'Recreate' } });
    world.apply('HostedApp', 'api', { ...image, port: 9090, lifecycle: { onMissing: 'Recreate' } });
    await world.run(10_000);
    const { externalId: before, pendingChanges } = statusOf(world, 'HostedApp', 'api');
    await world.request('DELETE', `/app?appId=${String(before)}`);
    await world.run(400_000);

    expect(pendingChanges).toEqual(['port']);
    expect(conditionOf(world, 'HostedApp', 'api')).toBe('True/InSync');
    expect(statusOf(world, 'HostedApp', 'api')['externalId']).not.toBe(before);
    expect(pending(world)).toBeUndefined();
  });
});

describe('a deployment of ours', () => {
  const at = (token: string) => ({ 'apphosting.dev/redeploy-at': token });
  const inEnvironment = { externalId: 'env_api', powerState: 'Running' };
  const git = { namespace: 'acme', repo: 'api', installationId: '1' };
  const built = { port: 8080, source: { git, contextDir: './' } };

  /** The fields that wait in the environment, by the simulator itself. */
  async function waiting(world: InProcess): Promise<unknown> {
    const body = await world.control('GET', '/environments/env_api');
    return (body as { pendingChanges: unknown }).pendingChanges;
  }

  /** An app with an environment that runs, and an AppEnvironment for it. */
  async function anEnvironment(spec: object, deploy: object): Promise<InProcess> {
    const world = await anAppInUse(spec);
    await world.control('PATCH', '/environments/env_api', { gitBranch: 'main' });
    world.apply('AppEnvironment', 'prod', { ...inEnvironment, deploy: { onBind: 'Deploy', ...deploy } });
    await world.run(120_000);
    expect(conditionOf(world, 'AppEnvironment', 'prod')).toBe('True/InSync');
    return world;
  }

  it('ends what waits, as soon as it shows', async () => {
    const world = await anEnvironment(image, { image: 'r/mine:1' });
    world.apply('HostedApp', 'api', { ...image, port: 9090 });
    await world.run(10_000);
    const before = [pending(world), conditionOf(world, 'HostedApp', 'api', 'PendingChanges')];

    const spec = { ...inEnvironment, deploy: { onBind: 'Deploy', image: 'r/mine:1' } };
    world.apply('AppEnvironment', 'prod', spec, at('now'));
    await world.run(10_000);

    expect(before).toEqual([['port'], 'True/ChangesPending']);
    expect(await waiting(world)).toEqual([]);
    expect(conditionOf(world, 'HostedApp', 'api', 'PendingChanges')).toBe('False/NoChangesPending');
    expect(messageOf(world, 'HostedApp', 'api')).not.toContain('waits');
  });

  it('ends what waits though its answer was lost together with the operator', async () => {
    const world = await anEnvironment(image, { image: 'r/mine:1' });
    world.apply('HostedApp', 'api', { ...image, port: 9090 });
    await world.run(10_000);
    let isDone = false;
    world.interference = atFirst('POST /deploy-image', () => {
      isDone = true;
      world.kill();
      return 'hangAfter';
    });
    world.apply('AppEnvironment', 'prod', { ...inEnvironment, deploy: { image: 'r/mine:2' } });
    await world.run(1_000);
    await world.crash(120_000);
    await world.run(130_000);

    expect(isDone).toBe(true);
    expect(await waiting(world)).toEqual([]);
    expect(pending(world)).toBeUndefined();
  });

  it('that was applied together with the change takes it', async () => {
    const world = await anEnvironment(image, { image: 'r/mine:1' });
    world.apply('HostedApp', 'api', { ...image, port: 9090 });
    world.apply('AppEnvironment', 'prod', { ...inEnvironment, deploy: { image: 'r/mine:2' } });
    await world.run(60_000);

    expect(pending(world) ?? []).toEqual(await waiting(world));
  });

  it.each(['before', 'together with'])('that starts what was stopped takes what was changed %s it', async (when) => {
    const world = await anEnvironment(image, { image: 'r/mine:1' });
    const spec = { ...inEnvironment, deploy: { onBind: 'Deploy', image: 'r/mine:1' } };
    world.apply('AppEnvironment', 'prod', { ...spec, powerState: 'Stopped' });
    await world.run(60_000);
    world.apply('HostedApp', 'api', { ...image, port: 9090 });
    if (when === 'before') await world.run(10_000);
    world.apply('AppEnvironment', 'prod', spec);
    await world.run(60_000);

    expect(conditionOf(world, 'AppEnvironment', 'prod')).toBe('True/InSync');
    expect(pending(world) ?? []).toEqual(await waiting(world));
  });

  it('of the version that runs leaves what needs a new one', async () => {
    const world = await anEnvironment(built, { build: { revision: '1' } });
    world.apply('HostedApp', 'api', { ...built, port: 9090, source: { git, contextDir: './api' } });
    await world.run(10_000);
    const before = pending(world);

    const build = (revision: string) => ({ ...inEnvironment, deploy: { onBind: 'Deploy', build: { revision } } });
    world.apply('AppEnvironment', 'prod', build('1'), at('now'));
    await world.run(60_000);
    const after = [pending(world), await waiting(world)];
    const again = { onBind: 'Deploy', build: { revision: '1b', rebuild: true } };
    world.apply('AppEnvironment', 'prod', { ...inEnvironment, deploy: again });
    await world.run(60_000);
    const afterRebuild = pending(world);
    world.apply('AppEnvironment', 'prod', build('2'));
    await world.run(60_000);

    expect(before).toEqual(['port', 'source.contextDir']);
    expect(after).toEqual([['source.contextDir'], ['contextDir']]);
    expect(afterRebuild).toEqual(['source.contextDir']);
    expect([pending(world), await waiting(world)]).toEqual([undefined, []]);
  });

  it('ends nothing while another environment still waits', async () => {
    const world = await anEnvironment(image, { image: 'r/mine:1' });
    const { externalId: appId } = statusOf(world, 'HostedApp', 'api');
    await world.control('POST', '/environments', { appEnvId: 'env_other', appId, name: 'other', region: 'eu-west' });
    await world.run(70_000);
    world.apply('HostedApp', 'api', { ...image, port: 9090 });
    await world.run(10_000);

    world.apply('AppEnvironment', 'prod', { ...inEnvironment, deploy: { image: 'r/mine:2' } });
    await world.run(70_000);

    expect(await waiting(world)).toEqual([]);
    expect(pending(world)).toEqual(['port']);
  });
});
