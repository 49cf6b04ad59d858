/**
 * Where one object is worked on: what this process remembers of it comes from here, and what a pass learned or concluded is put
 * down here.
 *
 * Guarantees: a create that this process has begun stays known whatever becomes of the status.
 */
import { retryPauseMs } from '../../base/backoff.ts';
import type { Closed } from '../account/settings.ts';
import type { Stored } from '../objects/object-index.ts';
import type { Parts } from '../parts.ts';
import { RecordingView } from '../objects/subscriptions.ts';
import type { Pass, View } from '../kind/contract/pass.ts';
import type { Call, JournalEntry, Verdict } from '../kind/contract/step.ts';
import { withWayOut } from './leaving.ts';
import { withDoubt } from '../call/lost-call.ts';
import type { StoredStatus } from '../objects/stored-status.ts';
import { OpenCreates } from '../call/open-creates.ts';
import { passAgain, passOf, type Sighted } from './pass-of.ts';
import type { KubeObject, Outcome, Service } from '../ports.ts';
import { writtenTo, type InProcess } from '../objects/in-process.ts';
import { concludePass, record, tellLeft, tellRetained, write, type Said } from '../status/report.ts';
import { requestDigest, subjectOf } from './surroundings.ts';
import { ExclusiveLocks } from '../call/exclusive-locks.ts';
import { asKnown } from '../call/call-backoff.ts';
import { remembering, type Ended, type Work } from './work.ts';

export class Worktable {
  readonly #parts: Parts;
  readonly #creates: OpenCreates;
  /** Held by calls that must be alone at what they change. */
  readonly turns = new ExclusiveLocks();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#creates = new OpenCreates(parts.objects, parts.clock, parts.settings.horizonMs);
  }

  get clock(): Parts['clock'] {
    return this.#parts.clock;
  }

  get leadership(): Parts['leadership'] {
    return this.#parts.leadership;
  }

  /** The pause before a call that came to nothing once more is sent again. */
  pauseMs({ failures }: InProcess): number {
    return retryPauseMs(failures, this.#parts.entropy);
  }

  /** An object with what this process remembers of it. */
  take(entry: Stored): Work {
    const { object } = entry;
    const inProcess = this.#parts.inProcessStates.of(object.metadata.uid);
    const found = unwiped(entry.status, inProcess);
    const status = { ...found, memory: asKnown(found.memory, inProcess) };
    const session = () => this.#parts.accounts.session(entry.account);
    const before = session()?.service;
    const work: Work = {
      entry,
      object,
      status,
      inProcess,
      unwrittenId: false,
      // What was read before the account was closed is known by the one that read it.
      shown: (value) => (session()?.service ?? before)?.shown(value) ?? value,
      isSeparate: (credential) => credential === 'dangerous' && session()?.dangerous !== undefined,
    };
    return inProcess.unwritten === undefined ? work : { ...remembering(work, inProcess.unwritten), unwrittenId: true };
  }

  /** What may be decided on now. */
  passOf(work: Work, around: Sighted, view: View): Pass<unknown, unknown> {
    const holder = (collection: string, name: string) =>
      this.#creates.other(work.entry, around.account, collection, name);
    return passOf(this.#parts, work, around, {
      view,
      creating: (collection, name) => holder(collection, name)?.words,
      isCreatingAsUsual: (collection, name) => holder(collection, name)?.isUsual === true,
    });
  }

  /** Writes what the work remembers; undefined when somebody else was first. */
  write(work: Work, wouldDo: string | undefined): Promise<Work | undefined> {
    return write(this.#parts, work, wouldDo);
  }

  /** Takes the right to create under this name; false when another object has it. */
  reserve(key: string, entry: JournalEntry, pass: Pass<unknown, unknown>): boolean {
    const { create } = entry;
    if (create !== undefined && pass.creating(create.collection, create.name) !== undefined) return false;
    this.#creates.reserve(key, entry);
    return true;
  }

  unreserve(key: string): void {
    this.#creates.unreserve(key);
  }

  /** The object as it stands in the cluster now. */
  readLive(work: Work): Promise<KubeObject | undefined> {
    return this.#parts.writer.readLive(work.object);
  }

  /**
   * The service of a call as it is open now, or why its credential cannot be used; undefined where the account is not open any
   * more, or not what the call was decided on.
   */
  serviceFor({ entry }: Work, { account }: Pass<unknown, unknown>, call: Call<unknown>): Service | Closed | undefined {
    const session = this.#parts.accounts.session(entry.account);
    // One that was opened anew is used for nothing before it has shown that it sees the account.
    if (session?.standing?.admitted !== true) return undefined;
    const { endpoint, accountId, mode } = this.#parts.accounts.view(session);
    if (endpoint !== account.endpoint || accountId !== account.accountId || mode !== account.mode) return undefined;
    return call.credential === 'dangerous' ? (session.dangerous ?? session.service) : session.service;
  }

  /** Whether the kind, asked again in this very tick, still wants exactly this call. */
  stillWants(work: Work, pass: Pass<unknown, unknown>, call: Call<unknown>): boolean {
    const session = this.#parts.accounts.session(work.entry.account);
    if (session === undefined) return false;
    const view = new RecordingView(session.service, work.inProcess.forced?.since);
    const none = new Map<string, never>();
    const around = { account: this.#parts.accounts.view(session), referred: none, secrets: none, configMaps: none };
    const step = work.entry.kind.step(passAgain(this.passOf(work, around, view), pass));
    return (
      step.is === 'call' && requestDigest(pass.print, step.call.request) === requestDigest(pass.print, call.request)
    );
  }

  /** An object is gone; a create of it may still be under way. Every replica sees that, and the one that acts tells it. */
  bury(entry: Stored): void {
    if (this.leadership.mayAct() === undefined) void this.#tellLeft(entry);
    this.#creates.bury(entry);
  }

  /** Where only some resources are watched, one that is given to another operator goes like one that is deleted: it is there. */
  async #tellLeft(entry: Stored): Promise<void> {
    const { settings, writer } = this.#parts;
    if (entry.kind.leaves === undefined) return;
    const live = settings.seesAll ? undefined : await writer.readLive(entry.object).catch(() => undefined);
    if (live?.metadata.uid !== entry.object.metadata.uid) tellLeft(this.#parts, entry);
  }

  /** A call was sent: events, metrics, log. */
  called(work: Work, call: Call<unknown>, outcome: Outcome): void {
    record(this.#parts, work, call, outcome);
  }

  /** Writes down a verdict; what status shows is looked at too, and so followed. */
  async say(
    work: Work,
    pass: Pass<unknown, unknown> | undefined,
    verdict: Verdict<unknown>,
    wouldDo?: string,
  ): Promise<Ended> {
    if (work.status.memory.journal === undefined) this.unreserve(work.entry.key);
    const whole = withWayOut(work, withDoubt(this.#parts, work, verdict));
    const said: Said = { verdict: whole, pass: pass && this.#again(pass, work), wouldDo };
    const ended = await concludePass(this.#parts, work, said);
    const service = this.#parts.accounts.session(work.entry.account)?.service;
    if (pass?.view instanceof RecordingView && service !== undefined) {
      this.#parts.subscriptions.replace(work.entry.key, service, pass.view.looked);
    }
    return ended;
  }

  /** The same pass with what has been learned since. */
  #again(pass: Pass<unknown, unknown>, work: Work): Pass<unknown, unknown> {
    const { memory } = work.status;
    return { ...pass, memory, wrote: writtenTo(work.inProcess, memory.id), notes: work.inProcess.notes };
  }

  /** Lets go of the object; what stays behind in the service is told. */
  async release(work: Work, stays: string | undefined): Promise<Ended> {
    if (stays !== undefined) tellRetained(this.#parts, work.entry, stays);
    if (subjectOf(work.entry).held) {
      if (stays === undefined) this.#creates.forget(work.entry.key);
      const released = await this.#parts.writer.release(work.object);
      if (released.is === 'conflict') return { is: 'overtaken' };
    }
    if (work.entry.kind.life === 'account') await this.#parts.accounts.forget(work.entry.key);
    return { is: 'gone' };
  }
}

/** A create that this process has begun is open even when somebody wiped the status or restored an older one. */
function unwiped(status: StoredStatus<unknown>, { journal }: InProcess): StoredStatus<unknown> {
  const { memory } = status;
  const isLost = journal?.create !== undefined && memory.journal === undefined && memory.id === undefined;
  return isLost && status.damaged === undefined ? { ...status, memory: { ...memory, journal } } : status;
}
