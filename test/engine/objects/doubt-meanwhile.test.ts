import { describe, expect, it } from 'vitest';
import { atFirst, type Disturbance } from '../../support/disturbed-wire.ts';
import type { InProcess } from '../../support/in-process.ts';
import {
  aWorld,
  committed,
  conditionOf,
  contactPointByHand,
  eventsOf,
  messageOf,
  statusOf,
} from '../../kinds/support/world.ts';

const mail = { email: { addresses: ['a@example.com'] } };

/** A world in which this happened to the creation of contact point `on-call`. */
async function inDoubt(what: Disturbance, before: (world: InProcess) => void = () => undefined): Promise<InProcess> {
  const world = await aWorld();
  before(world);
  world.interference = atFirst('POST /contact-point', what);
  world.apply('ContactPoint', 'on-call', mail);
  await world.run(1_000);
  return world;
}

const created = (world: InProcess) => committed(world, 'contactPoint.created');

const lost: Disturbance = { afterwards: { status: 502, text: 'bad gateway' } };

describe('what a lost call created', () => {
  it.each([3_600_000, -3_600_000])('is known again though the clock of this machine is wrong by %i ms', async (ms) => {
    const world = await inDoubt(lost, ({ clock }) => clock.suspend(ms));

    await world.run(600_000);

    expect([conditionOf(world, 'ContactPoint', 'on-call'), await created(world)]).toEqual(['True/InSync', 1]);
    expect(statusOf(world, 'ContactPoint', 'on-call')).toMatchObject({ internal: { ownership: 'Presumed' } });
  });

  it.each([60_000, -60_000, 3_600_000])(
    'is not made once more though answers are dated %i ms off what they show',
    async (ms) => {
      const world = await inDoubt('loseAnswer', ({ ahead }) => void (ahead.serviceMs = ms));

      await world.run(600_000);

      const ends = ms < 0 ? 'True/InSync' : 'False/Ambiguous';
      expect([conditionOf(world, 'ContactPoint', 'on-call'), await created(world)]).toEqual([ends, 1]);
      const { contactPointId: id } = (await world.ledger()).map((entry) => ({ contactPointId: entry.id }))[0] ?? {};
      world.apply('ContactPoint', 'on-call', { ...mail, externalId: id });
      await world.run(60_000);
      expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
      expect(statusOf(world, 'ContactPoint', 'on-call')).toMatchObject({ internal: { ownership: 'Created' } });
    },
  );

  it('is found though the answer carries the id of another object', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'first', mail);
    await world.run(30_000);
    const first = statusOf(world, 'ContactPoint', 'first');
    const text = JSON.stringify({ contactPoint: { contactPointId: first['externalId'], name: 'first' } });
    world.interference = ({ method }) => (method === 'POST' ? { afterwards: { status: 200, text } } : undefined);

    world.apply('ContactPoint', 'second', mail);
    await world.run(60_000);

    expect(conditionOf(world, 'ContactPoint', 'second')).toBe('True/InSync');
    expect(statusOf(world, 'ContactPoint', 'second')['externalId']).not.toBe(first['externalId']);
    expect(await created(world)).toBe(2);
  });

  it.each([
    [
      'its settings',
      { webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } } },
      'False/Immutable',
    ],
    ['its addresses', { email: { addresses: ['b@example.com'] } }, 'True/InSync'],
    ['its name', { ...mail, name: 'renamed' }, 'True/InSync'],
  ])('is known again though %s were edited meanwhile', async (_what, spec, expected) => {
    const world = await inDoubt({ lateMs: 60_000 });
    world.secret('hook', { url: 'https://hook.example.com/x' });

    world.apply('ContactPoint', 'on-call', spec);
    await world.run(600_000);

    expect([conditionOf(world, 'ContactPoint', 'on-call'), await created(world)]).toEqual([expected, 1]);
  });

  it('is searched for by the name it was sent with, and then another is made by the new name', async () => {
    const world = await inDoubt('loseBefore');

    world.apply('ContactPoint', 'on-call', { ...mail, name: 'renamed' });
    await world.run(600_000);

    expect([conditionOf(world, 'ContactPoint', 'on-call'), await created(world)]).toEqual(['True/InSync', 1]);
    expect(statusOf(world, 'ContactPoint', 'on-call')).toMatchObject({ internal: { ownership: 'Created' } });
  });

  it('stays, told of, when its resource is deleted and several could be it', async () => {
    const world = await inDoubt({ lateMs: 60_000 });
    world.delete('ContactPoint', 'on-call');
    for (const name of ['on-call', 'on-call']) await contactPointByHand(world, name);

    await world.run(300_000);

    expect(world.get('ContactPoint', 'on-call')).toBeUndefined();
    const told = eventsOf(world).filter((event) => event.includes('Retained'));
    expect(told).toHaveLength(1);
    // A namespace that ends takes its events with it.
    const logged = world.trace.lines.filter((line) => line.startsWith('warn'));
    expect(logged).toEqual([expect.stringContaining(told[0]?.replace('Warning Retained ', '') ?? '')]);
    expect(await committed(world, 'contactPoint.deleted')).toBe(0);
  });
});

describe('an object that its resource lets go of', () => {
  it('is told of when spec.externalId names another one', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    const { externalId: before } = statusOf(world, 'ContactPoint', 'on-call');
    const externalId = await contactPointByHand(world, 'theirs');

    world.apply('ContactPoint', 'on-call', { ...mail, externalId });
    await world.run(120_000);

    expect(statusOf(world, 'ContactPoint', 'on-call')).toMatchObject({
      externalId,
      internal: { ownership: 'Adopted' },
    });
    const told = eventsOf(world).filter((event) => event.includes('Retained'));
    expect(told).toEqual([expect.stringContaining(`contact point ${String(before)} stays in the service`)]);
  });
});

describe('a create in doubt whose spec goes on meanwhile', () => {
  const alert = { operator: 'GreaterThan', refreshSeconds: 0 };

  it('is followed to its end before another object takes its place, and what it made is told', async () => {
    const world = await aWorld();
    const other = await contactPointByHand(world, 'another');
    world.interference = atFirst('POST /contact-point', 'hangAfter');
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);

    world.apply('ContactPoint', 'on-call', { ...mail, externalId: other });
    await world.run(300_000);

    const made = (await world.ledger()).filter(({ kind }) => kind === 'contactPoint.created').at(-1)?.id;
    expect(statusOf(world, 'ContactPoint', 'on-call')).toMatchObject({
      externalId: other,
      internal: { ownership: 'Adopted' },
    });
    expect(statusOf(world, 'ContactPoint', 'on-call')).not.toHaveProperty('journal');
    const told = eventsOf(world).filter((event) => event.includes('Retained'));
    expect(told).toEqual([expect.stringContaining(`contact point ${String(made)} stays in the service`)]);
  });

  it('gives way without a word to the object that the spec names, when it made nothing', async () => {
    const world = await aWorld();
    const other = await contactPointByHand(world, 'another');
    world.interference = atFirst('POST /contact-point', 'loseBefore');
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);

    world.apply('ContactPoint', 'on-call', { ...mail, externalId: other });
    await world.run(40_000);
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('False/InDoubt');
    expect(messageOf(world, 'ContactPoint', 'on-call')).toMatch(
      /, the resource is bound to the object that spec.externalId names$/,
    );
    await world.run(300_000);

    expect(statusOf(world, 'ContactPoint', 'on-call')).toMatchObject({
      externalId: other,
      internal: { ownership: 'Adopted' },
    });
    expect(eventsOf(world).filter((event) => event.includes('Retained'))).toEqual([]);
    expect(await created(world)).toBe(1);
  });

  it('ends though its spec names an object that does not exist, and keeps nobody else waiting', async () => {
    const world = await aWorld();
    world.interference = atFirst('POST /contact-point', 'loseBefore');
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    world.apply('ContactPoint', 'on-call', { ...mail, externalId: 'cp_nowhere' });
    await world.run(300_000);

    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('False/NotFound');
    expect(statusOf(world, 'ContactPoint', 'on-call')).not.toHaveProperty('journal');
  });

  it.each(['hangAfter', 'loseBefore'] as const)(
    'ends though its spec has become one that is not allowed (%s), and keeps nobody else waiting',
    async (how) => {
      const world = await aWorld();
      const id = await contactPointByHand(world, 'x');
      world.interference = atFirst('POST /app-env/alert', how);
      const spec = { ...alert, environmentRef: { externalId: 'env_db_prod' }, contactPointRefs: [{ externalId: id }] };
      world.apply('MetricAlert', 'cpu', { ...spec, metric: 'cpu_percent' });
      await world.run(5_000);
      world.apply('MetricAlert', 'cpu', { ...spec, metric: 'ingress_p95_latency' });
      await world.run(300_000);

      expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('False/Rejected');
      expect(statusOf(world, 'MetricAlert', 'cpu')).not.toHaveProperty('journal');
      expect(statusOf(world, 'MetricAlert', 'cpu')['externalId'] !== undefined).toBe(how === 'hangAfter');
      world.apply('MetricAlert', 'second', { ...spec, name: 'cpu', metric: 'cpu_percent' });
      await world.run(60_000);
      expect(statusOf(world, 'MetricAlert', 'second')).toHaveProperty('externalId');
    },
  );
});

describe('an answer that came after somebody else had written the object', () => {
  it('is kept: settings that the service does not show are not sent again', async () => {
    const world = await aWorld();
    const hook = { webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } } };
    world.secret('hook', { url: 'https://hook.example.com/before' });
    world.apply('ContactPoint', 'on-call', hook);
    await world.run(10_000);
    world.interference = ({ method }) => {
      if (method !== 'PATCH') return undefined;
      const annotate = () => void world.apply('ContactPoint', 'on-call', hook, { note: 'written meanwhile' });
      return { retold: (text) => (annotate(), text) };
    };

    world.secret('hook', { url: 'https://hook.example.com/after' });
    await world.run(120_000);

    expect(await committed(world, 'contactPoint.updated')).toBe(1);
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
  });
});
