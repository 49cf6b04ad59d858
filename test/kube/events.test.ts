import { microTime } from '../../src/base/time.ts';
import { describe, expect, it } from 'vitest';
import { cutToBytes, EventPublisher, eventResource } from '../../src/kube/events.ts';
import { CollectedLog } from '../support/collected-log.ts';
import { MemoryCluster } from '../support/memory/memory-cluster.ts';
import { MemoryKube } from '../support/memory/memory-kube.ts';
import { SeededEntropy } from '../../src/cli/in-memory/virtual-clock.ts';
import { SuspendableClock } from '../support/suspendable-clock.ts';
import { thing, things } from './example.ts';

async function scene() {
  const clock = new SuspendableClock();
  const cluster = new MemoryCluster(clock);
  const api = new MemoryKube(cluster);
  const log = new CollectedLog();
  const drops: string[] = [];
  const publisher = new EventPublisher({
    api,
    clock,
    entropy: new SeededEntropy(),
    log,
    controller: 'apphosting.dev/operator',
    instance: 'operator-0',
    onDrop: (why) => drops.push(why),
  });
  const regarding = await new MemoryKube(cluster).create(things, 'a', thing('one'));
  const record = (note: string, about = regarding): void =>
    publisher.record({ regarding: about, type: 'Normal', reason: 'Created', action: 'Create', note });
  const events = () => cluster.all(eventResource);
  return { clock, cluster, api, log, drops, publisher, regarding, record, events };
}

describe('an event', () => {
  it('says what happened, to what, when and by whom', async () => {
    const { clock, record, events, regarding } = await scene();

    record('Contact point "On call" was created.');
    await clock.advance(0);

    expect(events()).toHaveLength(1);
    expect(events()[0]).toMatchObject({
      metadata: { namespace: 'a', name: expect.stringMatching(/^one\.[0-9a-f]{16}$/) },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'apphosting.dev/operator',
      reportingInstance: 'operator-0',
      type: 'Normal',
      reason: 'Created',
      action: 'Create',
      note: 'Contact point "On call" was created.',
      regarding: { kind: 'Thing', name: 'one', namespace: 'a', uid: regarding.metadata.uid },
    });
  });

  it('becomes a series when it happens again, which is written now and then only', async () => {
    const { clock, record, events, api } = await scene();
    for (let minute = 0; minute < 10; minute += 1) {
      for (let times = 0; times < 100; times += 1) record('again');
      await clock.advance(30_000);
    }

    expect(events()).toHaveLength(1);
    expect(events()[0]?.['series']).toMatchObject({ count: expect.any(Number) });
    expect(api.calls.length).toBeLessThanOrEqual(8);
  });

  it('is a new one when the last was long ago', async () => {
    const { clock, record, events } = await scene();
    record('again');
    await clock.advance(400_000);

    record('again');
    await clock.advance(0);

    expect(events()).toHaveLength(2);
  });

  it('is published once though the answer is lost, and again after the API server was away', async () => {
    const { clock, record, events, api, drops } = await scene();
    api.inject({ verb: 'create', effect: 'after', outcome: 'unavailable' });
    record('first');
    await clock.advance(10_000);
    api.inject({ verb: 'create', times: 2, effect: 'before', outcome: 'throttled', retryInMs: 5_000 });
    record('second');
    await clock.advance(20_000);

    expect(new Set(events().map((event) => event['note']))).toEqual(new Set(['first', 'second']));
    expect(drops).toEqual([]);
  });

  it('is dropped where nobody wants it, and the next one is not held up', async () => {
    const { clock, record, events, api, drops, log } = await scene();
    api.inject({ verb: 'create', effect: 'before', outcome: 'forbidden' });

    record('refused');
    record('wanted');
    await clock.advance(0);

    expect(events().map((event) => event['note'])).toEqual(['wanted']);
    expect(drops).toEqual(['refused']);
    expect(log.lines.every(({ level }) => level === 'debug')).toBe(true);
  });

  it('waits for nobody: an API server that hangs costs events, not time', async () => {
    const { clock, record, api, drops, cluster, events } = await scene();
    api.inject({ times: 3, effect: 'before', outcome: 'timeout' });
    const others = await Promise.all(
      Array.from({ length: 1_200 }, (_, at) => new MemoryKube(cluster).create(things, 'a', thing(`n${at}`))),
    );

    for (const other of others) record('many', other);
    expect(drops.filter((why) => why === 'queue').length).toBeGreaterThanOrEqual(199);
    await clock.advance(300_000);

    expect(events().length).toBeGreaterThan(900);
  });

  it('cannot flood a namespace: one object has a budget', async () => {
    const { clock, record, events, drops } = await scene();

    for (let times = 0; times < 100; times += 1) record(`note ${times}`);
    await clock.advance(0);
    expect(events()).toHaveLength(25);
    expect(drops).toHaveLength(75);
    await clock.advance(600_000);
    record('later');
    await clock.advance(0);

    expect(events()).toHaveLength(26);
  });

  it.each([
    [5, ['done for n0', 'done for n1', 'done for n2', 'done for n3', 'done for n4']],
    [7, ['done for n0; the same for 6 other objects: n1, n2, n3, n4, n5, n6']],
  ])('that is routine is told of %i objects at once as %j', async (count, notes) => {
    const { clock, api, events, publisher } = await scene();
    for (let at = 0; at < count; at += 1) {
      const regarding = await new MemoryKube(api.cluster).create(things, 'a', thing(`n${at}`));
      const note = `done for n${at}`;
      publisher.record({ regarding, type: 'Normal', reason: 'Created', action: 'Created', note, isRoutine: true });
    }

    await clock.advance(3_000);

    expect(events().map((event) => event['note'])).toEqual(notes);
  });

  it('that is routine is published before the process ends', async () => {
    const { clock, events, publisher, regarding } = await scene();
    publisher.record({
      regarding,
      type: 'Normal',
      reason: 'Created',
      action: 'Created',
      note: 'done',
      isRoutine: true,
    });

    const closed = publisher.close(5_000);
    await clock.advance(0);
    await closed;

    expect(events()).toHaveLength(1);
  });

  it('is published before the process ends, with its count, and none is recorded afterwards', async () => {
    const { clock, record, events, publisher } = await scene();
    for (let times = 0; times < 5; times += 1) record('again');

    const closed = publisher.close(5_000);
    await clock.advance(5_000);
    await closed;
    record('too late');
    await clock.advance(60_000);

    expect(events()).toHaveLength(1);
    expect(events()[0]?.['series']).toMatchObject({ count: 5 });
  });

  it('has a name that Kubernetes accepts, whatever its object is called', async () => {
    const { clock, record, events, cluster } = await scene();
    const name = `${'a'.repeat(199)}.${'b'.repeat(20)}`;
    record('long', await new MemoryKube(cluster).create(things, 'a', thing(name)));
    await clock.advance(0);

    expect(events()[0]?.metadata.name).toMatch(/^a{199}\.[0-9a-f]{16}$/);
  });
});

describe('a note', () => {
  it('is cut between characters, to bytes', () => {
    expect(cutToBytes('short', 1_024)).toBe('short');
    for (const text of ['é'.repeat(1_000), '🙂'.repeat(600), 'a'.repeat(1_025)]) {
      const cut = cutToBytes(text, 1_024);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(1_024);
      expect(Buffer.byteLength(cut)).toBeGreaterThan(1_015);
      expect(cut).toMatch(/…$/u);
      expect(cut).not.toContain('\ufffd');
    }
  });
});

describe('a MicroTime', () => {
  it('has exactly six digits', () => {
    expect(microTime(Date.UTC(2026, 1, 2, 3, 4, 5, 67))).toBe('2026-02-02T03:04:05.067000Z');
  });
});
