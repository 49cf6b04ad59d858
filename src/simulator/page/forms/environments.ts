import { appNamed, apps, kindOf } from '../../apps/app.ts';
import { contents, type Environment, environments } from '../../environments/environment.ts';
import { isBuiltFromGit } from '../../environments/versions.ts';
import type { World } from '../../store/store.ts';
import { nextTag } from './apps.ts';
import { type Form, type FormChoice, type FormPlace, formsOf } from './form.ts';

const meant = 'appEnvId* @environments, envName';
const startup = `startupConfig/command, startupConfig/args[], startupConfig/shell?, startupConfig/workingDir,
  clearStartupConfig?, replaceStartupConfig?`;

/** Fills in an environment that suits. */
function one(suits: (environment: Environment, world: World) => boolean) {
  return (at: FormPlace) => ({ appEnvId: at.row('appEnvId', environments, (each) => suits(each, at.world))?.appEnvId });
}

/** Environments and their deployment lifecycle. */
export const environmentForms: readonly Form[] = formsOf('Environments', {
  'GET /app-envs': ['lists the environments of an account or of an app', 'accountId @accounts, appId @apps'],
  'POST /app-env/deploy-image': [
    'deploys an image',
    `${meant}, image* <appEnvId, envVars{}, functionConfig{}, ${startup}`,
    (at) => {
      const environment = at.row('appEnvId', environments, (each) => takesImages(each, at.world));
      return { appEnvId: environment?.appEnvId, image: environment && nextTag(imageNow(at.world, environment)) };
    },
  ],
  'POST /app-env/build': [
    'builds an environment with a git branch, of an app that is built from source, and deploys it',
    `${meant}, forceNewBuild?, isRebuild?, fromContentId <appEnvId, ${startup}`,
    (at) => ({
      appEnvId: at.chosen('appEnvId') ?? at.rows(environments).find((each) => isBuilt(each, at.world))?.appEnvId,
    }),
    (at) => ({ fromContentId: versionsOf(at) }),
  ],
  'POST /app-env/redeploy': [
    'restarts on the current version or on another one',
    `${meant}, contentId <appEnvId`,
    one(({ deployed }) => deployed),
    (at) => ({ contentId: versionsOf(at) }),
  ],
  'POST /app-env/rollback': [
    'goes back to the deployment before, or to a version',
    `${meant}, targetContentId <appEnvId`,
    one(({ deployments }) => deployments.length > 1),
    (at) => ({ targetContentId: versionsOf(at) }),
  ],
  'POST /app-env/stop': ['scales an environment to zero', meant, one(({ status }) => status === 'running')],
  'POST /app-env/start': ['starts an environment that is stopped', meant, one(({ status }) => status === 'stopped')],
});

function takesImages({ appId }: Environment, world: World): boolean {
  const app = world.of(apps).get(appId);
  return app !== undefined && (app.useImage || kindOf(app) === 'function');
}

function isBuilt(environment: Environment, world: World): boolean {
  const app = world.of(apps).get(environment.appId);
  return app !== undefined && isBuiltFromGit(app, environment);
}

function imageNow(world: World, { appId, currentContentId }: Environment): string {
  const content = currentContentId === undefined ? undefined : world.of(contents).get(currentContentId);
  return content?.image ?? `registry.example/demo/${appNamed(world, appId).slug}`;
}

function versionsOf(at: FormPlace): readonly FormChoice[] {
  const appEnvId = at.row('appEnvId', environments)?.appEnvId ?? '';
  const rows = at.world.of(contents).where('environment', appEnvId).toReversed();
  return rows.map(({ contentId, version, image }) => ({ value: contentId, text: `version ${version}: ${image}` }));
}
