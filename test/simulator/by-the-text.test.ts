import { describe, expect, it } from 'vitest';

import { any, ask, type Check, holds } from './by-the-text.ts';
import {
  account,
  minute,
  day,
  email,
  makePoint,
  makeAlert,
  token,
  hidden,
  configure,
  succeeds,
  fails,
  activate,
  protectedWeb,
  reset,
  app,
  git,
  makeApp,
  deploy,
  restrict,
  asMember,
  web,
  tell,
  install,
  key,
  agent,
} from './page/demo-steps.ts';

// The table stays one line for each check.
// oxfmt-ignore
const access: readonly Check[] = [
  ['the value of the header is the token itself', ask('GET /apps', undefined, 401, { as: 'Bearer demo-admin' })],
  ['401 comes before everything', ask('PATCH /app', { appId: 7 }, 401, { as: 'nobody' })],
  ['403 comes before 400', ask('POST /contact-point', { ...account }, 403, { as: 'demo-member' })],
  ['404 comes before 400', ask('PATCH /alert', { alertId: 'none', threshold: 'x' }, 404)],
  ['an unknown account is a 404', ask('GET /apps?accountId=acc_none', undefined, 404)],
  ['an account of others is a 403', ask('GET /contact-points?accountId=acc_demo', undefined, 403, { as: 'demo-foreign' })],
  ['svc:read reads', ask('GET /app?appId=app_web', undefined, 200, { as: 'demo-readonly' })],
  ['svc:read does not write', ask('POST /contact-point', email, 403, { as: 'demo-readonly' })],
  [
    'a solution needs both write scopes',
    token('config-only', { scopes: ['svc:read', 'svc:write:config'] }),
    token('deploy-only', { scopes: ['svc:read', 'svc:write:deploy'] }),
    ...['config-only', 'deploy-only'].map((as) => ask('POST /solutions', { ...account, solutionSlug: 'queue-worker', appName: 'q', region: 'eu-west' }, 403, { as })),
  ],
  [
    'configure needs config and deploy, reset needs deploy and dangerous',
    token('no-config', { scopes: ['svc:read', 'svc:write:deploy', 'svc:write:dangerous'] }),
    token('no-danger', { scopes: ['svc:read', 'svc:write:deploy', 'svc:write:config'] }),
    configure({}, 403, { as: 'no-config' }),
    reset({ scope: 'account', confirmationName: 'Demo' }, 403, { as: 'no-danger' }),
    reset({ scope: 'account', confirmationName: 'Demo' }, 200, { as: 'no-config' }),
  ],
  ['sources need svc:read', token('blind', { scopes: ['svc:write:config'] }), ask('GET /disaster-readiness/sources?accountId=acc_demo', undefined, 403, { as: 'blind' })],
  ['a token that was deleted is a 401', token('gone'), ask('DELETE /_sim/tokens/gone', undefined, 200), ask('GET /apps', undefined, 401, { as: 'gone' })],
  ['members cannot configure protection', configure({}, 403, { as: 'demo-member' })],
  ['members cannot create solutions', ask('POST /solutions', { ...account, solutionSlug: 'queue-worker', appName: 'q', region: 'eu-west' }, 403, { as: 'demo-member' })],
  ['an environment token does not count', ask('GET /apps', undefined, '4xx', { as: 'demo-environment' })],
];

// The table stays one line for each check.
// oxfmt-ignore
const appsChecks: readonly Check[] = [
  ['creation answers with the appId alone', ask('POST /app', app, 200, { fields: ['appId'] })],
  ...['REMIX', 'VITE', 'VUE_JS', 'ANGULAR', 'NODE_JS_INSTALL_START', 'NODE_JS_INSTALL_BUILD_START', 'FUNCTION', 'RABBITMQ', 'CLICKHOUSE'].map((dockerPreset): Check => [
    `${dockerPreset} is a preset of creation`,
    ask('POST /app', { ...app, dockerPreset }, 200),
  ]),
  ...['NODE', 'METEOR', 'PYTHON', 'custom', ''].map((dockerPreset): Check => [`"${dockerPreset}" is none`, ask('POST /app', { ...app, dockerPreset }, 400)]),
  ...(
    [
      ['METEOR_JS', 'METEOR_JS_3_5'],
      ['NEXT_JS', 'NEXT_JS_NODE_JS_22'],
      ['EXPRESS', 'EXPRESS_NODE_JS_20'],
    ] as const
  ).map(([dockerPreset, dockerPresetVersion]): Check => [
    `${dockerPresetVersion} is a version of ${dockerPreset} only`,
    ask('POST /app', { ...app, dockerPreset, dockerPresetVersion }, 200),
    ask('POST /app', { ...app, dockerPreset: 'VITE', dockerPresetVersion }, 400),
  ]),
  ['the port is required, also for databases, but not for jobs', ask('POST /app', { ...account, name: 'x' }, 400), ask('POST /app', { ...account, name: 'x', dockerPreset: 'REDIS' }, 400), ask('POST /app', { ...account, name: 'x', dockerPreset: 'JOB' }, 200)],
  ['name and accountId are required', ask('POST /app', { ...account, port: 80 }, 400), ask('POST /app', { name: 'x', port: 80 }, 400)],
  ['jobConfig belongs to JOB', ask('POST /app', { ...app, jobConfig: { command: 'x' } }, 400), ask('POST /app', { ...app, dockerPreset: 'JOB', jobConfig: { command: 'x', shell: true, backoffLimit: 2 } }, 200)],
  ['startupConfig is not accepted at creation', ask('POST /app', { ...app, startupConfig: { command: 'x' } }, 400)],
  ['the git fields come together', ask('POST /app', { ...app, gitRepo: 'r' }, 400), ask('POST /app', { ...app, ...git }, 200)],
  [
    'an app has the fields of the table, in their types',
    makeApp(git),
    ask('GET /app?appId=$app', undefined, 200, {
      shows: {
        appId: any('string'),
        slug: any('string'),
        gitProvider: any('string'),
        ...git,
        dockerPreset: 'CUSTOM',
        contextDir: './',
        customDockerfileContentInUse: false,
        dockerfilePath: 'Dockerfile',
        useSSL: any('boolean'),
        useTCP: any('boolean'),
        useImage: false,
        port: 80,
        builder: any('string'),
        isCliDeployment: false,
      },
    }),
  ],
  [
    'an app in a list has the fields of its table',
    ask('GET /apps', undefined, 200, {
      shows: { apps: [{ appId: 'app_web', name: 'web', slug: any('string'), gitProvider: 'GITHUB', gitNamespace: 'demo', gitRepo: 'web', dockerPreset: 'CUSTOM', createdAt: '2026-01-01T00:00:00.000Z', updatedAt: any('string'), isCurrent: true }, {}, {}, {}] },
    }),
  ],
  [
    'isCurrent is false in another account than the selected one',
    token('both', {
      currentAccountId: 'acc_other',
      memberships: [
        { ...account, role: 'member' },
        { accountId: 'acc_other', role: 'member' },
      ],
    }),
    ask('GET /apps?accountId=acc_demo', undefined, 200, { as: 'both', shows: { apps: [{ isCurrent: false }, {}, {}, {}] } }),
  ],
  ['an update answers with its five fields', ask('PATCH /app', { appId: 'app_db', buildArgs: 'A=1' }, 200, { fields: ['appId', 'name', 'dockerPreset', 'port', 'environmentsAffected'], shows: { environmentsAffected: 1, port: 5432 } })],
  ['updates also know NODE, METEOR and PYTHON', ...['NODE', 'METEOR', 'PYTHON'].map((dockerPreset) => ask('PATCH /app', { appId: 'app_web', dockerPreset }, 200, { shows: { dockerPreset } }))],
  ['an image needs useImage in the same request where an app is built', makeApp(git), ask('PATCH /app', { appId: '$app', image: 'i:1' }, '4xx'), ask('PATCH /app', { appId: '$app', image: 'i:1', useImage: true }, 200)],
  ['jobConfig is for Job apps in updates too', ask('PATCH /app', { appId: 'app_web', jobConfig: { command: 'x' } }, 400), ask('PATCH /app', { appId: 'app_job', jobConfig: { command: 'x' } }, 200)],
  ['a conversion to a Function changes dockerPreset only', ask('PATCH /app', { appId: 'app_job', dockerPreset: 'FUNCTION', port: 1 }, '4xx')],
  [
    'a registry secret is one of the account',
    ask('PATCH /app', { appId: 'app_web', imagePullAccountSecretId: 'none' }, '4xx'),
    ask('POST /_sim/credentials', { credentialId: 'reg', ...account, kind: 'registry' }, 200),
    ask('PATCH /app', { appId: 'app_web', imagePullAccountSecretId: 'reg', buildPullAccountSecretId: 'reg' }, 200),
    ask('PATCH /app', { appId: 'app_web', imagePullAccountSecretId: '' }, 200),
  ],
  ['pending changes leave the status alone', ask('PATCH /app', { appId: 'app_web', port: 81 }, 200), hidden('env_web_prod', { status: 'running' })],
  ['deletion needs an admin', ask('DELETE /app?appId=app_web', undefined, 403, { as: 'demo-member' })],
  ['preventDestroy blocks a deletion', ask('PATCH /_sim/environments/env_db_prod', { preventDestroy: true }, 200), ask('DELETE /app?appId=app_db', undefined, '4xx'), ask('GET /app?appId=app_db', undefined, 200)],
  ['a deletion answers with a message', ask('DELETE /app?appId=app_job', undefined, 200, { fields: ['message'] }), ask('GET /app?appId=app_job', undefined, 404), ask('DELETE /app?appId=app_job', undefined, 404)],
  [
    'GET /app-presets has the twelve of creation and no database',
    ask('GET /app-presets', undefined, 200, {
      shows: {
        presets: ['NEXT_JS', 'REMIX', 'VITE', 'VUE_JS', 'EXPRESS', 'NODE_JS_INSTALL_START', 'NODE_JS_INSTALL_BUILD_START', 'ANGULAR', 'METEOR_JS', 'CUSTOM', 'FUNCTION', 'JOB'].map((name) => ({ name, hasVersions: any('boolean'), versions: expect.any(Array) })),
      },
    }),
  ],
  ['CouchDB is a single node', ask('GET /database-presets', undefined, 200, { shows: { presets: expect.arrayContaining([expect.objectContaining({ name: 'COUCHDB', limits: { maxDisk: any('number'), maxReplicas: 1 } })]) } })],
];

// The table stays one line for each check.
// oxfmt-ignore
const lifecycle: readonly Check[] = [
  ['an environment is named by id or by name', ask('POST /app-env/stop', {}, 400), ask('POST /app-env/stop', { envName: 'web-prod' }, 200), ask('POST /app-env/stop', { envName: 'web' }, 404)],
  ['both names must agree', ask('POST /app-env/stop', { appEnvId: 'env_web_prod', envName: 'web-staging' }, '4xx'), ask('POST /app-env/stop', { appEnvId: 'env_web_prod', envName: 'web-prod' }, 200)],
  ...['redeploy', 'stop', 'start'].map((action): Check => [
    `${action} answers with success, message and appEnv`,
    ask(`POST /app-env/${action}`, { appEnvId: 'env_db_prod' }, 200, { fields: ['success', 'message', 'appEnv'], shows: { success: true, message: any('string'), appEnv: { appEnvId: 'env_db_prod', name: 'production', status: 'UPDATING' } } }),
  ]),
  ['an image is required to deploy one', ask('POST /app-env/deploy-image', { appEnvId: 'env_web_prod' }, 400)],
  ['a source-built app takes no image', makeApp(git), ask('POST /_sim/environments', { appEnvId: 'e', appId: '$app', name: 'p', region: 'eu-west', status: 'running' }, 200), deploy({ appEnvId: 'e' }, '4xx')],
  ['a Function does without useImage', makeApp({ dockerPreset: 'FUNCTION' }), ask('POST /_sim/environments', { appEnvId: 'e', appId: '$app', name: 'p', region: 'eu-west', status: 'running' }, 200), deploy({ appEnvId: 'e' }, 200)],
  ['variables merge by name', deploy({ envVars: { A: '1', B: '2' } }, 200), deploy({ envVars: { B: '3' } }, 200), hidden('env_web_prod', { envVars: { A: '1', B: '3' } })],
  ['values of variables are strings', deploy({ envVars: { A: 1 } }, 400)],
  [
    'functionConfig is for Functions',
    deploy({ functionConfig: { minScale: 1 } }, '4xx'),
    deploy({ appEnvId: 'env_fn_prod', functionConfig: { minScale: 1 } }, 200),
    deploy({ appEnvId: 'env_fn_prod', functionConfig: { maxScale: 2 } }, 200),
    hidden('env_fn_prod', { functionConfig: { minScale: 1, maxScale: 2 } }),
  ],
  ['a new command means a shell', deploy({ startupConfig: { command: 'run it' } }, 200), hidden('env_web_prod', { startupConfig: { command: 'run it', shell: true } })],
  ['direct mode is one executable', deploy({ startupConfig: { command: 'run it', shell: false } }, 400), deploy({ startupConfig: { command: 'run', args: ['it'], shell: false } }, 200)],
  ['args alone and workingDir alone are overrides', deploy({ startupConfig: { args: ['-v'] } }, 200), deploy({ startupConfig: { workingDir: '/srv' } }, 200), hidden('env_web_prod', { startupConfig: { args: ['-v'], workingDir: '/srv' } })],
  ['a replacement removes what it omits', deploy({ startupConfig: { command: 'a', workingDir: '/srv' } }, 200), deploy({ startupConfig: { args: ['x'] }, replaceStartupConfig: true }, 200), hidden('env_web_prod', { startupConfig: { args: ['x'] } })],
  ['clearing excludes both others', deploy({ clearStartupConfig: true, startupConfig: { command: 'a' } }, 400), deploy({ clearStartupConfig: true, replaceStartupConfig: true }, 400), deploy({ clearStartupConfig: true }, 200)],
  ['a replacement without a configuration is refused', deploy({ replaceStartupConfig: true }, 400)],
  ['jobs and databases have no startup override', ask('POST /app-env/deploy-image', { appEnvId: 'env_job_prod', image: 'i:1', startupConfig: { command: 'x' } }, 400)],
  ['an override outlives later versions', deploy({ startupConfig: { command: 'a' } }, 200), deploy({ image: 'i:2' }, 200), ask('POST /app-env/rollback', { appEnvId: 'env_web_prod' }, 200), hidden('env_web_prod', { startupConfig: { command: 'a' } })],
  ['a rollback names both versions', deploy({}, 200), ask('POST /app-env/rollback', { appEnvId: 'env_web_prod' }, 200, { shows: { rollbackInfo: { fromVersion: 2, toVersion: 1, contentId: any('string') } } })],
  ['a rollback to the current version is rejected', deploy({}, 200, { keep: { content: 'contentId' } }), ask('POST /app-env/rollback', { appEnvId: 'env_web_prod', targetContentId: '$content' }, '4xx')],
  ['a content of another environment is none of this one', deploy({}, 200, { keep: { content: 'contentId' } }), ask('POST /app-env/redeploy', { appEnvId: 'env_web_staging', contentId: '$content' }, 404)],
  ['start needs a deployment', ask('POST /_sim/environments', { appEnvId: 'e', appId: 'app_web', name: 'new', region: 'eu-west' }, 200), ask('POST /app-env/start', { appEnvId: 'e' }, '4xx')],
  [
    'stop ends in STOPPED and start in RUNNING',
    ask('POST /app-env/stop', { appEnvId: 'env_web_prod' }, 200),
    minute,
    hidden('env_web_prod', { status: 'stopped' }),
    ask('POST /app-env/start', { appEnvId: 'env_web_prod' }, 200),
    minute,
    hidden('env_web_prod', { status: 'running' }),
  ],
  [
    'fromContentId goes with isRebuild',
    makeApp(git),
    ask('POST /_sim/environments', { appEnvId: 'e', appId: '$app', name: 'p', region: 'eu-west', gitBranch: 'main', status: 'running' }, 200),
    ask('GET /_sim/environments/e', undefined, 200, { keep: { content: 'currentContentId' } }),
    ask('POST /app-env/build', { appEnvId: 'e', fromContentId: '$content' }, 400),
    ask('POST /app-env/build', { appEnvId: 'e', fromContentId: '$content', isRebuild: true }, 200),
  ],
  [
    'lists never carry variables',
    deploy({ envVars: { A: '1' } }, 200),
    ask('GET /app-envs?appId=app_fn', undefined, 200, {
      shows: { appEnvs: [{ appEnvId: 'env_fn_prod', appId: 'app_fn', cliEnvName: 'resize-prod', hosts: expect.any(Array), status: 'running', resources: { containers: any('number'), zClouds: any('number'), cpu: any('number'), memory: any('number') } }] },
      lacks: ['appEnvs.0.envVars'],
    }),
  ],
  ['a Function needs a region that supports it', ask('POST /_sim/environments', { appId: 'app_fn', name: 'p', region: 'ap-south' }, '4xx')],
];

// The table stays one line for each check.
// oxfmt-ignore
const members: readonly Check[] = [
  ['an omitted list means full access', ...restrict, ask('PATCH /member/env-access', { ...account, membershipId: 'mem_demo' }, 200, { shows: { membershipId: 'mem_demo', allowedAppEnvIds: [] } }), ask('GET /app?appId=app_web', undefined, 200, asMember)],
  [
    'lists are filtered, and apps without an environment are hidden',
    ...restrict,
    ask('GET /apps', undefined, 200, { ...asMember, shows: { apps: [{ appId: 'app_fn' }] } }),
    ask('GET /app-envs', undefined, 200, { ...asMember, shows: { appEnvs: [{ appEnvId: 'env_fn_prod' }] } }),
  ],
  [
    'operations on other environments are a 403',
    ...restrict,
    deploy({}, 403, asMember),
    ask('POST /app-env/stop', { appEnvId: 'env_db_prod' }, 403, asMember),
    ask('GET /app-env/alerts?appEnvId=env_web_prod', undefined, 403, asMember),
    ask('POST /app-env/stop', { appEnvId: 'env_fn_prod' }, 200, asMember),
  ],
  [
    'protections of other environments are hidden',
    configure({}, 200, succeeds),
    ...restrict,
    ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { ...asMember, shows: { items: [] } }),
    ask('GET /disaster-readiness/sources?accountId=acc_demo', undefined, 200, { ...asMember, shows: { items: [{ sourceAppEnvId: 'env_fn_prod' }] } }),
  ],
  [
    'restrictions are kept while the feature is off',
    ...restrict,
    ask('PATCH /_sim/accounts/acc_demo', { memberEnvAccess: false }, 200),
    ask('POST /app-env/stop', { appEnvId: 'env_db_prod' }, 200, asMember),
    ask('PATCH /_sim/accounts/acc_demo', { memberEnvAccess: true }, 200),
    ask('POST /app-env/stop', { appEnvId: 'env_web_prod' }, 403, asMember),
  ],
  [
    'an environment that a restricted member creates is theirs',
    ...restrict,
    ask('POST /_sim/environments', { appEnvId: 'mine', appId: 'app_web', name: 'mine', region: 'eu-west', createdBy: 'demo-member' }, 200),
    ask('GET /member/env-access?accountId=acc_demo&membershipId=mem_demo', undefined, 200, { shows: { allowedAppEnvIds: ['env_fn_prod', 'mine'] } }),
  ],
  ['Manage Members is needed', token('plain-admin'), ask('GET /member/env-access?accountId=acc_demo&membershipId=mem_demo', undefined, 403, { as: 'plain-admin' }), ask('PATCH /member/env-access', { ...account, membershipId: 'mem_none' }, 404)],
  [
    'an environment of nobody cannot be assigned',
    ask('PATCH /member/env-access', { ...account, membershipId: 'mem_demo', allowedAppEnvIds: ['none'] }, 404),
    ask('PATCH /member/env-access', { ...account, membershipId: 'mem_demo', allowedAppEnvIds: 'env_web_prod' }, 400),
  ],
];

const config = (type: string, good: object, ...bad: readonly object[]): Check => [
  `the config of ${type}`,
  ask('POST /contact-point', { ...email, type, config: good }, 200, {
    shows: { contactPoint: { type, dashboardDeployments: [] } },
    lacks: ['contactPoint.config'],
  }),
  ...bad.map((broken) => ask('POST /contact-point', { ...email, type, config: broken }, 400)),
];

// The table stays one line for each check.
// oxfmt-ignore
const contactPointsChecks: readonly Check[] = [
  config('chat_webhook_a', { webhookUrl: 'https://a.example/x', channel: '#c', mentionUsers: 'u' }, {}, { webhookUrl: '' }, { webhookUrl: 'no url' }),
  config('chat_webhook_b', { webhookUrl: 'https://flows.example/x' }, { webhookUrl: 'http://flows.example/x' }, { webhookUrl: 'https://old.retired.example/x' }),
  config('chat_webhook_c', { webhookUrl: 'https://chat.example.com/x' }, { webhookUrl: 'https://chat.example.org/x' }, { webhookUrl: 'http://chat.example.com/x' }),
  config('incident_service', { integrationKey: 'k', severity: 'critical' }, { severity: 'critical' }, { integrationKey: 7 }),
  config('webhook', { url: 'https://w.example', httpMethod: 'PUT', username: 'u', password: 'p' }, { httpMethod: 'PUT' }),
  config('email', { addresses: ['a@example.com', 'b@example.com'] }, { addresses: [] }, { addresses: 'a@example.com' }, { addresses: ['nobody'] }),
  [
    'a name has 1 to 50 characters',
    makePoint({ name: 'x'.repeat(50) }),
    ask('POST /contact-point', { ...email, name: 'x'.repeat(51) }, 400),
    ask('POST /contact-point', { ...email, name: '' }, 400),
    ask('PATCH /contact-point', { contactPointId: '$cp', name: 'x'.repeat(51) }, 400),
  ],
  ['every field of creation is required', ...(['accountId', 'name', 'type', 'config'] as const).map((field) => ask('POST /contact-point', { ...email, [field]: undefined }, 400))],
  [
    'a secret stays when it is omitted, empty or masked',
    makePoint({ type: 'chat_webhook_a', config: { webhookUrl: 'https://a.example/x', channel: '#a' } }),
    ...[{ channel: '#b' }, { webhookUrl: '' }, { webhookUrl: '****' }].map((changed) => ask('PATCH /contact-point', { contactPointId: '$cp', config: changed }, 200)),
    ask('GET /contact-point?contactPointId=$cp&showSecrets=true', undefined, 200, { shows: { config: { webhookUrl: 'https://a.example/x', channel: '#b' } } }),
  ],
  [
    'secrets need Secrets Access',
    makePoint(),
    ask('GET /contact-point?contactPointId=$cp&showSecrets=true', undefined, 403, { as: 'demo-admin-no-secrets' }),
    ask('GET /contact-point?contactPointId=$cp', undefined, 200, { as: 'demo-admin-no-secrets', lacks: ['config'] }),
  ],
  [
    'one in use is not deleted',
    makePoint(),
    makeAlert(),
    ask('DELETE /contact-point?contactPointId=$cp', undefined, '4xx', { shows: { error: any('string'), details: expect.stringMatching(/1/) } }),
    ask('DELETE /alert?alertId=$al', undefined, 200),
    ask('DELETE /contact-point?contactPointId=$cp', undefined, 200, { fields: ['message'] }),
  ],
  ['it is deployed where an alert uses it', makePoint(), makeAlert(), 5000, ask('GET /contact-point?contactPointId=$cp', undefined, 200, { shows: { dashboardDeployments: [{ region: 'eu-west', dashboardContactPointUid: any('string') }] } })],
  ['members may list and not change', makePoint(), ask('GET /contact-points?accountId=acc_demo', undefined, 200, asMember), ask('PATCH /contact-point', { contactPointId: '$cp', name: 'y' }, 403, asMember)],
];

const ingress = [
  'ingress_request_rate',
  'ingress_5xx_rate',
  'ingress_5xx_percent',
  'ingress_4xx_rate',
  'ingress_4xx_percent',
  'ingress_p95_latency',
  'ingress_p99_latency',
];
const plainMetrics = [
  'memory_percent',
  'cpu_usage',
  'memory_usage',
  'cpu_percent_per_pod',
  'memory_percent_per_pod',
  'cpu_usage_per_pod',
  'memory_usage_per_pod',
];

// The table stays one line for each check.
// oxfmt-ignore
const alertsChecks: readonly Check[] = [
  ['every metric can be watched', makePoint(), ...[...ingress, ...plainMetrics].map((metric) => makeAlert({ metric }))],
  ['ingress metrics are not for databases', makePoint(), ...ingress.map((metric) => makeAlert({ appEnvId: 'env_db_prod', metric }, 400)), ...plainMetrics.map((metric) => makeAlert({ appEnvId: 'env_db_prod', metric }))],
  ['an alert of a database does not become one on ingress', makePoint(), makeAlert({ appEnvId: 'env_db_prod' }), ask('PATCH /alert', { alertId: '$al', metric: 'ingress_5xx_rate' }, 400)],
  [
    'the words of an alert',
    makePoint(),
    ...[{ operator: 'ge' }, { duration: '2m' }, { aggregation: 'sum' }, { queryRange: '1m' }, { metric: 'cpu' }, { threshold: '80' }].map((change) => makeAlert(change, 400)),
    ...['1m', '10m', '15m', '30m', '1h'].map((duration) => makeAlert({ duration })),
    ...['5m', '15m', '30m', '1h', '2h'].map((queryRange) => makeAlert({ queryRange })),
    ...['max', 'min', 'last'].map((aggregation) => makeAlert({ aggregation })),
  ],
  ['the lengths of name and description', makePoint(), makeAlert({ name: 'x'.repeat(100), description: 'x'.repeat(500) }), makeAlert({ name: 'x'.repeat(101) }, 400), makeAlert({ name: '' }, 400), makeAlert({ description: 'x'.repeat(501) }, 400)],
  [
    'contact points by id or by name, exactly one of both',
    makePoint(),
    makeAlert({ contactPointNames: ['mail'] }, 400),
    makeAlert({ contactPointIds: undefined }, 400),
    makeAlert({ contactPointIds: undefined, contactPointNames: ['mail'] }),
    makeAlert({ contactPointIds: undefined, contactPointNames: ['Mail'] }, '4xx'),
  ],
  ['a name that two contact points have says nothing', makePoint(), makePoint(), makeAlert({ contactPointIds: undefined, contactPointNames: ['mail'] }, '4xx')],
  ['id and name of the environment must agree', makePoint(), makeAlert({ envName: 'web-staging' }, '4xx'), makeAlert({ envName: 'web-prod' }), makeAlert({ appEnvId: undefined, envName: 'orders-db-prod' }), makeAlert({ appEnvId: undefined }, 400)],
  [
    'creation answers with the alert and its defaults',
    makePoint(),
    makeAlert({}, 200, {
      fields: ['message', 'alert'],
      shows: { alert: { alertId: any('string'), aggregation: 'mean', queryRange: '10m', enabled: true, lastKnownState: any('string'), contactPoints: [{ contactPointId: any('string'), name: 'mail', type: 'email' }] } },
    }),
  ],
  ['an alert has the region and the account of its environment', makePoint(), makeAlert(), ask('GET /alert?alertId=$al', undefined, 200, { shows: { region: 'eu-west', accountId: 'acc_demo', appEnvId: 'env_web_prod', createdAt: '2026-01-01T00:00:00.000Z' } })],
  [
    'pausing stops the state',
    makePoint(),
    makeAlert({ duration: '1m' }),
    ask('POST /_sim/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent', value: 90 }, 200),
    ask('POST /alert/toggle', { alertId: '$al', enabled: false }, 200, { fields: ['message', 'enabled'], shows: { enabled: false } }),
    10 * minute,
    ask('GET /alert?alertId=$al', undefined, 200, { shows: { enabled: false, lastKnownState: 'Normal' } }),
  ],
  [
    'a refresh answers with both states and the time',
    makePoint(),
    makeAlert({ duration: '1m' }),
    ask('POST /_sim/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent', value: 90 }, 200),
    2 * minute,
    ask('POST /alert/refresh', { alertId: '$al' }, 200, { fields: ['state', 'previousState', 'lastStateCheck'], shows: { state: 'Firing', previousState: 'Normal', lastStateCheck: '2026-01-01T00:02:00.000Z' } }),
    ask('GET /alert?alertId=$al', undefined, 200, { shows: { lastKnownState: 'Firing', lastStateCheck: '2026-01-01T00:02:00.000Z' } }),
  ],
  ['a toggle needs a Boolean', makePoint(), makeAlert(), ask('POST /alert/toggle', { alertId: '$al' }, 400), ask('POST /alert/toggle', { alertId: '$al', enabled: 'false' }, 400)],
  [
    'no data and an error are states',
    makePoint(),
    makeAlert(),
    ask('POST /_sim/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent', value: null }, 200),
    minute,
    ask('POST /alert/refresh', { alertId: '$al' }, 200, { shows: { state: 'NoData' } }),
    ask('POST /_sim/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent', value: 'error' }, 200),
    ask('POST /_sim/alerts/evaluate', {}, 200),
    ask('POST /alert/refresh', { alertId: '$al' }, 200, { shows: { state: 'Error' } }),
  ],
  [
    'alerts are listed by environment',
    makePoint(),
    makeAlert(),
    ask('GET /app-env/alerts?appEnvId=env_web_prod', undefined, 200, { shows: { alerts: [{ name: 'busy' }] } }),
    ask('GET /app-env/alerts?appEnvId=env_fn_prod', undefined, 200, { shows: { alerts: [] } }),
    ask('GET /app-env/alerts', undefined, 400),
  ],
  ['members do not write alerts', makePoint(), makeAlert({}, 403, asMember), makeAlert(), ask('DELETE /alert?alertId=$al', undefined, 403, asMember), ask('GET /alert?alertId=$al', undefined, 200, asMember)],
];

// The table stays one line for each check.
// oxfmt-ignore
const disaster: readonly Check[] = [
  [
    'a source without a volume is not eligible',
    ask('GET /disaster-readiness/sources?accountId=acc_demo&limit=100', undefined, 200, {
      shows: { items: expect.arrayContaining([expect.objectContaining({ sourceAppEnvId: 'env_web_prod', eligible: true }), expect.objectContaining({ sourceAppEnvId: 'env_web_staging', eligible: false, unsupportedReasons: [any('string')] })]) },
      lacks: ['nextCursor'],
    }),
    ask('GET /disaster-readiness/sources?accountId=acc_demo&limit=4', undefined, 200, { shows: { items: [{}, {}, {}, {}] }, keep: { next: 'nextCursor' } }),
    ask('GET /disaster-readiness/sources?accountId=acc_demo&limit=4&after=$next', undefined, 200, { shows: { items: [{}] }, lacks: ['nextCursor'] }),
  ],
  [
    'a page has 1 to 100 items',
    ...['0', '101', 'x', '1.5'].map((limit) => ask(`GET /disaster-readiness/configurations?accountId=acc_demo&limit=${limit}`, undefined, 400)),
    ask('GET /disaster-readiness/configurations?accountId=acc_demo&limit=100', undefined, 200),
  ],
  ['nothing unknown is accepted', ask('POST /disaster-readiness/configure', { ...account, common: {}, items: [], dryRun: true }, 400), configure({ actor: 'me' }, 400), activate({ force: true }, '4xx'), reset({ ...web, force: true }, 400)],
  [
    '1 to 100 distinct environments',
    ask('POST /disaster-readiness/configure', { ...account, common: {}, items: [] }, 400),
    ask('POST /disaster-readiness/configure', { ...account, common: {}, items: [1, 2].map((n) => ({ sourceAppEnvId: 'env_web_prod', requestId: `r${n}`, expectedGeneration: 0 })) }, 400),
    ask('POST /disaster-readiness/configure', { ...account, common: {}, items: Array.from({ length: 101 }, (_, n) => ({ sourceAppEnvId: `e${n}`, requestId: `r${n}`, expectedGeneration: 0 })) }, 400),
  ],
  ...(['validationIntervalMs', 'rpoTargetMs', 'rtoTargetMs'] as const).map((name): Check => [
    `${name} lies between one minute and 30 days`,
    configure({ [name]: minute - 1 }, 200, fails),
    configure({ [name]: 30 * day + 1 }, 200, fails),
    configure({ [name]: minute, requestId: 'r2' }, 200, succeeds),
    configure({ [name]: 30 * day, requestId: 'r3', expectedGeneration: 1 }, 200, succeeds),
  ]),
  [
    'a snapshot interval maps to a schedule',
    configure({ snapshotIntervalMs: 7 * minute }, 200, fails),
    ...[5, 10, 15, 30, 60, 120, 180, 240, 360, 480, 720, 1440, 2880, 10_080, 43_200].map((minutes, n) => configure({ snapshotIntervalMs: minutes * minute, requestId: `s${n}`, expectedGeneration: n }, 200, succeeds)),
  ],
  ['the same region needs an acknowledgment', configure({ destinationRegion: 'eu-west' }, 200, fails), configure({ destinationRegion: 'eu-west', sameRegionAcknowledged: true, requestId: 'r2' }, 200, succeeds)],
  ['a region without disaster readiness is no destination', configure({ destinationRegion: 'ap-south' }, 200, fails), configure({ destinationRegion: 'mars' }, 200, fails)],
  ['warm needs a target', configure({ mode: 'warm' }, 200, fails), configure({ mode: 'warm', target: { envName: 'w' }, requestId: 'r2' }, 200, succeeds)],
  [
    'a database needs both names',
    configure({ sourceAppEnvId: 'env_db_prod' }, 200, fails),
    configure({ sourceAppEnvId: 'env_db_prod', target: { envName: 'd' } }, 200, fails),
    configure({ sourceAppEnvId: 'env_db_prod', target: { envName: 'd', appName: 'a' } }, 200, succeeds),
  ],
  [
    'settings are common or per item, and the item wins',
    configure({ rpoTargetMs: 2 * minute }, 200, succeeds, { rpoTargetMs: 3 * minute, rtoTargetMs: 4 * minute }),
    ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { shows: { items: [{ settings: { rpoTargetMs: 2 * minute, rtoTargetMs: 4 * minute } }] } }),
  ],
  [
    'a repeated requestId answers the same, and another payload under it is rejected',
    configure({}, 200, succeeds),
    configure({}, 200, succeeds),
    configure({ rtoTargetMs: minute }, 200, fails),
    ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { shows: { items: [{ generation: 1 }] } }),
  ],
  ['a stale generation fails the item', configure({}, 200, succeeds), configure({ requestId: 'r2' }, 200, fails), configure({ requestId: 'r3', expectedGeneration: 1 }, 200, { shows: { items: [{ generation: 2 }] } })],
  [
    'null is platform storage, and a credential is one of the account',
    configure({ storageCredentialId: null }, 200, succeeds),
    ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { shows: { items: [{ settings: { storageCredentialId: null } }] } }),
    configure({ storageCredentialId: 'none', requestId: 'r2', expectedGeneration: 1 }, 200, fails),
  ],
  [
    'names of a cold protection are kept by an edit',
    configure({ target: { envName: 'n', createNewApp: true, appName: 'a' } }, 200, succeeds),
    configure({ requestId: 'r2', expectedGeneration: 1 }, 200, succeeds),
    ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { shows: { items: [{ plannedDestination: { envName: 'n', createNewApp: true, appName: 'a' } }] } }),
  ],
  [
    'a check needs the enrollment',
    configure({}, 200, succeeds),
    ask('POST /disaster-readiness/validate', { ...account, configurationId: '$dr', expectedGeneration: 1, requestId: 'v' }, '4xx'),
    minute,
    ask('POST /disaster-readiness/validate', { ...account, configurationId: '$dr', expectedGeneration: 2, requestId: 'v' }, '4xx'),
    ask('POST /disaster-readiness/validate', { ...account, configurationId: '$dr', expectedGeneration: 1, requestId: 'v' }, 200, { fields: ['configurationId', 'operationId', 'generation', 'phase'] }),
  ],
  ['a reference of configure is not one of validate', ...protectedWeb, ask('POST /disaster-readiness/validate', { ...account, configurationId: '$dr', expectedGeneration: 1, requestId: 'r1' }, '4xx')],
  [
    'points are candidates',
    configure({}, 200, succeeds),
    minute,
    ask('GET /disaster-readiness/points?accountId=acc_demo&configurationId=$dr', undefined, 200, {
      shows: { generation: 1, items: [{ selectedOperationId: any('string'), pointId: expect.stringMatching(/^.{64}$/), cutoffAt: any('string'), availabilityRequiresVerification: true }] },
    }),
  ],
  ['a warm protection has one point', configure({ mode: 'warm', target: { envName: 'w' } }, 200, succeeds), 5 * 60 * minute, ask('GET /disaster-readiness/points?accountId=acc_demo&configurationId=$dr', undefined, 200, { shows: { items: [{}] } })],
  [
    'an activation needs its target and a whole pointId',
    ...protectedWeb,
    activate({ target: undefined }, '4xx'),
    activate({ pointId: 'a'.repeat(63) }, 400),
    activate({ pointId: 'a'.repeat(64) }, '4xx'),
    activate({ cutoffAt: 'yesterday' }, 400),
    activate({ expectedGeneration: 2 }, '4xx'),
    activate({ target: { createNewApp: false } }, '4xx'),
    activate({ target: { envName: ' ', createNewApp: false } }, '4xx'),
    activate({}, 200),
  ],
  ['another target under the same requestId is refused', ...protectedWeb, activate({}, 200), activate({}, 200), activate({ target: { envName: 'other', createNewApp: false } }, '4xx')],
  [
    'names are trimmed',
    ...protectedWeb,
    activate({ target: { envName: '  recovered  ', createNewApp: false } }, 200),
    activate({}, 200),
    minute,
    ask('GET /app-envs?appId=app_web', undefined, 200, { shows: { appEnvs: [{}, {}, { name: 'recovered', status: 'stopped', region: 'us-east' }] } }),
  ],
  [
    'an engine that cannot be activated',
    ...protectedWeb,
    tell({ engineUnavailableReason: 'not yet' }),
    ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { shows: { items: [{ activationUnavailableReason: 'not yet' }] } }),
    activate({}, '4xx'),
    tell({ engineUnavailableReason: null }),
    activate({}, 200),
  ],
  ['an activation in progress blocks configure and reset', ...protectedWeb, activate({}, 200), configure({ requestId: 'r2', expectedGeneration: 1 }, 200, fails), reset(web, '4xx')],
  ['a source that is down needs the acknowledgment', ...protectedWeb, ask('PATCH /_sim/regions/eu-west', { up: false }, 200), activate({}, '4xx'), activate({ writerSafetyAcknowledged: true }, 200)],
  [
    'a discard needs the literal true',
    ...protectedWeb,
    activate({}, 200, { keep: { act: 'operationId' } }),
    tell({ setPhase: 'promoting', failSteps: 6 }),
    20 * minute,
    ...[false, 'true', 1, undefined].map((discardAcknowledged) => ask('POST /disaster-readiness/discard-activation', { ...account, configurationId: '$dr', operationId: '$act', expectedGeneration: 1, requestId: 'd', discardAcknowledged }, 400)),
  ],
  [
    'six failed steps allow a discard',
    ...protectedWeb,
    activate({}, 200, { keep: { act: 'operationId' } }),
    tell({ setPhase: 'promoting', failSteps: 6, hold: true }),
    ...Array.from({ length: 6 }, () => tell({ nextPhase: true })),
    ask('POST /disaster-readiness/discard-activation', { ...account, configurationId: '$dr', operationId: '$act', expectedGeneration: 1, requestId: 'd', discardAcknowledged: true }, 200, { fields: ['operationId', 'configurationId', 'generation', 'phase'] }),
    ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { shows: { items: [{ canRequestDiscard: true }] } }),
  ],
  [
    'a reset names exactly what it wipes',
    ...protectedWeb,
    reset({ ...web, confirmationName: 'Production' }, '4xx'),
    reset({ scope: 'account', confirmationName: 'demo' }, '4xx'),
    reset({ scope: 'account', confirmationName: 'Demo', sourceAppEnvId: 'env_web_prod' }, 400),
    reset({ scope: 'world', confirmationName: 'Demo' }, 400),
    reset({ scope: 'environment', confirmationName: 'production' }, 400),
    reset(web, 200, { fields: ['configurations', 'destinations'], shows: { configurations: 1 } }),
    ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { shows: { items: [] } }),
  ],
  [
    'readiness is that of the moment of the request',
    configure({}, 200, succeeds),
    minute,
    ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { shows: { items: [{ readiness: { state: 'ready', recoveryPointAgeMs: any('number') } }] } }),
    ask('PATCH /_sim/regions/eu-west', { up: false }, 200),
    day,
    ask('GET /disaster-readiness/configurations?accountId=acc_demo', undefined, 200, { shows: { items: [{ readiness: { state: 'needsAttention', reason: 'rpoExceeded' } }] } }),
  ],
];

// The table stays one line for each check.
// oxfmt-ignore
const solutions: readonly Check[] = [
  [
    'the catalog needs an account and has both entries',
    ask('GET /solutions?accountId=acc_demo', undefined, 200, {
      shows: {
        solutions: [
          { solutionSlug: 'sandbox-agent', components: [{}, {}], agentImage: 'svc/sandbox-agent' },
          { solutionSlug: 'queue-worker', requiredInputs: [], components: [{}, {}, {}] },
        ],
      },
    }),
  ],
  ['creation answers with the ids of its components', ask('POST /solutions', install, 200, { shows: { installationId: any('string'), components: [1, 2, 3].map(() => ({ name: any('string'), appId: any('string'), appEnvId: any('string') })) } })],
  [
    'every field is required but two',
    ...(['accountId', 'solutionSlug', 'appName', 'region'] as const).map((field) => ask('POST /solutions', { ...install, [field]: undefined }, 400)),
    ask('POST /solutions', { ...install, solutionSlug: 'none' }, 404),
    ask('POST /solutions', { ...install, region: 'mars' }, 404),
  ],
  [
    'what failed partway is resumed with the missing components only',
    ask('POST /_sim/faults', { match: { path: '/solutions' }, effect: { failAfterComponents: 1 } }, 200),
    ask('POST /solutions', install, 'error', { commits: true, shows: { installationId: any('string') }, keep: { inst: 'installationId' } }),
    ask('GET /apps', undefined, 200, { shows: { apps: [{}, {}, {}, {}, {}] }, keep: { first: 'apps.4.appId' } }),
    ask('POST /solutions', { ...install, installationId: '$inst' }, 200, { keep: { again: 'components.0.appId' } }),
    ask('GET /apps', undefined, 200, { shows: { apps: [{}, {}, {}, {}, {}, {}, {}] } }),
    ask('POST /solutions', { ...install, appName: 'other', installationId: '$inst' }, '4xx'),
  ],
  [
    'an image is the solution’s own, with a tag that is allowed',
    key,
    ...['other/agent:latest', 'svc/sandbox-agent:edge', 'svc/sandbox-agent', 'svc/sandbox-agent@sha256:12'].map((agentImage) => ask('POST /solutions', agent({ agentImage }), 400)),
    ...['svc/sandbox-agent:latest', 'svc/sandbox-agent:1.2.3', `svc/sandbox-agent@sha256:${'a'.repeat(64)}`].map((agentImage) => ask('POST /solutions', agent({ agentImage }), 200)),
  ],
  [
    'an agent needs the entitlement and a region that is ready',
    key,
    ask('POST /solutions', { ...agent(), region: 'ap-south' }, '4xx'),
    ask('PATCH /_sim/accounts/acc_demo', { sandboxEntitlement: false }, 200),
    ask('POST /solutions', agent(), '4xx'),
    ask('PATCH /_sim/accounts/acc_demo', { sandboxEntitlement: true }, 200),
    ask('POST /solutions', agent(), 200),
  ],
  [
    'personal mode needs no provider',
    key,
    ask('POST /solutions', { ...agent(), inputs: { agentAuthenticationMode: 'PERSONAL_SUBSCRIPTION' } }, 200),
    ask('POST /solutions', { ...agent(), inputs: {} }, 400),
    ask('POST /solutions', agent({ agentAuthenticationMode: 'BOTH' }), 400),
  ],
  [
    'a completed installation takes another image, and without one nothing happens',
    key,
    ask('POST /solutions', agent({ agentImage: 'svc/sandbox-agent:1' }), 200, { keep: { inst: 'installationId', env: 'components.0.appEnvId' } }),
    ask('POST /solutions', { ...agent({ agentImage: 'svc/sandbox-agent:2' }), installationId: '$inst' }, 200, { shows: { installationId: any('string') } }),
    ask('POST /solutions', { ...agent(), installationId: '$inst' }, 200),
    ask('GET /apps', undefined, 200, { shows: { apps: [{}, {}, {}, {}, {}, {}] } }),
  ],
];

// The table stays one line for each check.
// oxfmt-ignore
const control: readonly Check[] = [
  [
    'an id that exists is a 409',
    ask('POST /_sim/accounts', { accountId: 'acc_demo', name: 'x' }, 409),
    ask('POST /_sim/tokens', { token: 'demo-admin', memberships: [] }, 409),
    ask('POST /_sim/environments', { appEnvId: 'env_web_prod', appId: 'app_web', name: 'x', region: 'eu-west' }, 409),
    key,
    { ...key, status: 409 },
  ],
  ['errors are {error}', ask('GET /_sim/environments/none', undefined, 404, { fields: ['error'] }), ask('PATCH /_sim/readings', { masking: 'x' }, 400, { fields: ['error'] })],
  [
    'an environment made here is stopped and not deployed by default',
    ask('POST /_sim/environments', { appEnvId: 'e', appId: 'app_web', name: 'x', region: 'eu-west' }, 200, { fields: ['appEnvId'] }),
    hidden('e', { status: 'stopped', deployed: false, contents: [], currentContentId: null, startupConfig: null, functionConfig: null, envVars: {} }),
  ],
  [
    'a fault is used up by the first match unless it says otherwise',
    ask('POST /_sim/faults', { match: { method: 'GET', path: '/app*' }, effect: { status: 503 } }, 200, { fields: ['faultId'] }),
    ask('GET /contact-points?accountId=acc_demo', undefined, 200),
    ask('GET /apps', undefined, 503),
    ask('GET /apps', undefined, 200),
    ask('GET /_sim/faults', undefined, 200, { shows: { items: [] } }),
  ],
  ['skip lets some pass first', ask('POST /_sim/faults', { match: { skip: 1, count: 2 }, effect: { status: 418 } }, 200), ask('GET /apps', undefined, 200), ask('GET /apps', undefined, 418), ask('GET /apps', undefined, 418), ask('GET /apps', undefined, 200)],
  [
    'bodyContains looks at the body',
    ask('POST /_sim/faults', { match: { bodyContains: 'mail' }, effect: { status: 500 } }, 200),
    makeApp(),
    ask('POST /contact-point', email, 500),
    ask('GET /contact-points?accountId=acc_demo', undefined, 200, { shows: { contactPoints: [] } }),
  ],
  [
    'commitThen commits',
    ask('POST /_sim/faults', { match: {}, effect: { commitThen: { status: 502 } } }, 200),
    { ...ask('GET /apps', undefined, 502) },
    ask('GET /_sim/requests', undefined, 200, { shows: { items: [{ seq: 1, status: 502, fault: 'commitThen' }] } }),
  ],
  [
    'an effect is exactly one of them',
    ask('POST /_sim/faults', { match: {}, effect: {} }, 400),
    ask('POST /_sim/faults', { match: {}, effect: { hang: true, garbage: true } }, 400),
    ask('POST /_sim/faults', { match: { where: 'x' }, effect: { hang: true } }, 400),
  ],
  [
    'where a contact point is deployed can be told',
    makePoint(),
    ask('PATCH /_sim/contact-points/$cp', { deployedTo: ['us-east'] }, 200),
    ask('GET /contact-point?contactPointId=$cp', undefined, 200, { shows: { dashboardDeployments: [{ region: 'us-east' }] } }),
    ask('PATCH /_sim/contact-points/$cp', { deployedTo: ['mars'] }, 404),
  ],
  [
    'snapshots can be taken at once',
    configure({}, 200, succeeds),
    minute,
    ask('POST /_sim/configurations/$dr/points', { count: 3 }, 200),
    ask('GET /disaster-readiness/points?accountId=acc_demo&configurationId=$dr', undefined, 200, { shows: { items: [{}, {}, {}, {}] } }),
  ],
  ['readings say what they do not know', ask('PATCH /_sim/readings', { 'no.such': 1 }, 400), ask('PATCH /_sim/readings', { 'lists.lagMs': -1 }, 400), ask('PATCH /_sim/readings', { 'rate.limit': 'off' }, 200)],
  [
    'the ledger says who did what',
    makePoint(),
    ask('GET /_sim/ledger', undefined, 200, { shows: { items: [{ seq: 1, at: '2026-01-01T00:00:00.000Z', kind: 'contactPoint.created', id: any('string'), accountId: 'acc_demo', requestSeq: 1, token: 'demo', detail: {} }] } }),
  ],
];

describe.each([
  ['access', access],
  ['apps', appsChecks],
  ['the lifecycle of environments', lifecycle],
  ['member access', members],
  ['contact points', contactPointsChecks],
  ['alerts', alertsChecks],
  ['disaster readiness', disaster],
  ['solutions', solutions],
  ['the control surface', control],
] as const)('by the text: %s', (_, checks) => {
  it.each(checks.map((check) => ({ because: check[0], check })))('$because', ({ check }) => holds(check));
});
