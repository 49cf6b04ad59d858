/**
 * The loop around a step: asks the kind for the next single effect, performs it, and asks again.
 *
 * Guarantees: one effect per step, and what it brought is written down before the next is begun; a crash between any two
 * effects is the same as a slow pass.
 */
import { sameJson } from '../../base/json.ts';
import { storedInWords } from '../objects/object-index.ts';
import type { Parts } from '../parts.ts';
import { RecordingView } from '../objects/subscriptions.ts';
import type { Pass } from '../kind/contract/pass.ts';
import { withoutMisses } from '../kind/planner/observe.ts';
import type { Step, Verdict } from '../kind/contract/step.ts';
import { arrivesUntil, withoutLost } from '../call/lost-call.ts';
import { isObserving, rebound } from './pass-of.ts';
import { begin, perform, type Performed } from '../call/perform.ts';
import type { KubeObject, Read } from '../ports.ts';
import { seenAgain, wentThrough } from '../objects/in-process.ts';
import { usersOf } from './relations.ts';
import { tellRetained } from '../status/report.ts';
import type { Surroundings } from './surroundings.ts';
import { noteCircumstances, wentWell } from '../call/call-backoff.ts';
import { remembering, type Ended, type Work } from './work.ts';
import type { Worktable } from './worktable.ts';

const mostSteps = 16;
const quietReadMs = 5_000;
/** How much longer it may take without a word where our own budget is what it waits for. */
const longestQueueMs = 40_000;
const usualQueue = 25;

export class Steps {
  readonly #parts: Parts;
  readonly #table: Worktable;

  constructor(parts: Parts, table: Worktable) {
    this.#parts = parts;
    this.#table = table;
  }

  /** Takes steps until there is nothing left to do now. */
  async run(started: Work, around: Surroundings): Promise<Ended> {
    let work = rebound(started, around);
    const isLeaving = work.object.metadata.deletionTimestamp !== undefined;
    noteCircumstances(work.inProcess, work.object, around, isLeaving ? usersOf(this.#parts, work.entry) : []);
    // What was seen before it was held up is old by now.
    if (!work.inProcess.looks) {
      work.inProcess.askedAt = undefined;
      const isProved = work.inProcess.notes['provedGone'] !== undefined;
      if (!isProved) work.inProcess.notes = withoutMisses(work.inProcess.notes);
    }
    work.inProcess.looks = true;
    for (let count = 0; count < mostSteps; count += 1) {
      const view = new RecordingView(around.session.service, work.inProcess.forced?.since);
      const pass = this.#table.passOf(work, { ...around, account: this.#parts.accounts.view(around.session) }, view);
      const step = work.entry.kind.step(pass);
      this.#parts.subscriptions.replace(work.entry.key, around.session.service, view.looked);
      // A walk from before our write and one that shows it undone look the same: the next one wakes in any case.
      for (const read of view.polledBefore(work.inProcess.wrote?.at))
        this.#parts.asked(view.service, read, work.entry.key);
      if ('note' in step && step.note !== undefined) work.inProcess.notes = step.note;
      work.inProcess.notes = seenAgain(work.inProcess.notes, work.status.memory.id, view);
      const next = await this.#act(work, around, pass, step);
      if ('is' in next) return next;
      work = next;
    }
    throw new Error(`${storedInWords(started.entry)} does not come to an end after ${mostSteps} steps`);
  }

  /** Carries out one step; the work to go on with, or how the pass ended. */
  async #act(
    work: Work,
    around: Surroundings,
    pass: Pass<unknown, unknown>,
    step: Step<unknown>,
  ): Promise<Work | Ended> {
    switch (step.is) {
      case 'again':
        return this.#goOn(remembering(work, step.remember), pass, step.stays);
      case 'release':
        return this.#table.release(work, step.stays);
      case 'read':
        return this.#read(remembering(work, step.remember), around, pass, step);
      case 'begin':
        return this.#begun(remembering(work, step.remember), pass, step);
      case 'call':
        return this.#call(remembering(work, step.remember), pass, step);
      case 'ready': {
        // Somebody took the finalizer off, or the object was only observed until now.
        const held = await this.#hold(work, pass);
        return 'is' in held ? held : this.#conclude(held, pass, step);
      }
      case 'wait':
        if (step.awaits !== undefined) this.#ask(work, around, step.awaits);
        return this.#conclude(work, pass, step);
      case 'stall':
        return this.#conclude(work, pass, step);
    }
  }

  /** Goes on with what was learned; what is let go of by that is told, and written at once. */
  async #goOn(work: Work, pass: Pass<unknown, unknown>, stays: string | undefined): Promise<Work | Ended> {
    if (stays === undefined) return this.#hold(work, pass);
    // Told first: a write whose answer is lost is not made a second time.
    tellRetained(this.#parts, work.entry, stays);
    const written = await this.#table.write(work, undefined);
    return written === undefined ? { is: 'overtaken' } : this.#hold(written, pass);
  }

  async #begun(
    work: Work,
    pass: Pass<unknown, unknown>,
    step: Extract<Step<unknown>, { is: 'begin' }>,
  ): Promise<Work | Ended> {
    if (isObserving(work.entry.kind, pass)) return this.#observed(work, pass, step.words);
    return this.#performed(await begin(this.#table, work, pass, step.journal, step.words), pass);
  }

  /** What would be done, where nothing may be: a request that waits for it is not ready. */
  #observed(work: Work, pass: Pass<unknown, unknown>, words: string): Promise<Ended> {
    const message = 'only observed; status.wouldDo says what would be done';
    const is = work.entry.kind.life === 'request' ? 'wait' : 'ready';
    return this.#table.say(work, pass, { is, reason: 'Observed', message }, words);
  }

  async #conclude(work: Work, pass: Pass<unknown, unknown>, verdict: Verdict<unknown>): Promise<Ended> {
    if (this.#waitsForTurns(work, pass)) return { is: 'quiet', againInMs: quietReadMs };
    work.inProcess.askedAt = undefined;
    work.inProcess.newSince = undefined;
    if (verdict.is === 'ready') {
      wentWell(work.inProcess);
      wentThrough(work.inProcess, pass.subject.generation);
    }
    return this.#table.say(remembering(work, verdict.remember), pass, verdict);
  }

  /** Who asks to look again is answered once what is otherwise read in turns, and only shown, was asked for as well. */
  #waitsForTurns({ inProcess, entry }: Work, pass: Pass<unknown, unknown>): boolean {
    const { forced } = inProcess;
    if (forced === undefined || !(pass.view instanceof RecordingView)) return false;
    const { view } = pass;
    entry.kind.show(pass);
    const turns = view.turnsBefore(forced.since);
    for (const read of turns) {
      this.#parts.asked(view.service, read.key, entry.key);
      view.service.want(read, forced.since);
    }
    return turns.length > 0;
  }

  async #call(
    work: Work,
    pass: Pass<unknown, unknown>,
    step: Extract<Step<unknown>, { is: 'call' }>,
  ): Promise<Work | Ended> {
    const { call } = step;
    if (isObserving(work.entry.kind, pass)) return this.#observed(withoutLost(work, step), pass, call.words);
    const held = await this.#hold(work, pass);
    if ('is' in held) return held;
    return this.#performed(await perform(this.#table, held, pass, call), pass);
  }

  async #performed(performed: Performed, pass: Pass<unknown, unknown>): Promise<Work | Ended> {
    switch (performed.is) {
      case 'on':
        return performed.work;
      case 'overtaken':
        return performed;
      case 'quiet':
        return { is: 'quiet', againInMs: performed.retryInMs };
      case 'said': {
        if (performed.verdict.note !== undefined) performed.work.inProcess.notes = performed.verdict.note;
        const ended = await this.#table.say(
          remembering(performed.work, performed.verdict.remember),
          pass,
          performed.verdict,
        );
        const { againInMs } = performed;
        return againInMs !== undefined && ended.is === 'settled' ? { is: 'failing', againInMs } : ended;
      }
    }
  }

  /** Makes sure that our finalizer is on before anything can be left behind in the service. */
  async #hold(work: Work, pass: Pass<unknown, unknown>): Promise<Work | Ended> {
    const { holds, life } = work.entry.kind;
    // An account that only observes is used as well, and waits for those that do.
    const mayGo = life !== 'account' && isObserving(work.entry.kind, pass);
    if (!holds || pass.subject.held || pass.subject.deleting || mayGo) return work;
    const held = await this.#parts.writer.hold(work.object);
    if (held.is !== 'written') return { is: 'overtaken' };
    return this.#adopt(work, held.object);
  }

  #adopt(work: Work, object: KubeObject): Work {
    const entry = { ...work.entry, object };
    this.#parts.wrote(entry);
    return { ...work, object, entry };
  }

  /** Asks the service for a read; its end wakes the object, whatever it shows. */
  #ask(
    { inProcess, entry }: Work,
    { session }: Surroundings,
    { read, since }: { readonly read: Read; readonly since: number },
  ): void {
    this.#parts.asked(session.service, read.key, entry.key);
    session.service.want(read, Math.max(since, inProcess.forced?.since ?? Number.NEGATIVE_INFINITY));
  }

  /** Asks for a read; status says so only when it takes long and nothing better is known. */
  async #read(
    work: Work,
    around: Surroundings,
    pass: Pass<unknown, unknown>,
    step: Extract<Step<unknown>, { is: 'read' }>,
  ): Promise<Ended> {
    const { inProcess } = work;
    // What came back from the service is written before anything is waited for, and so is what a lost call turned out to be,
    // and what has taken the place of an object that is gone.
    const isNews = work.unwrittenId || hasEnded(work) || isBoundAnew(work);
    if (isNews && (await this.#table.write(work, undefined)) === undefined) return { is: 'overtaken' };
    inProcess.askedAt ??= pass.askedAt;
    this.#ask(work, around, step);
    const waited = pass.monotonicMs - inProcess.askedAt;
    const known = work.status.conditions.some(
      (condition) => condition.type === 'Ready' && condition.observedGeneration === pass.subject.generation,
    );
    const { memory } = work.status;
    const doubt = work.entry.kind.answered?.(memory) === true ? undefined : memory.journal;
    // A queue of our own is no news.
    const queueMs = (1_000 * usualQueue) / around.session.service.health().requestsPerSecond;
    const quietMs = quietReadMs + Math.min(queueMs, longestQueueMs);
    if (waited < quietMs || (known && doubt === undefined)) return { is: 'quiet', againInMs: quietReadMs };
    const message =
      doubt === undefined
        ? `waiting for ${step.read.first.endpoint}`
        : `a call was sent and its answer was lost, so that it may still arrive until ${arrivesUntil(this.#parts, inProcess, doubt)}; waiting for a read of the service that shows what it did`;
    return this.#table.say(work, undefined, {
      is: 'wait',
      reason: doubt === undefined ? 'ReadingService' : 'InDoubt',
      message,
      retryInMs: quietReadMs,
    });
  }
}

/** Whether a pass knows the end of a call that is still open in status. */
function hasEnded({ entry, status }: Work): boolean {
  const { journal } = entry.status.memory;
  return journal !== undefined && !sameJson(journal, status.memory.journal);
}

/** Whether a pass found what has taken the place of the bound object. */
function isBoundAnew({ entry, status }: Work): boolean {
  const { id } = entry.status.memory;
  return id !== undefined && id !== status.memory.id;
}
