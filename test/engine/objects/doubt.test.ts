import { withInternal } from '../../kinds/support/world.ts';
import { describe, expect, it } from 'vitest';
import type { Disturbance, Interference } from '../../support/disturbed-wire.ts';
import { InProcess } from '../../support/in-process.ts';

const mail = { email: { addresses: ['a@example.com'] } };

async function aWorld(options: ConstructorParameters<typeof InProcess>[0] = {}): Promise<InProcess> {
  const world = new InProcess(options);
  await world.start();
  world.account();
  await world.run(5_000);
  return world;
}

async function made(world: InProcess, name = 'on-call'): Promise<readonly string[]> {
  const { collections } = (await world.control('GET', '/world')) as {
    collections: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  };
  return (collections['contactPoints'] ?? [])
    .filter((row) => row['name'] === name)
    .map((row) => String(row['contactPointId']));
}

async function creates(world: InProcess): Promise<number> {
  return (await world.ledger()).filter(({ kind }) => kind === 'contactPoint.created').length;
}

function ready(world: InProcess, name = 'on-call', kind = 'ContactPoint'): string {
  const { conditions = [] } = (world.get(kind, name)?.status ?? {}) as {
    conditions?: { type: string; status: string; reason: string; message: string }[];
  };
  const c = conditions.find((one) => one.type === 'Ready');
  return c === undefined ? 'none' : `${c.status}/${c.reason}`;
}

/** Somebody takes the finalizer off, and deletes the object. */
function takeAway(world: InProcess): void {
  const known = world.get('ContactPoint', 'on-call');
  if (known === undefined) throw new Error('gone');
  const resource = { group: 'apphosting.dev', version: 'v1alpha1', plural: 'contactpoints', namespaced: true };
  const { finalizers: _f, ...metadata } = known.metadata;
  world.cluster.update(resource, 'team', 'on-call', { ...known, metadata }, 'object');
  world.cluster.delete(resource, 'team', 'on-call');
}

const isCreate = (method: string, path: string) => method === 'POST' && path.endsWith('/contact-point');

/** Does this to the first request that matches. */
function once(matches: typeof isCreate, what: Disturbance): Interference {
  let isDone = false;
  return ({ method, path }) => {
    if (isDone || !matches(method, path)) return undefined;
    isDone = true;
    return what;
  };
}

describe('a create in doubt', () => {
  it('is not sent again while it may still arrive, up to the horizon', async () => {
    for (const lateMs of [0, 1_000, 30_000, 100_000, 119_000]) {
      const world = await aWorld();
      world.interference = once(isCreate, { lateMs });
      world.apply('ContactPoint', 'on-call', mail);
      await world.run(600_000);

      expect([lateMs, await creates(world), ready(world)]).toEqual([lateMs, 1, 'True/InSync']);
      expect(world.get('ContactPoint', 'on-call')?.status).toMatchObject({ internal: { ownership: 'Presumed' } });
    }
  });

  it('is sent once more when it never arrived', async () => {
    const world = await aWorld();
    world.interference = once(isCreate, 'loseBefore');
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(600_000);

    expect([await creates(world), ready(world)]).toEqual([1, 'True/InSync']);
    expect(world.get('ContactPoint', 'on-call')?.status).toMatchObject({ internal: { ownership: 'Created' } });
  });

  it('is remembered though somebody wipes the status', async () => {
    const world = await aWorld();
    world.interference = once(isCreate, { lateMs: 60_000 });
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    world.tamper('ContactPoint', 'on-call', () => ({}));
    await world.run(600_000);

    expect([await creates(world), ready(world)]).toEqual([1, 'True/InSync']);
  });

  it('is remembered though the status is wiped and the process dies', async () => {
    const world = await aWorld();
    world.interference = once(isCreate, { lateMs: 60_000 });
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
    world.interference = ({ method, path }) => {
      if (isCreate(method, path)) world.tamper('ContactPoint', 'on-call', () => ({}));
      return undefined;
    };
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(600_000);

    expect([await creates(world), ready(world)]).toEqual([1, 'True/InSync']);
    expect(world.get('ContactPoint', 'on-call')?.status).toMatchObject({ internal: { ownership: 'Created' } });
  });

  it('is resolved before its resource goes, and leaves what is only presumed', async () => {
    const world = await aWorld();
    world.interference = once(isCreate, { lateMs: 60_000 });
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    world.delete('ContactPoint', 'on-call');
    await world.run(1_000);
    const known = world.get('ContactPoint', 'on-call');
    expect(known).toBeDefined();
    await world.run(400_000);
    expect(world.get('ContactPoint', 'on-call')).toBeUndefined();
    expect(await creates(world)).toBe(1);
    expect(await made(world)).toHaveLength(1);
  });

  it('holds back a namesake though somebody took the finalizer off', async () => {
    const world = await aWorld();
    world.interference = once(isCreate, { lateMs: 60_000 });
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    takeAway(world);
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(600_000);

    expect(await creates(world)).toBe(1);
    expect(ready(world)).toBe('False/AlreadyExists');
  });

  it('is told of in the log though its resource was taken away, finalizer and all, while it was made', async () => {
    const world = await aWorld();
    world.interference = ({ method, path }) => {
      if (isCreate(method, path)) takeAway(world);
      return undefined;
    };
    world.apply('ContactPoint', 'on-call', mail);

    await world.run(60_000);

    const [id = ''] = await made(world);
    const told = world.trace.lines.filter((line) => line.startsWith('warn') && line.includes(id));
    expect(told).toEqual([expect.stringContaining('stays in the service')]);
  });

  it('is resolved by a successor while its sender is paused past its lease', async () => {
    for (const lateMs of [0, 20_000, 90_000]) {
      const world = await aWorld();
      world.interference = once(isCreate, { lateMs });
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
    const counts = await Promise.all(Array.from({ length: 3 }, async (_, n) => (await made(world, `cp-${n}`)).length));
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
    world.interference = once(isCreate, { lateMs: 60_000 });
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
    world.interference = once(isCreate, { lateMs: 60_000 });
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
