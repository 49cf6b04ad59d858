/**
 * A circuit breaker for lists that suddenly lack what we own: after a narrowed token, a switched account or a fault of the
 * service.
 *
 * Guarantees: while it is open nothing is created or deleted in the account; it closes when every missing object shows
 * again or is proved gone, or when the account's owner accepts the loss.
 *
 * Why: docs/design/absence-and-visibility.md#too-many-missing-at-once-freeze-the-account
 */
import { annotations } from '../objects/names.ts';
import type { Service } from '../ports.ts';

/** An object that should show in a list, and whether a direct look has proved it gone. */
export interface Owned {
  readonly object: string;
  readonly shown: boolean;
  readonly provedGone: boolean;
  /** Written so recently that a list may not show it yet. */
  readonly young: boolean;
}

const fewest = 3;
const share = 0.05;

export class Visibility {
  readonly #missing = new WeakMap<Service, Map<string, ReadonlySet<string>>>();
  readonly #accepted = new Set<string>();

  /** Takes what a full list shows of the objects that we own; returns why the account is frozen now, if it is. */
  listed(service: Service, readKey: string, owned: readonly Owned[], isEmpty: boolean): string | undefined {
    const settled = owned.filter(({ young }) => !young);
    const missing = settled.filter(
      ({ object, shown, provedGone }) => !shown && !provedGone && !this.#accepted.has(object),
    );
    for (const { object, shown } of owned) if (shown) this.#accepted.delete(object);
    const lists = this.#missing.get(service) ?? new Map<string, ReadonlySet<string>>();
    this.#missing.set(service, lists);
    const wasOpen = lists.has(readKey);
    const tooMany = missing.length > Math.max(fewest, settled.length * share) || (isEmpty && missing.length > 0);
    if (tooMany || (wasOpen && missing.length > 0)) lists.set(readKey, new Set(missing.map(({ object }) => object)));
    else lists.delete(readKey);
    return this.frozen(service);
  }

  /** Why nothing may be created or deleted in the account; undefined when all is well. */
  frozen(service: Service): string | undefined {
    const lists = [...(this.#missing.get(service) ?? [])];
    if (lists.length === 0) return undefined;
    const count = lists.reduce((sum, [, objects]) => sum + objects.size, 0);
    const names = lists
      .map(([key]) => key)
      .toSorted()
      .slice(0, 3)
      .join(', ');
    return `${count} owned object${count === 1 ? '' : 's'} suddenly are missing from ${names}; nothing is created or deleted until each shows again or is proved gone; to accept that they are gone, give the account the annotation ${annotations.acceptMissing} with a new text`;
  }

  /** The owner of the account accepts that what is missing is gone. */
  accept(service: Service): void {
    for (const objects of this.#missing.get(service)?.values() ?? [])
      for (const object of objects) this.#accepted.add(object);
    this.#missing.delete(service);
  }
}
