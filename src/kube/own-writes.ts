import type { KubeObject } from '../engine/ports.ts';
import { compareVersions } from './resource-version.ts';

/** What we wrote last, so that nobody acts on an older form of it (read your writes). */
export class OwnWrites {
  readonly #versions = new Map<string, string>();

  /** We wrote this object; the answer carries its new version. */
  remember(written: KubeObject): void {
    const { uid, resourceVersion } = written.metadata;
    const known = this.#versions.get(uid);
    if (known === undefined || compareVersions(known, resourceVersion) < 0) this.#versions.set(uid, resourceVersion);
  }

  /** Whether this form of the object is older than our own last write to it: the watch is still to catch up. */
  isStale(object: KubeObject): boolean {
    const { uid, resourceVersion } = object.metadata;
    const known = this.#versions.get(uid);
    if (known === undefined) return false;
    if (compareVersions(resourceVersion, known) < 0) return true;
    this.#versions.delete(uid);
    return false;
  }

  /** The object is gone for good. */
  forget(uid: string): void {
    this.#versions.delete(uid);
  }

  /** The cluster went back in time: what we wrote may be ahead of everything that comes. */
  rewound(): void {
    this.#versions.clear();
  }

  get size(): number {
    return this.#versions.size;
  }
}
