import type { Read } from '../ports.ts';
import type { Pass } from './pass.ts';
import type { Step } from './step.ts';

/** Asks for a read begun at or after `since`; where the service refuses or is not reached, says so instead of asking on. */
export function readOf<Spec, Facts>(
  pass: Pass<Spec, Facts>,
  read: Read,
  since: number,
): Extract<Step<Facts>, { is: 'read' | 'wait' | 'stall' }> {
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
    case 'throttled':
      return { is: 'wait', reason: 'Throttled', message };
    case 'malformed':
      return { is: 'wait', reason: 'UnexpectedResponse', message };
    case 'unreachable':
      return { is: 'wait', reason: 'ServiceUnavailable', message };
  }
}
