/**
 * Keeps apart calls whose effects look alike. If two such calls ran at the same time and the outcome of one is unknown,
 * the operator could not tell which of the two calls was carried out.
 *
 * A create call reserves the name of the new object: in each list of an account, only one object may have an open
 * create call of a given name. The call is open until it has ended and its outcome is known. Other calls whose effects
 * look alike, such as two deployments of one environment, take exclusive locks.
 *
 * Why: docs/design/at-most-once.md#only-one-resource-at-a-time-creates-an-object-of-a-name
 */
import type { Clock } from '../../base/time.ts';
import { inWords, partsOfKey, readyIn, storedInWords, indexKey, type ObjectIndex, type Stored } from './stored.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import { arrivesWithinMs, type JournalEntry } from '../kind/contract/step.ts';
import type { ServicePlace } from '../ports.ts';

const usual: ReadonlySet<string> = new Set<Reason>(['Creating', 'CreateInProgress', 'ReadingService']);

/**
 * The create calls that may still have an effect in the service: those of this process, and those in the journals of
 * all objects.
 */
export class OpenCreates {
  readonly #objects: ObjectIndex;
  readonly #clock: Clock;
  readonly #horizonMs: number;
  /**
   * The newest create call of each object, by uid. An entry stays for some time after its call has ended
   * (`--horizon-seconds`), because lists of the service may not contain the created object yet.
   */
  readonly #creations = new Map<string, Creation>();
  /** The create calls by account, list of the service and name, so that a look-up is fast even with many calls. */
  readonly #byTarget = new Map<string, Set<Creation>>();

  constructor(objects: ObjectIndex, clock: Clock, horizonMs: number) {
    this.#objects = objects;
    this.#clock = clock;
    this.#horizonMs = horizonMs;
  }

  /**
   * Reserves a name for the create call in a journal entry. Until that call has ended, no other Kubernetes object may
   * create an object of the same name in the service.
   */
  reserve(stored: Stored, journal: JournalEntry): void {
    this.#prune();
    this.#note(stored, journal, Number.POSITIVE_INFINITY);
  }

  /**
   * Releases a reserved name when the create call has ended. From then on, the journal shows whether the outcome of the
   * call is still unknown.
   */
  unreserve({ object: { metadata } }: Stored): void {
    const creation = this.#creations.get(metadata.uid);
    if (creation?.until === Number.POSITIVE_INFINITY) creation.until = this.#clock.monotonic() + this.#horizonMs;
  }

  /** Forgets the create call of a deleted object when nothing of that object stays in the service. */
  forget({ object: { metadata } }: Stored): void {
    this.#drop(metadata.uid);
  }

  /**
   * Keeps a name reserved when the Kubernetes object that reserved it is gone, because the create call may still arrive
   * at the service.
   */
  noteGone(stored: Stored): void {
    const { journal } = stored.status.memory;
    if (journal === undefined) return;
    this.#note(stored, journal, this.#clock.monotonic() + arrivesWithinMs(journal, this.#horizonMs));
  }

  /**
   * Returns a text for messages that describes the other object whose create call has reserved this name; undefined if
   * the name is free. Considers the calls of this process and the journals of all objects.
   */
  other(stored: Stored, place: ServicePlace, collection: string, name: string): string | undefined {
    const wanted = indexKey.create(collection, name);
    for (const { uid, key, until } of this.#byTarget.get(targetOf(place, wanted)) ?? []) {
      if (uid === stored.object.metadata.uid) continue;
      if (until === Number.POSITIVE_INFINITY) return anotherResource;
      const isGone = this.#objects.get(key)?.object.metadata.uid !== uid;
      const { kind, ...meta } = partsOfKey(key);
      if (isGone && until > this.#clock.monotonic()) return `${inWords(kind, meta)} (deleted, or no longer watched)`;
    }
    const reserving = this.#objects.indexedBy(wanted).find((other) => {
      const { journal } = other.status.memory;
      const isOther = other.key !== stored.key && journal !== undefined;
      return isOther && targetOf(journal, wanted) === targetOf(place, wanted);
    });
    return reserving && inMessages(reserving);
  }

  #note(stored: Stored, { endpoint, accountId, create }: JournalEntry, until: number): void {
    if (create === undefined) return;
    const { uid } = stored.object.metadata;
    this.#drop(uid);
    const target = targetOf({ endpoint, accountId }, indexKey.create(create.collection, create.name));
    const creation = { uid, key: stored.key, target, until };
    this.#creations.set(uid, creation);
    this.#byTarget.set(target, (this.#byTarget.get(target) ?? new Set()).add(creation));
  }

  #drop(uid: string): void {
    const creation = this.#creations.get(uid);
    if (creation === undefined) return;
    this.#creations.delete(uid);
    const alike = this.#byTarget.get(creation.target);
    if (alike?.delete(creation) === true && alike.size === 0) this.#byTarget.delete(creation.target);
  }

  /**
   * Forgets create calls that ended so long ago that every list contains their result. The oldest calls come first in
   * the map.
   */
  #prune(): void {
    for (const { uid, until } of this.#creations.values()) {
      if (until === Number.POSITIVE_INFINITY) continue;
      if (until > this.#clock.monotonic()) return;
      this.#drop(uid);
    }
  }
}

/**
 * Messages of objects that wait for a name use these words for the object that has reserved the name, as long as the
 * creation of that object goes on as usual. If messages named that object, each new reservation would change the status
 * of all objects that wait.
 */
const anotherResource = 'another resource';

function inMessages(other: Stored): string {
  const { reason } = readyIn(other.status.conditions) ?? {};
  const isUsual = reason === undefined || usual.has(reason);
  return isUsual ? anotherResource : `${storedInWords(other)} (which is not Ready: ${reason})`;
}

interface Creation {
  readonly uid: string;
  readonly key: string;
  readonly target: string;
  /**
   * Monotonic time after which the create call can no longer arrive at the service, and after which lists contain the
   * object that it created. Infinite while the call is being sent.
   */
  until: number;
}

/** Builds a key from an account of the service (endpoint and id) and a key that stands for a name in a list. */
function targetOf({ endpoint, accountId }: ServicePlace, wanted: string): string {
  return `${endpoint}|${accountId}|${wanted}`;
}

// ---- exclusive locks -------------------------------------------------------------------------------------------

/**
 * Named locks for calls whose effects look alike. Two calls that need the same lock never run at the same time. If they
 * did and the outcome of one is unknown, the operator could not tell which of the two was carried out.
 */
export class ExclusiveLocks {
  /**
   * For each lock: which object took it last, and when that object released it. Entries are never removed, because
   * there are only a few: one for each environment or app that somebody deploys.
   */
  readonly #uses = new Map<string, { readonly by: string; readonly endedAt: number | undefined }>();

  /**
   * Takes all of these locks, or takes none and returns false. A lock cannot be taken while another object holds it. It
   * also cannot be taken if another object released it after the caller last read the service (`lookedAt`, monotonic),
   * because what the caller has read may be outdated.
   */
  take(names: readonly string[], by: string, lookedAt: number): boolean {
    const isFree = names.every((name) => {
      const use = this.#uses.get(name);
      return use === undefined || use.by === by || (use.endedAt !== undefined && use.endedAt < lookedAt);
    });
    if (isFree) for (const name of names) this.#uses.set(name, { by, endedAt: undefined });
    return isFree;
  }

  /** Releases these locks. */
  end(names: readonly string[], by: string, now: number): void {
    for (const name of names) this.#uses.set(name, { by, endedAt: now });
  }
}
