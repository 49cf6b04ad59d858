/**
 * Completes an installation whose id is known, and upgrades the agent image of a complete one.
 *
 * Why: docs/design/deployments.md#an-upgrade-is-sent-at-most-twice
 */
import type { JournalEntry } from '../../engine/kind/contract/step.ts';
import { overAt } from '../shared/lost-calls.ts';
import { agentImage, inputsOf, installing, takeOver } from './calls.ts';
import { awaitDeployments, type SolutionPass, type SolutionStep } from './components.ts';

/** How many times one upgrade is sent at most while its answers are lost. */
const mostUpgrades = 2;

/**
 * Completes an installation whose id is known. A request that names an agent image would be an upgrade if the installation is
 * complete by then. So this one names none, which makes it safe to repeat, and the image is set by an upgrade afterwards.
 */
export function install(pass: SolutionPass): SolutionStep {
  const { agentImage: _later, ...inputs } = inputsOf(pass);
  // Nothing is to be remembered meanwhile, but status has to say what is requested before an answer is written to it.
  return takeOver(pass) ?? { is: 'call', call: { ...installing(pass, inputs), meanwhile: {} } };
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
    const next =
      entry.attempt < mostUpgrades
        ? `the image of the spec is sent once more at ${inWords}`
        : `it is not sent a third time, and no other image is sent before ${inWords}`;
    const message = `the answer to the upgrade of "${spec.appName}" is not known; ${next}`;
    return { is: 'wait', reason: 'InDoubt', message, retryInMs: settledAt - monotonicMs };
  }
  const { generation = -1, prints = {} } = memory.applied ?? {};
  const applied = { generation, prints: { ...prints, [agentImage]: printOfDoubt(pass, entry) } };
  return { is: 'again', remember: { journal: undefined, applied } };
}
