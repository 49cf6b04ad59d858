/** Who has the turn: calls that would be taken for one another when an answer is lost are not under way at the same time. */
export class Turns {
  readonly #turns = new Map<string, { readonly by: string; readonly endedAt: number | undefined }>();

  /** Takes the turn at all of these names; false while another object has it, or had it after this monotonic time. */
  take(names: readonly string[], by: string, lookedAt: number): boolean {
    const isFree = names.every((name) => {
      const turn = this.#turns.get(name);
      return turn === undefined || turn.by === by || (turn.endedAt !== undefined && turn.endedAt < lookedAt);
    });
    if (isFree) for (const name of names) this.#turns.set(name, { by, endedAt: undefined });
    return isFree;
  }

  /** The call has ended, however it ended. */
  end(names: readonly string[], by: string, now: number): void {
    for (const name of names) this.#turns.set(name, { by, endedAt: now });
  }
}
