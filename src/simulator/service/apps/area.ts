import { adminOf, currentAccount, isRestricted, maySee, memberOf } from '../accounts/access.ts';
import type { MembershipRecord } from '../accounts/records.ts';
import { type AreaAnswer, type Area, type AreaCall, ok, control, route } from '../area.ts';
import { deleteEnvironment, environments, environmentsOf } from '../environments/environment.ts';
import { choice, fields, optional, required, text } from '../../http/fields.ts';
import { forbidden } from '../../http/refusal.ts';
import { date, listed, rejected, single } from '../shape.ts';
import type { World } from '../../store/store.ts';
import { type App, appNamed, apps, kindOf } from './app.ts';
import { appPresets, databasePresets } from './presets.ts';
import { creationFields, patchApp, patchFields, postApp, provision } from './write.ts';

/** Serves apps and the presets of apps. An app holds the settings that its environments share. */
export const appsArea: Area = {
  collections: [apps],
  routes: [
    route('GET /app-presets', ['svc:read'], () => ok({ presets: appPresets }), []),
    route('GET /database-presets', ['svc:read'], () => ok({ presets: databasePresets }), []),
    route('POST /app', ['svc:write:config'], postApp, creationFields),
    route('GET /app', ['svc:read'], getApp, ['appId']),
    route('PATCH /app', ['svc:write:config'], patchApp, patchFields),
    route('DELETE /app', ['svc:write:config'], deleteApp, ['appId']),
    route('GET /apps', ['svc:read'], listApps, ['accountId']),
  ],
  timers: { 'apps.provisions': provision },
  control: [
    control(
      'PATCH /apps/:id',
      'sets the outcome of terminating the sandbox workloads of an app: {sandboxTermination?: done, pending or failed}',
      fields({ sandboxTermination: choice(['done', 'pending', 'failed']) }),
      ({ world, id, body }) => {
        world.of(apps).put({ ...appNamed(world, id), ...body });
        return ok({ appId: id });
      },
    ),
  ],
};

function getApp(call: AreaCall): AreaAnswer {
  const app = appNamed(call.world, required(call.query, 'appId', text()));
  const membership = memberOf(call, app.accountId);
  if (!isVisible(call.world, membership, app)) throw forbidden('you have no access to any environment of this app');
  return ok(single(call.world, 'app', shownApp(app)));
}

function listApps(call: AreaCall): AreaAnswer {
  const accountId = optional(call.query, 'accountId', text()) ?? currentAccount(call);
  const membership = memberOf(call, accountId);
  const visible = listed(call, apps, 'account', accountId).filter((app) => isVisible(call.world, membership, app));
  return ok({ apps: visible.map((app) => listedApp(call, app)) });
}

/** True if the member may see the app: a restricted member needs access to at least one environment of the app. */
function isVisible(world: World, membership: MembershipRecord, app: App): boolean {
  if (!isRestricted(world, membership)) return true;
  return environmentsOf(world, app.appId).some(({ appEnvId }) => maySee(world, membership, appEnvId));
}

function deleteApp(call: AreaCall): AreaAnswer {
  const { world } = call;
  const app = appNamed(world, required(call.query, 'appId', text()));
  adminOf(call, app.accountId);
  const hosted = world.of(environments).where('app', app.appId);
  if (hosted.some(({ preventDestroy }) => preventDestroy)) {
    throw rejected(world, 'an environment of this app has preventDestroy enabled');
  }
  if (app.sandboxTermination !== 'done') return keepForNow(world, app);
  for (const environment of hosted) deleteEnvironment(world, environment);
  world.remove(apps, app, 'app.deleted', { name: app.name });
  return ok({ message: 'App deleted' });
}

/**
 * Rejects the deletion of an app whose sandbox workloads have not been terminated yet, and records in the app that its deletion has
 * started.
 */
function keepForNow(world: World, app: App): AreaAnswer {
  if (!app.deletionStarted) world.of(apps).put({ ...app, deletionStarted: true });
  const how = app.sandboxTermination === 'pending' ? 'is pending' : 'has failed';
  return { refusal: rejected(world, `ending the sandbox workloads of the app ${how}: delete the app again later`) };
}

/** Formats the fields with which an app begins in the responses to GET /app and GET /apps. */
function namedApp({ appId, name, slug, gitNamespace, gitRepo }: App): object {
  return { appId, name, slug, gitProvider: gitRepo === undefined ? undefined : 'GITHUB', gitNamespace, gitRepo };
}

function shownApp(app: App): object {
  return {
    ...namedApp(app),
    gitInstallationId: app.gitInstallationId,
    dockerPreset: app.dockerPreset,
    contextDir: app.contextDir,
    customDockerfileContentInUse: app.customDockerfileContent !== undefined,
    dockerfilePath: app.dockerfilePath,
    useSSL: kindOf(app) !== 'job',
    useTCP: kindOf(app) === 'database',
    useImage: app.useImage,
    port: app.port,
    builder: app.builder,
    isCliDeployment: app.isCliDeployment,
  };
}

function listedApp({ world, caller }: AreaCall, app: App): object {
  return {
    ...namedApp(app),
    dockerPreset: app.dockerPreset,
    template: undefined,
    createdAt: date(world, app.createdAt),
    updatedAt: date(world, app.updatedAt),
    isCurrent: app.accountId === caller.token.currentAccountId,
  };
}
