/**
 * One pass over one object, from the door: whether it may be looked at now, and with what.
 *
 * What is paused, let go of, not understood or not provided for ends here, with a word about it; everything else goes on to
 * the loop around its steps.
 */
import { paused } from '../status/conditions.ts';
import type { Stored } from '../objects/object-index.ts';
import type { Parts } from '../parts.ts';
import type { Verdict } from '../kind/contract/step.ts';
import { blind, letGo } from './leaving.ts';
import { isLost, lookForLost, type Learned } from '../call/lost-call.ts';
import { annotations, reconcileToken } from '../objects/names.ts';
import { KubeError } from '../ports.ts';
import { Steps } from './steps.ts';
import { dependentsOf } from './relations.ts';
import { gather, gatherWhatThereIs } from './surroundings.ts';
import type { Ended, Work } from './work.ts';
import { Worktable } from './worktable.ts';

/** A new object says nothing for this long of what it lacks. */
const patienceMs = 5_000;

export class Reconciler {
  readonly #parts: Parts;
  readonly #table: Worktable;
  readonly #steps: Steps;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#table = new Worktable(parts);
    this.#steps = new Steps(parts, this.#table);
  }

  /** One pass over one object. */
  async pass(key: string): Promise<Ended> {
    const entry = this.#parts.objects.get(key);
    if (entry === undefined) return { is: 'gone' };
    const work = this.#table.take(entry);
    if (entry.kind.finished?.(work.status.memory.facts) === true) {
      this.#parts.subscriptions.drop(key);
      return this.#acknowledge(work);
    }
    if (work.object.metadata.annotations?.[annotations.paused] === 'true') {
      work.inProcess.looks = false;
      return this.#pause(work);
    }
    const kept = letGo(work, () => dependentsOf(this.#parts, entry));
    if (kept !== undefined) return this.#table.release(work, kept.stays);
    if (entry.spec.is === 'broken') throw entry.spec.cause;
    if (entry.spec.is === 'invalid') {
      return this.#table.say(work, undefined, { is: 'stall', reason: 'InvalidSpec', message: entry.spec.message });
    }
    if (work.status.damaged !== undefined) {
      const message = 'status.journal cannot be read; remove it after making sure that no call is under way';
      return this.#table.say(work, undefined, { is: 'stall', reason: 'JournalDamaged', message });
    }
    const around = await gather(entry, this.#parts);
    if ('verdict' in around) {
      work.inProcess.looks = false;
      if (work.object.metadata.deletionTimestamp !== undefined) return this.#leave(work, around.verdict);
      if (around.verdict === undefined) return { is: 'quiet', againInMs: 30_000 };
      if (isLost(work)) return this.#holdUp(work, around.verdict);
      const patience = this.#patienceMs(work, around.verdict);
      return patience > 0 ? { is: 'quiet', againInMs: patience } : this.#table.say(work, undefined, around.verdict);
    }
    return this.#steps.run(work, around);
  }

  /** A pass threw: that is said in words that give nothing away; what Kubernetes does not answer to ends by itself. */
  async failed(key: string, error: unknown): Promise<void> {
    const entry = this.#parts.objects.get(key);
    const isPassing = error instanceof KubeError && error.reason !== 'forbidden' && error.reason !== 'invalid';
    if (entry === undefined || isPassing) return;
    const message =
      error instanceof KubeError
        ? 'Kubernetes refuses what the operator asks of it for this object; the log of the operator has the details'
        : 'the operator made a mistake of its own with this object; its log has the details';
    await this.#table.say(this.#table.take(entry), undefined, { is: 'wait', reason: 'InternalError', message });
  }

  /** An object is gone; a create of it may still be under way. */
  bury(entry: Stored): void {
    this.#table.bury(entry);
  }

  /** What has come to its end is not looked at again, and whoever asks for that is told that it was heard. */
  async #acknowledge(work: Work): Promise<Ended> {
    const token = reconcileToken(work.object);
    const settled = { is: 'settled', againInMs: undefined } as const;
    if (token === undefined || token === work.status.lastHandledReconcileAt) return settled;
    const status = { ...work.status, lastHandledReconcileAt: token };
    const written = await this.#table.write({ ...work, status }, undefined);
    return written === undefined ? { is: 'overtaken' } : settled;
  }

  /** How much longer a new object says nothing of what it lacks: most of it comes with the same apply, and wakes it. */
  #patienceMs({ status, inProcess }: Work, verdict: Verdict<unknown>): number {
    if (verdict.is !== 'wait' || status.conditions.length > 0) return 0;
    const now = this.#parts.clock.monotonic();
    inProcess.heldBackAt ??= now;
    return inProcess.heldBackAt + patienceMs - now;
  }

  /** A deletion whose account cannot be used goes as far as it comes without looking at the service. */
  async #leave(work: Work, verdict: Verdict<unknown> | undefined): Promise<Ended> {
    const { accounts, objects } = this.#parts;
    const account = accounts.viewWithout(objects.get(work.entry.account), work.status.memory);
    const nothing = { secrets: new Map(), configMaps: new Map(), referred: new Map() };
    const step = work.entry.kind.step(this.#table.passOf(work, { ...nothing, account }, blind));
    if (step.is === 'release') return this.#table.release(work, step.stays);
    if (work.entry.kind.life === 'account' && step.is === 'wait') return this.#table.say(work, undefined, step);
    return verdict === undefined ? { is: 'quiet', againInMs: 30_000 } : this.#table.say(work, undefined, verdict);
  }

  async #pause(held: Work): Promise<Ended> {
    // Nobody would be told of what is read for it; an account goes on for those that use it.
    if (held.entry.kind.life !== 'account') this.#parts.subscriptions.drop(held.entry.key);
    const { work, againInMs } = await this.#lookForLost(held);
    const { generation = 0 } = work.object.metadata;
    const conditions = paused(work.status.conditions, generation, this.#parts.clock.wall());
    const written = await this.#table.write({ ...work, status: { ...work.status, conditions } }, undefined);
    if (written !== undefined && written.entry.kind.life === 'account') await this.#serve(written);
    return written === undefined ? { is: 'overtaken' } : { is: 'settled', againInMs };
  }

  /** A pause holds the account's own object; what uses the account goes on, in the next process too. */
  async #serve({ entry }: Work): Promise<void> {
    const around = await gather(entry, this.#parts);
    const verdict = 'verdict' in around ? around.verdict : undefined;
    const message = 'it is paused and was never Ready before';
    this.#parts.concluded(entry, verdict ?? { is: 'wait', reason: 'Paused', message });
  }

  /** Says what an object lacks; what a lost call of it did is found out meanwhile. */
  async #holdUp(held: Work, verdict: Verdict<unknown>): Promise<Ended> {
    const { work, againInMs } = await this.#lookForLost(held);
    const isTimed = verdict.is === 'wait' && againInMs !== undefined;
    return this.#table.say(work, undefined, isTimed ? { ...verdict, retryInMs: againInMs } : verdict);
  }

  /** Others wait for the end of a call in doubt: what became of it is found out whatever holds up its own object. */
  async #lookForLost(work: Work): Promise<Learned> {
    const around = isLost(work) ? await gatherWhatThereIs(work.entry, this.#parts) : undefined;
    if (around === undefined || 'verdict' in around || work.entry.spec.is !== 'valid')
      return { work, againInMs: undefined };
    const { session } = around;
    return lookForLost(this.#parts, work, session, (now, view) => {
      const pass = this.#table.passOf(now, { ...around, account: this.#parts.accounts.view(session) }, view);
      // A deletion that is held up has not begun.
      return now.entry.kind.step({ ...pass, subject: { ...pass.subject, deleting: false } });
    });
  }
}
