/**
 * The frame around a step: everything that happens for one object, once.
 *
 * It brings together what the step may know, asks the kind for the next single effect, performs it, writes down what came of
 * it, and asks again until there is nothing left to do. A crash between any two effects is the same as a slow pass.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Pass, View } from './kind/pass.ts';
import type { Call, JournalEntry, Step, Verdict } from './kind/step.ts';
import { entryInWords, type Entry } from './book.ts';
import { paused } from './conditions.ts';
import { RecordingView } from './interests.ts';
import { annotations } from './names.ts';
import { blind, letGo, withWayOut } from './leaving.ts';
import type { Recollection } from './memory.ts';
import { writtenTo, type Recall } from './recall.ts';
import { OpenCreates } from './open-creates.ts';
import { begin, perform, remembering, type Performed } from './perform.ts';
import { KubeError, type KubeObject, type Outcome } from './ports.ts';
import { isLost, lookForLost, withoutLost, type Learned } from './lost-create.ts';
import {
  dependentsOf,
  gather,
  gatherWhatThereIs,
  requestDigest,
  subjectOf,
  type Surroundings,
} from './surroundings.ts';
import { concludePass, record, tellLeft, tellRetained, write, type Said } from './report.ts';
import type { Parts } from './engine.ts';
import { isObserving, passAgain, passOf, rebound, type Sighted } from './pass-of.ts';
import type { Work, Worktable } from './worktable.ts';

const mostSteps = 16;
const quietReadMs = 5_000;

/** How a pass ended, for the queue. */
export type Ended =
  | { readonly is: 'settled'; readonly againInMs: number | undefined }
  | { readonly is: 'failing' }
  /** Somebody else wrote first: what they wrote is on its way, and wakes. */
  | { readonly is: 'overtaken' }
  | { readonly is: 'quiet'; readonly againInMs: number }
  | { readonly is: 'gone' };

export class Reconciler implements Worktable {
  readonly #parts: Parts;
  readonly #creates: OpenCreates;

  constructor(parts: Parts) {
    this.#parts = parts;
    const isUpToDate = (entry: Entry) => parts.newest(entry) === entry;
    this.#creates = new OpenCreates(parts.book, parts.clock, isUpToDate);
  }

  get clock(): Parts['clock'] {
    return this.#parts.clock;
  }

  get leadership(): Parts['leadership'] {
    return this.#parts.leadership;
  }

  /** One pass over one object. */
  async pass(key: string): Promise<Ended> {
    const entry = this.#parts.book.get(key);
    if (entry === undefined) return { is: 'gone' };
    const work = this.#begin(entry);
    if (entry.kind.finished?.(work.recollection.memory.facts) === true) {
      this.#parts.interests.drop(key);
      return { is: 'settled', againInMs: undefined };
    }
    if (work.object.metadata.annotations?.[annotations.paused] === 'true') {
      work.recall.looks = false;
      return this.#pause(work);
    }
    const kept = letGo(work, () => dependentsOf(this.#parts, entry));
    if (kept !== undefined) return this.#release(work, kept.stays);
    if (entry.spec.is === 'broken') throw entry.spec.cause;
    if (entry.spec.is === 'invalid') {
      return this.#say(work, undefined, { is: 'stall', reason: 'InvalidSpec', message: entry.spec.message });
    }
    if (work.recollection.damaged !== undefined) {
      const message = 'status.journal cannot be read; remove it after making sure that no call is under way';
      return this.#say(work, undefined, { is: 'stall', reason: 'JournalDamaged', message });
    }
    const around = await gather(entry, this.#parts);
    if ('verdict' in around) {
      work.recall.looks = false;
      if (work.object.metadata.deletionTimestamp !== undefined) return this.#leave(work, around.verdict);
      if (around.verdict === undefined) return { is: 'quiet', againInMs: 30_000 };
      if (isLost(work)) return this.#holdUp(work, around.verdict);
      const patienceMs = this.#patienceMs(work, around.verdict);
      return patienceMs > 0 ? { is: 'quiet', againInMs: patienceMs } : this.#say(work, undefined, around.verdict);
    }
    return this.#steps(work, around);
  }

  /** A pass threw: that is said in words that give nothing away; what Kubernetes does not answer to ends by itself. */
  async failed(key: string, error: unknown): Promise<void> {
    const entry = this.#parts.book.get(key);
    const isPassing = error instanceof KubeError && error.reason !== 'forbidden' && error.reason !== 'invalid';
    if (entry === undefined || isPassing) return;
    const message =
      error instanceof KubeError
        ? 'Kubernetes refuses what the operator asks of it for this object; the log of the operator has the details'
        : 'the operator made a mistake of its own with this object; its log has the details';
    await this.#say(this.#begin(entry), undefined, { is: 'wait', reason: 'InternalError', message });
  }

  /** How much longer a new object says nothing of what it lacks: most of it comes with the same apply, and wakes it. */
  #patienceMs({ recollection, recall }: Work, verdict: Verdict<unknown>): number {
    if (verdict.is !== 'wait' || recollection.conditions.length > 0) return 0;
    const now = this.#parts.clock.monotonic();
    recall.heldBackAt ??= now;
    return recall.heldBackAt + quietReadMs - now;
  }

  write(work: Work, wouldDo: string | undefined): Promise<Work | undefined> {
    return write(this.#parts, work, wouldDo);
  }

  reserve(key: string, entry: JournalEntry, pass: Pass<unknown, unknown>): boolean {
    const { create } = entry;
    if (create !== undefined && pass.creating(create.collection, create.name) !== undefined) return false;
    this.#creates.reserve(key, entry);
    return true;
  }

  unreserve(key: string): void {
    this.#creates.unreserve(key);
  }

  readLive(work: Work): Promise<KubeObject | undefined> {
    return this.#parts.writer.readLive(work.object);
  }

  stillWants(work: Work, pass: Pass<unknown, unknown>, call: Call<unknown>): boolean {
    const session = this.#parts.accounts.session(work.entry.account);
    if (session === undefined) return false;
    const view = new RecordingView(session.service, work.recall.forced?.since);
    const none = new Map<string, never>();
    const around = { account: this.#parts.accounts.view(session), referred: none, secrets: none, configMaps: none };
    const step = work.entry.kind.step(passAgain(this.#passOf(work, around, view), pass));
    return (
      step.is === 'call' && requestDigest(pass.print, step.call.request) === requestDigest(pass.print, call.request)
    );
  }

  /** An object is gone; a create of it may still be under way. */
  bury(entry: Entry): void {
    tellLeft(this.#parts, entry);
    this.#creates.bury(entry, this.#parts.settings.horizonMs);
  }

  called(work: Work, call: Call<unknown>, outcome: Outcome): void {
    record(this.#parts, work, call, outcome);
  }

  /** The newest form of the object: the cache's, or our own later write. */
  #begin(entry: Entry): Work {
    const newest = this.#parts.newest(entry);
    const { object } = newest;
    const recall = this.#parts.recalls.of(object.metadata.uid);
    const recollection = unwiped(newest.recollection, recall);
    const session = () => this.#parts.accounts.session(entry.account);
    const work: Work = {
      entry: newest,
      object,
      recollection,
      recall,
      unwrittenId: false,
      service: (credential) => {
        const open = session();
        if (open === undefined) throw new Error('the account was closed during the pass');
        return credential === 'dangerous' ? (open.dangerous ?? open.service) : open.service;
      },
      isSeparate: (credential) => credential === 'dangerous' && session()?.dangerous !== undefined,
    };
    return recall.unwritten === undefined ? work : { ...remembering(work, recall.unwritten), unwrittenId: true };
  }

  async #steps(started: Work, around: Surroundings): Promise<Ended> {
    let work = rebound(started, around);
    work.recall.looks = true;
    for (let count = 0; count < mostSteps; count += 1) {
      const view = new RecordingView(around.session.service, work.recall.forced?.since);
      const pass = this.#passOf(work, { ...around, account: this.#parts.accounts.view(around.session) }, view);
      const step = work.entry.kind.step(pass);
      this.#parts.interests.replace(work.entry.key, around.session.service, view.looked);
      // A walk from before our write and one that shows it undone look the same: the next one wakes in any case.
      for (const read of view.polledBefore(work.recall.wrote?.at))
        this.#parts.asked(view.service, read, work.entry.key);
      if ('note' in step && step.note !== undefined) work.recall.notes = step.note;
      const next = await this.#act(work, around, pass, step);
      if ('is' in next) return next;
      work = next;
    }
    throw new Error(`${entryInWords(started.entry)} does not come to an end after ${mostSteps} steps`);
  }

  /** A deletion whose account cannot be used goes as far as it comes without looking at the service. */
  async #leave(work: Work, verdict: Verdict<unknown> | undefined): Promise<Ended> {
    const { accounts, book } = this.#parts;
    const account = accounts.viewWithout(book.get(work.entry.account), work.recollection.memory);
    const nothing = { secrets: new Map(), configMaps: new Map(), referred: new Map() };
    const step = work.entry.kind.step(this.#passOf(work, { ...nothing, account }, blind));
    if (step.is === 'release') return this.#release(work, step.stays);
    if (work.entry.kind.life === 'account' && step.is === 'wait') return this.#say(work, undefined, step);
    return verdict === undefined ? { is: 'quiet', againInMs: 30_000 } : this.#say(work, undefined, verdict);
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
        return this.#release(work, step.stays);
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
      case 'stall':
        return this.#conclude(work, pass, step);
    }
  }

  /** Goes on with what was learned; what is let go of by that is told, and written at once. */
  async #goOn(work: Work, pass: Pass<unknown, unknown>, stays: string | undefined): Promise<Work | Ended> {
    if (stays === undefined) return this.#hold(work, pass);
    // Told first: a write whose answer is lost is not made a second time.
    tellRetained(this.#parts, work.entry, stays);
    const written = await this.write(work, undefined);
    return written === undefined ? { is: 'overtaken' } : this.#hold(written, pass);
  }

  async #begun(
    work: Work,
    pass: Pass<unknown, unknown>,
    step: Extract<Step<unknown>, { is: 'begin' }>,
  ): Promise<Work | Ended> {
    if (isObserving(work.entry.kind, pass)) return this.#observed(work, pass, step.words);
    return this.#performed(await begin(this, work, pass, step.journal, step.words), pass);
  }

  /** What would be done, where nothing may be: a request that waits for it is not ready. */
  #observed(work: Work, pass: Pass<unknown, unknown>, words: string): Promise<Ended> {
    const message = 'only observed; status.wouldDo says what would be done';
    const is = work.entry.kind.life === 'request' ? 'wait' : 'ready';
    return this.#say(work, pass, { is, reason: 'Observed', message }, words);
  }

  #conclude(work: Work, pass: Pass<unknown, unknown>, verdict: Verdict<unknown>): Promise<Ended> {
    work.recall.askedAt = undefined;
    return this.#say(remembering(work, verdict.remember), pass, verdict);
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
    return this.#performed(await perform(this, held, pass, call), pass);
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
        if (performed.verdict.note !== undefined) performed.work.recall.notes = performed.verdict.note;
        const ended = await this.#say(remembering(performed.work, performed.verdict.remember), pass, performed.verdict);
        return performed.backoff && ended.is === 'settled' ? { is: 'failing' } : ended;
      }
    }
  }

  /** Makes sure that our finalizer is on before anything can be left behind in the service. */
  async #hold(work: Work, pass: Pass<unknown, unknown>): Promise<Work | Ended> {
    if (!work.entry.kind.holds || pass.subject.held || pass.subject.deleting || isObserving(work.entry.kind, pass))
      return work;
    const held = await this.#parts.writer.hold(work.object);
    if (held.is !== 'written') return { is: 'overtaken' };
    return this.#adopt(work, held.object);
  }

  #adopt(work: Work, object: KubeObject): Work {
    const entry = { ...work.entry, object };
    this.#parts.wrote(entry);
    return { ...work, object, entry };
  }

  async #release(work: Work, stays: string | undefined): Promise<Ended> {
    if (stays !== undefined) tellRetained(this.#parts, work.entry, stays);
    if (subjectOf(work.entry).held) {
      const released = await this.#parts.writer.release(work.object);
      if (released.is === 'conflict') return { is: 'overtaken' };
    }
    if (work.entry.kind.life === 'account') await this.#parts.accounts.forget(work.entry.key);
    return { is: 'gone' };
  }

  /** Asks for a read; status says so only when it takes long and nothing better is known. */
  async #read(
    work: Work,
    around: Surroundings,
    pass: Pass<unknown, unknown>,
    step: Extract<Step<unknown>, { is: 'read' }>,
  ): Promise<Ended> {
    const { recall } = work;
    // What came back from the service is written before anything is waited for, and so is what a lost call turned out to be.
    const isNews = work.unwrittenId || hasEnded(work);
    if (isNews && (await this.write(work, undefined)) === undefined) return { is: 'overtaken' };
    recall.askedAt ??= pass.askedAt;
    this.#parts.asked(around.session.service, step.read.key, work.entry.key);
    around.session.service.want(step.read, Math.max(step.since, recall.forced?.since ?? Number.NEGATIVE_INFINITY));
    const waited = pass.monotonicMs - recall.askedAt;
    const known = work.recollection.conditions.some(
      (condition) => condition.type === 'Ready' && condition.observedGeneration === pass.subject.generation,
    );
    if (waited < quietReadMs || (known && work.recollection.memory.journal === undefined)) {
      return { is: 'quiet', againInMs: quietReadMs };
    }
    const doubt = work.recollection.memory.journal !== undefined;
    const message = doubt
      ? 'a call was sent and its answer was lost; waiting for a read of the service that shows what it did'
      : `waiting for ${step.read.first.endpoint}`;
    return this.#say(work, undefined, {
      is: 'wait',
      reason: doubt ? 'InDoubt' : 'ReadingService',
      message,
      retryInMs: quietReadMs,
    });
  }

  async #pause(held: Work): Promise<Ended> {
    const { work, againInMs } = await this.#lookForLost(held);
    const { generation = 0 } = work.object.metadata;
    const conditions = paused(work.recollection.conditions, generation, this.#parts.clock.wall());
    const written = await this.write({ ...work, recollection: { ...work.recollection, conditions } }, undefined);
    return written === undefined ? { is: 'overtaken' } : { is: 'settled', againInMs };
  }

  /** Says what an object lacks; what a lost create of it did is found out meanwhile. */
  async #holdUp(held: Work, verdict: Verdict<unknown>): Promise<Ended> {
    const { work, againInMs } = await this.#lookForLost(held);
    const isTimed = verdict.is === 'wait' && againInMs !== undefined;
    return this.#say(work, undefined, isTimed ? { ...verdict, retryInMs: againInMs } : verdict);
  }

  /** Others wait for the name of a create in doubt: it is looked for whatever holds up its own object. */
  async #lookForLost(work: Work): Promise<Learned> {
    const around = isLost(work) ? await gatherWhatThereIs(work.entry, this.#parts) : undefined;
    if (around === undefined || 'verdict' in around || work.entry.spec.is !== 'valid')
      return { work, againInMs: undefined };
    const { session } = around;
    return lookForLost(this.#parts, work, session, (now, view) => {
      const pass = this.#passOf(now, { ...around, account: this.#parts.accounts.view(session) }, view);
      // A deletion that is held up has not begun.
      return now.entry.kind.step({ ...pass, subject: { ...pass.subject, deleting: false } });
    });
  }

  /** Writes down a verdict; what status shows is looked at too, and so followed. */
  async #say(
    work: Work,
    pass: Pass<unknown, unknown> | undefined,
    verdict: Verdict<unknown>,
    wouldDo?: string,
  ): Promise<Ended> {
    if (work.recollection.memory.journal === undefined) this.unreserve(work.entry.key);
    const said: Said = { verdict: withWayOut(work, verdict), pass: pass && this.#again(pass, work), wouldDo };
    const ended = await concludePass(this.#parts, work, said);
    const service = this.#parts.accounts.session(work.entry.account)?.service;
    if (pass?.view instanceof RecordingView && service !== undefined) {
      this.#parts.interests.replace(work.entry.key, service, pass.view.looked);
    }
    return ended;
  }

  /** The same pass with what has been learned since. */
  #again(pass: Pass<unknown, unknown>, work: Work): Pass<unknown, unknown> {
    const { memory } = work.recollection;
    return { ...pass, memory, wrote: writtenTo(work.recall, memory.id), notes: work.recall.notes };
  }

  #passOf(work: Work, around: Sighted, view: View): Pass<unknown, unknown> {
    const creating = (collection: string, name: string) =>
      this.#creates.other(work.entry, around.account, collection, name);
    return passOf(this.#parts, work, around, { view, creating });
  }
}

/** Whether a pass knows the end of a call that is still open in status. */
function hasEnded({ entry, recollection }: Work): boolean {
  const { journal } = entry.recollection.memory;
  return journal !== undefined && !isDeepStrictEqual(journal, recollection.memory.journal);
}

/** A create that this process has begun is open even when somebody wiped the status or restored an older one. */
function unwiped(recollection: Recollection<unknown>, { journal }: Recall): Recollection<unknown> {
  const { memory } = recollection;
  const isLost = journal?.create !== undefined && memory.journal === undefined && memory.id === undefined;
  return isLost && recollection.damaged === undefined
    ? { ...recollection, memory: { ...memory, journal } }
    : recollection;
}
