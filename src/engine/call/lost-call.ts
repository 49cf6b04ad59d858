/**
 * Resolves a call in doubt for an object that must not be changed now.
 *
 * Guarantees: only reads are sent, and nothing is released. The journal entry ends as usual: a create with the id of the
 * object found, or with the proof that nothing was created; a change with what the object shows.
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
 * Updates the context with what reads show of the lost call; `decide` is the kind's step. Returns when to look again, if no
 * requested read wakes the object.
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

/** Hides read problems, so that the kind keeps asking for the read. */
function withoutProblems(view: View): View {
  return {
    all: (read) => view.all(read),
    one: (read, id) => view.one(read, id),
    group: (read, group) => view.group(read, group),
    problem: () => undefined,
  };
}

/** The kind would create again, so the lost create made nothing: remove its journal entry, which others wait for. */
export function forgetLost(context: ReconcileContext, { call }: Extract<Step<unknown>, { is: 'call' }>): void {
  const isNewAttempt = isLost(context) && call.journal?.create !== undefined && call.resumes !== true;
  if (isNewAttempt) context.remember({ journal: undefined });
}
