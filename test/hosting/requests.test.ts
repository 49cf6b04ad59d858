import { describe, expect, it } from 'vitest';
import type { Read, Request } from '../../src/engine/ports.ts';
import * as r from '../../src/hosting/requests.ts';
import { flawOf } from '../../src/hosting/wire/transport.ts';
import { Secret } from '../../src/base/json.ts';

const dr = { accountId: 'acc', configurationId: 'cfg', expectedGeneration: 3, requestId: 'req' };

const requests: readonly (readonly [Request, string, Request['effect']])[] = [
  [r.postApp({ name: 'web', accountId: 'acc', port: 80, useImage: true, image: 'nginx' }), 'POST /app', 'create'],
  [
    r.postApp({ name: 'db', accountId: 'acc', dockerPreset: 'POSTGRESQL', containers: 1, disk: 10 }),
    'POST /app',
    'create',
  ],
  [
    r.patchApp({ appId: 'a', healthCheckPath: '', healthCheckHeaders: { 'x-key': new Secret('s') } }),
    'PATCH /app',
    'update',
  ],
  [r.deleteApp('a'), 'DELETE /app', 'remove'],
  [
    r.postSolutions({
      accountId: 'acc',
      solutionSlug: 's',
      appName: 'n',
      region: 'r',
      inputs: { key: new Secret('s') },
    }),
    'POST /solutions',
    'create',
  ],
  [
    r.postSolutions({ accountId: 'acc', solutionSlug: 's', appName: 'n', region: 'r', installationId: 'i' }),
    'POST /solutions',
    'identified',
  ],
  [
    r.postAppEnvDeployImage({
      appEnvId: 'e',
      image: 'nginx',
      envVars: { A: '', B: new Secret('s') },
      startupConfig: { command: 'x', args: [] },
    }),
    'POST /app-env/deploy-image',
    'create',
  ],
  [
    r.postAppEnvBuild({ envName: 'web-prod', isRebuild: true, fromContentId: 'c', clearStartupConfig: true }),
    'POST /app-env/build',
    'create',
  ],
  [r.postAppEnvRedeploy({ appEnvId: 'e' }), 'POST /app-env/redeploy', 'create'],
  [r.postAppEnvRollback({ appEnvId: 'e', targetContentId: 'c' }), 'POST /app-env/rollback', 'create'],
  [r.postAppEnvStop({ appEnvId: 'e' }), 'POST /app-env/stop', 'update'],
  [r.postAppEnvStart({ appEnvId: 'e' }), 'POST /app-env/start', 'update'],
  [
    r.patchMemberEnvAccess({ accountId: 'acc', membershipId: 'm', allowedAppEnvIds: ['e'] }),
    'PATCH /member/env-access',
    'update',
  ],
  [r.patchMemberEnvAccessToFull({ accountId: 'acc', membershipId: 'm' }), 'PATCH /member/env-access', 'update'],
  [
    r.postContactPoint({ accountId: 'acc', name: 'n', type: 'email', config: { addresses: ['a@b.example'] } }),
    'POST /contact-point',
    'create',
  ],
  [
    r.patchContactPoint({ contactPointId: 'c', config: { webhookUrl: new Secret('https://x') } }),
    'PATCH /contact-point',
    'update',
  ],
  [r.deleteContactPoint('c'), 'DELETE /contact-point', 'remove'],
  [
    r.postAppEnvAlert({
      appEnvId: 'e',
      name: 'n',
      metric: 'cpu_percent',
      operator: 'gt',
      threshold: 80,
      duration: '5m',
      contactPointIds: ['c'],
    }),
    'POST /app-env/alert',
    'create',
  ],
  [r.patchAlert({ alertId: 'a', threshold: 0, description: '' }), 'PATCH /alert', 'update'],
  [r.deleteAlert('a'), 'DELETE /alert', 'remove'],
  [r.postAlertToggle({ alertId: 'a', enabled: false }), 'POST /alert/toggle', 'update'],
  [r.postAlertRefresh({ alertId: 'a' }), 'POST /alert/refresh', 'read'],
  [
    r.postDisasterReadinessConfigure({
      accountId: 'acc',
      common: {},
      items: [{ sourceAppEnvId: 'e', requestId: 'r', expectedGeneration: 0, storageCredentialId: null, mode: 'cold' }],
    }),
    'POST /disaster-readiness/configure',
    'identified',
  ],
  [r.postDisasterReadinessValidate(dr), 'POST /disaster-readiness/validate', 'identified'],
  [
    r.postDisasterReadinessActivate({
      ...dr,
      selectedOperationId: 'o',
      pointId: 'p'.repeat(64),
      cutoffAt: '2026-01-01T00:00:00Z',
      target: { envName: 'e', createNewApp: false },
      writerSafetyAcknowledged: false,
    }),
    'POST /disaster-readiness/activate',
    'identified',
  ],
  [
    r.postDisasterReadinessDiscardActivation({ ...dr, operationId: 'o', discardAcknowledged: true }),
    'POST /disaster-readiness/discard-activation',
    'identified',
  ],
  [
    r.postDisasterReadinessReset({
      accountId: 'acc',
      scope: 'environment',
      confirmationName: 'n',
      sourceAppEnvId: 'e',
    }),
    'POST /disaster-readiness/reset',
    'remove',
  ],
  [
    r.postDisasterReadinessReset({ accountId: 'acc', scope: 'account', confirmationName: 'n' }),
    'POST /disaster-readiness/reset',
    'remove',
  ],
];

const reads: readonly (readonly [Read, string, Readonly<Record<string, string>>])[] = [
  [r.appPresetsOf(), 'GET /app-presets', {}],
  [r.databasePresetsOf(), 'GET /database-presets', {}],
  [r.appOf('a'), 'GET /app', { appId: 'a' }],
  [r.appsOf('acc'), 'GET /apps', { accountId: 'acc' }],
  [r.appEnvsOf('acc'), 'GET /app-envs', { accountId: 'acc' }],
  [r.solutionsOf('acc'), 'GET /solutions', { accountId: 'acc' }],
  [r.memberAccessOf('acc', 'm'), 'GET /member/env-access', { accountId: 'acc', membershipId: 'm' }],
  [r.contactPointsOf('acc'), 'GET /contact-points', { accountId: 'acc' }],
  [r.contactPointOf('c'), 'GET /contact-point', { contactPointId: 'c' }],
  [r.contactPointWithSecretsOf('c', 5), 'GET /contact-point', { contactPointId: 'c', showSecrets: 'true' }],
  [r.alertsOf('e'), 'GET /app-env/alerts', { appEnvId: 'e' }],
  [r.alertOf('a'), 'GET /alert', { alertId: 'a' }],
  [r.drSourcesOf('acc'), 'GET /disaster-readiness/sources', { accountId: 'acc', limit: '100' }],
  [r.drConfigurationsOf('acc'), 'GET /disaster-readiness/configurations', { accountId: 'acc', limit: '100' }],
  [
    r.drPointsOf('acc', 'cfg'),
    'GET /disaster-readiness/points',
    { accountId: 'acc', configurationId: 'cfg', limit: '100' },
  ],
];

/** Every endpoint that the interface describes. */
const endpoints = `
  GET /app-presets, GET /database-presets, POST /app, GET /app, PATCH /app, DELETE /app, GET /apps, GET /app-envs,
  GET /solutions, POST /solutions,
  POST /app-env/deploy-image, POST /app-env/build, POST /app-env/redeploy, POST /app-env/rollback, POST /app-env/stop,
  POST /app-env/start, GET /member/env-access, PATCH /member/env-access,
  GET /contact-points, GET /contact-point, POST /contact-point, PATCH /contact-point, DELETE /contact-point,
  GET /app-env/alerts, POST /app-env/alert, GET /alert, PATCH /alert, DELETE /alert, POST /alert/toggle,
  POST /alert/refresh,
  GET /disaster-readiness/sources, GET /disaster-readiness/configurations, GET /disaster-readiness/points,
  POST /disaster-readiness/configure, POST /disaster-readiness/validate, POST /disaster-readiness/activate,
  POST /disaster-readiness/discard-activation, POST /disaster-readiness/reset
`
  .split(',')
  .map((endpoint) => endpoint.trim());

describe('the requests', () => {
  it('cover every endpoint of the interface and no other', () => {
    const built = new Set([...requests.map(([, endpoint]) => endpoint), ...reads.map(([, endpoint]) => endpoint)]);

    expect([...built].toSorted()).toEqual(endpoints.toSorted());
  });

  it.each(requests)('%# are sent as %s', (request, endpoint, effect) => {
    expect(request).toMatchObject({ endpoint, effect });
    expect(endpoint).toBe(`${request.method} ${request.path}`);
    expect(flawOf(request)).toBeUndefined();
  });

  it.each(reads)('%# are read by %s', (read, endpoint, query) => {
    expect(read.first).toMatchObject({ endpoint, query, effect: 'read' });
    expect(flawOf(read.first)).toBeUndefined();
  });

  it('have a key of their own for each read of an account', () => {
    expect(new Set(reads.map(([read]) => read.key)).size).toBe(reads.length);
  });

  it.each([
    { request: r.postAppEnvStop({}), because: 'an environment must be named' },
    {
      request: r.postAppEnvAlert({
        appEnvId: 'e',
        name: 'n',
        metric: 'm',
        operator: 'gt',
        threshold: 1,
        duration: '5m',
      }),
      because: 'an alert needs contact points',
    },
    {
      request: r.postAppEnvAlert({
        appEnvId: 'e',
        name: 'n',
        metric: 'm',
        operator: 'gt',
        threshold: 1,
        duration: '5m',
        contactPointIds: ['c'],
        contactPointNames: ['n'],
      }),
      because: 'an alert takes ids or names',
    },
    {
      request: r.postAppEnvAlert({
        name: 'n',
        metric: 'm',
        operator: 'gt',
        threshold: 1,
        duration: '5m',
        contactPointIds: ['c'],
      }),
      because: 'an alert needs an environment',
    },
    {
      request: r.postDisasterReadinessConfigure({ accountId: 'a', common: {}, items: [] }),
      because: 'at least one item',
    },
    {
      request: r.postDisasterReadinessValidate({ ...dr, requestId: '' }),
      because: 'an empty requestId identifies nothing',
    },
    { request: r.alertsOf('').first, because: 'an empty id names nothing' },
    { request: r.appsOf('').first, because: 'without an account the service takes the current one' },
    { request: r.memberAccessOf('acc', '../x').first, because: 'an id is no path' },
  ])('are not sent when $because', ({ request }) => {
    expect(flawOf(request)).toBeDefined();
  });

  it('follow the cursor of a list, and stop where there is none', () => {
    const { first, next } = r.drPointsOf('acc', 'cfg');

    expect(next?.({ items: [], nextCursor: 'abc' })).toEqual({ ...first, query: { ...first.query, after: 'abc' } });
    for (const nextCursor of [undefined, null, '', 7]) expect(next?.({ items: [], nextCursor })).toBeUndefined();
  });

  it.each([
    ['running', false],
    ['RUNNING', false],
    ['stopped', false],
    ['UPDATING', true],
    ['updating', true],
    ['DEPLOYING', true],
    ['DEGRADED', false],
    ['CRASHED', false],
    [undefined, false],
  ])('take the status %s for under way: %s', (status, underWay) => {
    expect(r.isUnderWay(status)).toBe(underWay);
  });
});
