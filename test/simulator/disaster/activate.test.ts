import { describe, expect, it } from 'vitest';
import { DAY, type Fields, HOUR, setting, SETTLED, WARM } from './setting.ts';

const DATABASE = { sourceAppEnvId: 'env_db_prod', target: { envName: 'planned', appName: 'orders-planned' } };
const NEW_APP = { envName: 'recovered', createNewApp: true, appName: 'web-recovered' };

describe('activate', () => {
  it('answers with a receipt and completes later', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const body = await at.activation(configurationId);

    const { status, body: receipt } = await at.post('activate', body);

    expect(status).toBe(200);
    expect(receipt).toEqual({ configurationId, operationId: expect.any(String), generation: 1, phase: 'queued' });
    const during = await at.configuration(configurationId);
    expect(during.activeOperation).toMatchObject({ kind: 'activation', cutoffAt: body['cutoffAt'], failedSteps: 0 });
    expect(during).not.toHaveProperty('activationResult');
    at.advance(SETTLED);
    const after = await at.configuration(configurationId);
    expect(after).not.toHaveProperty('activeOperationId');
    expect(after.activities.at(-1)).toMatchObject({
      operationId: receipt['operationId'],
      outcome: 'succeeded',
      cutoffAt: body['cutoffAt'],
    });
    expect(after.activationResult).toEqual({
      operationId: receipt['operationId'],
      targetAppEnvId: expect.any(String),
      targetAppId: 'app_web',
      pointId: body['pointId'],
      cutoffAt: body['cutoffAt'],
      completedAt: expect.any(String),
    });
  });

  it('takes no snapshots and begins no scheduled check while an activation runs', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.tell(configurationId, { failSteps: 10_000 });
    await at.activate(configurationId);
    const before = await at.points(configurationId);

    at.advance(2 * DAY);

    const after = await at.configuration(configurationId);
    expect(after.activeOperation).toMatchObject({ kind: 'activation' });
    expect(after.activities.filter(({ kind }) => kind === 'validation')).toEqual([]);
    expect(await at.points(configurationId)).toEqual(before);
  });

  it('goes through its phases in order', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.activate(configurationId);

    const seen = new Set<string | undefined>();
    for (let second = 0; second < 30; second += 1) {
      seen.add((await at.configuration(configurationId)).activeOperation?.phase);
      at.advance(1_000);
    }

    expect([...seen]).toEqual(['queued', 'restoring', 'promoting', 'starting', undefined]);
  });

  it('brings app and environment into being only with the live handoff', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.activate(configurationId, { target: NEW_APP });

    at.advance(20_000);
    const before = [...(await at.ledger('app.created')), ...(await at.ledger('environment.created'))];
    const sourceBefore = await at.source();
    at.advance(2_000);

    const { activationResult } = await at.configuration(configurationId);
    expect(before).toEqual([]);
    expect(sourceBefore).not.toHaveProperty('target');
    expect(await at.ledger('app.created')).toMatchObject([{ id: activationResult?.targetAppId }]);
    expect(await at.ledger('environment.created')).toMatchObject([{ id: activationResult?.targetAppEnvId }]);
    expect(await at.source()).toMatchObject({
      target: {
        appEnvId: activationResult?.targetAppEnvId,
        appId: activationResult?.targetAppId,
        appName: 'web-recovered',
        environmentName: 'recovered',
      },
    });
  });

  it('recovers an application into the source app and does not start it', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.activate(configurationId);

    at.advance(SETTLED);

    const { activationResult } = await at.configuration(configurationId);
    const { body } = await at.get<{ appEnvs: Fields[] }>('/app-envs', { accountId: 'acc_demo' });
    const recovered = body.appEnvs.find(({ appEnvId }) => appEnvId === activationResult?.targetAppEnvId);
    expect(recovered).toMatchObject({ appId: 'app_web', name: 'recovered', region: 'us-east', status: 'stopped' });
    expect(await at.ledger('app.created')).toEqual([]);
  });

  it('hands over a PostgreSQL database as running, in a new app', async () => {
    const at = setting();
    const configurationId = await at.protect(DATABASE);
    await at.activate(configurationId, { target: { envName: 'dr', appName: 'orders-dr' } });

    at.advance(SETTLED);

    const { activationResult } = await at.configuration(configurationId);
    const { body } = await at.get<{ appEnvs: Fields[] }>('/app-envs', { accountId: 'acc_demo' });
    const recovered = body.appEnvs.find(({ appEnvId }) => appEnvId === activationResult?.targetAppEnvId);
    expect(activationResult).toMatchObject({ engine: 'postgresql' });
    expect(activationResult?.targetAppId).not.toBe('app_db');
    const app = await at.get('/app', { appId: activationResult?.targetAppId ?? '' });
    expect(app.body).toMatchObject({ name: 'orders-dr', dockerPreset: 'POSTGRESQL' });
    expect(recovered).toMatchObject({ appId: activationResult?.targetAppId, name: 'dr', status: 'running' });
  });

  it('trims names', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.activate(configurationId, { target: { envName: '  recovered ', createNewApp: true, appName: ' new ' } });

    at.advance(SETTLED);

    expect(await at.source()).toMatchObject({ target: { appName: 'new', environmentName: 'recovered' } });
  });

  it('may choose other names than the planned ones when cold', async () => {
    const at = setting();
    const configurationId = await at.protect({ target: { envName: 'planned' } });

    const { status } = await at.post('activate', await at.activation(configurationId));

    expect(status).toBe(200);
  });

  it.each<{ because: string; change: Fields; status: number }>([
    { because: 'the target is omitted', change: { target: undefined }, status: 422 },
    { because: 'the target is null', change: { target: null }, status: 422 },
    { because: 'the generation is stale', change: { expectedGeneration: 0 }, status: 422 },
    { because: 'the operation is not that of the point', change: { selectedOperationId: 'op_other' }, status: 422 },
    { because: 'the cutoff is not that of the point', change: { cutoffAt: '2026-01-01T00:00:00.000Z' }, status: 422 },
    { because: 'the operation is missing', change: { selectedOperationId: undefined }, status: 400 },
    { because: 'the point is missing', change: { pointId: undefined }, status: 400 },
    { because: 'the cutoff is missing', change: { cutoffAt: undefined }, status: 400 },
    { because: 'there is no such point', change: { pointId: 'f'.repeat(64) }, status: 404 },
    { because: 'the configuration is unknown', change: { configurationId: 'drc_none' }, status: 404 },
    { because: 'the pointId is too short', change: { pointId: 'f'.repeat(63) }, status: 400 },
    { because: 'the pointId is too long', change: { pointId: 'f'.repeat(65) }, status: 400 },
    { because: 'the cutoff is no UTC date', change: { cutoffAt: '2026-01-01T02:00:10+02:00' }, status: 400 },
    { because: 'the environment has no name', change: { target: { createNewApp: false } }, status: 400 },
    { because: 'the name is blank', change: { target: { envName: ' ' } }, status: 400 },
    { because: 'a new app has no name', change: { target: { envName: 'dr', createNewApp: true } }, status: 400 },
    { because: 'the target has an unknown field', change: { target: { envName: 'dr', dns: true } }, status: 400 },
    { because: 'the acknowledgment is no boolean', change: { writerSafetyAcknowledged: 'yes' }, status: 400 },
    { because: 'the body has an unknown field', change: { actor: 'me' }, status: 400 },
    { because: 'sizes are submitted', change: { retainedSizing: { replicas: 3 } }, status: 400 },
    { because: 'the requestId is empty', change: { requestId: '' }, status: 400 },
  ])('is refused when $because', async ({ change, status }) => {
    const at = setting({ 'rejection.status': '422' });
    const configurationId = await at.protect();

    const answer = await at.post('activate', await at.activation(configurationId, change));

    expect(answer.status).toBe(status);
    expect(await at.ledger('activation.accepted')).toEqual([]);
  });

  it('of a database needs an app name', async () => {
    const at = setting();
    const configurationId = await at.protect(DATABASE);

    const { status } = await at.post('activate', await at.activation(configurationId, { target: { envName: 'dr' } }));

    expect(status).toBe(400);
  });

  it('is refused for an engine that cannot be activated, before anything changes', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.tell(configurationId, { engineUnavailableReason: 'this engine cannot be activated yet' });
    await at.validate(configurationId);
    at.advance(SETTLED);

    const { status } = await at.post('activate', await at.activation(configurationId));

    expect(status).toBe(400);
    const configuration = await at.configuration(configurationId);
    expect(configuration.activationUnavailableReason).toBe('this engine cannot be activated yet');
    expect(configuration).not.toHaveProperty('activeOperationId');
    await at.tell(configurationId, { engineUnavailableReason: null });
    expect((await at.post('activate', await at.activation(configurationId))).status).toBe(200);
  });

  it('is refused while a check is pending', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.validate(configurationId);

    expect((await at.post('activate', await at.activation(configurationId))).status).toBe(400);
  });

  it('has a single winner when two come at once', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const one = await at.activation(configurationId);
    const other = await at.activation(configurationId, { target: { envName: 'elsewhere' } });

    const both = await Promise.all([at.post('activate', one), at.post('activate', other)]);

    expect(both.map(({ status }) => status)).toEqual([200, 400]);
    expect(await at.ledger('activation.accepted')).toHaveLength(1);
  });

  it('goes on although the source region is down, once writer safety is acknowledged', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const body = await at.activation(configurationId);
    await at.control('PATCH', '/regions/eu-west', { up: false });

    const refused = await at.post('activate', body);
    const accepted = await at.post('activate', { ...body, writerSafetyAcknowledged: true });

    expect([refused.status, accepted.status]).toEqual([400, 200]);
    at.advance(SETTLED);
    expect(await at.configuration(configurationId)).toHaveProperty('activationResult');
  });

  it.each([
    ['repeatable', 'orders-db', 200],
    ['unique', 'orders-db', 400],
    ['unique', 'orders-dr', 200],
  ])('when names are %s, answers for the name %s of a new app with %d', async (names, appName, status) => {
    const at = setting({ 'names.apps': names });
    const configurationId = await at.protect();
    const target = { ...NEW_APP, appName };

    expect((await at.post('activate', await at.activation(configurationId, { target }))).status).toBe(status);
  });

  it('uses the source app unless createNewApp is true, and neither disk nor compute change when the source is gone', async () => {
    const at = setting();
    const resources = { containers: 3, zClouds: 2, cpu: 2, memory: 2048 };
    await at.control('PATCH', '/environments/env_web_prod', { volumes: 2, resources });
    const configurationId = await at.protect();
    await at.remove('/app?appId=app_web');

    const refused = await at.post('activate', await at.activation(configurationId));
    await at.activate(configurationId, { target: NEW_APP });
    at.advance(SETTLED);

    const { activationResult } = await at.configuration(configurationId);
    const recovered = await at.control('GET', `/environments/${activationResult?.targetAppEnvId}`);
    expect(refused.status).toBe(400);
    expect(recovered.body).toMatchObject({ volumes: 2, resources });
    expect((await at.reset()).status).toBe(200);
  });

  it.each([
    { receipt: 'idOnly', keys: ['operationId'] },
    { receipt: 'opaque', keys: [] },
  ])('shows a receipt that is $receipt', async ({ receipt, keys }) => {
    const at = setting({ 'activate.receipt': receipt });
    const configurationId = await at.protect();

    const { status, body } = await at.post('activate', await at.activation(configurationId));

    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(keys);
  });

  it('takes a cutoff as the list shows it when dates have no milliseconds', async () => {
    const at = setting({ 'dates.form': 'seconds' });
    const configurationId = await at.protect();
    at.advance(1_234);
    await at.control('POST', `/configurations/${configurationId}/points`, {});
    const { body } = await at.points(configurationId);

    for (const { pointId, selectedOperationId, cutoffAt } of body.items) {
      const pinned = { pointId, selectedOperationId, cutoffAt };
      expect(cutoffAt).toMatch(/:\d\dZ$/);
      expect((await at.post('activate', await at.activation(configurationId, pinned))).status).toBe(200);
      at.advance(SETTLED);
    }
  });
});

describe('a second activation', () => {
  it('may follow a cold one that has completed', async () => {
    const at = setting();
    const configurationId = await at.protect();
    for (const envName of ['first', 'second']) {
      await at.activate(configurationId, { target: { envName } });
      at.advance(SETTLED);
    }

    const { activities } = await at.configuration(configurationId);

    expect(activities.filter(({ kind }) => kind === 'activation')).toMatchObject([
      { outcome: 'succeeded' },
      { outcome: 'succeeded' },
    ]);
  });
});

describe('a second warm activation', () => {
  it('is rejected, as the destination is live already', async () => {
    const at = setting({ 'rejection.status': '409' });
    const configurationId = await at.protect(WARM);
    const body = await at.activation(configurationId, { target: WARM.target });
    await at.post('activate', body);
    at.advance(SETTLED);

    expect((await at.post('activate', { ...body, requestId: 'again' })).status).toBe(409);
  });
});

describe('a retry of activate', () => {
  it('returns the committed operation and starts nothing', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const body = await at.activation(configurationId);

    const first = await at.post('activate', body);
    at.advance(SETTLED);
    const again = await at.post('activate', body);

    expect(again).toEqual(first);
    expect(await at.ledger('activation.accepted')).toMatchObject([{ requestId: body['requestId'] }]);
    expect(await at.ledger('activation.promoted')).toHaveLength(1);
  });

  it('with names that differ in blanks only is the same', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const body = await at.activation(configurationId);
    const first = await at.post('activate', body);

    const again = await at.post('activate', { ...body, target: { envName: ' recovered ', createNewApp: false } });

    expect(again).toEqual(first);
  });

  it.each<{ because: string; change: Fields }>([
    { because: 'another target', change: { target: { envName: 'elsewhere' } } },
    { because: 'another generation', change: { expectedGeneration: 2 } },
    { because: 'an acknowledgment', change: { writerSafetyAcknowledged: true } },
    { because: 'another point', change: { pointId: 'f'.repeat(64) } },
  ])('with $because is rejected', async ({ change }) => {
    const at = setting();
    const configurationId = await at.protect();
    const body = await at.activation(configurationId);
    await at.post('activate', body);

    expect((await at.post('activate', { ...body, ...change })).status).toBe(400);
  });
});

describe('a warm activation', () => {
  it('takes over the standby under exactly its names', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    const { target } = await at.source();
    const receiver = (await at.configuration(configurationId)).warmRecoveryOperationId;
    const body = await at.activation(configurationId, { target: WARM.target });

    const { status } = await at.post('activate', body);
    at.advance(SETTLED);

    expect(status).toBe(200);
    expect(body['selectedOperationId']).toBe(receiver);
    const { activationResult } = await at.configuration(configurationId);
    const { targetAppEnvId: appEnvId, targetAppId: appId } = activationResult ?? {};
    expect(target).toEqual({ appEnvId, appId, appName: 'web', environmentName: 'standby' });
    expect((await at.points(configurationId)).body.items).toEqual([]);
    expect((await at.configuration(configurationId)).activities).toMatchObject([
      { operationId: receiver, kind: 'enrollment', outcome: 'succeeded' },
      { kind: 'activation', outcome: 'succeeded' },
    ]);
  });

  it.each<{ because: string; target: Fields }>([
    { because: 'another environment name', target: { envName: 'other', createNewApp: false } },
    { because: 'a new app that was not prepared', target: { envName: 'standby', createNewApp: true, appName: 'x' } },
  ])('with $because is rejected before work starts', async ({ target }) => {
    const at = setting();
    const configurationId = await at.protect(WARM);

    const { status } = await at.post('activate', await at.activation(configurationId, { target }));

    expect(status).toBe(400);
    expect(await at.ledger('activation.accepted')).toEqual([]);
  });

  it('waits until the standby has caught up', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    await at.tell(configurationId, { standby: { caughtUp: false } });

    const behind = await at.configuration(configurationId);
    const refused = await at.post('activate', await at.activation(configurationId, { target: WARM.target }));
    await at.tell(configurationId, { standby: { caughtUp: true } });
    const accepted = await at.post('activate', await at.activation(configurationId, { target: WARM.target }));

    expect(behind).not.toHaveProperty('warmRecoveryOperationId');
    expect([refused.status, accepted.status]).toEqual([400, 200]);
  });
});

describe('an app name where no app is created', () => {
  it('differs from the names of a warm destination', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    const named = { ...WARM.target, appName: 'elsewhere' };

    const refused = await at.post('activate', await at.activation(configurationId, { target: named }));
    const accepted = await at.post('activate', await at.activation(configurationId, { target: WARM.target }));

    expect([refused.status, accepted.status]).toEqual([400, 200]);
    expect(await at.ledger('activation.accepted')).toHaveLength(1);
  });

  it('is part of what a requestId stands for', async () => {
    const at = setting({ 'rejection.status': '409' });
    const configurationId = await at.protect();
    const body = await at.activation(configurationId);
    const named = (appName: string) => ({ ...body, target: { envName: 'recovered', createNewApp: false, appName } });

    const statuses: number[] = [];
    for (const sent of [named('one'), named(' one '), named('two'), body]) {
      statuses.push((await at.post('activate', sent)).status);
    }

    expect(statuses).toEqual([200, 200, 409, 409]);
  });
});

describe('a step of an activation', () => {
  it('that fails is tried again until it succeeds', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.activate(configurationId);
    await at.tell(configurationId, { setPhase: 'promoting', failSteps: 2 });

    at.advance(10_000);
    const failing = await at.configuration(configurationId);
    at.advance(10 * 60_000);

    expect(failing.activeOperation).toMatchObject({ phase: 'promoting', failedSteps: 1 });
    expect(await at.configuration(configurationId)).toHaveProperty('activationResult');
  });

  it.each(['queued', 'restoring'])(
    'fails in %s as often as told, without counting towards a discard',
    async (phase) => {
      const at = setting();
      const configurationId = await at.protect();
      const operationId = await at.activate(configurationId);
      await at.tell(configurationId, { setPhase: phase, failSteps: 6 });

      for (let step = 0; step < 6; step += 1) await at.tell(configurationId, { nextPhase: true });
      const failing = await at.configuration(configurationId);
      const discarded = await at.discard(configurationId, operationId);
      await at.tell(configurationId, { nextPhase: true });
      const after = await at.configuration(configurationId);

      expect(failing.activeOperation).toMatchObject({ phase, failedSteps: 0 });
      expect(await at.ledger('activation.stepFailed')).toHaveLength(6);
      expect(discarded.status).toBe(400);
      expect(after.activeOperation?.phase).not.toBe(phase);
    },
  );

  it('lets a warm activation be reset that fails before promotion, in whatever phase', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    await at.activate(configurationId, { target: WARM.target });
    const early = await at.reset();
    await at.tell(configurationId, { setPhase: 'queued', failSteps: 1, nextPhase: true });

    expect([early.status, (await at.reset()).status]).toEqual([400, 200]);
  });

  it('fails while the destination region is down', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.activate(configurationId);
    await at.control('PATCH', '/regions/us-east', { up: false });

    at.advance(15 * 60_000);
    const failing = await at.configuration(configurationId);
    await at.control('PATCH', '/regions/us-east', { up: true });
    at.advance(HOUR / 4);

    expect(failing.activeOperation).toMatchObject({ phase: 'promoting', failedSteps: 6 });
    expect(await at.configuration(configurationId)).toHaveProperty('activationResult');
  });

  it('counts as failed only in a row', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.activate(configurationId);
    await at.tell(configurationId, { setPhase: 'promoting', failSteps: 1, nextPhase: true });

    await at.tell(configurationId, { nextPhase: true });

    expect((await at.configuration(configurationId)).activeOperation).toMatchObject({
      phase: 'starting',
      failedSteps: 0,
    });
  });
});
