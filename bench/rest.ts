import { setTimeout as sleep } from 'node:timers/promises';
import { meter, resultOf, rounded, type Result } from './support/result.ts';
import type { Stage } from './support/stage.ts';

const settleMs = 30_000;
const minuteMs = 60_000;

/** One minute in which nobody changes anything. */
export async function rest(stage: Stage): Promise<Result> {
  // Events and the first refreshes of alert states come after the last Ready.
  await sleep(settleMs);
  const counting = await meter(stage);
  await sleep(minuteMs);
  const readings = await counting.stop();
  const { kubernetes } = readings;
  return resultOf('rest', stage, readings, null, {
    cpuPercentOfACore: rounded((readings.cpuSeconds / readings.seconds) * 100),
    kubernetesWritesButTheLease: kubernetes.writes - kubernetes.leaseWrites,
  });
}
