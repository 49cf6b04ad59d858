/**
 * What became of a create whose answer was lost, for an object that nothing may be done for now.
 *
 * Guarantees: nothing but reads is sent, and nothing is let go of. The entry ends as it would have ended otherwise: with the
 * id of what was found, or, where the kind would create once more, with the proof that the lost call made nothing.
 */
import { RecordingView } from './interests.ts';
import type { View } from './kind/pass.ts';
import type { Step } from './kind/step.ts';
import type { Parts } from './parts.ts';
import type { Session } from './accounts.ts';
import { remembering, type Work } from './work.ts';

const mostSteps = 4;
const recheckMs = 5_000;

/** What was learned, and when to look again where a read that was asked for does not wake. */
export interface Learned {
  readonly work: Work;
  readonly againInMs: number | undefined;
}

/** Whether others wait for the name of this object until it is known what a lost call of it did. */
export function isLost({ entry, recollection }: Work): boolean {
  return entry.kind.life === 'long' && recollection.damaged === undefined && isOpen(recollection.memory);
}

/** Looks for what the lost call made; `decide` is the kind's step for the work as it stands. */
export function lookForLost(
  parts: Pick<Parts, 'asked'>,
  started: Work,
  { service }: Session,
  decide: (work: Work, view: View) => Step<unknown>,
): Learned {
  let work = started;
  for (let count = 0; count < mostSteps && isOpen(work.recollection.memory); count += 1) {
    const step = decide(work, new RecordingView(service, work.recall.forced?.since));
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

/** A create that would be sent once more proves that the lost one made nothing: its entry holds nobody up any longer. */
export function withoutLost(work: Work, { call }: Extract<Step<unknown>, { is: 'call' }>): Work {
  const isNewAttempt = isLost(work) && call.journal?.create !== undefined && call.resumes !== true;
  return isNewAttempt ? remembering(work, { journal: undefined }) : work;
}

function isOpen({ id, journal }: Work['recollection']['memory']): boolean {
  return id === undefined && journal?.create !== undefined;
}
