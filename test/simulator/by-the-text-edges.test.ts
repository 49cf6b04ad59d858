import { describe, expect, it } from 'vitest';

import { any, ask, type Check, holds } from './by-the-text.ts';
import {
  account,
  activate,
  activation,
  agent,
  asMember,
  configure,
  day,
  deploy,
  email,
  fails,
  hidden,
  install,
  key,
  makeAlert,
  makeApp,
  makePoint,
  minute,
  points,
  protectedWeb,
  reset,
  restrict,
  succeeds,
  tell,
  token,
  web,
} from './page/demo-steps.ts';

const member = 'demo-member';
const busy = ask('POST /_sim/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent', value: 90 }, 200);
const calm = ask('POST /_sim/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent', value: 10 }, 200);
const configurations = (shows: object, as = 'demo-admin') =>
  ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { as, shows });
const validate = (changes: object, status: number | '4xx', more: object = {}) =>
  ask(
    'POST /disaster-readiness/validate',
    { ...account, configurationId: '$dr', expectedGeneration: 1, requestId: 'v1', ...changes },
    status,
    more,
  );
const discard = (changes: object, status: number | '4xx', more: object = {}) =>
  ask(
    'POST /disaster-readiness/discard-activation',
    {
      ...account,
      configurationId: '$dr',
      operationId: '$act',
      expectedGeneration: 1,
      requestId: 'd1',
      discardAcknowledged: true,
      ...changes,
    },
    status,
    more,
  );
const environment = (changes: object, status: number | '4xx' = 200) =>
  ask('POST /_sim/environments', { appEnvId: 'e', appId: 'app_web', name: 'e', region: 'eu-west', ...changes }, status);
const reading = (changes: object) => ask('PATCH /_sim/readings', changes, 200);

// The table stays one line for each check.
// oxfmt-ignore
const access: readonly Check[] = [
  ['an empty Authorization is none', ask('GET /apps', undefined, 401, { as: '' })],
  ['points need svc:read and no more than membership', ...protectedWeb, token('writer', { scopes: ['svc:write:config', 'svc:write:deploy', 'svc:write:dangerous'] }), ask('GET /disaster-readiness/points?accountId=acc_demo&configurationId=$dr', undefined, 403, { as: 'writer' }), ask('GET /disaster-readiness/points?accountId=acc_demo&configurationId=$dr', undefined, 200, asMember)],
  ['writes of disaster readiness do not need svc:read', token('writer', { scopes: ['svc:write:config', 'svc:write:deploy'] }), configure({}, 200, { ...succeeds, as: 'writer' })],
  ['a check needs svc:write:deploy alone, and an account admin', ...protectedWeb, token('deployer', { scopes: ['svc:write:deploy'] }), token('soft', { scopes: ['svc:write:deploy'] }, { role: 'member' }), validate({}, 403, { as: 'soft' }), validate({}, 200, { as: 'deployer' })],
  ['membership in the account of the protection is what counts', configure({}, 403, { as: 'demo-foreign' }), ask('GET /disaster-readiness/sources?accountId=acc_demo', undefined, 403, { as: 'demo-foreign' })],
  ['disaster readiness takes no environment token', ask('GET /disaster-readiness/sources?accountId=acc_demo', undefined, '4xx', { as: 'demo-environment' }), configure({}, '4xx', { as: 'demo-environment' })],
  ['an app of another account is a 403', ask('GET /app?appId=app_web', undefined, 403, { as: 'demo-foreign' }), ask('DELETE /app?appId=app_web', undefined, 403, { as: 'demo-foreign' }), deploy({}, 403, { as: 'demo-foreign' })],
  ['no current account is a 404 on both lists', token('lost', { currentAccountId: null }), ask('GET /apps', undefined, 404, { as: 'lost' }), ask('GET /app-envs', undefined, 404, { as: 'lost' }), ask('GET /apps?accountId=acc_demo', undefined, 200, { as: 'lost' })],
  ['the list of one app in the account that is named', ask('GET /app-envs?accountId=acc_demo&appId=app_web', undefined, 200, { shows: { appEnvs: [{ appEnvId: 'env_web_prod' }, { appEnvId: 'env_web_staging' }] } }), ask('GET /app-envs?appId=none', undefined, 404)],
  ['a restricted member sees no alert of another environment', makePoint(), makeAlert(), ...restrict, ask('GET /alert?alertId=$al', undefined, 403, asMember)],
  ['a change of access takes effect with the next call', ...restrict, ask('POST /app-env/redeploy', { appEnvId: 'env_web_prod' }, 403, asMember), ask('PATCH /member/env-access', { ...account, membershipId: 'mem_demo', allowedAppEnvIds: ['env_web_prod'] }, 200), ask('POST /app-env/redeploy', { appEnvId: 'env_web_prod' }, 200, asMember), ask('POST /app-env/stop', { appEnvId: 'env_fn_prod' }, 403, asMember)],
  ['counts of a pending cleanup cover only what a caller may see', ...protectedWeb, tell({ pendingCleanup: { pendingCount: 1, retainedDiskCount: 2, retryingCount: 0 } }), configurations({ items: [{ pendingCleanup: { pendingCount: 1, retainedDiskCount: 2, retryingCount: 0 } }] }), ...restrict, configurations({ items: [] }, member)],
];

// The table stays one line for each check.
// oxfmt-ignore
const apps: readonly Check[] = [
  ['app presets and database presets do not overlap', ask('GET /database-presets', undefined, 200, { shows: { presets: ['MONGODB', 'POSTGRESQL', 'MYSQL', 'REDIS', 'COUCHDB', 'RABBITMQ', 'CLICKHOUSE'].map((name) => ({ name, versions: expect.any(Array), defaultDockerPresetVersion: any('string'), protocols: expect.any(Array), limits: { maxDisk: any('number'), maxReplicas: any('number') } })) } })],
  ['an image is used when useImage is true', makeApp({ image: 'i:1', useImage: true }), ask('GET /app?appId=$app', undefined, 200, { shows: { useImage: true } }), ask('POST /app', { ...account, name: 'y', port: 1, image: 'i:1' }, 200)],
  ['a port is a number of a port', ...['80', 0, -1, 65_536, 1.5].map((port) => ask('POST /app', { ...account, name: 'y', port }, 400)), ask('POST /app', { ...account, name: 'y', port: 65_535 }, 200)],
  ['a change affects every environment of the app', ask('PATCH /app', { appId: 'app_web', port: 81 }, 200, { shows: { appId: 'app_web', name: 'web', dockerPreset: 'CUSTOM', port: 81, environmentsAffected: 2 } })],
  ['both Dockerfiles together are refused at an update too', makeApp(), ask('PATCH /app', { appId: '$app', dockerfilePath: 'D', customDockerfileContent: 'FROM x' }, 400), ask('PATCH /app', { appId: '$app', customDockerfileContent: 'FROM x' }, 200), ask('GET /app?appId=$app', undefined, 200, { shows: { customDockerfileContentInUse: true } })],
  ['applyImmediately deploys at once', ask('PATCH /app', { appId: 'app_web', image: 'i:9', applyImmediately: true }, 200), hidden('env_web_prod', { status: 'updating' }), minute, ask('GET /app-envs?appId=app_web', undefined, 200, { shows: { appEnvs: [{ status: 'running' }, { status: 'running' }] } })],
  ['applyImmediately is a Boolean', ask('PATCH /app', { appId: 'app_web', port: 81, applyImmediately: 'true' }, 400)],
  ['an app that is not there is a 404', ask('GET /app?appId=none', undefined, 404), ask('PATCH /app', { appId: 'none', port: 1 }, 404), ask('DELETE /app?appId=none', undefined, 404), ask('GET /app', undefined, 400)],
  ['a deletion that termination held up works once it is done', ask('PATCH /_sim/apps/app_web', { sandboxTermination: 'pending' }, 200), ask('DELETE /app?appId=app_web', undefined, 'error', { commits: true }), ask('GET /app?appId=app_web', undefined, 200), ask('GET /app-envs?appId=app_web', undefined, 200, { shows: { appEnvs: [{}, {}] } }), ask('PATCH /_sim/apps/app_web', { sandboxTermination: 'done' }, 200), ask('DELETE /app?appId=app_web', undefined, 200)],
  ['preventDestroy comes before termination', ask('PATCH /_sim/apps/app_web', { sandboxTermination: 'failed' }, 200), ask('PATCH /_sim/environments/env_web_staging', { preventDestroy: true }, 200), ask('DELETE /app?appId=app_web', undefined, '4xx')],
];

// The table stays one line for each check.
// oxfmt-ignore
const lifecycle: readonly Check[] = [
  ['the same image twice is two contents', deploy({}, 200, { keep: { one: 'contentId' }, fields: ['success', 'message', 'appEnv', 'contentId'] }), deploy({}, 200, { keep: { two: 'contentId' } }), minute, hidden('env_web_prod', { currentContentId: any('string'), contents: [{ version: 1 }, { version: 2, image: 'i:1' }, { version: 3, image: 'i:1' }] }), ask('POST /app-env/rollback', { appEnvId: 'env_web_prod', targetContentId: '$one' }, 200)],
  ['a redeployment of an older content makes it the current one', deploy({}, 200, { keep: { one: 'contentId' } }), deploy({ image: 'i:2' }, 200), minute, ask('POST /app-env/redeploy', { appEnvId: 'env_web_prod', contentId: '$one' }, 200), minute, ask('GET /_sim/environments/env_web_prod', undefined, 200, { keep: { now: 'currentContentId' } }), ask('POST /app-env/rollback', { appEnvId: 'env_web_prod', targetContentId: '$one' }, '4xx')],
  ['the answer of a rollback has its content beside the usual fields', deploy({}, 200), minute, ask('POST /app-env/rollback', { appEnvId: 'env_web_prod' }, 200, { fields: ['success', 'message', 'appEnv', 'rollbackInfo'], shows: { appEnv: { status: 'UPDATING' } } })],
  ['a content that nobody knows is a 404', ask('POST /app-env/rollback', { appEnvId: 'env_web_prod', targetContentId: 'none' }, 404), ask('POST /app-env/redeploy', { appEnvId: 'env_web_prod', contentId: 'none' }, 404)],
  ['an environment that was stopped is stopped again', ask('POST /app-env/stop', { appEnvId: 'env_web_prod' }, 200), minute, ask('POST /app-env/stop', { appEnvId: 'env_web_prod' }, 200, { shows: { appEnv: { status: 'UPDATING' } } }), minute, hidden('env_web_prod', { status: 'stopped' })],
  ['a deployment while another is under way is refused when the reading says so', reading({ 'deploy.whileUpdating': 'reject' }), deploy({}, 200), deploy({}, '4xx'), minute, deploy({}, 200)],
  ['args are texts, in a list', deploy({ startupConfig: { args: '-v' } }, 400), deploy({ startupConfig: { args: [1] } }, 400), deploy({ startupConfig: { workingDir: 7 } }, 400), deploy({ startupConfig: { command: 'x', shell: 'yes' } }, 400)],
  ['a cleared configuration is the one of the image', deploy({ startupConfig: { command: 'a' } }, 200), ask('POST /app-env/build', { appEnvId: 'env_web_prod', clearStartupConfig: true }, '4xx'), deploy({ clearStartupConfig: true }, 200), hidden('env_web_prod', { startupConfig: null })],
  ['a refused deployment saves neither variables nor startup', deploy({ envVars: { A: '1' }, startupConfig: { command: 'a b', shell: false } }, 400), hidden('env_web_prod', { envVars: {}, startupConfig: null })],
  ['the flags of a build are Booleans', makeApp({ gitNamespace: 'n', gitRepo: 'r', gitInstallationId: 'i' }), environment({ appId: '$app', gitBranch: 'main', status: 'running' }), ask('POST /app-env/build', { appEnvId: 'e', forceNewBuild: 'yes' }, 400), ask('POST /app-env/build', { appEnvId: 'e', isRebuild: 1 }, 400), ask('POST /app-env/build', { appEnvId: 'e', forceNewBuild: true }, 200, { shows: { success: true, appEnv: { status: 'UPDATING' } } })],
  ['a Function converted from an app may be deployed without useImage', ask('PATCH /app', { appId: 'app_job', dockerPreset: 'FUNCTION' }, 200), deploy({ appEnvId: 'env_job_prod', functionConfig: { minScale: 0, maxScale: 3 } }, 200), hidden('env_job_prod', { functionConfig: { minScale: 0, maxScale: 3 } })],
];

// The table stays one line for each check.
// oxfmt-ignore
const watching: readonly Check[] = [
  ['creation shows eleven fields of an alert', makePoint(), makeAlert({}, 200, { shows: { alert: { name: 'busy', metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '5m' } }, lacks: ['alert.description', 'alert.region', 'alert.appEnvId'] })],
  ['each required field of an alert is required', makePoint(), ...(['name', 'metric', 'operator', 'threshold', 'duration'] as const).map((field) => makeAlert({ [field]: undefined }, 400))],
  ['an empty description and a threshold of zero are values', makePoint(), makeAlert({ description: '', threshold: 0 }), ask('GET /alert?alertId=$al', undefined, 200, { shows: { description: '', threshold: 0 } })],
  ['an alert takes no contact point of another account', ask('POST /_sim/tokens', { token: 'there', memberships: [{ accountId: 'acc_other', role: 'admin' }] }, 200), ask('POST /contact-point', { ...email, accountId: 'acc_other' }, 200, { as: 'there', keep: { cp: 'contactPoint.contactPointId' } }), makeAlert({}, '4xx'), makeAlert({ contactPointIds: ['none'] }, '4xx')],
  ['an update keeps to the lengths and the words', makePoint(), makeAlert(), ...[{ name: '' }, { name: 'x'.repeat(101) }, { description: 'x'.repeat(501) }, { operator: 'eq' }, { duration: '2h' }, { queryRange: '3m' }, { aggregation: 'avg' }, { threshold: null }, { enabled: 'false' }, { metric: 'disk' }].map((change) => ask('PATCH /alert', { alertId: '$al', ...change }, 400)), ask('PATCH /alert', { alertId: '$al', name: 'x'.repeat(100), description: 'x'.repeat(500) }, 200)],
  ['an update with enabled false pauses as the toggle does', makePoint(), makeAlert({ duration: '1m' }), ask('PATCH /alert', { alertId: '$al', enabled: false }, 200), busy, 5 * minute, ask('GET /alert?alertId=$al', undefined, 200, { shows: { enabled: false, lastKnownState: 'Normal' } }), ask('PATCH /alert', { alertId: '$al', enabled: true }, 200), 5 * minute, ask('POST /alert/refresh', { alertId: '$al' }, 200, { shows: { state: 'Firing' } })],
  ['a condition is Pending until its duration has passed', makePoint(), makeAlert({ duration: '1m' }), busy, minute / 2, ask('POST /alert/refresh', { alertId: '$al' }, 200, { shows: { state: 'Pending', previousState: 'Normal' } }), 2 * minute, ask('POST /alert/refresh', { alertId: '$al' }, 200, { shows: { state: 'Firing', previousState: 'Pending' } }), calm, minute, ask('POST /alert/refresh', { alertId: '$al' }, 200, { shows: { state: 'Normal', previousState: 'Firing' } })],
  ['a threshold that is reached exactly is not passed', makePoint(), makeAlert({ threshold: 90, duration: '1m' }), busy, 5 * minute, ask('POST /alert/refresh', { alertId: '$al' }, 200, { shows: { state: 'Normal' } })],
  ['the worst pod decides with max, the best with min', makePoint(), ask('POST /_sim/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent_per_pod', value: 50, pods: [10, 90] }, 200), makeAlert({ metric: 'cpu_percent_per_pod', aggregation: 'max', duration: '1m' }), 5 * minute, ask('POST /alert/refresh', { alertId: '$al' }, 200, { shows: { state: 'Firing' } }), makeAlert({ metric: 'cpu_percent_per_pod', aggregation: 'min', duration: '1m' }), 5 * minute, ask('POST /alert/refresh', { alertId: '$al' }, 200, { shows: { state: 'Normal' } })],
  ['an alert that is gone is a 404 everywhere', makePoint(), makeAlert(), ask('DELETE /alert?alertId=$al', undefined, 200, { fields: ['message'] }), ask('DELETE /alert?alertId=$al', undefined, 404), ask('GET /alert?alertId=$al', undefined, 404), ask('PATCH /alert', { alertId: '$al', name: 'x' }, 404), ask('POST /alert/toggle', { alertId: '$al', enabled: true }, 404), ask('POST /alert/refresh', { alertId: '$al' }, 404)],
  ['a refusal to delete counts the alerts', makePoint(), makeAlert(), makeAlert({ name: 'second' }), ask('DELETE /contact-point?contactPointId=$cp', undefined, '4xx', { shows: { error: any('string'), details: expect.stringMatching(/\b2\b/) } })],
  ['a contact point that an alert let go of is free', makePoint(), makeAlert(), ask('POST /contact-point', { ...email, name: 'other' }, 200, { keep: { other: 'contactPoint.contactPointId' } }), ask('PATCH /alert', { alertId: '$al', contactPointIds: ['$other'] }, 200), ask('DELETE /contact-point?contactPointId=$cp', undefined, 200)],
  ['a deployment of a contact point has two fields', makePoint(), makeAlert(), minute, ask('GET /contact-points?accountId=acc_demo', undefined, 200, { shows: { contactPoints: [{ dashboardDeployments: [{ region: 'eu-west', dashboardContactPointUid: any('string') }] }] }, lacks: ['contactPoints.0.config'] })],
  ['showSecrets false shows none', makePoint(), ask('GET /contact-point?contactPointId=$cp&showSecrets=false', undefined, 200, { as: 'demo-admin-no-secrets', lacks: ['config'] })],
  ['an update moves updatedAt and not createdAt', makePoint(), minute, ask('PATCH /contact-point', { contactPointId: '$cp', name: 'new' }, 200), ask('GET /contact-point?contactPointId=$cp', undefined, 200, { shows: { name: 'new', createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:01:00.000Z' } })],
  ['an incident key stays when it is masked, and its severity changes', makePoint({ type: 'incident_service', config: { integrationKey: 'k-1', severity: 'low' } }), ask('PATCH /contact-point', { contactPointId: '$cp', config: { integrationKey: '****', severity: 'high' } }, 200), ask('GET /contact-point?contactPointId=$cp&showSecrets=true', undefined, 200, { shows: { config: { integrationKey: 'k-1', severity: 'high' } } })],
  ['queries that are required', ask('GET /contact-points', undefined, 400), ask('GET /contact-point', undefined, 400), ask('DELETE /contact-point', undefined, 400), ask('GET /alert', undefined, 400), ask('DELETE /alert', undefined, 400), ask('GET /contact-point?contactPointId=none', undefined, 404), ask('GET /app-env/alerts?appEnvId=none', undefined, 404)],
];

const warm = { mode: 'warm', target: { envName: 'standby', createNewApp: false } };

// The table stays one line for each check.
// oxfmt-ignore
const disaster: readonly Check[] = [
  ['pages of points and sources have the same limits', ...protectedWeb, ...['0', '101', '-1', ''].flatMap((limit) => [ask(`GET /disaster-readiness/points?accountId=acc_demo&configurationId=$dr&limit=${limit}`, undefined, 400), ask(`GET /disaster-readiness/sources?accountId=acc_demo&limit=${limit}`, undefined, 400)]), ask('GET /disaster-readiness/points?accountId=acc_demo&configurationId=$dr&limit=1', undefined, 200)],
  ['a page of one leads through all points', ...protectedWeb, ask('POST /_sim/configurations/$dr/points', { count: 1 }, 200), ask('GET /disaster-readiness/points?accountId=acc_demo&configurationId=$dr&limit=1', undefined, 200, { shows: { items: [{}], nextCursor: any('string') }, keep: { next: 'nextCursor' } }), ask('GET /disaster-readiness/points?accountId=acc_demo&configurationId=$dr&limit=1&after=$next', undefined, 200, { shows: { items: [{}] }, lacks: ['nextCursor'] })],
  ['points of a configuration that nobody knows are a 404', ask('GET /disaster-readiness/points?accountId=acc_demo&configurationId=none', undefined, 404), ask('GET /disaster-readiness/points?accountId=acc_demo', undefined, 400)],
  ['a replay of configure answers as it did then, also after an edit', configure({}, 200, { ...succeeds, keep: { op: 'items.0.operationId' } }), configure({ requestId: 'r2', expectedGeneration: 1, rtoTargetMs: 2 * minute }, 200, { shows: { items: [{ success: true, generation: 2 }] } }), configure({}, 200, { shows: { items: [{ success: true, generation: 1 }] } }), configurations({ items: [{ generation: 2 }] })],
  ['a new protection is of generation 0', configure({ expectedGeneration: 1 }, 200, fails), configure({ expectedGeneration: '0' }, 400), configure({ requestId: 'r2' }, 200, { shows: { items: [{ generation: 1 }] } })],
  ['a credential of another kind is no storage', key, configure({ storageCredentialId: 'llm' }, 200, fails), ask('POST /_sim/credentials', { credentialId: 'disk', ...account, kind: 'storage' }, 200), configure({ storageCredentialId: 'disk', requestId: 'r2' }, 200, succeeds)],
  ['a source that nobody knows fails its item alone', ask('POST /disaster-readiness/configure', { ...account, common: {}, items: [{ sourceAppEnvId: 'none', requestId: 'a', expectedGeneration: 0 }, { sourceAppEnvId: 'env_web_prod', requestId: 'b', expectedGeneration: 0 }] }, 200, { shows: { items: [{ sourceAppEnvId: 'none', success: false, error: any('string') }, { sourceAppEnvId: 'env_web_prod', success: true }] } })],
  ['a warm destination has the name of the app when a new one is created', configure({ mode: 'warm', target: { envName: 'w', createNewApp: true, appName: 'fresh' } }, 200, succeeds), minute, configurations({ items: [{ warmDestination: { envName: 'w', createNewApp: true, appName: 'fresh' } }] })],
  ['a warm destination in the same app has no name of one', configure(warm, 200, succeeds), minute, ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { shows: { items: [{ warmDestination: { envName: 'standby', createNewApp: false }, standby: { shape: any('string') } }] }, lacks: ['items.0.warmDestination.appName', 'items.0.plannedDestination'] })],
  ['a protected source has the target of its standby', configure(warm, 200, succeeds), 5 * minute, ask('GET /disaster-readiness/sources?accountId=acc_demo', undefined, 200, { shows: { items: expect.arrayContaining([expect.objectContaining({ sourceAppEnvId: 'env_web_prod', target: { appEnvId: any('string'), appId: any('string'), appName: any('string'), environmentName: any('string') } })]) } })],
  ['the cutoff of a running activation is that of its point', ...protectedWeb, activate({}, 200, { keep: { act: 'operationId' } }), ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { shows: { items: [{ activeOperation: { kind: any('string'), cutoffAt: expect.stringMatching(/^2026-01-01T/) } }] } })],
  ['a point counts with its own cutoff and its own operation', ...protectedWeb, activate({ cutoffAt: '2026-01-01T00:00:00.001Z' }, '4xx'), activate({ selectedOperationId: 'none' }, '4xx'), activate({ cutoffAt: '$cut' }, 200)],
  ['a new app needs a name', ...protectedWeb, activate({ target: { envName: 'r', createNewApp: true } }, '4xx'), activate({ target: { envName: 'r', createNewApp: true, appName: '  ' } }, '4xx'), activate({ target: { envName: 'r', createNewApp: true, appName: 'again' } }, 200)],
  ['an application that was recovered has no engine in its result', ...protectedWeb, activate({}, 200), 10 * minute, ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { shows: { items: [{ activationResult: { operationId: any('string'), targetAppEnvId: any('string'), targetAppId: 'app_web', pointId: expect.stringMatching(/^.{64}$/), cutoffAt: any('string'), completedAt: any('string') } }] }, lacks: ['items.0.activationResult.engine'] })],
  ['a database that was recovered names its engine, and runs', configure({ sourceAppEnvId: 'env_db_prod', target: { envName: 'd', appName: 'a' } }, 200, succeeds), minute, points, activate({ target: { envName: 'd', createNewApp: true, appName: 'a' } }, 200), 10 * minute, configurations({ items: [{ activationResult: { engine: 'postgresql' } }] }), ask('GET /apps', undefined, 200, { shows: { apps: [{}, {}, {}, {}, { name: 'a', dockerPreset: 'POSTGRESQL' }] }, keep: { fresh: 'apps.4.appId' } }), ask('GET /app-envs?appId=$fresh', undefined, 200, { shows: { appEnvs: [{ name: 'd', status: 'running' }] } })],
  ['a discard names the operation and the generation', ...protectedWeb, activate({}, 200, { keep: { act: 'operationId' } }), tell({ setPhase: 'promoting', failSteps: 6, hold: true }), ...Array.from({ length: 6 }, () => tell({ nextPhase: true })), discard({ operationId: 'other' }, '4xx'), discard({ expectedGeneration: 2 }, '4xx'), discard({}, 200), discard({}, 200), discard({ operationId: 'other' }, '4xx')],
  ['five failed steps are one too few', ...protectedWeb, activate({}, 200, { keep: { act: 'operationId' } }), tell({ setPhase: 'promoting', failSteps: 5, hold: true }), ...Array.from({ length: 5 }, () => tell({ nextPhase: true })), discard({}, '4xx')],
  ['a replay of a check is authorized again and starts nothing', ...protectedWeb, token('soon', {}), validate({}, 200, { as: 'soon', keep: { op: 'operationId' } }), validate({}, 200, { as: 'soon' }), ask('PATCH /_sim/tokens/soon', { memberships: [{ ...account, role: 'member' }] }, 200), validate({}, 403, { as: 'soon' }), validate({ expectedGeneration: 2 }, '4xx')],
  ['another check waits for the one under way', ...protectedWeb, validate({}, 200), validate({ requestId: 'v2' }, '4xx'), 10 * minute, validate({ requestId: 'v2' }, 200)],
  ['a repeated reset counts nothing, or says that nothing is there', ...protectedWeb, reset(web, 200, { shows: { configurations: 1 } }), reset(web, 200, { shows: { configurations: 0, destinations: 0 } }), reading({ 'reset.repeat': 'notFound' }), reset(web, 404)],
  ['a reset of the account takes every protection', configure({}, 200, succeeds), configure({ sourceAppEnvId: 'env_db_prod', requestId: 'r2', target: { envName: 'd', appName: 'a' } }, 200, succeeds), minute, reset({ scope: 'account', confirmationName: 'Demo' }, 200, { shows: { configurations: 2 } }), hidden('env_web_prod', { status: 'running' }), configurations({ items: [] })],
  ['a reset needs an environment that is there', reset({ ...web, sourceAppEnvId: 'none' }, 404), reset({ ...web, confirmationName: undefined }, 400)],
  ['reads carry no unknown field of actors and no provider secrets', ask('POST /_sim/credentials', { credentialId: 'disk', ...account, kind: 'storage' }, 200), configure({ storageCredentialId: 'disk' }, 200, succeeds), minute, ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { shows: { items: [{ settings: { storageCredentialId: 'disk' } }] }, lacks: ['items.0.requestId', 'items.0.actor', 'items.0.lease'] })],
  ['evidence that expired is not Ready', configure({ rpoTargetMs: 60 * minute }, 200, succeeds), minute, ask('PATCH /_sim/regions/us-east', { up: false }, 200), day, configurations({ items: [{ readiness: { state: 'needsAttention' } }] })],
  ['an unknown field in a target is refused', ...protectedWeb, activate({ target: { ...activation.target, region: 'us-east' } }, 400)],
];

// The table stays one line for each check.
// oxfmt-ignore
const rest: readonly Check[] = [
  ['an installation that nobody knows is a 404', ask('POST /solutions', { ...install, installationId: 'none' }, 404)],
  ['an installation is resumed where it was made', ask('POST /solutions', install, 200, { keep: { inst: 'installationId' } }), ask('POST /solutions', { ...install, region: 'us-east', installationId: '$inst' }, '4xx'), ask('POST /solutions', { ...install, installationId: '$inst' }, 200, { shows: { components: [{}, {}, {}] } }), ask('GET /apps', undefined, 200, { shows: { apps: Array.from({ length: 7 }, () => ({})) } })],
  ['an upgrade changes the image of the control environment', key, ask('POST /solutions', agent({ agentImage: 'svc/sandbox-agent:1' }), 200, { keep: { inst: 'installationId', env: 'components.0.appEnvId' } }), minute, ask('POST /solutions', { ...agent({ agentImage: 'svc/sandbox-agent:2' }), installationId: '$inst' }, 200), minute, ask('GET /_sim/environments/$env', undefined, 200, { shows: { contents: expect.arrayContaining([expect.objectContaining({ image: 'svc/sandbox-agent:2' })]) } })],
  ['every field of the account has a default', ask('POST /_sim/accounts', { name: 'Third' }, 200, { fields: ['accountId'], keep: { acc: 'accountId' } }), ask('POST /_sim/tokens', { token: 'third', memberships: [{ accountId: '$acc', role: 'admin' }], currentAccountId: '$acc' }, 200, { fields: ['token', 'membershipIds'], shows: { membershipIds: [any('string')] } }), ask('GET /apps', undefined, 200, { as: 'third', shows: { apps: [] } })],
  ['the empty world knows no token', ask('POST /_sim/reset', { world: 'empty' }, 200), ask('GET /apps', undefined, 401), ask('POST /_sim/reset', {}, 200), ask('GET /_sim/clock', undefined, 200, { shows: { now: '2026-01-01T00:00:00.000Z', mode: 'virtual' } })],
  ['a reset forgets faults, readings and requests', ask('POST /_sim/faults', { match: {}, effect: { hang: true } }, 200), reading({ 'names.apps': 'unique' }), ask('POST /_sim/reset', {}, 200), ask('GET /_sim/faults', undefined, 200, { shows: { items: [] } }), ask('GET /_sim/requests', undefined, 200, { shows: { items: [] } }), ask('GET /_sim/ledger', undefined, 200, { shows: { items: [] } }), makeApp(), makeApp()],
  ['the logs begin after the number that is named', makePoint(), makePoint(), ask('GET /_sim/ledger?after=1', undefined, 200, { shows: { items: [{ seq: 2, kind: 'contactPoint.created' }] } }), ask('GET /_sim/requests?after=1', undefined, 200, { shows: { items: [{ seq: 2, method: 'POST', path: '/contact-point', status: 200, committed: true }] } }), ask('GET /_sim/ledger?after=x', undefined, 400)],
  ['what the control surface does not find is a 404 with an error', ...['DELETE /_sim/faults/none', 'DELETE /_sim/environments/none', 'DELETE /_sim/tokens/none'].map((send) => ask(send, undefined, 404, { fields: ['error'] })), ...['PATCH /_sim/regions/mars', 'PATCH /_sim/accounts/none', 'PATCH /_sim/configurations/none', 'PATCH /_sim/apps/none', 'PATCH /_sim/contact-points/none'].map((send) => ask(send, {}, 404, { fields: ['error'] }))],
  ['a metric has a word of the table and a value', ask('POST /_sim/metrics', { appEnvId: 'env_web_prod', metric: 'disk', value: 1 }, '4xx'), ask('POST /_sim/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent', value: 'high' }, 400), ask('POST /_sim/metrics', { appEnvId: 'none', metric: 'cpu_percent', value: 1 }, 404)],
  ['a fault by path with a star takes one method', ask('POST /_sim/faults', { match: { method: 'POST', path: '/app-env/*', count: 2 }, effect: { status: 500, body: { a: 1 }, headers: { 'x-y': 'z' } } }, 200), ask('GET /app-env/alerts?appEnvId=env_web_prod', undefined, 200), ask('POST /app-env/stop', { appEnvId: 'env_web_prod' }, 500, { fields: ['a'] }), hidden('env_web_prod', { status: 'running' })],
  ['an app that begins to be deleted under a fault is gone although the answer fails', ask('POST /_sim/faults', { match: { method: 'DELETE' }, effect: { commitThen: { status: 500, body: { error: 'late' } } } }, 200), ask('DELETE /app?appId=app_job', undefined, 500, { commits: true }), ask('GET /app?appId=app_job', undefined, 404)],
  ['a token has every scope unless it is told', ask('POST /_sim/tokens', { token: 'all', memberships: [{ ...account, role: 'admin' }] }, 200), configure({}, 200, { as: 'all', ...succeeds })],
];

describe.each([
  ['access', access],
  ['apps', apps],
  ['the lifecycle of environments', lifecycle],
  ['alerts and contact points', watching],
  ['disaster readiness', disaster],
  ['solutions and the control surface', rest],
] as const)('at the edges of the text: %s', (_, checks) => {
  it.each(checks.map((check) => ({ because: check[0], check })))('$because', ({ check }) => holds(check));
});
