/** How long the end of a turn is remembered by its name: longer than a look takes, or who looks would never be in time. */
const keptMs = 600_000;

/** Who has the turn: calls that would be taken for one another when an answer is lost are not under way at the same time. */
export class ExclusiveLocks {
  /** The one that was touched last is the last. */
  readonly #turns = new Map<string, { readonly by: string; readonly endedAt: number | undefined }>();
  /** When the newest of the turns that are forgotten ended: any name may have been its own. */
  #forgottenAt = Number.NEGATIVE_INFINITY;

  /** How many are remembered. */
  get size(): number {
    return this.#turns.size;
  }

  /** Takes the turn at all of these names; false while another object has it, or had it after this monotonic time. */
  take(names: readonly string[], by: string, lookedAt: number): boolean {
    const isFree = names.every((name) => {
      const turn = this.#turns.get(name);
      if (turn === undefined) return this.#forgottenAt < lookedAt;
      return turn.by === by || (turn.endedAt !== undefined && turn.endedAt < lookedAt);
    });
    if (isFree) for (const name of names) this.#touch(name, by, undefined);
    return isFree;
  }

  /** The call has ended, however it ended. */
  end(names: readonly string[], by: string, now: number): void {
    for (const name of names) this.#touch(name, by, now);
    this.#forget(now - keptMs);
  }

  #touch(name: string, by: string, endedAt: number | undefined): void {
    this.#turns.delete(name);
    this.#turns.set(name, { by, endedAt });
  }

  /** Lets go of the turns that ended before this time. */
  #forget(before: number): void {
    for (const [name, { endedAt }] of this.#turns) {
      if (endedAt === undefined) continue;
      if (endedAt >= before) return;
      this.#turns.delete(name);
      this.#forgottenAt = Math.max(this.#forgottenAt, endedAt);
    }
  }
}
