/**
 * What became of a call whose answer was lost, for an object that nothing may be done for now.
 *
 * Guarantees: nothing but reads is sent, and nothing is let go of. The entry ends as it would have ended otherwise: that of a
 * create with the id of what was found, or, where the kind would create once more, with the proof that the lost call made
 * nothing; that of a change with what the object shows of it.
 */
import { RecordingView } from '../objects/subscriptions.ts';
import type { View } from '../kind/contract/pass.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import type { JournalEntry, Step, Verdict } from '../kind/contract/step.ts';
import type { Parts } from '../parts.ts';
import { seenJournal, type InProcess } from '../objects/in-process.ts';
import type { Session } from '../account/accounts.ts';
import { remembering, type Work } from '../reconcile/work.ts';

const mostSteps = 4;
const recheckMs = 5_000;

/** What was learned, and when to look again where a read that was asked for does not wake. */
export interface Learned {
  readonly work: Work;
  readonly againInMs: number | undefined;
}

/** Whether others wait until it is known what a lost call of this object did. */
export function isLost({ entry, status }: Work): boolean {
  return entry.kind.life === 'long' && status.damaged === undefined && isOpen(status.memory);
}

/** Looks for what the lost call made; `decide` is the kind's step for the work as it stands. */
export function lookForLost(
  parts: Pick<Parts, 'asked'>,
  started: Work,
  { service }: Session,
  decide: (work: Work, view: View) => Step<unknown>,
): Learned {
  let work = started;
  for (let count = 0; count < mostSteps && isOpen(work.status.memory); count += 1) {
    const step = decide(work, untroubled(new RecordingView(service, work.inProcess.forced?.since)));
    switch (step.is) {
      case 'again':
        work = remembering(work, step.remember);
        break;
      case 'call':
        work = withoutLost(work, step);
        break;
      case 'read':
        parts.asked(service, step.read.key, work.entry.key);
        service.want(step.read, step.since);
        return { work, againInMs: recheckMs };
      case 'wait':
        return { work: remembering(work, step.remember), againInMs: step.retryInMs };
      case 'stall':
      case 'ready':
        return { work: remembering(work, step.remember), againInMs: undefined };
      case 'begin':
      case 'release':
        return { work, againInMs: undefined };
    }
  }
  return { work, againInMs: undefined };
}

/** What is said under these reasons speaks of the lost call already. */
const speaking: ReadonlySet<string> = new Set<Reason>(['InDoubt', 'Ambiguous', 'InstallationIdUnknown']);

/** What holds an object up, and, where what a lost call of it did is not known meanwhile, that and until when. */
export function withDoubt(
  parts: Pick<Parts, 'clock' | 'settings'>,
  work: Work,
  verdict: Verdict<unknown>,
): Verdict<unknown> {
  const { journal } = work.status.memory;
  if (verdict.is === 'ready' || speaking.has(verdict.reason) || !isLost(work) || journal === undefined) return verdict;
  // What the service knows by a requestId is not lost in this sense: the same bytes are sent again.
  if (journal.requestId !== undefined) return verdict;
  const { operation, startedAt } = journal;
  const until = arrivesUntil(parts, work.inProcess, journal);
  const doubt = `the answer to the call "${operation}" of ${startedAt} was lost: it is not repeated before ${until}, nor before it is known what it did`;
  return { ...verdict, message: `${verdict.message}; ${doubt}` };
}

/** Until when a call that was written down may still arrive, as it stands in messages. */
export function arrivesUntil(
  { clock, settings }: Pick<Parts, 'clock' | 'settings'>,
  inProcess: InProcess,
  journal: JournalEntry,
): string {
  const seen = seenJournal(inProcess, journal, { monotonic: clock.monotonic(), wall: clock.wall() });
  return new Date(seen.wall + journal.deadlineSeconds * 1_000 + settings.horizonMs).toISOString();
}

/** Why a read is refused is not said of an object that is held up by something else: it is asked for again until it is there. */
function untroubled(view: View): View {
  return {
    all: (read) => view.all(read),
    one: (read, id) => view.one(read, id),
    group: (read, group) => view.group(read, group),
    problem: () => undefined,
  };
}

/** A create that would be sent once more proves that the lost one made nothing: its entry holds nobody up any longer. */
export function withoutLost(work: Work, { call }: Extract<Step<unknown>, { is: 'call' }>): Work {
  const isNewAttempt = isLost(work) && call.journal?.create !== undefined && call.resumes !== true;
  return isNewAttempt ? remembering(work, { journal: undefined }) : work;
}

/** Others wait for the name of a create, and for what a change that is known by its trace was made to. */
function isOpen({ id, journal }: Work['status']['memory']): boolean {
  return journal?.create === undefined ? journal?.before !== undefined : id === undefined;
}
