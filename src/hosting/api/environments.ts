import { z } from 'zod';
import { isRecord } from '../../base/json.ts';
import { Id, number, Text, MaybeSecret, AnyObject, endpoint, id, shown, parsed, word } from './endpoint.ts';

const Answer = z.object({
  success: shown(z.boolean()),
  appEnv: shown(z.object({ appEnvId: shown(id), status: shown(word) })),
});

/** The answer of deploy-image, build, redeploy, rollback, stop and start. */
export function lifecycleAnswerOf(body: unknown) {
  const answer = parsed(Answer, body);
  if (answer === undefined) return undefined;
  // The service may accept a call and say that it failed.
  return { success: answer.success ?? true, appEnvId: answer.appEnv?.appEnvId, status: answer.appEnv?.status };
}

/** The content version that a deployment made, wherever the service puts it. */
export function deployedContentIdOf(body: unknown): string | undefined {
  const holder = z.object({ contentId: id });
  return parsed(holder, body)?.contentId ?? (isRecord(body) ? parsed(holder, body['appEnv'])?.contentId : undefined);
}

/** The part of a rollback's answer that says from where to where it went. */
export function rollbackInfoOf(body: unknown) {
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

const startup = {
  startupConfig: Startup.exactOptional(),
  clearStartupConfig: z.boolean().exactOptional(),
  replaceStartupConfig: z.boolean().exactOptional(),
};

/** A body that names an environment by its id or by its cliEnvName, at least one. */
function targeted<Fields extends z.core.$ZodShape>(fields: Fields) {
  const target = { appEnvId: Id.exactOptional(), envName: Text.exactOptional() };
  const isTargeted = (body: object): boolean => 'appEnvId' in body || 'envName' in body;
  return z.strictObject({ ...target, ...fields }).refine(isTargeted, 'needs appEnvId or envName');
}

const DeployImage = targeted({
  ...startup,
  image: Text,
  envVars: z.record(Text, MaybeSecret).readonly().exactOptional(),
  functionConfig: AnyObject.exactOptional(),
});
const Build = targeted({
  ...startup,
  forceNewBuild: z.boolean().exactOptional(),
  isRebuild: z.boolean().exactOptional(),
  fromContentId: Id.exactOptional(),
});
const Redeploy = targeted({ contentId: Id.exactOptional() });
const Rollback = targeted({ targetContentId: Id.exactOptional() });
const StopOrStart = targeted({});

/** The startup override of an environment. */
export type StartupConfig = z.infer<typeof Startup>;

/** Deploys an image; each call makes a new content version, so a lost answer is looked for like a creation. */
export const postAppEnvDeployImage = endpoint('POST', '/app-env/deploy-image', 'create', DeployImage);

/** Builds from the configured branch; each call may make a new content version. */
export const postAppEnvBuild = endpoint('POST', '/app-env/build', 'create', Build);

/** Restarts containers on the current content version, or on the given one; each call restarts them once more. */
export const postAppEnvRedeploy = endpoint('POST', '/app-env/redeploy', 'create', Redeploy);

/** Goes back to the version before, or to the given one. */
export const postAppEnvRollback = endpoint('POST', '/app-env/rollback', 'create', Rollback);

/** Scales to zero. */
export const postAppEnvStop = endpoint('POST', '/app-env/stop', 'update', StopOrStart);

/** Starts what was deployed before. */
export const postAppEnvStart = endpoint('POST', '/app-env/start', 'update', StopOrStart);

/** The endpoints of environments that take a body. */
export const environmentEndpoints = [
  postAppEnvDeployImage,
  postAppEnvBuild,
  postAppEnvRedeploy,
  postAppEnvRollback,
  postAppEnvStop,
  postAppEnvStart,
];
