import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Tried } from './batches.ts';

/** How far a programme came, as it is written down. */
export interface Progress {
  readonly commit: string;
  readonly seed: number;
  readonly batches: number;
  readonly plans: number;
  readonly deaths: number;
  readonly transitions: number;
  /** What happened to which request, each once. */
  readonly faults: readonly string[];
  readonly failures: readonly Failure[];
  /** What came of the trials with other people's engines; undefined before they were run. */
  readonly engines?: readonly EngineTrial[];
  /** Places of batches that had begun when this was written down. */
  readonly open: readonly number[];
  /** The time of all batches together. */
  readonly ms: number;
}

/** One trial with other people's engines. */
export interface EngineTrial {
  readonly name: string;
  /** Nothing when it held. */
  readonly why?: string;
  /** True for one that could not be run here. */
  readonly isLeftOut?: boolean;
  /** True for what failed outside of all trials, such as a hook: nothing runs it alone. */
  readonly isOutside?: boolean;
  readonly ms: number;
}

/** A batch in which something was wrong. */
export interface Failure {
  readonly family: string;
  readonly seed: number;
  readonly wrong: readonly string[];
}

/** A programme that has not begun. */
export function empty(commit: string, seed: number): Progress {
  return { commit, seed, batches: 0, plans: 0, deaths: 0, transitions: 0, faults: [], failures: [], open: [], ms: 0 };
}

/** The same after one more batch. */
export function added(
  before: Progress,
  { family, seed }: Pick<Failure, 'family' | 'seed'>,
  { wrong, plans, deaths, transitions, faults }: Tried,
  ms: number,
): Progress {
  return {
    ...before,
    batches: before.batches + 1,
    plans: before.plans + plans,
    deaths: before.deaths + deaths,
    transitions: before.transitions + transitions,
    faults: [...new Set([...before.faults, ...faults])].toSorted(),
    failures: wrong.length === 0 ? before.failures : [...before.failures, { family, seed, wrong: wrong.slice(0, 6) }],
    ms: before.ms + ms,
  };
}

/** Whether everything that was tried held, and something was tried. */
export function isGood({ batches, failures, engines = [] }: Progress): boolean {
  return batches > 0 && failures.length === 0 && areHeld(engines);
}

/** Whether none of these trials failed. */
export function areHeld(engines: readonly EngineTrial[]): boolean {
  return engines.every(({ why, isLeftOut }) => why === undefined || isLeftOut === true);
}

/** Why what was written down is not of this commit and seed; undefined where it is. */
export function notOf(written: Progress, { commit, seed }: Pick<Progress, 'commit' | 'seed'>): string | undefined {
  if (written.commit === commit && written.seed === seed) return undefined;
  return `it is of commit ${written.commit} and seed ${written.seed}, and not of ${commit} and ${seed}`;
}

/** Writes a programme down, one write after the other: two workers may end their batches at once. */
export function writerTo(path: string): (progress: Progress) => Promise<void> {
  let last = Promise.resolve();
  return (progress) => {
    last = last.then(async () => {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(`${path}.tmp`, JSON.stringify(progress));
      await rename(`${path}.tmp`, path);
    });
    return last;
  };
}

/** What was tried and what was found; the first line alone tells how far it is. */
export function told({
  commit,
  seed,
  batches,
  plans,
  deaths,
  transitions,
  faults,
  failures,
  engines,
}: Progress): string {
  const tried = [
    `${batches} batches`,
    `${plans} plans of faults`,
    `${deaths} deaths`,
    `${transitions} transitions`,
    `${faults.length} types of faults`,
  ].join(', ');
  const found = failures.length === 0 ? 'lost, doubled or leaked: 0' : `${failures.length} batches found something`;
  const first = batches === 0 ? 'no batch was tried' : `${tried}; ${found}`;
  const each = failures.flatMap(({ family, seed: of, wrong }) => [
    '',
    `npm run trials -- --only ${family}:${of}`,
    ...wrong.map((line) => `  ${line.split('\n', 1)[0]}`),
  ]);
  return [first, `commit ${commit}, seed ${seed}`, ...toldOf(engines), ...each].join('\n');
}

/** A line for each trial with an engine, and the command that repeats it where it failed. */
function toldOf(engines: readonly EngineTrial[] = []): readonly string[] {
  if (engines.length === 0) return [];
  const [leftOut, run] = [engines.filter((one) => one.isLeftOut), engines.filter((one) => !one.isLeftOut)];
  const failed = run.filter(({ why }) => why !== undefined);
  const counts = `${run.length - failed.length} held, ${failed.length} failed, ${leftOut.length} not run`;
  const lines = engines.map(({ name, why, isLeftOut, ms }) => {
    const seconds = `${Math.round(ms / 1_000)} s`;
    if (isLeftOut) return `  not run    ${name}${why === undefined ? '' : `: ${why}`}`;
    return why === undefined ? `  held       ${name} (${seconds})` : `  FAILED     ${name} (${seconds})`;
  });
  const each = failed.flatMap(({ name, why = '', isOutside }) => [
    '',
    isOutside ? 'npm run trials -- --only engines' : `npm run trials -- --only "engines:${name}"`,
    `  ${why.split('\n', 1)[0]}`,
  ]);
  return ['', `trials with real engines: ${counts}`, ...lines, ...each];
}
