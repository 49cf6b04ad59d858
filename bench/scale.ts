import { until, verify } from './support/readiness.ts';
import { meter, resultOf, rounded, type Result } from './support/result.ts';
import type { Stage } from './support/stage.ts';
import { applyAll } from './support/workload.ts';

const mostMs = 1_500_000;

/** From the first resource applied to the last one Ready, with the operator running. */
export async function scale(stage: Stage): Promise<Result> {
  const { count, say } = stage.options;
  const counting = await meter(stage);
  const startedAt = performance.now();
  await applyAll(stage, count);
  const appliedSeconds = (performance.now() - startedAt) / 1000;
  say(`applied in ${appliedSeconds.toFixed(1)} s`);
  await until(stage, mostMs, ({ ready }) => ready >= count);
  const readySeconds = (performance.now() - startedAt) / 1000;
  const readings = await counting.stop();
  for (const { name, labels, value } of await stage.metrics.all())
    if (/_seconds_(sum|count)$|^nodejs_heap|^nodejs_external|resident/u.test(name))
      stage.options.debug?.(`${name} ${JSON.stringify(labels)} ${value}`);
  const { service, kubernetes } = readings;
  const { toLeaseSeconds, rssMiB } = stage.lastStart();
  return resultOf('scale', stage, readings, readySeconds, {
    startToLeaseSeconds: rounded(toLeaseSeconds),
    rssAtLeaseMiB: rounded(rssMiB),
    appliedSeconds: rounded(appliedSeconds),
    serviceCallsPerResource: rounded((service.reads + service.writes) / count),
    kubernetesRequestsPerResource: rounded((kubernetes.reads + kubernetes.writes) / count),
    cpuMsPerResource: rounded((readings.cpuSeconds * 1000) / count),
    verified: await verify(stage, count),
  });
}
