import type { Pass, Related } from '../../engine/kind/contract/pass.ts';
import type { Step } from '../../engine/kind/contract/step.ts';

/** The longest time that another resource needs to find out whether its call took effect. */
const longestLookMs = 30_000;

/**
 * Waits while it is not known whether a call of another resource took effect. The wait has a time limit, even if the
 * outcome is still not known by then; a new call of that resource begins a new wait. `held` says in messages what has
 * to wait.
 *
 * The other resource looks for the effect only after its call has ended without a response. So the limit is the
 * duration of the call, plus the time during which the call may still arrive, plus the time that the other resource
 * needs to find the effect.
 */
export function awaitDoubts(
  { notes, monotonicMs, callMs, horizonMs }: Pass,
  others: readonly Related[],
  held: string,
): Extract<Step<never>, { is: 'wait' }> | undefined {
  const [doubtful, ...more] = others.filter(({ inDoubt }) => inDoubt);
  if (doubtful === undefined) return undefined;
  const besideOf = Math.max(...[doubtful, ...more].map(({ begunMs = 0 }) => begunMs));
  const isSame = (notes['besideOf'] ?? 0) === besideOf;
  const besideSince = (isSame ? notes['besideSince'] : undefined) ?? monotonicMs;
  if (monotonicMs - besideSince > 2 * callMs + horizonMs + longestLookMs) return undefined;
  const message = `the outcome of the last call of ${doubtful.name} is not known yet; until it is known, ${held}`;
  const note = { ...notes, besideSince, besideOf };
  return { is: 'wait', reason: 'EnvironmentInDoubt', message, retryInMs: 2_000, note };
}

/**
 * Returns the AppEnvironments that are bound to an environment of the service, no matter how their specs name the environment.
 */
export function boundToEnvironment({ related }: Pick<Pass, 'related'>, appEnvId: string): readonly Related[] {
  return (related?.('AppEnvironment', appEnvId) ?? []).filter(({ id }) => id === appEnvId);
}
