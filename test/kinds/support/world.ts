import { resourceOf } from '../../../src/engine/kind/contract/define.ts';
import type { KubeObject } from '../../../src/engine/ports.ts';
import { kinds } from '../../../src/kinds/index.ts';
import { eventResource } from '../../../src/kube/events.ts';
import { InProcess, type InProcessOptions } from '../../support/in-process.ts';
import { flawsOf } from '../../support/memory/status-checker.ts';

/** A world with a Ready account. */
export async function aWorld(options: InProcessOptions = {}): Promise<InProcess> {
  const world = new InProcess(options);
  await world.start();
  world.account();
  await world.run(5_000);
  return world;
}

/** The status of an object, after it was checked for what no tool could read. */
export function statusOf(world: InProcess, kind: string, name: string): Readonly<Record<string, unknown>> {
  const object = world.get(kind, name);
  if (object === undefined) throw new Error(`${kind} ${name} is not there`);
  const flaws = flawsOf(object);
  if (flaws.length > 0) throw new Error(`${kind} ${name}: ${flaws.join('; ')}`);
  return (object.status ?? {}) as Readonly<Record<string, unknown>>;
}

/** What status keeps for the operator alone. */
export function internalOf(world: InProcess, kind: string, name: string): Readonly<Record<string, unknown>> {
  return (statusOf(world, kind, name)['internal'] ?? {}) as Readonly<Record<string, unknown>>;
}

/** The same status with another part that is the operator's alone. */
export function withInternal(
  change: (internal: Readonly<Record<string, unknown>>) => object,
): (status: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>> {
  return (status) => ({ ...status, internal: change((status['internal'] ?? {}) as Readonly<Record<string, unknown>>) });
}

/** A condition as `status/reason`, or undefined. */
export function conditionOf(world: InProcess, kind: string, name: string, type = 'Ready'): string | undefined {
  const object: KubeObject | undefined = world.get(kind, name);
  const { conditions = [] } = (object?.status ?? {}) as {
    conditions?: readonly { type: string; status: string; reason: string; message: string }[];
  };
  const found = conditions.find((condition) => condition.type === type);
  return found && `${found.status}/${found.reason}`;
}

/** The message of a condition. */
export function messageOf(world: InProcess, kind: string, name: string, type = 'Ready'): string {
  const { conditions = [] } = (world.get(kind, name)?.status ?? {}) as {
    conditions?: readonly { type: string; message: string }[];
  };
  return conditions.find((condition) => condition.type === type)?.message ?? '';
}

/** An e-mail contact point that somebody makes in the service by hand; its id. */
export async function contactPointByHand(world: InProcess, name: string): Promise<string> {
  const config = { addresses: ['they@example.com'] };
  const theirs = { accountId: 'acc_demo', name, type: 'email', config };
  const { body } = await world.request('POST', '/contact-point', theirs);
  return (body as { contactPoint: { contactPointId: string } }).contactPoint.contactPointId;
}

/** Somebody takes the finalizer off. */
export function takeFinalizerOff(world: InProcess, kind: string, name: string): void {
  const { finalizers: _taken, ...metadata } = world.get(kind, name)?.metadata ?? {};
  edited(world, kind, name, metadata);
}

/** Somebody removes a resource in a way that leaves its object behind. */
export function tearOff(world: InProcess, kind: string, name: string): void {
  takeFinalizerOff(world, kind, name);
  world.delete(kind, name);
}

/** How often something was committed in the service. */
export async function committed(world: InProcess, kind: string): Promise<number> {
  return (await world.ledger()).filter((entry) => entry.kind === kind).length;
}

/** Gives an object these labels and no others. */
export function relabel(
  world: InProcess,
  kind: string,
  name: string,
  labels: Readonly<Record<string, string>>,
): KubeObject {
  return edited(world, kind, name, { ...world.get(kind, name)?.metadata, labels });
}

function edited(world: InProcess, kind: string, name: string, metadata: object): KubeObject {
  const found = kinds.find((one) => one.kind === kind);
  const known = world.get(kind, name);
  if (found === undefined || known === undefined) throw new Error(`${kind} ${name} is not there`);
  const changed = { ...known, metadata: metadata as KubeObject['metadata'] };
  return world.cluster.update(resourceOf(found), known.metadata.namespace, name, changed, 'object');
}

/** Everything that was committed in the service since, as `kind id`. */
export async function commits(
  world: InProcess,
  after = 0,
): Promise<readonly { kind: string; id: string; detail: Readonly<Record<string, unknown>> }[]> {
  const { items } = (await world.control('GET', `/ledger?after=${after}`)) as {
    items: readonly { kind: string; id: string; seq: number; detail: Readonly<Record<string, unknown>> }[];
  };
  return items;
}

/** The number of the newest commit. */
export async function newest(world: InProcess): Promise<number> {
  const { items } = (await world.control('GET', '/ledger')) as { items: readonly { seq: number }[] };
  return items.at(-1)?.seq ?? 0;
}

/** Every request that changed something or tried to, since, with its body as the service got it. */
export async function writesSince(world: InProcess, after: number): Promise<readonly string[]> {
  const { items } = (await world.control('GET', `/requests?after=${after}`)) as {
    items: readonly { seq: number; method: string; path: string; status: number }[];
  };
  return items
    .filter(({ method }) => method !== 'GET')
    .map(({ method, path, status }) => `${method} ${path} ${status}`);
}

/** The number of the newest request. */
export async function newestRequest(world: InProcess): Promise<number> {
  const { items } = (await world.control('GET', '/requests')) as { items: readonly { seq: number }[] };
  return items.at(-1)?.seq ?? 0;
}

/** Every event that was published, as `type reason note`. */
export function eventsOf(world: InProcess): readonly string[] {
  return world.cluster
    .all(eventResource)
    .map(({ type, reason, note }) => `${String(type)} ${String(reason)} ${String(note)}`);
}

/** Asks for every field of an environment, those that the interface hides included. */
export async function environmentOf(world: InProcess, id: string): Promise<Readonly<Record<string, unknown>>> {
  return (await world.control('GET', `/environments/${id}`)) as Readonly<Record<string, unknown>>;
}

/** An environment that the console has made and nobody has deployed to; its id. */
export async function neverDeployed(world: InProcess): Promise<string> {
  const appEnvId = 'env_new';
  await world.control('POST', '/environments', { appEnvId, appId: 'app_web', name: 'new', region: 'eu-west' });
  return appEnvId;
}
