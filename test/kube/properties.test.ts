import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KubeError, type KubeObject } from '../../src/engine/ports.ts';
import { Backoff } from '../../src/base/time.ts';
import { GarbledError } from '../../src/kube/client/failure.ts';
import { linesOf } from '../../src/kube/client/parse.ts';
import { Reflector } from '../../src/kube/reflector.ts';
import { isOlderVersion } from '../../src/base/json.ts';
import { CollectedLog } from '../support/collected-log.ts';
import { applyPatch } from '../support/memory/json-patch.ts';
import { MemoryCluster } from '../support/memory/memory-cluster.ts';
import { MemoryKube } from '../support/memory/memory-kube.ts';
import { SeededEntropy } from '../../src/cli/in-memory/virtual-clock.ts';
import { SuspendableClock } from '../support/suspendable-clock.ts';
import { thing, things } from './example.ts';

describe('resource versions', () => {
  it('compare as the numbers they are, up to 128 bits', () => {
    const version = fc.bigInt({ min: 1n, max: 2n ** 128n - 1n });

    fc.assert(
      fc.property(version, version, (a, b) => {
        expect(isOlderVersion(String(a), String(b))).toBe(a < b);
      }),
    );
  });
});

describe('the lines of a stream', () => {
  it('are the same however the stream is cut into pieces', async () => {
    const texts = fc.array(fc.string({ unit: 'grapheme' }).filter((text) => text !== '' && !text.includes('\n')));
    const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 50 });

    await fc.assert(
      fc.asyncProperty(texts, cuts, async (lines, sizes) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const pieces = async function* (): AsyncGenerator<Uint8Array> {
          for (let from = 0, at = 0; from < bytes.length; at += 1) {
            const size = sizes[at % sizes.length] ?? 1;
            yield bytes.subarray(from, from + size);
            from += size;
          }
        };
        const read: string[] = [];
        for await (const line of linesOf(pieces(), 10_000, 'a test')) read.push(line);

        expect(read).toEqual(lines);
      }),
    );
  });
});

describe('a JSON patch in the double', () => {
  it('turns one object into another, field by field', () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue());

    fc.assert(
      fc.property(object, object, (from, to) => {
        const pathOf = (key: string): string => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
        const removals = Object.keys(from).map((key) => ({ op: 'remove', path: pathOf(key) }) as const);
        const additions = Object.entries(to).map(([key, value]) => ({ op: 'add', path: pathOf(key), value }) as const);
        const tests = Object.entries(to).map(([key, value]) => ({ op: 'test', path: pathOf(key), value }) as const);

        const result = applyPatch(from, [...removals, ...additions, ...tests]);

        expect(JSON.parse(JSON.stringify(result))).toEqual(JSON.parse(JSON.stringify(to)));
      }),
    );
  });
});

describe('a backoff', () => {
  it('stays between half and the whole of what doubles, and keeps to every wish', () => {
    const wishes = fc.array(fc.integer({ min: 0, max: 200_000 }), { minLength: 1, maxLength: 40 });

    fc.assert(
      fc.property(wishes, fc.integer(), (plan, seed) => {
        const shape = { firstMs: 800, longestMs: 30_000, forgetMs: 120_000 };
        const backoff = new Backoff(shape, new SuspendableClock(), new SeededEntropy(seed));
        for (const [at, wish] of plan.entries()) {
          const grown = Math.min(30_000, 800 * 2 ** at);
          const wait = backoff.next(wish);
          expect(wait).toBeGreaterThanOrEqual(Math.max(grown / 2, wish));
          expect(wait).toBeLessThanOrEqual(Math.max(grown, wish * 1.2));
        }
      }),
    );
  });
});

type Move =
  | { readonly is: 'create' | 'delete' | 'recreate' | 'edit' | 'label' | 'unlabel'; readonly which: number }
  | {
      readonly is:
        | 'reset'
        | 'end'
        | 'mute'
        | 'garble'
        | 'compact'
        | 'cut'
        | 'mend'
        | 'save'
        | 'restore'
        | 'error'
        | 'old';
    }
  | { readonly is: 'pass'; readonly ms: number };

const which = fc.integer({ min: 0, max: 4 });
const moves = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ is: fc.constantFrom('create', 'delete', 'recreate', 'edit', 'label', 'unlabel'), which }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        is: fc.constantFrom(
          'reset',
          'end',
          'mute',
          'garble',
          'compact',
          'cut',
          'mend',
          'save',
          'restore',
          'error',
          'old',
        ),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ is: fc.constant('pass'), ms: fc.constantFrom(0, 100, 1_000, 10_000, 100_000) }),
    },
  ),
  { minLength: 5, maxLength: 60 },
) satisfies fc.Arbitrary<Move[]>;

/** Plays moves on a cluster while a reflector watches it, and checks what it tells against its own words. */
async function play(plan: readonly Move[], seed: number) {
  const clock = new SuspendableClock();
  const cluster = new MemoryCluster(clock);
  const admin = new MemoryKube(cluster);
  const chance = new SeededEntropy(seed);
  const api = new MemoryKube(cluster, () => (chance.fraction() < 0.3 ? chance.fraction() * 300 : 0));
  const log = new CollectedLog();
  /** What a listener knows who only believes what it is told. */
  const told = new Map<string, KubeObject>();
  const problems: string[] = [];
  const reflector = new Reflector({
    api,
    resource: things,
    labelSelector: 'shard!=b',
    clock,
    entropy: new SeededEntropy(seed + 1),
    log,
    pace: { pageSize: 2 },
    onEvent: ({ is, object }) => {
      const { name, uid } = object.metadata;
      const known = told.get(name);
      if (is === 'gone') {
        if (known?.metadata.uid !== uid) problems.push(`${name} is gone but was not there`);
        told.delete(name);
        return;
      }
      if (known !== undefined && known.metadata.uid !== uid) problems.push(`${name} changed its uid without a word`);
      told.set(name, object);
    },
  });
  let saved = cluster.snapshot();
  reflector.start();
  for (const move of plan) await act(move);
  api.cut = false;
  // Longer than an idle watch, the longest backoff and a whole watch together.
  await clock.advance(1_200_000);

  const truth = cluster.all(things).filter(({ metadata }) => metadata.labels?.['shard'] !== 'b');
  const uids = (objects: Iterable<KubeObject>): string[] =>
    [...objects].map(({ metadata, spec }) => `${metadata.name} ${metadata.uid} ${JSON.stringify(spec)}`).toSorted();
  expect(uids(reflector.values())).toEqual(uids(truth));
  expect(uids(told.values())).toEqual(uids(truth));
  expect(problems).toEqual([]);
  expect(log.bugs).toEqual([]);
  await reflector.stop();
  // What was on its way arrives.
  await clock.advance(1_000);
  expect(clock.pending).toBe(0);

  async function act(move: Move): Promise<void> {
    if (move.is === 'pass') return clock.advance(move.ms);
    if ('which' in move) return change(move.is, `thing-${move.which}`);
    if (move.is === 'reset') api.endWatches(new KubeError('unavailable', 'reset'));
    else if (move.is === 'end') api.endWatches();
    else if (move.is === 'mute') api.mute();
    else if (move.is === 'garble') api.endWatches(new GarbledError('a line is not JSON'));
    else if (move.is === 'compact') cluster.compact();
    else if (move.is === 'cut' || move.is === 'mend') api.cut = move.is === 'cut';
    else if (move.is === 'save') saved = cluster.snapshot();
    else if (move.is === 'restore') {
      cluster.restore(saved);
      // As the lease would: a cluster that has caught up by then cannot be told from the old one by its versions.
      reflector.rewound();
    } else if (move.is === 'error') api.say({ type: 'ERROR', code: chance.fraction() < 0.5 ? 410 : 500, message: '' });
    else api.say({ type: 'BOOKMARK', resourceVersion: '900' });
  }

  async function change(how: string, name: string): Promise<void> {
    const object = cluster.get(things, 'a', name);
    if (object === undefined) return void (how === 'create' && (await admin.create(things, 'a', thing(name))));
    if (how === 'delete' || how === 'recreate') await admin.delete(things, 'a', name);
    if (how === 'recreate') await admin.create(things, 'a', thing(name));
    const labels = { shard: how === 'label' ? 'b' : 'a' };
    if (how === 'label' || how === 'unlabel') {
      await admin.replace(things, 'a', name, { ...object, metadata: { ...object.metadata, labels } });
    }
    if (how === 'edit') await admin.replace(things, 'a', name, { ...object, spec: { size: cluster.version } });
  }
}

describe('a reflector', () => {
  it('ends up with the truth, and so does everybody who listened, whatever happened on the way', async () => {
    await fc.assert(fc.asyncProperty(moves, fc.integer({ min: 1, max: 10_000 }), play), { numRuns: 300 });
  });
});
