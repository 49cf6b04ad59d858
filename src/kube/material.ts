/**
 * Secrets and ConfigMaps by name.
 *
 * Values are read when they are needed and kept for a second, so that a hundred resources of one Secret cost one read. Where watching
 * is allowed, a watch of metadata shows which objects changed, and what was kept of them is dropped, also when the read was still under
 * way. Where it is not allowed, the objects in use are read again in rounds.
 */
import type { V1ConfigMap, V1Secret } from '@kubernetes/client-node';
import { isRecord, Secret } from '../base/json.ts';
import type { Clock, Entropy } from '../base/time.ts';
import type { KubeApi, KubeObject, Log, Material, Resource, Troubles } from '../engine/ports.ts';
import { Reflector } from './reflector.ts';
import type { Unchecked } from './client/parse.ts';
import { within } from './deadline.ts';

export const secretResource: Resource = { group: '', version: 'v1', plural: 'secrets', namespaced: true };
export const configMapResource: Resource = { group: '', version: 'v1', plural: 'configmaps', namespaced: true };

const readMs = 45_000;
const keepMs = 1_000;

/** A Secret or ConfigMap that changed. */
export interface MaterialChange {
  readonly kind: 'Secret' | 'ConfigMap';
  readonly namespace: string;
  readonly name: string;
}

export interface MaterialOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly troubles?: Troubles;
  /** Watching needs list and watch on all Secrets of the namespaces; without it those in use are read every minute. */
  readonly watch: 'on' | 'off';
  /** The only namespace in namespaced mode. */
  readonly namespace?: string;
  readonly isUsed: (change: MaterialChange) => boolean;
  readonly onChanged: (change: MaterialChange) => void;
  /** Called with the name of the watch that noticed that the cluster was restored from a backup. */
  readonly onRewind?: (by: string) => void;
}

interface Kept {
  readonly value: Promise<KubeObject | undefined>;
  until: number;
}

export class KubeMaterial implements Material {
  readonly #options: MaterialOptions;
  readonly #kept = new Map<string, Kept>();
  /** The watches, for health; none when watching is off. */
  readonly reflectors: readonly Reflector[];
  readonly #rounds: MaterialRounds | undefined;

  constructor(options: MaterialOptions) {
    this.#options = options;
    this.reflectors =
      options.watch === 'off'
        ? []
        : [this.#watch('Secret', secretResource), this.#watch('ConfigMap', configMapResource)];
    this.#rounds = options.watch === 'off' ? this.#askInRounds() : undefined;
  }

  start(): void {
    for (const reflector of this.reflectors) reflector.start();
    this.#rounds?.start();
  }

  async stop(): Promise<void> {
    this.#rounds?.stop();
    await Promise.all(this.reflectors.map((reflector) => reflector.stop()));
    this.#kept.clear();
  }

  async secret(namespace: string, name: string): Promise<ReadonlyMap<string, Secret> | undefined> {
    const object = await this.#read(secretResource, namespace, name);
    if (object === undefined) return undefined;
    const { data }: Unchecked<V1Secret> = object;
    const texts = textsOf(data, (text) => Buffer.from(text, 'base64').toString('utf8'));
    return new Map([...texts].map(([key, text]) => [key, new Secret(text)] as const));
  }

  async configMap(namespace: string, name: string): Promise<ReadonlyMap<string, string> | undefined> {
    const object = await this.#read(configMapResource, namespace, name);
    const { data }: Unchecked<V1ConfigMap> = object ?? {};
    return object === undefined ? undefined : textsOf(data, (text) => text);
  }

  /** Drops what is kept of one object, so that the next read asks the API server. */
  forget(kind: MaterialChange['kind'], namespace: string, name: string): void {
    const { plural } = kind === 'Secret' ? secretResource : configMapResource;
    this.#kept.delete(keyOf(plural, namespace, name));
  }

  #read(resource: Resource, namespace: string, name: string): Promise<KubeObject | undefined> {
    const { api, clock } = this.#options;
    const key = keyOf(resource.plural, namespace, name);
    const known = this.#kept.get(key);
    if (known !== undefined && clock.monotonic() < known.until) return known.value;
    const title = `reading ${resource.plural} ${namespace}/${name}`;
    const value = within(clock, readMs, api.get(resource, namespace, name), title);
    const kept: Kept = { value, until: Number.POSITIVE_INFINITY };
    this.#kept.set(key, kept);
    const drop = (): void => {
      if (this.#kept.get(key) === kept) this.#kept.delete(key);
    };
    value.then((object) => {
      this.#rounds?.read(key, { resource, namespace, name }, object?.metadata.resourceVersion);
      kept.until = clock.monotonic() + keepMs;
      clock.after(keepMs, drop);
    }, drop);
    return value;
  }

  #askInRounds(): MaterialRounds {
    const { api, clock, entropy, isUsed, onChanged } = this.#options;
    const changeOf = ({ resource, namespace, name }: Asked): MaterialChange => ({
      kind: resource.plural === secretResource.plural ? 'Secret' : 'ConfigMap',
      namespace,
      name,
    });
    return new MaterialRounds({
      api,
      clock,
      entropy,
      isUsed: (asked) => isUsed(changeOf(asked)),
      onChanged: (asked) => {
        const change = changeOf(asked);
        this.forget(change.kind, change.namespace, change.name);
        onChanged(change);
      },
    });
  }

  #watch(kind: MaterialChange['kind'], resource: Resource): Reflector {
    const { api, clock, entropy, log, troubles, namespace, onChanged, onRewind } = this.#options;
    return new Reflector({
      api,
      resource,
      clock,
      entropy,
      log,
      ...(troubles !== undefined && { troubles }),
      metadataOnly: true,
      keep: onlyIdentity,
      ...(namespace !== undefined && { namespace }),
      ...(onRewind !== undefined && { onRewind }),
      onEvent: (event) => {
        const { metadata } = event.object;
        if (metadata.namespace === undefined) return;
        this.forget(kind, metadata.namespace, metadata.name);
        const initial = event.is === 'applied' && event.initial;
        if (!initial) onChanged({ kind, namespace: metadata.namespace, name: metadata.name });
      },
    });
  }
}

/** Keeps only what shows a change: a cluster may have tens of thousands of Secrets. */
function onlyIdentity({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion, creationTimestamp: '', ...(namespace !== undefined && { namespace }) },
  };
}

function keyOf(plural: string, namespace: string, name: string): string {
  return `${plural}/${namespace}/${name}`;
}

function textsOf(data: unknown, decode: (text: string) => string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  if (!isRecord(data)) return texts;
  for (const [key, text] of Object.entries(data)) if (typeof text === 'string') texts.set(key, decode(text));
  return texts;
}

const everyMs = 60_000;

/** One object that is read again. */
interface Asked {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

interface RoundsOptions {
  readonly api: Pick<KubeApi, 'get'>;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly isUsed: (asked: Asked) => boolean;
  readonly onChanged: (asked: Asked) => void;
}

/**
 * Rereads the Secrets and ConfigMaps in use every minute, for operators that may not watch them.
 *
 * Guarantees: a change, creation or deletion is noticed within one round; an object that nobody uses any more is not read.
 */
class MaterialRounds {
  readonly #options: RoundsOptions;
  /** The version that its users have seen, by key; undefined when the object did not exist. */
  readonly #known = new Map<string, { readonly asked: Asked; version: string | undefined }>();
  #cancel: () => void = () => undefined;
  #stopped = false;

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, entropy } = this.#options;
    if (this.#stopped) return;
    this.#cancel = clock.after(everyMs * (0.9 + entropy.fraction() / 5), () => {
      this.#round().then(
        () => this.start(),
        () => this.start(),
      );
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  /**
   * Remembers the first version that was read. A newer one read for another object must still be reported to earlier users.
   */
  read(key: string, asked: Asked, version: string | undefined): void {
    if (!this.#known.has(key)) this.#known.set(key, { asked, version });
  }

  async #round(): Promise<void> {
    const { isUsed } = this.#options;
    for (const [key, known] of this.#known) {
      if (this.#stopped) return;
      if (isUsed(known.asked)) await this.#look(known);
      else this.#known.delete(key);
    }
  }

  async #look(known: { readonly asked: Asked; version: string | undefined }): Promise<void> {
    const { api, clock, onChanged } = this.#options;
    const { resource, namespace, name } = known.asked;
    const title = `asking again for ${resource.plural} ${namespace}/${name}`;
    const read = within(clock, readMs, api.get(resource, namespace, name), title);
    // A failed read is repeated in the next round; resources that need the object report the failure themselves.
    const found = await read.then(
      (object) => ({ version: object?.metadata.resourceVersion }),
      () => undefined,
    );
    if (found === undefined || found.version === known.version) return;
    known.version = found.version;
    onChanged(known.asked);
  }
}
