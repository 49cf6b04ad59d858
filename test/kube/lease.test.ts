import { describe, expect, it } from 'vitest';
import { leasePaceOf, leaseResource } from '../../src/kube/lease.ts';
import { MemoryCluster } from '../support/memory/memory-cluster.ts';
import { SuspendableClock } from '../support/suspendable-clock.ts';
import { present } from './example.ts';
import { candidate, holderIn, leaders, name, namespace, scene, settled } from './lease-scene.ts';

describe('a lease', () => {
  it('is created by the first, and the others wait', async () => {
    const { first, second, candidates, cluster } = await settled();

    expect(leaders(candidates)).toEqual([first.election.identity]);
    expect(first.heard).toEqual(['acquired']);
    expect(second.election.mayAct()).toBe('this process is not the leader');
    expect(cluster.get(leaseResource, namespace, name)?.spec).toMatchObject({
      holderIdentity: first.election.identity,
      leaseDurationSeconds: 15,
      renewTime: expect.stringMatching(/T\d\d:\d\d:\d\d\.\d{6}Z$/),
    });
  });

  it('costs one write and no read each two seconds while nothing happens', async () => {
    const { clock, first } = await settled();
    first.api.calls.length = 0;

    await clock.advance(60_000);

    expect(first.api.calls.every(({ verb }) => verb === 'replace')).toBe(true);
    expect(first.api.calls.length).toBeGreaterThanOrEqual(25);
    expect(first.api.calls.length).toBeLessThanOrEqual(30);
  });

  it('is handed over at once when its holder stops, and that is no take-over', async () => {
    const { clock, first, second, cluster } = await settled();

    await first.election.stop();
    expect(holderIn(cluster)).toBeUndefined();
    await clock.advance(2_500);

    expect(second.heard).toEqual(['acquired']);
    expect(first.election.mayAct()).toBe('this process is not the leader');
  });

  it('is taken over after its whole duration when its holder is cut off, which stopped acting well before', async () => {
    const { clock, first, second } = await settled();

    first.api.cut = true;
    await clock.advance(10_000);
    expect(first.election.mayAct()).toBeDefined();
    expect(second.election.mayAct()).toBeDefined();
    await clock.advance(8_000);

    expect(first.heard).toEqual(['acquired', 'lost: the lease was not renewed in time']);
    expect(second.heard).toEqual(['took over']);
  });

  it('of another length is renewed, lost and taken over in the same proportions', async () => {
    const clock = new SuspendableClock();
    const cluster = new MemoryCluster(clock);
    const pace = leasePaceOf(3_000);
    const [first, second] = [candidate(cluster, { seed: 1, pace }), candidate(cluster, { seed: 2, pace })];
    first.election.start();
    await clock.advance(1_000);
    second.election.start();
    await clock.advance(1_000);

    first.api.cut = true;
    await clock.advance(2_000);
    expect(first.election.mayAct()).toBeDefined();
    expect(second.election.mayAct()).toBeDefined();
    await clock.advance(1_600);

    expect(first.heard).toEqual(['acquired', 'lost: the lease was not renewed in time']);
    expect(second.heard).toEqual(['took over']);
    expect(cluster.get(leaseResource, namespace, name)?.spec).toMatchObject({ leaseDurationSeconds: 3 });
  });

  it('is lost in the very tick in which a suspended machine wakes up', async () => {
    const { clock, first, candidates } = await settled();
    first.clock.sleep();
    await clock.advance(20_000);
    expect(leaders(candidates)).toHaveLength(1);

    const waking = first.clock.wakeUp();

    expect(first.election.mayAct()).toBe('the lease was not renewed in time');
    waking.run();
    await clock.advance(1_000);
    expect(leaders(candidates)).toHaveLength(1);
  });

  it('is lost in the very tick in which a stalled process goes on', async () => {
    const { clock, first } = await settled();

    clock.stall(10_500);

    expect(first.election.mayAct()).toBe('the lease was not renewed in time');
  });

  it('is restored by its holder when somebody deletes it', async () => {
    const { clock, first, candidates, admin, cluster } = await settled();

    await admin.delete(leaseResource, namespace, name);
    await clock.advance(5_000);

    expect(holderIn(cluster)).toBe(first.election.identity);
    expect(leaders(candidates)).toEqual([first.election.identity]);
    expect(first.heard).toEqual(['acquired']);
  });

  it.each([{ leaseDurationSeconds: 15, renewTime: 'x' }, {}])(
    'is restored by its holder when it becomes %o',
    async (spec) => {
      const { clock, first, candidates, admin, cluster } = await settled();
      const lease = present(cluster.get(leaseResource, namespace, name));

      await admin.replace(leaseResource, namespace, name, { ...lease, spec });
      await clock.advance(5_000);

      expect(holderIn(cluster)).toBe(first.election.identity);
      expect(leaders(candidates)).toEqual([first.election.identity]);
    },
  );

  it('that was given to a stranger by hand is obeyed, and taken over when the stranger is silent', async () => {
    const { clock, first, candidates, admin, cluster } = await settled();
    const lease = present(cluster.get(leaseResource, namespace, name));

    await admin.replace(leaseResource, namespace, name, {
      ...lease,
      spec: { holderIdentity: 'stranger', leaseDurationSeconds: 300, renewTime: 'x' },
    });
    await clock.advance(3_000);
    expect(leaders(candidates)).toEqual([]);
    expect(first.heard.at(-1)).toBe('lost: this process no longer holds the lease');
    await clock.advance(310_000);

    expect(leaders(candidates)).toHaveLength(1);
    expect(candidates.flatMap(({ heard }) => heard)).toContain('took over');
  });

  it('that comes back from a backup counts as held, and its holder says that the cluster went back in time', async () => {
    const { clock, first, second, candidates, cluster } = await settled();
    await first.election.stop();
    const backup = cluster.snapshot();
    await clock.advance(10_000);
    expect(second.election.mayAct()).toBeUndefined();
    const third = candidate(cluster, { seed: 3, onRewind: () => third.heard.push('rewind') });
    third.election.start();
    await clock.advance(5_000);
    second.api.cut = true;

    cluster.restore(backup);
    cluster.skipVersions(100);
    await clock.advance(12_000);

    expect(third.heard).toEqual(['rewind']);
    expect(leaders([...candidates, third])).toEqual([]);
    await clock.advance(10_000);
    expect(third.heard).toEqual(['rewind', 'took over']);
  });

  it.for([
    ['from before it was deleted and made anew', true],
    ['in which it does not exist', false],
  ] as const)('tells its holder that the cluster went back in time: a backup %s', async ([, existed]) => {
    const { clock, cluster, admin } = scene(1);
    let rewinds = 0;
    const one = candidate(cluster, { seed: 1, onRewind: () => (rewinds += 1) });
    const empty = cluster.snapshot();
    one.election.start();
    await clock.advance(5_000);
    const backup = existed ? cluster.snapshot() : empty;
    await admin.delete(leaseResource, namespace, name);
    await clock.advance(20_000);
    const before = rewinds;

    cluster.restore(backup);
    await clock.advance(5_000);

    expect([before, rewinds]).toEqual([0, 1]);
    expect(one.heard).toEqual(['acquired']);
    expect(holderIn(cluster)).toBe(one.election.identity);
  });

  it('is known to be ours when only the answer to the claim was lost', async () => {
    const { clock, first } = scene(1);
    first.api.inject({ verb: 'create', effect: 'after', outcome: 'unavailable' });

    first.election.start();
    await clock.advance(8_000);

    expect(first.heard).toEqual(['acquired']);
  });

  it('that was taken over with a lost answer still counts as taken over', async () => {
    const { clock, first, second } = await settled();
    first.api.cut = true;
    second.api.inject({ verb: 'replace', effect: 'after', outcome: 'unavailable' });

    await clock.advance(30_000);

    expect(second.heard).toEqual(['took over']);
  });

  it('is given back even where the answer to the last renewal was lost', async () => {
    const { first, cluster, clock } = await settled();
    first.api.inject({ verb: 'replace', effect: 'after', outcome: 'unavailable' });
    await clock.advance(2_300);

    await first.election.stop();

    expect(holderIn(cluster)).toBeUndefined();
  });

  it('is not said to be won by a write during which the wall clock jumped beyond the term', async () => {
    const { clock, first, second } = await settled();
    first.api.cut = true;
    const wall = second.clock.wall.bind(second.clock);
    let aheadMs = 0;
    second.clock.wall = () => wall() + aheadMs;
    const replace = second.api.replace.bind(second.api);
    second.api.replace = (...write) => {
      if (aheadMs === 0) aheadMs = 3_600_000;
      return replace(...write);
    };

    await clock.advance(30_000);

    expect(second.heard).toEqual(['took over']);
    expect(second.election.mayAct()).toBeUndefined();
  });

  it('is not asked for at the end of a process that never held it', async () => {
    const { second } = await settled();
    second.api.calls.length = 0;

    await second.election.stop();

    expect(second.api.calls).toEqual([]);
  });

  it('outlives a request that is never answered', async () => {
    const { clock, first } = await settled();
    first.api.inject({ effect: 'before', outcome: 'hang' });

    await clock.advance(30_000);

    expect(first.heard).toEqual(['acquired']);
    expect(first.election.mayAct()).toBeUndefined();
  });
});
