import { currentAccount, maySee, memberOf } from '../accounts/access.ts';
import { appNamed } from '../apps/app.ts';
import { type AreaAnswer, type Area, type AreaCall, ok, type Route, route } from '../area.ts';
import { optional, text } from '../http/fields.ts';
import { notFound } from '../http/refusal.ts';
import { date, listed } from '../public/shape.ts';
import type { World } from '../store/store.ts';
import { environmentRoutes } from './control.ts';
import { pass, settle, statusWord } from './deployment.ts';
import { contents, type Environment, environments } from './environment.ts';
import { build, deployImage, redeploy, rollback, start, stop } from './lifecycle.ts';

const startupFields = ['startupConfig', 'clearStartupConfig', 'replaceStartupConfig'];

/** Environments and their deployment lifecycle. */
export const environmentsArea: Area = {
  name: 'environments',
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
  timers: { 'environments.passes': pass, 'environments.settles': settle },
  control: environmentRoutes,
};

function lifecycle(action: string, handle: (call: AreaCall) => AreaAnswer, fields: readonly string[]): Route {
  const takes = ['appEnvId', 'envName', ...fields];
  return { method: 'POST', path: `/app-env/${action}`, scopes: ['svc:write:deploy'], takes, handle };
}

function listEnvironments(call: AreaCall): AreaAnswer {
  const { world } = call;
  const appId = optional(call.query, 'appId', text());
  const accountId = optional(call.query, 'accountId', text()) ?? currentAccount(call);
  const membership = memberOf(call, accountId);
  const app = appId === undefined ? undefined : appNamed(world, appId);
  if (app !== undefined && app.accountId !== accountId) throw notFound('the account has no such app');
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
