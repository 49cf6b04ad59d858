import { describe, expect, it } from 'vitest';
import { alertOf, alertsOf, appEnvsOf, appOf, appPresetsOf, contactPointsOf } from '../../../src/hosting/requests.ts';
import { settle } from '../../../src/cli/in-memory/virtual-clock.ts';
import { answer, pathOf } from '../support/scripted-wire.ts';
import { mirrorOfSmallWorld } from '../support/small-world.ts';

const points = contactPointsOf('acc');

describe('the mirror', () => {
  it('lists what is followed at once and then at its interval, until nobody follows it', async () => {
    const { clock, mirror, requests, heard } = mirrorOfSmallWorld();

    const leave = mirror.follow(points);
    const alsoLeave = mirror.follow(points);
    await clock.advance(59_000);
    const early = requests.length;
    await clock.advance(2000);
    leave();
    leave();
    await clock.advance(61_000);
    alsoLeave();
    await clock.advance(600_000);

    expect([early, requests.length]).toEqual([1, 3]);
    expect(heard.map(({ changed }) => changed)).toEqual([['cp_1'], [], []]);
  });

  it('keeps the identity of what did not change, and names what did', async () => {
    const { clock, mirror, world, heard } = mirrorOfSmallWorld();
    mirror.follow(points);
    await clock.advance(1000);
    const first = mirror.snapshot(points);

    await clock.advance(60_000);
    const second = mirror.snapshot(points);
    world.points = [...world.points, { contactPointId: 'cp_2', name: 'two', type: 'email' }];
    await clock.advance(60_000);
    const third = mirror.snapshot(points);

    expect(second?.items).toBe(first?.items);
    expect(third?.items.get('cp_1')).toBe(first?.items.get('cp_1'));
    expect(heard.at(-1)?.changed).toEqual(['cp_2']);
  });

  it('serves any number of demands with one list begun after the newest of them', async () => {
    const { clock, mirror, requests } = mirrorOfSmallWorld();
    await clock.advance(1000);

    for (let asker = 0; asker < 50; asker += 1) mirror.want(points, clock.monotonic(), 'edit');
    await clock.advance(1000);

    expect(requests).toHaveLength(1);
    expect(mirror.snapshot(points)?.begunAt).toBeGreaterThanOrEqual(1000);
  });

  it('asks at the urgency of the most urgent who wants it', async () => {
    const { clock, mirror, urgencies } = mirrorOfSmallWorld();

    mirror.want(points, 0, 'wait');
    await clock.advance(10_000);
    mirror.want(points, 20_000, 'edit');
    mirror.want(points, 20_000, 'wait');
    await clock.advance(20_000);
    mirror.want(points, 40_000, 'wait');
    await clock.advance(20_000);

    expect(urgencies).toEqual(['wait', 'edit', 'wait']);
  });

  it('does not take a list under way for a fresh one', async () => {
    const { clock, mirror, requests, world } = mirrorOfSmallWorld();
    world.latencyMs = 100;
    mirror.want(points, 0, 'edit');
    await clock.advance(50);
    const since = clock.monotonic();

    mirror.want(points, since, 'edit');
    await clock.advance(60);
    const stale = mirror.snapshot(points)?.begunAt ?? Infinity;
    await clock.advance(5000);

    expect(stale).toBeLessThan(since);
    expect(mirror.snapshot(points)?.begunAt).toBeGreaterThanOrEqual(since);
    expect(requests).toHaveLength(2);
  });

  it('never counts a list as begun after a write that ended in the same tick', async () => {
    const { clock, mirror, world } = mirrorOfSmallWorld();
    world.latencyMs = 10;
    await clock.advance(500);
    mirror.follow(points);
    await settle();
    const wroteAt = clock.monotonic();

    await clock.advance(10);

    expect(mirror.snapshot(points)).toBeDefined();
    expect(mirror.snapshot(points)?.begunAt).toBeLessThan(wroteAt);
  });

  it('serves a stream of demands ever more rarely', async () => {
    const { clock, mirror, requests } = mirrorOfSmallWorld({ requestsPerSecond: 200 });

    for (let ms = 0; ms < 20_000; ms += 10) {
      mirror.want(points, clock.monotonic(), 'edit');
      await clock.advance(10);
    }

    expect(requests.length).toBeGreaterThan(8);
    expect(requests.length).toBeLessThan(20);
  });

  it('waits with a demand that lies in the future', async () => {
    const { clock, mirror, requests } = mirrorOfSmallWorld();

    mirror.want(points, 120_000, 'edit');
    await clock.advance(119_999);
    const early = requests.length;
    await clock.advance(10);

    expect([early, requests.length]).toEqual([0, 1]);
  });

  it('polls every few seconds while something is under way, and calms down again', async () => {
    const { clock, mirror, requests, world } = mirrorOfSmallWorld();
    world.status = 'UPDATING';
    mirror.follow(appEnvsOf('acc'));

    await clock.advance(40_000);
    const busy = requests.length;
    world.status = 'running';
    await clock.advance(5000);
    const settled = requests.length;
    await clock.advance(50_000);

    expect(busy).toBeGreaterThanOrEqual(8);
    expect(busy).toBeLessThanOrEqual(14);
    expect(requests.length).toBe(settled);
  });

  it('reads presets once an hour, and one object only when asked', async () => {
    const { clock, mirror, requests } = mirrorOfSmallWorld();
    mirror.follow(appPresetsOf());
    mirror.follow(appOf('a'));

    await clock.advance(1.9 * 3_600_000);
    const unasked = requests.map(pathOf);
    mirror.want(appOf('a'), clock.monotonic(), 'edit');
    await clock.advance(1000);

    expect(unasked).toEqual(['/app-presets', '/app-presets']);
    expect(mirror.snapshot(appOf('a'))?.items.size).toBe(1);
  });

  it('takes a 404 on one object for an empty list', async () => {
    const { clock, mirror, world } = mirrorOfSmallWorld();
    world.fail = () => answer(404, { error: 'not found' });

    mirror.want(alertOf('al_9'), 0, 'edit');
    mirror.want(points, 0, 'edit');
    await clock.advance(1000);

    expect(mirror.snapshot(alertOf('al_9'))?.items.size).toBe(0);
    expect(mirror.snapshot(points)).toBeUndefined();
    expect(mirror.problem(points)?.why).toBe('refused');
  });

  it('keeps the snapshot through failures, backs off, and reports them until a list completes', async () => {
    const { clock, mirror, world, requests } = mirrorOfSmallWorld({ pollMs: 10_000 });
    mirror.follow(points);
    await clock.advance(1000);
    const before = mirror.snapshot(points);

    world.fail = () => answer(500, { error: 'down' });
    await clock.advance(120_000);
    const failing = { problem: mirror.problem(points), snapshot: mirror.snapshot(points), asked: requests.length };
    world.fail = undefined;
    await clock.advance(20_000);

    expect(failing.problem).toMatchObject({ why: 'unreachable', message: 'the service answered 500: down' });
    expect(failing.snapshot).toBe(before);
    expect(failing.asked).toBeLessThan(25);
    expect(mirror.problem(points)).toBeUndefined();
  });

  it('stays quiet while the token is refused, tells everybody once, and reads all when it is good again', async () => {
    const { clock, mirror, world, requests, heard } = mirrorOfSmallWorld({ pollMs: 10_000, requestsPerSecond: 100 });
    const reads = Array.from({ length: 50 }, (_, index) => alertsOf(`env_${index}`));
    for (const read of reads) mirror.follow(read);
    await clock.advance(5000);
    world.fail = () => answer(401, { error: 'unauthorized' });
    const before = requests.length;

    await clock.advance(600_000);
    const during = requests.length - before;
    const told = heard.filter(({ problem }) => problem?.why === 'unauthorized');
    world.fail = undefined;
    await clock.advance(301_000);

    expect(during).toBeLessThan(16);
    expect(new Set(told.map(({ key }) => key)).size).toBe(50);
    expect(told.length).toBeLessThan(80);
    expect(reads.every((read) => mirror.problem(read) === undefined)).toBe(true);
  });

  it('sends nothing while the service asks to wait', async () => {
    const { clock, mirror, world, requests } = mirrorOfSmallWorld({ pollMs: 10_000 });
    mirror.follow(points);
    mirror.follow(appEnvsOf('acc'));
    world.fail = () => answer(429, {}, { 'retry-after': '300' });
    await clock.advance(1000);
    const before = requests.length;

    await clock.advance(298_000);
    const during = requests.length - before;
    world.fail = undefined;
    await clock.advance(30_000);

    expect(during).toBe(0);
    expect(mirror.problem(points)).toBeUndefined();
  });

  it('takes at most half of the budget for polls', async () => {
    const { clock, mirror, requests } = mirrorOfSmallWorld({ pollMs: 10_000, requestsPerSecond: 2 });
    for (let index = 0; index < 40; index += 1) mirror.follow(alertsOf(`env_${index}`));
    await clock.advance(120_000);
    const before = requests.length;

    await clock.advance(400_000);

    expect((requests.length - before) / 400).toBeLessThanOrEqual(1.06);
    expect(mirror.schedule.pollIntervalMs()).toBe(40_000);
    expect(mirror.schedule.forecastPerHour()).toBe(3600);
  });

  it('runs no more lists at once than it may, the wanted ones first', async () => {
    const { clock, mirror, requests, world } = mirrorOfSmallWorld({ concurrency: 2, requestsPerSecond: 100 });
    world.latencyMs = 1000;
    for (let index = 0; index < 10; index += 1) mirror.follow(alertsOf(`env_${index}`));
    mirror.want(points, -1, 'edit');

    await clock.advance(500);
    const atOnce = requests.length;
    await clock.advance(1000);

    expect(atOnce).toBe(2);
    expect(requests.slice(2, 4).map(pathOf)).toContain('/contact-points');
  });

  it('forgets what nobody asks for any longer', async () => {
    const { clock, mirror } = mirrorOfSmallWorld();
    mirror.want(alertOf('al_1'), 0, 'edit');
    await clock.advance(1000);
    const kept = mirror.snapshot(alertOf('al_1'));

    await clock.advance(599_000);
    const stillKept = mirror.snapshot(alertOf('al_1'));
    await clock.advance(1_300_000);

    expect(kept).toBeDefined();
    expect(stillKept).toBe(kept);
    expect(mirror.snapshot(alertOf('al_1'))).toBeUndefined();
  });

  it('gives up what nobody asks for any longer although it never was read', async () => {
    const { clock, mirror, world, requests } = mirrorOfSmallWorld();
    world.fail = () => answer(403, { error: 'no' });
    mirror.want(alertOf('al_1'), 0, 'edit');
    await clock.advance(700_000);
    const tried = requests.length;

    await clock.advance(700_000);

    expect(tried).toBeGreaterThan(5);
    expect(requests.length).toBe(tried);
    expect(mirror.problem(alertOf('al_1'))).toBeUndefined();
  });

  it('is silent after it was closed', async () => {
    const { clock, mirror, requests, heard, world } = mirrorOfSmallWorld();
    world.latencyMs = 100;
    mirror.follow(points);
    await clock.advance(50);

    mirror.close();
    mirror.want(points, clock.monotonic(), 'edit');
    await clock.advance(1_000_000);

    expect(requests).toHaveLength(1);
    expect(heard).toEqual([]);
  });

  it('knows how old its data are', async () => {
    const { clock, mirror, world } = mirrorOfSmallWorld();
    mirror.follow(points);
    await clock.advance(1000);
    world.fail = () => answer(500, {});

    await clock.advance(120_000);

    expect([...mirror.ages()]).toEqual([['contactPoints', expect.closeTo(121_000, 0)]]);
  });
});
