import { appNamed, apps, kindOf } from '../../apps/app.ts';
import { contents, type Environment, environments } from '../../environments/environment.ts';
import type { World } from '../../store/store.ts';
import { nextTag } from './apps.ts';
import { type FormChoice, type Field, type Form, flag, formsOf, id, json, list, needs, text } from './form.ts';
import type { FormPlace } from './place.ts';

const meant: readonly Field[] = [id('appEnvId', 'environments'), text('envName')];

const startup = [
  text('startupConfig/command'),
  list('startupConfig/args'),
  flag('startupConfig/shell'),
  text('startupConfig/workingDir'),
  flag('clearStartupConfig'),
  flag('replaceStartupConfig'),
];

/** Environments and their deployment lifecycle. */
export const environmentForms: readonly Form[] = formsOf('Environments', {
  'GET /app-envs': [
    'lists the environments of an account or of an app',
    {
      fields: [text('accountId', { pick: 'accounts' }), text('appId', { pick: 'apps' })],
      fill: ({ accountId }) => ({ accountId }),
    },
  ],
  'POST /app-env/deploy-image': [
    'deploys an image',
    {
      fields: [
        ...meant,
        needs(text('image', { follows: ['appEnvId'] })),
        json('envVars'),
        json('functionConfig'),
        ...startup,
      ],
      fill: (at) => {
        const environment = at.row('appEnvId', environments, (each) => takesImages(at.world, each));
        return { appEnvId: environment?.appEnvId, image: environment && nextTag(imageNow(at.world, environment)) };
      },
    },
  ],
  'POST /app-env/build': [
    'builds from the git branch and deploys',
    {
      fields: [
        ...meant,
        flag('forceNewBuild'),
        flag('isRebuild'),
        text('fromContentId', { follows: ['appEnvId'] }),
        ...startup,
      ],
      fill: (at) => ({ appEnvId: at.row('appEnvId', environments, (each) => isBuilt(at.world, each))?.appEnvId }),
      choices: (at) => ({ fromContentId: versionsOf(at) }),
    },
  ],
  'POST /app-env/redeploy': [
    'restarts on the current version or on another one',
    {
      fields: [...meant, text('contentId', { follows: ['appEnvId'] })],
      fill: (at) => ({ appEnvId: at.row('appEnvId', environments, ({ deployed }) => deployed)?.appEnvId }),
      choices: (at) => ({ contentId: versionsOf(at) }),
    },
  ],
  'POST /app-env/rollback': [
    'goes back to the deployment before, or to a version',
    {
      fields: [...meant, text('targetContentId', { follows: ['appEnvId'] })],
      fill: (at) => ({ appEnvId: at.row('appEnvId', environments, (each) => each.deployments.length > 1)?.appEnvId }),
      choices: (at) => ({ targetContentId: versionsOf(at) }),
    },
  ],
  'POST /app-env/stop': [
    'scales an environment to zero',
    {
      fields: meant,
      fill: (at) => ({ appEnvId: at.row('appEnvId', environments, ({ status }) => status === 'running')?.appEnvId }),
    },
  ],
  'POST /app-env/start': [
    'starts an environment that is stopped',
    {
      fields: meant,
      fill: (at) => ({ appEnvId: at.row('appEnvId', environments, ({ status }) => status === 'stopped')?.appEnvId }),
    },
  ],
});

function takesImages(world: World, { appId }: Environment): boolean {
  const app = world.of(apps).get(appId);
  return app !== undefined && (app.useImage || kindOf(app) === 'function');
}

function isBuilt(world: World, { appId, gitBranch }: Environment): boolean {
  const app = world.of(apps).get(appId);
  return app !== undefined && !app.useImage && kindOf(app) !== 'database' && gitBranch !== undefined;
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
