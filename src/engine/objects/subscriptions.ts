/**
 * Tells which objects must be reconciled after a change in the service.
 *
 * Guarantees: a list is polled exactly while the last reconcile of some object used the list. An object that used one
 * item is reconciled when that item changes. An object that used the whole list is reconciled at any change of the
 * list.
 */
import type { View } from '../kind/contract/pass.ts';
import { groupId, type ListListener, type Read, type ReadProblem, type Service, type Snapshot } from '../ports.ts';

/** The part of a list that a reconcile used: the items and groups with these ids, or the whole list. */
interface ReadUse {
  readonly ids: string[];
  all: boolean;
}

/** The lists and items of the service that one reconcile used, by the key of the list. */
type UsedReads = Map<string, ReadUse & { readonly read: Read }>;

interface Followed {
  readonly read: Read;
  readonly unfollow: () => void;
  readonly uses: Map<string, ReadUse>;
  /** True when the newest attempt to read the list failed. */
  isFailing: boolean;
}

/** A view of the service that records which lists and items a reconcile uses. */
export class RecordingView implements View {
  readonly looked: UsedReads = new Map();
  readonly service: Service;
  readonly #freshSince: number;

  /**
   * Creates a view that hides every list whose read began before `freshSince`: the time at which the operator
   * noticed a new value of the annotation `reconcile-at`.
   */
  constructor(service: Service, freshSince: number = Number.NEGATIVE_INFINITY) {
    this.service = service;
    this.#freshSince = freshSince;
  }

  all<Item>(read: Read<Item>): Snapshot<Item> | undefined {
    this.#look(read).all = true;
    return this.#snapshot(read);
  }

  one<Item>(read: Read<Item>, id: string): { snapshot: Snapshot<Item>; item: Item | undefined } | undefined {
    const { ids } = this.#look(read);
    if (!ids.includes(id)) ids.push(id);
    const snapshot = this.#snapshot(read);
    return snapshot === undefined ? undefined : { snapshot, item: snapshot.items.get(id) };
  }

  group<Item>(read: Read<Item>, group: string): { snapshot: Snapshot<Item>; items: readonly Item[] } | undefined {
    const found = this.one(read, groupId(group));
    if (found === undefined) return undefined;
    const items = [...found.snapshot.items.values()].filter((item) => read.groupOf?.(item) === group);
    return { snapshot: found.snapshot, items };
  }

  /**
   * Returns the keys of the polled lists that this reconcile used and whose newest read began before `at`. Lists that
   * were never read are left out.
   */
  polledBefore(at: number = Number.NEGATIVE_INFINITY): readonly string[] {
    const polled = [...this.looked.values()].filter(({ read }) => read.pace === 'poll');
    const old = polled.filter(({ read }) => (this.service.snapshot(read)?.begunAt ?? at) < at);
    return old.map(({ read }) => read.key);
  }

  /**
   * Returns the rate-limited reads of this reconcile that have to be awaited. A read is no longer awaited when it has
   * succeeded and began at the time `at` or later, or when it failed at that time or later.
   */
  rateLimitedBefore(at: number): readonly Read[] {
    const limited = [...this.looked.values()].map(({ read }) => read).filter(({ pace }) => pace === 'rateLimited');
    return limited.filter((read) => {
      const [snapshot, problem] = [this.service.snapshot(read), this.service.problem(read)];
      return (snapshot?.begunAt ?? at - 1) < at && (problem?.at ?? at - 1) < at;
    });
  }

  /** True when one of the lists that this reconcile used contains this id and its read began after `at`. */
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

  #look(read: Read): ReadUse {
    const known = this.looked.get(read.key) ?? { read, ids: [], all: false };
    this.looked.set(read.key, known);
    return known;
  }
}

/** Starts to poll a list, or continues to poll it. Polling starts anew if the interval has changed. */
function following(known: Followed | undefined, service: Service, read: Read): Followed {
  if (known !== undefined && known.read.rateLimitedMs === read.rateLimitedMs) return known;
  const unfollow = service.follow(read);
  known?.unfollow();
  return { read, unfollow, uses: known?.uses ?? new Map(), isFailing: known?.isFailing ?? false };
}

/** Remembers which objects use which lists of the service. A list is polled while some object uses it. */
export class Subscriptions {
  readonly #byService = new Map<Service, Map<string, Followed>>();
  readonly #byObject = new Map<string, { readonly service: Service; readonly reads: readonly string[] }>();
  /** The objects that wait for the next read of a list, by connection to the service and by key of the list. */
  readonly #asking = new WeakMap<Service, Map<string, Set<string>>>();

  /** Subscribes an object to exactly the lists and items that its newest reconcile used. */
  replace(object: string, service: Service, looked: UsedReads): void {
    const before = this.#byObject.get(object);
    const reads = [...looked.values()].map(({ read, ids, all }) => this.#add(object, service, read, { ids, all }));
    this.#byObject.set(object, { service, reads });
    for (const key of before?.reads ?? [])
      if (before !== undefined && (before.service !== service || !looked.has(key)))
        this.#remove(object, before.service, key);
  }

  drop(object: string): void {
    const before = this.#byObject.get(object);
    this.#byObject.delete(object);
    for (const key of before?.reads ?? []) if (before !== undefined) this.#remove(object, before.service, key);
  }

  /** Records that an object must be reconciled after the next read of a list, whatever the list then contains. */
  ask(object: string, service: Service, key: string): void {
    const asking = this.#asking.get(service) ?? new Map<string, Set<string>>();
    this.#asking.set(service, asking.set(key, (asking.get(key) ?? new Set()).add(object)));
  }

  /**
   * Called when the read of a list has ended. Returns the objects that must be reconciled: those that use a changed
   * item, and those that wait for the list. If reading the list begins to fail, or works again (`hasRecovered`), also
   * returns all other objects that use the list.
   */
  listed({ service, key, changed, problem }: Parameters<ListListener>[0]): {
    readonly objects: ReadonlySet<string>;
    readonly hasRecovered: boolean;
  } {
    const asking = this.#asking.get(service);
    const objects = new Set(asking?.get(key));
    asking?.delete(key);
    const followed = this.#byService.get(service)?.get(key);
    if (followed === undefined) return { objects, hasRecovered: false };
    const hasTurned = followed.isFailing !== (problem !== undefined);
    followed.isFailing = problem !== undefined;
    for (const [object, { ids, all }] of followed.uses)
      if (hasTurned || (changed.size > 0 && (all || ids.some((id) => changed.has(id))))) objects.add(object);
    return { objects, hasRecovered: hasTurned && problem === undefined };
  }

  /** Returns the objects that use a list, each with the ids that it uses. */
  usersOf(service: Service, key: string): Pick<Followed, 'read' | 'uses'> | undefined {
    return this.#byService.get(service)?.get(key);
  }

  /** Returns all lists that objects use through this connection to the service. */
  readsOf(service: Service): readonly Read[] {
    return [...(this.#byService.get(service)?.values() ?? [])].map(({ read }) => read);
  }

  /**
   * Subscribes an object to a list. Returns the key of the list, as one string that all subscribers share to save
   * memory.
   */
  #add(object: string, service: Service, read: Read, use: ReadUse): string {
    const reads = this.#byService.get(service) ?? new Map<string, Followed>();
    this.#byService.set(service, reads);
    const followed = following(reads.get(read.key), service, read);
    reads.set(followed.read.key, followed);
    followed.uses.set(object, use);
    return followed.read.key;
  }

  #remove(object: string, service: Service, key: string): void {
    const reads = this.#byService.get(service);
    const followed = reads?.get(key);
    if (followed?.uses.delete(object) !== true || followed.uses.size > 0) return;
    followed.unfollow();
    reads?.delete(key);
    if (reads?.size === 0) this.#byService.delete(service);
  }
}
