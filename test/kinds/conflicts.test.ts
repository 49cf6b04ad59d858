import { describe, expect, it } from 'vitest';
import type { Disturbance } from '../support/disturbed-wire.ts';
import type { InProcess } from '../support/in-process.ts';
import { aWorld, commits, conditionOf, messageOf, neverDeployed, statusOf } from './support/world.ts';

const spec = { externalId: 'env_web_staging', powerState: 'Running' };
const kind = 'AppEnvironment';
const name = 'staging';
const text = '{"error":"another deployment runs"}';

async function aDeployedWorld(readings: Readonly<Record<string, unknown>> = {}): Promise<InProcess> {
  const world = await aWorld({ readings });
  world.apply(kind, name, { ...spec, deploy: { image: 'r/x:1', onBind: 'Deploy' } });
  await world.run(130_000);
  return world;
}

function disturb(world: InProcess, path: string, what: Disturbance, times = Number.POSITIVE_INFINITY): void {
  let left = times;
  world.interference = (request) => {
    if (left === 0 || request.method !== 'POST' || !request.path.endsWith(path)) return undefined;
    left -= 1;
    return what;
  };
}

function sent(world: InProcess, path: string): number {
  return world.sent.filter((request) => request.path.endsWith(path) && request.method === 'POST').length;
}

/** Somebody works on apps and environments in the console, so that lists change all the time. */
async function bustle(world: InProcess, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 20_000) {
    await world.control('PATCH', '/environments/env_web_prod', { name: `prod-${at}` });
    await world.request('PATCH', '/app', { appId: 'app_web', port: 3_000 + (at % 7) });
    await world.run(20_000);
  }
}

describe('a conflict', () => {
  it('is looked into: a deployment that was made all the same is not made again', async () => {
    const world = await aDeployedWorld();
    disturb(world, '/deploy-image', { afterwards: { status: 409, text } }, 1);
    world.apply(kind, name, { ...spec, deploy: { image: 'r/x:2' } });
    await world.run(900_000);

    expect(conditionOf(world, kind, name)).toBe('True/InSync');
    expect((await commits(world)).filter(({ detail }) => detail['action'] === 'deploy-image')).toHaveLength(2);
  });

  it('is a no where nothing shows, and the same deployment is not tried again at every turn', async () => {
    const world = await aDeployedWorld();
    disturb(world, '/deploy-image', { insteadOf: { status: 409, text } });
    world.apply(kind, name, { ...spec, deploy: { image: 'r/x:2' } });
    await bustle(world, 300_000);

    expect(conditionOf(world, kind, name)).toBe('False/Rejected');
    expect(messageOf(world, kind, name)).toContain('another deployment runs');
    expect(statusOf(world, kind, name)).not.toHaveProperty('journal');
    expect(sent(world, '/deploy-image')).toBe(2);
  });

  it('leaves what is remembered as it was where nothing shows', async () => {
    const world = await aDeployedWorld();
    disturb(world, '/deploy-image', { insteadOf: { status: 409, text } });
    world.apply(kind, name, { ...spec, deploy: { image: 'r/x:1' }, env: [{ name: 'A', value: '1' }] });
    await world.run(10_000);
    world.apply(kind, name, { ...spec, deploy: { image: 'r/x:1' } });
    await world.run(70_000);

    expect(conditionOf(world, kind, name)).toBe('True/InSync');
    expect(statusOf(world, kind, name)).not.toHaveProperty('leftover');
    expect(sent(world, '/deploy-image')).toBe(2);
  });

  it('with a creation that left no trace is a no, which is not asked for again at every turn', async () => {
    const world = await aWorld();
    disturb(world, '/app', { insteadOf: { status: 409, text } });
    world.apply('HostedApp', 'api', { port: 8080, image: { reference: 'r/mine:1' } });
    await bustle(world, 300_000);

    expect(conditionOf(world, 'HostedApp', 'api')).toBe('False/Rejected');
    expect(sent(world, '/v1/app')).toBe(1);
  });
});

describe('a no', () => {
  it.each(['400', '403', '409', '422'])(
    'to a roll-back is RollbackRefused, with whatever status: %s',
    async (status) => {
      const world = await aDeployedWorld({ 'rejection.status': status });
      const { contentId } = statusOf(world, kind, name)['deploy'] as { contentId: string };
      world.apply(kind, name, { ...spec, deploy: { image: 'r/x:2' } });
      await world.run(70_000);
      await world.request('POST', '/app-env/rollback', { appEnvId: spec.externalId, targetContentId: contentId });
      await world.run(70_000);
      world.apply(kind, name, { ...spec, deploy: { rollbackContentId: contentId } });
      await bustle(world, 100_000);

      expect(conditionOf(world, kind, name)).toBe('False/RollbackRefused');
      expect(sent(world, '/rollback')).toBe(1);
    },
  );

  it.each(['400', '403', '409', '422'])(
    'to a first start is NeverDeployed, with whatever status: %s',
    async (status) => {
      const world = await aWorld({ readings: { 'rejection.status': status } });
      world.apply(kind, name, { externalId: await neverDeployed(world), powerState: 'Running' });
      await world.run(70_000);

      expect(conditionOf(world, kind, name)).toBe('False/NeverDeployed');
      expect(conditionOf(world, kind, name, 'Deployed')).toBe('False/NeverDeployed');
    },
  );
});
