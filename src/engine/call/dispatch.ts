import type { Pass } from '../kind/contract/pass.ts';
import type { Call } from '../kind/contract/step.ts';
import type { Outcome, SendOptions, Service } from '../ports.ts';
import type { Work } from '../reconcile/work.ts';
import type { Worktable } from '../reconcile/worktable.ts';

/** A call on its way: what one pass decided on, and where it is worked on. */
export interface Errand {
  readonly table: Worktable;
  readonly pass: Pass<unknown, unknown>;
  readonly call: Call<unknown>;
  /** Stands for what is sent. */
  readonly digest: string;
}

/**
 * Sends the bytes, unless by then the process may not or it is too late. Some time after the decision the call has ended, its wait
 * for a turn included; when less than a third of that is left for the answer, it is not sent.
 */
export async function dispatch({ table, pass, call }: Errand, work: Work, service: Service): Promise<Outcome | 'late'> {
  const answerMs = pass.callMs / 3;
  const deadline = pass.monotonicMs + pass.callMs;
  const latestWallMs = pass.wallMs + pass.callMs - answerMs;
  let late = false;
  const options: SendOptions = {
    urgency: call.urgency,
    deadline,
    mayDispatch: () => {
      const no = table.leadership.mayAct();
      if (no !== undefined) return no;
      // A machine that slept stops the monotonic clock; the wall clock goes on.
      late = table.clock.monotonic() > deadline - answerMs || table.clock.wall() > latestWallMs;
      if (late) return 'waited too long in the queue';
      if (call.confirm !== 'live' || table.stillWants(work, pass, call)) return undefined;
      return 'what it was decided on is no longer so';
    },
  };
  const outcome = await service.send(call.request, options);
  if (outcome.is !== 'notSent') return outcome;
  // What is resumed may have been sent before: its entry stays, and its kind says what is known of it.
  if (call.resumes === true) return outcome;
  // Where the account was opened anew while it waited for its turn, it is decided on anew there.
  return late || table.serviceFor(work, pass, call) !== service ? 'late' : outcome;
}
