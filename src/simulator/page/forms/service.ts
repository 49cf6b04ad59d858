import { credentials, memberships, regions } from '../../service/accounts/records.ts';
import { alerts, metricNames, metricThresholds } from '../../service/alerts/alert.ts';
import { appNamed, apps, kindOf } from '../../service/apps/app.ts';
import { isDatabase, versionsOf } from '../../service/apps/presets.ts';
import { type ConfigType, contactPoints, contactPointTypes } from '../../service/contact-points/contact-point.ts';
import { isBuiltFromGit } from '../../service/environments/deployment.ts';
import { contents, type Environment, environments } from '../../service/environments/environment.ts';
import { catalog } from '../../service/solutions/installation.ts';
import type { World } from '../../store/store.ts';
import { type Form, type FormChoice, type FormPlace, formsOf, type FormValues } from './form.ts';

const member = 'accountId*@accounts,membershipId*@memberships';
const byMode = '<solutionSlug+inputs/agentAuthenticationMode';

/** The forms of the web page for requests about presets, apps, solutions and member access. */
export const appForms: readonly Form[] = [
  ...formsOf('Apps', {
    'GET /apps': ['lists the apps of an account', 'accountId@accounts'],
    'POST /app': [
      'creates an app',
      `accountId*@accounts,name*,dockerPreset=creatablePresets,dockerPresetVersion<dockerPreset,port#<dockerPreset,
      useImage?<dockerPreset,image<dockerPreset,gitNamespace,gitRepo,gitInstallationId,buildArgs,contextDir,dockerfilePath,
      customDockerfileContent,isCliDeployment?,jobConfig{}<dockerPreset,startupConfig{},containers#,disk#,
      withPersistence?,databaseSettings{}`,
      newApp,
      (at) => {
        const names = versionsOf(at.chosen('dockerPreset') ?? 'CUSTOM');
        return { dockerPresetVersion: names.map((value) => ({ value, text: value })) };
      },
    ],
    'GET /app': ['shows an app', 'appId*@apps'],
    'PATCH /app': [
      'changes an app for all its environments',
      `appId*@apps,dockerPreset=knownPresets,port#<appId,useImage?<appId,image<appId,builder,contextDir,buildArgs,
      dockerfilePath,customDockerfileContent,healthCheckPath,healthCheckPort#,healthCheckHeaders{},
      imagePullAccountSecretId@credentials,buildPullAccountSecretId@credentials,jobConfig{},applyImmediately?`,
      changedApp,
    ],
    'DELETE /app': ['deletes an app with its environments', 'appId*@apps'],
    'GET /app-presets': ['lists the presets for new apps'],
    'GET /database-presets': ['lists the presets for managed databases and services'],
  }),
  ...formsOf('Solutions', {
    'GET /solutions': ['lists the catalog of solutions', 'accountId*@accounts'],
    'POST /solutions': [
      'installs a solution, or continues an installation',
      `accountId*@accounts,solutionSlug*=solutions,appName*,region*@regions,installationId,inputs/agentImage<solutionSlug,
      inputs/agentAuthenticationMode=API_KEY|PERSONAL_SUBSCRIPTION<solutionSlug,inputs/llmProviderKeyId@credentials${byMode},
      inputs/agentPrimaryModel${byMode},inputs/agentSecondaryModel${byMode}`,
      solution,
    ],
  }),
  ...formsOf('Member access', {
    'GET /member/env-access': ['shows which environments a member may see', member, ownMember],
    'PATCH /member/env-access': [
      'sets which environments a member may see; an empty list means all',
      `${member},allowedAppEnvIds[]@environments<membershipId`,
      (at) => ({ ...ownMember(at), allowedAppEnvIds: memberIn(at)?.allowedAppEnvIds ?? [] }),
    ],
  }),
];

function newApp(at: FormPlace): FormValues {
  const dockerPreset = at.chosen('dockerPreset') ?? 'CUSTOM';
  const name = at.freeName('shop', apps, (app) => app.name);
  const image = isDatabase(dockerPreset) ? {} : { useImage: true, image: `registry.example/demo/${name}:1` };
  const isJob = dockerPreset === 'JOB';
  const job = isJob ? { jobConfig: { command: 'npm run migrate', timeoutSeconds: 600 } } : { port: 8080 };
  return { name, dockerPreset, ...image, ...job };
}

function changedApp(at: FormPlace): FormValues {
  const app = at.row('appId', apps);
  if (app === undefined || kindOf(app) === 'database') return { port: app?.port };
  if (!app.useImage) return { contextDir: app.contextDir };
  return { useImage: true, image: nextTag(app.image ?? 'registry.example/demo/app') };
}

/** Replaces the number at the end of an image tag with the next number. */
function nextTag(image: string): string {
  const [, name = image, tag = '0'] = /^(.*):(\d+)$/.exec(image) ?? [];
  return `${name}:${Number(tag) + 1}`;
}

function solution(at: FormPlace): FormValues {
  const solutionSlug = at.chosen('solutionSlug') ?? 'queue-worker';
  const region = at.row('region', regions, ({ up }) => up)?.name;
  const appName = at.freeName(solutionSlug, apps, ({ name }) => name.replace(/-[a-z]+$/, ''));
  const base = { solutionSlug, appName, region };
  if (catalog.find((each) => each.solutionSlug === solutionSlug)?.agentImage === undefined) return base;
  const mode = at.chosen('inputs/agentAuthenticationMode');
  if (mode !== 'API_KEY') return { ...base, 'inputs/agentAuthenticationMode': mode ?? 'PERSONAL_SUBSCRIPTION' };
  return {
    ...base,
    'inputs/agentAuthenticationMode': mode,
    'inputs/llmProviderKeyId': at.rows(credentials).find(({ kind }) => kind === 'llm')?.credentialId,
    'inputs/agentPrimaryModel': 'large-1',
    'inputs/agentSecondaryModel': 'small-1',
  };
}

function memberIn(at: FormPlace) {
  return at.row('membershipId', memberships, ({ role }) => role === 'member');
}

function ownMember(at: FormPlace): FormValues {
  return { membershipId: memberIn(at)?.membershipId };
}

const meant = 'appEnvId*@environments,envName';
const startup = `startupConfig/command,startupConfig/args[],startupConfig/shell?,startupConfig/workingDir,
  clearStartupConfig?,replaceStartupConfig?`;

/**
 * Returns a function that fills in the field `appEnvId` of a form, if possible with an environment that passes the test
 * `suits`.
 */
function one(suits: (environment: Environment, world: World) => boolean) {
  return (at: FormPlace) => ({ appEnvId: at.row('appEnvId', environments, (each) => suits(each, at.world))?.appEnvId });
}

/** The forms of the web page for requests about environments and their deployments. */
export const environmentForms: readonly Form[] = formsOf('Environments', {
  'GET /app-envs': ['lists the environments of an account or of an app', 'accountId@accounts,appId@apps'],
  'POST /app-env/deploy-image': [
    'deploys an image',
    `${meant},image*<appEnvId,envVars{},functionConfig{},${startup}`,
    (at) => {
      const environment = at.row('appEnvId', environments, (each) => takesImages(each, at.world));
      return { appEnvId: environment?.appEnvId, image: environment && nextTag(imageNow(at.world, environment)) };
    },
  ],
  'POST /app-env/build': [
    'builds an environment from its git branch and deploys the result',
    `${meant},forceNewBuild?,isRebuild?,fromContentId<appEnvId,${startup}`,
    (at) => ({
      appEnvId: at.chosen('appEnvId') ?? at.rows(environments).find((each) => isBuilt(each, at.world))?.appEnvId,
    }),
    (at) => ({ fromContentId: contentChoices(at) }),
  ],
  'POST /app-env/redeploy': [
    'restarts an environment with its current version, or with another version',
    `${meant},contentId<appEnvId`,
    one(({ deployed }) => deployed),
    (at) => ({ contentId: contentChoices(at) }),
  ],
  'POST /app-env/rollback': [
    'deploys the previous version of an environment, or the given version',
    `${meant},targetContentId<appEnvId`,
    one(({ deployments }) => deployments.length > 1),
    (at) => ({ targetContentId: contentChoices(at) }),
  ],
  'POST /app-env/stop': ['stops an environment: scales it to zero', meant, one(({ status }) => status === 'running')],
  'POST /app-env/start': ['starts an environment that was stopped', meant, one(({ status }) => status === 'stopped')],
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

function contentChoices(at: FormPlace): readonly FormChoice[] {
  const appEnvId = at.row('appEnvId', environments)?.appEnvId ?? '';
  const rows = at.world.of(contents).where('environment', appEnvId).toReversed();
  return rows.map(({ contentId, version, image }) => ({ value: contentId, text: `version ${version}: ${image}` }));
}

/** A valid config for each type of contact point, with invented secrets. */
const configs = {
  email: { addresses: ['on-call@example.com'] },
  webhook: { url: 'https://hooks.example.com/made-up', httpMethod: 'POST' },
  incident_service: { integrationKey: 'made-up-key', severity: 'critical' },
  chat_webhook_a: { webhookUrl: 'https://chat-a.example.com/made-up', channel: '#on-call' },
  chat_webhook_b: { webhookUrl: 'https://chat-b.example.com/made-up' },
  chat_webhook_c: { webhookUrl: 'https://chat.example.com/made-up' },
} as const satisfies Readonly<Record<ConfigType, FormValues>>;

const aPoint = 'contactPointId*@contactPoints';
const anAlert = 'alertId*@alerts';
const words = 'aggregation=mean|max|min|last,queryRange=queryRanges';

/** The forms of the web page for requests about contact points and alerts. */
export const alertForms: readonly Form[] = [
  ...formsOf('Contact points', {
    'GET /contact-points': ['lists the contact points of an account', 'accountId*@accounts'],
    'POST /contact-point': [
      'creates a contact point',
      'accountId*@accounts,name*,type*=contactPointTypes,config{}*<type',
      newPoint,
    ],
    'GET /contact-point': ['shows a contact point, and its secrets if showSecrets is true', `${aPoint},showSecrets?`],
    'PATCH /contact-point': [
      'changes a contact point; fields of config that the request omits are kept',
      `${aPoint},name<contactPointId,config{}<contactPointId`,
      (at) => ({ name: at.row('contactPointId', contactPoints)?.name }),
    ],
    'DELETE /contact-point': ['deletes a contact point that no alert uses', aPoint],
  }),
  ...formsOf('Alerts', {
    'GET /app-env/alerts': ['lists the alerts of an environment', 'appEnvId*@environments'],
    'POST /app-env/alert': [
      'creates an alert',
      `appEnvId*@environments,envName,name*,description,metric*=metricNames,operator*=gt|lt,threshold#*<metric,
      duration*=durations,${words},contactPointIds[]*@contactPoints,contactPointNames[]`,
      newAlert,
    ],
    'GET /alert': ['shows an alert', anAlert],
    'PATCH /alert': [
      'changes an alert',
      `${anAlert},name,description,metric=metricNames,operator=gt|lt,threshold#<alertId,
      duration=durations<alertId,${words},contactPointIds[]@contactPoints,enabled?`,
      (at) => {
        const alert = at.row('alertId', alerts);
        return { threshold: alert?.threshold, duration: alert?.duration };
      },
    ],
    'DELETE /alert': ['deletes an alert', anAlert],
    'POST /alert/toggle': [
      'pauses an alert, or resumes its evaluation',
      `${anAlert},enabled?*<alertId`,
      (at) => ({ enabled: at.row('alertId', alerts)?.enabled === false }),
    ],
    'POST /alert/refresh': ['refreshes the cached state of an alert', anAlert],
  }),
];

function newPoint(at: FormPlace): FormValues {
  const type = contactPointTypes.find((each) => each === at.chosen('type')) ?? 'email';
  return { name: at.freeName('On call', contactPoints, ({ name }) => name), type, config: configs[type] };
}

function newAlert(at: FormPlace): FormValues {
  const metric = metricNames.find((each) => each === at.chosen('metric')) ?? 'cpu_percent';
  const point = at.rows(contactPoints)[0]?.contactPointId;
  return {
    name: at.freeName('busy', alerts, ({ name }) => name),
    metric,
    operator: 'gt',
    threshold: metricThresholds[metric],
    duration: '1m',
    contactPointIds: point === undefined ? undefined : [point],
  };
}
