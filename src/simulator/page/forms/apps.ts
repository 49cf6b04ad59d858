import { apps, kindOf } from '../../apps/app.ts';
import { creatablePresets, isDatabase, knownPresets, versionsOf } from '../../apps/presets.ts';
import { credentials, memberships, regions } from '../../accounts/records.ts';
import { catalog } from '../../solutions/catalog.ts';
import { type FormChoice, type Form, flag, formsOf, id, json, list, needs, number, text } from './form.ts';
import { freeName, type FormPlace } from './place.ts';

const byPreset = { follows: ['dockerPreset'] };
const account = id('accountId', 'accounts');

const git = [text('gitNamespace'), text('gitRepo'), text('gitInstallationId')];

/** Presets, apps, solutions and what a member may see. */
export const appForms: readonly Form[] = [
  ...formsOf('Apps', {
    'GET /apps': ['lists the apps of an account', { fields: [text('accountId', { pick: 'accounts' })], fill: own }],
    'POST /app': ['creates an app', { fields: newAppFields(), fill: newApp, choices: versions }],
    'GET /app': ['shows an app', { fields: [id('appId', 'apps')], fill: anyApp }],
    'PATCH /app': ['changes an app for all its environments', { fields: changedAppFields(), fill: changedApp }],
    'DELETE /app': ['deletes an app with its environments', { fields: [id('appId', 'apps')], fill: newestApp }],
    'GET /app-presets': ['lists what apps are made from'],
    'GET /database-presets': ['lists the managed databases and services'],
  }),
  ...formsOf('Solutions', {
    'GET /solutions': ['lists the catalog', { fields: [account], fill: own }],
    'POST /solutions': [
      'installs a solution, or goes on with an installation',
      { fields: solutionFields(), fill: solution },
    ],
  }),
  ...formsOf('Member access', {
    'GET /member/env-access': [
      'shows which environments a member may see',
      {
        fields: [account, id('membershipId', 'memberships')],
        fill: (at) => ({ ...own(at), membershipId: member(at) }),
      },
    ],
    'PATCH /member/env-access': [
      'sets which environments a member may see; none means all',
      {
        fields: [
          account,
          id('membershipId', 'memberships'),
          list('allowedAppEnvIds', { pick: 'environments', follows: ['membershipId'] }),
        ],
        fill: (at) => ({ ...own(at), membershipId: member(at), allowedAppEnvIds: allowed(at) }),
      },
    ],
  }),
];

function own({ accountId }: FormPlace) {
  return { accountId };
}

function newAppFields() {
  return [
    account,
    needs(text('name')),
    text('dockerPreset', { words: creatablePresets }),
    text('dockerPresetVersion', byPreset),
    number('port', byPreset),
    flag('useImage', byPreset),
    text('image', byPreset),
    ...git,
    text('buildArgs'),
    text('contextDir'),
    text('dockerfilePath'),
    text('customDockerfileContent'),
    flag('isCliDeployment'),
    json('jobConfig', byPreset),
  ];
}

function newApp(at: FormPlace) {
  const dockerPreset = at.chosen('dockerPreset') ?? 'CUSTOM';
  const name = freeName(
    'shop',
    at.rows(apps).map((app) => app.name),
  );
  const image = isDatabase(dockerPreset) ? {} : { useImage: true, image: `registry.example/demo/${name}:1` };
  const isJob = dockerPreset === 'JOB';
  const job = isJob ? { jobConfig: { command: 'npm run migrate', timeoutSeconds: 600 } } : {};
  return { accountId: at.accountId, name, dockerPreset, ...(isJob ? {} : { port: 8080 }), ...image, ...job };
}

function versions(at: FormPlace): Readonly<Record<string, readonly FormChoice[]>> {
  const names = versionsOf(at.chosen('dockerPreset') ?? 'CUSTOM');
  return { dockerPresetVersion: names.map((value) => ({ value, text: value })) };
}

function changedAppFields() {
  const byApp = { follows: ['appId'] };
  return [
    id('appId', 'apps'),
    text('dockerPreset', { words: knownPresets }),
    number('port', byApp),
    flag('useImage', byApp),
    text('image', byApp),
    text('builder'),
    text('contextDir'),
    text('buildArgs'),
    text('dockerfilePath'),
    text('customDockerfileContent'),
    text('healthCheckPath'),
    number('healthCheckPort'),
    json('healthCheckHeaders'),
    text('imagePullAccountSecretId', { pick: 'credentials' }),
    text('buildPullAccountSecretId', { pick: 'credentials' }),
    json('jobConfig'),
    flag('applyImmediately'),
  ];
}

function anyApp(at: FormPlace) {
  return { appId: at.row('appId', apps)?.appId };
}

/** Suggest the newest first: it was probably made for this trial. */
function newestApp(at: FormPlace) {
  return { appId: at.chosen('appId') ?? at.rows(apps).at(-1)?.appId };
}

function changedApp(at: FormPlace) {
  const app = at.row('appId', apps);
  if (app === undefined || kindOf(app) === 'database') return { appId: app?.appId, port: app?.port };
  if (!app.useImage) return { appId: app.appId, contextDir: app.contextDir };
  return { appId: app.appId, useImage: true, image: nextTag(app.image ?? 'registry.example/demo/app') };
}

/** The same image with the next number as its tag. */
export function nextTag(image: string): string {
  const [, name = image, tag = '0'] = /^(.*):(\d+)$/.exec(image) ?? [];
  return `${name}:${Number(tag) + 1}`;
}

function solutionFields() {
  const bySolution = { follows: ['solutionSlug'] };
  return [
    account,
    needs(text('solutionSlug', { words: catalog.map(({ solutionSlug }) => solutionSlug) })),
    needs(text('appName')),
    id('region', 'regions'),
    text('installationId'),
    text('inputs/agentImage', bySolution),
    text('inputs/agentAuthenticationMode', { words: ['API_KEY', 'PERSONAL_SUBSCRIPTION'], ...bySolution }),
    text('inputs/llmProviderKeyId', {
      pick: 'credentials',
      follows: ['solutionSlug', 'inputs/agentAuthenticationMode'],
    }),
    text('inputs/agentPrimaryModel', { follows: ['solutionSlug', 'inputs/agentAuthenticationMode'] }),
    text('inputs/agentSecondaryModel', { follows: ['solutionSlug', 'inputs/agentAuthenticationMode'] }),
  ];
}

function solution(at: FormPlace) {
  const solutionSlug = at.chosen('solutionSlug') ?? 'queue-worker';
  const region = at.row('region', regions, ({ up }) => up)?.name;
  const taken = at.rows(apps).map(({ name }) => name.replace(/-[a-z]+$/, ''));
  const base = { accountId: at.accountId, solutionSlug, appName: freeName(solutionSlug, taken), region };
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

function member(at: FormPlace) {
  return at.row('membershipId', memberships, ({ role }) => role === 'member')?.membershipId;
}

function allowed(at: FormPlace) {
  return at.row('membershipId', memberships, ({ role }) => role === 'member')?.allowedAppEnvIds ?? [];
}
