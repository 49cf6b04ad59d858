import type { CacheEvent, KubeObject } from '../../engine/ports.ts';
import { compareVersions } from '../../base/json.ts';

/**
 * The newest known version of every object of one resource, and the pure rules by which it changes.
 *
 * Guarantees: an object never goes back to an older version; one that was deleted and recreated gives `gone` and then `applied`; a
 * late event of an object that was replaced changes nothing.
 */
export class ObjectCache {
  #objects = new Map<string, KubeObject>();

  get size(): number {
    return this.#objects.size;
  }

  get(namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#objects.get(keyOf(namespace, name));
  }

  values(): Iterable<KubeObject> {
    return this.#objects.values();
  }

  /** Takes a new version of an object. */
  apply(object: KubeObject): readonly CacheEvent[] {
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const known = this.#objects.get(key);
    if (known !== undefined && compareVersions(object.metadata.resourceVersion, known.metadata.resourceVersion) <= 0) {
      return [];
    }
    this.#objects.set(key, object);
    const applied = { is: 'applied', object, initial: false } satisfies CacheEvent;
    if (known === undefined || known.metadata.uid === object.metadata.uid) return [applied];
    return [{ is: 'gone', object: known }, applied];
  }

  /** Removes a deleted object; `object` is its last version. */
  remove(object: KubeObject): readonly CacheEvent[] {
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const known = this.#objects.get(key);
    if (known === undefined || known.metadata.uid !== object.metadata.uid) return [];
    this.#objects.delete(key);
    return [{ is: 'gone', object }];
  }

  /** True when one of these is older than the version known here, as after a restore of the cluster. */
  isAhead(objects: readonly KubeObject[]): boolean {
    return objects.some(({ metadata }) => {
      const known = this.get(metadata.namespace, metadata.name)?.metadata;
      return known?.uid === metadata.uid && compareVersions(metadata.resourceVersion, known.resourceVersion) < 0;
    });
  }

  /** Replaces everything with a complete list. After a restore, versions prove nothing and every object counts as changed. */
  replace(objects: readonly KubeObject[], how: { readonly initial: boolean; readonly rewound: boolean }): CacheEvent[] {
    const before = this.#objects;
    this.#objects = new Map(
      objects.map((object) => [keyOf(object.metadata.namespace, object.metadata.name), object] as const),
    );
    const events: CacheEvent[] = [];
    for (const [key, known] of before) {
      if (this.#objects.get(key)?.metadata.uid !== known.metadata.uid) events.push({ is: 'gone', object: known });
    }
    for (const [key, object] of this.#objects) {
      const known = before.get(key)?.metadata;
      const { uid, resourceVersion } = object.metadata;
      const same = known?.uid === uid && known.resourceVersion === resourceVersion;
      if (!same || how.rewound) events.push({ is: 'applied', object, initial: how.initial });
    }
    return events;
  }
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}
