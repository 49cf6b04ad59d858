import { describe, expect, it } from 'vitest';
import type { Disturbance } from '../../support/disturbed-wire.ts';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, commits, conditionOf, messageOf, newest, statusOf } from '../support/world.ts';

const app = { externalId: 'app_web', name: 'web', port: 8080, applyImmediately: true };
const image = (tag: number) => ({ image: { reference: `registry.example.com/web:${tag}` } });
const lostByGateway: Disturbance = { afterwards: { status: 504, text: 'gateway timeout' } };

/** An app that runs image 1, and whose changes are disturbed from now on. */
async function anApp(disturbance: Disturbance, spec: object = app): Promise<{ world: InProcess; from: number }> {
  const world = await aWorld();
  // What taking it over leaves pending is applied with the edit after it.
  world.apply('HostedApp', 'web', { ...spec, ...image(0) });
  await world.run(60_000);
  world.apply('HostedApp', 'web', { ...spec, ...image(1) });
  await world.run(60_000);
  expect(conditionOf(world, 'HostedApp', 'web')).toBe('True/InSync');
  disturb(world, disturbance);
  return { world, from: await newest(world) };
}

function disturb(world: InProcess, disturbance: Disturbance): void {
  world.interference = ({ method, path }) => (method === 'PATCH' && path.endsWith('/app') ? disturbance : undefined);
}

async function updates(world: InProcess, from: number): Promise<number> {
  return (await commits(world, from)).filter(({ kind }) => kind === 'app.updated').length;
}

describe('a change of an app that is applied at once, and whose answer is lost', () => {
  it('is sent twice and not a third time, by the next process neither', async () => {
    const { world, from } = await anApp(lostByGateway);

    world.apply('HostedApp', 'web', { ...app, ...image(2) });
    await world.run(1_800_000);
    await world.crash();
    await world.run(1_800_000);

    expect(await updates(world, from)).toBe(2);
    expect(conditionOf(world, 'HostedApp', 'web', 'Stalled')).toBe('True/ApplyInDoubt');
    expect(messageOf(world, 'HostedApp', 'web')).toContain(
      'the outcome of 2 attempts to change image.reference is not known',
    );
    expect(statusOf(world, 'HostedApp', 'web')).toMatchObject({ internal: { applyInDoubt: { calls: 2 } } });
  });

  it.each([
    ['throttled', { insteadOf: { status: 429, text: '{}' } }],
    ['refused at the door', 'refuseConnection'],
  ] as const)('does not count what was never sent, in no process (%s)', async (_how, disturbance) => {
    const { world, from } = await anApp(disturbance);
    world.apply('HostedApp', 'web', { ...app, ...image(2) });
    for (let process = 0; process < 3; process += 1) {
      await world.run(300_000);
      await world.crash();
    }
    await world.run(300_000);
    world.interference = () => undefined;
    await world.run(400_000);

    expect(await updates(world, from)).toBe(1);
    expect(conditionOf(world, 'HostedApp', 'web')).toBe('True/InSync');
  });

  it('is sent again when it is another one, and its count goes with the first answer', async () => {
    const { world, from } = await anApp(lostByGateway);
    world.apply('HostedApp', 'web', { ...app, ...image(2) });
    await world.run(900_000);
    world.interference = () => undefined;

    world.apply('HostedApp', 'web', { ...app, ...image(3) });
    await world.run(10_000);

    expect(await updates(world, from)).toBe(3);
    expect(conditionOf(world, 'HostedApp', 'web')).toBe('True/InSync');
    expect(statusOf(world, 'HostedApp', 'web')).not.toHaveProperty('internal.applyInDoubt');
  });

  it('is sent until it shows where the service shows it', async () => {
    const { world, from } = await anApp({ insteadOf: { status: 503, text: '{}' } });
    world.apply('HostedApp', 'web', { ...app, ...image(1), port: 8081 });
    await world.run(300_000);

    disturb(world, lostByGateway);
    await world.run(600_000);

    expect(await updates(world, from)).toBe(1);
    expect(conditionOf(world, 'HostedApp', 'web')).toBe('True/InSync');
    expect(statusOf(world, 'HostedApp', 'web')).not.toHaveProperty('internal.applyInDoubt');
  });

  it('is sent twice and not a third time where it was pending before', async () => {
    const later = { ...app, applyImmediately: false };
    const { world, from } = await anApp(lostByGateway, later);
    world.interference = () => undefined;
    world.apply('HostedApp', 'web', { ...later, ...image(2) });
    await world.run(10_000);
    expect(statusOf(world, 'HostedApp', 'web')).toMatchObject({ pendingChanges: ['image.reference', 'port'] });
    disturb(world, lostByGateway);

    world.apply('HostedApp', 'web', { ...app, ...image(2) });
    await world.run(1_800_000);

    expect(await updates(world, from)).toBe(1 + 2);
    expect(conditionOf(world, 'HostedApp', 'web', 'Stalled')).toBe('True/ApplyInDoubt');
  });
});
