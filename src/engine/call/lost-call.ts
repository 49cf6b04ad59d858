/**
 * Finds out what became of a call whose answer was lost, for an object that nothing may be done for now.
 *
 * Guarantees: nothing but reads is sent, and nothing is let go of. The entry ends as it would have ended otherwise: that of a
 * create with the id of what was found, or, where the kind would create once more, with the proof that the lost call made
 * nothing; that of a change with what the object shows of it.
 *
 * Why: docs/design/at-most-once.md#find-out-about-a-lost-call-even-while-nothing-else-may-be-done
 */
import type { ReconcileContext } from '../context/context.ts';
import { isLost, isOpen } from '../context/doubt.ts';
import type { View } from '../kind/contract/pass.ts';
import type { Step } from '../kind/contract/step.ts';
import { RecordingView } from '../objects/subscriptions.ts';
import type { Service } from '../ports.ts';

const mostSteps = 4;
const recheckMs = 5_000;

/**
 * Takes into the context what shows of the lost call; `decide` is the kind's step as the context stands. Returns when to look
 * again, where no read that was asked for wakes the object.
 */
export function lookForLost(
  context: ReconcileContext,
  service: Service,
  decide: (view: View) => Step<unknown>,
): number | undefined {
  for (let count = 0; count < mostSteps && isOpen(context.memory); count += 1) {
    const step = decide(withoutProblems(new RecordingView(service, context.inProcess.forced?.since)));
    switch (step.is) {
      case 'again':
        context.remember(step.remember);
        break;
      case 'call':
        forgetLost(context, step);
        break;
      case 'read':
        context.parts.asked(service, step.read.key, context.stored.key);
        service.want(step.read, step.since, 'edit');
        return recheckMs;
      case 'wait':
        context.remember(step.remember);
        return step.retryInMs;
      case 'stall':
      case 'ready':
        context.remember(step.remember);
        return undefined;
      case 'begin':
      case 'release':
        return undefined;
    }
  }
  return undefined;
}

/** Hides why a read is refused: the object is held up by something else, and asks again until the read works. */
function withoutProblems(view: View): View {
  return {
    all: (read) => view.all(read),
    one: (read, id) => view.one(read, id),
    group: (read, group) => view.group(read, group),
    problem: () => undefined,
  };
}

/** A create that would be sent once more proves that the lost one made nothing: its entry holds nobody up any longer. */
export function forgetLost(context: ReconcileContext, { call }: Extract<Step<unknown>, { is: 'call' }>): void {
  const isNewAttempt = isLost(context) && call.journal?.create !== undefined && call.resumes !== true;
  if (isNewAttempt) context.remember({ journal: undefined });
}
