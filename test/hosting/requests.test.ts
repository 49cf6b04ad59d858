import { describe, expect, it } from 'vitest';
import type { Read } from '../../src/engine/ports.ts';
import * as r from '../../src/hosting/requests.ts';
import { flawOf } from '../../src/hosting/wire/transport.ts';
import { dr, requests } from './support/requests.ts';

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
