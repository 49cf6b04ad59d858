import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, conditionOf, messageOf, statusOf } from '../../kinds/support/world.ts';

const mail = { email: { addresses: ['a@example.com'] } };
const cpu = { environmentRef: { externalId: 'env_web_prod' }, metric: 'cpu_percent', operator: 'GreaterThan' };
const told = (name: string) => ({ ...cpu, contactPointRefs: [{ name }] });

/** Contact points `a` and `b`, which nobody makes again, and an alert that goes to `a`. */
async function anAlert(): Promise<InProcess> {
  const world = await aWorld();
  for (const name of ['a', 'b']) world.apply('ContactPoint', name, { ...mail, lifecycle: { onMissing: 'Stall' } });
  world.apply('MetricAlert', 'cpu', told('a'));
  await world.run(200_000);
  expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
  return world;
}

function idOf(world: InProcess, name: string): string {
  return String(statusOf(world, 'ContactPoint', name)['externalId']);
}

function sentSince(world: InProcess, from: number, path: string): number {
  return world.sent.slice(from).filter((request) => request.path.endsWith(path)).length;
}

describe('a change of an alert that the service answers with "not found"', () => {
  it('is laid to the contact point that is gone, and is made once there is another', async () => {
    const world = await anAlert();
    const gone = idOf(world, 'b');
    await world.request('DELETE', `/contact-point?contactPointId=${gone}`);
    const from = world.sent.length;

    world.apply('MetricAlert', 'cpu', told('b'));
    await world.run(1_200_000);

    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('False/ReferenceNotReady');
    expect(messageOf(world, 'MetricAlert', 'cpu')).toContain(`contact point ${gone} of ContactPoint b is gone`);
    expect(sentSince(world, from, '/alert')).toBe(1);
    world.apply('ContactPoint', 'b', { ...mail, lifecycle: { onMissing: 'Recreate' } });
    await world.run(300_000);
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
  });

  it('is laid to the alert where that is gone, which is made again once', async () => {
    const world = await anAlert();
    await world.request('DELETE', `/alert?alertId=${String(statusOf(world, 'MetricAlert', 'cpu')['externalId'])}`);

    world.apply('MetricAlert', 'cpu', told('b'));
    await world.run(600_000);

    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
    expect((await world.ledger()).filter(({ kind }) => kind === 'alert.created')).toHaveLength(2);
  });

  it('is laid to nothing where all it names is there: the words of the service stand, and it is tried rarely', async () => {
    const world = await anAlert();
    world.interference = ({ method, path }) =>
      method === 'PATCH' && path.endsWith('/alert')
        ? { insteadOf: { status: 404, text: '{"error":"no such thing"}' } }
        : undefined;
    const from = world.sent.length;

    world.apply('MetricAlert', 'cpu', told('b'));
    await world.run(3_600_000);

    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('False/Rejected');
    expect(messageOf(world, 'MetricAlert', 'cpu')).toContain('no such thing');
    expect(sentSince(world, from, '/alert')).toBeLessThan(10);
  });
});

describe('the creation of an alert that the service refuses', () => {
  it('is laid to the contact point that is gone', async () => {
    const world = await anAlert();
    const gone = idOf(world, 'b');
    await world.request('DELETE', `/contact-point?contactPointId=${gone}`);

    world.apply('MetricAlert', 'new', { ...cpu, contactPointRefs: [{ externalId: gone }] });
    await world.run(600_000);

    expect(conditionOf(world, 'MetricAlert', 'new')).toBe('False/ReferenceNotReady');
    expect(messageOf(world, 'MetricAlert', 'new')).toContain(`contact point ${gone} of spec.contactPointRefs is gone`);
  });
});

describe('an alert beside another one of its name, which the service refuses', () => {
  it('is laid to the contact point that is gone', async () => {
    const world = await anAlert();
    const gone = idOf(world, 'b');
    await world.request('DELETE', `/contact-point?contactPointId=${gone}`);

    world.apply('MetricAlert', 'new', { ...cpu, name: 'cpu', contactPointRefs: [{ externalId: gone }] });
    await world.run(600_000);

    expect(conditionOf(world, 'MetricAlert', 'new')).toBe('False/ReferenceNotReady');
  });
});

describe('a change of an app that the service answers with "not found"', () => {
  const app = { externalId: 'app_web', name: 'web', port: 8080, image: { reference: 'registry.example.com/web:1' } };

  it('is laid to nothing where the app is there: the words of the service stand until the spec is corrected', async () => {
    const world = await aWorld();
    world.apply('HostedApp', 'web', app);
    await world.run(70_000);
    const from = world.sent.length;

    world.apply('HostedApp', 'web', { ...app, image: { ...app.image, pullSecretId: 'cred_9' } });
    await world.run(1_200_000);

    expect(conditionOf(world, 'HostedApp', 'web', 'Stalled')).toBe('True/Rejected');
    expect(messageOf(world, 'HostedApp', 'web')).toContain('the account has no such credential');
    expect(sentSince(world, from, '/app')).toBeLessThan(5);
    world.apply('HostedApp', 'web', { ...app, port: 8081 });
    await world.run(10_000);
    expect(conditionOf(world, 'HostedApp', 'web')).toBe('True/InSync');
  });

  it('is laid to the app where that is gone', async () => {
    const world = await aWorld();
    world.apply('HostedApp', 'web', app);
    await world.run(70_000);
    await world.request('DELETE', '/app?appId=app_web');

    world.apply('HostedApp', 'web', { ...app, image: { ...app.image, pullSecretId: 'cred_1' } });
    await world.run(200_000);

    expect(conditionOf(world, 'HostedApp', 'web')).toBe('False/ObjectGone');
  });
});
