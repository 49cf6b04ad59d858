/**
 * The engine: watches objects, and enqueues and reconciles each of them.
 *
 * Guarantees: one reconcile per object at a time; a reconcile after every change of an object, its references, its
 * Secrets or its state in the service; no decision on a version of an object that is older than the operator's own last
 * write.
 */
import { sameJson, isOlderVersion } from '../base/json.ts';
import { Accounts, allowanceOf } from './account/accounts.ts';
import {
  ObjectIndex,
  isClaim,
  referredKey,
  indexKey,
  type Stored,
  keyOfObject,
  partsOfKey,
  reconcileToken,
  countGroupOf,
} from './objects/stored.ts';
import { metricsSnapshot, type MetricsSnapshot } from './objects/metrics-snapshot.ts';
import { InProcessStates } from './objects/in-process.ts';
import { Subscriptions } from './objects/subscriptions.ts';
import type { CacheEvent, KubeObject, ListListener, MaterialName } from './ports.ts';
import { isBeingMade } from './context/build-pass.ts';
import type { EngineParts } from './context/parts.ts';
import type { EngineOptions } from './options.ts';
import { urgencies, WorkQueue, type QueueGroup, type QueueUrgency, Workers } from './queue.ts';
import { ExclusiveLocks, OpenCreates } from './objects/open-creates.ts';
import { Reconciler } from './reconcile.ts';
import { AccountGate } from './account/gate.ts';

/**
 * The delay of a reconcile after somebody else changed status, labels or finalizers, so that two writers do not race each
 * other.
 */
const foreignStatusMs = 1_000;

/** Turns events of Kubernetes and of the service into reconciles, and connects the parts of the engine. */
export class Engine {
  readonly #parts: EngineParts;
  readonly #reconciler: Reconciler;
  /**
   * The resourceVersion of the operator's last write of each object, by uid, until the watch has delivered that write.
   */
  readonly #written = new Map<string, string>();
  /** The number of calls under way, by account. */
  readonly #calls = new Map<string, number>();
  readonly #workers: Workers;

  constructor(options: EngineOptions) {
    const { clock, metrics } = options;
    const queue = new WorkQueue({
      ...options,
      onTaken: (ms) => metrics.observe('apphosting_queue_wait_seconds', {}, ms / 1_000),
      groupOf: (key) => this.#groupOf(key),
      isBusy: (account) => this.#isBusy(account),
    });
    const accounts = new Accounts(
      options,
      (event) => this.#listed(event),
      (service) => this.#parts.gate.toldToSlowDown(service),
    );
    const objects = new ObjectIndex(options.kinds, options.operatorNamespace);
    const subscriptions = new Subscriptions();
    const inProcessStates = new InProcessStates(clock);
    const around = { ...options, queue, objects, accounts, subscriptions, inProcessStates };
    this.#parts = {
      ...around,
      gate: new AccountGate(around),
      openCreates: new OpenCreates(objects, clock, options.settings.horizonMs),
      locks: new ExclusiveLocks(),
      awaitingClaims: new Map(),
      wrote: (stored) => this.#wrote(stored),
      takeOverEndsAt: Number.NEGATIVE_INFINITY,
      calling: (account) => this.#calling(account),
      away: (wait) => this.#workers.away(wait),
    };
    this.#reconciler = new Reconciler(this.#parts);
    this.#workers = new Workers({
      ...around,
      reconcile: (key) => this.#reconciler.reconcile(key),
      sayFailed: (key, error) => this.#reconciler.sayFailed(key, error),
      urgencyOf: (key) => this.#urgencyOf(key),
    });
  }

  /** Handles an event from the watch of one of the operator's kinds. */
  observe(event: CacheEvent): void {
    const key = keyOfObject(event.object);
    if (event.is === 'gone') {
      this.#forget(key, event.object);
      return;
    }
    const { uid, resourceVersion } = event.object.metadata;
    const written = this.#written.get(uid);
    // Skip the event about the operator's own last write, and events about older versions, because the engine already
    // knows what was written.
    if (written !== undefined && isOlderVersion(resourceVersion, written)) return;
    this.#written.delete(uid);
    if (written !== resourceVersion) this.#note(event.object, { initial: event.initial });
  }

  /** Enqueues every object that uses a Secret or ConfigMap that changed. */
  materialChanged(material: MaterialName): void {
    this.#wake(indexKey.material(material));
  }

  /** True when the spec of some object names this Secret or ConfigMap. */
  usesMaterial(material: MaterialName): boolean {
    return this.#parts.objects.indexedBy(indexKey.material(material)).length > 0;
  }

  /**
   * Enqueues the objects in a new or relabelled namespace that use cluster-wide accounts, since an account may now
   * allow or forbid the namespace.
   */
  namespaceChanged(namespace: string): void {
    const { objects, queue } = this.#parts;
    for (const stored of objects.values()) {
      const isShared = stored.account !== stored.key && partsOfKey(stored.account).namespace === '';
      if (isShared && stored.object.metadata.namespace === namespace) queue.enqueue(stored.key, urgencies.change);
    }
  }

  /**
   * For `ms` milliseconds, delays deletions and the calls that must not be sent twice, except the settings of a
   * protection that exists, and a set-up of a protection that has a journal entry. Called after a leader ended without
   * releasing its lease, and after the cluster was restored from a backup.
   */
  takeOver(ms: number): void {
    this.#parts.takeOverEndsAt = this.#parts.clock.monotonic() + ms;
  }

  /** Enqueues the given keys, except those that are not keys of the operator's objects. */
  again(keys: readonly string[]): void {
    for (const key of keys)
      if (this.#parts.objects.get(key) !== undefined) this.#parts.queue.enqueue(key, this.#urgencyOf(key));
  }

  get depth(): number {
    return this.#parts.queue.depth;
  }

  /**
   * Called when the cluster was restored from a backup, which may have undone writes of the operator. Reconciles all
   * objects. Also calls `takeOver`, which delays some calls for one horizon.
   */
  rewound(): void {
    this.#written.clear();
    this.takeOver(this.#parts.settings.horizonMs);
    for (const stored of this.#parts.objects.values()) this.#parts.queue.enqueue(stored.key, urgencies.change);
  }

  /** Returns why the process should be restarted; undefined while every reconcile ends in time. */
  stuck(): string | undefined {
    return this.#workers.stuck();
  }

  /** Counts all objects for the metrics, such as how many are Ready and how many have a call with an unknown outcome. */
  metricsSnapshot(): MetricsSnapshot {
    return metricsSnapshot(this.#parts.objects.values(), this.#parts.clock.wall());
  }

  start(): void {
    this.#workers.start(this.#parts.settings.workers);
  }

  /** Stops taking keys from the queue, waits for the running reconciles, and closes the connections to the service. */
  async stop(): Promise<void> {
    this.#parts.queue.close();
    await this.#workers.ended();
    await this.#parts.accounts.closeAll();
  }

  /** Stores the object that the API server returned for the operator's own write, without waiting for the watch. */
  #wrote({ object, status }: Stored): void {
    const { uid, resourceVersion } = object.metadata;
    const known = this.#parts.objects.get(keyOfObject(object))?.object.metadata;
    if (known?.uid !== uid || !isOlderVersion(known.resourceVersion, resourceVersion)) return;
    this.#written.set(uid, resourceVersion);
    this.#note(object, { own: status });
  }

  /**
   * Stores the newest version of an object and enqueues everything that the change affects. `own` is the parsed status
   * of the object if the operator itself wrote this version, otherwise undefined.
   */
  #note(object: KubeObject, { initial = false, own }: { initial?: boolean; own?: Stored['status'] }): void {
    const key = keyOfObject(object);
    const before = this.#parts.objects.get(key);
    const stored = this.#parts.objects.apply(object, own);
    if (stored === undefined) return;
    this.#noteForced(stored);
    const isWish = isWished(object, before);
    // After the operator's own status write the object need not be reconciled.
    if (own === undefined || isWish)
      this.#parts.queue.enqueue(key, urgencyOfChange(object, before, initial), isWish || initial ? 0 : foreignStatusMs);
    this.#recount(before, stored);
    this.#wakeBlocked((before?.indexKeys ?? []).filter((name) => !stored.indexKeys.includes(name)));
    for (const name of stored.indexKeys)
      if (isClaim(name) && before?.indexKeys.includes(name) !== true) this.#wake(name);
    if (!sameTarget(before, stored))
      this.#wake(indexKey.object(stored.kind.kind, object.metadata.namespace, object.metadata.name));
  }

  #forget(key: string, object: KubeObject): void {
    const stored = this.#parts.objects.get(key);
    if (stored !== undefined && stored.object.metadata.uid !== object.metadata.uid) return;
    this.#parts.objects.remove(key);
    this.#parts.subscriptions.drop(key);
    this.#parts.inProcessStates.forget(object.metadata.uid);
    this.#written.delete(object.metadata.uid);
    this.#parts.queue.drop(key);
    this.#workers.went(key);
    this.#wake(indexKey.object(object.kind, object.metadata.namespace, object.metadata.name));
    if (stored === undefined) return;
    this.#reconciler.noteGone(stored);
    for (const name of stored.indexKeys) if (isClaim(name)) this.#wake(name);
    this.#wakeBlocked(stored.indexKeys);
    if (stored.kind.life === 'account') {
      void this.#parts.accounts.forget(key);
      this.#parts.gate.wakeUsers(key);
    } else this.#recount(stored, undefined);
  }

  /**
   * Enqueues the account of a resource if the account's counts of resources have changed: the resource was created or
   * deleted, or it now belongs to another group (such as Ready or Throttled).
   */
  #recount(before: Stored | undefined, now: Stored | undefined): void {
    const [was, is] = [countGroupOf(before), countGroupOf(now)];
    const { kind, account = '' } = now ?? before ?? {};
    if (kind?.life !== 'account' && was !== is) this.#parts.gate.recount(account, [was, is]);
  }

  /**
   * Called with the index keys that a resource no longer has. If such a key stands for an object that is being deleted,
   * enqueues that object: its deletion may have waited until the resource no longer referred to it.
   */
  #wakeBlocked(indexKeys: readonly string[]): void {
    for (const key of indexKeys.map(referredKey)) {
      if (key !== undefined && this.#parts.objects.get(key)?.object.metadata.deletionTimestamp !== undefined)
        this.#parts.queue.enqueue(key, urgencies.deletion);
    }
  }

  /**
   * Returns the namespace and the account under which a key waits in the queue. Keys of an account with too many
   * running calls have to wait. The key of the account object itself is not among them, because the account must be
   * able to report what is wrong with the service.
   */
  #groupOf(key: string): QueueGroup {
    const stored = this.#parts.objects.get(key);
    const account = stored === undefined || stored.kind.life === 'account' ? '' : stored.account;
    return { namespace: partsOfKey(key).namespace, account };
  }

  #calling(account: string): () => void {
    this.#calls.set(account, (this.#calls.get(account) ?? 0) + 1);
    return () => {
      const left = (this.#calls.get(account) ?? 1) - 1;
      if (left > 0) this.#calls.set(account, left);
      else this.#calls.delete(account);
      this.#parts.queue.resume();
    };
  }

  /**
   * True while an account has too many calls under way. Its objects then wait in the work queue, where an edited object
   * goes before new ones. If they were reconciled now, their calls would wait for the request budget, where an edit
   * cannot overtake a creation.
   */
  #isBusy(account: string): boolean {
    const opened = this.#parts.accounts.opened(account);
    const calls = this.#calls.get(account) ?? 0;
    return opened !== undefined && calls >= 2 * allowanceOf(opened.spec).concurrency + 2;
  }

  #listed(event: Parameters<ListListener>[0]): void {
    if (event.problem === undefined) this.#parts.gate.listed(event.service, event.key);
    const { objects, hasRecovered } = this.#parts.subscriptions.listed(event);
    for (const key of objects) {
      const uid = this.#parts.objects.get(key)?.object.metadata.uid;
      if (hasRecovered && uid !== undefined)
        this.#parts.inProcessStates.of(uid).recovered(this.#parts.clock.monotonic());
      this.#parts.queue.enqueue(key, this.#urgencyOf(key));
    }
  }

  /**
   * Returns the urgency with which an object is enqueued when something outside the object has changed. An object that
   * still has to be created in the service goes after the others, but before objects that were never reconciled.
   */
  #urgencyOf(key: string): QueueUrgency {
    const stored = this.#parts.objects.get(key);
    const isNew = stored?.kind.life === 'long' && stored.status.memory.id === undefined;
    return isNew && stored.object.metadata.deletionTimestamp === undefined ? urgencies.begun : urgencies.change;
  }

  #wake(name: string): void {
    const { objects, queue, awaitingClaims } = this.#parts;
    for (const { key } of objects.indexedBy(name)) queue.enqueue(key, urgencies.change);
    const waiting = awaitingClaims.get(name) ?? [];
    awaitingClaims.delete(name);
    this.again([...waiting]);
  }

  #noteForced(stored: Stored): void {
    const token = reconcileToken(stored.object);
    const isHandled = token === stored.status.lastHandledReconcileAt;
    if (stored.kind.life === 'account') this.#parts.gate.noteAccepted(stored);
    const inProcess = this.#parts.inProcessStates.of(stored.object.metadata.uid);
    inProcess.noteForced(isHandled ? undefined : token, this.#parts.clock.monotonic());
  }
}

/**
 * True for a new object, and when something that a user decides (spec, annotations or deletion) has changed. False when
 * only other parts have changed, such as status, labels or finalizers.
 */
function isWished({ metadata: fresh }: KubeObject, before: Stored | undefined): boolean {
  const old = before?.object.metadata;
  return (
    old?.uid !== fresh.uid ||
    old.generation !== fresh.generation ||
    old.deletionTimestamp !== fresh.deletionTimestamp ||
    !sameJson(old.annotations, fresh.annotations)
  );
}

/**
 * Returns the urgency of a changed object. Edits go before creations, so that one edit does not wait for ten thousand
 * new objects.
 */
function urgencyOfChange(object: KubeObject, before: Stored | undefined, initial: boolean): QueueUrgency {
  if (object.metadata.deletionTimestamp !== undefined) return urgencies.deletion;
  if (initial || before === undefined) return urgencies.initial;
  return before.object.metadata.generation === object.metadata.generation ? urgencies.change : urgencies.edit;
}

/**
 * True when the change does not matter to the objects that refer to this object: for example, its id in the service is
 * still the same.
 */
function sameTarget(before: Stored | undefined, now: Stored): boolean {
  const [old, fresh] = [before?.status.memory, now.status.memory];
  if (old?.applied?.generation !== fresh.applied?.generation) return false;
  if (before !== undefined && isBeingMade(before) !== isBeingMade(now)) return false;
  return before !== undefined && old?.id === fresh.id && sameJson(old?.facts, fresh.facts);
}
