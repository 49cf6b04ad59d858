/**
 * Decides what is deployed to an environment: when a deployment is due, which request deploys it, and what happens if
 * the outcome of a request is unknown.
 *
 * Guarantees: each revision in the spec is deployed once, unless an annotation asks for a repetition. The operator does
 * not repeat a deployment that the service reported as failed. Variables, settings and the startup override are sent
 * with the requests that accept them. If the outcome of a request is unknown, the operator reads the environment to
 * find the effect of the request before it sends the request a second time. There is no third time.
 *
 * Why: docs/design/deployments.md#environments and
 * docs/design/deployments.md#after-a-lost-answer-updatedat-shows-whether-the-deployment-was-carried-out
 */
import { definedIn, stated } from '../../base/json.ts';
import { isoSeconds } from '../../base/time.ts';
import { isNo, type JournalEntry, type Memory, type Refusal, type Verdict } from '../../engine/kind/contract/step.ts';
import { notDone } from '../../engine/kind/planner/compare.ts';
import { doubtPauseMs, overAt, readOf, takingOver } from '../../engine/kind/planner/observe.ts';
import type { Request } from '../../engine/ports.ts';
import {
  deployedContentIdOf,
  isUnderWay,
  lifecycleAnswerOf,
  postAppEnvBuild,
  postAppEnvDeployImage,
  postAppEnvRedeploy,
  postAppEnvRollback,
  rollbackInfoOf,
  type AppEnvItem,
} from '../../hosting/requests.ts';
import { awaitDoubts, boundToEnvironment } from '../shared/others-in-doubt.ts';
import { listOf, type EnvironmentPass, type EnvironmentStep } from './binding.ts';
import {
  appliedAfterFailure,
  appliedBy,
  appliedInFlight,
  appliedOvertaken,
  askedBy,
  assumedFingerprints,
  carriedBy,
  deployValue,
  endOf,
  failedBefore,
  isDeployed,
  isKnown,
  isStartupLeft,
  partsOf,
  lostAtMs,
  recordEnd,
  revisionOf,
  tokenOf,
  type AskedCall,
  type CallEnd,
} from './parts.ts';
import type { AppEnvironmentFacts } from './schema.ts';

/** The stored status fields that one step of an AppEnvironment's reconcile changes. */
type Remembered = Partial<Memory<AppEnvironmentFacts>>;

const most = 10;

/** A call that must not happen twice, and what to record in status after the call. */
export interface DeploymentAction {
  readonly operation: 'deploy-image' | 'build' | 'rollback' | AskedCall;
  readonly words: string;
  readonly request: Request;
  /** The fingerprint of the call. A later reconcile compares it to tell whether the spec still asks for the same call. */
  readonly fingerprint: string;
  /** Names of the fields that the call sends and the service never shows. Status keeps fingerprints of their values. */
  readonly carries: readonly string[];
  readonly done: (how: Done) => Remembered;
}

/**
 * Data about a call that was carried out. `body` is the body of the response; it is absent if only a read showed that
 * the call was carried out.
 */
interface Done {
  readonly body?: unknown;
  /**
   * When the operator decided to make the call, by its own clock. If the operator makes no call because status already
   * records how identical calls ended, this is the time when it uses that record.
   */
  readonly atMs: number;
  readonly attempt: number;
}

/** Decides what is due now: a deployment, a change that waits for the next build, or nothing. */
export function dueOf(pass: EnvironmentPass): 'deployment' | 'withNextBuild' | 'nothing' {
  const { deploy } = pass.spec;
  if (revisionOf(pass.spec) === undefined || isFailed(pass)) return 'nothing';
  const { contentId } = pass.memory.facts.deploy ?? {};
  if (deploy?.rollbackContentId !== undefined) {
    // The service refuses to roll back to the running version. So while that version runs, no deployment is due.
    return deploy.rollbackContentId === contentId || isDeployed(pass, deploy.onBind !== 'Deploy')
      ? 'nothing'
      : 'deployment';
  }
  // The content that already ran when the resource was bound to the environment counts as deployed, unless `onBind` is
  // Deploy or an annotation asks for a deployment.
  const mayAssume = deploy?.onBind !== 'Deploy' && !isDue(pass, 'redeploy');
  if (!isDeployed(pass, mayAssume)) return 'deployment';
  const unknown = Object.entries(partsOf(pass)).some(([field, value]) => !isKnown(pass, field, value, mayAssume));
  if (!unknown && !isStartupLeft(pass)) return 'nothing';
  return deploy?.build === undefined ? 'deployment' : 'withNextBuild';
}

/**
 * True if an earlier deployment to the environment succeeded. If such an environment is stopped now, somebody stopped it on
 * purpose.
 */
export function wasDeployed({ deploy, history = [] }: AppEnvironmentFacts): boolean {
  const outcomes = [deploy, ...history].map((entry) => entry?.outcome);
  return outcomes.some((outcome) => outcome !== undefined && outcome !== 'Failed' && outcome !== 'InDoubt');
}

/** True if the deployment that the spec asks for failed, and no annotation asks to repeat it. */
export function isFailed(pass: EnvironmentPass): boolean {
  return failedBefore(pass) && !isDue(pass, 'redeploy');
}

/**
 * Records the spec as deployed without sending it, because the environment already ran when the resource was bound to
 * it.
 */
export function assume(pass: EnvironmentPass): Remembered {
  const { spec, memory, subject } = pass;
  const revision = revisionOf(spec);
  return {
    applied: { generation: subject.generation, fingerprints: assumedFingerprints(pass) },
    facts: {
      ...memory.facts,
      ...(revision !== undefined && { deploy: { revision, outcome: 'Assumed' } }),
      ...handled(pass),
    },
  };
}

/**
 * Records that a deployment was carried out although the spec no longer asks for it. The deployment that the spec asks for now
 * becomes due.
 */
function overtaken(pass: EnvironmentPass): Remembered {
  const { facts } = pass.memory;
  const { contentId: _replaced, ...deploy } = facts.deploy ?? {};
  return { applied: appliedOvertaken(pass), ...(facts.deploy !== undefined && { facts: { ...facts, deploy } }) };
}

/** Builds the call for spec.deploy: deploy the image, start a build, or roll back to the content version. */
export function deployment(pass: EnvironmentPass, appEnvId: string): DeploymentAction {
  const { deploy } = pass.spec;
  const wanted = partsOf(pass);
  // The fingerprint of the call includes the value of the redeploy annotation. So a new value makes the deployment a
  // new call, which is sent even after the operator has stopped trying the earlier one.
  const token = isDue(pass, 'redeploy') ? (tokenOf(pass, 'redeploy') ?? '') : '';
  const fingerprint = pass.fingerprint([deployValue(pass.spec), wanted, isStartupLeft(pass), token]);
  const common = { fingerprint, carries: carriedBy(pass), done: (how: Done) => deployed(pass, how) };
  if (deploy?.image !== undefined) {
    const { image } = deploy;
    const request = postAppEnvDeployImage({ appEnvId, image, ...carriedFields(pass) });
    return { operation: 'deploy-image', words: `deploy image ${image}`, request, ...common };
  }
  if (deploy?.build !== undefined) {
    const { revision, forceNewBuild, rebuild, fromContentId } = deploy.build;
    const isRebuild = rebuild === true || fromContentId !== undefined ? true : undefined;
    const request = postAppEnvBuild({
      appEnvId,
      ...definedIn({ forceNewBuild, isRebuild, fromContentId }),
      ...carriedFields(pass),
    });
    return { operation: 'build', words: `build revision ${revision}`, request, ...common };
  }
  const targetContentId = deploy?.rollbackContentId ?? '';
  const request = postAppEnvRollback({ appEnvId, targetContentId });
  return { operation: 'rollback', words: `roll back to content version ${targetContentId}`, request, ...common };
}

/** Builds the call that an annotation asks for: a redeployment or a rollback. */
export function askedFor(pass: EnvironmentPass, asked: AskedCall, appEnvId: string): DeploymentAction {
  const token = tokenOf(pass, asked) ?? '';
  // Redeploy the content version in spec.deploy.rollbackContentId, or the running version if the spec names none.
  const { rollbackContentId: contentId } = pass.spec.deploy ?? {};
  const request =
    asked === 'redeploy'
      ? postAppEnvRedeploy({ appEnvId, ...(contentId !== undefined && { contentId }) })
      : postAppEnvRollback({ appEnvId });
  const words = asked === 'redeploy' ? 'redeploy' : 'roll back to the previous version';
  return {
    operation: asked,
    words: `${words} (annotation ${askedBy[asked]}: ${token})`,
    request,
    fingerprint: pass.fingerprint(contentId === undefined ? token : [token, contentId]),
    carries: [],
    done: (how) => {
      if (saysFailed(how.body)) return recordFailure(pass, asked, 'Failed');
      const facts = asked === 'redeploy' ? pass.memory.facts : rolledBack(pass, how);
      return { facts: { ...facts, ...took(pass, how, false), [handledFields[asked]]: token } };
    },
  };
}

/**
 * Records the failure of a call that an annotation asked for. The call is not repeated as long as the annotation keeps its
 * value.
 */
function recordFailure(pass: EnvironmentPass, asked: AskedCall, how: CallEnd): Remembered {
  return { applied: recordEnd(pass.memory.applied, asked, pass.fingerprint(tokenOf(pass, asked) ?? ''), how) };
}

/** Returns the status fields to write after a rollback to the previous version. */
function rolledBack(pass: EnvironmentPass, how: Done): AppEnvironmentFacts {
  const { contentId, fromVersion, toVersion } = rollbackInfoOf(how.body) ?? {};
  const before = pass.memory.facts.history?.find((entry) => contentId !== undefined && entry.contentId === contentId);
  const entry = { revision: before?.revision ?? contentId, contentId, outcome: 'Updating' };
  return recorded(pass, how, entry, { fromVersion, toVersion, besideSpec: true });
}

/** True if the annotation asks for a call that has neither succeeded nor failed yet. */
export function isDue(pass: EnvironmentPass, asked: AskedCall): boolean {
  return openToken(pass, asked) !== undefined && endedWithoutEffect(pass, asked) === undefined;
}

/**
 * Returns how the call that the annotation asks for has failed; undefined if the call has not failed. A new value of
 * the annotation asks for a new call.
 */
export function endedWithoutEffect(pass: EnvironmentPass, asked: AskedCall): CallEnd | undefined {
  const token = openToken(pass, asked);
  return token === undefined ? undefined : endOf(pass, asked, pass.fingerprint(token));
}

const handledFields = { redeploy: 'lastHandledRedeployAt', rollBack: 'lastHandledRollBackAt' } as const;

function openToken(pass: EnvironmentPass, asked: AskedCall): string | undefined {
  const token = tokenOf(pass, asked);
  return token === '' || token === pass.memory.facts[handledFields[asked]] ? undefined : token;
}

/**
 * Records the current values of the redeploy and rollback annotations as handled, because a deployment of the spec replaces
 * the calls that these annotations ask for.
 */
function handled(pass: EnvironmentPass): AppEnvironmentFacts {
  const [lastHandledRedeployAt, lastHandledRollBackAt] = [tokenOf(pass, 'redeploy'), tokenOf(pass, 'rollBack')];
  return definedIn({ lastHandledRedeployAt, lastHandledRollBackAt });
}

/**
 * Returns the request fields for variables, settings and the startup override. If the spec no longer has a startup
 * override, the request tells the service to clear it.
 */
function carriedFields(pass: EnvironmentPass) {
  const carried = carriedBy(pass);
  const parts = Object.entries(partsOf(pass)).filter(([field]) => carried.includes(field));
  const under = (prefix: string) => {
    const rows = parts.filter(([field]) => field.startsWith(prefix));
    return stated(Object.fromEntries(rows.map(([field, value]) => [field.slice(prefix.length), value])));
  };
  const { startupConfig } = pass.spec;
  const startup =
    startupConfig === undefined
      ? { clearStartupConfig: true }
      : { startupConfig: definedIn(startupConfig), replaceStartupConfig: true };
  return definedIn({
    envVars: under('env.') as Record<string, string> | undefined,
    functionConfig: under('functionConfig.'),
    ...(carried.includes('startupConfig') && startup),
  });
}

/** True if the service's response reports that the call failed, although its HTTP status reports success. */
function saysFailed(body: unknown): boolean {
  return lifecycleAnswerOf(body)?.success === false;
}

function deployed(pass: EnvironmentPass, how: Done): Remembered {
  const { spec } = pass;
  const { contentId: target, ...versions } = rollbackInfoOf(how.body) ?? {};
  const failed = saysFailed(how.body);
  const entry = {
    revision: revisionOf(spec),
    contentId: deployedContentIdOf(how.body) ?? target ?? (failed ? undefined : spec.deploy?.rollbackContentId),
    outcome: failed ? 'Failed' : 'Updating',
  };
  return {
    applied: failed ? appliedAfterFailure(pass) : appliedBy(pass),
    facts: {
      ...recorded(pass, how, entry, stated(versions)),
      ...(!failed && took(pass, how, isFromApp(spec))),
      ...handled(pass),
    },
  };
}

/** True if a deployment builds a new version from the app as configured now. A rebuild or a rollback repeats an earlier version. */
function isFromApp({ deploy }: EnvironmentPass['spec']): boolean {
  const { rebuild = false, fromContentId } = deploy?.build ?? {};
  return deploy?.rollbackContentId === undefined && !rebuild && fromContentId === undefined;
}

/**
 * Records that the environment now runs with the current settings of its app. If it runs a new content version, this
 * includes the app's image and build settings.
 */
function took({ memory }: EnvironmentPass, how: Pick<Done, 'atMs'>, isNewVersion: boolean): AppEnvironmentFacts {
  const atMs = Math.floor(how.atMs);
  return { tookChanges: { ...memory.facts.tookChanges, settingsMs: atMs, ...(isNewVersion && { versionMs: atMs }) } };
}

/** Records that the environment was started. Like a redeployment, a start applies changed settings of the app. */
export function started(pass: EnvironmentPass, body: unknown): Remembered {
  if (saysFailed(body)) return {};
  return { facts: { ...pass.memory.facts, ...took(pass, { atMs: pass.wallMs }, false) } };
}

/**
 * Returns what to record in status when the operator stops trying a call. The outcome of every attempt is unknown, and
 * no read shows an effect of the call.
 */
function givenUp(pass: EnvironmentPass, { operation }: DeploymentAction, how: Done): Remembered {
  if (isAsked(operation)) return recordFailure(pass, operation, 'InDoubt');
  const entry = { revision: revisionOf(pass.spec), contentId: undefined, outcome: 'InDoubt' };
  return { applied: appliedAfterFailure(pass), facts: { ...recorded(pass, how, entry), ...handled(pass) } };
}

/**
 * Returns the status fields after recording a new deployment. It becomes the newest deployment, and the first one in
 * the history.
 */
function recorded(
  { memory: { facts } }: EnvironmentPass,
  { atMs, attempt }: Done,
  { revision, contentId, outcome }: NonNullable<AppEnvironmentFacts['history']>[number],
  rollback?: NonNullable<AppEnvironmentFacts['deploy']>['rollback'],
): AppEnvironmentFacts {
  const entry = { revision, contentId, sentTime: isoSeconds(atMs), outcome };
  const deploy = { ...entry, repeatedAfterDoubt: attempt > 1 ? attempt - 1 : undefined, rollback };
  return { ...facts, deploy, history: [entry, ...(facts.history ?? [])].slice(0, most) };
}

const clockSlackMs = 2_000;
const mostAttempts = 2;

/**
 * Returns a string made of the status and update time of an environment. If a later read gives a different string, the
 * environment has changed.
 */
function statusAndTime({ status = '', updatedAtMs }: AppEnvItem): string {
  return `${updatedAtMs ?? ''} ${status.slice(0, 64)}`;
}

/**
 * Reads a fresh list of environments, and then sends the call. Does not send it if status records that an identical
 * call was found to be carried out, or that two identical calls with unknown outcomes had no visible effect.
 */
export function act(pass: EnvironmentPass, item: AppEnvItem, action: DeploymentAction): EnvironmentStep {
  const { operation, words: task, request, fingerprint, done, carries } = action;
  const loss = endOf(pass, 'lost', fingerprint);
  const { wallMs: atMs } = pass;
  if (loss === 'carriedOut') return { is: 'again', remember: done({ atMs: lostAtMs(pass), attempt: 1 }) };
  if (loss === 'twice')
    return { is: 'again', remember: givenUp(pass, action, { atMs: lostAtMs(pass), attempt: mostAttempts }) };
  const attempt = loss === 'once' ? 2 : 1;
  const list = listOf(pass);
  const snapshot = pass.view.one(list, item.appEnvId)?.snapshot;
  if (snapshot === undefined || snapshot.begunAt < pass.askedAt) return readOf(pass, list, pass.askedAt);
  const waits = takingOver(pass, `the call to ${task} waits`) ?? besideOthers(pass, item);
  if (waits !== undefined) return waits;
  const { updatedAtMs } = item;
  return {
    is: 'call',
    call: {
      request,
      words: `${task} in environment "${item.name}"`,
      urgency: 'edit',
      journal: { operation, attempt, digest: fingerprint, before: statusAndTime(item) },
      whileInFlight: { applied: appliedInFlight(pass, carries) },
      alone: [item.appEnvId],
      committed: (body) => (lifecycleAnswerOf(body) === undefined ? undefined : done({ body, atMs, attempt })),
      note: (at) => ({ environmentCalled: { at, updatedAtBefore: updatedAtMs } }),
      refused: (refusal) => refusedAs(pass, item, action, refusal),
    },
  };
}

/**
 * Stalls if the service refuses a deployment. But if the environment is stopped and should run, the operator first
 * starts it with its current content, provided that it can be started.
 */
function refusedAs(
  pass: EnvironmentPass,
  item: AppEnvItem,
  { operation, words: task }: DeploymentAction,
  refusal: Refusal,
): Verdict<AppEnvironmentFacts> | undefined {
  const isRollback = operation === 'rollback' || operation === 'rollBack';
  if (operation === 'redeploy' || !(isRollback ? isNo(refusal) : refusal.is === 'refused')) return undefined;
  const what = isRollback ? task : `${task} in environment "${item.name}"`;
  const said = {
    reason: isRollback ? 'RollbackRefused' : 'Rejected',
    message: `${what}: ${refusal.message}`,
    note: { ...pass.notes, deployRefusedIn: pass.subject.generation },
  } as const;
  const starts = pass.spec.powerState === 'Running' && stateOf(item) === 'Stopped' && isStartable(pass);
  // If the service refused the call because of a conflict, an earlier try of the same call may have had an effect. So
  // do not start the environment before a read shows whether there was an effect.
  return starts && refusal.is !== 'conflict' ? { ...said, is: 'wait', retryInMs: 1_000 } : { ...said, is: 'stall' };
}

/**
 * True if the service refused the deployment in the spec, and the environment can be started with its current content
 * instead.
 */
export function startsWithout(pass: EnvironmentPass): boolean {
  return pass.notes.deployRefusedIn === pass.subject.generation && isStartable(pass);
}

/**
 * True if the environment can be started. The service requires that it was deployed before: an earlier deployment
 * succeeded, or the spec names an earlier version to roll back to.
 */
function isStartable({ spec, memory }: EnvironmentPass): boolean {
  return wasDeployed(memory.facts) || spec.deploy?.rollbackContentId !== undefined;
}

/**
 * Waits while another resource does not know whether its call to this environment took effect. That resource is the
 * SolutionInstallation of the app, or an AppEnvironment that was bound to this environment before. The AppEnvironment
 * could mistake a change by this resource for the effect of its call.
 */
export function besideOthers(pass: EnvironmentPass, { appEnvId, appId }: AppEnvItem): EnvironmentStep | undefined {
  const others = [...boundToEnvironment(pass, appEnvId), ...(pass.related?.('SolutionInstallation', appId) ?? [])];
  return awaitDoubts(pass, others, 'nothing is sent to the environment');
}

/** True while the service still shows the environment as it was before our call. */
export function isLagging(pass: EnvironmentPass, { status, updatedAtMs }: AppEnvItem): boolean {
  const { at, updatedAtBefore } = pass.notes.environmentCalled ?? {};
  if (at === undefined || updatedAtMs === undefined || isUnderWay(status)) return false;
  return updatedAtMs === updatedAtBefore && pass.monotonicMs - at < pass.horizonMs;
}

/**
 * Translates the environment's status in the service to Running, Stopped or Updating. An unknown status is returned unchanged.
 */
export function stateOf({ status = '' }: AppEnvItem): string {
  const word = status.trim().toLowerCase();
  if (word === 'running') return 'Running';
  if (word === 'stopped') return 'Stopped';
  return isUnderWay(status) ? 'Updating' : status;
}

/**
 * While the outcome of the call in the journal is unknown, reads the environment to find out whether the call took effect.
 * The response may be lost, or the process may have died before or after it sent the call. If there is no effect by the time
 * when the call can no longer arrive, the operator assumes that the call was not carried out. Returns undefined if no call has
 * an unknown outcome, or if no list shows the environment.
 */
export function resolveDeployment(pass: EnvironmentPass): EnvironmentStep | undefined {
  const { memory, monotonicMs, wallMs } = pass;
  const { id, journal: entry } = memory;
  if (id === undefined || entry === undefined) return undefined;
  const { item, snapshot } = pass.view.one(listOf(pass), id) ?? {};
  if (item === undefined || snapshot === undefined) return undefined;
  const { settledAt, since, inWords } = overAt(pass, entry);
  if (snapshot.begunAt < since) return readOf(pass, listOf(pass), since);
  const skewMs = snapshot.dateMs === undefined ? 0 : snapshot.dateMs - (wallMs - (monotonicMs - snapshot.begunAt));
  if (isEvidence(entry, item, skewMs)) return carriedOut(pass, entry, item);
  const isUpdating = stateOf(item) === 'Updating';
  if (entry.conflicted !== undefined || (!isUpdating && snapshot.begunAt >= settledAt)) {
    return { is: 'again', remember: notCarriedOut(pass, entry) };
  }
  const again = entry.attempt < mostAttempts ? 'sends the call again' : 'does not send the call again';
  const next = isUpdating
    ? 'waiting until the deployment of the environment has ended'
    : `if no effect of the call is visible by ${inWords}, the operator ${again}`;
  const message = `the outcome of the call "${entry.operation}" to environment "${item.name}" is not known; ${next}`;
  return { is: 'wait', reason: 'InDoubt', message, retryInMs: doubtPauseMs };
}

/** Records that a call with an unknown outcome had no effect, and cannot take effect any more. */
export function notCarriedOut(pass: EnvironmentPass, entry: JournalEntry): Remembered {
  // If the service refused the call because of a conflict, and no read shows an effect, the outcome is known. So only
  // remove the journal entry, and do not record the call as one with an unknown outcome.
  const { applied } = pass.memory;
  if (entry.conflicted !== undefined) return { journal: undefined, applied: notDone(applied) };
  const loss = entry.attempt < mostAttempts ? 'once' : 'twice';
  return { journal: undefined, applied: recordEnd(applied, 'lost', entry.digest, loss, entry.startedAt) };
}

/**
 * Records that a call with an unknown outcome was carried out. If the spec now asks for a different call, the record
 * stays, so that the call is not repeated when the spec asks for it again. A spec may do so, for example, when a
 * missing Secret is there again.
 */
function carriedOut(pass: EnvironmentPass, entry: JournalEntry, item: AppEnvItem): EnvironmentStep {
  const { attempt, digest, operation, startedAt } = entry;
  const done = actionOf(pass, entry, item)?.done({ atMs: Date.parse(startedAt), attempt });
  if (done !== undefined) return { is: 'again', remember: { ...done, journal: undefined }, note: {} };
  const unwanted = isAsked(operation) ? {} : overtaken(pass);
  const applied = recordEnd(unwanted.applied ?? pass.memory.applied, 'lost', digest, 'carriedOut', startedAt);
  return { is: 'again', remember: { ...unwanted, applied, journal: undefined }, note: {} };
}

/** Rebuilds the call that the journal entry in status records; returns undefined if the spec no longer asks for that call. */
function actionOf(pass: EnvironmentPass, entry: JournalEntry, item: AppEnvItem): DeploymentAction | undefined {
  const { operation } = entry;
  if (!isAsked(operation) && revisionOf(pass.spec) === undefined) return undefined;
  const { appEnvId } = item;
  const action = isAsked(operation) ? askedFor(pass, operation, appEnvId) : deployment(pass, appEnvId);
  return action.operation === entry.operation && action.fingerprint === entry.digest ? action : undefined;
}

function isAsked(operation: string): operation is AskedCall {
  return operation in askedBy;
}

/** True if the environment changed after the call in the journal entry was sent. */
function isEvidence(entry: JournalEntry, item: AppEnvItem, skewMs: number): boolean {
  const { before = '' } = entry;
  if (statusAndTime(item) === before) return false;
  if (item.updatedAtMs === undefined) return true;
  const startedAtMs = Date.parse(entry.startedAt) + skewMs;
  const [updatedBefore] = before.split(' ', 1);
  return String(item.updatedAtMs) !== updatedBefore && item.updatedAtMs >= startedAtMs - clockSlackMs;
}
