import { describe, expect, it } from 'vitest';
import * as r from '../../src/hosting/requests.ts';
import { named, simulated, type Simulated } from './support/simulated.ts';

/** Each reading that a call of disaster readiness can meet, and all of them at their oddest at once. */
const readings: readonly Readonly<Record<string, unknown>>[] = [
  {},
  ...['results', 'configurations'].map((name) => ({ 'configure.results': name })),
  ...['null', 'empty'].map((end) => ({ 'cursor.end': end })),
  { 'points.order': 'chronological' },
  { 'dr.phases': 'opaque' },
  { 'dr.disclosed': 'minimal' },
  ...['withoutIds', 'asNamed'].map((operations) => ({ 'dr.operations': operations })),
  ...['Ready', 'protected'].map((word) => ({ 'dr.readinessWord': word })),
  ...['idOnly', 'opaque'].map((receipt) => ({ 'activate.receipt': receipt })),
  { 'reset.repeat': 'notFound' },
  { 'dates.form': 'seconds' },
  { 'fields.extra': 'on' },
  { 'fields.nulls': 'on' },
  ...['409', '422', '403'].map((status) => ({ 'rejection.status': status })),
  {
    'configure.results': 'configurations',
    'cursor.end': 'empty',
    'dr.phases': 'opaque',
    'dr.disclosed': 'minimal',
    'dr.operations': 'asNamed',
    'dr.readinessWord': 'protected',
    'activate.receipt': 'opaque',
    'rejection.status': '403',
    'errors.body': 'nested',
    'dates.form': 'seconds',
    'fields.extra': 'on',
    'fields.nulls': 'on',
  },
];

const accountId = 'acc_demo';
const sourceAppEnvId = 'env_web_prod';

async function committed(world: Simulated, request: Parameters<Simulated['send']>[0]): Promise<unknown> {
  const outcome = await world.send(request);
  if (outcome.is !== 'committed') throw new Error(JSON.stringify(outcome));
  return outcome.body;
}

function protection(requestId: string, expectedGeneration: number, rpoTargetMs: number) {
  const item = { sourceAppEnvId, requestId, expectedGeneration, rpoTargetMs, mode: 'cold' as const };
  const settings = { destinationRegion: 'us-east', snapshotIntervalMs: 300_000, storageCredentialId: null };
  return r.postDisasterReadinessConfigure({ accountId, common: {}, items: [{ ...item, ...settings }] });
}

/** A protected environment, its first recovery points taken. */
async function protectedWorld(reading: Readonly<Record<string, unknown>>) {
  const world = simulated(reading);
  const body = await committed(world, protection('first', 0, 3_600_000));
  const result = r.configureResultOf(body, sourceAppEnvId);
  const configurationId = result?.success === true ? (result.configurationId ?? '') : '';
  await world.run(700_000);
  const configurations = () => world.look(r.drConfigurationsOf(accountId));
  const configuration = async () => (await configurations()).get(configurationId);
  return { world, result, configurationId, configuration };
}

describe.each(named(readings))('under $name the client', ({ reading }) => {
  it('protects an environment, and sees that and from when it can be recovered', async () => {
    const { world, result, configurationId, configuration } = await protectedWorld(reading);

    const source = (await world.look(r.drSourcesOf(accountId))).get(sourceAppEnvId);
    const seen = await configuration();
    const points = [...(await world.look(r.drPointsOf(accountId, configurationId))).values()];
    const edited = r.configureResultOf(await committed(world, protection('second', 1, 7_200_000)), sourceAppEnvId);
    const stale = r.configureResultOf(await committed(world, protection('third', 1, 60_000)), sourceAppEnvId);

    expect(result).toMatchObject({ success: true, generation: 1 });
    expect(source).toMatchObject({ environmentName: expect.any(String), eligible: true });
    expect(source?.eligibleDestinations).toContain('us-east');
    expect(seen).toMatchObject({
      sourceAppEnvId,
      generation: 1,
      settings: { mode: 'cold', destinationRegion: 'us-east' },
    });
    expect(seen?.readiness?.state).toMatch(/^(ready|protected)$/i);
    expect(points.length).toBeGreaterThan(0);
    expect(points[0]?.pointId).toHaveLength(64);
    expect(points[0]?.generation).toBe(1);
    expect(edited).toMatchObject({ success: true });
    expect(stale).toMatchObject({ success: false, error: expect.any(String) });
  });

  it('validates and activates it with exactly what it saw', async () => {
    const { world, configurationId, configuration } = await protectedWorld(reading);
    const pinned = { accountId, configurationId, expectedGeneration: 1 };
    const check = r.receiptOf(
      await committed(world, r.postDisasterReadinessValidate({ ...pinned, requestId: 'check' })),
    );
    await world.run(200_000);
    const [point] = (await world.look(r.drPointsOf(accountId, configurationId))).values();
    const { selectedOperationId = '', pointId = '', cutoffAt = '' } = point ?? {};
    const tuple = { selectedOperationId, pointId, cutoffAt, writerSafetyAcknowledged: true };
    const target = { envName: 'recovered', createNewApp: true, appName: 'web-recovered' };
    const activation = r.postDisasterReadinessActivate({ ...pinned, requestId: 'activate', ...tuple, target });
    const receipt = r.receiptOf(await committed(world, activation));
    const repeated = r.receiptOf(await committed(world, activation));
    await world.run(600_000);
    const after = await configuration();

    expect(check?.operationId).toMatch(/./);
    expect(receipt).toEqual(repeated);
    expect(receipt?.operationId === undefined).toBe(reading['activate.receipt'] === 'opaque');
    expect(after?.activities.length).toBeGreaterThan(0);
    if (reading['dr.disclosed'] !== 'minimal') {
      expect(after?.activationResult).toMatchObject({ pointId, cutoffAt, targetAppEnvId: expect.any(String) });
      expect(r.isOperating(after ?? never())).toBe(false);
    }
  });

  it('wipes it, and reads what a second wipe says', async () => {
    const { world, configuration } = await protectedWorld(reading);
    const confirmationName = (await world.look(r.appEnvsOf(accountId))).get(sourceAppEnvId)?.name ?? '';
    const reset = r.postDisasterReadinessReset({ accountId, scope: 'environment', confirmationName, sourceAppEnvId });

    const counts = r.resetCountsOf(await committed(world, reset));
    const again = await world.send(reset);

    expect(counts?.configurations).toBe(1);
    expect(await configuration()).toBeUndefined();
    expect(again.is).toBe(reading['reset.repeat'] === 'notFound' ? 'notFound' : 'committed');
    if (again.is === 'committed') expect(r.resetCountsOf(again.body)).toEqual({ configurations: 0, destinations: 0 });
  });
});

function never(): never {
  throw new Error('there is no configuration');
}
