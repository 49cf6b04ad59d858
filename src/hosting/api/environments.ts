import { z } from 'zod';
import { isRecord } from '../../base/json.ts';
import { Id, number, Text, MaybeSecret, AnyObject, endpoint, id, lenient, parsed, word } from './endpoint.ts';

const Answer = z.object({
  success: lenient(z.boolean()),
  appEnv: lenient(z.object({ appEnvId: lenient(id), status: lenient(word) })),
});

/** Reads the answer to a request that deploys, builds, redeploys, rolls back, stops or starts an environment. */
export function lifecycleAnswerOf(body: unknown) {
  const answer = parsed(Answer, body);
  if (answer === undefined) return undefined;
  // With status 200 the service can still report a failure, by `success: false`. A response without this field counts as a
  // success.
  return { success: answer.success ?? true, appEnvId: answer.appEnv?.appEnvId, status: answer.appEnv?.status };
}

/**
 * Finds the id of the content version that a deployment created. The service's response may contain this id in one of two places.
 */
export function deployedContentIdOf(body: unknown): string | undefined {
  const holder = z.object({ contentId: id });
  return parsed(holder, body)?.contentId ?? (isRecord(body) ? parsed(holder, body['appEnv'])?.contentId : undefined);
}

/** Reads the version numbers before and after a rollback from the answer to the rollback. */
export function rollbackInfoOf(body: unknown) {
  const info = z.object({ fromVersion: lenient(number), toVersion: lenient(number), contentId: lenient(id) });
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

/** Builds the schema of a request body that identifies an environment by its id, its cliEnvName, or both. */
function targeted<Fields extends z.core.$ZodShape>(fields: Fields) {
  const target = { appEnvId: Id.exactOptional(), envName: Text.exactOptional() };
  const isTargeted = (body: object): boolean => 'appEnvId' in body || 'envName' in body;
  return z.strictObject({ ...target, ...fields }).refine(isTargeted, 'appEnvId or envName is needed');
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

/**
 * Deploys an image to an environment. Each call creates a content version. If the outcome is unknown, the operator
 * looks for a new content version to find out whether the call was carried out.
 */
export const postAppEnvDeployImage = endpoint('POST', '/app-env/deploy-image', 'create', DeployImage);

/**
 * Builds an environment from its configured git branch. Each call may create another content version, which is a version that can
 * be deployed or rolled back to.
 */
export const postAppEnvBuild = endpoint('POST', '/app-env/build', 'create', Build);

/**
 * Restarts the containers of an environment with the current or a given content version. Each call restarts the containers
 * again.
 */
export const postAppEnvRedeploy = endpoint('POST', '/app-env/redeploy', 'create', Redeploy);

/** Rolls an environment back to the previous content version, or to a given content version. */
export const postAppEnvRollback = endpoint('POST', '/app-env/rollback', 'create', Rollback);

/** Stops an environment by scaling it to zero. */
export const postAppEnvStop = endpoint('POST', '/app-env/stop', 'update', StopOrStart);

/** Starts a stopped environment with the content version that was deployed before the stop. */
export const postAppEnvStart = endpoint('POST', '/app-env/start', 'update', StopOrStart);
