/*
 * What the long programme is made of: batches, each known by its name and a number, and always the same for these two. They are
 * the standing properties with more faults in one life, and the random lives with other seeds.
 */
import { play } from '../disaster/interleavings.ts';
import { accessLived } from '../properties/access-life.ts';
import { deathsAtCallsOf, faultsOfWritesOf, lifeWith, outcomesOf, planInWords } from '../properties/faults.ts';
import type { FaultPlan } from '../properties/faults.ts';
import { lives } from '../properties/lives.ts';
import { recoveryLived, wholeLived } from '../properties/whole-run.ts';
import { Draw } from '../properties/whole-subjects.ts';

/** What came of a batch. */
export interface Tried {
  /** Sentences about what was lost, doubled, leaked or not as it should be. */
  readonly wrong: readonly string[];
  /** Lives in which a fault of their plan was met; no two of a programme have the same kind and seed. */
  readonly plans: number;
  /** Processes that died in any of its lives. */
  readonly deaths: number;
  /** What objects and the service went through: creations, edits, deletions, and whatever else happened. */
  readonly transitions: number;
  /** What happened to which request. */
  readonly faults: readonly string[];
}

type Family = (seed: number) => Promise<Tried>;

const plansOf = new Map<string, Promise<readonly FaultPlan[]>>();

/** All plans with one fault of a kind, found once in a process. */
function singlePlans(kind: string): Promise<readonly FaultPlan[]> {
  const life = lives.find((one) => one.kind === kind) ?? lives[0];
  if (life === undefined) throw new Error('there is no life to live');
  const known = plansOf.get(kind);
  if (known !== undefined) return known;
  const found = Promise.all([outcomesOf(life), deathsAtCallsOf(life), faultsOfWritesOf(life)]).then((all) =>
    all.flat(),
  );
  plansOf.set(kind, found);
  return found;
}

/** How many lives with faults make one batch. */
const livesInABatch = 10;

/** Lives of one kind with one to three faults each, in worlds of their own seeds. */
function faultyLives(kind: string): Family {
  return async (seed) => {
    const life = lives.find((one) => one.kind === kind);
    if (life === undefined) throw new Error(`there is no life of a ${kind}`);
    const draw = new Draw(seed);
    const singles = await singlePlans(kind);
    const wrong: string[] = [];
    const met: string[] = [];
    let [plans, deaths, transitions] = [0, 0, 0];
    for (let at = 0; at < livesInABatch; at += 1) {
      const drawn = Array.from({ length: 1 + draw.below(3) }, () => draw.of(singles));
      const faults = drawn.flatMap((plan) => plan.faults);
      const plan = { faults, dies: drawn.some(({ dies }) => dies), matters: true };
      const lived = await lifeWith(life, plan, { seed: livesInABatch * seed + at });
      wrong.push(...lived.wrong.map((flaw) => `${planInWords(plan)} (${lived.met.join(', ')}): ${flaw}`));
      met.push(...lived.met);
      plans += lived.met.length > 0 ? 1 : 0;
      deaths += lived.deaths;
      transitions += life.edited === undefined ? 2 : 3;
    }
    return { wrong, plans, deaths, transitions, faults: met };
  };
}

/** A random life: its faults are drawn as it goes, so it follows no plan. */
function randomLife(lived: { wrong: readonly string[]; deaths: number }, transitions: number): Tried {
  return { wrong: lived.wrong, plans: 0, deaths: lived.deaths, transitions, faults: [] };
}

const eventsOfARun = 6;

/** Every family of batches, by its name. */
export const families: Readonly<Record<string, Family>> = {
  ...Object.fromEntries(lives.map(({ kind }) => [kind, faultyLives(kind)])),
  whole: async (seed) => {
    const lived = await wholeLived(seed);
    return randomLife(lived, lived.happened);
  },
  recovery: async (seed) => {
    const lived = await recoveryLived(seed);
    return randomLife(lived, lived.happened);
  },
  orders: async (seed) => randomLife(await play(seed, eventsOfARun), eventsOfARun),
  access: async (seed) => randomLife(await accessLived(seed), eventsOfAMember),
};

/** As `accessLived` draws them. */
const eventsOfAMember = 14;
