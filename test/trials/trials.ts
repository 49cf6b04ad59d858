/*
 * `npm run trials`: the long programme. It lives the same properties as the tests with as many seeds and faults as there is time for,
 * writes down after each batch how far it came, and tells in the end what was tried and what was found.
 */
import { fork, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { seconds } from '../../src/sandbox/binaries/progress.ts';
import { programPlaces } from '../../src/config.ts';
import { setup as leaveNoOrphans } from '../support/no-orphans.ts';
import { batchAt, families, type Batch, type Tried } from './batches.ts';
import { engineTrials, leastMinutes } from './engine-trials.ts';
import { added, areHeld, empty, isGood, notOf, told, writerTo, type Progress } from './progress.ts';

const root = join(import.meta.dirname, '..', '..');
const help = `npm run trials -- [options]

  --minutes N       how long to go on (default 60), not counting the trials with real engines, which 30 and more begin with
  --seed N          from 1 on (default 1); the same seed tries the same, and another one nothing of it
  --only NAME:SEED  one batch, such as ContactPoint:1000017, and what was wrong in it; engines, or engines:NAME, for trials with real engines
  --without-engines leave out the trials with real engines (Argo CD, Flux, Helm)
  --state FILE      where it is written down how far a programme came; it goes on from there (default: in the cache, for each commit and seed).
                    With changes that are no commit it begins anew
  --anew            begin anew
`;

async function tried(family: string, seed: number): Promise<Tried> {
  const live = families[family];
  if (live === undefined) throw new Error(`there is no family ${family}`);
  return live(seed);
}

/** What came of a batch that did not come to its end. */
function nothingBut(why: string): Tried {
  return { wrong: [why], plans: 0, deaths: 0, transitions: 0, faults: [] };
}

/** One batch at a time, as the programme asks for them; Ctrl-C is for the programme, which ends its workers. */
function serve(): void {
  process.on('SIGINT', () => undefined);
  process.on('message', ({ family, seed }: Batch) => {
    tried(family, seed).then(
      (outcome) => process.send?.(outcome),
      (error: unknown) => process.send?.(nothingBut(String(error))),
    );
  });
}

const changed = '+changes';

function commitOf(): string {
  const git = (...args: readonly string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  const { stdout, status } = git('rev-parse', '--short', 'HEAD');
  if (status !== 0) return 'no commit';
  return `${stdout.trim()}${git('status', '--porcelain').stdout === '' ? '' : changed}`;
}

async function written(path: string): Promise<Progress | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : { open: [], ...(JSON.parse(text) as Omit<Progress, 'open'>) };
}

/** A batch takes seconds; one that takes this long hangs, and counts as found. */
const longestBatchMs = 600_000;

interface Programme {
  readonly path: string;
  readonly untilMs: number;
  readonly ended: AbortSignal;
}

/** What is under way when the time is over may take this long; then it is left, and named. */
const patienceMs = 60_000;

/** What came of a batch that this process was asked for, also where it ends first. */
async function outcomeOf(worker: ChildProcess, batch: Batch): Promise<Tried> {
  const { promise, resolve } = Promise.withResolvers<Tried>();
  const died = (code: number | null, signal: string | null) =>
    resolve(nothingBut(`its process ended with ${signal ?? code}`));
  worker.once('exit', died);
  worker.once('message', resolve);
  worker.send(batch, (error) => {
    if (error !== null) resolve(nothingBut(String(error)));
  });
  const overdue = setTimeout(() => worker.kill('SIGKILL'), longestBatchMs);
  try {
    return await promise;
  } finally {
    clearTimeout(overdue);
    worker.off('exit', died);
  }
}

/** Goes through the programme on every core until its time is over, or somebody ends it. */
async function run({ path, untilMs, ended }: Programme, begun: Progress): Promise<Progress> {
  let progress = begun;
  let toldAt = 0;
  const write = writerTo(path);
  // What had begun when an earlier programme was stopped comes first: no batch is left out, and none is counted twice.
  const again = [...begun.open];
  let next = begun.batches + again.length;
  const underWay = new Set(begun.open);
  const workers = new Set<ChildProcess>();
  const started = (): ChildProcess => {
    const worker = fork(import.meta.filename, ['serve']);
    workers.add(worker);
    worker.once('exit', () => workers.delete(worker));
    return worker;
  };
  const work = async (): Promise<void> => {
    let worker = started();
    while (performance.now() < untilMs && !ended.aborted) {
      if (!workers.has(worker)) worker = started();
      const place = again.shift() ?? next++;
      underWay.add(place);
      const batch = batchAt(place, begun.seed);
      const began = performance.now();
      const outcome = await outcomeOf(worker, batch);
      if (ended.aborted) return;
      underWay.delete(place);
      progress = { ...added(progress, batch, outcome, performance.now() - began), open: [...underWay] };
      await write(progress);
      if (performance.now() - toldAt < 30_000) continue;
      toldAt = performance.now();
      process.stdout.write(`${told(progress).split('\n', 1)[0]}\n`);
    }
  };
  await Promise.race([Promise.all(Array.from({ length: availableParallelism() }, work)), aborted(ended)]);
  for (const worker of workers) worker.kill('SIGKILL');
  return { ...progress, open: [...underWay] };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await once(signal, 'abort');
}

/** Ends a programme on Ctrl-C, and where it does not end by itself once its time is over. */
function endOf(ms: number): AbortSignal {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  return AbortSignal.any([interrupted.signal, AbortSignal.timeout(ms + patienceMs)]);
}

/** The batch that somebody names, such as ContactPoint:17. */
function named(only: string): Batch | undefined {
  const [family = '', of = ''] = only.split(':');
  return Object.hasOwn(families, family) && /^\d+$/u.test(of) ? { family, seed: Number(of) } : undefined;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '60' },
      seed: { type: 'string', default: '1' },
      only: { type: 'string' },
      'without-engines': { type: 'boolean', default: false },
      state: { type: 'string' },
      anew: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  if (values.help || !(minutes > 0) || !Number.isInteger(seed) || seed < 1) {
    process.stdout.write(help);
    return values.help ? 0 : 2;
  }
  if (values.only !== undefined) {
    if (values.only === 'engines' || values.only.startsWith('engines:')) {
      const engines = await engineTrials(values.only.slice('engines:'.length));
      process.stdout.write(`\n${told({ ...empty(commitOf(), seed), engines })}\n`);
      const isTried = engines.some(({ isLeftOut }) => isLeftOut !== true);
      return isTried && areHeld(engines) ? 0 : 1;
    }
    const batch = named(values.only);
    if (batch === undefined) {
      process.stderr.write(
        `there is no ${values.only}: say one of these and a seed: ${Object.keys(families).join(', ')}\n`,
      );
      return 2;
    }
    const { wrong, ...counts } = await tried(batch.family, batch.seed);
    process.stdout.write(`${JSON.stringify(counts)}\n${wrong.length === 0 ? 'nothing was wrong' : wrong.join('\n')}\n`);
    return wrong.length === 0 ? 0 : 1;
  }
  const commit = commitOf();
  const path = values.state ?? join(programPlaces().cacheDir, 'trials', `${commit}-${seed}.json`);
  // Nobody knows whether changes that are no commit are still the same.
  const isAnew = values.anew || commit.endsWith(changed);
  const begun = (isAnew ? undefined : await written(path)) ?? empty(commit, seed);
  const other = notOf(begun, { commit, seed });
  if (other !== undefined) {
    process.stderr.write(`cannot go on from ${path}: ${other}; --anew begins anew\n`);
    return 2;
  }
  if (begun.batches > 0) process.stdout.write(`going on after ${begun.batches} batches of ${path}\n`);
  const wants = !values['without-engines'] && minutes >= leastMinutes;
  const engines = begun.engines ?? (wants ? await engineTrials() : undefined);
  const before = { ...begun, ...(engines && { engines }) };
  await writerTo(path)(before);
  const ms = minutes * 60_000;
  const progress = await run({ path, untilMs: performance.now() + ms, ended: endOf(ms) }, before);
  const left = progress.open.map((place) => batchAt(place, seed)).map((one) => `${one.family}:${one.seed}`);
  if (left.length > 0) process.stdout.write(`\nleft under way: ${left.join(', ')}\n`);
  process.stdout.write(
    `\n${told(progress)}\n\nover all: ${seconds(progress.ms).trim()} of work, written down in ${path}\n`,
  );
  return isGood(progress) ? 0 : 1;
}

if (process.argv[2] === 'serve') serve();
else {
  leaveNoOrphans();
  process.exitCode = await main();
}
