/**
 * The engine: watches objects, decides what is next for each, and does it.
 *
 * Guarantees: one pass per object at a time; every change of an object, of what it refers to, of a Secret it uses or of what
 * the service shows of it leads to a pass; nothing is acted on that is older than our own last write.
 */
import { sameJson } from '../base/json.ts';
import { isOlderVersion } from '../base/resource-version.ts';
import { Accounts } from './account/accounts.ts';
import { ObjectIndex, isClaim, tie, type Stored } from './objects/object-index.ts';
import { metricsSnapshot, type MetricsSnapshot } from './status/metrics-snapshot.ts';
import { DroppedReferences } from './objects/dropped-references.ts';
import { Subscriptions } from './objects/subscriptions.ts';
import { keyOf, keyOfObject, partsOfKey, reconcileToken } from './objects/names.ts';
import type { CacheEvent, KubeObject, Service, WalkListener } from './ports.ts';
import type { EngineOptions, Parts } from './parts.ts';
import { urgencies, WorkQueue, type QueueUrgency } from './queue/work-queue.ts';
import { InProcessStates } from './objects/in-process.ts';
import { Reconciler } from './reconcile/reconcile.ts';
import { AccountGate } from './account/gate.ts';
import { isReady } from './account/usage.ts';
import { recovered } from './call/call-backoff.ts';
import { Workers } from './queue/workers.ts';

/** Two who write the same status must not answer each other as fast as they can. */
const foreignStatusMs = 1_000;

export class Engine {
  readonly #parts: Parts;
  readonly #queue: WorkQueue;
  readonly #reconciler: Reconciler;
  /** The version of our last write of an object, by uid, until the watch has told it. */
  readonly #written = new Map<string, string>();
  readonly #askers = new WeakMap<Service, Map<string, Set<string>>>();
  readonly #workers: Workers;
  readonly #failing = new WeakMap<Service, Set<string>>();
  readonly #standing: AccountGate;
  readonly #dropped = new DroppedReferences();
  #quarantinedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: EngineOptions) {
    const { clock, entropy } = options;
    const onTaken = (ms: number) => options.metrics.observe('apphosting_queue_wait_seconds', {}, ms / 1_000);
    this.#queue = new WorkQueue(clock, entropy, (key) => partsOfKey(key).namespace, onTaken);
    const onWalk: WalkListener = (event) => this.#walked(event);
    this.#parts = {
      ...options,
      objects: new ObjectIndex(options.kinds, options.operatorNamespace),
      accounts: new Accounts({
        ...options,
        onWalk,
        print: (value) => options.key.print(value),
        readOnly: options.settings.readOnly,
      }),
      subscriptions: new Subscriptions(),
      inProcessStates: new InProcessStates(clock),
      wrote: (entry) => this.#wrote(entry),
      asked: (service, readKey, objectKey) => this.#ask(service, readKey, objectKey),
      quarantinedUntil: () => this.#quarantinedUntil,
      concluded: (entry, verdict) => this.#standing.concluded(entry, verdict),
      throttled: (account, ms) => this.#standing.throttled(account, ms),
    };
    this.#standing = new AccountGate({ ...this.#parts, queue: this.#queue, wake: (name) => this.#wake(name) });
    this.#reconciler = new Reconciler(this.#parts);
    const urgencyOf = (key: string) => this.#urgencyOf(key);
    this.#workers = new Workers({ parts: this.#parts, queue: this.#queue, reconciler: this.#reconciler, urgencyOf });
  }

  /** Takes what a cache of one of our kinds tells. */
  observe(event: CacheEvent): void {
    const key = keyOfObject(event.object);
    if (event.is === 'gone') {
      this.#forget(key, event.object);
      return;
    }
    const { uid, resourceVersion } = event.object.metadata;
    const written = this.#written.get(uid);
    // What we wrote is in hand already, and so is all that was before it.
    if (written !== undefined && isOlderVersion(resourceVersion, written)) return;
    this.#written.delete(uid);
    if (written !== resourceVersion) this.#note(event.object, { initial: event.initial });
  }

  /** A Secret or ConfigMap changed; whoever uses it is looked at again. */
  materialChanged(kind: 'secret' | 'configMap', namespace: string, name: string): void {
    this.#wake(tie[kind](namespace, name));
  }

  /** Whether anybody's spec names a Secret or ConfigMap. */
  usesMaterial(kind: 'secret' | 'configMap', namespace: string, name: string): boolean {
    return this.#parts.objects.tiedBy(tie[kind](namespace, name)).length > 0;
  }

  /** A namespace was made or labelled anew; shared accounts may let it in now, or no longer. */
  namespaceChanged(namespace: string): void {
    for (const entry of this.#parts.objects.values()) {
      const isShared = entry.account !== entry.key && partsOfKey(entry.account).namespace === '';
      if (isShared && entry.object.metadata.namespace === namespace) this.#queue.enqueue(entry.key, urgencies.change);
    }
  }

  /** Calls that cannot be repeated wait this long: after a take-over, or when Kubernetes went back in time. */
  quarantine(ms: number): void {
    this.#quarantinedUntil = this.#parts.clock.monotonic() + ms;
  }

  /** Looks at an object again now. */
  enqueue(kind: string, namespace: string | undefined, name: string): void {
    this.#queue.enqueue(keyOf(kind, namespace, name), urgencies.change);
  }

  /** Looks again at those of these keys that are objects of ours. */
  again(keys: readonly string[]): void {
    for (const key of keys)
      if (this.#parts.objects.get(key) !== undefined) this.#queue.enqueue(key, this.#urgencyOf(key));
  }

  get idle(): boolean {
    return this.#queue.idle;
  }

  get depth(): number {
    return this.#queue.depth;
  }

  /** Kubernetes went back in time: what we wrote may be lost, and what it says may be old. */
  rewound(): void {
    this.#written.clear();
    this.quarantine(this.#parts.settings.horizonMs);
    for (const entry of this.#parts.objects.values()) this.#queue.enqueue(entry.key, urgencies.change);
  }

  /** What is wrong with the loop itself; undefined while every pass comes to an end. */
  stuck(): string | undefined {
    return this.#workers.stuck();
  }

  /** All objects by what their Ready condition says, and what is drifting or in doubt. */
  metricsSnapshot(): MetricsSnapshot {
    return metricsSnapshot(this.#parts.objects.values(), this.#parts.clock.wall());
  }

  start(): void {
    this.#workers.start(this.#parts.settings.workers);
  }

  /** Takes no more work, lets what runs finish, and closes the services. */
  async stop(): Promise<void> {
    this.#queue.close();
    await this.#workers.ended();
    await this.#parts.accounts.closeAll();
  }

  /** What we wrote counts from now on, however late the watch tells it. */
  #wrote({ object, status }: Stored): void {
    const { uid, resourceVersion } = object.metadata;
    const known = this.#parts.objects.get(keyOfObject(object))?.object.metadata;
    if (known?.uid !== uid || !isOlderVersion(known.resourceVersion, resourceVersion)) return;
    this.#written.set(uid, resourceVersion);
    this.#note(object, { own: status });
  }

  /** Takes the newest form of an object; `own` is what status says where we wrote it. */
  #note(object: KubeObject, { initial = false, own }: { initial?: boolean; own?: Stored['status'] }): void {
    const key = keyOfObject(object);
    const before = this.#parts.objects.get(key);
    const entry = this.#parts.objects.apply(object, own);
    if (entry === undefined) return;
    this.#noteForced(entry);
    const change = changeOf(object, before);
    // A pass is about to end with what it wrote itself.
    if (own === undefined || change === 'wish')
      this.#queue.enqueue(
        key,
        urgencyOf(object, before, initial),
        change === 'status' && !initial ? foreignStatusMs : 0,
      );
    if (before === undefined || isReady(before) !== isReady(entry)) this.#standing.recount(entry);
    this.#wakeBlocked(this.#dropped.noted(before, entry));
    for (const name of entry.ties) if (isClaim(name) && before?.ties.includes(name) !== true) this.#wake(name);
    if (!sameTarget(before, entry))
      this.#wake(tie.object(entry.kind.kind, object.metadata.namespace, object.metadata.name));
  }

  #forget(key: string, object: KubeObject): void {
    const entry = this.#parts.objects.get(key);
    if (entry !== undefined && entry.object.metadata.uid !== object.metadata.uid) return;
    this.#parts.objects.remove(key);
    this.#parts.subscriptions.drop(key);
    this.#parts.inProcessStates.forget(object.metadata.uid);
    this.#written.delete(object.metadata.uid);
    this.#queue.drop(key);
    this.#workers.went(key);
    this.#wake(tie.object(object.kind, object.metadata.namespace, object.metadata.name));
    if (entry === undefined) return;
    this.#reconciler.bury(entry);
    this.#parts.accounts.unlearn(entry.account, key);
    for (const name of entry.ties) if (isClaim(name)) this.#wake(name);
    this.#wakeBlocked(this.#dropped.forget(entry));
    if (entry.kind.life === 'account') {
      void this.#parts.accounts.forget(key);
      this.#wake(tie.account(key));
    } else this.#standing.recount(entry);
  }

  /** What is referred to no longer may have been kept from being deleted by that. */
  #wakeBlocked(keys: ReadonlySet<string>): void {
    for (const key of keys) {
      if (this.#parts.objects.get(key)?.object.metadata.deletionTimestamp !== undefined)
        this.#queue.enqueue(key, urgencies.deletion);
    }
  }

  #ask(service: Service, readKey: string, objectKey: string): void {
    const reads = this.#askers.get(service) ?? new Map<string, Set<string>>();
    this.#askers.set(service, reads);
    reads.set(readKey, (reads.get(readKey) ?? new Set()).add(objectKey));
  }

  #walked({ service, key, changed, problem }: Parameters<WalkListener>[0]): void {
    const askers = this.#askers.get(service)?.get(key) ?? new Set<string>();
    this.#askers.get(service)?.delete(key);
    if (problem === undefined) this.#standing.walked(service, key);
    const turned = this.#turned(service, key, problem !== undefined);
    const concerned = this.#parts.subscriptions.concerned(service, key, changed, turned);
    if (turned && problem === undefined) this.#recovered(concerned);
    for (const object of new Set([...askers, ...concerned])) this.#queue.enqueue(object, this.#urgencyOf(object));
  }

  /** A service that works again is used again soon, whatever pause its failures had come to. */
  #recovered(keys: Iterable<string>): void {
    const { objects, inProcessStates, clock } = this.#parts;
    for (const key of keys) {
      const uid = objects.get(key)?.object.metadata.uid;
      if (uid !== undefined) recovered(inProcessStates.of(uid), clock.monotonic());
    }
  }

  /** What was not made yet stays behind what is there, but ahead of what nobody has looked at yet. */
  #urgencyOf(key: string): QueueUrgency {
    const entry = this.#parts.objects.get(key);
    const isNew = entry?.kind.life === 'long' && entry.status.memory.id === undefined;
    return isNew && entry.object.metadata.deletionTimestamp === undefined ? urgencies.begun : urgencies.change;
  }

  /** Whether a read that worked fails now, or the other way round. */
  #turned(service: Service, key: string, fails: boolean): boolean {
    const failing = this.#failing.get(service) ?? new Set<string>();
    this.#failing.set(service, failing);
    if (fails) return failing.size !== failing.add(key).size;
    return failing.delete(key);
  }

  #wake(name: string): void {
    for (const key of this.#parts.objects.tiedBy(name)) this.#queue.enqueue(key, urgencies.change);
  }

  #noteForced(entry: Stored): void {
    const { metadata } = entry.object;
    const token = reconcileToken(entry.object);
    const inProcess = this.#parts.inProcessStates.of(metadata.uid);
    this.#standing.noteAccepted(entry);
    if (token === undefined || token === entry.status.lastHandledReconcileAt) inProcess.forced = undefined;
    else if (inProcess.forced?.token !== token) inProcess.forced = { token, since: this.#parts.clock.monotonic() };
  }
}

/** What is new of an object: what is wanted of it, its finalizers, or at most its status. */
function changeOf(object: KubeObject, before: Stored | undefined): 'wish' | 'finalizers' | 'status' {
  if (before === undefined) return 'wish';
  const [old, fresh] = [before.object.metadata, object.metadata];
  const isWished =
    old.uid !== fresh.uid ||
    old.generation !== fresh.generation ||
    old.deletionTimestamp !== fresh.deletionTimestamp ||
    !sameJson(old.annotations, fresh.annotations);
  if (isWished) return 'wish';
  return sameJson(old.finalizers, fresh.finalizers) ? 'status' : 'finalizers';
}

/** Changing what is there goes before making what is new: one edit does not wait for ten thousand new objects. */
function urgencyOf(object: KubeObject, before: Stored | undefined, initial: boolean): QueueUrgency {
  if (object.metadata.deletionTimestamp !== undefined) return urgencies.deletion;
  if (initial || before === undefined) return urgencies.initial;
  return before.object.metadata.generation === object.metadata.generation ? urgencies.change : urgencies.edit;
}

/** Whether an object looks the same to those that refer to it. */
function sameTarget(before: Stored | undefined, now: Stored): boolean {
  const [old, fresh] = [before?.status.memory, now.status.memory];
  if (old?.applied?.generation !== fresh.applied?.generation) return false;
  return before !== undefined && old?.id === fresh.id && JSON.stringify(old?.facts) === JSON.stringify(fresh.facts);
}
