import { setTimeout as sleep } from 'node:timers/promises';
import { meter, resultOf, rounded, type Result } from './support/result.ts';
import type { Stage } from './support/stage.ts';

const lookMs = 10_000;
const mostLooks = 42;
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

/** Events and the first refreshes of alert states come after the last Ready: waits for them, and says how long. */
async function calm(stage: Stage): Promise<number> {
  await stage.audit.take();
  for (let looks = 1; looks <= mostLooks; looks += 1) {
    await sleep(lookMs);
    const { writes, leaseWrites } = await stage.audit.take();
    stage.options.debug?.(`${writes - leaseWrites} writes in ${lookMs} ms`);
    if (writes === leaseWrites) return (looks * lookMs) / 1000;
  }
  return Number.POSITIVE_INFINITY;
}
