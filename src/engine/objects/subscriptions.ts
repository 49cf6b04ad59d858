/**
 * Subscriptions: which objects a change in the service concerns.
 *
 * Guarantees: a list is polled exactly while some object's last reconcile used it; an object that used one item is
 * reconciled when that item changes, one that used the whole list at any change.
 */
import type { View } from '../kind/contract/pass.ts';
import { groupId, type Read, type ReadProblem, type Service, type Snapshot } from '../ports.ts';

/** What one reconcile used of one read: single ids, or everything. */
interface Use {
  readonly ids: string[];
  all: boolean;
}

/** What one reconcile used, by the key of the read. */
type Looked = Map<string, Use & { readonly read: Read }>;

interface Followed {
  readonly read: Read;
  readonly unfollow: () => void;
  readonly uses: Map<string, Use>;
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

  #look(read: Read): Use {
    const known = this.looked.get(read.key) ?? { read, ids: [], all: false };
    this.looked.set(read.key, known);
    return known;
  }
}

/** Follows a read, and follows it anew when its interval changed. */
function following(known: Followed | undefined, service: Service, read: Read): Followed {
  if (known !== undefined && known.read.rateLimitedMs === read.rateLimitedMs) return known;
  const unfollow = service.follow(read);
  known?.unfollow();
  return { read, unfollow, uses: known?.uses ?? new Map() };
}

export class Subscriptions {
  readonly #byService = new Map<Service, Map<string, Followed>>();
  readonly #byObject = new Map<string, { readonly service: Service; readonly reads: readonly string[] }>();

  /** Subscribes an object to what its newest reconcile looked at, and to nothing else. */
  replace(object: string, service: Service, looked: Looked): void {
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

  /** The objects that a finished list concerns; all subscribers when the read turned from working to failing or back. */
  concerned(service: Service, key: string, changed: ReadonlySet<string>, turned: boolean): readonly string[] {
    const followed = this.#byService.get(service)?.get(key);
    if (followed === undefined || (!turned && changed.size === 0)) return [];
    const concerned = [...followed.uses].filter(
      ([, { ids, all }]) => turned || all || ids.some((id) => changed.has(id)),
    );
    return concerned.map(([object]) => object);
  }

  /** The subscribers of a read, with the ids that they use. */
  usersOf(service: Service, key: string): Pick<Followed, 'read' | 'uses'> | undefined {
    return this.#byService.get(service)?.get(key);
  }

  /** Every read of a service that has subscribers. */
  readsOf(service: Service): readonly Read[] {
    return [...(this.#byService.get(service)?.values() ?? [])].map(({ read }) => read);
  }

  /** Returns the key of the read as it was followed first: objects that use one list keep one copy of it. */
  #add(object: string, service: Service, read: Read, use: Use): string {
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
