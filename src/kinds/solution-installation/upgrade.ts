/**
 * Completes an installation whose id is known, and upgrades the agent image of a complete one.
 *
 * Why: docs/design/deployments.md#an-upgrade-is-sent-at-most-twice
 */
import type { JournalEntry } from '../../engine/kind/contract/step.ts';
import { awaitDoubts } from '../shared/others-in-doubt.ts';
import { agentImage, inputsOf, installing, overAt, takeOver } from './calls.ts';
import { awaitDeployments, type SolutionPass, type SolutionStep } from './components.ts';

/** How many times one upgrade is sent at most while its answers are lost. */
const mostUpgrades = 2;

/**
 * Completes an installation whose id is known. If it is complete by then, a request with an agent image is an upgrade, so it is
 * journalled like one. After a doubt the rest is requested without the image, which is safe to repeat, and the image is set at
 * the end.
 */
export function install(pass: SolutionPass): SolutionStep {
  const held = takeOver(pass);
  if (held !== undefined) return held;
  const { agentImage: image, ...rest } = inputsOf(pass);
  if (image === undefined) return { is: 'call', call: installing(pass) };
  const call = installing(pass);
  const digest = pass.print(call.request.body ?? null);
  if (doubtsOf(pass, digest) > 0) return { is: 'call', call: installing(pass, rest) };
  const environments = pass.inAccount?.('AppEnvironment') ?? [];
  // Only the answer tells which AppEnvironments are of components, so wait for all of them.
  const beside = awaitDeployments(pass) ?? awaitDoubts(pass, environments, 'nothing is sent for the installation');
  if (beside !== undefined) return beside;
  const alone = [...new Set([...(call.alone ?? []), ...environments.flatMap(({ id }) => id ?? [])])];
  return { is: 'call', call: { ...call, alone, journal: { operation: 'upgrade', attempt: 1, digest } } };
}

/** Upgrades the agent image of a complete installation. The call is journalled: the service never shows which image runs. */
export function upgrade(pass: SolutionPass): SolutionStep {
  const call = installing(pass);
  const digest = pass.print(call.request.body ?? null);
  const doubts = doubtsOf(pass, digest);
  if (doubts === mostUpgrades) {
    const message = `${call.words}: the answer was lost twice, and the service does not show which image runs; change agentImage in spec.inputs to try again`;
    return { is: 'stall', reason: 'UpgradeInDoubt', message };
  }
  const held = takeOver(pass) ?? awaitDeployments(pass);
  if (held !== undefined) return held;
  return { is: 'call', call: { ...call, journal: { operation: 'upgrade', attempt: doubts + 1, digest } } };
}

/** The fingerprint while the running image is unknown. It matches no image. It says which upgrade is in doubt, and how often that was sent. */
function printOfDoubt(pass: SolutionPass, { attempt, digest }: Pick<JournalEntry, 'attempt' | 'digest'>): string {
  return pass.print(['in doubt', attempt, digest]);
}

/** How often this upgrade was sent and its answer was lost. */
function doubtsOf(pass: SolutionPass, digest: string): number {
  const last = pass.memory.applied?.prints[agentImage];
  return [1, mostUpgrades].find((attempt) => last === printOfDoubt(pass, { attempt, digest })) ?? 0;
}

/** Waits after the answer to an upgrade was lost: nothing is sent while the call may still arrive. */
export function resolveUpgrade(pass: SolutionPass, entry: JournalEntry): SolutionStep {
  const { memory, monotonicMs, spec } = pass;
  if (entry.conflicted !== undefined) {
    const message = `upgrade solution "${spec.solution}" as "${spec.appName}": ${entry.conflicted}`;
    return { is: 'stall', reason: 'Rejected', message, remember: { journal: undefined } };
  }
  const { monotonic: settledAt, inWords } = overAt(pass, entry);
  if (monotonicMs < settledAt) {
    const isComplete = memory.facts.complete === true;
    const next =
      entry.attempt < mostUpgrades
        ? `the image of the spec is sent once more ${isComplete ? 'at' : 'when everything is created, and not before'} ${inWords}`
        : `it is not sent a third time, and no other image is sent before ${inWords}`;
    const what = isComplete ? 'upgrade' : 'installation';
    const message = `the answer to the ${what} of "${spec.appName}" is not known; ${next}`;
    return { is: 'wait', reason: 'InDoubt', message, retryInMs: settledAt - monotonicMs };
  }
  const { generation = -1, prints = {} } = memory.applied ?? {};
  const applied = { generation, prints: { ...prints, [agentImage]: printOfDoubt(pass, entry) } };
  return { is: 'again', remember: { journal: undefined, applied } };
}
