/**
 * Rereads the Secrets and ConfigMaps in use every minute, for operators that may not watch them.
 *
 * Guarantees: a change, creation or deletion is noticed within one round; an object that nobody uses any more is not read.
 */
import type { Clock, Entropy } from '../../base/time.ts';
import type { KubeApi, Resource } from '../../engine/ports.ts';
import { within } from '../deadline.ts';

const everyMs = 60_000;
const readMs = 45_000;

/** One object that is read again. */
export interface Asked {
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

export interface RoundsOptions {
  readonly api: Pick<KubeApi, 'get'>;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly isUsed: (asked: Asked) => boolean;
  readonly onChanged: (asked: Asked) => void;
}

export class MaterialRounds {
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
