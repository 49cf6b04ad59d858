import { describe, expect, it } from 'vitest';
import { Budget } from '../../../src/hosting/credential.ts';
import { alertsOf, alertStateOf, appEnvsOf, contactPointsOf, drSourcesOf } from '../../../src/hosting/requests.ts';
import { VirtualClock } from '../../../src/cli/in-memory/virtual-clock.ts';
import { steadyEntropy } from '../support/around.ts';
import { answer } from '../support/scripted-wire.ts';
import { mirrorOfSmallWorld } from '../support/small-world.ts';

const points = contactPointsOf('acc');
const environments = appEnvsOf('acc');

describe('a read that waits', () => {
  it('begins when the token is accepted again, if it was first wanted while the token was refused', async () => {
    const { clock, mirror, world, credential } = mirrorOfSmallWorld();
    mirror.follow(points);
    await clock.advance(1_000);
    world.fail = () => answer(401, {});
    await clock.advance(1_300_000);
    mirror.want(environments, clock.monotonic(), 'edit');
    await clock.advance(2);
    world.fail = undefined;
    while (credential.unauthorizedSince !== undefined) await clock.advance(100);

    await clock.advance(1_000);

    expect(mirror.snapshot(environments)).toBeDefined();
  });

  it('is told of a long pause at once, also where its list would begin a second later', async () => {
    const { clock, mirror, world } = mirrorOfSmallWorld();
    mirror.want(environments, 0, 'edit');
    await clock.advance(100);
    world.fail = (path) => (path === '/contact-points' ? answer(429, {}, { 'retry-after': '900' }) : undefined);
    mirror.want(points, clock.monotonic(), 'edit');
    await clock.advance(100);

    mirror.want(environments, clock.monotonic(), 'edit');
    await clock.advance(2_000);

    expect(mirror.problem(environments)?.why).toBe('throttled');
  });

  it('is not sent when nobody needs it any more', async () => {
    const { clock, mirror, requests } = mirrorOfSmallWorld({ requestsPerSecond: 1, concurrency: 1 });
    const leave = Array.from({ length: 100 }, (_, at) => mirror.follow(alertsOf(`env_${at}`)));
    await clock.advance(1_000);

    for (const end of leave) end();
    const before = requests.length;
    await clock.advance(200_000);

    expect(requests.length).toBe(before);
  });

  it('reads the pages of one list one after the other, however many other lists are due', async () => {
    const { clock, mirror, world } = mirrorOfSmallWorld({ requestsPerSecond: 5, concurrency: 4 });
    const at: number[] = [];
    world.fail = (path) => {
      if (path !== '/disaster-readiness/sources') return undefined;
      at.push(clock.monotonic());
      return answer(200, { items: [], ...(at.length < 4 && { nextCursor: `c${at.length}` }) });
    };
    for (let i = 0; i < 250; i += 1) mirror.follow(alertsOf(`env_${i}`));
    mirror.follow(drSourcesOf('acc'));
    for (let i = 250; i < 500; i += 1) mirror.follow(alertsOf(`env_${i}`));

    await clock.advance(200_000);

    const [first = 0, , , fourth = Number.POSITIVE_INFINITY] = at;
    expect(fourth - first).toBeLessThan(3_000);
  });
});

describe('the refreshes of 2,000 alert states', () => {
  it('have their pace again within minutes after two minutes of 429', async () => {
    const { clock, mirror, world, requests } = mirrorOfSmallWorld({ requestsPerSecond: 200, concurrency: 16 });
    for (let at = 0; at < 2_000; at += 1) mirror.follow(alertStateOf(`al_${at}`, 60_000));
    await clock.advance(300_000);
    world.fail = () => answer(429, {});
    await clock.advance(120_000);
    world.fail = undefined;
    await clock.advance(180_000);

    const before = requests.length;
    await clock.advance(60_000);

    expect(requests.length - before).toBeGreaterThan(1_500);
  });
});

describe('a request that is sent', () => {
  it('keeps its turn when its account closes', async () => {
    const clock = new VirtualClock();
    const budget = new Budget(clock, steadyEntropy());
    budget.join({ requestsPerSecond: 50, concurrency: 1 });
    const closing = new AbortController();
    const first = await budget.turn({ urgency: 'edit' });
    const second = budget.turn({ urgency: 'edit', leaveQueue: closing.signal });
    let isOtherGranted = false;
    void budget.turn({ urgency: 'edit' }).then(() => (isOtherGranted = true));
    if (first.granted) first.done();
    await clock.advance(1_000);
    expect((await second).granted).toBe(true);

    closing.abort();
    await clock.advance(1_000);

    expect(isOtherGranted).toBe(false);
  });
});
