/**
 * Keeps objects of the operator's kinds in memory, so that an engine can run without a cluster. The caller applies and
 * deletes objects; the engine writes their status and finalizer. The store follows those rules of the API server that
 * the engine depends on: resource versions, generations, conflicts, and a deletion that waits for finalizers.
 */
import { sameJson } from '../../base/json.ts';
import { type Clock, isoSeconds } from '../../base/time.ts';
import { keyOfObject } from '../../engine/objects/stored.ts';
import { type CacheEvent, finalizer, type KubeObject, type ObjectWriter, type Written } from '../../engine/ports.ts';

/**
 * Holds objects in memory, by key. Reports every change to `onEvent`, except the two that only the engine makes:
 * writing a status and adding a finalizer.
 */
export class ObjectsInMemory implements ObjectWriter {
  readonly #clock: Clock;
  readonly #onEvent: (event: CacheEvent) => void;
  readonly #objects = new Map<string, KubeObject>();
  #version = 0;

  constructor(clock: Clock, onEvent: (event: CacheEvent) => void) {
    this.#clock = clock;
    this.#onEvent = onEvent;
  }

  get(key: string): KubeObject | undefined {
    return this.#objects.get(key);
  }

  all(): readonly KubeObject[] {
    return [...this.#objects.values()];
  }

  /**
   * Creates an object, by default with generation 1, or changes it. A new spec raises the generation. If no status is
   * given, the old status stays.
   */
  apply(given: KubeObject): void {
    const key = keyOfObject(given);
    const known = this.#objects.get(key);
    const { labels = {}, annotations = {} } = given.metadata;
    const { creationTimestamp, generation = 1, ...others } = (known ?? given).metadata;
    const isChanged = known !== undefined && !sameJson(known.spec, given.spec);
    const metadata = {
      ...others,
      labels,
      annotations,
      uid: key,
      creationTimestamp: creationTimestamp || isoSeconds(this.#clock.wall()),
      generation: isChanged ? generation + 1 : generation,
    };
    const next = { status: known?.status, ...given, metadata };
    if (!sameJson(next, known)) this.#tell(this.#put(next));
  }

  /** Deletes an object; an object with finalizers stays until the last finalizer is removed. */
  delete(key: string): void {
    const known = this.#objects.get(key);
    if (known === undefined || known.metadata.deletionTimestamp !== undefined) return;
    const generation = (known.metadata.generation ?? 0) + 1;
    const deletionTimestamp = isoSeconds(this.#clock.wall());
    this.#tell(this.#put({ ...known, metadata: { ...known.metadata, generation, deletionTimestamp } }));
  }

  async readLive(object: KubeObject): Promise<KubeObject | undefined> {
    return this.#objects.get(keyOfObject(object));
  }

  async writeStatus(object: KubeObject, status: object): Promise<Written> {
    return this.#write(object, { ...object, status });
  }

  async commitStatus(object: KubeObject, render: (newest: KubeObject) => object | undefined): Promise<Written> {
    const newest = this.#objects.get(keyOfObject(object));
    if (newest === undefined) return { is: 'gone' };
    const status = render(newest);
    return status === undefined ? { is: 'conflict' } : this.writeStatus(newest, status);
  }

  async hold(object: KubeObject): Promise<Written> {
    const finalizers = [...(object.metadata.finalizers ?? []), finalizer];
    return this.#write(object, { ...object, metadata: { ...object.metadata, finalizers } });
  }

  async release(object: KubeObject): Promise<Written> {
    const finalizers = (object.metadata.finalizers ?? []).filter((one) => one !== finalizer);
    const released = this.#write(object, { ...object, metadata: { ...object.metadata, finalizers } });
    if (released.is === 'written') this.#tell(released.object);
    return released;
  }

  /**
   * Stores the next version of an object, with the spec that is stored: the engine never changes a spec, and keeps none.
   * Refuses if somebody has changed the object since the engine read it.
   */
  #write(seen: KubeObject, next: KubeObject): Written {
    const newest = this.#objects.get(keyOfObject(seen));
    if (newest === undefined) return { is: 'gone' };
    if (newest.metadata.resourceVersion !== seen.metadata.resourceVersion) return { is: 'conflict' };
    return { is: 'written', object: this.#put({ ...next, spec: newest.spec }) };
  }

  #put(object: KubeObject): KubeObject {
    this.#version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    if (isGone(stored)) this.#objects.delete(keyOfObject(stored));
    else this.#objects.set(keyOfObject(stored), stored);
    return stored;
  }

  /**
   * Reports a change to `onEvent`, with a delay, as a watch on a cluster would: first the code that made the change
   * runs until it ends or waits for something.
   */
  #tell(object: KubeObject): void {
    setImmediate(() =>
      this.#onEvent(isGone(object) ? { is: 'gone', object } : { is: 'applied', object, initial: false }),
    );
  }
}

function isGone({ metadata: { deletionTimestamp, finalizers = [] } }: KubeObject): boolean {
  return deletionTimestamp !== undefined && finalizers.length === 0;
}
