/** Going on with an installation whose id is known, and giving one that is complete another agent image. */
import type { JournalEntry, Step } from '../engine/kind/step.ts';
import { installing, overAt, takeOver } from './solution-installation-calls.ts';
import { awaitDeployments, type SolutionPass } from './solution-installation-components.ts';
import type { Facts } from './schema/solution-installation.ts';

const agentImage = 'inputs.agentImage';
/** How often the same upgrade is sent while every answer to it is lost. */
const mostUpgrades = 2;

/** Goes on with an installation whose id is known. */
export function install(pass: SolutionPass): Step<Facts> {
  return takeOver(pass) ?? { is: 'call', call: installing(pass) };
}

/** Gives a complete installation another agent image: written down, since the service never shows which one it has. */
export function upgrade(pass: SolutionPass): Step<Facts> {
  const call = installing(pass);
  const digest = pass.print(call.request.body ?? null);
  const last = pass.memory.applied?.prints[agentImage];
  if (last === printOfDoubt(pass, { attempt: mostUpgrades, digest })) {
    const message = `${call.words}: the answer was lost twice, and the service does not show which image runs; change spec.inputs.agentImage to try again`;
    return { is: 'stall', reason: 'UpgradeInDoubt', message };
  }
  const held = takeOver(pass) ?? awaitDeployments(pass);
  if (held !== undefined) return held;
  const attempt = last === printOfDoubt(pass, { attempt: 1, digest }) ? mostUpgrades : 1;
  return { is: 'call', call: { ...call, journal: { operation: 'upgrade', attempt, digest } } };
}

/** Stands for the image that runs while nobody knows it: fits none, and says what was sent in doubt, and how often. */
function printOfDoubt(pass: SolutionPass, { attempt, digest }: Pick<JournalEntry, 'attempt' | 'digest'>): string {
  return pass.print(['in doubt', attempt, digest]);
}

/** The answer to an upgrade was lost: which image runs is not known, so nothing is sent before the call is over. */
export function resolveUpgrade(pass: SolutionPass, entry: JournalEntry): Step<Facts> {
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
        : `it is not sent a third time, and another image not before ${inWords}`;
    const message = `the answer to the upgrade of "${spec.appName}" was lost; ${next}`;
    return { is: 'wait', reason: 'InDoubt', message, retryInMs: settledAt - monotonicMs };
  }
  const { generation = -1, prints = {} } = memory.applied ?? {};
  const applied = { generation, prints: { ...prints, [agentImage]: printOfDoubt(pass, entry) } };
  return { is: 'again', remember: { journal: undefined, applied } };
}
