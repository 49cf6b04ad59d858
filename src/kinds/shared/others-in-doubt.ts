import type { Pass, Related } from '../../engine/kind/contract/pass.ts';
import type { Step } from '../../engine/kind/contract/step.ts';

/** The longest that another resource takes to find out how its call ended. */
const longestLookMs = 30_000;

/**
 * Waits while one of these others does not know what came of its call, which may arrive until its time is over; whether that
 * one ever gets to know is not ours to wait for. Each call has its time: a second attempt, or one of another resource, begins it
 * anew. `held` says what is not done before.
 */
export function awaitDoubts<Spec, Facts>(
  { notes, monotonicMs, callMs, horizonMs }: Pass<Spec, Facts>,
  others: readonly Related[],
  held: string,
): Extract<Step<Facts>, { is: 'wait' }> | undefined {
  const [doubtful, ...more] = others.filter(({ inDoubt }) => inDoubt);
  if (doubtful === undefined) return undefined;
  const besideOf = Math.max(...[doubtful, ...more].map(({ begunMs = 0 }) => begunMs));
  const isSame = (notes['besideOf'] ?? 0) === besideOf;
  const besideSince = (isSame ? notes['besideSince'] : undefined) ?? monotonicMs;
  if (monotonicMs - besideSince > callMs + horizonMs + longestLookMs) return undefined;
  const message = `whether the last call of ${doubtful.name} was carried out is not known yet; ${held} before`;
  return {
    is: 'wait',
    reason: 'EnvironmentInDoubt',
    message,
    retryInMs: 2_000,
    note: { ...notes, besideSince, besideOf },
  };
}
