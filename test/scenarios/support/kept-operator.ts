import { startMortal, type OperatorProcess, type Post } from './operator-process.ts';

/** An operator that is started again whenever it ends, as a Deployment does it. */
export class KeptOperator {
  /** Flags of the processes that are started from now on. */
  flags: readonly string[];
  readonly #post: Post;
  readonly #outputs: (() => string)[] = [];
  #newest: OperatorProcess | undefined;
  #starts = 0;
  #isOver = false;

  constructor(post: Post, flags: readonly string[]) {
    this.#post = post;
    this.flags = flags;
  }

  /** The process that runs now. */
  get current(): OperatorProcess {
    if (this.#newest === undefined) throw new Error('no operator has been started');
    return this.#newest;
  }

  /** How often one was started. */
  get starts(): number {
    return this.#starts;
  }

  /** Everything that all of them have printed. */
  printed(): string {
    return this.#outputs.map((output) => output()).join('\n');
  }

  async keep(): Promise<void> {
    if (this.#isOver) return;
    this.#starts += 1;
    try {
      const started = await startMortal(this.#post, ...this.flags);
      this.#newest = started;
      this.#outputs.push(started.output);
      void started.ended.then(() => this.keep());
    } catch (error) {
      // It gave up for want of a cluster, and is started again after a while.
      this.#outputs.push(() => String(error));
      setTimeout(() => void this.keep(), 1_000);
    }
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#newest?.end();
  }
}
