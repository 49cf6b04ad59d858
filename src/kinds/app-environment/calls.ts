/**
 * Sending what must not happen twice to an environment, and finding out what came of it when the answer was lost.
 *
 * Why: docs/design/deployments.md#a-lost-deployment-is-recognised-by-updatedat
 */
import { readOf } from '../../engine/kind/planner/reading.ts';
import { isNo } from '../../engine/kind/contract/refusal.ts';
import type { JournalEntry, Memory, Refusal, Step, Verdict } from '../../engine/kind/contract/step.ts';
import { isUnderWay, lifecycleAnswerOf, type AppEnvItem } from '../../hosting/requests.ts';
import { listOf, type EnvironmentPass, type Located } from './binding.ts';
import {
  deployment,
  givenUp,
  overtaken,
  askedFor,
  wasDeployed,
  type DeploymentAction,
  type Done,
} from './deployments.ts';
import {
  appliedAfterLoss,
  appliedBefore,
  appliedMeanwhile,
  askedBy,
  lossOf,
  revisionOf,
  type AskedCall,
} from './parts.ts';
import { awaitDoubts } from '../shared/others-in-doubt.ts';
import type { AppEnvironmentFacts } from './schema.ts';

const recheckMs = 3_000;
const clockSlackMs = 2_000;
const mostAttempts = 2;

/** The environment as it was before a call, in one short text. */
function markOf({ status = '', updatedAtMs }: AppEnvItem): string {
  return `${updatedAtMs ?? ''} ${status.slice(0, 64)}`;
}

/** Does what is wanted, unless a lost call of before did it; what was lost as often as it may be sent is given up. */
export function act(pass: EnvironmentPass, item: AppEnvItem, action: DeploymentAction): Step<AppEnvironmentFacts> {
  const loss = lossOf(pass, action.digest) ?? 0;
  const at = new Date(pass.wallMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
  if (loss === 'carriedOut') return { is: 'again', remember: action.done({ at, attempt: 1 }) };
  if (loss === mostAttempts) return { is: 'again', remember: givenUp(pass, action, { at, attempt: loss }) };
  return send(pass, item, action, { at, attempt: loss + 1 });
}

/** Sends the action, after a look that began for it. */
function send(
  pass: EnvironmentPass,
  item: AppEnvItem,
  action: DeploymentAction,
  { at, attempt }: Pick<Done, 'at' | 'attempt'>,
): Step<AppEnvironmentFacts> {
  const { operation, words, request, digest, done, carries } = action;
  const list = listOf(pass);
  const walk = pass.view.one(list, item.appEnvId)?.walk;
  if (walk === undefined || walk.begunAt < pass.askedAt) return readOf(pass, list, pass.askedAt);
  if (pass.quarantineMs > 0) {
    const message = `this operator has just taken over; ${words} waits until calls of its predecessor can no longer arrive`;
    return { is: 'wait', reason: 'TakeOver', message, retryInMs: pass.quarantineMs };
  }
  const held = besideOthers(pass, item);
  if (held !== undefined) return held;
  const { updatedAtMs } = item;
  return {
    is: 'call',
    call: {
      request,
      words: `${words} in environment "${item.name}"`,
      urgency: 'edit',
      journal: { operation, attempt, digest, before: markOf(item) },
      meanwhile: { applied: appliedMeanwhile(pass, carries) },
      alone: [item.appEnvId],
      committed: (body) => (lifecycleAnswerOf(body) === undefined ? undefined : done({ body, at, attempt })),
      note: (sentAt) => ({ calledAt: sentAt, ...(updatedAtMs !== undefined && { updatedAtBefore: updatedAtMs }) }),
      refused: (refusal) => refusedAs(pass, item, action, refusal),
    },
  };
}

/** Stalls a refused deployment; an environment that should run and was deployed before is started first. */
function refusedAs(
  pass: EnvironmentPass,
  item: AppEnvItem,
  { operation, words }: DeploymentAction,
  refusal: Refusal,
): Verdict<AppEnvironmentFacts> | undefined {
  const isRollback = operation === 'rollback' || operation === 'rollBack';
  if (operation === 'redeploy' || !(isRollback ? isNo(refusal) : refusal.is === 'refused')) return undefined;
  const what = isRollback ? words : `${words} in environment "${item.name}"`;
  const said = {
    reason: isRollback ? 'RollbackRefused' : 'Rejected',
    message: `${what}: ${refusal.message}`,
    note: { ...pass.notes, refusedFor: pass.subject.generation },
  } as const;
  const starts = pass.spec.powerState === 'Running' && stateOf(item) === 'Stopped' && isStartable(pass);
  // A conflict is looked into before anything else is done.
  return starts && refusal.is !== 'conflict' ? { ...said, is: 'wait', retryInMs: 1_000 } : { ...said, is: 'stall' };
}

/** True if the deployment was refused and the environment can be started with its current content. */
export function startsWithout(pass: EnvironmentPass): boolean {
  return pass.notes['refusedFor'] === pass.subject.generation && isStartable(pass);
}

/** A version to roll back to is one of the environment, which was deployed then. */
function isStartable({ spec, memory }: EnvironmentPass): boolean {
  return wasDeployed(memory.facts) || spec.deploy?.contentId !== undefined;
}

/**
 * Whatever is done to an environment shows in it, and would be taken for the trace of a lost call of another resource: of a
 * younger one that it belonged to, or of an upgrade of the solution that it came with.
 */
export function besideOthers(
  pass: EnvironmentPass,
  { appEnvId, appId }: AppEnvItem,
): Step<AppEnvironmentFacts> | undefined {
  const { related } = pass;
  const environments = (related?.('AppEnvironment', appEnvId) ?? []).filter(({ id }) => id === appEnvId);
  // Before its first answer an installation does not know which environments it has.
  const unknown = (pass.inAccount?.('SolutionInstallation') ?? []).filter(
    ({ id, inDoubt, facts }) => inDoubt && id !== undefined && facts['complete'] !== true,
  );
  const others = [...environments, ...(related?.('SolutionInstallation', appId) ?? []), ...unknown];
  return awaitDoubts(pass, others, 'nothing is sent to the environment');
}

/** True while the service still shows the environment as it was before our call. */
export function isLagging(
  { notes, monotonicMs, horizonMs }: EnvironmentPass,
  { status, updatedAtMs }: AppEnvItem,
): boolean {
  const { calledAt, updatedAtBefore } = notes;
  if (calledAt === undefined || isUnderWay(status)) return false;
  if (updatedAtMs === undefined || updatedAtBefore === undefined) return false;
  return updatedAtMs === updatedAtBefore && monotonicMs - calledAt < horizonMs;
}

/** The state by the service's word, without regard to case; an unknown word stays as it is, and nothing is sent meanwhile. */
export function stateOf({ status = '' }: AppEnvItem): string {
  const word = status.trim().toLowerCase();
  if (word === 'running') return 'Running';
  if (word === 'stopped') return 'Stopped';
  return isUnderWay(status) ? 'Updating' : status;
}

/** The message for a state that the interface does not describe. */
export function unknownState(state: string): string {
  return `the service shows the status "${state}", which the interface does not describe; nothing is sent until it changes`;
}

/**
 * Finds out what became of a call whose answer was lost, by looking alone: it is over when the environment shows that it was
 * carried out, or does not show it although it can no longer arrive.
 */
export function resolveDoubt(
  pass: EnvironmentPass,
  entry: JournalEntry,
  { item, walk }: Extract<Located, { is: 'found' }>,
): Step<AppEnvironmentFacts> {
  const { journalSeen, monotonicMs, horizonMs, wallMs } = pass;
  const settledAt = journalSeen.monotonic + entry.deadlineSeconds * 1_000 + horizonMs;
  const since = Math.max(journalSeen.monotonic, Math.min(settledAt, monotonicMs - recheckMs));
  if (walk.begunAt < since) return readOf(pass, listOf(pass), since);
  const skewMs = walk.dateMs === undefined ? 0 : walk.dateMs - (wallMs - (monotonicMs - walk.begunAt));
  if (isEvidence(entry, item, skewMs)) return carriedOut(pass, entry, item);
  if (entry.conflicted !== undefined) return { is: 'again', remember: notCarriedOut(pass, entry) };
  const words = `${entry.operation} of environment "${item.name}": the answer was lost`;
  if (stateOf(item) === 'Updating') {
    const message = `${words}; waiting until the environment is at rest`;
    return { is: 'wait', reason: 'InDoubt', message, retryInMs: recheckMs };
  }
  if (walk.begunAt < settledAt) {
    const until = new Date(journalSeen.wall + entry.deadlineSeconds * 1_000 + horizonMs).toISOString();
    const next = entry.attempt < mostAttempts ? 'it is sent once more' : 'it is given up';
    const message = `${words}; if nothing shows that it was carried out by ${until}, ${next}`;
    return { is: 'wait', reason: 'InDoubt', message, retryInMs: recheckMs };
  }
  return { is: 'again', remember: notCarriedOut(pass, entry) };
}

/** Nothing shows that a lost call was carried out, and nothing will. */
export function notCarriedOut(pass: EnvironmentPass, entry: JournalEntry): Partial<Memory<AppEnvironmentFacts>> {
  // The service said no, and nothing shows that it did it all the same.
  if (entry.conflicted !== undefined) return { journal: undefined, applied: appliedBefore(pass) };
  const loss = entry.attempt < mostAttempts ? 1 : mostAttempts;
  return { journal: undefined, applied: appliedAfterLoss(pass.memory.applied, entry.digest, loss, pass) };
}

/** A lost call was carried out. Where it is not what is wanted now, it may be again: a Secret that it took may just be missing. */
function carriedOut(pass: EnvironmentPass, entry: JournalEntry, item: AppEnvItem): Step<AppEnvironmentFacts> {
  const { attempt, digest, operation, startedAt } = entry;
  const action = actionOf(pass, entry, item);
  if (action !== undefined) {
    return { is: 'again', remember: { ...action.done({ at: startedAt, attempt }), journal: undefined }, note: {} };
  }
  const unwanted = isAsked(operation) ? {} : overtaken(pass);
  const applied = appliedAfterLoss(unwanted.applied ?? pass.memory.applied, digest, 'carriedOut', pass);
  return { is: 'again', remember: { ...unwanted, applied, journal: undefined }, note: {} };
}

/** The call that the journal speaks of, if it is still wanted. */
function actionOf(pass: EnvironmentPass, entry: JournalEntry, item: AppEnvItem): DeploymentAction | undefined {
  const { operation } = entry;
  if (!isAsked(operation) && revisionOf(pass.spec) === undefined) return undefined;
  const { appEnvId } = item;
  const action = isAsked(operation) ? askedFor(pass, operation, appEnvId) : deployment(pass, appEnvId);
  return action.operation === entry.operation && action.digest === entry.digest ? action : undefined;
}

function isAsked(operation: string): operation is AskedCall {
  return operation in askedBy;
}

/** True if the environment changed after the call was begun. */
function isEvidence(entry: JournalEntry, item: AppEnvItem, skewMs: number): boolean {
  const { before = '' } = entry;
  if (markOf(item) === before) return false;
  if (item.updatedAtMs === undefined) return true;
  const startedAtMs = Date.parse(entry.startedAt) + skewMs;
  const [updatedBefore] = before.split(' ', 1);
  return String(item.updatedAtMs) !== updatedBefore && item.updatedAtMs >= startedAtMs - clockSlackMs;
}
