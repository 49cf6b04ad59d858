import type { Pass, Related } from '../../engine/kind/contract/pass.ts';
import type { Step } from '../../engine/kind/contract/step.ts';

/** The longest time that another resource needs to find out whether its call took effect. */
const longestLookMs = 30_000;

/**
 * Waits while another resource has a call in doubt that may still arrive. The wait ends when that call can no longer arrive,
 * even if it is not settled; a new call begins a new wait. `held` says in messages what has to wait.
 *
 * Only when a call has ended without an answer does the other resource begin to watch for as long as a call may take and a horizon.
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
  const message = `the outcome of the last call of ${doubtful.name} is not known yet; ${held} before`;
  const note = { ...notes, besideSince, besideOf };
  return { is: 'wait', reason: 'EnvironmentInDoubt', message, retryInMs: 2_000, note };
}

/** Returns the AppEnvironments that are bound to an environment of the service, whichever way their specs name it. */
export function boundToEnvironment({ related }: Pick<Pass, 'related'>, appEnvId: string): readonly Related[] {
  return (related?.('AppEnvironment', appEnvId) ?? []).filter(({ id }) => id === appEnvId);
}
