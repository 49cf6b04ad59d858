import { apps, kindOf } from '../../apps/app.ts';
import { isDatabase, versionsOf } from '../../apps/presets.ts';
import { credentials, memberships, regions } from '../../accounts/records.ts';
import { catalog } from '../../solutions/catalog.ts';
import { type Form, type FormPlace, type FormValues, formsOf } from './form.ts';

const member = 'accountId* @accounts, membershipId* @memberships';
const byMode = '<solutionSlug+inputs/agentAuthenticationMode';

/** Presets, apps, solutions and what a member may see. */
export const appForms: readonly Form[] = [
  ...formsOf('Apps', {
    'GET /apps': ['lists the apps of an account', 'accountId @accounts'],
    'POST /app': [
      'creates an app',
      `accountId* @accounts, name*, dockerPreset =creatablePresets, dockerPresetVersion <dockerPreset, port# <dockerPreset,
      useImage? <dockerPreset, image <dockerPreset, gitNamespace, gitRepo, gitInstallationId, buildArgs, contextDir, dockerfilePath,
      customDockerfileContent, isCliDeployment?, jobConfig{} <dockerPreset`,
      newApp,
      (at) => {
        const names = versionsOf(at.chosen('dockerPreset') ?? 'CUSTOM');
        return { dockerPresetVersion: names.map((value) => ({ value, text: value })) };
      },
    ],
    'GET /app': ['shows an app', 'appId* @apps'],
    'PATCH /app': [
      'changes an app for all its environments',
      `appId* @apps, dockerPreset =knownPresets, port# <appId, useImage? <appId, image <appId, builder, contextDir, buildArgs,
      dockerfilePath, customDockerfileContent, healthCheckPath, healthCheckPort#, healthCheckHeaders{},
      imagePullAccountSecretId @credentials, buildPullAccountSecretId @credentials, jobConfig{}, applyImmediately?`,
      changedApp,
    ],
    'DELETE /app': ['deletes an app with its environments', 'appId* @apps'],
    'GET /app-presets': ['lists what apps are made from'],
    'GET /database-presets': ['lists the managed databases and services'],
  }),
  ...formsOf('Solutions', {
    'GET /solutions': ['lists the catalog', 'accountId* @accounts'],
    'POST /solutions': [
      'installs a solution, or goes on with an installation',
      `accountId* @accounts, solutionSlug* =solutions, appName*, region* @regions, installationId, inputs/agentImage <solutionSlug,
      inputs/agentAuthenticationMode =API_KEY|PERSONAL_SUBSCRIPTION <solutionSlug, inputs/llmProviderKeyId @credentials ${byMode},
      inputs/agentPrimaryModel ${byMode}, inputs/agentSecondaryModel ${byMode}`,
      solution,
    ],
  }),
  ...formsOf('Member access', {
    'GET /member/env-access': ['shows which environments a member may see', member, ownMember],
    'PATCH /member/env-access': [
      'sets which environments a member may see; none means all',
      `${member}, allowedAppEnvIds[] @environments <membershipId`,
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

/** The same image with the next number as its tag. */
export function nextTag(image: string): string {
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
