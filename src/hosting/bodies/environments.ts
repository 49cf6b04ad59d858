import { z } from 'zod';
import { word } from './said.ts';
import { id, isObject, number, parsed, shown } from './shape.ts';

/** What a lifecycle call answered. */
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
  return parsed(holder, body)?.contentId ?? (isObject(body) ? parsed(holder, body['appEnv'])?.contentId : undefined);
}

/** From where to where a rollback went. */
export interface RollbackInfo {
  readonly fromVersion: number | undefined;
  readonly toVersion: number | undefined;
  readonly contentId: string | undefined;
}

/** What `POST /app-env/rollback` says about itself. */
export function rollbackInfoOf(body: unknown): RollbackInfo | undefined {
  const info = z.object({ fromVersion: shown(number), toVersion: shown(number), contentId: shown(id) });
  return parsed(z.object({ rollbackInfo: info }), body)?.rollbackInfo;
}
