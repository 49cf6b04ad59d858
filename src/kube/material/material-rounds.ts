/**
 * Asking again, by name, for Secrets and ConfigMaps that may not be watched.
 *
 * Guarantees: whoever uses one hears within a round that it came, changed or went; what nobody uses any more is not asked for.
 */
import type { Clock, Entropy } from '../../base/clock.ts';
import type { KubeApi, Resource } from '../../engine/ports.ts';
import { within } from '../wait.ts';

const roundMs = 60_000;
const readMs = 45_000;

/** One object that is asked for. */
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
  /** By key, with the version that those who use it know; undefined when it was not there. */
  readonly #known = new Map<string, { readonly asked: Asked; version: string | undefined }>();
  #cancel: () => void = () => undefined;
  #stopped = false;

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, entropy } = this.#options;
    if (this.#stopped) return;
    this.#cancel = clock.after(roundMs * (0.9 + entropy.fraction() / 5), () => {
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

  /** Somebody has read it. A later version that somebody else reads is still news to those who read this one. */
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
    // What cannot be read now is asked for in the next round; those who need it say so themselves.
    const found = await read.then(
      (object) => ({ version: object?.metadata.resourceVersion }),
      () => undefined,
    );
    if (found === undefined || found.version === known.version) return;
    known.version = found.version;
    onChanged(known.asked);
  }
}
