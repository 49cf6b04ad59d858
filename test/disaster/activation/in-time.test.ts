/** What a request shows of its operation, and when: the polls are as slow as people like, the end of a request is not. */
import { describe, expect, it } from 'vitest';
import { eventResource } from '../../../src/kube/events.ts';
import type { InProcess } from '../../support/in-process.ts';
import type { Interference } from '../../support/disturbed-wire.ts';
import {
  aDiscard,
  anActivation,
  aProtectedWorld,
  aReset,
  committed,
  disaster,
  failingActivation,
  protection,
  sentenceOf,
  statusOf,
} from '../support.ts';

interface Request {
  readonly stage?: string;
  readonly stageChangeTime?: string;
  readonly stages?: readonly { readonly stage: string; readonly observedTime: string }[];
  readonly finishedTime?: string;
}

const cases = [10, 600, 3_600].flatMap((pollSeconds) => ['Cold', 'Warm'].map((mode) => [mode, pollSeconds] as const));

/** The phases that the service stays in for at least five seconds. */
const longPhases = (mode: string) =>
  mode === 'Warm' ? ['promoting', 'starting'] : ['restoring', 'promoting', 'starting'];

async function aWorld(mode: string, pollSeconds: number, readings = {}): Promise<InProcess> {
  const world = await aProtectedWorld({ readings }, { protectionMode: mode });
  world.account({ pollSeconds });
  await world.run(60_000);
  return world;
}

/** An activation of a point that the service lists now: status is as old as the polls. */
async function ofToday(world: InProcess): Promise<object> {
  const { externalId: configurationId } = protection(world);
  const { body } = await world.request(
    'GET',
    `/disaster-readiness/points?accountId=acc_demo&configurationId=${configurationId}`,
  );
  const { items, generation } = body as { items: { cutoffAt: string }[]; generation: number };
  const [newest] = items.toSorted((a, b) => (a.cutoffAt < b.cutoffAt ? 1 : -1));
  if (newest === undefined) throw new Error('the service lists no point');
  const { cutoffAt: cutoffTime, ...point } = newest;
  const { pointId, selectedOperationId } = point as unknown as Record<string, string>;
  return anActivation(world, {
    recoveryPoint: { pointId, selectedOperationId, cutoffTime, configurationGeneration: generation },
  });
}

function stagesOf(world: InProcess, kind: string, name: string): readonly string[] {
  return (statusOf<Request>(world, kind, name).stages ?? []).map(({ stage }) => stage);
}

/** Each stage has the time of its first appearance: in order, none before `sinceMs`, none in the future, and not all at once. */
function expectTimes(world: InProcess, kind: string, sinceMs: number): void {
  const { stages = [], stageChangeTime } = statusOf<Request>(world, kind, 'now');
  const times = stages.map(({ observedTime }) => Date.parse(observedTime));

  // Times are whole seconds.
  const around = [sinceMs - 999, ...times, world.clock.wall()];
  expect(around).toEqual(around.toSorted((a, b) => a - b));
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(5_000);
  expect(stageChangeTime).toBe(stages.at(-1)?.observedTime);
}

/** Each stage that an event tells, in order. */
function told(world: InProcess, name: string): readonly string[] {
  return world.cluster
    .all(eventResource)
    .toSorted((a, b) => (String(a['eventTime']) < String(b['eventTime']) ? -1 : 1))
    .filter((event) => event['reason'] === 'StageReached' && (event['regarding'] as { name?: string }).name === name)
    .map((event) => String(event['note']).replace(/^.* is /, ''));
}

/** Lets time pass until the request has ended; how long that took, and every message that Ready had. */
async function watched(
  world: InProcess,
  kind: string,
  mostMs: number,
): Promise<{ readonly tookMs: number; readonly said: readonly string[] }> {
  const said = new Set<string>();
  let tookMs = 0;
  while (statusOf<Request>(world, kind, 'now').finishedTime === undefined && tookMs < mostMs) {
    await world.run(500);
    tookMs += 500;
    said.add(sentenceOf(world, kind, 'now') ?? '');
  }
  return { tookMs, said: [...said] };
}

/** The first answer to a call is lost. */
function losing(path: string): Interference {
  let isLost = false;
  return (request) => {
    if (isLost || request.path !== `${disaster}/${path}`) return undefined;
    isLost = true;
    return 'loseAnswer';
  };
}

const kind = 'RecoveryActivation';

describe('an activation', () => {
  it.each(cases)('shows each phase in time, %s, with polls every %i s', async (mode, pollSeconds) => {
    const world = await aWorld(mode, pollSeconds);
    const sinceMs = world.clock.wall();
    world.apply(kind, 'now', await ofToday(world));

    const { tookMs, said } = await watched(world, kind, 120_000);

    expect(sentenceOf(world, kind, 'now')).toMatch(/is live$/);
    expect(tookMs).toBeLessThan(45_000);
    expect(stagesOf(world, kind, 'now').filter((stage) => longPhases(mode).includes(stage))).toEqual(longPhases(mode));
    expectTimes(world, kind, sinceMs);
    expect(told(world, 'now')).toEqual(stagesOf(world, kind, 'now'));
    expect(said.filter((sentence) => /no result|neither|not under way/.test(sentence))).toEqual([]);
  });

  it.each(cases)(
    'shows each phase though its answer was lost, %s, with polls every %i s',
    async (mode, pollSeconds) => {
      const world = await aWorld(mode, pollSeconds);
      const spec = await ofToday(world);
      world.interference = losing('activate');
      const sinceMs = world.clock.wall();
      world.apply(kind, 'now', spec);

      const { tookMs } = await watched(world, kind, 240_000);

      expect(sentenceOf(world, kind, 'now')).toMatch(/is live$/);
      expect(tookMs).toBeLessThan(60_000);
      expect(stagesOf(world, kind, 'now').filter((stage) => longPhases(mode).includes(stage))).toEqual(
        longPhases(mode),
      );
      expectTimes(world, kind, sinceMs);
      expect(await committed(world, 'activation.accepted')).toBe(1);
    },
  );

  it.each(['queued', 'restoring', 'promoting', 'starting', 'succeeded'])(
    'comes to its end when the operator dies while it is %s',
    async (stage) => {
      const world = await aWorld('Cold', 3_600);
      world.apply(kind, 'now', await ofToday(world));
      let isKilled = false;
      for (let passed = 0; passed < 60_000 && !isKilled; passed += 250) {
        await world.run(250);
        isKilled = statusOf<Request>(world, kind, 'now').stage === stage;
      }
      await world.crash(5_000);

      await watched(world, kind, 120_000);

      expect(isKilled).toBe(true);
      expect(sentenceOf(world, kind, 'now')).toMatch(/is live$/);
      expect(new Set(stagesOf(world, kind, 'now')).size).toBe(stagesOf(world, kind, 'now').length);
    },
  );

  it.each(['Cold', 'Warm'])('says nothing of a list that is older than it, where lists lag 30 s, %s', async (mode) => {
    const world = await aWorld(mode, 600, { 'lists.lagMs': 30_000 });
    world.apply(kind, 'now', await ofToday(world));

    const { tookMs, said } = await watched(world, kind, 240_000);

    expect(sentenceOf(world, kind, 'now')).toMatch(/is live$/);
    expect(tookMs).toBeLessThan(75_000);
    expect(stagesOf(world, kind, 'now').filter((stage) => longPhases(mode).includes(stage))).toEqual(longPhases(mode));
    expect(said.some((sentence) => sentence.endsWith('but shows no progress yet'))).toBe(true);
    expect(
      said.filter((sentence) => /no result|neither|no longer working|check in the service/.test(sentence)),
    ).toEqual([]);
  });

  it.each(['Cold', 'Warm'])(
    'shows each phase though its answer was lost together with the operator, where lists lag 30 s, %s',
    async (mode) => {
      const world = await aWorld(mode, 3_600, { 'lists.lagMs': 30_000 });
      world.interference = ({ path }) => {
        if (path !== `${disaster}/activate`) return undefined;
        world.kill();
        return 'hangAfter';
      };
      world.apply(kind, 'now', await ofToday(world));
      await world.run(1_500);
      await world.crash(120_000);

      const { tookMs } = await watched(world, kind, 240_000);

      expect(sentenceOf(world, kind, 'now')).toMatch(/is live$/);
      expect(tookMs).toBeLessThan(75_000);
      expect(stagesOf(world, kind, 'now').filter((stage) => longPhases(mode).includes(stage))).toEqual(
        longPhases(mode),
      );
      expect(await committed(world, 'activation.accepted')).toBe(1);
    },
  );

  it('goes on at once when the list of configurations was empty for a minute, with polls every hour', async () => {
    const world = await aWorld('Cold', 3_600);
    world.apply(kind, 'now', await ofToday(world));
    await world.run(5_000);
    world.interference = ({ path }) =>
      path === `${disaster}/configurations` ? { insteadOf: { status: 200, text: '{"items":[]}' } } : undefined;
    await world.run(60_000);
    world.interference = () => undefined;

    const { tookMs } = await watched(world, kind, 4_000_000);

    expect(sentenceOf(world, kind, 'now')).toMatch(/is live$/);
    expect(tookMs).toBeLessThan(15_000);
  });

  it('shows how many steps in a row have failed, and from when on it may be discarded', async () => {
    const world = await aWorld('Cold', 600);
    await world.control('PATCH', `/configurations/${protection(world).externalId}`, { failSteps: 1_000 });
    world.apply(kind, 'now', await ofToday(world));

    await world.run(200_000);
    expect(statusOf(world, kind, 'now')).toMatchObject({ stage: 'promoting', failedSteps: 2 });
    await world.run(900_000);

    expect(sentenceOf(world, kind, 'now')).toMatch(
      /to end the activation, create an ActivationDiscard, which the service may accept now$/,
    );
  });
});

describe('a validation', () => {
  it.each(cases)('is seen through to its end in time, %s, with polls every %i s', async (mode, pollSeconds) => {
    const world = await aWorld(mode, pollSeconds);
    const sinceMs = world.clock.wall();
    world.apply('RecoveryValidation', 'now', { protectionRef: { name: 'orders' } });

    const { tookMs } = await watched(world, 'RecoveryValidation', 120_000);

    expect(sentenceOf(world, 'RecoveryValidation', 'now')).toBe('the recovery worked in isolation');
    expect(tookMs).toBeLessThan(45_000);
    expectTimes(world, 'RecoveryValidation', sinceMs);
    const phases = ['validating', 'cleaning'];
    expect(stagesOf(world, 'RecoveryValidation', 'now').filter((stage) => phases.includes(stage))).toEqual(phases);
  });
});

describe('a reset', () => {
  it.each([10, 600, 3_600])('is seen to be done in time, with polls every %i s', async (pollSeconds) => {
    const world = await aWorld('Cold', pollSeconds);
    world.apply('DisasterReset', 'now', aReset(world));

    const { tookMs } = await watched(world, 'DisasterReset', 120_000);

    expect(sentenceOf(world, 'DisasterReset', 'now')).toBe('the configuration is gone');
    // Two lists, ten seconds apart, must agree.
    expect(tookMs).toBeLessThan(20_000);
  });

  it.each([10, 600, 3_600])(
    'is seen to be done though its answer was lost, with polls every %i s',
    async (pollSeconds) => {
      const world = await aWorld('Cold', pollSeconds);
      world.interference = losing('reset');
      world.apply('DisasterReset', 'now', aReset(world));

      const { tookMs } = await watched(world, 'DisasterReset', 4_000_000);

      expect(sentenceOf(world, 'DisasterReset', 'now')).toBe('the configuration is gone');
      // A lost call may still arrive for two minutes and a half; then two lists must agree.
      expect(tookMs).toBeLessThan(200_000);
    },
  );
});

describe('a discard', () => {
  it('is seen to be done in time, with polls every hour', async () => {
    const world = await aWorld('Cold', 3_600);
    await failingActivation(world, 'failing', await ofToday(world));
    const { externalId: operationId } = statusOf<{ externalId: string }>(world, kind, 'failing');
    world.apply('ActivationDiscard', 'now', aDiscard(world, { operationId }));

    const { tookMs } = await watched(world, 'ActivationDiscard', 120_000);

    expect(sentenceOf(world, 'ActivationDiscard', 'now')).toBe(`operation ${operationId} is discarded`);
    expect(tookMs).toBeLessThan(45_000);
  });
});
