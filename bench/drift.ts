import { setTimeout as sleep } from 'node:timers/promises';
import { meter, percentile, resultOf, rounded, type Result } from './support/result.ts';
import type { Stage } from './support/stage.ts';
import { alertName, alerts, workNamespace } from './support/workload.ts';

const samples = 12;

/** Somebody changes alerts in the service itself: how long until the operator has put them right. */
export async function drift(stage: Stage): Promise<Result> {
  const { pollSeconds } = stage.options;
  const counting = await meter(stage);
  const betweenMs = (pollSeconds * 1000) / samples;
  const changes: { readonly id: string; readonly at: number }[] = [];
  for (let at = 0; at < samples; at += 1) {
    const id = await idOf(stage, alertName('a', 200 + at));
    await stage.service.call('PATCH', '/alert', { alertId: id, threshold: 1 });
    changes.push({ id, at: Date.now() });
    await sleep(betweenMs);
  }
  const waited: number[] = [];
  for (const change of changes) waited.push((await correctedAt(stage, change.id, pollSeconds)) - change.at);
  return resultOf('drift', stage, await counting.stop(), null, {
    correctedP50Seconds: rounded(percentile(waited, 0.5) / 1000),
    correctedWorstSeconds: rounded(Math.max(...waited) / 1000),
    samples,
    pollSeconds,
  });
}

async function idOf(stage: Stage, name: string): Promise<string> {
  const { status } = (await stage.api.getNamespacedCustomObject({ ...alerts, namespace: workNamespace, name })) as {
    status?: { externalId?: string };
  };
  if (status?.externalId === undefined) throw new Error(`${name} has no id`);
  return status.externalId;
}

/** When the service committed the newest change of an alert, as soon as the alert is as it was. */
async function correctedAt(stage: Stage, id: string, pollSeconds: number): Promise<number> {
  const end = performance.now() + (pollSeconds * 3 + 30) * 1000;
  while (performance.now() < end) {
    const commits = await stage.service.changesOf(id);
    const last = commits.at(-1);
    if (last !== undefined && commits.length % 2 === 0) return last;
    await sleep(500);
  }
  throw new Error(`alert ${id} was not put right`);
}
