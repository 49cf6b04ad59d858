/**
 * Sending the one call that a step decided on.
 *
 * Guarantees: whatever must not happen twice stands in status, with uid and resourceVersion, before the first byte is sent;
 * an id that came back is written before anything else is done; nothing is sent by a process that may no longer act.
 */
import { conclude } from '../status/conditions.ts';
import type { Pass } from '../kind/contract/pass.ts';
import type { Call, Intent, JournalEntry, Memory, Notes, OwnCondition, Verdict } from '../kind/contract/step.ts';
import type { KubeObject, Outcome, Service } from '../ports.ts';
import { annotations } from '../objects/names.ts';
import { isoSeconds } from '../../base/time.ts';
import { deadlineSeconds, dispatch, type Errand } from './dispatch.ts';
import { corrected, correctedPerhaps, writtenTo } from '../objects/in-process.ts';
import { interpretOutcome, slowedDown } from './interpret-outcome.ts';
import { requestDigest } from '../reconcile/surroundings.ts';
import { failed, heldBack, isSeenTooEarly, refused, wentWell } from './call-backoff.ts';
import { remembering, type Work } from '../reconcile/work.ts';
import type { Worktable } from '../reconcile/worktable.ts';

/** The account was closed meanwhile, or opened as another. */
const reopenedMs = 1_000;

/** Whoever would wait longer for a turn is not written down as about to be sent. */
const longestWaitMs = 10_000;

/** How performing a call ended for the pass. */
export type Performed =
  /** Decide anew with this. */
  | { readonly is: 'on'; readonly work: Work }
  /** Say this; with `againInMs` nothing was done, and it is tried again then. */
  | {
      readonly is: 'said';
      readonly work: Work;
      readonly verdict: Verdict<unknown>;
      readonly againInMs: number | undefined;
    }
  /** Somebody else was first. */
  | { readonly is: 'overtaken' }
  /** This process may not act, or not yet: come back without a word. */
  | { readonly is: 'quiet'; readonly retryInMs: number };

/** Performs a call and says what follows for the object. */
export async function perform(
  table: Worktable,
  work: Work,
  pass: Pass<unknown, unknown>,
  call: Call<unknown>,
): Promise<Performed> {
  work.inProcess.newSince = undefined;
  const digest = requestDigest(pass.print, call.request);
  const held = heldBack(work.inProcess, digest, pass.monotonicMs);
  const isTooEarly = isSeenTooEarly(work.inProcess, digest, pass.monotonicMs);
  if (call.resumes === true && (held !== undefined || isTooEarly)) work.inProcess.notes = pass.notes;
  if (held !== undefined) return { is: 'said', work, verdict: held.verdict, againInMs: held.until - pass.monotonicMs };
  if (isTooEarly) {
    work.inProcess.askedAt = pass.monotonicMs;
    return { is: 'on', work };
  }
  const performed = await inTurn({ table, pass, call, digest }, work);
  // What was not done is decided on a look of its own next time.
  if (performed.is !== 'on') work.inProcess.askedAt = undefined;
  return performed;
}

async function inTurn(errand: Errand, work: Work): Promise<Performed> {
  const { table, pass, call } = errand;
  if (table.leadership.mayAct() !== undefined) return { is: 'quiet', retryInMs: 2_000 };
  const names = (call.alone ?? []).map((id) => `${pass.account.endpoint}/${id}`);
  // What this one has seen may be from before the call of the other.
  if (!table.turns.take(names, work.entry.key, pass.askedAt)) return { is: 'quiet', retryInMs: 200 };
  try {
    return await carryOut(errand, work);
  } finally {
    table.turns.end(names, work.entry.key, table.clock.monotonic());
  }
}

async function carryOut(errand: Errand, work: Work): Promise<Performed> {
  const { table, pass, call } = errand;
  const { notes } = work.inProcess;
  // What is not sent leaves no trace in what the next step knows.
  if (call.resumes === true) work.inProcess.notes = pass.notes;
  const service = table.serviceFor(work, pass, call);
  if (service === undefined) return { is: 'quiet', retryInMs: reopenedMs };
  if ('reason' in service) {
    const verdict: Verdict<unknown> = { is: 'wait', ...service, message: `${call.words}: ${service.message}` };
    return inVain(errand, work, verdict);
  }
  const waitMs = service.waitMs(call.urgency);
  if (waitMs > longestWaitMs) return held(errand, work, service, waitMs);
  const ended = service.announce(call.urgency);
  try {
    return await sendOff(errand, work, service, notes);
  } finally {
    ended();
  }
}

async function sendOff(errand: Errand, work: Work, service: Service, notes: Notes): Promise<Performed> {
  const { table, call } = errand;
  const ready = await prepare(errand, work);
  if (ready === undefined) return { is: 'overtaken' };
  const unproven = await prove(ready, call, service);
  if (unproven !== undefined) return inVain(errand, ready, unproven);
  if (call.confirm === 'live' && !isSame(await table.readLive(ready), ready)) return { is: 'quiet', retryInMs: 1_000 };
  work.inProcess.notes = notes;
  work.inProcess.marks = undefined;
  const before = beforeOf(call, work);
  const outcome = await dispatch(errand, ready, service);
  return outcome === 'late' ? unsent(errand, ready, before) : conclusion(errand, ready, before, outcome);
}

/** A pause of the service is told; a queue of our own only makes who comes to it come back. */
function held({ table, call }: Errand, work: Work, service: Service, waitMs: number): Performed {
  const until = service.health().throttledUntil;
  const pauseMs = until === undefined ? 0 : until - table.clock.monotonic();
  if (pauseMs <= longestWaitMs) return { is: 'quiet', retryInMs: waitMs / 2 };
  return { is: 'said', work, verdict: slowedDown(call, pauseMs), againInMs: undefined };
}

/** Writes an entry into the journal without sending anything. */
export async function begin(
  table: Worktable,
  work: Work,
  pass: Pass<unknown, unknown>,
  intent: Intent,
  words: string,
): Promise<Performed> {
  const held = heldBack(work.inProcess, intent.digest, pass.monotonicMs);
  if (held !== undefined) return { is: 'said', work, verdict: held.verdict, againInMs: held.until - pass.monotonicMs };
  if (table.leadership.mayAct() !== undefined) return { is: 'quiet', retryInMs: 2_000 };
  // What is known of the object stands there before anything is sent, and not only afterwards.
  const own = work.entry.kind.show(pass).conditions;
  const begun = await enter(table, work, pass, intent, { reason: 'Requesting', message: words, own });
  return begun === undefined ? { is: 'overtaken' } : { is: 'on', work: begun };
}

/** A credential of its own is used for nothing before it has shown that it sees the account; undefined when it has. */
async function prove(work: Work, call: Call<unknown>, service: Service): Promise<Verdict<unknown> | undefined> {
  if (call.proof === undefined || !work.isSeparate(call.credential)) return undefined;
  const outcome = await service.send(call.proof, { urgency: call.urgency, mayDispatch: () => undefined });
  if (outcome.is === 'committed') return undefined;
  const message = `${call.words}: the credential of spec.dangerousCredentialsRef cannot read the account: ${outcome.message}`;
  return { is: 'wait', reason: 'DangerousCredential', message };
}

/** Whether the object is what the decision was about: the same one, unchanged, not deleted and not held. */
function isSame(live: KubeObject | undefined, { object }: Work): boolean {
  const { metadata } = live ?? {};
  return (
    metadata !== undefined &&
    metadata.uid === object.metadata.uid &&
    metadata.generation === object.metadata.generation &&
    metadata.deletionTimestamp === undefined &&
    metadata.annotations?.[annotations.paused] !== 'true'
  );
}

/** Brings everything into status that must stand there before the call; undefined when somebody else was first. */
async function prepare({ table, pass, call }: Errand, work: Work): Promise<Work | undefined> {
  const written = work.unwrittenId ? await table.write(work, undefined) : work;
  if (written === undefined) return undefined;
  const marked = remembering(written, call.meanwhile);
  const reason = call.request.effect === 'create' ? 'Creating' : 'Requesting';
  const said = { reason, message: call.words } as const;
  if (call.journal !== undefined) return enter(table, marked, pass, call.journal, said);
  return call.meanwhile === undefined ? marked : table.write(saying(marked, pass, said), undefined);
}

/** What status says while an entry is made. */
interface Said {
  readonly reason: 'Creating' | 'Requesting';
  readonly message: string;
  readonly own?: readonly OwnCondition[];
}

/** Writes an entry into status with uid and resourceVersion; undefined when somebody else was first. */
async function enter(
  table: Worktable,
  work: Work,
  pass: Pass<unknown, unknown>,
  intent: Intent,
  said: Said,
): Promise<Work | undefined> {
  const entry: JournalEntry = {
    ...intent,
    endpoint: pass.account.endpoint,
    accountId: pass.account.accountId,
    startedAt: isoSeconds(pass.wallMs),
    deadlineSeconds,
  };
  const reserved = table.reserve(work.entry.key, entry, pass);
  if (!reserved) return undefined;
  const stored = await table.write(saying(remembering(work, { journal: entry }), pass, said), undefined);
  if (stored === undefined) table.unreserve(work.entry.key);
  return stored;
}

/** The same work with conditions, where status has none yet. */
function saying(work: Work, pass: Pass<unknown, unknown>, { own = [], ...said }: Said): Work {
  if (work.status.conditions.length > 0) return work;
  const conditions = conclude({
    verdict: { is: 'wait', ...said },
    own,
    drifted: [],
    generation: pass.subject.generation,
    previous: [],
    wallMs: pass.wallMs,
  });
  return { ...work, status: { ...work.status, conditions } };
}

/** Nothing was sent, for a reason of our own that is soon over: nothing is said of it, and no trace of the call is left. */
async function unsent({ table, call }: Errand, work: Work, before: Partial<Memory<unknown>>): Promise<Performed> {
  table.unreserve(work.entry.key);
  const { journal } = call;
  const isMarked = journal !== undefined || call.meanwhile !== undefined;
  const cleared = remembering(work, journal === undefined ? before : { ...before, journal: undefined });
  const stored = isMarked ? await table.write(cleared, undefined) : work;
  return stored === undefined ? { is: 'overtaken' } : { is: 'quiet', retryInMs: reopenedMs };
}

/** What failed is said, and sent again after a pause. */
function inVain(
  { table, digest }: Pick<Errand, 'table'> & { readonly digest: string | undefined },
  work: Work,
  verdict: Verdict<unknown>,
): Performed {
  const { inProcess } = work;
  const pauseMs = Math.max(table.pauseMs(inProcess), verdict.is === 'wait' ? (verdict.retryInMs ?? 0) : 0);
  failed(inProcess, { digest, at: table.clock.monotonic(), verdict }, pauseMs);
  return { is: 'said', work, verdict, againInMs: pauseMs };
}

/** What the outcome of the call means for the object, and what is kept of it. */
async function conclusion(
  errand: Errand,
  work: Work,
  before: Partial<Memory<unknown>>,
  outcome: Outcome,
): Promise<Performed> {
  const { table, pass, call, digest } = errand;
  const { inProcess } = work;
  const now = table.clock.monotonic();
  table.called(work, call, outcome);
  const interpretation = interpretOutcome(call, outcome, work.status.memory, before);
  table.unreserve(work.entry.key);
  if (interpretation.is === 'done') {
    wentWell(inProcess);
    inProcess.askedAt = undefined;
    const known = remembering(work, interpretation.remember);
    const to = known.status.memory.id;
    const fields = call.wrote?.(outcome.is === 'committed' ? outcome.body : undefined);
    inProcess.wrote = { to, at: now, fields: { ...writtenTo(inProcess, to)?.fields, ...fields } };
    inProcess.notes = call.note?.(now) ?? {};
    if (call.corrects !== undefined) corrected(inProcess, pass.subject.generation, call.corrects, now);
    if (interpretation.identified) inProcess.unwritten = interpretation.remember;
    return { is: 'on', work: { ...known, unwrittenId: interpretation.identified } };
  }
  const mayBeDone = outcome.is === 'inDoubt' || outcome.is === 'committed';
  if (call.corrects !== undefined && mayBeDone)
    correctedPerhaps(inProcess, pass.subject.generation, call.corrects, now);
  if (interpretation.is === 'doubt') {
    inProcess.askedAt = now;
    // Should what was written down not stand, it is begun anew, under another id.
    const begun = call.resumes === true ? work.status.memory.journal?.digest : undefined;
    if (interpretation.refused !== undefined)
      refused(inProcess, { digest: begun ?? digest, at: now, verdict: interpretation.refused });
    const learned = remembering(work, interpretation.remember);
    const stored = interpretation.remember?.journal === undefined ? learned : await table.write(learned, undefined);
    return stored === undefined ? { is: 'overtaken' } : { is: 'on', work: stored };
  }
  if (call.resumes === true) inProcess.notes = pass.notes;
  const { verdict } = interpretation;
  const id = verdict.remember?.id;
  const identified = id !== undefined && id !== work.status.memory.id;
  if (identified) inProcess.unwritten = verdict.remember;
  // What goes on under the id that came back is another request, and waits all the same.
  const next = { ...errand, digest: identified ? undefined : digest };
  if (interpretation.retry === 'asSaid') refused(inProcess, { digest: next.digest, at: now, verdict });
  const known = identified ? { ...work, unwrittenId: true } : work;
  const said = { is: 'said', work: known, verdict, againInMs: undefined } as const;
  if (interpretation.retry === 'asSaid') return said;
  const kept = inVain(next, known, verdict);
  if (interpretation.retry === 'looking') return said;
  const { meanwhile, journal, counted = false } = call;
  if (meanwhile !== undefined && journal === undefined && !counted && outcome.is !== 'inDoubt')
    inProcess.marks = { digest, marked: meanwhile, known: before };
  return kept;
}

/** What was remembered before a call in the place of what counts while it is under way. */
function beforeOf({ meanwhile = {} }: Call<unknown>, { status: { memory } }: Work): Partial<Memory<unknown>> {
  const names = Object.keys(meanwhile) as (keyof Memory<unknown>)[];
  return Object.fromEntries(names.map((name) => [name, memory[name]]));
}
