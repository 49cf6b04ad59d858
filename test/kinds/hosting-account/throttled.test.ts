import { describe, expect, it } from 'vitest';
import { InProcess } from '../../support/in-process.ts';
import { conditionOf, messageOf } from '../support/world.ts';

const mail = { email: { addresses: ['a@example.com'] } };

async function throttledBy(retryAfter: string, path = '/contact-points'): Promise<InProcess> {
  const world = new InProcess();
  await world.start();
  world.account();
  await world.run(10_000);
  world.interference = (request) =>
    request.path.endsWith(path)
      ? { insteadOf: { status: 429, text: '{}', headers: { 'retry-after': retryAfter } } }
      : undefined;
  world.apply('ContactPoint', 'first', mail);
  await world.run(5_000);
  return world;
}

describe('a pause that the service asks for', () => {
  it.each([
    { retryAfter: '3', until: '2026-01-01T00:00:1' },
    { retryAfter: '8', until: '2026-01-01T00:00:1' },
    { retryAfter: '20', until: '2026-01-01T00:00:3' },
    { retryAfter: '300', until: '2026-01-01T00:05:1' },
    { retryAfter: '1000000000', until: '2026-01-01T00:15:1' },
  ])('of $retryAfter s that a read met is told within seconds, with its end', async ({ retryAfter, until }) => {
    const world = await throttledBy(retryAfter);

    expect(conditionOf(world, 'HostingAccount', 'default', 'Throttled')).toBe('True/Throttling');
    expect(messageOf(world, 'HostingAccount', 'default', 'Throttled')).toContain(`requests wait until ${until}`);
    expect(conditionOf(world, 'HostingAccount', 'default')).toBe('True/InSync');
  });

  it('is what resources wait for that are new, and the account says how many they are', async () => {
    const world = await throttledBy('300');
    world.apply('ContactPoint', 'second', mail);
    await world.run(8_000);

    const waiting = ['first', 'second'].map((name) => conditionOf(world, 'ContactPoint', name));

    expect(waiting).toEqual(['False/Throttled', 'False/Throttled']);
    expect(messageOf(world, 'HostingAccount', 'default', 'Throttled')).toContain(
      'resources that wait for the service: 2',
    );
  });

  it('is told by a new resource at once, with its end', async () => {
    const world = await throttledBy('25');
    world.interference = () => undefined;
    world.apply('ContactPoint', 'second', mail);
    await world.run(3_000);
    const said = [conditionOf(world, 'ContactPoint', 'second'), messageOf(world, 'ContactPoint', 'second')];

    await world.run(60_000);

    expect(said).toEqual(['False/Throttled', expect.stringMatching(/requests wait until 2026-01-01T00:00:3/)]);
    expect(conditionOf(world, 'ContactPoint', 'second')).toBe('True/InSync');
    expect(conditionOf(world, 'HostingAccount', 'default', 'Throttled')).toBe('False/NotThrottled');
  });

  it('is told at once by a new resource that waits for another read than the one that met it', async () => {
    const world = await throttledBy('300');
    world.apply('AppEnvironment', 'staging', { externalId: 'env_web_staging' });
    await world.run(3_000);
    const said = [conditionOf(world, 'AppEnvironment', 'staging'), messageOf(world, 'AppEnvironment', 'staging')];
    world.interference = () => undefined;

    await world.run(330_000);

    expect(said).toEqual(['False/Throttled', expect.stringMatching(/requests wait until 2026-01-01T00:05:1/)]);
    expect(conditionOf(world, 'AppEnvironment', 'staging')).toMatch(/^True/);
  });

  it('leaves fewer requests for a while, and the account says until when', async () => {
    const world = await throttledBy('8');
    world.interference = () => undefined;
    await world.run(10_000);

    expect(conditionOf(world, 'HostingAccount', 'default', 'Throttled')).toBe('True/Throttling');
    expect(messageOf(world, 'HostingAccount', 'default', 'Throttled')).toMatch(
      /fewer requests until 2026-01-01T00:00:4\dZ/,
    );

    await world.run(60_000);
    expect(conditionOf(world, 'HostingAccount', 'default', 'Throttled')).toBe('False/NotThrottled');
  });

  it('is written some seconds after the one before, however often one follows another', async () => {
    const world = await throttledBy('1', '');
    for (let at = 0; at < 30; at += 1) world.apply('ContactPoint', `more-${at}`, mail);
    const written: number[] = [];
    for (let passed = 0; passed < 120_000; passed += 500) {
      const version = world.get('HostingAccount', 'default')?.metadata.resourceVersion;
      await world.run(500);
      if (world.get('HostingAccount', 'default')?.metadata.resourceVersion !== version) written.push(passed);
    }
    const gaps = written.slice(1).map((at, place) => at - (written[place] ?? 0));

    expect(written.length).toBeGreaterThan(5);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(3_000);
  });

  it('is told with its end by the resource whose call met it', async () => {
    const world = new InProcess();
    await world.start();
    world.account();
    await world.run(10_000);
    world.interference = ({ method }) =>
      method === 'POST' ? { insteadOf: { status: 429, text: '{}', headers: { 'retry-after': '30' } } } : undefined;
    world.apply('ContactPoint', 'first', mail);
    await world.run(5_000);

    expect(conditionOf(world, 'ContactPoint', 'first')).toBe('False/Throttled');
    expect(messageOf(world, 'ContactPoint', 'first')).toMatch(
      /: the service asked to slow down; requests wait until 2026-01-01T00:00:4\dZ$/,
    );
  });
});
