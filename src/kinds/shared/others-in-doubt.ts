import type { Pass, Related } from '../../engine/kind/contract/pass.ts';
import type { Step } from '../../engine/kind/contract/step.ts';

/**
 * The time within which another resource is assumed to end its last read of the service. It reads a last time when its
 * call with an unknown outcome can no longer arrive, to see whether the call took effect.
 */
const longestLookMs = 30_000;

/**
 * Returns a `wait` step while it is not known whether a call of another resource took effect. The wait ends after a
 * time limit even if the outcome is still not known. A new call of that resource begins a new wait. `what` says in
 * messages what has to wait.
 *
 * The time limit covers three periods. First, the call of the other resource runs until its deadline. Then that
 * resource looks for the effect until the call can no longer arrive: for one more deadline and `--horizon-seconds`. At
 * the end, it reads the service a last time.
 */
export function awaitDoubts(
  { notes, monotonicMs, callDeadlineMs, horizonMs }: Pass,
  others: readonly Related[],
  what: string,
): Extract<Step<never>, { is: 'wait' }> | undefined {
  const [doubtful, ...more] = others.filter(({ inDoubt }) => inDoubt);
  if (doubtful === undefined) return undefined;
  const newest = Math.max(...[doubtful, ...more].map(({ begunMs = 0 }) => begunMs));
  const beside = notes.beside?.begunMs === newest ? notes.beside : { begunMs: newest, since: monotonicMs };
  if (monotonicMs - beside.since > 2 * callDeadlineMs + horizonMs + longestLookMs) return undefined;
  const message = `the outcome of the last call of ${doubtful.name} is not known yet; until it is known, ${what}`;
  return { is: 'wait', reason: 'EnvironmentInDoubt', message, retryInMs: 2_000, note: { ...notes, beside } };
}

/**
 * Returns the AppEnvironments that are bound to an environment of the service, no matter how their specs name the
 * environment.
 */
export function boundToEnvironment({ related }: Pick<Pass, 'related'>, appEnvId: string): readonly Related[] {
  return (related?.('AppEnvironment', appEnvId) ?? []).filter(({ id }) => id === appEnvId);
}
