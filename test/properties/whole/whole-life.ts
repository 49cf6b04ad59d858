/**
 * A random life of the whole: people who write resources, people who work in the service, and everything that can go wrong on
 * the way, all drawn from one seed. What was done is kept as a trace.
 */
import type { KubeObject } from '../../../src/engine/ports.ts';
import type { Interference } from '../../support/disturbed-wire.ts';
import { InProcess, type InProcessOptions } from '../../support/in-process.ts';
import { disturbances, Draw, secrets, subjects, type Subject } from './whole-subjects.ts';

/** What a status names. */
interface Seen {
  readonly externalId?: string;
  readonly conditions?: readonly { readonly message: string }[];
}

/** What people made in the service with their own hands, as they left it; undefined for what they deleted. */
export type Foreign = Map<string, { readonly name: string } | undefined>;

/** One life: the world, what people did, and what is needed to judge it. */
export class WholeLife {
  readonly draw: Draw;
  readonly trace: string[] = [];
  readonly foreign: Foreign = new Map();
  /** Everything that people made by hand, adopted since or not. */
  readonly theirs = new Set<string>();
  readonly processes: InProcess[];
  /** Somebody restored the cluster, so that what it knew is lost. */
  isRewound = false;
  /** Every id that a status ever named as its own. */
  readonly bound = new Set<string>();
  /** Every text of an event or a status that said something about ids. */
  readonly said = new Set<string>();
  /** Where a planted secret was seen. */
  readonly leaks: string[] = [];
  world: InProcess;
  #snapshot: ReturnType<InProcess['cluster']['snapshot']> | undefined;
  #interference: Interference = () => undefined;
  readonly #options: InProcessOptions;

  /** `options` are those of every process in it. */
  constructor(seed: number, options: InProcessOptions = {}) {
    this.draw = new Draw(seed);
    this.#options = options;
    this.world = new InProcess({ ...options, seed });
    this.processes = [this.world];
    this.world.cluster.listen(({ object }) => this.#see(object));
  }

  #see(object: KubeObject): void {
    if (object.kind === 'Secret') return;
    const text = JSON.stringify(object);
    if (text.includes('planted-') || text.includes('demo-admin'))
      this.leaks.push(`${object.kind} ${object.metadata.name}`);
    if (object.kind === 'Event') this.said.add(String(object['note']));
    const { externalId, conditions = [] } = (object.status ?? {}) as Seen;
    if (externalId !== undefined) this.bound.add(externalId);
    for (const { message } of conditions) this.said.add(message);
  }

  async begin(): Promise<void> {
    await this.world.start();
    const spec = { lifecycle: { adoption: 'ByName' }, budget: { requestsPerSecond: 20, concurrency: 8 } };
    for (const within of ['team', 'side']) this.world.account(spec, within);
    this.#rotate();
    await this.world.run(5_000);
    for (const subject of subjects) if (this.draw.chance(0.7)) this.#apply(subject);
  }

  /** One random thing happens, and then some time passes. */
  async happen(): Promise<void> {
    const { draw } = this;
    const kind = draw.below(100);
    if (kind < 22) this.#apply(draw.of(subjects));
    else if (kind < 32) this.#delete(draw.of(subjects));
    else if (kind < 36) this.#annotate(draw.of(subjects));
    else if (kind < 39) this.#rotate();
    else if (kind < 43) this.#adopt();
    else if (kind < 55) await this.#meddle();
    else if (kind < 72) this.#disturb();
    else if (kind < 82) this.#troubleKubernetes();
    else if (kind < 87) await this.#crash();
    else if (kind < 90) await this.#takeOver();
    else if (kind < 93) this.#rewind();
    else if (kind < 95) this.#sleep();
    await this.world.run(draw.of([0, 100, 1_000, 3_000, 10_000, 40_000, 90_000]));
    // Whoever lost the lease notices in the end, and ends.
    for (const process of this.processes) if (process !== this.world) process.kill();
  }

  /** Nothing goes wrong any more, and nobody holds anything. */
  calm(): void {
    this.#say('calm');
    this.#interference = () => undefined;
    for (const process of this.processes) {
      process.interference = this.#interference;
      process.kube.watchLagMs = 0;
      process.kube.cut = false;
      process.kube.forgive();
    }
    for (const { kind, name, within } of subjects) {
      const known = this.world.get(kind, name, within);
      if (known?.metadata.annotations?.['apphosting.dev/paused'] !== undefined)
        this.#write(known, known.spec as object, {});
    }
  }

  /** Keeps what happened for whoever reads a finding. */
  tell(what: string): void {
    this.#say(what);
  }

  #say(what: string): void {
    this.trace.push(`${Math.round(this.world.clock.monotonic() / 1_000)}s ${what}`);
  }

  #write({ kind, metadata }: KubeObject, spec: object, annotations: Readonly<Record<string, string>>): void {
    this.world.apply(kind, metadata.name, spec, annotations, metadata.namespace);
  }

  #apply({ kind, name, within, spec }: Subject): void {
    const known = this.world.get(kind, name, within);
    if (known?.metadata.deletionTimestamp !== undefined) return;
    const wanted = spec(this.draw);
    this.#say(`apply ${kind} ${within}/${name} ${JSON.stringify(wanted)}`);
    this.world.apply(kind, name, wanted, known?.metadata.annotations ?? {}, within);
  }

  #delete({ kind, name, within }: Subject): void {
    if (this.world.get(kind, name, within) === undefined) return;
    this.#say(`delete ${kind} ${within}/${name}`);
    this.world.delete(kind, name, within);
  }

  #annotate({ kind, name, within }: Subject): void {
    const known = this.world.get(kind, name, within);
    if (known === undefined) return;
    const annotations: Readonly<Record<string, string>> = this.draw.of<Record<string, string>>([
      {},
      { 'apphosting.dev/paused': 'true' },
      { 'apphosting.dev/reconcile-at': String(this.world.clock.monotonic()) },
    ]);
    this.#say(`annotate ${kind} ${within}/${name} ${JSON.stringify(annotations)}`);
    this.#write(known, known.spec as object, annotations);
  }

  #rotate(): void {
    const value = this.draw.of(secrets);
    this.#say(`the Secret hook becomes ${value}`);
    for (const within of ['team', 'side'])
      this.world.secret('hook', { url: `https://hook.example.com/${value}` }, within);
  }

  /** Somebody names an object of the service in a spec. */
  #adopt(): void {
    const [id] = [...this.foreign].filter(([, left]) => left !== undefined).map(([one]) => one);
    const known = this.world.get('ContactPoint', 'ops');
    if (id === undefined || known === undefined || known.metadata.deletionTimestamp !== undefined) return;
    this.#say(`ContactPoint team/ops adopts ${id}`);
    this.foreign.delete(id);
    this.#write(known, { ...(known.spec as object), externalId: id }, known.metadata.annotations ?? {});
  }

  /** Somebody works in the service by hand. */
  async #meddle(): Promise<void> {
    const { draw, world } = this;
    if (draw.chance(0.25)) {
      const name = draw.of(['shared', 'theirs', 'team-ops']);
      const body = { accountId: 'acc_demo', name, type: 'email', config: { addresses: ['they@example.com'] } };
      const reply = await world.request('POST', '/contact-point', body);
      const { contactPointId } = (reply.body as { contactPoint: { contactPointId: string } }).contactPoint;
      this.foreign.set(contactPointId, { name });
      this.theirs.add(contactPointId);
      this.#say(`somebody makes contact point ${contactPointId} "${name}"`);
      return;
    }
    const id = this.#boundId(draw.of(['ContactPoint', 'MetricAlert']));
    if (id === undefined) return;
    const [path, key, change] = id.startsWith('cp_')
      ? (['/contact-point', 'contactPointId', { name: draw.of(['renamed', 'shared']) }] as const)
      : (['/alert', 'alertId', { threshold: 10 + draw.below(3) }] as const);
    const removes = draw.chance(0.3);
    this.#say(`somebody ${removes ? 'deletes' : `sets ${JSON.stringify(change)} of`} ${id}`);
    if (removes) await world.request('DELETE', `${path}?${key}=${id}`);
    else await world.request('PATCH', path, { [key]: id, ...change });
  }

  #boundId(kind: string): string | undefined {
    const field = kind === 'ContactPoint' ? 'contactPointId' : 'alertId';
    const ids = subjects
      .filter((subject) => subject.kind === kind)
      .map(
        ({ name, within }) =>
          (this.world.get(kind, name, within)?.status as Record<string, string> | undefined)?.[field],
      )
      .filter((id) => id !== undefined);
    return ids.length === 0 ? undefined : this.draw.of(ids);
  }

  /** The next requests to the service, or some of them, meet trouble. */
  #disturb(): void {
    const what = this.draw.of(disturbances);
    const onlyWrites = this.draw.chance(0.6);
    let left = 1 + this.draw.below(this.draw.chance(0.2) ? 12 : 3);
    this.#say(`${JSON.stringify(what)} for ${left} ${onlyWrites ? 'writes' : 'requests'}`);
    this.#interference = ({ method, path }) => {
      if (left === 0 || (onlyWrites && (method === 'GET' || path.endsWith('/alert/refresh')))) return undefined;
      left -= 1;
      return what;
    };
    for (const process of this.processes) process.interference = this.#interference;
  }

  #troubleKubernetes(): void {
    const { draw } = this;
    const { kube } = this.world;
    switch (draw.below(5)) {
      case 0: {
        kube.watchLagMs = draw.of([0, 500, 5_000, 20_000]);
        this.#say('the watches lag');
        return;
      }
      case 1:
        this.#say('all watches end');
        kube.endWatches();
        return;
      case 2:
        kube.cut = draw.chance(0.5);
        this.#say('the network to Kubernetes is cut, or back');
        return;
      case 3:
        this.#say('history is forgotten');
        this.world.cluster.compact();
        kube.endWatches();
        return;
      default: {
        const outcome = draw.of(['conflict', 'unavailable', 'timeout', 'throttled'] as const);
        const effect = outcome === 'conflict' ? 'before' : draw.of(['before', 'after'] as const);
        const verb = draw.of(['replaceStatus', 'replaceStatus', 'patch', 'get'] as const);
        const times = 1 + draw.below(3);
        this.#say(`${times} times ${verb} ends as ${outcome}, ${effect} it is done`);
        kube.inject({ verb, effect, outcome, times });
      }
    }
  }

  async #crash(): Promise<void> {
    this.#say('the process dies, another one begins');
    await this.world.crash(120_000);
    this.world.interference = this.#interference;
  }

  /** Another process takes the lease while this one is slow: it may act no more, but what it sent is on its way. */
  async #takeOver(): Promise<void> {
    this.#say('another process takes over');
    this.world.leadership.why = 'another process has the lease';
    const next = new InProcess({ ...this.#options, beside: this.world, seed: this.draw.below(1_000) });
    next.interference = this.#interference;
    this.processes.push(next);
    this.world = next;
    await next.start(120_000);
  }

  #rewind(): void {
    if (this.#snapshot === undefined || this.draw.chance(0.5)) {
      this.#snapshot = this.world.cluster.snapshot();
      this.#say('the cluster is backed up');
      return;
    }
    this.#say('the cluster is restored from the backup');
    this.isRewound = true;
    this.world.cluster.restore(this.#snapshot);
  }

  #sleep(): void {
    const ms = this.draw.of([20_000, 100_000, 3_600_000]);
    const isReal = this.draw.chance(0.5);
    this.#say(isReal ? `the machine sleeps for ${ms} ms` : `the clock of the machine jumps by ${ms} ms`);
    if (isReal) this.world.sleep(ms);
    else this.world.clock.suspend(ms);
  }
}
