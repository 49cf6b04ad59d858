import { setTimeout as sleep } from 'node:timers/promises';
import { startMortal, type OperatorProcess, type Post } from './operator-process.ts';

/** What an operator prints before it ends for want of its lease. */
const lostLease = 'the lease is lost, so the operator stops now';
/** The line with which one ends that has no cluster to begin in. */
const foundNoCluster = /^apphosting run: /mu;

/**
 * An operator that is started again whenever it ends, as a Deployment does it. It may end by a signal, for want of its lease, or of a
 * cluster to begin in: `end` fails the tests when it ended in any other way.
 */
export class KeptOperator {
  /** Flags of the processes that are started from now on. */
  flags: readonly string[];
  readonly #post: Post;
  readonly #outputs: (() => string)[] = [];
  readonly #crashes: string[] = [];
  #newest: OperatorProcess | undefined;
  #kept: Promise<void> | undefined;
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

  /** Starts the first one, and from then on the next one whenever one has ended. */
  async keep(): Promise<void> {
    const first = await this.#start();
    this.#kept = this.#goOn(first);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#newest?.end();
    await this.#kept;
    const [crash] = this.#crashes;
    if (crash !== undefined) throw new Error(`the operator ended by itself:\n${crash.slice(-4_000)}`);
  }

  async #goOn(first: OperatorProcess | undefined): Promise<void> {
    let started = first;
    for (;;) {
      if (started === undefined) await sleep(1_000);
      else await this.#hasEnded(started);
      if (this.#isOver) return;
      started = await this.#start();
    }
  }

  /** The next process; none where it gave up for want of a cluster. */
  async #start(): Promise<OperatorProcess | undefined> {
    this.#starts += 1;
    try {
      const started = await startMortal(this.#post, ...this.flags);
      this.#newest = started;
      this.#outputs.push(started.output);
      return started;
    } catch (error) {
      const said = String(error);
      this.#outputs.push(() => said);
      if (!foundNoCluster.test(said)) this.#crashes.push(said);
      return undefined;
    }
  }

  async #hasEnded(started: OperatorProcess): Promise<void> {
    // What began while all came to its end has nobody else who ends it.
    if (this.#isOver) await started.end();
    await started.ended;
    const said = started.gaveUp();
    if (said !== undefined && !said.includes(lostLease)) this.#crashes.push(said);
  }
}
