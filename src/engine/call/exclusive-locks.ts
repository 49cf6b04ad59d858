/** How long the release of a lock is remembered by its name: longer than a read takes. */
const keptMs = 600_000;

/** Exclusive locks by name: calls that could not be told apart after a lost answer are not under way at the same time. */
export class ExclusiveLocks {
  /** In the order of their last use. */
  readonly #turns = new Map<string, { readonly by: string; readonly endedAt: number | undefined }>();
  /** When the newest forgotten lock was released: it may have had any name. */
  #forgottenAt = Number.NEGATIVE_INFINITY;

  /** How many are remembered. */
  get size(): number {
    return this.#turns.size;
  }

  /** Locks all of these names. False while another object holds one, or held one after the caller last looked (monotonic). */
  take(names: readonly string[], by: string, lookedAt: number): boolean {
    const isFree = names.every((name) => {
      const turn = this.#turns.get(name);
      if (turn === undefined) return this.#forgottenAt < lookedAt;
      return turn.by === by || (turn.endedAt !== undefined && turn.endedAt < lookedAt);
    });
    if (isFree) for (const name of names) this.#touch(name, by, undefined);
    return isFree;
  }

  /** Releases the names. */
  end(names: readonly string[], by: string, now: number): void {
    for (const name of names) this.#touch(name, by, now);
    this.#forget(now - keptMs);
  }

  #touch(name: string, by: string, endedAt: number | undefined): void {
    this.#turns.delete(name);
    this.#turns.set(name, { by, endedAt });
  }

  /** Forgets locks that were released before this time. */
  #forget(before: number): void {
    for (const [name, { endedAt }] of this.#turns) {
      if (endedAt === undefined) continue;
      if (endedAt >= before) return;
      this.#turns.delete(name);
      this.#forgottenAt = Math.max(this.#forgottenAt, endedAt);
    }
  }
}
