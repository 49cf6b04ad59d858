import { setTimeout as sleep } from 'node:timers/promises';
import { calm, until } from './support/readiness.ts';
import { meter, resultOf, type Result } from './support/result.ts';
import type { Stage } from './support/stage.ts';

const mostMs = 300_000;
const afterMs = 10_000;

/** The operator is killed and started again with everything in place: how long until it has looked at all of it. */
export async function restart(stage: Stage): Promise<Result> {
  const { count } = stage.options;
  // Writes that the first process still owed are not a cost of the second one.
  const calmAfterSeconds = await calm(stage);
  await stage.killOperator();
  const counting = await meter(stage);
  const startedAt = performance.now();
  await stage.startOperator();
  // The account has one pass too.
  await until(stage, mostMs, ({ settledReconciles, queued }) => settledReconciles > count && queued === 0);
  const quietSeconds = (performance.now() - startedAt) / 1000;
  await sleep(afterMs);
  const readings = await counting.stop();
  return resultOf('restart', stage, readings, quietSeconds, {
    calmAfterSeconds,
    mutatingCalls: readings.service.writes,
    readySecondsMeans: 'from the start of the new process, the dead one still in the lease, to every object looked at',
  });
}
