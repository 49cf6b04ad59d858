import { z } from 'zod';
import { isRecord } from '../../base/json.ts';
import type { Request } from '../../engine/ports.ts';
import {
  AnyObject,
  type BodySchemas,
  Id,
  MaybeSecret,
  Text,
  write,
  id,
  parsed,
  shown,
  word,
  number,
} from './endpoint.ts';

/** The answer to a lifecycle call. */
export interface LifecycleAnswer {
  /** False where the service accepted the call and says that it failed. */
  readonly success: boolean;
  readonly appEnvId: string | undefined;
  readonly status: string | undefined;
}

const Answer = z.object({
  success: shown(z.boolean()),
  appEnv: shown(z.object({ appEnvId: shown(id), status: shown(word) })),
});

/** The answer of deploy-image, build, redeploy, rollback, stop and start. */
export function lifecycleAnswerOf(body: unknown): LifecycleAnswer | undefined {
  const answer = parsed(Answer, body);
  if (answer === undefined) return undefined;
  return { success: answer.success ?? true, appEnvId: answer.appEnv?.appEnvId, status: answer.appEnv?.status };
}

/** The content version that a deployment made, wherever the service puts it. */
export function deployedContentIdOf(body: unknown): string | undefined {
  const holder = z.object({ contentId: id });
  return parsed(holder, body)?.contentId ?? (isRecord(body) ? parsed(holder, body['appEnv'])?.contentId : undefined);
}

/** From where to where a rollback went. */
export interface RollbackInfo {
  readonly fromVersion: number | undefined;
  readonly toVersion: number | undefined;
  readonly contentId: string | undefined;
}

/** The part of a rollback's answer that names its versions. */
export function rollbackInfoOf(body: unknown): RollbackInfo | undefined {
  const info = z.object({ fromVersion: shown(number), toVersion: shown(number), contentId: shown(id) });
  return parsed(z.object({ rollbackInfo: info }), body)?.rollbackInfo;
}

const Startup = z
  .strictObject({
    command: Text.exactOptional(),
    args: z.array(z.string()).readonly().exactOptional(),
    shell: z.boolean().exactOptional(),
    workingDir: Text.exactOptional(),
  })
  .readonly();

/** The environment by its id or by its cliEnvName; at least one. */
const target = { appEnvId: Id.exactOptional(), envName: Text.exactOptional() };

const startup = {
  startupConfig: Startup.exactOptional(),
  clearStartupConfig: z.boolean().exactOptional(),
  replaceStartupConfig: z.boolean().exactOptional(),
};

const untargeted = 'needs appEnvId or envName';

function isTargeted(body: { readonly appEnvId?: string; readonly envName?: string }): boolean {
  return body.appEnvId !== undefined || body.envName !== undefined;
}

const DeployImage = z
  .strictObject({
    ...target,
    ...startup,
    image: Text,
    envVars: z.record(Text, MaybeSecret).readonly().exactOptional(),
    functionConfig: AnyObject.exactOptional(),
  })
  .refine(isTargeted, untargeted);
const Build = z
  .strictObject({
    ...target,
    ...startup,
    forceNewBuild: z.boolean().exactOptional(),
    isRebuild: z.boolean().exactOptional(),
    fromContentId: Id.exactOptional(),
  })
  .refine(isTargeted, untargeted);
const Redeploy = z.strictObject({ ...target, contentId: Id.exactOptional() }).refine(isTargeted, untargeted);
const Rollback = z.strictObject({ ...target, targetContentId: Id.exactOptional() }).refine(isTargeted, untargeted);
const StopOrStart = z.strictObject(target).refine(isTargeted, untargeted);

/** The startup override of an environment. */
export type StartupConfig = z.infer<typeof Startup>;
/** The body of `POST /app-env/deploy-image`. */
export type ImageDeployment = z.infer<typeof DeployImage>;
/** The body of `POST /app-env/build`. */
export type BuildOrder = z.infer<typeof Build>;
/** The body of `POST /app-env/redeploy`. */
export type Redeployment = z.infer<typeof Redeploy>;
/** The body of `POST /app-env/rollback`. */
export type RollbackOrder = z.infer<typeof Rollback>;
/** An environment by its id or its cliEnvName. */
export type EnvironmentTarget = z.infer<typeof StopOrStart>;

/** The bodies of the lifecycle calls of an environment. */
export const environmentBodies: BodySchemas = {
  'POST /app-env/deploy-image': DeployImage,
  'POST /app-env/build': Build,
  'POST /app-env/redeploy': Redeploy,
  'POST /app-env/rollback': Rollback,
  'POST /app-env/stop': StopOrStart,
  'POST /app-env/start': StopOrStart,
};

/** Deploys an image; each call makes a new content version, so a lost answer is looked for like a creation. */
export function postAppEnvDeployImage(body: ImageDeployment): Request {
  return write('POST', '/app-env/deploy-image', 'create', body);
}

/** Builds from the configured branch; each call may make a new content version. */
export function postAppEnvBuild(body: BuildOrder): Request {
  return write('POST', '/app-env/build', 'create', body);
}

/** Restarts containers on the current content version, or on the given one; each call restarts them once more. */
export function postAppEnvRedeploy(body: Redeployment): Request {
  return write('POST', '/app-env/redeploy', 'create', body);
}

/** Goes back to the version before, or to the given one. */
export function postAppEnvRollback(body: RollbackOrder): Request {
  return write('POST', '/app-env/rollback', 'create', body);
}

/** Scales to zero. */
export function postAppEnvStop(body: EnvironmentTarget): Request {
  return write('POST', '/app-env/stop', 'update', body);
}

/** Starts what was deployed before. */
export function postAppEnvStart(body: EnvironmentTarget): Request {
  return write('POST', '/app-env/start', 'update', body);
}
