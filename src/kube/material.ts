/**
 * Reads Secrets and ConfigMaps when their values are needed, and notices when they change.
 *
 * An object that was read is kept in memory for a second, so that a hundred resources with the same Secret cost one read.
 *
 * If watching is on, a watch of metadata shows which Secrets and ConfigMaps have changed. The kept copy of a changed object is
 * dropped. If a read of the object is under way at that moment, its result is not kept either.
 *
 * If watching is off, the objects in use are read again about once a minute, so that a change, creation or deletion is noticed
 * within about a minute. Objects that no resource uses any more are not read.
 */
import { isRecord, Secret } from '../base/json.ts';
import type { KubeObject, Material, MaterialName, Resource, Troubles } from '../engine/ports.ts';
import type { KubeMeans } from './means.ts';
import { Reflector } from './reflector.ts';
import { identityOf } from './client/parse.ts';

export const secretResource: Resource = { group: '', version: 'v1', plural: 'secrets', namespaced: true };
export const configMapResource: Resource = { group: '', version: 'v1', plural: 'configmaps', namespaced: true };

const keepMs = 1_000;
const everyMs = 60_000;

const resources = { Secret: secretResource, ConfigMap: configMapResource } as const;

interface MaterialOptions extends KubeMeans {
  readonly troubles?: Troubles;
  /**
   * Whether Secrets and ConfigMaps are watched. `on` needs permission to list and watch all Secrets and ConfigMaps of the
   * watched namespaces. With `off`, the Secrets and ConfigMaps in use are read again every minute.
   */
  readonly watch: 'on' | 'off';
  /** The only namespace to watch, if the operator serves a single namespace. */
  readonly namespace?: string;
  readonly isUsed: (change: MaterialName) => boolean;
  readonly onChanged: (change: MaterialName) => void;
  /** Called when a watch notices that the cluster was restored from a backup; `by` is the name of the watch. */
  readonly onRewind?: (by: string) => void;
}

export class KubeMaterial implements Material {
  readonly #options: MaterialOptions;
  readonly #kept = new Map<string, Promise<KubeObject | undefined>>();
  /** The reflector of Secrets and the reflector of ConfigMaps, for health checks. Empty when watching is off. */
  readonly reflectors: readonly Reflector[];
  /**
   * Used only when watching is off. Maps each Secret or ConfigMap in use to the resourceVersion that it had when it was first
   * read, or when a change of it was last reported. The resourceVersion is undefined if the object did not exist.
   */
  readonly #seen = new Map<string, { readonly asked: MaterialName; version: string | undefined }>();
  #cancelRound: () => void = () => undefined;
  #stopped = false;

  constructor(options: MaterialOptions) {
    this.#options = options;
    this.reflectors = options.watch === 'off' ? [] : [this.#watch('Secret'), this.#watch('ConfigMap')];
  }

  start(): void {
    for (const reflector of this.reflectors) reflector.start();
    if (this.#options.watch === 'off') this.#planRound();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelRound();
    await Promise.all(this.reflectors.map((reflector) => reflector.stop()));
    this.#kept.clear();
  }

  async secret(namespace: string, name: string): Promise<ReadonlyMap<string, Secret> | undefined> {
    const object = await this.#read({ kind: 'Secret', namespace, name });
    if (object === undefined) return undefined;
    const texts = textsOf(object['data'], (text) => Buffer.from(text, 'base64').toString('utf8'));
    return new Map([...texts].map(([key, text]) => [key, new Secret(text)] as const));
  }

  async configMap(namespace: string, name: string): Promise<ReadonlyMap<string, string> | undefined> {
    const object = await this.#read({ kind: 'ConfigMap', namespace, name });
    return object === undefined ? undefined : textsOf(object['data'], (text) => text);
  }

  #read(asked: MaterialName): Promise<KubeObject | undefined> {
    const { clock, watch } = this.#options;
    const key = keyOf(asked);
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const value = this.#get(asked);
    this.#kept.set(key, value);
    const drop = (): void => {
      if (this.#kept.get(key) === value) this.#kept.delete(key);
    };
    value.then((object) => {
      const version = object?.metadata.resourceVersion;
      // Keep the resourceVersion of the first read, although a later read may return a newer one. Otherwise the
      // resources that used the first read would not be told that the Secret or ConfigMap has changed since.
      if (watch === 'off' && !this.#seen.has(key)) this.#seen.set(key, { asked, version });
      clock.after(keepMs, drop);
    }, drop);
    return value;
  }

  #get({ kind, namespace, name }: MaterialName): Promise<KubeObject | undefined> {
    return this.#options.api.get(resources[kind], namespace, name);
  }

  /**
   * Schedules the next read of all Secrets and ConfigMaps in use, in about a minute. Those that are no longer in use are
   * forgotten then.
   */
  #planRound(): void {
    const { clock, entropy } = this.#options;
    if (this.#stopped) return;
    this.#cancelRound = clock.after(everyMs * (0.9 + entropy.fraction() / 5), () => {
      const again = (): void => this.#planRound();
      this.#round().then(again, again);
    });
  }

  async #round(): Promise<void> {
    for (const [key, seen] of this.#seen) {
      if (this.#stopped) return;
      if (!this.#options.isUsed(seen.asked)) {
        this.#seen.delete(key);
        continue;
      }
      // Ignore a failed read: the object is read again a minute later, and each resource that uses the object reports the
      // failure itself.
      const found = await this.#get(seen.asked).then(
        (object) => ({ version: object?.metadata.resourceVersion }),
        () => undefined,
      );
      if (found === undefined || found.version === seen.version) continue;
      seen.version = found.version;
      this.#kept.delete(key);
      this.#options.onChanged(seen.asked);
    }
  }

  #watch(kind: MaterialName['kind']): Reflector {
    return new Reflector({
      ...this.#options,
      resource: resources[kind],
      metadataOnly: true,
      // Keep only what identifies an object, to save memory: a cluster may have tens of thousands of Secrets.
      keep: identityOf,
      onEvent: (event) => {
        const { metadata } = event.object;
        if (metadata.namespace === undefined) return;
        const change = { kind, namespace: metadata.namespace, name: metadata.name };
        // Drop the kept value, so that the next read asks the API server.
        this.#kept.delete(keyOf(change));
        if (event.is === 'gone' || !event.initial) this.#options.onChanged(change);
      },
    });
  }
}

function keyOf({ kind, namespace, name }: MaterialName): string {
  return `${kind}/${namespace}/${name}`;
}

function textsOf(data: unknown, decode: (text: string) => string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  if (!isRecord(data)) return texts;
  for (const [key, text] of Object.entries(data)) if (typeof text === 'string') texts.set(key, decode(text));
  return texts;
}
