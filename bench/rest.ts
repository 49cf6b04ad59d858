import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { operatorNode } from '../src/sandbox/programs.ts';
import { usageOf } from './support/processes.ts';
import { calm } from './support/readiness.ts';
import { meter, resultOf, rounded, type Result } from './support/result.ts';
import type { Stage } from './support/stage.ts';
import { environmentId } from './support/workload.ts';

const minuteMs = 60_000;
/** The time that a program needs until it only sends requests. */
const startMs = 5_000;

/**
 * One minute in which nobody changes anything, and one in which a program of a few lines sends as many requests beside the
 * operator. Only figures of the same minute can be compared: the speed of a shared machine changes from one to the next.
 */
export async function rest(stage: Stage): Promise<Result> {
  const calmAfterSeconds = await calm(stage);
  const counting = await meter(stage);
  await sleep(minuteMs);
  const readings = await counting.stop();
  const { kubernetes, service } = readings;
  const requests = service.reads + service.writes + service.refreshes + kubernetes.reads + kubernetes.writes;
  return resultOf('rest', stage, readings, null, {
    calmAfterSeconds,
    cpuPercentOfACore: percentOfACore(readings.cpuSeconds, readings.seconds),
    ...(await besideBare(stage, requests)),
    kubernetesWritesButTheLease: kubernetes.writes - kubernetes.leaseWrites,
  });
}

function percentOfACore(cpuSeconds: number, seconds: number): number {
  return rounded((cpuSeconds / seconds) * 100);
}

/** Measures for a minute the CPU of the operator at rest, and of a program that does nothing but send so many requests. */
async function besideBare({ serviceUrl, operatorPid }: Stage, requests: number) {
  const path = `/api/public/v1/app-env/alerts?appEnvId=${environmentId(0)}`;
  const program = [...operatorNode, join(import.meta.dirname, 'bare.ts'), serviceUrl, path, String(requests)];
  const bare = spawn(execPath, program, { stdio: 'inherit' });
  const ended = once(bare, 'exit');
  try {
    await sleep(startMs);
    const pids = [operatorPid(), bare.pid ?? 0];
    const before = await Promise.all(pids.map(usageOf));
    await sleep(minuteMs);
    const after = await Promise.all(pids.map(usageOf));
    const [beside = 0, least = 0] = after.map(({ cpuSeconds }, at) => cpuSeconds - (before[at]?.cpuSeconds ?? 0));
    const seconds = minuteMs / 1_000;
    return {
      cpuPercentBesideBare: percentOfACore(beside, seconds),
      bareCpuPercentOfACore: percentOfACore(least, seconds),
    };
  } finally {
    bare.kill();
    await ended;
  }
}
