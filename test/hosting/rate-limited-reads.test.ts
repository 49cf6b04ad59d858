import { describe, expect, it } from 'vitest';
import { alertStateOf } from '../../src/hosting/requests.ts';
import { RateLimitedShare } from '../../src/hosting/credential.ts';
import { pathOf } from './support/scripted-wire.ts';
import { mirrorOfSmallWorld } from './support/small-world.ts';

describe('the share of rate-limited reads', () => {
  it('is taken place by place', () => {
    const share = new RateLimitedShare();

    expect([0, 0, 0, 10_000].map((now) => share.place(now, 5))).toEqual([0, 1_000, 2_000, 10_000]);
  });

  it('is asked for four times as often by an alert that fires', () => {
    const share = new RateLimitedShare();
    const all = [false, false, false, true].map((isFiring) => ({ isFiring, weight: 0 }));
    for (const alert of all) share.count(alert, alert.isFiring);

    expect(all.map((alert) => share.intervalMs(alert, alert.isFiring, 5))).toEqual([7_000, 7_000, 7_000, 1_750]);
  });
});

describe('the states of alerts', () => {
  it.each([1, 10])('take a fifth of the budget of a credential that serves %s accounts', async (accounts) => {
    const { clock, mirror, another, requests } = mirrorOfSmallWorld({ requestsPerSecond: 5 });
    const mirrors = [mirror, ...Array.from({ length: accounts - 1 }, another)];
    for (let at = 0; at < 200; at += 1) mirrors[at % accounts]?.follow(alertStateOf(`al_${at}`, 1_000));
    await clock.advance(400_000);
    const before = requests.length;

    await clock.advance(600_000);

    const refreshes = requests.slice(before).filter((request) => pathOf(request) === '/alert/refresh').length;
    expect(refreshes / 600).toBeGreaterThan(0.8);
    expect(refreshes / 600).toBeLessThanOrEqual(1.1);
    expect(mirror.schedule.rateLimitedMs()).toBe(200_000);
  });

  it('take no more than that in any ten seconds, also while they come one by one', async () => {
    const { clock, mirror, requests } = mirrorOfSmallWorld({ requestsPerSecond: 50 });
    const counts: number[] = [];
    const advanceTenSeconds = async (): Promise<void> => {
      const before = requests.length;
      await clock.advance(10_000);
      counts.push(requests.slice(before).filter((request) => pathOf(request) === '/alert/refresh').length);
    };

    for (let at = 0; at < 1_000; at += 1) {
      if (at % 100 === 99) await advanceTenSeconds();
      mirror.follow(alertStateOf(`al_${at}`, 1_000));
    }
    for (let at = 0; at < 30; at += 1) await advanceTenSeconds();

    expect(Math.max(...counts)).toBeLessThanOrEqual(101);
    expect(Math.min(...counts.slice(-10))).toBeGreaterThanOrEqual(90);
  });

  it('are asked for together, at whole quarters of a second', async () => {
    const { clock, mirror, world } = mirrorOfSmallWorld({ requestsPerSecond: 100, concurrency: 16 });
    const times: number[] = [];
    world.fail = (path) => {
      if (path === '/alert/refresh') times.push(clock.monotonic());
      return undefined;
    };
    for (let at = 0; at < 100; at += 1) mirror.follow(alertStateOf(`al_${at}`, 1_000));

    await clock.advance(60_000);

    const groups = Map.groupBy(
      times.filter((at) => at > 10_000),
      (at) => at,
    );
    expect([...groups.keys()].filter((at) => at % 250 !== 0)).toEqual([]);
    expect(Math.max(...[...groups.values()].map((group) => group.length))).toBe(5);
  });

  it('have no pause in an account without alerts, whoever else uses the credential', () => {
    const { mirror, another } = mirrorOfSmallWorld();
    const other = another();

    const unfollow = other.follow(alertStateOf('al_1', 1_000));
    const whileFollowed = [mirror.schedule.rateLimitedMs(), other.schedule.rateLimitedMs()];
    unfollow();

    expect(whileFollowed).toEqual([undefined, 1_000]);
    expect(other.schedule.rateLimitedMs()).toBeUndefined();
  });

  it('are part of what an account is expected to ask in an hour: what they wish for, or their share', () => {
    const { mirror, another } = mirrorOfSmallWorld({ requestsPerSecond: 5 });
    for (let at = 0; at < 10; at += 1) mirror.follow(alertStateOf(`al_${at}`, 60_000));
    const whileThereIsRoom = mirror.schedule.forecastPerHour();
    const other = another();
    const unfollow = Array.from({ length: 190 }, (_, at) => other.follow(alertStateOf(`other_${at}`, 60_000)));

    expect(whileThereIsRoom).toBe(600);
    expect([mirror.schedule.forecastPerHour(), other.schedule.forecastPerHour()]).toEqual([180, 3_420]);
    for (const end of unfollow) end();
    expect([mirror.schedule.forecastPerHour(), other.schedule.forecastPerHour()]).toEqual([600, 0]);
  });

  it.each([
    { from: 30_000, to: 86_400_000, least: 0, most: 1 },
    { from: 86_400_000, to: 30_000, least: 110, most: 130 },
  ])(
    'come as often as they are asked for last: every $to ms after every $from ms',
    async ({ from, to, least, most }) => {
      const { clock, mirror, requests } = mirrorOfSmallWorld();
      const unfollow = mirror.follow(alertStateOf('al_1', from));
      mirror.want(alertStateOf('al_1', from), 0, 'edit');
      await clock.advance(100_000);

      mirror.follow(alertStateOf('al_1', to));
      unfollow();
      const before = requests.length;
      await clock.advance(3_600_000);

      expect(requests.length - before).toBeGreaterThanOrEqual(least);
      expect(requests.length - before).toBeLessThanOrEqual(most);
      expect(mirror.schedule.rateLimitedMs()).toBe(to);
      expect(mirror.schedule.forecastPerHour()).toBe(Math.round(3_600_000 / to));
    },
  );

  it('leave their turns to the others when an account is closed', async () => {
    const { clock, mirror, another } = mirrorOfSmallWorld();
    const other = another();
    mirror.follow(alertStateOf('al_1', 1_000));
    other.follow(alertStateOf('al_2', 1_000));
    await clock.advance(10_000);

    other.close();

    expect(mirror.schedule.rateLimitedMs()).toBe(1_000);
  });
});
