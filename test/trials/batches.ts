/*
 * What the long programme is made of: batches, each known by its name and a number, and always the same for these two. They are
 * the standing properties with every fault alone and then with several in one life, and the random lives with other seeds.
 */
import { play } from '../disaster/interleavings.ts';
import { accessLived } from '../properties/access-life.ts';
import { deathsAtCallsOf, faultsOfWritesOf, lifeWith, outcomesOf, planInWords } from '../properties/faults.ts';
import type { FaultPlan } from '../properties/faults.ts';
import { disturbedOrderLived, orderLived } from '../properties/golden-folder.ts';
import { lives, type Life } from '../properties/lives.ts';
import { truthLived } from '../properties/truth-life.ts';
import { recoveryLived, wholeLived, type Lived } from '../properties/whole/whole-run.ts';
import { Draw } from '../properties/whole/whole-subjects.ts';

/** A batch: its family, and its number. */
export interface Batch {
  readonly family: string;
  readonly seed: number;
}

/** What came of a batch. */
export interface Tried {
  /** Sentences about what was lost, doubled, leaked or not as it should be. */
  readonly wrong: readonly string[];
  /** Lives in which a fault of their plan was met. */
  readonly plans: number;
  /** Processes that died in any of its lives. */
  readonly deaths: number;
  /** What objects and the service went through: creations, edits, deletions, and whatever else happened. */
  readonly transitions: number;
  /** What happened to which request. */
  readonly faults: readonly string[];
}

type Family = (seed: number) => Promise<Tried>;

/** Seeds of one programme: those of the tests come before the first. */
const seedsOfAProgramme = 1_000_000;

/** The batch of a place in the programme of a seed: the families take turns, and each turn has its seed. */
export function batchAt(place: number, programme: number): Batch {
  const names = Object.keys(families);
  const turn = Math.floor(place / names.length);
  return { family: names[place % names.length] ?? 'whole', seed: programme * seedsOfAProgramme + turn };
}

const plansOf = new Map<string, Promise<readonly FaultPlan[]>>();

/** All plans with one fault of a kind in the world of a seed, found once in a process. */
function singlePlans(life: Life, seed: number): Promise<readonly FaultPlan[]> {
  const key = `${life.kind}:${seed}`;
  const known = plansOf.get(key);
  if (known !== undefined) return known;
  const world = { seed };
  const found = Promise.all([
    outcomesOf(life, world),
    deathsAtCallsOf(life, world),
    faultsOfWritesOf(life, world),
  ]).then((all) => all.flat());
  plansOf.set(key, found);
  return found;
}

/** How many lives with faults make one batch. */
const livesInABatch = 10;

/** A life with faults, and the seed of its world. */
export interface PlannedLife {
  readonly plan: FaultPlan;
  readonly seed: number;
}

/**
 * The lives of a batch. The first batches of a programme go through all plans with one fault, in the world in which these were
 * found; the others have one to three of these faults in a life, each in a world of its own.
 */
export function plansIn(batch: number, singles: readonly FaultPlan[]): readonly PlannedLife[] {
  const turn = batch % seedsOfAProgramme;
  const next = singles.slice(livesInABatch * turn, livesInABatch * (turn + 1));
  if (next.length > 0) return next.map((plan) => ({ plan, seed: batch - turn }));
  const draw = new Draw(batch);
  return Array.from({ length: livesInABatch }, (_, at) => {
    const drawn = Array.from({ length: 1 + draw.below(3) }, () => draw.of(singles));
    const faults = drawn.flatMap((plan) => plan.faults);
    const plan = { faults, dies: drawn.some(({ dies }) => dies), matters: true };
    return { plan, seed: livesInABatch * batch + at };
  });
}

/** Lives of one kind with faults. */
function faultyLives(life: Life): Family {
  return async (batch) => {
    const wrong: string[] = [];
    const met: string[] = [];
    let [plans, deaths, transitions] = [0, 0, 0];
    const singles = await singlePlans(life, batch - (batch % seedsOfAProgramme));
    for (const { plan, seed } of plansIn(batch, singles)) {
      const lived = await lifeWith(life, plan, { seed });
      wrong.push(...lived.wrong.map((flaw) => `${planInWords(plan)} (${lived.met.join(', ')}): ${flaw}`));
      met.push(...lived.met);
      plans += lived.met.length > 0 ? 1 : 0;
      deaths += lived.deaths;
      transitions += life.edited === undefined ? 2 : 3;
    }
    return { wrong, plans, deaths, transitions, faults: met };
  };
}

/** Random lives: their faults are drawn as they go, so they follow no plan. */
function randomLives(live: (seed: number) => Promise<Lived>): Family {
  return async (seed) => {
    const { wrong, deaths, happened } = await live(seed);
    return { wrong, plans: 0, deaths, transitions: happened, faults: [] };
  };
}

/** Every family of batches, by its name. */
export const families: Readonly<Record<string, Family>> = {
  ...Object.fromEntries(lives.map((life) => [life.kind, faultyLives(life)])),
  whole: randomLives(wholeLived),
  recovery: randomLives(recoveryLived),
  orders: randomLives(play),
  access: randomLives(accessLived),
  truth: randomLives(truthLived),
  'golden-path': randomLives(orderLived),
  'golden-path-disturbed': randomLives(disturbedOrderLived),
};
