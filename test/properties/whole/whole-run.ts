import { findings, hourOfRest } from './whole-checks.ts';
import { WholeLife } from './whole-life.ts';
import { Readiness } from './whole-recovery.ts';

/** What came of one life. */
export interface Lived {
  /** What was wrong, with how it came to it. */
  readonly wrong: readonly string[];
  /** How many things happened, and how many processes died. */
  readonly happened: number;
  readonly deaths: number;
}

/** What came of one life in which databases are protected and recovered. */
export interface LivedWithTally extends Lived {
  /** What the service was made to do, by kind of commit. */
  readonly tally: Readonly<Record<string, number>>;
}

const happenings = 40;
const recoveryHappenings = 30;

/** Lives one life to its end; what was wrong, with how it came to it. */
export async function wholeLived(seed: number): Promise<Lived> {
  const life = new WholeLife(seed);
  const wrong: string[] = [];
  try {
    await life.begin();
    for (let count = 0; count < happenings; count += 1) await life.happen();
    life.calm();
    await life.world.run(5_400_000);
    wrong.push(...(await findings(life)), ...(await hourOfRest(life)));
  } catch (error) {
    wrong.push(String(error));
  }
  const happened = life.trace.length;
  const deaths = life.processes.reduce((sum, one) => sum + one.deaths, 0);
  return { wrong: wrong.length === 0 ? [] : [...wrong.slice(0, 6), ...life.trace], happened, deaths };
}

/** Lives one life to its end; what was wrong, with how it came to it. */
export async function recoveryLived(seed: number): Promise<LivedWithTally> {
  const life = new WholeLife(seed, { powers: { activation: true, accountReset: false } });
  const readiness = new Readiness(life);
  const wrong: string[] = [];
  const tally: Record<string, number> = {};
  try {
    await life.begin();
    readiness.begin();
    await life.world.run(life.draw.of([1_000, 200_000]));
    for (let count = 0; count < recoveryHappenings; count += 1) {
      if (life.draw.chance(0.5)) readiness.happen();
      await life.happen();
    }
    life.calm();
    await life.world.run(9_000_000);
    await readiness.disown();
    wrong.push(...(await findings(life)), ...(await readiness.findings()));
    Object.assign(tally, await readiness.tally());
  } catch (error) {
    wrong.push(String(error));
  }
  const happened = life.trace.length;
  const deaths = life.processes.reduce((sum, one) => sum + one.deaths, 0);
  return { wrong: wrong.length === 0 ? [] : [...wrong.slice(0, 6), ...life.trace], happened, deaths, tally };
}
