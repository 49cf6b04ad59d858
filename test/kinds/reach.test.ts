import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { requests } from '../hosting/support/requests.ts';
import { anchorsOf } from '../support/documents.ts';
import { structural, type Structural } from '../../src/crd/structural.ts';
import { kinds } from '../../src/kinds/index.ts';
import { allEdits } from './support/edits/index.ts';
import { nodesOf } from './support/edits/nodes.ts';

/* Every field that a body of the interface takes, and where a user says it; what nobody can say has a rule of docs/design. */

const bodies = Object.fromEntries(
  requests.flatMap(([{ schema }, endpoint]) =>
    schema === undefined || endpoint.includes('/disaster-readiness/') ? [] : [[endpoint, schema]],
  ),
);

/** A field that is not said by a spec: known from what is bound, or left out by a rule, named as `page#heading`. */
type Place = string | { readonly from: 'account' | 'status' | 'annotation' } | { readonly rule: string };

/** How something is said to the service, and not what. */
const ways = new Set(['type', 'config', 'isRebuild', 'replaceStartupConfig', 'clearStartupConfig']);

const bound = { from: 'status' } as const;
const account = { from: 'account' } as const;
const byId = { rule: 'ownership.md#calls-name-objects-by-id' } as const;
const startup = {
  startupConfig: 'AppEnvironment startupConfig',
  replaceStartupConfig: 'AppEnvironment startupConfig',
  clearStartupConfig: 'AppEnvironment startupConfig',
};

/** Each body, with the words that are not the name of a field at the top of the spec: those need no row. */
const places: Readonly<Record<string, Readonly<Record<string, Place>>>> = {
  'POST /app': {
    accountId: account,
    dockerPreset: 'HostedApp preset',
    dockerPresetVersion: 'HostedApp atCreation.presetVersion',
    useImage: 'HostedApp image',
    gitNamespace: 'HostedApp source.git.namespace',
    gitRepo: 'HostedApp source.git.repo',
    gitInstallationId: 'HostedApp source.git.installationId',
    image: 'HostedApp image.reference',
    buildArgs: 'HostedApp source.buildArgs',
    contextDir: 'HostedApp source.contextDir',
    dockerfilePath: 'HostedApp source.dockerfilePath',
    customDockerfileContent: 'HostedApp source.dockerfile',
    isCliDeployment: 'HostedApp source.cliDeployment',
    containers: 'HostedApp atCreation.database.containers',
    disk: 'HostedApp atCreation.database.disk',
    withPersistence: 'HostedApp atCreation.database.withPersistence',
    databaseSettings: 'HostedApp atCreation.database.settings',
  },
  'PATCH /app': {
    appId: bound,
    dockerfilePath: 'HostedApp source.dockerfilePath',
    customDockerfileContent: 'HostedApp source.dockerfile',
    dockerPreset: 'HostedApp preset',
    builder: 'HostedApp source.builder',
    contextDir: 'HostedApp source.contextDir',
    buildArgs: 'HostedApp source.buildArgs',
    useImage: 'HostedApp image',
    image: 'HostedApp image.reference',
    healthCheckPath: 'HostedApp healthCheck.path',
    healthCheckPort: 'HostedApp healthCheck.port',
    healthCheckHeaders: 'HostedApp healthCheck.headers',
    imagePullAccountSecretId: 'HostedApp image.pullSecretId',
    buildPullAccountSecretId: 'HostedApp source.pullSecretId',
  },
  'POST /app-env/deploy-image': {
    appEnvId: bound,
    envName: byId,
    image: 'AppEnvironment deploy.image',
    envVars: 'AppEnvironment env',
    ...startup,
  },
  'POST /app-env/build': {
    appEnvId: bound,
    envName: byId,
    forceNewBuild: 'AppEnvironment deploy.build.forceNewBuild',
    isRebuild: 'AppEnvironment deploy.build.fromContentId',
    fromContentId: 'AppEnvironment deploy.build.fromContentId',
    ...startup,
  },
  'POST /app-env/redeploy': { appEnvId: bound, envName: byId, contentId: byId },
  'POST /app-env/rollback': {
    appEnvId: bound,
    envName: byId,
    targetContentId: 'AppEnvironment deploy.rollbackContentId',
  },
  'POST /app-env/stop': { appEnvId: bound, envName: byId },
  'POST /app-env/start': { appEnvId: bound, envName: byId },
  'POST /solutions': {
    accountId: account,
    solutionSlug: 'SolutionInstallation solution',
    installationId: 'SolutionInstallation externalId',
  },
  'PATCH /member/env-access': {
    accountId: account,
    membershipId: 'MemberAccess externalId',
    allowedAppEnvIds: 'MemberAccess environmentRefs',
  },
  'POST /contact-point': {
    accountId: account,
    type: 'ContactPoint email',
    config: 'ContactPoint email',
  },
  'PATCH /contact-point': { contactPointId: bound, config: 'ContactPoint email' },
  'POST /app-env/alert': {
    appEnvId: 'MetricAlert environmentRef.externalId',
    envName: byId,
    contactPointIds: 'MetricAlert contactPointRefs',
    contactPointNames: byId,
  },
  'PATCH /alert': {
    alertId: bound,
    contactPointIds: 'MetricAlert contactPointRefs',
  },
  'POST /alert/toggle': { alertId: bound, enabled: 'MetricAlert enabled' },
  'POST /alert/refresh': { alertId: bound },
};

const known = new Set(allEdits.flatMap(({ kind, schema }) => nodesOf(schema).map(({ path }) => `${kind} ${path}`)));

function wordsOf(endpoint: string): readonly string[] {
  const body = bodies[endpoint];
  return body instanceof z.ZodObject ? Object.keys(body.shape) : [];
}

/** Where each word of a body is said: as its row tells, or in the field of the same name of the kind that the other rows name. */
function saidIn(endpoint: string): Readonly<Record<string, Place>> {
  const told = places[endpoint] ?? {};
  const [kind = ''] = Object.values(told).flatMap((place) => (typeof place === 'string' ? place.split(' ', 1) : []));
  return Object.fromEntries(wordsOf(endpoint).map((word) => [word, told[word] ?? `${kind} ${word}`]));
}

/** What `kubectl explain` says of a place, and of what is around it. */
function explained(place: string): string {
  const [kind, path = ''] = place.split(' ');
  const root = kinds.find((one) => one.kind === kind);
  if (root === undefined) return '';
  const nodes = path.split('.').reduce<readonly Structural[]>(
    (way, name) => {
      const node = way.at(-1);
      const child = node?.properties?.[name];
      return child === undefined ? way : [...way, child];
    },
    [structural(root.spec, 'spec')],
  );
  return nodes
    .slice(1)
    .map(({ description }) => description)
    .join(' ');
}

/** The fields whose own name is not that of the interface, and whose description does not have it either. */
function unexplained(fields: Readonly<Record<string, Place>>): readonly string[] {
  return Object.entries(fields).flatMap(([word, place]) => {
    if (typeof place !== 'string' || ways.has(word)) return [];
    const isSaid = place.split('.').at(-1)?.split(' ').at(-1) === word || explained(place).includes(word);
    return isSaid ? [] : [`${place}: ${word}`];
  });
}

const rules = join(import.meta.dirname, '../../docs/design');

/** Why a place is none; undefined when a user can say it there, or something else knows it. */
function flawOf(place: Place): string | undefined {
  if (typeof place === 'string') return known.has(place) ? undefined : `${place} is no field`;
  if ('from' in place) return undefined;
  const [page = '', heading = ''] = place.rule.split('#');
  const isThere = anchorsOf(readFileSync(join(rules, page), 'utf8')).includes(heading);
  return isThere ? undefined : `there is no rule ${place.rule}`;
}

describe('what the interface takes', () => {
  it('is told by these requests and no other', () => {
    expect(Object.keys(places).toSorted()).toEqual(Object.keys(bodies).toSorted());
  });

  it.each(Object.entries(places))('can be said, or there is a rule why not: %s', (endpoint, told) => {
    const taken = new Set(wordsOf(endpoint));

    expect(Object.keys(told).filter((word) => !taken.has(word))).toEqual([]);
    expect(Object.values(saidIn(endpoint)).flatMap((place) => flawOf(place) ?? [])).toEqual([]);
  });

  it.each(Object.keys(places))('is found by its own word in what explains the fields: %s', (endpoint) => {
    expect(unexplained(saidIn(endpoint))).toEqual([]);
  });
});
