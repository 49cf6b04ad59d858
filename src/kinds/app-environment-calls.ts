/** Sending what must not happen twice to an environment, and finding out what came of it when the answer was lost. */
import { notDone } from '../engine/kind/prints.ts';
import { readOf } from '../engine/kind/reading.ts';
import { isNo } from '../engine/kind/refusal.ts';
import type { JournalEntry, Step } from '../engine/kind/step.ts';
import { isUnderWay, lifecycleAnswerOf, type AppEnvItem } from '../hosting/requests.ts';
import { listOf, type EnvironmentPass, type Located } from './app-environment-binding.ts';
import { deployment, dueOf, givenUp, overtaken, redeployment, type Action } from './app-environment-deploys.ts';
import { revisionOf } from './app-environment-parts.ts';
import type { Facts } from './schema/app-environment.ts';

const recheckMs = 3_000;
const clockSlackMs = 2_000;
const mostAttempts = 2;

/** The environment as it was before a call, in one short text. */
function markOf({ status = '', updatedAtMs }: AppEnvItem): string {
  return `${updatedAtMs ?? ''} ${status.slice(0, 64)}`;
}

/** Sends the action, after a look that began for it. */
export function act(pass: EnvironmentPass, item: AppEnvItem, action: Action, attempt: number): Step<Facts> {
  const { operation, words, request, digest, done, meanwhile } = action;
  const list = listOf(pass);
  const walk = pass.view.one(list, item.appEnvId)?.walk;
  if (walk === undefined || walk.begunAt < pass.askedAt) return readOf(pass, list, pass.askedAt);
  if (pass.quarantineMs > 0) {
    const message = `this operator has just taken over; ${words} waits until calls of its predecessor can no longer arrive`;
    return { is: 'wait', reason: 'TakeOver', message, retryInMs: pass.quarantineMs };
  }
  const { updatedAtMs } = item;
  const at = new Date(pass.wallMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
  return {
    is: 'call',
    call: {
      request,
      words: `${words} in environment "${item.name}"`,
      urgency: 'edit',
      journal: { operation, attempt, digest, before: markOf(item) },
      ...(meanwhile && { meanwhile }),
      alone: [item.appEnvId],
      committed: (body) => (lifecycleAnswerOf(body) === undefined ? undefined : done({ body, at, attempt })),
      note: (sentAt) => ({ calledAt: sentAt, ...(updatedAtMs !== undefined && { updatedAtBefore: updatedAtMs }) }),
      refused: (refusal) => {
        if (operation !== 'rollback' || !isNo(refusal)) return undefined;
        return { is: 'stall', reason: 'RollbackRefused', message: `${words}: ${refusal.message}` };
      },
    },
  };
}

/** Whether what the service shows is still what it showed before our call. */
export function isLagging(
  { notes, monotonicMs, horizonMs }: EnvironmentPass,
  { status, updatedAtMs }: AppEnvItem,
): boolean {
  const { calledAt, updatedAtBefore } = notes;
  if (calledAt === undefined || isUnderWay(status)) return false;
  if (updatedAtMs === undefined || updatedAtBefore === undefined) return false;
  return updatedAtMs === updatedAtBefore && monotonicMs - calledAt < horizonMs;
}

/** What the service's word for the state means to us; any other word is shown as it is, and waited on. */
export function stateOf({ status = '' }: AppEnvItem): string {
  const word = status.trim().toLowerCase();
  if (word === 'running') return 'Running';
  if (word === 'stopped') return 'Stopped';
  return isUnderWay(status) ? 'Updating' : status;
}

/** Why nothing is sent to an environment in a state that nobody can explain. */
export function unknownState(state: string): string {
  return `the service shows the status "${state}", which the interface does not describe; nothing is sent until it changes`;
}

/** Goes on with a call whose outcome is not known: what the environment shows decides whether it is sent once more. */
export function resolveDoubt(
  pass: EnvironmentPass,
  entry: JournalEntry,
  { item, walk }: Extract<Located, { is: 'found' }>,
): Step<Facts> {
  const { journalSeen, monotonicMs, horizonMs, wallMs } = pass;
  const settledAt = journalSeen.monotonic + entry.deadlineSeconds * 1_000 + horizonMs;
  const since = Math.max(journalSeen.monotonic, Math.min(settledAt, monotonicMs - recheckMs));
  if (walk.begunAt < since) return readOf(pass, listOf(pass), monotonicMs);
  const action = actionOf(pass, entry, item);
  const skewMs = walk.dateMs === undefined ? 0 : walk.dateMs - (wallMs - (monotonicMs - walk.begunAt));
  if (isEvidence(entry, item, skewMs)) {
    const unwanted = entry.operation === 'redeploy' ? {} : overtaken(pass);
    const remember = action === undefined ? unwanted : action.done({ at: entry.startedAt, attempt: entry.attempt });
    return { is: 'again', remember: { ...remember, journal: undefined }, note: {} };
  }
  // The service said no, and nothing shows that it did it all the same; of an attempt before this one nobody knows.
  if (entry.conflicted !== undefined) {
    const { applied } = pass.memory;
    return { is: 'again', remember: { journal: undefined, applied: entry.attempt > 1 ? applied : notDone(applied) } };
  }
  const words = `${entry.operation} of environment "${item.name}": the answer was lost`;
  const state = stateOf(item);
  if (state === 'Updating') {
    const message = `${words}; waiting until the environment is at rest`;
    return { is: 'wait', reason: 'InDoubt', message, retryInMs: recheckMs };
  }
  if (walk.begunAt < settledAt) {
    const until = new Date(journalSeen.wall + entry.deadlineSeconds * 1_000 + horizonMs).toISOString();
    const next = entry.attempt < mostAttempts ? 'it is sent once more' : 'it is given up';
    const message = `${words}; if nothing shows that it was carried out by ${until}, ${next}`;
    return { is: 'wait', reason: 'InDoubt', message, retryInMs: recheckMs };
  }
  if (action === undefined || isMoot(pass, entry)) return { is: 'again', remember: { journal: undefined } };
  if (state !== 'Running' && state !== 'Stopped') {
    const message = `${words}; ${unknownState(state)}`;
    return { is: 'wait', reason: 'UnknownRemoteStatus', message, retryInMs: recheckMs };
  }
  if (entry.attempt < mostAttempts) return act(pass, item, action, entry.attempt + 1);
  return { is: 'again', remember: { ...givenUp(pass, entry), journal: undefined } };
}

/** The call that the journal speaks of, if it is still wanted. */
function actionOf(pass: EnvironmentPass, entry: JournalEntry, item: AppEnvItem): Action | undefined {
  if (entry.operation !== 'redeploy' && revisionOf(pass.spec) === undefined) return undefined;
  const action = (entry.operation === 'redeploy' ? redeployment : deployment)(pass, item.appEnvId);
  return action.operation === entry.operation && action.digest === entry.digest ? action : undefined;
}

/** Whether something else comes first: the environment is to be stopped, or a deployment takes the place of a redeployment. */
function isMoot(pass: EnvironmentPass, { operation }: JournalEntry): boolean {
  return pass.spec.powerState === 'Stopped' || (operation === 'redeploy' && dueOf(pass) === 'deployment');
}

/** Whether the environment changed since the call was begun; a list from before does not count, whenever it was read. */
function isEvidence(entry: JournalEntry, item: AppEnvItem, skewMs: number): boolean {
  const { before = '' } = entry;
  if (markOf(item) === before) return false;
  if (item.updatedAtMs === undefined) return true;
  const startedAtMs = Date.parse(entry.startedAt) + skewMs;
  const [updatedBefore] = before.split(' ', 1);
  return String(item.updatedAtMs) !== updatedBefore && item.updatedAtMs >= startedAtMs - clockSlackMs;
}
