import { setTimeout as sleep } from 'node:timers/promises';
import { sumOf } from './scrape.ts';
import type { Stage } from './stage.ts';
import { workKinds, workNamespace, type WorkResource } from './workload.ts';

const mostLooks = 8;

/** The operator's progress, by its own metrics. */
export interface Progress {
  readonly ready: number;
  readonly known: number;
  readonly queued: number;
  readonly settledReconciles: number;
}

/** One look at the operator's own metrics. */
async function progressOf(stage: Stage): Promise<Progress> {
  const samples = await stage.metrics.all();
  const own = (labels: Readonly<Record<string, string>>) =>
    Object.keys(workKinds).reduce((sum, kind) => sum + sumOf(samples, 'apphosting_objects', { kind, ...labels }), 0);
  return {
    ready: own({ ready: 'True' }),
    known: own({}),
    queued: sumOf(samples, 'apphosting_queue_depth'),
    settledReconciles: sumOf(samples, 'apphosting_reconciles_total', { result: 'settled' }),
  };
}

/** Waits until something is so; throws with what it last saw when it is not in time. */
export async function until(
  stage: Stage,
  deadlineMs: number,
  isSo: (progress: Progress) => boolean,
): Promise<Progress> {
  const end = performance.now() + deadlineMs;
  // Looking costs the operator a count over all objects.
  const everyMs = Math.max(1_000, stage.options.count / 2);
  for (;;) {
    const progress = await progressOf(stage);
    if (isSo(progress)) return progress;
    stage.options.debug?.(JSON.stringify(progress));
    if (performance.now() > end) throw new Error(`not so after ${deadlineMs / 1000} s: ${JSON.stringify(progress)}`);
    await sleep(everyMs);
  }
}

/** Asks the API server and the service whether every object is Ready and was created once; returns a sentence. */
export async function verify(stage: Stage, count: number): Promise<string> {
  const lists = Object.values(workKinds).map((resource) => listed(stage, resource));
  const found = (await Promise.all(lists)).flat();
  const ready = found.filter((status) => status.ready).length;
  const ids = new Set(found.map((status) => status.id));
  const commits = ['alert.created', 'contactPoint.created', 'app.created'];
  const created = (await Promise.all(commits.map((kind) => stage.service.commits(kind)))).flat();
  return `${ready} of ${count} Ready by the API server, ${ids.size} different ids, ${created.length} creates in the service's ledger`;
}

async function listed(stage: Stage, resource: WorkResource): Promise<readonly { ready: boolean; id: string }[]> {
  const found: { ready: boolean; id: string }[] = [];
  let next: string | undefined;
  do {
    const page = (await stage.api.listNamespacedCustomObject({
      ...resource,
      namespace: workNamespace,
      limit: 500,
      ...(next !== undefined && { _continue: next }),
    })) as { items: readonly { status?: unknown }[]; metadata: { continue?: string } };
    found.push(...page.items.map(({ status }) => shownBy(status)));
    next = page.metadata.continue;
  } while (next !== undefined && next !== '');
  return found;
}

function shownBy(status: unknown): { ready: boolean; id: string } {
  const shown = (status ?? {}) as Readonly<Record<string, unknown>>;
  const conditions = (shown['conditions'] ?? []) as readonly { type: string; status: string }[];
  const ready = conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  return { ready, id: String(shown['externalId']) };
}

/** Events and the first refreshes of alert states come after the last Ready: waits for them, and says how long. */
export async function calm(stage: Stage): Promise<number> {
  // The next poll of a list may show more of a new object, which is then written to its status.
  const lookMs = (stage.options.pollSeconds + 10) * 1000;
  await stage.audit.take();
  for (let looks = 1; looks <= mostLooks; looks += 1) {
    await sleep(lookMs);
    const { writes, leaseWrites } = await stage.audit.take();
    stage.options.debug?.(`${writes - leaseWrites} writes in ${lookMs} ms`);
    if (writes === leaseWrites) return (looks * lookMs) / 1000;
  }
  return Number.POSITIVE_INFINITY;
}
