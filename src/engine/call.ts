/**
 * Sends one call to the service. This covers everything from the decision of a kind to send the call to what the
 * outcome of the call means for the object.
 *
 * Guarantees: a call that must not happen twice is written to status (as an entry in the journal), with uid and
 * resourceVersion, before its first byte is sent. An id in a response is written to status before the next call of the
 * object is sent. A process that may no longer act sends nothing.
 *
 * Order: backoff of the same call → exclusive locks → request budget → journal → a read that proves the credential and
 * a fresh read of the Kubernetes object (each only for calls that ask for it) → send → interpret the outcome. `makeCall`
 * in reconcile.ts calls `perform` only while this process is the leader, which is checked again when the request is
 * sent. Recovery requests and protections write their entry in an earlier step `begin`, which sends nothing (`begin` in
 * reconcile.ts). If the process dies between journal and send, the next process finds the entry in status and treats the
 * call as sent: it looks for the effect of the call before it acts (each function whose name begins with `resolve`, such
 * as `resolveCreate` in kind/planner/create.ts). A request with a requestId is sent again with the same id, after all
 * checks. A change of settings has no entry, except that of a protection: it may be sent twice.
 *
 * Why: docs/design/at-most-once.md
 */
import { isoSecondsUp, momentOf } from '../base/time.ts';
import type { LivePass, ReconcileContext } from './context/context.ts';
import { publishCall } from './context/report.ts';
import { livePass } from './context/build-pass.ts';
import type { Notes } from './kind/contract/notes.ts';
import { type Call, isNo, type Memory, type Refusal, type Step, type Verdict } from './kind/contract/step.ts';
import type { Reason } from './kind/contract/reasons.ts';
import { annotations } from './kind/contract/define.ts';
import { type KubeObject, type Outcome, type Request, type Service, shortPauseMs } from './ports.ts';
import type { Ended } from './queue.ts';
import type { Json } from '../base/json.ts';

/** The share of a call's time limit that is reserved for the response. A call that has less time left is not sent. */
const answerPart = 1 / 3;
/** The pause before the next reconcile if the account's connection was closed or reopened before the call was sent. */
const reopenedMs = 1_000;
/**
 * The share of a call's time limit that the call may wait for the request budget. A call that would wait longer is
 * requeued.
 */
const waitPart = 1 / 3;
/** The pause before an object tries again to take a lock that another object holds. */
const lockedMs = 200;

/** A verdict that ends the reconcile. With `againInMs`, the call is tried again after that time. */
interface Said {
  readonly verdict: Verdict;
  readonly againInMs?: number;
}

/** How the reconcile ends after a call; undefined if the kind decides its next step from the result of the call. */
type Result = Ended | Said | undefined;

/** Performs one call to the service. Create a new instance for each call. */
export class OutgoingCall {
  readonly #context: ReconcileContext;
  readonly #pass: LivePass;
  readonly #call: Call;
  /** The notes for the kind's next step, stored only if the call is sent. If undefined, those of earlier steps stay. */
  readonly #note: Notes | undefined;
  /** The fingerprint of the request, by which a repeated call is recognised. */
  readonly #fingerprint: string;
  /** Monotonic time at which the call counts as ended, with or without a response. */
  readonly #deadline: number;
  #isLate = false;

  constructor(context: ReconcileContext, pass: LivePass, { call, note }: Extract<Step, { is: 'call' }>) {
    this.#context = context;
    this.#pass = pass;
    this.#call = call;
    this.#note = note;
    this.#fingerprint = fingerprintOf(pass.fingerprint, call.request);
    this.#deadline = pass.monotonicMs + pass.callDeadlineMs;
  }

  async perform(): Promise<Ended | undefined> {
    const { inProcess } = this.#context;
    const { monotonicMs } = this.#pass;
    inProcess.newSince = undefined;
    const failed = inProcess.backedOff(this.#fingerprint, monotonicMs);
    const isFree = failed?.wasObstructed === true && this.#call.obstacle?.shown() === undefined;
    if (isFree) inProcess.failedCall = undefined;
    else if (failed !== undefined) {
      const verdict = this.#withObstacle(failed.verdict, failed.at);
      return concludeCall(this.#context, this.#pass, { verdict, againInMs: failed.until - monotonicMs });
    }
    if (inProcess.isSeenTooEarly(this.#fingerprint, monotonicMs)) {
      inProcess.askedAt = monotonicMs;
      return undefined;
    }
    const result = await this.#alone();
    // If the reconcile ends here, the next reconcile must read the service afresh before it decides.
    if (result !== undefined) inProcess.askedAt = undefined;
    return result !== undefined && 'verdict' in result ? concludeCall(this.#context, this.#pass, result) : result;
  }

  /**
   * Takes the exclusive locks that the call needs, if any, and goes on with the call. The locks keep calls whose
   * effects look alike from running at the same time. If two such calls did and the outcome of one is unknown, the
   * operator could not tell which of the two was carried out.
   */
  async #alone(): Promise<Result> {
    const { parts, stored } = this.#context;
    const { alone, journal, resumes } = this.#call;
    const names = alone?.map((id) => `${this.#pass.account.endpoint}/${id}`);
    if (names !== undefined && !parts.locks.take(names, stored.key, this.#pass.askedAt))
      return { is: 'quiet', againInMs: lockedMs };
    try {
      return await this.#withinBudget();
    } finally {
      if (names !== undefined) parts.locks.end(names, stored.key, parts.clock.monotonic());
      if (journal !== undefined || resumes === true) parts.openCreates.unreserve(stored);
    }
  }

  /**
   * Requeues the call if it would wait too long for the request budget. Otherwise announces the call, so that the
   * estimated waiting time of other calls includes it, and then sends it.
   */
  async #withinBudget(): Promise<Result> {
    const service = this.#context.serviceFor(this.#pass, this.#call);
    if (service === undefined) return { is: 'quiet', againInMs: reopenedMs };
    if ('reason' in service) {
      const message = `${this.#call.words}: ${service.message}`;
      return this.#notDone({ is: 'wait', ...service, message }, false);
    }
    const waitMs = service.waitMs(this.#call.urgency);
    if (waitMs > Math.min(shortPauseMs, this.#pass.callDeadlineMs * waitPart)) return this.#requeued(service, waitMs);
    const { parts, stored } = this.#context;
    const ends = [service.announce(this.#call.urgency), parts.calling(stored.account)];
    try {
      return await this.#journalAndSend(service);
    } finally {
      for (const end of ends) end();
    }
  }

  /**
   * Requeues the call. Status reports a long pause that the service asked for, but no wait that only the operator's
   * request budget causes.
   */
  #requeued(service: Service, waitMs: number): Result {
    const { clock } = this.#context.parts;
    const until = service.health().throttledUntil;
    const pauseMs = until === undefined ? 0 : until - clock.monotonic();
    if (pauseMs <= shortPauseMs) return { is: 'quiet', againInMs: waitMs / 2 };
    return { verdict: slowedDown(this.#call, pauseMs, clock.wall()) };
  }

  async #journalAndSend(service: Service): Promise<Result> {
    const context = this.#context;
    const before = this.#rememberedBefore();
    if (!(await this.#journal())) return { is: 'overtaken' };
    const unproven = await this.#prove(service);
    if (unproven !== undefined) return this.#notDone(unproven, false);
    if (this.#call.confirm === 'live' && !isSame(await context.parts.writer.readLive(context.object), context.object))
      return { is: 'quiet', againInMs: 1_000 };
    if (this.#note !== undefined) context.inProcess.notes = this.#note;
    const outcome = await this.#send(service);
    return outcome === undefined ? this.#takeBack(before) : this.#interpret(before, outcome);
  }

  /**
   * Writes to status what must be there before the call is sent. Returns false when somebody else wrote the object
   * first, or when another object has reserved the name that the call creates.
   */
  async #journal(): Promise<boolean> {
    const context = this.#context;
    const { journal, whileInFlight, request, words } = this.#call;
    if (context.hasUnwritten && !(await context.write())) return false;
    context.remember(whileInFlight);
    const said = { reason: request.effect === 'create' ? 'Creating' : 'Requesting', message: words } as const;
    if (journal !== undefined) return context.enter(this.#pass, journal, said);
    if (whileInFlight === undefined) return true;
    context.sayFirst(this.#pass, said);
    return context.write();
  }

  /**
   * Sends a read to prove that the credential of `spec.dangerousCredentialsRef` sees the account. Returns a verdict if
   * the read fails; undefined if it succeeds or is not needed.
   */
  async #prove(service: Service): Promise<Verdict | undefined> {
    const { proof, credential, urgency, words } = this.#call;
    const isSecond = credential === 'dangerous' && this.#context.opened?.dangerous !== undefined;
    if (proof === undefined || !isSecond) return undefined;
    const { parts } = this.#context;
    const outcome = await parts.away(() => service.send(proof, { urgency, mayDispatch: () => undefined }));
    if (outcome.is === 'committed') return undefined;
    const message = `${words}: the credential of spec.dangerousCredentialsRef cannot read the account: ${outcome.message}`;
    return { is: 'wait', reason: 'DangerousCredential', message };
  }

  /**
   * Sends the request and returns its outcome. Returns undefined if the request was not sent because it had waited too
   * long, or because the account's connection was opened again. The caller then removes the journal entry of the call
   * from status.
   */
  async #send(service: Service): Promise<Outcome | undefined> {
    const { request, urgency, resumes, words } = this.#call;
    const mayDispatch = () => this.#whyNotNow();
    const call = { object: this.#context.stored.key, words };
    const options = { urgency, deadline: this.#deadline, mayDispatch, call };
    const outcome = await this.#context.parts.away(() => service.send(request, options));
    if (outcome.is !== 'notSent') return outcome;
    // An earlier try of a resumed call may have been sent. So leave the journal entry in status; the next reconcile
    // looks for the effect of that try, or sends the same request again.
    if (resumes === true) return outcome;
    // The account's connection was opened again while the call waited: decide again with the new connection.
    const isReopened = this.#context.serviceFor(this.#pass, this.#call) !== service;
    return this.#isLate || isReopened ? undefined : outcome;
  }

  /**
   * Returns why the request must not be sent; undefined when the request may be sent. Called in the same tick of the
   * event loop in which the request is sent, so that nothing changes in between.
   */
  #whyNotNow(): string | undefined {
    const { leadership, clock } = this.#context.parts;
    const no = leadership.mayAct();
    if (no !== undefined) return no;
    // The monotonic clock stops while the machine sleeps, so check the wall clock as well.
    const answerMs = this.#pass.callDeadlineMs * answerPart;
    const latestWallMs = this.#pass.wallMs + this.#pass.callDeadlineMs - answerMs;
    this.#isLate = clock.monotonic() > this.#deadline - answerMs || clock.wall() > latestWallMs;
    if (this.#isLate) return 'the call waited too long for its turn, so it was not sent';
    if (this.#call.confirm !== 'live' || this.#isStillWanted()) return undefined;
    return 'the state of the object or of the service has changed since the operator decided to send the call';
  }

  /**
   * Lets the kind decide again on the newest state, without any I/O. Returns true when the kind would still send the
   * same request.
   */
  #isStillWanted(): boolean {
    const { opened, stored } = this.#context;
    if (opened === undefined) return false;
    const now = livePass(this.#context, { opened });
    const { notes, askedAt, journalSeen, secret, configMap, referred, fingerprint } = this.#pass;
    const step = stored.kind.step({ ...now, notes, askedAt, journalSeen, secret, configMap, referred });
    return step.is === 'call' && fingerprintOf(fingerprint, step.call.request) === this.#fingerprint;
  }

  /** Removes the journal entry of a call that was not sent, and restores the values that were changed for the call. */
  async #takeBack(before: Partial<Memory>): Promise<Result> {
    const context = this.#context;
    const { journal, whileInFlight } = this.#call;
    if (this.#note !== undefined) context.inProcess.notes = this.#pass.notes;
    context.remember(journal === undefined ? before : { ...before, journal: undefined });
    const isMarked = journal !== undefined || whileInFlight !== undefined;
    const isWritten = !isMarked || (await context.write());
    return isWritten ? { is: 'quiet', againInMs: reopenedMs } : { is: 'overtaken' };
  }

  /**
   * Updates memory and status according to the outcome of the call.
   *
   * If the call succeeded, or if it was certainly not carried out, removes the journal entry. Also restores the values
   * that were changed for the time of the call (`whileInFlight`) to their earlier values (`before`). After a success,
   * then stores the values that the call's `committed` returns. If the outcome is unknown, the journal entry and the
   * changed values stay, so that the next step reads the service before it acts. A conflict (409) counts as unknown if
   * there is a journal entry, unless the kind says otherwise. A 404 to a deletion counts as a success.
   *
   * A resumed call repeats an earlier try, which may have been carried out. So the entry of a resumed call is removed
   * here only after a success. If the service refused the call, the next step reads the service once more.
   */
  async #interpret(before: Partial<Memory>, answered: Outcome): Promise<Result> {
    const context = this.#context;
    const { inProcess } = context;
    const call = this.#call;
    const answeredAt = momentOf(context.parts.clock);
    const now = answeredAt.monotonic;
    publishCall(context.parts, context.object, call, answered, (text) => context.redacted(text));
    const words = context.stored.kind.interfaceWords?.(this.#pass.spec);
    const outcome = understood(call, withSpecPaths(answered, words));
    if (outcome.is === 'committed') return this.#done(outcome.body, before, now);
    const isResumed = call.resumes === true;
    const isOnce = isResumed || call.journal !== undefined;
    const isUnknown = outcome.is === 'inDoubt';
    const undone = isUnknown ? {} : { ...before, ...(!isResumed && { journal: undefined }) };
    const say = (verdict: Verdict, isNo: boolean) => {
      if (this.#note !== undefined) inProcess.notes = this.#pass.notes;
      return this.#notDone({ ...verdict, remember: { ...undone, ...verdict.remember } }, isNo);
    };
    const wait = (reason: Reason, message: string) =>
      say({ is: 'wait', reason, message: `${call.words}: ${message}` }, false);
    if (outcome.is === 'notSent') return wait('ServiceUnavailable', outcome.message);
    if (isResumed && (isNo(outcome) || outcome.is === 'notFound')) return this.#saidNo(outcome, now);
    if (outcome.is === 'notFound' && call.request.effect === 'remove') return this.#done(undefined, before, now);
    const own = isResumed ? undefined : call.refused?.(outcome, now);
    if (outcome.is === 'conflict' && context.memory.journal !== undefined && (own === undefined || own.is === 'stall'))
      return this.#saidNo(outcome, now, own);
    if (own !== undefined) return say(own, !isUnknown || own.is !== 'wait');
    if (isUnknown && isOnce) {
      inProcess.askedAt = now;
      return undefined;
    }
    if (isUnknown) return wait('ServiceUnavailable', outcome.message);
    if (outcome.is === 'notFound' && !isOnce) return wait('ObjectMissing', outcome.message);
    if (outcome.is === 'notExecuted' && outcome.why === 'throttled')
      return say(slowedDown(call, outcome.retryInMs ?? 0, answeredAt.wall), false);
    if (outcome.is === 'notExecuted' && outcome.why === 'unauthorized')
      return wait('AccountNotReady', "the service does not accept the account's token");
    return say(refusalOf(call, outcome), true);
  }

  /** Goes on after a success. The outcome counts as unknown if the body of the response does not prove the success. */
  #done(body: unknown, before: Partial<Memory>, now: number): undefined {
    const context = this.#context;
    const { inProcess } = context;
    const call = this.#call;
    const learned = call.committed(body);
    if (learned === undefined) {
      inProcess.askedAt = now;
      return undefined;
    }
    const isIdentified = learned.id !== undefined && learned.id !== context.memory.id;
    const isOnce = call.journal !== undefined || call.resumes === true || call.request.effect === 'identified';
    const remember = { ...before, journal: undefined, ...learned };
    context.remember(remember);
    inProcess.carriedOut(context.memory.id, now, call.wrote?.(body), call.note?.(now));
    if (call.corrects !== undefined) inProcess.corrected(this.#pass.subject.generation, call.corrects, now);
    // Have an id written before the next call, or the id could be lost. Have the fingerprints of settings that the
    // service never shows written too, or the settings would be sent again.
    if (isIdentified || isOnce || call.whileInFlight !== undefined) inProcess.unwritten = remember;
    return undefined;
  }

  /**
   * Handles a refusal of a call if an earlier try of the same call may have been carried out. The outcome counts as
   * unknown until a fresh read shows whether the call had an effect. If the call had no effect, status reports the
   * verdict `refused`.
   */
  async #saidNo(outcome: Refusal, now: number, refused = refusalOf(this.#call, outcome)): Promise<Result> {
    const context = this.#context;
    const { inProcess, memory, parts } = context;
    const { journal } = memory;
    // Start the backoff of a resumed call under the fingerprint in its journal entry. If the entry is removed later
    // and the call begins anew, `begin` in reconcile.ts looks for a backoff under that fingerprint.
    const begun = this.#call.resumes === true ? journal?.digest : undefined;
    const fingerprint = begun ?? this.#fingerprint;
    inProcess.backOff({ fingerprint, at: now, isNo: true, verdict: refused }, parts.entropy);
    inProcess.askedAt = now;
    if (journal === undefined) return undefined;
    context.remember({ journal: { ...journal, conflicted: outcome.message.slice(0, 200) } });
    return (await context.write()) ? undefined : { is: 'overtaken' };
  }

  /**
   * Starts the backoff of a call that was not carried out, or whose outcome is unknown but that may be sent twice. With
   * `isNo`, the service refused the call: it is sent again after the pause in the verdict, or after ten minutes if the
   * verdict contains none. Otherwise it is sent again after a pause that grows with each failure.
   */
  #notDone(verdict: Verdict, isNo: boolean): Said {
    const { inProcess, memory, parts } = this.#context;
    const id = verdict.remember?.id;
    const isIdentified = id !== undefined && id !== memory.id;
    if (isIdentified) inProcess.unwritten = verdict.remember;
    // If the response contained a new id, the next request will contain that id, so its fingerprint is not known yet.
    // The backoff then applies to the next request, whatever its fingerprint is.
    const fingerprint = isIdentified ? undefined : this.#fingerprint;
    const at = parts.clock.monotonic();
    const pauseMs = inProcess.backOff({ fingerprint, at, isNo, verdict }, parts.entropy);
    return isNo ? { verdict: this.#withObstacle(verdict, at) } : { verdict, againInMs: pauseMs };
  }

  /**
   * If a list contains an object that explains why the service refused the call, adds this explanation to the message.
   * If the list was read before the call, asks for a newer read of the list.
   */
  #withObstacle(verdict: Verdict, at: number): Verdict {
    const { obstacle } = this.#call;
    if (obstacle === undefined || verdict.is !== 'stall' || verdict.reason !== 'Rejected') return verdict;
    const shown = obstacle.shown();
    const { inProcess } = this.#context;
    if (shown !== undefined) {
      if (inProcess.failedCall !== undefined) inProcess.failedCall = { ...inProcess.failedCall, wasObstructed: true };
      return { ...verdict, message: `${verdict.message}; ${shown}` };
    }
    const begunAt = this.#pass.view.all(obstacle.read)?.begunAt ?? Number.NEGATIVE_INFINITY;
    return begunAt < at ? { ...verdict, awaits: { read: obstacle.read, since: at } } : verdict;
  }

  /**
   * Returns the present values of the fields that the call changes while its outcome is unknown (`whileInFlight`), so
   * that these values can be restored afterwards.
   */
  #rememberedBefore(): Partial<Memory> {
    const names = Object.keys(this.#call.whileInFlight ?? {}) as (keyof Memory)[];
    const { memory } = this.#context;
    return Object.fromEntries(names.map((name) => [name, memory[name]]));
  }
}

/** Ends the reconcile with a verdict about a call. */
export async function concludeCall(context: ReconcileContext, pass: LivePass, said: Said): Promise<Ended> {
  const { verdict, againInMs } = said;
  if (verdict.note !== undefined) context.inProcess.notes = verdict.note;
  if (verdict.is !== 'ready' && verdict.awaits !== undefined) context.ask(pass.view.service, verdict.awaits, 'wait');
  context.remember(verdict.remember);
  const ended = await context.conclude(verdict, pass);
  return againInMs !== undefined && ended.is === 'settled' ? { is: 'failing', againInMs } : ended;
}

/** Returns the fingerprint of a request. Equal requests have equal fingerprints. */
function fingerprintOf(fingerprint: (value: Json) => string, { path, body }: Request): string {
  return fingerprint([path, body ?? null]);
}

/**
 * True when the object in Kubernetes is still the one for which the call was decided: the same uid and generation, not
 * deleted and not paused.
 */
function isSame(live: KubeObject | undefined, { metadata }: KubeObject): boolean {
  const now = live?.metadata;
  return (
    now !== undefined &&
    now.uid === metadata.uid &&
    now.generation === metadata.generation &&
    now.deletionTimestamp === undefined &&
    now.annotations?.[annotations.paused] !== 'true'
  );
}

// ---- refusals and verdicts of an outcome -----------------------------------------------------------------------

/** Treats a response with a success status as a refusal when its body reports a failure. */
function understood(call: Call, outcome: Outcome): Outcome {
  const no = outcome.is === 'committed' ? call.saidNo?.(outcome.body) : undefined;
  if (outcome.is !== 'committed' || no === undefined) return outcome;
  return { is: 'refused', status: 200, message: no, body: outcome.body };
}

/** Returns the verdict for a call that the service refused. */
function refusalOf({ words }: Call, outcome: Refusal): Verdict {
  const reason = outcome.is === 'notExecuted' ? 'Forbidden' : 'Rejected';
  return { is: 'stall', reason, message: `${words}: ${outcome.message}` };
}

/** Returns the verdict for a call that was not carried out because the service asked the account to slow down. */
function slowedDown({ words }: Call, retryInMs: number, wallMs: number): Verdict {
  const message = `${words}: the service asked to slow down; requests wait until ${isoSecondsUp(wallMs + retryInMs)}`;
  return { is: 'wait', reason: 'Throttled', message, retryInMs };
}

/**
 * Replaces the API's field names in the message of an outcome by paths of the spec. `words` maps each field name to its
 * path in the spec.
 */
export function withSpecPaths(outcome: Outcome, words: Readonly<Record<string, string>> = {}): Outcome {
  const names = Object.keys(words).toSorted((a, b) => b.length - a.length);
  if (outcome.is === 'committed' || names.length === 0) return outcome;
  const pattern = new RegExp(
    `(?<![\\w./])(?:items\\[\\d+\\]\\.)?(${names.map((name) => name.replaceAll('.', '[.]')).join('|')})(?!\\w)`,
    'gu',
  );
  return { ...outcome, message: outcome.message.replaceAll(pattern, (_all, name: string) => `spec.${words[name]}`) };
}
