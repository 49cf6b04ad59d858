/**
 * What is deployed to an environment: when a deployment is due, and which call makes it.
 *
 * Guarantees: each desired revision is sent once, and what the service called failed is not sent again by itself; variables,
 * settings and the startup override travel with the call that takes them.
 *
 * Why: docs/design/deployments.md#environments
 */
import { isoSeconds } from '../../base/time.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import type { Memory } from '../../engine/kind/contract/step.ts';
import type { Request } from '../../engine/ports.ts';
import {
  deployedContentIdOf,
  lifecycleAnswerOf,
  postAppEnvBuild,
  postAppEnvDeployImage,
  postAppEnvRedeploy,
  postAppEnvRollback,
  rollbackInfoOf,
  type StartupConfig,
} from '../../hosting/requests.ts';
import type { EnvironmentPass } from './binding.ts';
import {
  appliedBy,
  appliedInVain,
  appliedOvertaken,
  appliedWithoutAsked,
  askedBy,
  askedInVain,
  assumedPrints,
  carriedBy,
  deployValue,
  isDeployed,
  isInVain,
  isKnown,
  isStartupLeft,
  partsOf,
  revisionOf,
  startupOf,
  tokenOf,
  type AskedCall,
  type InVain,
} from './parts.ts';
import type { AppEnvironmentFacts } from './schema.ts';

const most = 10;

/** A call that must not happen twice, and what to remember when it was carried out. */
export interface DeploymentAction {
  readonly operation: 'deploy-image' | 'build' | 'rollback' | AskedCall;
  readonly words: string;
  readonly request: Request;
  /** The fingerprint of the wanted call, so that a later pass can tell whether it is still wanted. */
  readonly digest: string;
  /** Fields that are sent with it and never shown back. */
  readonly carries: readonly string[];
  readonly done: (how: Done) => Partial<Memory<AppEnvironmentFacts>>;
}

/** A call that was carried out; without a body if its answer was lost. */
export interface Done {
  readonly body?: unknown;
  /** When it was decided, by our clock. */
  readonly atMs: number;
  readonly attempt: number;
}

/** The next thing due: a deployment now, a change that goes with the next build, or nothing. */
export function dueOf(pass: EnvironmentPass): 'deployment' | 'withNextBuild' | 'nothing' {
  const { deploy } = pass.spec;
  if (revisionOf(pass.spec) === undefined || isFailed(pass)) return 'nothing';
  const { contentId } = pass.memory.facts.deploy ?? {};
  if (deploy?.rollbackContentId !== undefined) {
    // The service refuses to roll back to the running version, so redeploy it.
    return deploy.rollbackContentId === contentId || isDeployed(pass, deploy.onBind !== 'Deploy')
      ? 'nothing'
      : 'deployment';
  }
  // Content that already ran when the environment was bound counts as deployed until somebody asks for a deployment.
  const mayAssume = deploy?.onBind !== 'Deploy' && !isDue(pass, 'redeploy');
  if (!isDeployed(pass, mayAssume)) return 'deployment';
  const unknown = Object.entries(partsOf(pass)).some(([field, value]) => !isKnown(pass, field, value, mayAssume));
  if (!unknown && !isStartupLeft(pass)) return 'nothing';
  return deploy?.build === undefined ? 'deployment' : 'withNextBuild';
}

/** True if a deployment succeeded before: an environment that is stopped now was stopped on purpose. */
export function wasDeployed({ deploy, history = [] }: AppEnvironmentFacts): boolean {
  const outcomes = [deploy, ...history].map((entry) => entry?.outcome);
  return outcomes.some((outcome) => outcome !== undefined && outcome !== 'Failed' && outcome !== 'InDoubt');
}

/** True if the wanted deployment failed and was not asked for again. */
export function isFailed(pass: EnvironmentPass): boolean {
  return isInVain(pass) && !isDue(pass, 'redeploy');
}

/** Records the spec as deployed, for an environment that already ran when it was bound. */
export function assume(pass: EnvironmentPass): Partial<Memory<AppEnvironmentFacts>> {
  const { spec, memory, subject } = pass;
  const revision = revisionOf(spec);
  return {
    applied: { generation: subject.generation, prints: assumedPrints(pass) },
    facts: {
      ...memory.facts,
      ...(revision !== undefined && { deploy: { revision, outcome: 'Assumed' } }),
      ...handled(pass),
    },
  };
}

/** A deployment was carried out that the spec no longer wants: the wanted one is due. */
export function overtaken(pass: EnvironmentPass): Partial<Memory<AppEnvironmentFacts>> {
  const { facts } = pass.memory;
  const { contentId: _replaced, ...deploy } = facts.deploy ?? {};
  return { applied: appliedOvertaken(pass), ...(facts.deploy !== undefined && { facts: { ...facts, deploy } }) };
}

/** The deployment that the spec wants. */
export function deployment(pass: EnvironmentPass, appEnvId: string): DeploymentAction {
  const { deploy } = pass.spec;
  const wanted = partsOf(pass);
  // A new token of the annotation asks again, also for what was given up.
  const token = isDue(pass, 'redeploy') ? (tokenOf(pass, 'redeploy') ?? '') : '';
  const digest = pass.print([deployValue(pass.spec), wanted, isStartupLeft(pass), token]);
  const common = { digest, carries: carriedBy(pass), done: (how: Done) => deployed(pass, how) };
  if (deploy?.image !== undefined) {
    const { image } = deploy;
    const request = postAppEnvDeployImage({ appEnvId, image, ...unsent(pass), ...startupFields(pass) });
    return { operation: 'deploy-image', words: `deploy image ${image}`, request, ...common };
  }
  if (deploy?.build !== undefined) {
    const { revision, forceNewBuild, rebuild, fromContentId } = deploy.build;
    const request = postAppEnvBuild({
      appEnvId,
      ...(forceNewBuild !== undefined && { forceNewBuild }),
      ...((rebuild === true || fromContentId !== undefined) && { isRebuild: true }),
      ...(fromContentId !== undefined && { fromContentId }),
      ...startupFields(pass),
    });
    return { operation: 'build', words: `build revision ${revision}`, request, ...common };
  }
  const targetContentId = deploy?.rollbackContentId ?? '';
  const request = postAppEnvRollback({ appEnvId, targetContentId });
  return { operation: 'rollback', words: `roll back to ${targetContentId}`, request, ...common };
}

/** The call that an annotation asks for. */
export function askedFor(pass: EnvironmentPass, asked: AskedCall, appEnvId: string): DeploymentAction {
  const token = tokenOf(pass, asked) ?? '';
  // Of a content version that the spec names, that one is deployed again; else what runs.
  const { rollbackContentId: contentId } = pass.spec.deploy ?? {};
  const request =
    asked === 'redeploy'
      ? postAppEnvRedeploy({ appEnvId, ...(contentId !== undefined && { contentId }) })
      : postAppEnvRollback({ appEnvId });
  const words = asked === 'redeploy' ? 'redeploy' : 'roll back to the version before,';
  return {
    operation: asked,
    words: `${words} for ${askedBy[asked]}: ${token}`,
    request,
    digest: pass.print(contentId === undefined ? token : [token, contentId]),
    carries: [],
    done: (how) => {
      if (saysFailed(how.body)) return { applied: appliedWithoutAsked(pass, asked, token, 'Failed') };
      const facts = asked === 'redeploy' ? pass.memory.facts : rolledBack(pass, how);
      return { facts: { ...facts, ...took(pass, how, false), [handledFields[asked]]: token } };
    },
  };
}

/** The facts after a roll-back to whatever ran before. */
function rolledBack(pass: EnvironmentPass, { body, atMs, attempt }: Done): AppEnvironmentFacts {
  const info = rollbackInfoOf(body);
  const { contentId } = info ?? {};
  const before = pass.memory.facts.history?.find((entry) => contentId !== undefined && entry.contentId === contentId);
  const entry = { revision: before?.revision ?? contentId, contentId, sentTime: isoSeconds(atMs), outcome: 'Updating' };
  const rollback = { fromVersion: info?.fromVersion, toVersion: info?.toVersion, besideSpec: true };
  return recorded(pass, entry, attempt, { rollback });
}

/** True if the annotation has a token that was not handled yet. */
export function isDue(pass: EnvironmentPass, asked: AskedCall): boolean {
  const token = openToken(pass, asked);
  return token !== undefined && askedInVain(pass, asked, token) === undefined;
}

/** How the call failed that the current token asks for; undefined if it did not. */
export function inVain(pass: EnvironmentPass, asked: AskedCall): InVain | undefined {
  const token = openToken(pass, asked);
  return token === undefined ? undefined : askedInVain(pass, asked, token);
}

const handledFields = { redeploy: 'lastHandledRedeployAt', rollBack: 'lastHandledRollBackAt' } as const;

function openToken(pass: EnvironmentPass, asked: AskedCall): string | undefined {
  const token = tokenOf(pass, asked);
  return token === '' || token === pass.memory.facts[handledFields[asked]] ? undefined : token;
}

/** A deployment of what the spec says takes the place of what annotations ask for. */
function handled(pass: EnvironmentPass): AppEnvironmentFacts {
  const [redeploy, rollBack] = [tokenOf(pass, 'redeploy'), tokenOf(pass, 'rollBack')];
  return {
    ...(redeploy !== undefined && { lastHandledRedeployAt: redeploy }),
    ...(rollBack !== undefined && { lastHandledRollBackAt: rollBack }),
  };
}

/** The variables and settings that were not sent yet. */
function unsent(pass: EnvironmentPass): { envVars?: Record<string, string>; functionConfig?: JsonObject } {
  const carried = carriedBy(pass);
  const under = (prefix: string): Record<string, Json> =>
    Object.fromEntries(
      Object.entries(partsOf(pass))
        .filter(([field]) => field.startsWith(prefix) && carried.includes(field))
        .map(([field, value]) => [field.slice(prefix.length), value]),
    );
  const envVars = under('env.') as Record<string, string>;
  const functionConfig = under('functionConfig.');
  return {
    ...(Object.keys(envVars).length > 0 && { envVars }),
    ...(Object.keys(functionConfig).length > 0 && { functionConfig }),
  };
}

/** The startup override of the spec, or a request to clear one that we set and the spec no longer has. */
function startupFields(pass: EnvironmentPass): {
  startupConfig?: StartupConfig;
  replaceStartupConfig?: boolean;
  clearStartupConfig?: boolean;
} {
  const { startupConfig } = pass.spec;
  if (!carriedBy(pass).includes('startupConfig')) return {};
  return startupConfig === undefined
    ? { clearStartupConfig: true }
    : { startupConfig: startupOf(startupConfig), replaceStartupConfig: true };
}

/** True if the answer says that the accepted call failed. */
function saysFailed(body: unknown): boolean {
  return lifecycleAnswerOf(body)?.success === false;
}

function deployed(pass: EnvironmentPass, how: Done): Partial<Memory<AppEnvironmentFacts>> {
  const { spec } = pass;
  const { body, atMs, attempt } = how;
  const rollback = body === undefined ? undefined : rollbackInfoOf(body);
  const shown = body === undefined ? undefined : deployedContentIdOf(body);
  const failed = saysFailed(body);
  const entry = {
    revision: revisionOf(spec),
    contentId: shown ?? rollback?.contentId ?? (failed ? undefined : spec.deploy?.rollbackContentId),
    sentTime: isoSeconds(atMs),
    outcome: failed ? 'Failed' : 'Updating',
  };
  const versions = rollback && { rollback: { fromVersion: rollback.fromVersion, toVersion: rollback.toVersion } };
  return {
    applied: failed ? appliedInVain(pass) : appliedBy(pass),
    facts: {
      ...recorded(pass, entry, attempt, versions),
      ...(!failed && took(pass, how, isFromApp(spec))),
      ...handled(pass),
    },
  };
}

/** True where a version is made as the app says now: a rebuild repeats an earlier one. */
function isFromApp({ deploy }: EnvironmentPass['spec']): boolean {
  const { rebuild = false, fromContentId } = deploy?.build ?? {};
  return deploy?.rollbackContentId === undefined && !rebuild && fromContentId === undefined;
}

/** Records that the environment takes what was changed in its app; how a version is made, only with a new one. */
function took({ memory }: EnvironmentPass, how: Pick<Done, 'atMs'>, isNewVersion: boolean): AppEnvironmentFacts {
  const atMs = Math.floor(how.atMs);
  return { tookChanges: { ...memory.facts.tookChanges, settingsMs: atMs, ...(isNewVersion && { versionMs: atMs }) } };
}

/** What to remember of a start that was carried out: it runs the current version anew, like a redeployment. */
export function started(pass: EnvironmentPass, body: unknown): Partial<Memory<AppEnvironmentFacts>> {
  if (saysFailed(body)) return {};
  return { facts: { ...pass.memory.facts, ...took(pass, { atMs: pass.wallMs }, false) } };
}

/** Gives up a call whose answers were all lost and whose effect does not show. */
export function givenUp(
  pass: EnvironmentPass,
  { operation }: DeploymentAction,
  { atMs, attempt }: Pick<Done, 'atMs' | 'attempt'>,
): Partial<Memory<AppEnvironmentFacts>> {
  if (operation === 'redeploy' || operation === 'rollBack') {
    return { applied: appliedWithoutAsked(pass, operation, tokenOf(pass, operation) ?? '', 'InDoubt') };
  }
  const entry = {
    revision: revisionOf(pass.spec),
    contentId: undefined,
    sentTime: isoSeconds(atMs),
    outcome: 'InDoubt',
  };
  return {
    applied: appliedInVain(pass),
    facts: { ...recorded(pass, entry, attempt, undefined), ...handled(pass) },
  };
}

/** A deployment as status shows it. */
function recorded(
  { memory: { facts } }: EnvironmentPass,
  entry: NonNullable<AppEnvironmentFacts['history']>[number],
  attempt: number,
  versions: Pick<NonNullable<AppEnvironmentFacts['deploy']>, 'rollback'> | undefined,
): AppEnvironmentFacts {
  const deploy = { ...entry, ...(attempt > 1 && { repeatedAfterDoubt: attempt - 1 }), ...versions };
  return { ...facts, deploy, history: [entry, ...(facts.history ?? [])].slice(0, most) };
}
