import { isoSecondsUp } from '../../../base/time.ts';
import type { Read } from '../../ports.ts';
import type { Pass } from '../contract/pass.ts';
import type { Step, JournalEntry } from '../contract/step.ts';

/** A pause that the service asks for is no news if no more than this is left of it, and it has not held up who asks for as long. */
const shortPauseMs = 10_000;

/** Asks for a read begun at or after `since`; if it fails, waits with the reason instead. */
export function readOf(
  pass: Pass<unknown, unknown>,
  read: Read,
  since: number,
): Extract<Step<never>, { is: 'read' | 'wait' }> {
  const problem = pass.view.problem(read);
  if (problem === undefined || problem.at < since) return { is: 'read', read, since };
  const message = `reading ${read.first.endpoint}: ${problem.message}`;
  switch (problem.why) {
    case 'unauthorized':
    case 'hostNotAllowed':
      return { is: 'wait', reason: 'AccountNotReady', message };
    case 'forbidden':
    case 'refused':
      return { is: 'wait', reason: 'Forbidden', message, retryInMs: 300_000 };
    case 'throttled': {
      const pause = longPause(pass);
      if (pause === undefined && pass.monotonicMs - pass.askedAt < shortPauseMs) return { is: 'read', read, since };
      return { is: 'wait', reason: 'Throttled', message: `${message}; ${pause ?? 'the account says until when'}` };
    }
    case 'malformed':
      return { is: 'wait', reason: 'UnexpectedResponse', message };
    case 'unreachable':
      return { is: 'wait', reason: 'ServiceUnavailable', message };
  }
}

/** The end of a long pause that the service asked for, in words; undefined when there is none. */
export function longPause({ account, wallMs }: Pick<Pass<unknown, unknown>, 'account' | 'wallMs'>): string | undefined {
  const { throttledMs = 0 } = account;
  return throttledMs < shortPauseMs ? undefined : `requests wait until ${isoSecondsUp(wallMs + throttledMs)}`;
}

/**
 * How new a read must be to count after a refusal of the journalled call, which may have been carried out all the same.
 * Passed to the next step by `note`.
 */
export function sinceNo<Spec, Facts>({ memory, notes, askedAt }: Pass<Spec, Facts>): number {
  return memory.journal?.conflicted === undefined ? Number.NEGATIVE_INFINITY : (notes['saidNoAt'] ?? askedAt);
}

/** Adds the time found by `sinceNo` to the notes of a step. */
export function notingNo<Spec, Facts>(pass: Pass<Spec, Facts>, step: Step<Facts>): Step<Facts> {
  if (pass.memory.journal?.conflicted === undefined || step.is === 'release') return step;
  return { ...step, note: { ...pass.notes, ...step.note, saidNoAt: sinceNo(pass) } };
}

/** The body that an entry carries; undefined where somebody changed it so that it cannot be read. */
export function writtenBody({ payload = '' }: Pick<JournalEntry, 'payload'>): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}
