import type { Pass, Related } from '../../engine/kind/contract/pass.ts';
import type { Step } from '../../engine/kind/contract/step.ts';

/**
 * When a call with an unknown outcome can no longer arrive, the resource that sent it reads the service once more to see
 * whether the call took effect. This read is assumed to end within this time.
 */
const longestLookMs = 30_000;

/**
 * Returns a `wait` step while it is not known whether a call of another resource took effect. When the time limit of
 * the wait has passed, the wait ends even if the outcome is still not known. A new call of that resource begins a new
 * wait. `what` says in messages what has to wait.
 *
 * The other resource begins to look for the effect when its call has ended without a response. It then looks for as
 * long as a call lasts, plus the time during which the call may still arrive. So the limit is twice the duration of a
 * call, plus the time during which the call may still arrive, plus the time for the last look.
 */
export function awaitDoubts(
  { notes, monotonicMs, callDeadlineMs, horizonMs }: Pass,
  others: readonly Related[],
  what: string,
): Extract<Step<never>, { is: 'wait' }> | undefined {
  const [doubtful, ...more] = others.filter(({ inDoubt }) => inDoubt);
  if (doubtful === undefined) return undefined;
  const besideOf = Math.max(...[doubtful, ...more].map(({ begunMs = 0 }) => begunMs));
  const isSame = (notes['besideOf'] ?? 0) === besideOf;
  const besideSince = (isSame ? notes['besideSince'] : undefined) ?? monotonicMs;
  if (monotonicMs - besideSince > 2 * callDeadlineMs + horizonMs + longestLookMs) return undefined;
  const message = `the outcome of the last call of ${doubtful.name} is not known yet; until it is known, ${what}`;
  const note = { ...notes, besideSince, besideOf };
  return { is: 'wait', reason: 'EnvironmentInDoubt', message, retryInMs: 2_000, note };
}

/**
 * Returns the AppEnvironments that are bound to an environment of the service, no matter how their specs name the
 * environment.
 */
export function boundToEnvironment({ related }: Pick<Pass, 'related'>, appEnvId: string): readonly Related[] {
  return (related?.('AppEnvironment', appEnvId) ?? []).filter(({ id }) => id === appEnvId);
}
