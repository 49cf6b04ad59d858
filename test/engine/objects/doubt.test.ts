import { describe, expect, it } from 'vitest';
import { aWorld, commits, committed, conditionOf, tearOff, withInternal } from '../../kinds/support/world.ts';
import { atFirst } from '../../support/disturbed-wire.ts';
import { InProcess } from '../../support/in-process.ts';

const mail = { email: { addresses: ['a@example.com'] } };

const create = 'POST /contact-point';

const creates = (world: InProcess) => committed(world, 'contactPoint.created');
const ready = (world: InProcess) => conditionOf(world, 'ContactPoint', 'on-call');

/** How many contact points of this name the service has. */
async function made(world: InProcess, name: string): Promise<number> {
  const { collections } = (await world.control('GET', '/world')) as {
    collections: { contactPoints: readonly { readonly name: string }[] };
  };
  return collections.contactPoints.filter((row) => row.name === name).length;
}

describe('a create in doubt', () => {
  it('is not sent again while it may still arrive, up to the horizon', async () => {
    for (const lateMs of [0, 1_000, 30_000, 100_000, 119_000]) {
      const world = await aWorld();
      world.interference = atFirst(create, { lateMs });
      world.apply('ContactPoint', 'on-call', mail);
      await world.run(600_000);

      expect([lateMs, await creates(world), ready(world)]).toEqual([lateMs, 1, 'True/InSync']);
      expect(world.get('ContactPoint', 'on-call')?.status).toMatchObject({ internal: { ownership: 'Presumed' } });
    }
  });

  it('is remembered though somebody wipes the status', async () => {
    const world = await aWorld();
    world.interference = atFirst(create, { lateMs: 60_000 });
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    world.tamper('ContactPoint', 'on-call', () => ({}));
    await world.run(600_000);

    expect([await creates(world), ready(world)]).toEqual([1, 'True/InSync']);
  });

  it('is remembered though the status is wiped and the process dies', async () => {
    const world = await aWorld();
    world.interference = atFirst(create, { lateMs: 60_000 });
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    world.kill();
    world.tamper('ContactPoint', 'on-call', () => ({}));
    await world.crash(120_000);
    await world.run(600_000);

    expect(await creates(world)).toBe(1);
    expect(ready(world)).toBe('False/AlreadyExists');
  });

  it('keeps its id though the status is wiped while the call is under way', async () => {
    const world = await aWorld();
    world.interference = ({ method }) => {
      if (method === 'POST') world.tamper('ContactPoint', 'on-call', () => ({}));
      return undefined;
    };
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(600_000);

    expect([await creates(world), ready(world)]).toEqual([1, 'True/InSync']);
    expect(world.get('ContactPoint', 'on-call')?.status).toMatchObject({ internal: { ownership: 'Created' } });
  });

  it('is resolved before its resource goes, and leaves what is only presumed', async () => {
    const world = await aWorld();
    world.interference = atFirst(create, { lateMs: 60_000 });
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    world.delete('ContactPoint', 'on-call');
    await world.run(1_000);
    expect(world.get('ContactPoint', 'on-call')).toBeDefined();
    await world.run(400_000);
    expect(world.get('ContactPoint', 'on-call')).toBeUndefined();
    expect(await creates(world)).toBe(1);
    expect(await made(world, 'on-call')).toBe(1);
  });

  it('holds back a namesake though somebody took the finalizer off', async () => {
    const world = await aWorld();
    world.interference = atFirst(create, { lateMs: 60_000 });
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    tearOff(world, 'ContactPoint', 'on-call');
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(600_000);

    expect(await creates(world)).toBe(1);
    expect(ready(world)).toBe('False/AlreadyExists');
  });

  it('is told of in the log though its resource was taken away, finalizer and all, while it was made', async () => {
    const world = await aWorld();
    world.interference = ({ method }) => {
      if (method === 'POST') tearOff(world, 'ContactPoint', 'on-call');
      return undefined;
    };
    world.apply('ContactPoint', 'on-call', mail);

    await world.run(60_000);

    const [{ id } = { id: '' }] = await commits(world);
    const told = world.trace.lines.filter((line) => line.startsWith('warn') && line.includes(id));
    expect(told).toEqual([expect.stringContaining('stays in the service')]);
  });

  it('is resolved by a successor while its sender is paused past its lease', async () => {
    for (const lateMs of [0, 20_000, 90_000]) {
      const world = await aWorld();
      world.interference = atFirst(create, { lateMs });
      const other = new InProcess({ beside: world, seed: 2 });
      other.leadership.why = 'standby';
      world.apply('ContactPoint', 'on-call', mail);
      await other.start(120_000);
      await world.run(1_000);
      world.leadership.why = 'lost';
      other.leadership.why = undefined;
      await other.run(900_000);
      expect([lateMs, await creates(world), ready(world)]).toEqual([lateMs, 1, 'True/InSync']);
      world.leadership.why = undefined;
      await world.run(900_000);
      expect([lateMs, await creates(world), ready(world)]).toEqual([lateMs, 1, 'True/InSync']);
    }
  });

  it('is sent by one of two operators that both believe they lead', async () => {
    const world = await aWorld();
    const other = new InProcess({ beside: world, seed: 2 });
    await other.start();
    await world.run(5_000);
    for (let n = 0; n < 3; n += 1) world.apply('ContactPoint', `cp-${n}`, mail);
    await world.run(20_000);
    const counts = await Promise.all([0, 1, 2].map((n) => made(world, `cp-${n}`)));
    expect(counts).toEqual(Array.from({ length: 3 }, () => 1));
    expect(await creates(world)).toBe(3);
  });

  it('is not made twice though the cluster is restored from before it', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'on-call', mail);
    const snapshot = world.cluster.snapshot();
    await world.run(60_000);
    expect(ready(world)).toBe('True/InSync');
    world.cluster.restore(snapshot);
    await world.run(900_000);
    expect([await creates(world), ready(world)]).toEqual([1, 'False/AlreadyExists']);
  });

  it('waits for the horizon though the cluster is restored from before it', async () => {
    const world = await aWorld();
    world.interference = atFirst(create, { lateMs: 60_000 });
    world.apply('ContactPoint', 'on-call', mail);
    const snapshot = world.cluster.snapshot();
    await world.run(5_000);
    world.cluster.restore(snapshot);
    await world.run(900_000);
    expect(await creates(world)).toBe(1);
  });
});

const damages: readonly { readonly field: string; readonly value: unknown }[] = [
  { field: 'attempt', value: 0 },
  { field: 'deadlineSeconds', value: 0 },
  { field: 'startedAt', value: 'yesterday' },
  { field: 'create', value: undefined },
];

describe('a damaged journal', () => {
  it.each(damages)('sends nothing when $field is $value, until somebody removes it', async ({ field, value }) => {
    const world = await aWorld();
    world.interference = atFirst(create, { lateMs: 60_000 });
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    world.tamper(
      'ContactPoint',
      'on-call',
      withInternal((internal) => ({ ...internal, journal: { ...(internal['journal'] as object), [field]: value } })),
    );

    await world.crash(0);
    await world.run(900_000);

    expect([await creates(world), ready(world)]).toEqual([1, 'False/JournalDamaged']);
    world.tamper(
      'ContactPoint',
      'on-call',
      withInternal(({ journal: _journal, ...internal }) => internal),
    );
    await world.run(60_000);
    expect([await creates(world), ready(world)]).toEqual([1, 'False/AlreadyExists']);
  });
});
