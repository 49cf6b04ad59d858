/*
 * What the long programme is made of: batches, each known by its name and a number, and always the same for these two. They are
 * the standing properties with more faults in one life, and the random lives with other seeds.
 */
import { play } from '../disaster/interleavings.ts';
import { accessLived } from '../properties/access-life.ts';
import { deathsAtCallsOf, faultsOfWritesOf, lifeWith, outcomesOf, planInWords } from '../properties/faults.ts';
import type { FaultPlan } from '../properties/faults.ts';
import { disturbedOrderLived, orderLived } from '../properties/golden-folder.ts';
import { lives, type Life } from '../properties/lives.ts';
import { truthLived } from '../properties/truth-life.ts';
import { recoveryLived, wholeLived, type Lived } from '../properties/whole-run.ts';
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
function singlePlans(life: Life): Promise<readonly FaultPlan[]> {
  const known = plansOf.get(life.kind);
  if (known !== undefined) return known;
  const found = Promise.all([outcomesOf(life), deathsAtCallsOf(life), faultsOfWritesOf(life)]).then((all) =>
    all.flat(),
  );
  plansOf.set(life.kind, found);
  return found;
}

/** How many lives with faults make one batch. */
const livesInABatch = 10;

/** Lives of one kind with one to three faults each, in worlds of their own seeds. */
function faultyLives(life: Life): Family {
  return async (seed) => {
    const draw = new Draw(seed);
    const singles = await singlePlans(life);
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
