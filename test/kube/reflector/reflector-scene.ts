import type { CacheEvent } from '../../../src/engine/ports.ts';
import { type ListReason, Reflector, type ReflectorOptions } from '../../../src/kube/reflector.ts';
import { CollectedLog } from '../../support/collected-log.ts';
import { MemoryCluster } from '../../support/memory/memory-cluster.ts';
import { MemoryKube } from '../../support/memory/memory-kube.ts';
import { SeededEntropy } from '../../../src/cli/in-memory/virtual-clock.ts';
import { SuspendableClock } from '../../support/suspendable-clock.ts';
import { thing, things } from '../example.ts';

/** A cluster, an administrator, and a reflector that watches from another connection. */
export function scene(options: Partial<ReflectorOptions> = {}) {
  const clock = new SuspendableClock();
  const cluster = new MemoryCluster(clock);
  const admin = new MemoryKube(cluster);
  const api = new MemoryKube(cluster);
  const log = new CollectedLog();
  const told: string[] = [];
  const lists: ListReason[] = [];
  let rewinds = 0;
  const reflector = new Reflector({
    api,
    resource: things,
    clock,
    entropy: new SeededEntropy(3),
    log,
    onEvent: (event) => told.push(textOf(event)),
    onList: (reason) => lists.push(reason),
    onRewind: () => (rewinds += 1),
    ...options,
  });
  return { clock, cluster, admin, api, log, told, lists, reflector, rewinds: () => rewinds };
}

/** An event as tests compare it. */
function textOf(event: CacheEvent): string {
  const { name, uid } = event.object.metadata;
  const initial = event.is === 'applied' && event.initial ? ' at first' : '';
  return `${event.is} ${name} ${uid.slice(0, 4)}${initial}`;
}

/** Names and sizes as the cache holds them. */
export function held(reflector: Reflector): string[] {
  return [...reflector.values()].map(({ metadata, spec }) => `${metadata.name} ${JSON.stringify(spec)}`).toSorted();
}

/** The same of the cluster itself. */
export function inCluster(cluster: MemoryCluster): string[] {
  return cluster.all(things).map(({ metadata, spec }) => `${metadata.name} ${JSON.stringify(spec)}`);
}

/** A reflector that has listed one object. */
export async function started(options: Partial<ReflectorOptions> = {}) {
  const it = scene(options);
  await it.admin.create(things, 'a', thing('one'));
  it.reflector.start();
  await it.clock.advance(0);
  return it;
}
