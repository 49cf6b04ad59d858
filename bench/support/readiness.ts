import { setTimeout as sleep } from 'node:timers/promises';
import type { Resource } from '../../src/engine/ports.ts';
import { sumOf } from './scrape.ts';
import type { Stage } from './stage.ts';
import { alerts, contactPoints, workNamespace } from './workload.ts';

/** How far along the operator says it is. */
export interface Progress {
  readonly ready: number;
  readonly known: number;
  readonly queued: number;
  readonly settledPasses: number;
}

/** One look at the operator's own metrics. */
export async function progressOf(stage: Stage): Promise<Progress> {
  const samples = await stage.metrics.all();
  const own = (labels: Readonly<Record<string, string>>) =>
    ['MetricAlert', 'ContactPoint'].reduce(
      (sum, kind) => sum + sumOf(samples, 'apphosting_objects', { kind, ...labels }),
      0,
    );
  return {
    ready: own({ ready: 'True' }),
    known: own({}),
    queued: sumOf(samples, 'apphosting_queue_depth'),
    settledPasses: sumOf(samples, 'apphosting_passes_total', { result: 'settled' }),
  };
}

/** Waits until something is so; throws with what it last saw when it is not in time. */
export async function until(
  stage: Stage,
  deadlineMs: number,
  isSo: (progress: Progress) => boolean,
  everyMs = 500,
): Promise<Progress> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const progress = await progressOf(stage);
    if (isSo(progress)) return progress;
    stage.options.debug?.(JSON.stringify(progress));
    if (performance.now() > end) throw new Error(`not so after ${deadlineMs / 1000} s: ${JSON.stringify(progress)}`);
    await sleep(everyMs);
  }
}

/** What the API server itself says, and the service: every object Ready, each made once. */
export async function verify(stage: Stage, count: number): Promise<string> {
  const found = [...(await listed(stage, alerts)), ...(await listed(stage, contactPoints))];
  const ready = found.filter((status) => status.ready).length;
  const ids = new Set(found.map((status) => status.id));
  const created = (await stage.service.commits('alert.created')).length;
  const points = (await stage.service.commits('contactPoint.created')).length;
  return `${ready} of ${count} Ready by the API server, ${ids.size} different ids, ${created + points} creates in the service's ledger`;
}

async function listed(stage: Stage, resource: Resource): Promise<readonly { ready: boolean; id: string }[]> {
  const found: { ready: boolean; id: string }[] = [];
  let next: string | undefined;
  do {
    const page = await stage.api.list(resource, {
      namespace: workNamespace,
      limit: 500,
      ...(next !== undefined && { continue: next }),
    });
    found.push(...page.items.map(({ status }) => shownBy(status)));
    next = page.continue;
  } while (next !== undefined);
  return found;
}

function shownBy(status: unknown): { ready: boolean; id: string } {
  const {
    conditions = [],
    alertId,
    contactPointId,
  } = (status ?? {}) as {
    conditions?: readonly { type: string; status: string }[];
    alertId?: string;
    contactPointId?: string;
  };
  const ready = conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  return { ready, id: alertId ?? contactPointId ?? 'none' };
}
