/**
 * Runs the real operator on a cluster in memory, a service in memory and a virtual clock until nothing more is sent, and
 * records what it would have sent.
 *
 * The operator first runs with the objects before the change, then with those after it: only the calls of the second part
 * are caused by the change.
 */
import { OperatorKey } from '../../engine/kind/planner/compare.ts';
import { keyOfObject, parseStored, partsOfKey, type ParsedObject } from '../../engine/objects/stored.ts';
import type { Hosting, KubeObject, Outcome, Request, Service } from '../../engine/ports.ts';
import { type AnyKind, group, version } from '../../engine/kind/contract/define.ts';
import { openHosting } from '../../hosting/service.ts';
import { appEnvironment } from '../../kinds/app-environment/app-environment.ts';
import { hostedApp } from '../../kinds/hosted-app/hosted-app.ts';
import { kinds } from '../../kinds/index.ts';
import { isRecord, recordsIn, Secret } from '../../base/json.ts';
import { configMapResource, secretResource } from '../../kube/material.ts';
import type { AccountReader, AccountReading } from '../account/reader.ts';
import { ClusterInMemory } from '../in-memory/cluster.ts';
import { KubeInMemory } from '../in-memory/kube.ts';
import { SeededEntropy, settle, VirtualClock } from '../in-memory/virtual-clock.ts';
import { silent, unmeasured } from '../machine.ts';
import { createOperator, resourceOf, type Operator } from '../operator/operator.ts';
import { materialsOf } from './materials.ts';
import type { Actor, Scene } from './scenes.ts';
import { ServiceInMemory } from './service-in-memory.ts';

/** A call that the operator would send. */
export interface PlannedCall {
  readonly caused: boolean;
  /** The object that the call is for, as `Kind/namespace/name`. */
  readonly object: string;
  readonly words: string;
  readonly request: Request;
  /** The object of the service as it was right before the call. */
  readonly before: Readonly<Record<string, unknown>> | undefined;
  readonly outcome: Outcome['is'];
  /** The assumed answer of the service; new ids in it exist only in this run. */
  readonly answer: unknown;
  /** Time since this part of the rehearsal began: the part before the change, or the one after it. */
  readonly afterMs: number;
}

/** The result of a rehearsal. */
export interface Played {
  readonly calls: readonly PlannedCall[];
  /** The objects of our kinds at the end of the rehearsal. */
  readonly objects: readonly ParsedObject[];
  readonly failures: readonly Extract<AccountReading, { is: 'failed' }>[];
  /** False if the operator was still sending calls when the time was up. */
  readonly isQuiet: boolean;
}

const operatorNamespace = 'apphosting-system';
/**
 * The time without a call after which the operator counts as finished: longer than a poll, and longer than the pause between
 * the two reads that prove that an object is absent.
 */
const quietMs = 150_000;
/** The longer limit that applies while an object is neither Ready nor Stalled. */
const patienceMs = 420_000;
const longestMs = 6 * 3_600_000;
const tokenPrefix = 'the-credential-of-a-plan-for-';

/** Runs the operator with the objects `before` the change, if known, and then with those `after` it. */
export async function rehearse(
  before: Scene | undefined,
  after: Scene,
  readers: readonly AccountReader[],
): Promise<Played> {
  const stage = new Stage(readers);
  await stage.start();
  try {
    let isQuiet = true;
    if (before !== undefined) {
      stage.set(before);
      isQuiet = await stage.untilQuiet();
      stage.own(before.actors);
    }
    stage.caused = true;
    stage.set(after);
    isQuiet = (await stage.untilQuiet()) && isQuiet;
    const objects = stage.objects().map(({ kind, object }) => parseStored(kind, object));
    return { calls: stage.calls, objects, failures: stage.failures(), isQuiet };
  } finally {
    await stage.stop();
  }
}

class Stage {
  readonly #clock: VirtualClock;
  readonly #cluster: ClusterInMemory;
  readonly #services: ReadonlyMap<string, ServiceInMemory>;
  readonly #readers: readonly AccountReader[];
  readonly #operator: Operator;
  readonly calls: PlannedCall[] = [];
  caused = false;
  #actors: readonly Actor[] = [];
  #lastCallAt = 0;
  #beganAt = 0;

  constructor(readers: readonly AccountReader[]) {
    this.#readers = readers;
    this.#clock = new VirtualClock(Math.max(0, ...readers.map(({ asOfMs }) => asOfMs)));
    this.#cluster = new ClusterInMemory(this.#clock, new SeededEntropy(1));
    this.#services = new Map(
      readers.map((reader) => {
        const environmentsOf = (app: string) => expectedOf(app, this.#actors);
        return [reader.accountId, new ServiceInMemory(reader, () => this.#clock.wall(), environmentsOf)];
      }),
    );
    const entropy = new SeededEntropy(2);
    const around = { clock: this.#clock, entropy, log: silent, metrics: unmeasured };
    this.#operator = createOperator({
      ...around,
      kinds,
      api: new KubeInMemory(this.#cluster),
      hosting: this.#watched(
        openHosting({
          ...around,
          callMs: 30_000,
          // Loose host rules are safe here: every request is answered in this process.
          hostRules: { allowedHosts: [], allowInsecureLoopback: true, allowPrivateAddresses: true, proxy: undefined },
          wire: async (request) => {
            const token = request.headers['authorization'] ?? '';
            const service = this.#services.get(token.slice(tokenPrefix.length));
            return service === undefined
              ? { failed: 'connection', message: 'there is no credential for this account' }
              : service.wire(request);
          },
        }),
      ),
      callMs: 30_000,
      pollMs: 60_000,
      leadership: { mayAct: () => undefined },
      key: new OperatorKey(new Secret('a key that no operator has, for a plan')),
      instance: 'plan',
      operatorNamespace,
      namespace: undefined,
      selector: undefined,
      secretWatch: 'on',
      readOnly: false,
      powers: { sinceMs: 0, activation: true, accountReset: true },
      horizonMs: 1_000,
      workers: 32,
    });
  }

  async start(): Promise<void> {
    this.#operator.watch();
    await settle();
    await this.#operator.synced();
    this.#operator.act(0);
    await settle();
  }

  async stop(): Promise<void> {
    const stopped = this.#operator.stop();
    await Promise.race([stopped, this.#clock.advance(30_000)]);
  }

  failures(): readonly Extract<AccountReading, { is: 'failed' }>[] {
    return [...this.#services.values()].flatMap((service) => service.failures);
  }

  objects(): readonly { readonly kind: AnyKind; readonly object: KubeObject }[] {
    return kinds.flatMap((kind) => this.#cluster.all(resourceOf(kind)).map((object) => ({ kind, object })));
  }

  /** Makes the cluster equal to a scene: creates, changes and deletes objects. */
  set(scene: Scene): void {
    this.#actors = scene.actors;
    this.#beganAt = this.#clock.monotonic();
    this.#lastCallAt = this.#beganAt;
    const readership = { readers: this.#readers, operatorNamespace, tokenPrefix };
    for (const [key, values] of materialsOf(scene, readership)) this.#place(key, values);
    const wanted = new Set(scene.actors.map(({ key }) => key));
    for (const { kind, object } of this.objects()) {
      const { metadata } = object;
      if (wanted.has(keyOfObject(object)) || metadata.deletionTimestamp !== undefined) continue;
      this.#cluster.delete(resourceOf(kind), metadata.namespace, metadata.name);
    }
    for (const actor of scene.actors) this.#enter(actor);
  }

  /** Treats objects that were bound by name as created by their resource, because they usually were. */
  own(actors: readonly Actor[]): void {
    for (const actor of actors.filter(({ presumed }) => presumed === true)) {
      const resource = resourceOf(actor.kind);
      const known = this.#cluster.get(resource, placeOf(actor), actor.name);
      const internal = isRecord(known?.status) ? known.status['internal'] : undefined;
      if (known === undefined || !isRecord(internal) || internal['ownership'] !== 'Adopted') continue;
      const status = { ...(known.status as object), internal: { ...internal, ownership: 'Created' } };
      this.#cluster.update(resource, known.metadata.namespace, actor.name, { ...known, status }, 'status');
    }
  }

  /** Lets virtual time pass until no more calls are made; false when there are still some after `longestMs`. */
  async untilQuiet(): Promise<boolean> {
    for (;;) {
      await this.#rest();
      const now = this.#clock.monotonic();
      const silentMs = now - this.#lastCallAt;
      if (silentMs >= patienceMs || (silentMs >= quietMs && this.#isConcluded())) return true;
      if (now - this.#beganAt > longestMs) return false;
      const next = this.#clock.nextAt ?? now + 1_000;
      await this.#clock.advance(Math.max(1, next - now));
    }
  }

  /** Waits until all callbacks have run and every read has its answer. */
  async #rest(): Promise<void> {
    await settle();
    for (;;) {
      const answered = await Promise.all([...this.#services.values()].map((service) => service.answered()));
      if (!answered.includes(true)) return;
      await settle();
    }
  }

  /** True when every object is Ready or Stalled for its newest generation. */
  #isConcluded(): boolean {
    return this.objects().every(({ object: { metadata, status } }) => {
      return recordsIn(status, 'conditions').some(
        (condition) =>
          condition['observedGeneration'] === metadata.generation &&
          condition['status'] === 'True' &&
          (condition['type'] === 'Ready' || condition['type'] === 'Stalled'),
      );
    });
  }

  /** Wraps a hosting layer so that every call that changes something is recorded. */
  #watched(hosting: Hosting): Hosting {
    return {
      open: (settings, onList, onThrottled) => {
        const service = hosting.open(settings, (event) => onList({ ...event, service: outer }), onThrottled);
        if ('refused' in service) return service;
        const outer: Service = {
          ...service,
          send: async (request, options) => {
            const call = options.call;
            if (call === undefined || request.effect === 'read') return service.send(request, options);
            const before = await this.#services.get(settings.accountId)?.itemOf(request);
            const outcome = await service.send(request, options);
            if (outcome.is === 'notSent') return outcome;
            this.#lastCallAt = this.#clock.monotonic();
            const afterMs = this.#lastCallAt - this.#beganAt;
            const answer = outcome.is === 'committed' ? outcome.body : undefined;
            this.calls.push({ caused: this.caused, ...call, request, before, outcome: outcome.is, answer, afterMs });
            return outcome;
          },
        };
        return outer;
      },
    };
  }

  #enter(actor: Actor): void {
    const resource = resourceOf(actor.kind);
    const namespace = placeOf(actor);
    const known = this.#cluster.get(resource, namespace, actor.name);
    const metadata = {
      ...known?.metadata,
      ...actor.metadata,
      name: actor.name,
      ...(namespace !== undefined && { namespace }),
    };
    const body = { apiVersion: `${group}/${version}`, kind: actor.kind.kind, metadata, spec: actor.spec };
    if (known !== undefined) {
      this.#cluster.update(resource, namespace, actor.name, { ...known, ...body }, 'object');
      return;
    }
    const made = this.#cluster.create(resource, namespace, body);
    if (actor.live === undefined) return;
    const status = asOfGeneration(actor.live.status, actor.live.generation);
    this.#cluster.update(resource, namespace, actor.name, { ...made, status }, 'status');
  }

  #place(key: string, values: Readonly<Record<string, string>>): void {
    const { kind, namespace, name } = partsOfKey(key);
    const isSecret = kind === 'Secret';
    const resource = isSecret ? secretResource : configMapResource;
    const rows = Object.entries(values).map(([field, value]) => {
      return [field, isSecret ? Buffer.from(value).toString('base64') : value];
    });
    const body = { apiVersion: 'v1', kind, metadata: { name, namespace }, data: Object.fromEntries(rows) };
    const known = this.#cluster.get(resource, namespace, name);
    if (known === undefined) this.#cluster.create(resource, namespace, body);
    else this.#cluster.update(resource, namespace, name, { ...body, metadata: known.metadata }, 'object');
  }
}

function placeOf({ kind, namespace }: Actor): string | undefined {
  return kind.scope === 'Namespaced' ? namespace : undefined;
}

/** The environments that the documents expect for an app of this name; one with the name `?` if they expect none. */
function expectedOf(app: string, actors: readonly Actor[]): readonly Readonly<Record<string, unknown>>[] {
  const resources = actors.filter(({ kind, name, spec }) => kind === hostedApp && (spec['name'] ?? name) === app);
  const found = actors.flatMap(({ kind, namespace, spec }) => {
    const { appRef, environmentName = '?', cliEnvironmentName } = spec;
    const isOf = (one: Actor) => isRecord(appRef) && one.name === appRef['name'] && one.namespace === namespace;
    if (kind !== appEnvironment || !resources.some(isOf)) return [];
    return [{ name: environmentName, ...(cliEnvironmentName !== undefined && { cliEnvName: cliEnvironmentName }) }];
  });
  return found.length === 0 ? [{ name: '?' }] : found;
}

/** Rewrites the generations in a status for an object that was just created: the current one becomes 1, all others 0. */
function asOfGeneration(value: unknown, generation: number, within = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => asOfGeneration(item, generation));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const isOurs = name === 'observedGeneration' || (name === 'generation' && within === 'applied');
      if (isOurs && typeof inner === 'number') return [name, inner === generation ? 1 : 0];
      return [name, asOfGeneration(inner, generation, name)];
    }),
  );
}
