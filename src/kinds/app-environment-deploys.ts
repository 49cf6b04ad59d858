/**
 * What is deployed to an environment: when a deployment is due, which call makes it, and what became of one in doubt.
 *
 * Guarantees: each desired revision is sent once; an answer that was lost is looked for by what the environment shows, and
 * the call is repeated at most once; variables, settings and the startup override travel with the call that takes them and
 * are remembered as fingerprints only after they were sent.
 */
import { definedOf } from '../engine/kind/create.ts';
import { stateOfHidden } from '../engine/kind/compare.ts';
import type { Memory } from '../engine/kind/step.ts';
import type { Json, JsonObject, Request } from '../engine/ports.ts';
import {
  deployedContentIdOf,
  lifecycleAnswerOf,
  postAppEnvBuild,
  postAppEnvDeployImage,
  postAppEnvRedeploy,
  postAppEnvRollback,
  rollbackInfoOf,
  type StartupConfig,
} from '../hosting/requests.ts';
import type { EnvironmentPass } from './app-environment-binding.ts';
import type { Facts, Spec } from './schema/app-environment.ts';
import { valueOf } from './values.ts';

/** The annotation that deploys again what runs, once for each token. */
export const redeployAnnotation = 'apphosting.dev/redeploy-at';

/** Marks the fingerprint of what was taken as it was and never sent. */
const assumed = '~';
const most = 10;
/** A status holds 600 fingerprints; what is wanted must be among them. */
const mostPrints = 590;

/** A call that must not happen twice, and what to remember when it was carried out. */
export interface Action {
  readonly operation: 'deploy-image' | 'build' | 'rollback' | 'redeploy';
  readonly words: string;
  readonly request: Request;
  /** The fingerprint of what is wanted, by which a later pass knows whether it still is. */
  readonly digest: string;
  readonly done: (how: Done) => Partial<Memory<Facts>>;
}

/** What is known of a call that was carried out; no body where its answer was lost. */
export interface Done {
  readonly body?: unknown;
  readonly at: string;
  readonly attempt: number;
}

/** What the spec wants deployed, as people know it. */
export function revisionOf({ deploy }: Spec): string | undefined {
  return deploy?.image ?? deploy?.build?.revision ?? deploy?.contentId;
}

/** Which deployment it is, whatever travels with it. */
function deployValue({ deploy }: Spec): Json {
  if (deploy?.image !== undefined) return { image: deploy.image };
  if (deploy?.build !== undefined) return { build: deploy.build.revision };
  return { contentId: deploy?.contentId ?? '' };
}

/** Everything that travels with a deployment, by its place in the spec. */
export function partsOf(pass: EnvironmentPass): Readonly<Record<string, Json>> {
  const { env = [], functionConfig = {}, startup } = pass.spec;
  return definedOf({
    ...Object.fromEntries(env.map((variable) => [`env.${variable.name}`, valueOf(variable, pass)])),
    ...Object.fromEntries(Object.entries(functionConfig).map(([name, value]) => [`functionConfig.${name}`, value])),
    ...(startup && { startup: startupOf(startup) }),
  });
}

function startupOf({ command, args, shell, workingDir }: NonNullable<Spec['startup']>): StartupConfig {
  return {
    ...(command !== undefined && { command }),
    ...(args !== undefined && { args }),
    ...(shell !== undefined && { shell }),
    ...(workingDir !== undefined && { workingDir }),
  };
}

function printsIn({ memory }: EnvironmentPass): Readonly<Record<string, string>> {
  return memory.applied?.prints ?? {};
}

/** Whether a value was sent last, by its fingerprint. */
function isSent(pass: EnvironmentPass, field: string, value: Json): boolean {
  return stateOfHidden(pass, field, pass.print(value)) !== 'unsent';
}

/** Whether a value was sent last, or taken as it was. */
function isKnown(pass: EnvironmentPass, field: string, value: Json): boolean {
  return isSent(pass, field, value) || isSent(pass, `${assumed}${field}`, value);
}

/** Whether the startup override that we set is wanted no longer. */
function isStartupLeft(pass: EnvironmentPass): boolean {
  return printsIn(pass)['startup'] !== undefined && pass.spec.startup === undefined;
}

/** What is wanted and not there yet: a deployment now, something that travels with the next build, or nothing. */
export function dueOf(pass: EnvironmentPass): 'deployment' | 'withNextBuild' | 'nothing' {
  const { deploy } = pass.spec;
  if (revisionOf(pass.spec) === undefined) return 'nothing';
  const { contentId } = pass.memory.facts.deploy ?? {};
  if (deploy?.contentId !== undefined) {
    return deploy.contentId === contentId || isKnown(pass, 'deploy', deployValue(pass.spec)) ? 'nothing' : 'deployment';
  }
  if (!isKnown(pass, 'deploy', deployValue(pass.spec))) return 'deployment';
  const unknown = Object.entries(partsOf(pass)).some(([field, value]) => !isKnown(pass, field, value));
  if (!unknown && !isStartupLeft(pass)) return 'nothing';
  return deploy?.build === undefined ? 'deployment' : 'withNextBuild';
}

/** What to remember of an environment that ran already when it was bound: what the spec says now counts as deployed. */
export function assume(pass: EnvironmentPass): Partial<Memory<Facts>> {
  const { spec, memory, subject } = pass;
  const revision = revisionOf(spec);
  const wanted = { deploy: deployValue(spec), ...partsOf(pass) };
  const prints = Object.entries(wanted).map(([field, value]) => [`${assumed}${field}`, pass.print(value)]);
  return {
    applied: { generation: subject.generation, prints: revision === undefined ? {} : Object.fromEntries(prints) },
    facts: {
      ...memory.facts,
      ...(revision !== undefined && { deploy: { revision, outcome: 'Assumed' } }),
      ...redeployHandled(pass),
    },
  };
}

/** A deployment was carried out that nobody wants any more: what is wanted now is due, whatever was deployed before that. */
export function overtaken({ memory }: EnvironmentPass): Partial<Memory<Facts>> {
  const { applied, facts } = memory;
  const others = Object.entries(applied?.prints ?? {}).filter(([name]) => name.replace(assumed, '') !== 'deploy');
  const { contentId: _replaced, ...deploy } = facts.deploy ?? {};
  return {
    ...(applied !== undefined && { applied: { ...applied, prints: Object.fromEntries(others) } }),
    ...(facts.deploy !== undefined && { facts: { ...facts, deploy } }),
  };
}

/** The same fingerprints under the key of now, for the generation of now. */
export function renewed(pass: EnvironmentPass): Memory<Facts>['applied'] {
  const known = printsIn(pass);
  const wanted = { deploy: deployValue(pass.spec), ...partsOf(pass) };
  const again = Object.entries(wanted).flatMap(([field, value]) =>
    [field, `${assumed}${field}`]
      .filter((name) => known[name] !== undefined && isSent(pass, name, value))
      .map((name) => [name, pass.print(value)]),
  );
  return { generation: pass.subject.generation, prints: { ...known, ...Object.fromEntries(again) } };
}

/** What an earlier spec set and no call takes back. */
export function leftoverOf(pass: EnvironmentPass): readonly string[] {
  const wanted = partsOf(pass);
  const takesStartup = pass.spec.deploy?.image !== undefined || pass.spec.deploy?.build !== undefined;
  return Object.keys(printsIn(pass))
    .filter((field) => field !== 'deploy' && !field.startsWith(assumed) && wanted[field] === undefined)
    .filter((field) => field !== 'startup' || !takesStartup)
    .toSorted();
}

/** The deployment that the spec wants. */
export function deployment(pass: EnvironmentPass, appEnvId: string): Action {
  const { deploy } = pass.spec;
  const wanted = partsOf(pass);
  // A new token of the annotation asks again, also for what was given up.
  const token = isRedeployDue(pass) ? (pass.subject.annotations[redeployAnnotation] ?? '') : '';
  const digest = pass.print([deployValue(pass.spec), wanted, isStartupLeft(pass), token]);
  const done = (how: Done) => deployed(pass, how);
  if (deploy?.image !== undefined) {
    const { image } = deploy;
    const request = postAppEnvDeployImage({ appEnvId, image, ...unsent(pass), ...startupFields(pass) });
    return { operation: 'deploy-image', words: `deploy image ${image}`, request, digest, done };
  }
  if (deploy?.build !== undefined) {
    const { revision, forceNewBuild, rebuildFrom } = deploy.build;
    const request = postAppEnvBuild({
      appEnvId,
      ...(forceNewBuild !== undefined && { forceNewBuild }),
      ...(rebuildFrom !== undefined && { isRebuild: true, fromContentId: rebuildFrom }),
      ...startupFields(pass),
    });
    return { operation: 'build', words: `build revision ${revision}`, request, digest, done };
  }
  const targetContentId = deploy?.contentId ?? '';
  const request = postAppEnvRollback({ appEnvId, targetContentId });
  return { operation: 'rollback', words: `roll back to ${targetContentId}`, request, digest, done };
}

/** The redeployment that the annotation asks for. */
export function redeployment(pass: EnvironmentPass, appEnvId: string): Action {
  const token = pass.subject.annotations[redeployAnnotation] ?? '';
  return {
    operation: 'redeploy',
    words: `redeploy for ${redeployAnnotation}: ${token}`,
    request: postAppEnvRedeploy({ appEnvId }),
    digest: pass.print(token),
    done: () => ({ facts: { ...pass.memory.facts, lastHandledRedeployAt: token } }),
  };
}

/** Whether the annotation carries a token that was not handled yet. */
export function isRedeployDue({ subject, memory }: EnvironmentPass): boolean {
  const token = subject.annotations[redeployAnnotation];
  return token !== undefined && token !== '' && token !== memory.facts.lastHandledRedeployAt;
}

function redeployHandled({ subject }: EnvironmentPass): Pick<Facts, 'lastHandledRedeployAt'> {
  const token = subject.annotations[redeployAnnotation];
  return token === undefined ? {} : { lastHandledRedeployAt: token };
}

/** The variables and settings that were not sent yet; what the service keeps is not sent again. */
function unsent(pass: EnvironmentPass): { envVars?: Record<string, string>; functionConfig?: JsonObject } {
  const under = (prefix: string): Record<string, Json> =>
    Object.fromEntries(
      Object.entries(partsOf(pass))
        .filter(([field, value]) => field.startsWith(prefix) && !isSent(pass, field, value))
        .map(([field, value]) => [field.slice(prefix.length), value]),
    );
  const envVars = under('env.') as Record<string, string>;
  const functionConfig = under('functionConfig.');
  return {
    ...(Object.keys(envVars).length > 0 && { envVars }),
    ...(Object.keys(functionConfig).length > 0 && { functionConfig }),
  };
}

/** The declared startup is the whole override; one that we set and that is wanted no longer is cleared. */
function startupFields(pass: EnvironmentPass): {
  startupConfig?: StartupConfig;
  replaceStartupConfig?: boolean;
  clearStartupConfig?: boolean;
} {
  const { startup } = pass.spec;
  if (startup === undefined) return isStartupLeft(pass) ? { clearStartupConfig: true } : {};
  const startupConfig = startupOf(startup);
  return isSent(pass, 'startup', startupConfig) ? {} : { startupConfig, replaceStartupConfig: true };
}

function deployed(pass: EnvironmentPass, { body, at, attempt }: Done): Partial<Memory<Facts>> {
  const { spec, memory, subject } = pass;
  const rollback = body === undefined ? undefined : rollbackInfoOf(body);
  const shown = body === undefined ? undefined : deployedContentIdOf(body);
  const contentId = shown ?? rollback?.contentId ?? spec.deploy?.contentId;
  const failed = body !== undefined && lifecycleAnswerOf(body)?.success === false;
  const entry = {
    revision: revisionOf(spec),
    contentId,
    at,
    outcome: failed ? 'Failed' : 'Updating',
  };
  const deploy = {
    ...entry,
    ...(attempt > 1 && { repeatedAfterDoubt: attempt - 1 }),
    ...(rollback && { rollback: { from: rollback.fromVersion, to: rollback.toVersion } }),
  };
  const before = memory.facts.history ?? [];
  return {
    applied: { generation: subject.generation, prints: sentPrints(pass) },
    facts: { ...memory.facts, deploy, history: [entry, ...before].slice(0, most), ...redeployHandled(pass) },
  };
}

/** What has been sent by now: what travels with this deployment, and as much of what is left over as status holds. */
function sentPrints(pass: EnvironmentPass): Readonly<Record<string, string>> {
  const { deploy } = pass.spec;
  const takes = (field: string) => deploy?.image !== undefined || (deploy?.build !== undefined && field === 'startup');
  const now = Object.entries(partsOf(pass)).filter(([field]) => takes(field));
  const sent = {
    deploy: pass.print(deployValue(pass.spec)),
    ...Object.fromEntries(now.map(([field, value]) => [field, pass.print(value)])),
  };
  const isCleared = (field: string) => field === 'startup' && isStartupLeft(pass) && takes(field);
  const kept = Object.entries(printsIn(pass))
    .filter(([field]) => !field.startsWith(assumed) && !(field in sent) && !isCleared(field))
    .slice(0, mostPrints - Object.keys(sent).length);
  return { ...sent, ...Object.fromEntries(kept) };
}
