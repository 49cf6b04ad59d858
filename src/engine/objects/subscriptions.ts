/**
 * Subscriptions: which objects a change in the service concerns.
 *
 * Guarantees: a list is polled exactly while some object's last reconcile used it; an object that used one item is
 * reconciled when that item changes, one that used the whole list at any change.
 */
import type { View } from '../kind/contract/pass.ts';
import { groupId, type Read, type ReadProblem, type Service, type Snapshot } from '../ports.ts';

/** What one reconcile used of one read: single ids, or everything. */
interface Look {
  readonly read: Read;
  readonly ids: Set<string>;
  all: boolean;
}

/** What one reconcile used, by the key of the read. */
type Looked = Map<string, Look>;

interface Followed {
  readonly read: Read;
  readonly unfollow: () => void;
  readonly all: Set<string>;
  readonly byId: Map<string, Set<string>>;
}

/** A view that records which reads and items are used. */
export class RecordingView implements View {
  readonly looked: Looked = new Map();
  readonly service: Service;
  readonly #freshSince: number;

  /** Hides lists that began before `freshSince`, the time of a `reconcile-at`. */
  constructor(service: Service, freshSince: number = Number.NEGATIVE_INFINITY) {
    this.service = service;
    this.#freshSince = freshSince;
  }

  all<Item>(read: Read<Item>): Snapshot<Item> | undefined {
    this.#look(read).all = true;
    return this.#snapshot(read);
  }

  one<Item>(read: Read<Item>, id: string): { snapshot: Snapshot<Item>; item: Item | undefined } | undefined {
    this.#look(read).ids.add(id);
    const snapshot = this.#snapshot(read);
    return snapshot === undefined ? undefined : { snapshot, item: snapshot.items.get(id) };
  }

  group<Item>(read: Read<Item>, group: string): { snapshot: Snapshot<Item>; items: readonly Item[] } | undefined {
    const found = this.one(read, groupId(group));
    if (found === undefined) return undefined;
    const items = [...found.snapshot.items.values()].filter((item) => read.groupOf?.(item) === group);
    return { snapshot: found.snapshot, items };
  }

  /** The polled reads that were looked at and not listed since `at`. */
  polledBefore(at: number = Number.NEGATIVE_INFINITY): readonly string[] {
    const polled = [...this.looked.values()].filter(({ read }) => read.pace === 'poll');
    const old = polled.filter(({ read }) => (this.service.snapshot(read)?.begunAt ?? at) < at);
    return old.map(({ read }) => read.key);
  }

  /** The rate-limited reads that were looked at, and were neither listed nor failed since `at`. */
  rateLimitedBefore(at: number): readonly Read[] {
    const limited = [...this.looked.values()].map(({ read }) => read).filter(({ pace }) => pace === 'rateLimited');
    return limited.filter((read) => {
      const [snapshot, problem] = [this.service.snapshot(read), this.service.problem(read)];
      return (snapshot?.begunAt ?? at - 1) < at && (problem?.at ?? at - 1) < at;
    });
  }

  /** True when something that was looked at shows this id in a list that began after `at`. */
  shownAfter(at: number, id: string): boolean {
    return [...this.looked.values()].some(({ read }) => {
      const snapshot = this.service.snapshot(read);
      return snapshot !== undefined && snapshot.begunAt > at && snapshot.items.has(id);
    });
  }

  #snapshot<Item>(read: Read<Item>): Snapshot<Item> | undefined {
    const snapshot = this.service.snapshot(read);
    return snapshot !== undefined && snapshot.begunAt >= this.#freshSince ? snapshot : undefined;
  }

  problem(read: Read): ReadProblem | undefined {
    if (!this.looked.has(read.key)) this.#look(read).all = true;
    return this.service.problem(read);
  }

  #look(read: Read): Look {
    const known = this.looked.get(read.key) ?? { read, ids: new Set<string>(), all: false };
    this.looked.set(read.key, known);
    return known;
  }
}

/** Follows a read, and follows it anew when its interval changed. */
function following(known: Followed | undefined, service: Service, read: Read): Followed {
  if (known !== undefined && known.read.rateLimitedMs === read.rateLimitedMs) return known;
  const unfollow = service.follow(read);
  known?.unfollow();
  return { read, unfollow, all: known?.all ?? new Set(), byId: known?.byId ?? new Map() };
}

export class Subscriptions {
  readonly #byService = new Map<Service, Map<string, Followed>>();
  readonly #byObject = new Map<string, { readonly service: Service; readonly looked: Looked }>();

  /** Subscribes an object to what its newest pass looked at, and to nothing else. */
  replace(object: string, service: Service, looked: Looked): void {
    const before = this.#byObject.get(object);
    this.#byObject.set(object, { service, looked });
    for (const [key, look] of looked) this.#add(object, service, key, look);
    if (before !== undefined) this.#remove(object, before.service, before.looked, service, looked);
  }

  drop(object: string): void {
    const before = this.#byObject.get(object);
    this.#byObject.delete(object);
    if (before !== undefined) this.#remove(object, before.service, before.looked, undefined, new Map());
  }

  /** The objects that a finished list concerns; all subscribers when the read turned from working to failing or back. */
  concerned(service: Service, key: string, changed: ReadonlySet<string>, turned: boolean): ReadonlySet<string> {
    const followed = this.#byService.get(service)?.get(key);
    const objects = new Set<string>();
    if (followed === undefined) return objects;
    if (turned || changed.size > 0) for (const object of followed.all) objects.add(object);
    if (turned) for (const looking of followed.byId.values()) for (const object of looking) objects.add(object);
    for (const id of changed) for (const object of followed.byId.get(id) ?? []) objects.add(object);
    return objects;
  }

  /** The subscribers of a read, by item. */
  lookers(
    service: Service,
    key: string,
  ): { readonly read: Read; readonly byId: ReadonlyMap<string, ReadonlySet<string>> } | undefined {
    return this.#byService.get(service)?.get(key);
  }

  /** Every read of a service that has subscribers. */
  readsOf(service: Service): readonly Read[] {
    return [...(this.#byService.get(service)?.values() ?? [])].map(({ read }) => read);
  }

  /** Every object that is subscribed to something of this service. */
  ofService(service: Service): readonly string[] {
    return [...this.#byObject].filter(([, entry]) => entry.service === service).map(([object]) => object);
  }

  #add(object: string, service: Service, key: string, { read, ids, all }: Look): void {
    const reads = this.#byService.get(service) ?? new Map<string, Followed>();
    this.#byService.set(service, reads);
    const followed = following(reads.get(key), service, read);
    reads.set(key, followed);
    if (all) followed.all.add(object);
    for (const id of ids) followed.byId.set(id, (followed.byId.get(id) ?? new Set()).add(object));
  }

  #remove(object: string, service: Service, old: Looked, nowService: Service | undefined, now: Looked): void {
    const reads = this.#byService.get(service);
    for (const [key, { ids }] of old) {
      const followed = reads?.get(key);
      if (followed === undefined) continue;
      const kept = nowService === service ? now.get(key) : undefined;
      if (kept?.all !== true) followed.all.delete(object);
      for (const id of ids) {
        if (kept?.ids.has(id) === true) continue;
        const objects = followed.byId.get(id);
        if (objects?.delete(object) === true && objects.size === 0) followed.byId.delete(id);
      }
      if (followed.all.size > 0 || followed.byId.size > 0) continue;
      followed.unfollow();
      reads?.delete(key);
    }
    if (reads?.size === 0) this.#byService.delete(service);
  }
}
