import { sameJson, Secret } from '../../src/base/json.ts';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/engine/ports.ts';
import * as r from '../../src/hosting/requests.ts';
import { named, simulated, type Simulated } from './support/simulated.ts';

/** Each reading that an everyday call can meet, and all of them at their oddest at once. */
const readings: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { 'names.apps': 'unique', 'names.contactPoints': 'unique', 'names.alerts': 'unique' },
  ...['409', '422', '403'].map((status) => ({ 'rejection.status': status })),
  ...['message', 'nested', 'text', 'empty'].map((body) => ({ 'errors.body': body })),
  { 'get.wrapping': 'wrapped' },
  ...['messageOnly', 'empty'].map((response) => ({ 'patch.response': response })),
  ...['appEnvIds', 'environments'].map((shape) => ({ 'envAccess.shape': shape })),
  ...['appEnv', 'absent'].map((place) => ({ 'deployImage.contentId': place })),
  ...['apps', 'flat'].map((response) => ({ 'solution.response': response })),
  { 'solution.errorId': 'details' },
  { 'solution.successId': 'absent' },
  ...['upper', 'lower', 'unknownWords'].map((words) => ({ 'status.words': words })),
  { 'deploy.settles': 'lastKnown' },
  { 'lists.order': 'shuffled' },
  ...['null', 'empty'].map((end) => ({ 'cursor.end': end })),
  { 'dates.form': 'seconds' },
  { 'fields.extra': 'on' },
  { 'fields.nulls': 'on' },
  { 'alerts.cache': 'live' },
  { 'contactPoints.deploys': 'everywhere' },
  { 'createApp.provisions': 'databases' },
  ...['seconds', 'date', 'absent'].map((retryAfter) => ({ 'rate.limit': 5, 'rate.retryAfter': retryAfter })),
  {
    'rejection.status': '403',
    'errors.body': 'nested',
    'get.wrapping': 'wrapped',
    'patch.response': 'empty',
    'envAccess.shape': 'environments',
    'deployImage.contentId': 'absent',
    'solution.response': 'flat',
    'solution.errorId': 'details',
    'solution.successId': 'absent',
    'status.words': 'unknownWords',
    'lists.order': 'shuffled',
    'cursor.end': 'empty',
    'dates.form': 'seconds',
    'fields.extra': 'on',
    'fields.nulls': 'on',
  },
];

/** Sends a request; a 429 is waited out, as the engine does. */
async function answered(world: Simulated, request: Parameters<Simulated['send']>[0]): Promise<Outcome> {
  for (let round = 0; round < 20; round += 1) {
    const outcome = await world.send(request);
    if (outcome.is !== 'notExecuted' || outcome.why !== 'throttled') return outcome;
    await world.run(outcome.retryInMs ?? 1000);
  }
  throw new Error(`${request.endpoint} was throttled twenty times`);
}

/** Sends what nothing speaks against; the body of its answer. */
async function committed(world: Simulated, request: Parameters<Simulated['send']>[0]): Promise<unknown> {
  const outcome = await answered(world, request);
  if (outcome.is !== 'committed') throw new Error(JSON.stringify(outcome));
  return outcome.body;
}

describe.each(named(readings))('under $name the client', ({ reading }) => {
  it('reads the lists of the account', async () => {
    const world = simulated(reading);

    const [apps, environments] = [await world.look(r.appsOf('acc_demo')), await world.look(r.appEnvsOf('acc_demo'))];
    const presets = [await world.look(r.appPresetsOf()), await world.look(r.databasePresetsOf())];
    const solutions = await world.look(r.solutionsOf('acc_demo'));

    expect([...apps.keys()].toSorted()).toEqual(['app_db', 'app_fn', 'app_job', 'app_web']);
    expect(environments.get('env_web_prod')).toMatchObject({
      cliEnvName: 'web-prod',
      region: 'eu-west',
      appId: 'app_web',
    });
    expect(environments.get('env_web_prod')?.status).toMatch(/^running$/i);
    expect(presets[0]?.get('FUNCTION')?.isFunction).toBe(true);
    expect(presets[1]?.get('POSTGRESQL')).toBeDefined();
    expect(solutions.get('queue-worker')?.components).toHaveLength(3);
  });

  it('makes, changes, checks and removes a contact point and its alert', async () => {
    const world = simulated(reading);
    const url = new Secret('https://hooks.example/planted');
    const config = { url, httpMethod: 'POST' };
    const creation = r.postContactPoint({ accountId: 'acc_demo', name: 'On call', type: 'webhook', config });
    const contactPointId = r.createdContactPointId(await committed(world, creation)) ?? '';
    await committed(world, r.patchContactPoint({ contactPointId, name: 'Night shift' }));
    const shown = (await world.look(r.contactPointWithSecretsOf(contactPointId, undefined))).get(contactPointId);
    const rule = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '5m' };
    const alertCreation = { appEnvId: 'env_web_prod', name: 'Busy', ...rule, contactPointIds: [contactPointId] };
    const alertId = r.createdAlert(await committed(world, r.postAppEnvAlert(alertCreation)))?.alertId ?? '';
    await committed(world, r.patchAlert({ alertId, threshold: 90, description: 'marked' }));
    const paused = await committed(world, r.postAlertToggle({ alertId, enabled: false }));
    await committed(world, r.postAlertToggle({ alertId, enabled: true }));
    const state = (await world.look(r.alertStateOf(alertId, 1_000))).get(alertId);
    const listed = (await world.look(r.alertsOf('env_web_prod'))).get(alertId);
    const single = (await world.look(r.alertOf(alertId))).get(alertId);
    const blocked = await answered(world, r.deleteContactPoint(contactPointId));
    await committed(world, r.deleteAlert(alertId));
    await committed(world, r.deleteContactPoint(contactPointId));
    const again = await answered(world, r.deleteContactPoint(contactPointId));

    expect(shown).toMatchObject({ name: 'Night shift', type: 'webhook' });
    expect(sameJson(shown?.config?.['url'], url)).toBe(true);
    expect(listed).toMatchObject({ name: 'Busy', threshold: 90, description: 'marked', enabled: true });
    expect(listed?.contactPointIds).toEqual([contactPointId]);
    expect(single).toMatchObject({ alertId, threshold: 90 });
    expect(paused).toMatchObject({ enabled: false });
    expect(typeof state?.state).toBe('string');
    expect(['refused', 'conflict', 'notExecuted']).toContain(blocked.is);
    expect('body' in blocked ? r.usedByAlertsOf(blocked.body) : undefined).toBe(1);
    expect(again.is).toBe('notFound');
    expect((await world.look(r.alertOf(alertId))).size).toBe(0);
    expect((await world.look(r.contactPointsOf('acc_demo'))).has(contactPointId)).toBe(false);
  });

  it('makes, reads, changes and removes an app', async () => {
    const world = simulated(reading);
    const creation = { accountId: 'acc_demo', name: 'shop', port: 8080, useImage: true, image: 'nginx:1' };
    const appId = r.createdAppId(await committed(world, r.postApp(creation))) ?? '';
    const affected = r.environmentsAffectedOf(await committed(world, r.patchApp({ appId: 'app_web', port: 8081 })));
    const record = (await world.look(r.appOf(appId))).get(appId);
    const created = (await world.look(r.appsOf('acc_demo'))).get(appId);
    await committed(world, r.deleteApp(appId));

    expect(record).toMatchObject({ name: 'shop', port: 8080, useImage: true, dockerPreset: 'CUSTOM' });
    expect(created?.createdAtMs).toBeGreaterThanOrEqual(Date.UTC(2026, 0, 1));
    expect(affected).toBe(2);
    expect((await world.look(r.appOf(appId))).size).toBe(0);
  });

  it('deploys, rolls back, stops and starts', async () => {
    const world = simulated(reading);
    const appEnvId = 'env_web_prod';
    const deployment = { appEnvId, image: 'nginx:2', envVars: { KEY: new Secret('planted') } };
    const body = await committed(world, r.postAppEnvDeployImage(deployment));
    await world.run(10_000);
    const back = r.rollbackInfoOf(await committed(world, r.postAppEnvRollback({ appEnvId })));
    await world.run(10_000);
    await committed(world, r.postAppEnvRedeploy({ appEnvId }));
    await world.run(10_000);
    const stopping = r.lifecycleAnswerOf(await committed(world, r.postAppEnvStop({ appEnvId })));
    await world.run(10_000);
    const stopped = (await world.look(r.appEnvsOf('acc_demo'))).get(appEnvId)?.status;
    await committed(world, r.postAppEnvStart({ appEnvId }));
    await world.run(10_000);
    const started = (await world.look(r.appEnvsOf('acc_demo'))).get(appEnvId)?.status;

    expect(r.lifecycleAnswerOf(body)).toMatchObject({ success: true, appEnvId });
    expect(r.deployedContentIdOf(body) === undefined).toBe(reading['deployImage.contentId'] === 'absent');
    expect(back?.toVersion).toBeLessThan(back?.fromVersion ?? 0);
    expect(r.isUnderWay(stopping?.status)).toBe(true);
    expect(stopped).toMatch(/^stopped$/i);
    expect(started).toMatch(/^running$/i);
  });

  it('restricts a member, and gives everything back', async () => {
    const world = simulated(reading);
    const membership = { accountId: 'acc_demo', membershipId: 'mem_demo' };
    const read = r.memberAccessOf('acc_demo', 'mem_demo');
    const before = (await world.look(read)).get('mem_demo');
    await committed(world, r.patchMemberEnvAccess({ ...membership, allowedAppEnvIds: ['env_web_prod'] }));
    const restricted = (await world.look(read)).get('mem_demo');
    await committed(world, r.patchMemberEnvAccessToFull(membership));
    const after = (await world.look(read)).get('mem_demo');

    expect([before, restricted, after].map((access) => access?.allowedAppEnvIds)).toEqual([[], ['env_web_prod'], []]);
  });

  it('installs a solution, and finds its way back to one that failed half way', async () => {
    const world = simulated(reading);
    const creation = { accountId: 'acc_demo', solutionSlug: 'queue-worker', appName: 'jobs', region: 'eu-west' };
    const match = { method: 'POST', path: '/solutions' };
    await world.control('POST', '/faults', { match, effect: { failAfterComponents: 1 } });
    const failed = await answered(world, r.postSolutions(creation));
    const installationId = 'body' in failed ? r.installationIdOf(failed.body) : undefined;
    const resumed = r.solutionResultOf(
      await committed(world, r.postSolutions({ ...creation, installationId: installationId ?? '' })),
    );

    expect(failed.is).toBe('inDoubt');
    expect(installationId).toMatch(/./);
    expect(resumed?.components).toHaveLength(3);
    for (const { appId, appEnvId } of resumed?.components ?? []) {
      const [apps, environments] = [await world.look(r.appsOf('acc_demo')), await world.look(r.appEnvsOf('acc_demo'))];
      expect(apps.has(appId ?? '')).toBe(true);
      expect(environments.get(appEnvId ?? '')?.appId).toBe(appId);
    }
  });
});
