import { appNamed } from '../apps/app.ts';
import { type ControlCall, type ControlRoute, ok, control } from '../area.ts';
import {
  type BodyFields,
  flag,
  number,
  object,
  onlyFields,
  optional,
  present,
  type Reads,
  required,
  text,
} from '../http/fields.ts';
import { memberships, tokens } from '../accounts/records.ts';
import { invalid, notFound, taken } from '../http/refusal.ts';
import type { World } from '../store/store.ts';
import { toldStatus } from './deployment.ts';
import {
  addContent,
  contents,
  createEnvironment,
  deleteEnvironment,
  type Environment,
  environmentNamed,
  environments,
  imageOf,
  regionNamed,
  requireRunnable,
  type EnvironmentResources,
} from './environment.ts';

/** Creates, shows, changes and deletes environments: in the service only its console can. */
export const environmentRoutes: readonly ControlRoute[] = [
  control('POST /environments', 'creates an environment', create),
  control('GET /environments/:id', 'an environment with everything the interface hides', ({ world, id }) =>
    ok(hidden(world, environmentNamed(world, id))),
  ),
  control('PATCH /environments/:id', 'changes an environment', update),
  control('DELETE /environments/:id', 'deletes an environment', ({ world, id }) => {
    deleteEnvironment(world, environmentNamed(world, id));
    return ok({ appEnvId: id });
  }),
];

const settable = [
  'name',
  'cliEnvName',
  'region',
  'status',
  'deployed',
  'gitBranch',
  'volumes',
  'preventDestroy',
  'resources',
];

function create({ world, body }: ControlCall) {
  onlyFields(body, '', ['appEnvId', 'appId', 'createdBy', ...settable]);
  const appEnvId = optional(body, 'appEnvId', text());
  if (appEnvId !== undefined && world.of(environments).has(appEnvId)) throw taken(`${appEnvId} exists already`);
  const appId = required(body, 'appId', text());
  const { accountId } = appNamed(world, appId);
  const name = required(body, 'name', text());
  const region = required(body, 'region', text());
  const fields = { ...fieldsFrom(body), name, region, appId };
  requireFreeCliEnvName(world, accountId, fields.cliEnvName);
  const createdBy = creatorFrom(world, body, accountId);
  const environment = createEnvironment(world, present({ ...fields, appEnvId, createdBy }));
  return ok({ appEnvId: environment.appEnvId });
}

function update({ world, id, body }: ControlCall) {
  onlyFields(body, '', settable);
  const environment = environmentNamed(world, id);
  const { status, ...fields } = fieldsFrom(body);
  if (fields.cliEnvName !== environment.cliEnvName)
    requireFreeCliEnvName(world, environment.accountId, fields.cliEnvName);
  const told = status === undefined ? environment : toldStatus(world, environment, status);
  const next: Environment = { ...told, ...fields, updatedAt: world.now };
  const app = appNamed(world, next.appId);
  const at = { region: regionNamed(world, next.region), volumes: next.volumes, containers: next.resources.containers };
  requireRunnable(app, at);
  world.of(environments).put(next);
  if (next.deployed && next.currentContentId === undefined)
    addContent(world, next, imageOf(app), world.hash('build', id));
  world.record({ kind: 'environment.updated', id, accountId: next.accountId, detail: { fields: Object.keys(body) } });
  return ok({ appEnvId: id });
}

function fieldsFrom(body: BodyFields) {
  return present({
    name: optional(body, 'name', text()),
    cliEnvName: optional(body, 'cliEnvName', text()),
    region: optional(body, 'region', text()),
    status: optional(body, 'status', statusFrom),
    deployed: optional(body, 'deployed', flag),
    gitBranch: optional(body, 'gitBranch', text()),
    volumes: optional(body, 'volumes', number({ min: 0, max: 100, whole: true })),
    preventDestroy: optional(body, 'preventDestroy', flag),
    resources: optional(body, 'resources', resourcesFrom),
  }) as Partial<
    Pick<
      Environment,
      | 'name'
      | 'cliEnvName'
      | 'region'
      | 'status'
      | 'deployed'
      | 'gitBranch'
      | 'volumes'
      | 'preventDestroy'
      | 'resources'
    >
  >;
}

/** Known words are kept in lower case; any other word as it is. */
const statusFrom: Reads<string> = (value, name) => {
  const word = text()(value, name);
  return ['running', 'stopped', 'updating'].includes(word.toLowerCase()) ? word.toLowerCase() : word;
};

const resourcesFrom: Reads<EnvironmentResources> = (value, name) => {
  const given = object(value, name);
  onlyFields(given, name, ['containers', 'zClouds', 'cpu', 'memory']);
  const containers = optional(given, 'containers', number({ min: 0, max: 1000, whole: true })) ?? 1;
  const zClouds = optional(given, 'zClouds', number({ min: 0, max: 1000 })) ?? 1;
  const cpu = optional(given, 'cpu', number({ min: 0 })) ?? zClouds;
  const memory = optional(given, 'memory', number({ min: 0 })) ?? zClouds * 1024;
  return { containers, zClouds, cpu, memory };
};

function requireFreeCliEnvName(world: World, accountId: string, cliEnvName: string | undefined): void {
  if (cliEnvName === undefined) return;
  if (world.of(environments).where('cliEnvName', `${accountId}/${cliEnvName}`).length > 0) {
    throw taken(`an environment of this account has the cliEnvName ${cliEnvName} already`);
  }
}

function creatorFrom(world: World, body: BodyFields, accountId: string): string | undefined {
  const token = optional(body, 'createdBy', text());
  if (token === undefined) return undefined;
  if (!world.of(tokens).has(token)) throw notFound('createdBy: token not found');
  const membership = world
    .of(memberships)
    .where('token', token)
    .find((each) => each.accountId === accountId);
  if (membership === undefined) throw invalid('createdBy is not a member of the account');
  return membership.membershipId;
}

function hidden(world: World, environment: Environment): object {
  const { startupConfig, functionConfig, envVars, currentContentId } = environment;
  const names = Object.keys(envVars);
  if (world.readings['envVars.order'] === 'byName') names.sort();
  const shown = names.map((name) => [name, envVars[name]] as const);
  return {
    ...environment,
    createdAt: new Date(environment.createdAt).toISOString(),
    updatedAt: new Date(environment.updatedAt).toISOString(),
    startupConfig: startupConfig ?? null,
    functionConfig: functionConfig ?? null,
    envVars: Object.fromEntries(shown.map(([name, variable]) => [name, variable?.value])),
    envVarKinds: Object.fromEntries(
      shown.map(([name, variable]) => [name, { secret: variable?.secret, runtime: variable?.runtime }]),
    ),
    currentContentId: currentContentId ?? null,
    contents: world
      .of(contents)
      .where('environment', environment.appEnvId)
      .map(({ contentId, version, image, buildHash }) => ({ contentId, version, image, buildHash })),
  };
}
