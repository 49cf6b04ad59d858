import { describe, expect, it } from 'vitest';
import { leaseResource } from '../../src/kube/lease/lease-spec.ts';
import { latestOf, standingAfter } from '../../src/kube/lease/lease-annotations.ts';
import { present } from './example.ts';
import { candidate, name, namespace, scene, type Candidate } from './lease-scene.ts';

const power = 'example.com/power-since';
const carries = [power];
const began = Date.UTC(2026, 0, 31, 12);
const minute = 60_000;

/** A lease as it was left so long before the next process began. */
function leftBehind(agoMs: number, since: string | undefined) {
  const renewTime = new Date(began - agoMs).toISOString();
  const annotations = since === undefined ? {} : { [power]: since };
  const identity = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
  return {
    ...identity,
    metadata: { name, uid: '1', resourceVersion: '1', creationTimestamp: renewTime, annotations },
    spec: { renewTime },
  };
}

describe('what holders of a lease carry', () => {
  const early = '2026-01-30T00:00:00.000Z';
  const now = new Date(began).toISOString();

  it.each([
    ['its predecessor carried it and ended a minute ago', leftBehind(minute, early), early],
    ['its predecessor ended a quarter of an hour ago', leftBehind(15 * minute, early), early],
    ['nobody held the lease for longer', leftBehind(16 * minute, early), now],
    ['its predecessor did not carry it', leftBehind(minute, undefined), now],
    ['there is no lease', undefined, now],
    ['the lease was renewed in the future', leftBehind(-2 * minute, early), now],
    ['somebody wrote nonsense', leftBehind(minute, 'yesterday'), now],
    ['somebody wrote a moment to come', leftBehind(minute, '2026-02-01T00:00:00Z'), now],
  ])('counts from the right moment when %s', (_because, lease, since) => {
    expect(standingAfter(lease, carries, { beganMs: began, wallMs: began })).toEqual({ [power]: since });
  });

  it('says nothing for a holder that does not carry it', () => {
    expect(standingAfter(leftBehind(minute, early), [], { beganMs: began, wallMs: began })).toEqual({});
  });
});

describe('when something began', () => {
  const moment = { wall: began, monotonic: 5_000 };

  it.each([
    ['the API server shows no clock', undefined, began],
    ['both clocks agree', { dateMs: began + 2_000, seenAt: 7_000 }, began],
    ['this clock is an hour behind', { dateMs: began + 60 * minute + 2_000, seenAt: 7_000 }, began + 60 * minute],
    ['this clock is an hour ahead', { dateMs: began - 60 * minute + 2_000, seenAt: 7_000 }, began],
  ])('is the later one of two clocks when %s', (_because, server, expected) => {
    expect(latestOf(moment, server)).toBe(expected);
  });
});

describe('the lease itself', () => {
  const annotationOf = ({ cluster }: ReturnType<typeof scene>) =>
    present(cluster.get(leaseResource, namespace, name)).metadata.annotations?.[power];

  /** Processes that hold the lease one after the other, with or without what is carried, and each one's moment. */
  async function inTurn(how: readonly { readonly carries: boolean; readonly ends: 'stop' | 'crash' }[]) {
    const all = scene(1);
    const came: Candidate[] = [];
    const shown: (string | undefined)[] = [];
    for (const [nth, turn] of how.entries()) {
      const next = candidate(all.cluster, { seed: 0, identity: `pod-${nth}`, ...(turn.carries && { carries }) });
      came.push(next);
      next.election.start();
      await all.clock.advance(40_000);
      shown.push(annotationOf(all));
      if (turn.ends === 'crash') next.api.cut = true;
      await next.election.stop();
      await all.clock.advance(5_000);
    }
    return { moments: came.map(({ standing }) => standing()?.[power]), shown };
  }

  it('hands the moment on, whether a holder stops or dies, and keeps it through every renewal', async () => {
    const turns = ['stop', 'crash', 'stop'] as const;
    const { moments, shown } = await inTurn(turns.map((ends) => ({ carries: true, ends })));

    expect(moments[0]).toBeDefined();
    expect(new Set(moments).size).toBe(1);
    expect(shown).toEqual(moments);
  });

  it('counts from the clock of the API server where that of the machine is behind', async () => {
    const all = scene(1);
    const late = candidate(all.cluster, { seed: 0, identity: 'late', carries });
    const behind = Object.assign(late.api, {
      serverDate: () => ({ dateMs: late.clock.wall() + 3_600_000, seenAt: late.clock.monotonic() }),
    });
    const startedMs = late.clock.wall();
    late.election.start();
    await all.clock.advance(40_000);

    expect(behind.serverDate().dateMs).toBeGreaterThan(startedMs + 3_600_000);
    expect(Date.parse(late.standing()?.[power] ?? '')).toBe(startedMs + 3_600_000);
  });

  it('loses the moment with a holder that does not carry it', async () => {
    const turns = [true, false, true].map((has) => ({ carries: has, ends: 'stop' as const }));
    const { moments, shown } = await inTurn(turns);

    expect(moments[1]).toBeUndefined();
    expect(shown[1]).toBeUndefined();
    expect(moments[2]).not.toBe(moments[0]);
  });
});
