import { describe, expect, it } from 'vitest';
import type { Disturbance } from '../../support/disturbed-wire.ts';
import { namespace, type InProcess } from '../../support/in-process.ts';
import { secretResource } from '../../../src/kube/material.ts';
import { aWorld, conditionOf, environmentOf, messageOf, statusOf } from '../support/world.ts';

const kind = 'AppEnvironment';
const name = 'staging';
const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'app', key: 'token' } } }];
const first = { externalId: 'env_web_staging', env, deploy: { image: 'r/x:1', onBind: 'Deploy' } };
const second = { ...first, deploy: { image: 'r/x:2', onBind: 'Deploy' } };
const older = { externalId: 'env_web_staging', powerState: 'Running' };
const app = { externalId: 'app_web', name: 'web', port: 3000, image: { reference: 'r/x:1' }, applyImmediately: true };
const paused = { 'apphosting.dev/paused': 'true' };

function deploymentsSent(world: InProcess, image: string): number {
  return world.sent.filter(({ path, body }) => path.endsWith('/deploy-image') && body.includes(image)).length;
}

async function made(world: InProcess, image: string): Promise<number> {
  const { contents } = await environmentOf(world, 'env_web_staging');
  return (contents as readonly { image: string }[]).filter((content) => content.image === image).length;
}

function disturb(world: InProcess, what: Disturbance | undefined): void {
  world.interference = ({ path }) => (path.endsWith('/deploy-image') ? what : undefined);
}

/** A world in which the deployment of the second image ended without an answer. */
async function inDoubt(what: Disturbance): Promise<InProcess> {
  const world = await aWorld();
  world.secret('app', { token: 'one' });
  world.apply(kind, 'older', { ...older, externalId: 'env_nowhere' });
  await world.run(1_000);
  world.apply('HostedApp', 'web', app);
  world.apply(kind, name, first);
  await world.run(200_000);
  disturb(world, what);
  world.apply(kind, name, second);
  await world.run(1_000);
  disturb(world, undefined);
  return world;
}

interface Hold {
  readonly hold: (world: InProcess) => void;
  readonly letGo: (world: InProcess) => void;
}

const holds: Readonly<Record<string, Hold>> = {
  'is paused': {
    hold: (world) => void world.apply(kind, name, second, paused),
    letGo: (world) => void world.apply(kind, name, second),
  },
  'is only observed': {
    hold: (world) => void world.apply(kind, name, { ...second, lifecycle: { managementPolicy: 'Observe' } }),
    letGo: (world) => void world.apply(kind, name, second),
  },
  'lacks its Secret': {
    hold: (world) => world.cluster.delete(secretResource, namespace, 'app'),
    letGo: (world) => world.secret('app', { token: 'one' }),
  },
  'waits for an older resource': {
    hold: (world) => void world.apply(kind, 'older', older),
    letGo: (world) => world.delete(kind, 'older'),
  },
};

describe.each(Object.entries(holds))('a deployment in doubt whose resource %s by now', (_how, { hold, letGo }) => {
  it('lets the app go on once it is known that nothing was deployed, and is sent once more later', async () => {
    const world = await inDoubt('loseBefore');
    hold(world);
    world.apply('HostedApp', 'web', { ...app, port: 9090 });
    await world.run(30_000);
    const held = conditionOf(world, 'HostedApp', 'web');
    await world.run(300_000);

    expect([held, conditionOf(world, 'HostedApp', 'web')]).toEqual(['False/EnvironmentInDoubt', 'True/InSync']);
    expect((await world.request('GET', '/app?appId=app_web')).body).toMatchObject({ port: 9090 });
    expect(deploymentsSent(world, 'r/x:2')).toBe(1);
    letGo(world);
    await world.run(300_000);

    expect(conditionOf(world, kind, name)).toBe('True/InSync');
    expect(await made(world, 'r/x:2')).toBe(1);
    expect(statusOf(world, kind, name)['deploy']).toMatchObject({ repeatedAfterDoubt: 1 });
  });

  it('is known to be carried out, and is not sent again', async () => {
    const world = await inDoubt('loseAnswer');
    hold(world);
    world.apply('HostedApp', 'web', { ...app, port: 9090 });
    await world.run(300_000);

    expect(conditionOf(world, 'HostedApp', 'web')).toBe('True/InSync');
    expect(statusOf(world, kind, name)).not.toHaveProperty('journal');
    letGo(world);
    await world.run(300_000);

    expect(conditionOf(world, kind, name)).toBe('True/InSync');
    expect(deploymentsSent(world, 'r/x:2')).toBe(1);
    expect(await made(world, 'r/x:2')).toBe(1);
  });

  it('is not sent a third time, however often it is held', async () => {
    const world = await inDoubt('loseBefore');
    disturb(world, 'loseBefore');
    for (let round = 0; round < 3; round += 1) {
      hold(world);
      await world.run(300_000);
      letGo(world);
      await world.run(3_000);
    }
    await world.run(600_000);

    expect(deploymentsSent(world, 'r/x:2')).toBe(2);
    expect(conditionOf(world, kind, name)).toBe('False/DeployInDoubt');
    expect(messageOf(world, kind, name)).toContain('the outcome of two attempts is not known');
  });
});

describe('a deployment in doubt', () => {
  it('holds nobody up once its environment is gone', async () => {
    const world = await inDoubt('loseBefore');
    await world.control('DELETE', '/environments/env_web_staging');

    await world.run(300_000);

    expect(conditionOf(world, kind, name)).toBe('False/EnvironmentNotFound');
    expect(statusOf(world, kind, name)).not.toHaveProperty('journal');
  });
});

describe('a deployment that waits for its environment to run', () => {
  const running = { externalId: 'env_web_staging', powerState: 'Running' };
  const stopped = { externalId: 'env_web_staging', powerState: 'Stopped' };
  const edit = (world: InProcess) =>
    Promise.resolve(world.apply(kind, name, { ...stopped, deploy: { image: 'r/x:2' } }));
  const lose = (world: InProcess) => {
    world.key = 'another key';
    return world.crash();
  };

  it.each([
    ['after the edit', [edit, lose]],
    ['before the edit', [lose, edit]],
    ['while it is edited', [(world: InProcess) => Promise.resolve(world.kill()), edit, lose]],
  ])('is made though the key is lost %s', async (_when, happenings) => {
    const world = await aWorld();
    world.apply(kind, name, { ...running, deploy: { image: 'r/x:1', onBind: 'Deploy' } });
    await world.run(60_000);
    world.apply(kind, name, { ...stopped, deploy: { image: 'r/x:1' } });
    await world.run(60_000);
    for (const happening of happenings) {
      await happening(world);
      await world.run(60_000);
    }
    const held = conditionOf(world, kind, name);
    world.apply(kind, name, { ...running, deploy: { image: 'r/x:2' } });
    await world.run(60_000);

    expect(held).toBe('True/DeployHeld');
    expect([await made(world, 'r/x:1'), await made(world, 'r/x:2')]).toEqual([1, 1]);
    expect(conditionOf(world, kind, name)).toBe('True/InSync');
  });
});

describe('a startup override that waits for the next build', () => {
  it('still waits for it when the key is lost, and builds nothing by itself', async () => {
    const world = await aWorld();
    const git = { git: { namespace: 'n', repo: 'r', installationId: 'i' } };
    world.apply('HostedApp', 'built', { name: 'built', port: 3000, source: git });
    await world.run(10_000);
    const { externalId: appId } = statusOf(world, 'HostedApp', 'built');
    await world.control('POST', '/environments', { appEnvId: 'env_b', appId, name: 'b', region: 'eu-west' });
    const build = { externalId: 'env_b', deploy: { build: { revision: 'one' } }, startupConfig: { command: 'a' } };
    world.apply(kind, 'b', build);
    await world.run(120_000);
    world.apply(kind, 'b', { ...build, startupConfig: { command: 'b' } });
    await world.run(60_000);
    world.key = 'another key';
    await world.crash();
    await world.run(120_000);
    const held = conditionOf(world, kind, 'b');
    world.apply(kind, 'b', { ...build, deploy: { build: { revision: 'two' } }, startupConfig: { command: 'b' } });
    await world.run(120_000);

    expect(held).toBe('True/PendingNextBuild');
    const builds = world.sent.filter(({ path }) => path.endsWith('/app-env/build'));
    expect(builds.map(({ body }) => JSON.parse(body).startupConfig)).toEqual([{ command: 'a' }, { command: 'b' }]);
  });
});

describe('an older resource that takes an environment over', () => {
  it('does nothing there that would be taken for what the younger had asked for', async () => {
    const world = await inDoubt('loseBefore');
    world.apply(kind, 'older', { ...older, deploy: { image: 'r/x:9', onBind: 'Deploy' } });
    await world.run(30_000);
    const held = conditionOf(world, kind, 'older');
    await world.run(300_000);

    expect(held).toBe('False/EnvironmentInDoubt');
    expect([await made(world, 'r/x:9'), conditionOf(world, kind, 'older')]).toEqual([1, 'True/InSync']);
    world.delete(kind, 'older');
    await world.run(300_000);

    expect(await made(world, 'r/x:2')).toBe(1);
  });
});
