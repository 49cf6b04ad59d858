/**
 * Sends calls that must not happen twice to an environment, and resolves them when the answer was lost.
 *
 * Why: docs/design/deployments.md#a-lost-deployment-is-recognised-by-updatedat
 */
import { readOf } from '../../engine/kind/planner/observe.ts';
import {
  type JournalEntry,
  type Memory,
  type Refusal,
  type Step,
  type Verdict,
  isNo,
} from '../../engine/kind/contract/step.ts';
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

/** A short text that identifies the state of the environment before a call. */
function markOf({ status = '', updatedAtMs }: AppEnvItem): string {
  return `${updatedAtMs ?? ''} ${status.slice(0, 64)}`;
}

/** Sends the wanted call unless an earlier lost call did it. After the most allowed lost answers it gives up. */
export function act(pass: EnvironmentPass, item: AppEnvItem, action: DeploymentAction): Step<AppEnvironmentFacts> {
  const loss = lossOf(pass, action.digest) ?? 0;
  const { wallMs: atMs } = pass;
  if (loss === 'carriedOut') return { is: 'again', remember: action.done({ atMs, attempt: 1 }) };
  if (loss === mostAttempts) return { is: 'again', remember: givenUp(pass, action, { atMs, attempt: loss }) };
  return send(pass, item, action, { atMs, attempt: loss + 1 });
}

/** Sends the action after a read that began after it was decided. */
function send(
  pass: EnvironmentPass,
  item: AppEnvItem,
  action: DeploymentAction,
  { atMs, attempt }: Pick<Done, 'atMs' | 'attempt'>,
): Step<AppEnvironmentFacts> {
  const { operation, words, request, digest, done, carries } = action;
  const list = listOf(pass);
  const snapshot = pass.view.one(list, item.appEnvId)?.snapshot;
  if (snapshot === undefined || snapshot.begunAt < pass.askedAt) return readOf(pass, list, pass.askedAt);
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
      committed: (body) => (lifecycleAnswerOf(body) === undefined ? undefined : done({ body, atMs, attempt })),
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
  // After a conflict, read once before doing anything else.
  return starts && refusal.is !== 'conflict' ? { ...said, is: 'wait', retryInMs: 1_000 } : { ...said, is: 'stall' };
}

/** True if the deployment was refused and the environment can be started with its current content. */
export function startsWithout(pass: EnvironmentPass): boolean {
  return pass.notes['refusedFor'] === pass.subject.generation && isStartable(pass);
}

/** A version to roll back to is one of the environment, which was deployed then. */
function isStartable({ spec, memory }: EnvironmentPass): boolean {
  return wasDeployed(memory.facts) || spec.deploy?.rollbackContentId !== undefined;
}

/**
 * Any change of an environment could be mistaken for the effect of another resource's lost call: that of a younger resource
 * bound to it before, or of an upgrade of its solution. So wait until none is in doubt.
 */
export function besideOthers(
  pass: EnvironmentPass,
  { appEnvId, appId }: AppEnvItem,
): Step<AppEnvironmentFacts> | undefined {
  const { related } = pass;
  const environments = (related?.('AppEnvironment', appEnvId) ?? []).filter(({ id }) => id === appEnvId);
  // Before its first answer an installation does not know its environments.
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

/** The environment's status in lower case. An unknown word is kept, and nothing is sent while it lasts. */
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
 * Finds out by reads alone what a lost call did. It is settled when the environment shows the effect, or does not show it
 * and the call can no longer arrive.
 */
export function resolveDoubt(
  pass: EnvironmentPass,
  entry: JournalEntry,
  { item, snapshot }: Extract<Located, { is: 'found' }>,
): Step<AppEnvironmentFacts> {
  const { journalSeen, monotonicMs, horizonMs, wallMs } = pass;
  const settledAt = journalSeen.monotonic + entry.deadlineSeconds * 1_000 + horizonMs;
  const since = Math.max(journalSeen.monotonic, Math.min(settledAt, monotonicMs - recheckMs));
  if (snapshot.begunAt < since) return readOf(pass, listOf(pass), since);
  const skewMs = snapshot.dateMs === undefined ? 0 : snapshot.dateMs - (wallMs - (monotonicMs - snapshot.begunAt));
  if (isEvidence(entry, item, skewMs)) return carriedOut(pass, entry, item);
  if (entry.conflicted !== undefined) return { is: 'again', remember: notCarriedOut(pass, entry) };
  const words = `${entry.operation} of environment "${item.name}": the answer was lost`;
  if (stateOf(item) === 'Updating') {
    const message = `${words}; waiting until the environment is at rest`;
    return { is: 'wait', reason: 'InDoubt', message, retryInMs: recheckMs };
  }
  if (snapshot.begunAt < settledAt) {
    const until = new Date(journalSeen.wall + entry.deadlineSeconds * 1_000 + horizonMs).toISOString();
    const next = entry.attempt < mostAttempts ? 'it is sent once more' : 'it is given up';
    const message = `${words}; if nothing shows that it was carried out by ${until}, ${next}`;
    return { is: 'wait', reason: 'InDoubt', message, retryInMs: recheckMs };
  }
  return { is: 'again', remember: notCarriedOut(pass, entry) };
}

/** The lost call had no effect and can have none any more. */
export function notCarriedOut(pass: EnvironmentPass, entry: JournalEntry): Partial<Memory<AppEnvironmentFacts>> {
  // The service refused the call, and reads show that it had no effect.
  if (entry.conflicted !== undefined) return { journal: undefined, applied: appliedBefore(pass) };
  const loss = entry.attempt < mostAttempts ? 1 : mostAttempts;
  return { journal: undefined, applied: appliedAfterLoss(pass.memory.applied, entry.digest, loss, pass) };
}

/**
 * A lost call was carried out. Keep a record of it even if the spec wants something else now: the spec may want it again,
 * for example when a missing Secret returns.
 */
function carriedOut(pass: EnvironmentPass, entry: JournalEntry, item: AppEnvItem): Step<AppEnvironmentFacts> {
  const { attempt, digest, operation, startedAt } = entry;
  const action = actionOf(pass, entry, item);
  if (action !== undefined) {
    return {
      is: 'again',
      remember: { ...action.done({ atMs: Date.parse(startedAt), attempt }), journal: undefined },
      note: {},
    };
  }
  const unwanted = isAsked(operation) ? {} : overtaken(pass);
  const applied = appliedAfterLoss(unwanted.applied ?? pass.memory.applied, digest, 'carriedOut', pass);
  return { is: 'again', remember: { ...unwanted, applied, journal: undefined }, note: {} };
}

/** The call in the journal, if the spec still wants it. */
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
