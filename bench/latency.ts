import { PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from './support/readiness.ts';
import { meter, percentile, resultOf, type Result } from './support/result.ts';
import type { Stage } from './support/stage.ts';
import { alertName, alerts, applyAll, workNamespace } from './support/workload.ts';

const samples = 60;
const betweenMs = 150;
const mostMs = 900_000;

/** From a change of one spec to the call that the service receives for it, idle and with as many others pending. */
export async function latency(stage: Stage): Promise<Result> {
  const { count, say } = stage.options;
  const counting = await meter(stage);
  const idle = await sampled(stage, 0, samples);
  say(`idle: p50 ${percentile(idle, 0.5)} ms, p99 ${percentile(idle, 0.99)} ms`);
  const applying = applyAll(stage, count, 'b');
  // Let a backlog build up before the first change.
  await until(stage, 60_000, ({ queued }) => queued > Math.min(count / 10, 500)).catch(() =>
    say('no backlog came to be'),
  );
  const busy = await sampled(stage, samples, samples);
  const { queued, ready } = await until(stage, 10_000, () => true);
  await applying;
  await until(stage, mostMs, (progress) => progress.ready >= 2 * count);
  return resultOf('latency', stage, await counting.stop(), null, {
    idleP50Ms: percentile(idle, 0.5),
    idleP99Ms: percentile(idle, 0.99),
    busyP50Ms: percentile(busy, 0.5),
    busyP99Ms: percentile(busy, 0.99),
    samples,
    pendingAtTheLastSample: Math.max(queued, 2 * count - ready),
  });
}

const asJsonPatch = setHeaderOptions('Content-Type', PatchStrategy.JsonPatch);

/** Changes one alert after the other, each a different one; the milliseconds from sending the change to the call. */
async function sampled(stage: Stage, from: number, count: number): Promise<readonly number[]> {
  const found: number[] = [];
  let seen = (await stage.service.requestsAfter(0)).at(-1)?.seq ?? 0;
  for (let at = from; at < from + count; at += 1) {
    const value = 100 + at;
    const changedAt = Date.now();
    const body = [{ op: 'replace', path: '/spec/threshold', value }];
    const name = alertName('a', at);
    await stage.api.patchNamespacedCustomObject({ ...alerts, namespace: workNamespace, name, body }, asJsonPatch);
    const call = await stage.service.changeAfter(seen, '/alert');
    seen = call.seq;
    found.push(call.arrivedAt - changedAt);
    await sleep(betweenMs);
  }
  return found;
}
