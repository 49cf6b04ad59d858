import { setTimeout as sleep } from 'node:timers/promises';
import { calm } from './support/readiness.ts';
import { meter, resultOf, rounded, type Result } from './support/result.ts';
import type { Stage } from './support/stage.ts';

const minuteMs = 60_000;

/** One minute in which nobody changes anything. */
export async function rest(stage: Stage): Promise<Result> {
  const calmAfterSeconds = await calm(stage);
  const counting = await meter(stage);
  await sleep(minuteMs);
  const readings = await counting.stop();
  const { kubernetes } = readings;
  return resultOf('rest', stage, readings, null, {
    calmAfterSeconds,
    cpuPercentOfACore: rounded((readings.cpuSeconds / readings.seconds) * 100),
    kubernetesWritesButTheLease: kubernetes.writes - kubernetes.leaseWrites,
  });
}
