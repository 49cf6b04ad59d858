/**
 * Holds the simulator's data, which changes only in transactions. A transaction runs a function, and keeps all changes
 * that the function makes, or none if it throws. The function is synchronous, so two transactions never overlap.
 */
import { hash } from 'node:crypto';

import type { Readings } from './readings.ts';
import { type AnyCollection, collection, type Collection, type Rows, Table } from './collection.ts';
import { PackedLog } from './packed-log.ts';
import { RecentChanges } from './recent.ts';
import { type Commit, type Detail, type LedgerEntry, type SavedStep, type SavedWorld, settings } from './saved.ts';

/**
 * A function call that is due at a certain time of the simulator's clock. Timers are stored with the simulator's data,
 * so they survive a restart.
 */
export interface Timer {
  readonly timerId: string;
  readonly at: number;
  /** If several timers are due at the same time, the timer with the lowest `order` fires first. */
  readonly order: number;
  /** The name of the function that the timer runs, such as `environments.settles`. */
  readonly kind: string;
  readonly data: unknown;
}

/** All timers that have not fired yet. */
export const timers = collection<Timer>('timers', (timer) => timer.timerId);

/**
 * The part of the store that the code inside a transaction uses. It reads and changes objects, but cannot load or save
 * all data.
 */
export type World = Omit<Store, 'load' | 'save' | 'head' | 'replay' | 'transact' | 'onStep'>;

/** The cause of a transaction, for the change log: a request with its token, or a control request (/_sim). */
export type Cause =
  | 'control'
  | { readonly requestSeq: number; readonly token: string; readonly memberships: readonly Member[] };

type Member = Readonly<Record<'accountId' | 'membershipId', string>>;

/** A stored object that belongs to an account. */
interface Owned {
  readonly accountId: string;
}

interface Change {
  readonly collection: Collection<object>;
  readonly id: string;
  readonly before: object | undefined;
  after: object | undefined;
}

interface Open {
  readonly changes: Map<string, Change>;
  readonly entries: LedgerEntry[];
}

/**
 * Holds the tables, the change log and the timers of the simulator. Calls `onStep` with the changes of each successful
 * transaction, so that they can be saved.
 */
export class Store {
  readonly #tables = new Map<string, Table<object>>();
  readonly #collections: readonly Collection<object>[];
  #open: Open | undefined;
  #seed = '';
  #now = 0;
  #seq = 0;
  readonly ledger = new PackedLog<Commit>();
  /**
   * The newest changes of stored objects, for lists that show an older state, and for the web page, which loads only
   * what has changed.
   */
  readonly recent = new RecentChanges();
  /** A function that gets the changes of each successful transaction before the response to the request is sent. */
  onStep: (step: SavedStep) => void = () => undefined;

  constructor(collections: readonly AnyCollection[]) {
    this.#collections = collections as unknown as readonly Collection<object>[];
  }

  /**
   * The time of the simulator's clock in the current transaction, in milliseconds since 1970. Outside a transaction,
   * the time of the last transaction.
   */
  get now(): number {
    return this.#now;
  }

  get readings(): Readings {
    return this.of(settings).get('readings')?.value as Readings;
  }

  /** Replaces all data with saved data. */
  load(saved: SavedWorld): void {
    this.#tables.clear();
    this.#seed = saved.seed;
    this.#now = saved.now;
    this.#seq = saved.ledgerSeq;
    this.recent.startAgain();
    this.ledger.clear((saved.ledger[0]?.seq ?? saved.ledgerSeq + 1) - 1);
    for (const commit of saved.ledger) this.ledger.push(commit);
    for (const collection of this.#collections) {
      const table = new Table(collection, (of, id, row) => this.#change(of, id, row));
      for (const row of saved.collections[collection.name] ?? []) table.set(collection.id(row), row);
      this.#tables.set(collection.name, table);
    }
  }

  /** Returns all data as plain JSON. */
  save(): SavedWorld {
    return { ...this.head(), ledger: this.ledger.after(0) };
  }

  /** Returns all data except the change log as plain JSON. */
  head(): Omit<SavedWorld, 'ledger'> {
    const collections = Object.fromEntries([...this.#tables].map(([name, table]) => [name, table.all()]));
    const head = { format: 'apphosting-simulator', version: 1, seed: this.#seed, now: this.#now } as const;
    return { ...head, ledgerSeq: this.#seq, collections };
  }

  /** Applies the changes of one transaction that was saved on disk. */
  replay(step: SavedStep): void {
    this.#now = Math.max(this.#now, step.at);
    for (const [name, id, row] of step.rows) {
      this.#tables.get(name)?.set(id, row ?? undefined);
    }
    for (const commit of step.ledger) {
      this.ledger.push(commit);
      this.#seq = commit.seq;
    }
  }

  /**
   * Runs `work` as one transaction at the clock time `now`. If `work` throws, none of its changes are kept. In the
   * result, `committed` is true if anything changed.
   */
  transact<R>(now: number, cause: Cause | undefined, work: (world: World) => R): { result: R; committed: boolean } {
    if (this.#open !== undefined) throw new Error('another transaction is already open');
    const open: Open = { changes: new Map(), entries: [] };
    this.#open = open;
    this.#now = Math.max(this.#now, now);
    try {
      const result = work(this);
      return { result, committed: this.#commit(open, cause) };
    } catch (error) {
      for (const change of [...open.changes.values()].toReversed()) {
        this.#tables.get(change.collection.name)?.set(change.id, change.before);
      }
      throw error;
    } finally {
      this.#open = undefined;
    }
  }

  /** Finds the timer that fires next. */
  nextTimer(): Timer | undefined {
    const isEarlier = (one: Timer, other: Timer) => (one.at === other.at ? one.order < other.order : one.at < other.at);
    const all = this.of(timers).all();
    return all.reduce<Timer | undefined>((first, each) => (first && isEarlier(first, each) ? first : each), undefined);
  }

  of<T extends object>(collection: Collection<T>): Rows<T> {
    const table = this.#tables.get(collection.name);
    if (table === undefined) throw new Error(`the simulator has no collection "${collection.name}"`);
    return table as unknown as Rows<T>;
  }

  /** Lists the objects of a collection as they were at a moment in the past. */
  asOf<T extends object>(collection: Collection<T>, at: number): readonly T[] {
    const table = this.#tables.get(collection.name) as unknown as Table<T>;
    return [...this.recent.rewind(table.entries(), collection.name, at).values()];
  }

  /** Returns a new id. Two simulators with the same seed create the same ids in the same order. */
  id(prefix: string): string {
    const counter = this.#next(`ids.${prefix}`);
    return `${prefix}_${hash('sha256', `${this.#seed}/${prefix}/${counter}`).slice(0, 16)}`;
  }

  /** Hashes the given strings together with the seed; returns 64 hexadecimal digits. */
  hash(...words: readonly string[]): string {
    return hash('sha256', [this.#seed, ...words].join('\n'));
  }

  /**
   * Schedules a timer. `subject` is what the timer is for, such as the id of an environment. If the subject already has
   * a timer of the same kind, the new timer replaces it.
   */
  schedule(kind: string, subject: string, at: number, data: unknown): void {
    const timerId = timerIdOf(kind, subject);
    const due = Math.max(at, this.#now);
    const before = this.of(timers).get(timerId);
    const order = before?.at === due ? before.order : this.#next('timers');
    this.of(timers).put({ timerId, at: due, order, kind, data });
  }

  isScheduled(kind: string, subject: string): boolean {
    return this.of(timers).has(timerIdOf(kind, subject));
  }

  /** Cancels a timer. `subject` is what the timer is for, such as the id of an environment. */
  cancel(kind: string, subject: string): void {
    this.of(timers).remove(timerIdOf(kind, subject));
  }

  /** Writes a line into the change log. */
  record(entry: LedgerEntry): void {
    if (this.#open === undefined) throw new Error('the change log can be written only inside a transaction');
    this.#open.entries.push(entry);
  }

  /** Stores an object, and records the change in the change log. */
  change<T extends Owned>(collection: Collection<T>, row: T, kind: string, detail: Detail): void {
    this.of(collection).put(row);
    this.record({ kind, id: collection.id(row), accountId: row.accountId, detail });
  }

  /** Removes an object, and records its removal in the change log. */
  remove<T extends Owned>(collection: Collection<T>, row: T, kind: string, detail: Detail): void {
    this.of(collection).remove(collection.id(row));
    this.record({ kind, id: collection.id(row), accountId: row.accountId, detail });
  }

  #next(counter: string): number {
    const rows = this.of(settings);
    const value = Number(rows.get(counter)?.value ?? 0) + 1;
    rows.put({ key: counter, value });
    return value;
  }

  #change(table: Table<object>, id: string, row: object | undefined): void {
    if (this.#open === undefined) throw new Error('the data of the simulator can change only inside a transaction');
    const { collection } = table;
    const key = `${collection.name}/${id}`;
    const before = table.get(id);
    if (before === undefined && row === undefined) return;
    const change = this.#open.changes.get(key);
    if (change === undefined) this.#open.changes.set(key, { collection, id, before, after: row });
    else change.after = row;
    table.set(id, row);
  }

  #commit(open: Open, cause: Cause | undefined): boolean {
    if (open.changes.size === 0 && open.entries.length === 0) return false;
    const changes = [...open.changes.values()];
    const ledger = open.entries.map((entry): Commit => {
      this.#seq += 1;
      return { seq: this.#seq, at: this.#now, ...causeShown(cause, entry.accountId), ...entry };
    });
    this.onStep({
      at: this.#now,
      rows: changes.map(({ collection, id, after }) => [collection.name, id, after ?? null]),
      ledger,
    });
    for (const commit of ledger) this.ledger.push(commit);
    for (const { collection, id, before } of changes) this.recent.note(collection.name, id, this.#now, before);
    return true;
  }
}

function causeShown(cause: Cause | undefined, accountId: string): Omit<Commit, 'seq' | 'at' | keyof LedgerEntry> {
  if (cause === undefined) return { requestSeq: null, token: null };
  if (cause === 'control') return { requestSeq: null, token: null, control: true };
  const membershipId = cause.memberships.find((membership) => membership.accountId === accountId)?.membershipId;
  const known = membershipId === undefined ? {} : { membershipId };
  return { requestSeq: cause.requestSeq, token: cause.token.slice(0, 4), ...known };
}

/**
 * Returns the id of a timer, made from its kind and its subject, such as an environment. So a subject has at most one
 * timer of each kind.
 */
function timerIdOf(kind: string, subject: string): string {
  return `${kind}/${subject}`;
}
