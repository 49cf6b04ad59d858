import type { Stored } from './object-index.ts';
import { keyOf } from './names.ts';

const none: ReadonlySet<string> = new Set();

/** What specs refer to no longer, until what they say now is applied: as long as it is not, the service still has it in use. */
export class DroppedReferences {
  readonly #byObject = new Map<string, ReadonlySet<string>>();

  /** Takes the newest form of an object; the keys of what it has let go of by now. */
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

  /** An object has gone; the keys of everything that it let go of by that. */
  forget(entry: Stored): ReadonlySet<string> {
    const dropped = this.#byObject.get(entry.key) ?? [];
    this.#byObject.delete(entry.key);
    return new Set([...dropped, ...referredBy(entry)]);
  }
}

function referredBy({ needs, object }: Stored): readonly string[] {
  return (needs.references ?? []).map(({ kind, name }) => keyOf(kind, object.metadata.namespace, name));
}
