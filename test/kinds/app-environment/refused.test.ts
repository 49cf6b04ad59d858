import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, conditionOf, environmentOf, neverDeployed, newestRequest, writesSince } from '../support/world.ts';

const kind = 'AppEnvironment';
const name = 'staging';
const appEnvId = 'env_web_staging';

async function current(world: InProcess): Promise<string> {
  return (await environmentOf(world, appEnvId))['currentContentId'] as string;
}

async function stateOf(world: InProcess): Promise<unknown> {
  return (await environmentOf(world, appEnvId))['status'];
}

describe('a deployment that the service refuses', () => {
  const wants = (image: string) => ({
    externalId: appEnvId,
    powerState: 'Running',
    deploy: { image, onBind: 'Deploy' },
  });

  it('does not keep down what somebody stopped and the spec wants running', async () => {
    const world = await aWorld();
    world.apply(kind, name, wants('r/x:1'));
    await world.run(60_000);
    world.apply(kind, name, wants('R X'));
    await world.run(60_000);
    const before = await newestRequest(world);
    await world.request('POST', '/app-env/stop', { appEnvId });
    await world.run(300_000);

    expect(conditionOf(world, kind, name)).toBe('False/Rejected');
    expect(await stateOf(world)).toBe('running');
    expect((await writesSince(world, before)).slice(1)).toEqual([
      'POST /app-env/start 200',
      'POST /app-env/deploy-image 400',
    ]);
  });

  it('does not keep down what is to run again with another image', async () => {
    const world = await aWorld();
    world.apply(kind, name, { ...wants('r/x:1'), powerState: 'Stopped' });
    await world.run(60_000);
    world.apply(kind, name, wants('r/x:1'));
    await world.run(60_000);
    world.apply(kind, name, { ...wants('r/x:1'), powerState: 'Stopped' });
    await world.run(60_000);
    world.apply(kind, name, wants('R X'));
    await world.run(120_000);

    expect(conditionOf(world, kind, name)).toBe('False/Rejected');
    expect(await stateOf(world)).toBe('running');
  });

  it('is what is said of an environment that was never deployed', async () => {
    const world = await aWorld();
    const id = await neverDeployed(world);
    world.apply(kind, name, { ...wants('R X'), externalId: id });
    await world.run(700_000);

    expect(conditionOf(world, kind, name)).toBe('False/Rejected');
    expect(await writesSince(world, 0)).not.toContain('POST /app-env/start 400');
  });
});

describe('a roll-back to the version that runs', () => {
  it('does not stand in the way of a redeployment where it was only assumed', async () => {
    const world = await aWorld();
    const spec = { externalId: appEnvId, deploy: { rollbackContentId: await current(world) } };
    world.apply(kind, name, spec);
    await world.run(60_000);
    world.apply(kind, name, spec, { 'apphosting.dev/redeploy-at': 'now' });
    await world.run(120_000);

    expect(conditionOf(world, kind, name)).toBe('True/DeployAssumed');
    expect(await writesSince(world, 0)).toEqual(['POST /app-env/redeploy 200']);
  });

  it('does not keep an environment down that was stopped when its status was lost', async () => {
    const world = await aWorld();
    const spec = { externalId: appEnvId, deploy: { rollbackContentId: await current(world) } };
    world.apply(kind, name, { ...spec, powerState: 'Stopped' });
    await world.run(60_000);
    world.delete(kind, name);
    await world.run(2_000);
    world.apply(kind, name, { ...spec, powerState: 'Stopped' });
    await world.run(60_000);
    world.apply(kind, name, { ...spec, powerState: 'Running' });
    await world.run(60_000);

    expect(await stateOf(world)).toBe('running');
    expect(conditionOf(world, kind, name)).toBe('False/RollbackRefused');
    expect((await writesSince(world, 0)).filter((line) => line.includes('/start'))).toEqual([
      'POST /app-env/start 200',
    ]);
  });
});
