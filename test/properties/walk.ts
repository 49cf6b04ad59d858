import { isRecord } from '../../src/base/json.ts';
import { InProcess, type InProcessOptions } from '../support/in-process.ts';
import { flawsOf } from '../support/memory/status-checker.ts';
import { SeededEntropy } from '../../src/cli/in-memory/virtual-clock.ts';
import type { Life } from './lives.ts';

/** The most virtual time that any fault may cost: deadline, horizon, two polls, the longest backoff. */
const patienceMs = 900_000;

/** A world in which a life can begin: the account is Ready, and what the life needs is there. */
export async function arranged(
  life: Pick<Life, 'arrange' | 'options'>,
  options: InProcessOptions = {},
): Promise<InProcess> {
  const world = new InProcess({ ...life.options, ...options });
  await world.start();
  world.account();
  await world.run(5_000);
  await life.arrange(world);
  await world.run(10_000);
  return world;
}

/** The Ready condition of the life's resource, as `status/reason`. */
export function readiness(world: InProcess, life: Pick<Life, 'kind' | 'name'>): string {
  const status = world.get(life.kind, life.name)?.status;
  const conditions = isRecord(status) && Array.isArray(status['conditions']) ? status['conditions'] : [];
  const ready: unknown = conditions.find((condition) => isRecord(condition) && condition['type'] === 'Ready');
  return isRecord(ready)
    ? `${String(ready['status'])}/${String(ready['reason'])}@${String(ready['observedGeneration'])}`
    : 'none';
}

/** Lets time pass until something holds; whether it came to hold. */
async function until(world: InProcess, holds: () => boolean, patience = patienceMs): Promise<boolean> {
  for (let waited = 0; waited < patience; waited += 2_000) {
    if (holds()) return true;
    await world.run(2_000);
  }
  return holds();
}

/** A whole life: created, edited, deleted; what was wrong on the way. */
export async function wholeLife(
  world: InProcess,
  life: Life,
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<string[]> {
  const wrong: string[] = [];
  const { edited } = life;
  const phases: readonly { name: string; act: () => void; holds: () => boolean }[] = [
    { name: 'create', act: () => bringIn(world, life), holds: () => isReady(world, life, 1) },
    ...(edited === undefined
      ? []
      : [
          {
            name: 'edit',
            act: () => void world.apply(life.kind, life.name, edited),
            holds: () => isReady(world, life, 2),
          },
        ]),
    {
      name: 'delete',
      act: () => world.delete(life.kind, life.name),
      holds: () => world.get(life.kind, life.name) === undefined,
    },
  ];
  let presumed = false;
  let unsent = false;
  for (const { name, act, holds } of phases) {
    act();
    await world.run(3_000);
    await meanwhile();
    if (!(await until(world, holds))) wrong.push(`${name}: does not come to rest: ${readiness(world, life)}`);
    const object = world.get(life.kind, life.name);
    if (object !== undefined) wrong.push(...flawsOf(object).map((flaw) => `${name}: ${flaw}`));
    const internal = isRecord(object?.status) ? object.status['internal'] : undefined;
    if (isRecord(internal) && internal['ownership'] === 'Presumed') presumed = true;
    if (object !== undefined) unsent = endsWith(world, life, life.unsentWith);
    const count = (await life.made(world)).length;
    const expected = unsent || (name === 'delete' && !presumed && life.stays !== true) ? 0 : 1;
    if (count !== expected) wrong.push(`${name}: the service holds ${count} instead of ${expected}`);
  }
  return wrong;
}

function isReady(world: InProcess, life: Life, generation: number): boolean {
  const state = readiness(world, life);
  const isEnd =
    state.startsWith('True/') || endsWith(world, life, life.endsWith) || endsWith(world, life, life.unsentWith);
  return isEnd && state.endsWith(`@${generation}`);
}

function endsWith(world: InProcess, life: Life, reasons: readonly string[] = []): boolean {
  return reasons.some((reason) => readiness(world, life).startsWith(`False/${reason}@`));
}

/** The life's resource is applied for the first time. */
export function bringIn(world: InProcess, life: Life): void {
  world.apply(life.kind, life.name, typeof life.spec === 'function' ? life.spec(world) : life.spec);
}

/** One way to disturb a life; the important ones are always tried. */
export interface Plan {
  readonly matters: boolean;
}

/** How many disturbances are tried besides those that matter. */
const sample = 12;

/** The plans that matter and a sample of the others: the same in every run. */
export function sampled<Kind extends Plan>(plans: readonly Kind[]): readonly Kind[] {
  const entropy = new SeededEntropy(plans.length);
  const others = plans.filter(({ matters }) => !matters).map((plan) => ({ plan, place: entropy.fraction() }));
  const chosen = others.toSorted((a, b) => a.place - b.place).slice(0, sample);
  return [...plans.filter(({ matters }) => matters), ...chosen.map(({ plan }) => plan)];
}

/** The calls to the service of an undisturbed life, in their order. */
export async function callsOf(
  life: Life,
  options: InProcessOptions = {},
): Promise<readonly { readonly nth: number; readonly isWrite: boolean }[]> {
  const world = await arranged(life, options);
  const calls: { nth: number; isWrite: boolean }[] = [];
  world.interference = ({ count, method }) => {
    calls.push({ nth: count, isWrite: method !== 'GET' });
    return undefined;
  };
  await wholeLife(world, life);
  return calls;
}

/** The secrets of a life that were written anywhere, in any of the forms in which they are sent and stored. */
export async function leaksOf(world: InProcess, { planted }: Pick<Life, 'planted'>): Promise<readonly string[]> {
  const written = await everythingWritten(world);
  const secrets = [...planted, 'demo-admin'].flatMap((secret) => [
    secret,
    Buffer.from(secret).toString('base64'),
    Buffer.from(secret).toString('hex'),
    encodeURIComponent(secret),
  ]);
  return [...new Set(secrets)].filter((form) => written.includes(form)).map((form) => `${form} is written somewhere`);
}

/** Everything that was written anywhere: logs, metrics, every object of the cluster. */
export async function everythingWritten(world: InProcess): Promise<string> {
  const changes = world.cluster.changesAfter(0);
  // Most objects are in several changes.
  const objects = new Set(changes.flatMap(({ before, after, object }) => [before, after, object]));
  objects.delete(undefined);
  const shown = [...objects]
    .map((object) => JSON.stringify(object))
    .filter((text) => !text.includes('"kind":"Secret"'));
  return [...world.trace.lines, (await world.metrics?.text()) ?? '', ...shown].join('\n');
}
