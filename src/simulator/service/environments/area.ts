import { currentAccount, maySee, memberOf } from '../accounts/access.ts';
import { memberships, tokens } from '../accounts/records.ts';
import { appNamed } from '../apps/app.ts';
import { type Area, type AreaAnswer, type AreaCall, control, type ControlCall } from '../area.ts';
import { nothing, ok, type Route, route } from '../area.ts';
import { fields, flag, must, number, optional, type Reads, text } from '../../http/fields.ts';
import { invalid, notFound, taken } from '../../http/refusal.ts';
import { date, listed } from '../shape.ts';
import type { World } from '../../store/store.ts';
import { pass, settle, statusWord, toldStatus } from './deployment.ts';
import { addContent, contents, createEnvironment, deleteEnvironment, deploymentTimers } from './environment.ts';
import { type Environment, environmentNamed, environments, imageOf, isCliEnvName } from './environment.ts';
import { requireRunnable, sizeFields } from './environment.ts';
import { build, deployImage, redeploy, rollback, start, stop } from './lifecycle.ts';

/**
 * Validates the status of an environment in a control request (/_sim): converts running, stopped and updating to lower case, and leaves any
 * other status unchanged.
 */
const statusFrom: Reads<string> = (value, name) => {
  const word = text()(value, name);
  return ['running', 'stopped', 'updating'].includes(word.toLowerCase()) ? word.toLowerCase() : word;
};

const resourcesFrom: Reads<Environment['resources']> = (value, name) => {
  const { containers = 1, zClouds = 1, cpu = zClouds, memory = zClouds * 1024 } = sizeFields(value, name);
  return { containers, zClouds, cpu, memory };
};

const settable = {
  name: text(),
  cliEnvName: text(),
  region: text(),
  status: statusFrom,
  deployed: flag,
  gitBranch: text(),
  volumes: number({ min: 0, max: 100, whole: true }),
  preventDestroy: flag,
  resources: resourcesFrom,
};

const settableFields = fields(settable);

const newFields = fields({
  ...settable,
  appEnvId: text(),
  appId: must(text()),
  name: must(text()),
  region: must(text()),
  createdBy: text(),
});

function create({ world, body }: ControlCall<ReturnType<typeof newFields>>) {
  const { createdBy: token, ...given } = body;
  const { appEnvId } = given;
  if (appEnvId !== undefined && world.of(environments).has(appEnvId)) throw taken(`${appEnvId} exists already`);
  const { accountId } = appNamed(world, given.appId);
  requireFreeCliEnvName(world, accountId, given.cliEnvName);
  const createdBy = token === undefined ? {} : { createdBy: creatorWith(world, token, accountId) };
  const environment = createEnvironment(world, { ...given, ...createdBy });
  return ok({ appEnvId: environment.appEnvId });
}

function update({ world, id, body }: ControlCall<ReturnType<typeof settableFields>>) {
  const environment = environmentNamed(world, id);
  const { status, ...changed } = body;
  if (changed.cliEnvName !== environment.cliEnvName)
    requireFreeCliEnvName(world, environment.accountId, changed.cliEnvName);
  const told = status === undefined ? environment : toldStatus(world, environment, status);
  const next: Environment = { ...told, ...changed, updatedAt: world.now };
  const app = appNamed(world, next.appId);
  requireRunnable(world, app, next);
  world.change(environments, next, 'environment.updated', { fields: Object.keys(body) });
  if (next.deployed && next.currentContentId === undefined)
    addContent(world, next, imageOf(app), world.hash('build', id));
  return ok({ appEnvId: id });
}

function requireFreeCliEnvName(world: World, accountId: string, cliEnvName: string | undefined): void {
  if (cliEnvName !== undefined && isCliEnvName(world, accountId, cliEnvName))
    throw taken(`another environment of this account has the cliEnvName ${cliEnvName}`);
}

function creatorWith(world: World, token: string, accountId: string): string {
  if (!world.of(tokens).has(token)) throw notFound('the token named in `createdBy` does not exist');
  const mine = world.of(memberships).where('token', token);
  const membership = mine.find((each) => each.accountId === accountId);
  if (membership === undefined) throw invalid('the token named in `createdBy` has no membership in the account');
  return membership.membershipId;
}

function hidden(world: World, environment: Environment): object {
  const { startupConfig, functionConfig, envVars, currentContentId } = environment;
  const made = world.of(contents).where('environment', environment.appEnvId);
  const shown = Object.entries(envVars);
  if (world.readings['envVars.order'] === 'byName') shown.sort(([one], [other]) => (one < other ? -1 : 1));
  return {
    ...environment,
    createdAt: new Date(environment.createdAt).toISOString(),
    updatedAt: new Date(environment.updatedAt).toISOString(),
    startupConfig: startupConfig ?? null,
    functionConfig: functionConfig ?? null,
    envVars: Object.fromEntries(shown),
    envVarKinds: Object.fromEntries(shown.map(([name]) => [name, { secret: true, runtime: true }])),
    currentContentId: currentContentId ?? null,
    contents: made.map(({ contentId, version, image, buildHash }) => ({ contentId, version, image, buildHash })),
  };
}

const startupFields = ['startupConfig', 'clearStartupConfig', 'replaceStartupConfig'];

/** Serves environments and their deployments. */
export const environmentsArea: Area = {
  collections: [environments, contents],
  routes: [
    route('GET /app-envs', ['svc:read'], listEnvironments, ['accountId', 'appId']),
    lifecycle('deploy-image', deployImage, ['image', 'envVars', 'functionConfig', ...startupFields]),
    lifecycle('build', build, ['forceNewBuild', 'isRebuild', 'fromContentId', ...startupFields]),
    lifecycle('redeploy', redeploy, ['contentId']),
    lifecycle('rollback', rollback, ['targetContentId']),
    lifecycle('stop', stop, []),
    lifecycle('start', start, []),
  ],
  timers: { [deploymentTimers.passes]: pass, [deploymentTimers.settles]: settle },
  // The public API has no endpoints to create, change or delete an environment; users of the real service do this in its console. In the
  // simulator, these control routes (/_sim) take the place of the console.
  control: [
    control('POST /environments', 'creates an environment', newFields, create),
    control(
      'GET /environments/:id',
      'returns an environment with fields that the public API hides',
      nothing,
      ({ world, id }) => ok(hidden(world, environmentNamed(world, id))),
    ),
    control('PATCH /environments/:id', 'changes an environment', settableFields, update),
    control('DELETE /environments/:id', 'deletes an environment', nothing, ({ world, id }) => {
      deleteEnvironment(world, environmentNamed(world, id));
      return ok({ appEnvId: id });
    }),
  ],
};

function lifecycle(action: string, handle: (call: AreaCall) => AreaAnswer, fields: readonly string[]): Route {
  return route(`POST /app-env/${action}`, ['svc:write:deploy'], handle, ['appEnvId', 'envName', ...fields]);
}

function listEnvironments(call: AreaCall): AreaAnswer {
  const { world } = call;
  const appId = optional(call.query, 'appId', text());
  const accountId = optional(call.query, 'accountId', text()) ?? currentAccount(call);
  const membership = memberOf(call, accountId);
  const app = appId === undefined ? undefined : appNamed(world, appId);
  if (app !== undefined && app.accountId !== accountId) throw notFound('the account has no app with this appId');
  const rows =
    app === undefined ? listed(call, environments, 'account', accountId) : listed(call, environments, 'app', app.appId);
  const visible = rows.filter(({ appEnvId }) => maySee(world, membership, appEnvId));
  return ok({ appEnvs: visible.map((environment) => shown(world, environment)) });
}

function shown(world: World, environment: Environment): object {
  const { appEnvId, appId, name, slug, region, gitBranch, deploymentName, cliEnvName, hosts } = environment;
  const status = statusWord(world, environment.status, 'list');
  const named = { appEnvId, appId, name, slug, region, gitBranch, deploymentName, cliEnvName, hosts, status };
  const [createdAt, updatedAt] = [date(world, environment.createdAt), date(world, environment.updatedAt)];
  return { ...named, resources: environment.resources, createdAt, updatedAt };
}
