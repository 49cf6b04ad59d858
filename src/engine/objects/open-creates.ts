/**
 * Open creates and exclusive locks: calls that could not be told apart afterwards are not under way together.
 *
 * At most one object may have an open create of a given name in one collection of an account.
 *
 * Why: docs/design/at-most-once.md#one-name-has-one-open-create
 */
import type { Clock } from '../../base/time.ts';
import { readyIn, storedInWords, tie, type ObjectIndex, type Stored } from '../objects/stored.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import type { JournalEntry } from '../kind/contract/step.ts';

const usual: ReadonlySet<string> = new Set<Reason>(['Creating', 'CreateInProgress', 'ReadingService']);

/** The creations under way: those of this process, and those in a journal. */
export class OpenCreates {
  readonly #objects: ObjectIndex;
  readonly #clock: Clock;
  readonly #horizonMs: number;
  readonly #reserved = new Map<string, Reserved>();
  /** The keys of `#reserved` by their tie, so that a question costs the same however many there are. */
  readonly #byTie = new Map<string, Set<string>>();
  readonly #buried = new Set<Buried>();

  constructor(objects: ObjectIndex, clock: Clock, horizonMs: number) {
    this.#objects = objects;
    this.#clock = clock;
    this.#horizonMs = horizonMs;
  }

  /** Takes the right to create. It lasts until the call has ended, and is remembered for a horizon after that. */
  reserve(key: string, { endpoint, accountId, create }: JournalEntry): void {
    if (create === undefined) return;
    this.#prune();
    this.forget(key);
    const wanted = tie.create(create.collection, create.name);
    this.#reserved.set(key, { tie: wanted, where: placeOf({ endpoint, accountId }), overAt: undefined });
    this.#byTie.set(wanted, (this.#byTie.get(wanted) ?? new Set()).add(key));
  }

  /** Ends the reservation: from now on the journal shows what is still open. */
  unreserve(key: string): void {
    const reserved = this.#reserved.get(key);
    if (reserved !== undefined) this.#reserved.set(key, { ...reserved, overAt: this.#clock.monotonic() });
  }

  /** Forgets an object whose creation is gone from the service as well. */
  forget(key: string): void {
    const wanted = this.#reserved.get(key)?.tie;
    if (wanted === undefined) return;
    this.#reserved.delete(key);
    const keys = this.#byTie.get(wanted);
    if (keys?.delete(key) === true && keys.size === 0) this.#byTie.delete(wanted);
  }

  /**
   * An object is gone: its name stays reserved until a create in doubt can no longer arrive, and until the result of a
   * recent create shows in every list.
   */
  bury(stored: Stored): void {
    const { journal } = stored.status.memory;
    const words = storedInWords(stored);
    const reserved = this.#reserved.get(stored.key);
    const now = this.#clock.monotonic();
    if (reserved !== undefined)
      this.#buried.add({ ...reserved, words, until: (reserved.overAt ?? now) + this.#horizonMs });
    this.forget(stored.key);
    if (journal?.create === undefined) return;
    const until = now + journal.deadlineSeconds * 1_000 + this.#horizonMs;
    const { collection, name } = journal.create;
    this.#buried.add({ tie: tie.create(collection, name), where: placeOf(journal), words, until });
  }

  /** Names another object with an open creation of this name, in this process or in a journal; undefined when there is none. */
  other(stored: Stored, where: Place, collection: string, name: string): string | undefined {
    const wanted = tie.create(collection, name);
    const place = placeOf(where);
    for (const buried of this.#buried) {
      if (buried.until <= this.#clock.monotonic()) this.#buried.delete(buried);
      else if (buried.tie === wanted && buried.where === place) {
        return `${buried.words}, which is gone,`;
      }
    }
    for (const key of this.#byTie.get(wanted) ?? []) {
      const reserved = this.#reserved.get(key);
      if (key === stored.key || reserved?.where !== place) continue;
      const holder = this.#objects.get(key);
      if (holder === undefined) this.forget(key);
      else if (reserved.overAt === undefined) return usualHolder;
    }
    for (const key of this.#objects.tiedBy(wanted)) {
      const holder = this.#objects.get(key);
      const journal = holder?.status.memory.journal;
      if (holder === undefined || journal === undefined || key === stored.key) continue;
      if (placeOf(journal) === place) return heldBy(holder);
    }
    return undefined;
  }

  /** Forgets creations that ended so long ago that every list shows their result. The oldest come first. */
  #prune(): void {
    const now = this.#clock.monotonic();
    for (const [key, { overAt }] of this.#reserved) {
      if (overAt === undefined || overAt + this.#horizonMs > now) return;
      this.forget(key);
    }
  }
}

/** With many waiting for one name, each change of turn would rewrite every status: a holder is named only if it is stuck. */
const usualHolder = 'another resource';

function heldBy(holder: Stored): string {
  const { reason } = readyIn(holder.status.conditions) ?? {};
  const isUsual = reason === undefined || usual.has(reason);
  return isUsual ? usualHolder : `${storedInWords(holder)}, which says ${reason},`;
}

interface Reserved {
  readonly tie: string;
  readonly where: string;
  /** When the call had ended; undefined while it is under way. */
  readonly overAt: number | undefined;
}

interface Buried {
  readonly tie: string;
  readonly where: string;
  readonly words: string;
  readonly until: number;
}

interface Place {
  readonly endpoint: string;
  readonly accountId: string;
}

function placeOf({ endpoint, accountId }: Place): string {
  return `${endpoint}|${accountId}`;
}

// ---- exclusive locks -------------------------------------------------------------------------------------------

/** How long the release of a lock is remembered by its name: longer than a read takes. */
const keptMs = 600_000;

/** Exclusive locks by name: calls that could not be told apart after a lost answer are not under way at the same time. */
export class ExclusiveLocks {
  /** In the order of their last use. */
  readonly #uses = new Map<string, { readonly by: string; readonly endedAt: number | undefined }>();
  /** When the newest forgotten lock was released: it may have had any name. */
  #forgottenAt = Number.NEGATIVE_INFINITY;

  /** How many are remembered. */
  get size(): number {
    return this.#uses.size;
  }

  /** Locks all of these names. False while another object holds one, or held one after the caller last looked (monotonic). */
  take(names: readonly string[], by: string, lookedAt: number): boolean {
    const isFree = names.every((name) => {
      const use = this.#uses.get(name);
      if (use === undefined) return this.#forgottenAt < lookedAt;
      return use.by === by || (use.endedAt !== undefined && use.endedAt < lookedAt);
    });
    if (isFree) for (const name of names) this.#touch(name, by, undefined);
    return isFree;
  }

  /** Releases the names. */
  end(names: readonly string[], by: string, now: number): void {
    for (const name of names) this.#touch(name, by, now);
    this.#forget(now - keptMs);
  }

  #touch(name: string, by: string, endedAt: number | undefined): void {
    this.#uses.delete(name);
    this.#uses.set(name, { by, endedAt });
  }

  /** Forgets locks that were released before this time. */
  #forget(before: number): void {
    for (const [name, { endedAt }] of this.#uses) {
      if (endedAt === undefined) continue;
      if (endedAt >= before) return;
      this.#uses.delete(name);
      this.#forgottenAt = Math.max(this.#forgottenAt, endedAt);
    }
  }
}
