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
  /** The time of all batches together. */
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
  return { commit, seed, batches: 0, plans: 0, deaths: 0, transitions: 0, faults: [], failures: [], ms: 0 };
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

/** What was tried and what was found; the first line alone tells how far it is. */
export function told({ commit, seed, batches, plans, deaths, transitions, faults, failures }: Progress): string {
  const tried = [
    `${batches} batches`,
    `${plans} plans of faults`,
    `${deaths} deaths`,
    `${transitions} transitions`,
    `${faults.length} types of faults`,
  ].join(', ');
  const found = failures.length === 0 ? 'lost, doubled or leaked: 0' : `${failures.length} batches found something`;
  const each = failures.flatMap(({ family, seed: of, wrong }) => [
    '',
    `npm run trials -- --only ${family}:${of}`,
    ...wrong.map((line) => `  ${line.split('\n', 1)[0]}`),
  ]);
  return [`${tried}; ${found}`, `commit ${commit}, seed ${seed}`, ...each].join('\n');
}
