import type { Stored } from './object-index.ts';
import { keyOf } from './names.ts';

const none: ReadonlySet<string> = new Set();

/** References that were removed from a spec and that the service still uses, because the new spec is not applied yet. */
export class DroppedReferences {
  readonly #byObject = new Map<string, ReadonlySet<string>>();

  /** Takes the newest form of an object; returns the keys of what it no longer refers to. */
  noted(before: Stored | undefined, now: Stored): ReadonlySet<string> {
    if (before === undefined || (before.needs === now.needs && !this.#byObject.has(now.key))) return none;
    const wanted = new Set(referredBy(now));
    const known = [...(this.#byObject.get(now.key) ?? []), ...referredBy(before)];
    const dropped = new Set(known.filter((key) => !wanted.has(key)));
    const { applied } = now.status.memory;
    const isApplied = applied?.generation === now.object.metadata.generation;
    if (dropped.size > 0 && !isApplied) this.#byObject.set(now.key, dropped);
    else this.#byObject.delete(now.key);
    return isApplied ? dropped : none;
  }

  /** Takes note that an object is gone; returns the keys of everything that it referred to. */
  forget(stored: Stored): ReadonlySet<string> {
    const dropped = this.#byObject.get(stored.key) ?? [];
    this.#byObject.delete(stored.key);
    return new Set([...dropped, ...referredBy(stored)]);
  }
}

function referredBy({ needs, object }: Stored): readonly string[] {
  return (needs.references ?? []).map(({ kind, name }) => keyOf(kind, object.metadata.namespace, name));
}
