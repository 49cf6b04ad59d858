import { describe, expect, it } from 'vitest';
import { DAY, HOUR, MINUTE, type Fields, type Receipt, setting, SETTLED, WARM } from './setting.ts';

describe('validate', () => {
  it('journals a check that is over a little later', async () => {
    const at = setting();
    const configurationId = await at.protect();

    const { status, body } = await at.validate(configurationId);

    expect(status).toBe(200);
    expect(body).toEqual({ configurationId, operationId: expect.any(String), generation: 1, phase: 'queued' });
    expect((await at.configuration(configurationId)).activeOperationId).toBe(body.operationId);
    at.advance(SETTLED);
    const after = await at.configuration(configurationId);
    expect(after).not.toHaveProperty('activeOperationId');
    expect(after.activities.at(-1)).toMatchObject({
      operationId: body.operationId,
      kind: 'validation',
      phase: 'succeeded',
      outcome: 'succeeded',
    });
  });

  it('requires that the initial enrollment is complete', async () => {
    const at = setting({ 'rejection.status': '409' });
    const { configurationId } = await at.configureOne();

    expect((await at.validate(configurationId)).status).toBe(409);
  });

  it('is refused after an enrollment that failed', async () => {
    const at = setting();
    const { configurationId } = await at.configureOne();
    await at.tell(configurationId, { setPhase: 'validating' });
    await at.control('POST', `/configurations/${configurationId}/points`, {});
    await at.tell(configurationId, { setPhase: 'failed' });

    expect((await at.validate(configurationId)).status).toBe(400);
  });

  it.each<{ because: string; change: Fields; status: number }>([
    { because: 'the generation is stale', change: { expectedGeneration: 0 }, status: 422 },
    { because: 'the configuration is unknown', change: { configurationId: 'drc_none' }, status: 404 },
    { because: 'the account is unknown', change: { accountId: 'acc_none' }, status: 404 },
    { because: 'the account is not that of the configuration', change: { accountId: 'acc_other' }, status: 403 },
    { because: 'the generation is no number', change: { expectedGeneration: '1' }, status: 400 },
    { because: 'the requestId is missing', change: { requestId: undefined }, status: 400 },
    { because: 'the configurationId is missing', change: { configurationId: undefined }, status: 400 },
    { because: 'it asks for a dry run', change: { dryRun: true }, status: 400 },
    { because: 'it names an actor', change: { actor: 'somebody' }, status: 400 },
  ])('is refused when $because', async ({ change, status }) => {
    const at = setting({ 'rejection.status': '422' });
    const configurationId = await at.protect();

    const answer = await at.validate(configurationId, change);

    expect(answer.status).toBe(status);
    expect(await at.ledger('validation.accepted')).toEqual([]);
  });

  it('takes no execution fields in its query either', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const body = { ...at.account, configurationId, expectedGeneration: 1, requestId: 'r' };

    expect((await at.post('validate?dryRun=true', body)).status).toBe(400);
  });

  it('is refused while another check is pending', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.validate(configurationId);

    expect((await at.validate(configurationId)).status).toBe(400);
  });

  it('does not contact the source region', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.control('PATCH', '/regions/eu-west', { up: false });

    const { status, body } = await at.validate(configurationId);

    expect(status).toBe(200);
    at.advance(SETTLED);
    const { activities } = await at.configuration(configurationId);
    expect(activities.at(-1)).toMatchObject({ operationId: body.operationId, outcome: 'succeeded' });
  });

  it('waits for the destination region', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.control('PATCH', '/regions/us-east', { up: false });
    await at.validate(configurationId);

    at.advance(SETTLED);
    expect((await at.configuration(configurationId)).activeOperation?.phase).toBe('validating');
    await at.control('PATCH', '/regions/us-east', { up: true });
    at.advance(5 * MINUTE);

    expect((await at.configuration(configurationId)).activities.at(-1)).toMatchObject({ outcome: 'succeeded' });
  });

  it('creates no app and no environment', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.validate(configurationId);

    at.advance(SETTLED);

    expect(await at.ledger('environment.created')).toEqual([]);
    expect(await at.ledger('app.created')).toEqual([]);
  });
});

describe('a retry of validate', () => {
  it('returns the committed operation, also when it is over', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const first = await at.validate(configurationId, { requestId: 'check' });
    at.advance(SETTLED);

    const again = await at.validate(configurationId, { requestId: 'check' });

    expect(again).toEqual(first);
    expect(await at.ledger('validation.accepted')).toHaveLength(1);
  });

  it('checks the authorization again', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const body = { ...at.account, configurationId, expectedGeneration: 1, requestId: 'check' };
    await at.post('validate', body);

    expect((await at.post('validate', body, 'demo-member')).status).toBe(403);
  });

  it('with another generation is rejected', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.validate(configurationId, { requestId: 'check' });
    at.advance(SETTLED);

    expect((await at.validate(configurationId, { requestId: 'check', expectedGeneration: 2 })).status).toBe(400);
  });

  it('for another configuration is rejected', async () => {
    const at = setting();
    const web = await at.protect();
    const db = await at.protect({ sourceAppEnvId: 'env_db_prod', target: { envName: 'dr', appName: 'db-dr' } });
    await at.validate(web, { requestId: 'check' });

    expect((await at.validate(db, { requestId: 'check' })).status).toBe(400);
  });

  it('with a reference of another kind of call is rejected', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.validate(configurationId, { requestId: 'check' });
    at.advance(SETTLED);

    const { status } = await at.post('activate', await at.activation(configurationId, { requestId: 'check' }));

    expect(status).toBe(400);
  });
});

describe('the schedule of checks', () => {
  it('is established with the enrollment', async () => {
    const at = setting();
    const { configurationId } = await at.configureOne();

    expect((await at.configuration(configurationId)).validationScheduleEstablished).toBe(false);
    at.advance(SETTLED);

    expect((await at.configuration(configurationId)).validationScheduleEstablished).toBe(true);
  });

  it('is not moved by manual checks, and neither is that of snapshots', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const { nextSnapshotAt, nextValidationAt } = await at.configuration(configurationId);
    await at.validate(configurationId);

    at.advance(SETTLED);

    expect(await at.configuration(configurationId)).toMatchObject({ nextSnapshotAt, nextValidationAt });
  });

  it('advances from the due time', async () => {
    const at = setting();
    const configurationId = await at.protect({ validationIntervalMs: 6 * HOUR });
    const { nextValidationAt = '' } = await at.configuration(configurationId);

    at.advance(7 * HOUR);

    const after = await at.configuration(configurationId);
    expect(Date.parse(after.nextValidationAt ?? '')).toBe(Date.parse(nextValidationAt) + 6 * HOUR);
    expect(after.activities.filter(({ kind }) => kind === 'validation')).toHaveLength(1);
  });

  it('waits for an operation that is in progress', async () => {
    const at = setting();
    const configurationId = await at.protect({ validationIntervalMs: HOUR });
    const { nextValidationAt = '' } = await at.configuration(configurationId);
    at.advance(Date.parse(nextValidationAt) - at.now() - 5_000);
    await at.validate(configurationId);

    at.advance(10_000);
    const during = await at.configuration(configurationId);
    at.advance(SETTLED);

    expect(during.activities.filter(({ kind }) => kind === 'validation')).toHaveLength(1);
    const { activities } = await at.configuration(configurationId);
    expect(activities.filter(({ outcome }) => outcome === 'succeeded')).toHaveLength(3);
  });

  it('remembers the last 50 operations and every activation', async () => {
    const at = setting();
    const configurationId = await at.protect({ validationIntervalMs: HOUR });
    await at.activate(configurationId);
    at.advance(4 * DAY);

    const { activities } = await at.configuration(configurationId);

    expect(activities).toHaveLength(51);
    expect(activities[0]).toMatchObject({ kind: 'activation', outcome: 'succeeded' });
  });

  it('skips missed intervals and keeps its beat', async () => {
    const at = setting();
    const configurationId = await at.protect({ validationIntervalMs: HOUR });
    const { nextValidationAt = '' } = await at.configuration(configurationId);
    await at.tell(configurationId, { hold: true });
    at.advance(5 * HOUR + 30 * MINUTE);

    await at.tell(configurationId, { hold: false });
    at.advance(SETTLED);

    const after = await at.configuration(configurationId);
    expect(after.activities.filter(({ kind }) => kind === 'validation')).toHaveLength(1);
    const beats = (Date.parse(after.nextValidationAt ?? '') - Date.parse(nextValidationAt)) / HOUR;
    expect(beats).toBe(5);
  });
});

describe('a check that fails', () => {
  it('makes the protection not ready and blocks recovery', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.tell(configurationId, { nextValidation: 'fail' });
    await at.validate(configurationId);
    at.advance(SETTLED);

    const configuration = await at.configuration(configurationId);
    const { status } = await at.post('activate', await at.activation(configurationId));

    expect(configuration.readiness).toMatchObject({ state: 'failed', reason: 'validationFailed' });
    expect(configuration.activities.at(-1)).toMatchObject({ outcome: 'failed', phase: 'failed' });
    expect(status).toBe(400);
  });

  it('permits another one once it is cleaned up, which unblocks recovery when it succeeds', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.tell(configurationId, { nextValidation: 'fail' });
    await at.validate(configurationId);
    at.advance(SETTLED);

    const { status } = await at.validate(configurationId);
    at.advance(SETTLED);

    expect(status).toBe(200);
    expect((await at.configuration(configurationId)).readiness.state).toBe('ready');
    expect((await at.post('activate', await at.activation(configurationId))).status).toBe(200);
  });

  it('whose cleanup cannot be verified blocks recovery and further checks', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.tell(configurationId, { nextValidation: 'cleanupUnverifiable' });
    await at.validate(configurationId);
    at.advance(DAY / 2);

    const configuration = await at.configuration(configurationId);

    expect(configuration.activeOperation).toMatchObject({ kind: 'validation', phase: 'cleaning' });
    expect(configuration.activeOperation?.validationCleanup).toMatchObject({ retentionPending: true });
    expect(configuration.readiness.state).toBe('needsAttention');
    expect((await at.validate(configurationId)).status).toBe(400);
    expect((await at.post('activate', await at.activation(configurationId))).status).toBe(400);
  });

  it.each<Fields>([{ validationCleanup: null }, { nextPhase: true }])(
    'unblocks once its cleanup is verified by %o',
    async (words) => {
      const at = setting();
      const configurationId = await at.protect();
      await at.tell(configurationId, { nextValidation: 'cleanupUnverifiable' });
      await at.validate(configurationId);
      at.advance(SETTLED);

      await at.tell(configurationId, words);

      expect((await at.configuration(configurationId)).readiness.state).toBe('ready');
      expect((await at.validate(configurationId)).status).toBe(200);
    },
  );
});

describe('the cleanup of a check', () => {
  it('is shown with the operation while its temporary target is retired, and then handed over', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.validate(configurationId);

    at.advance(15_000);
    const during = await at.configuration(configurationId);
    at.advance(15_000);
    const after = await at.configuration(configurationId);

    expect(during.activeOperation).toMatchObject({
      phase: 'cleaning',
      validationCleanup: {
        observedAt: expect.any(String),
        retentionUntil: expect.any(String),
        retentionPending: true,
      },
    });
    expect(after).not.toHaveProperty('activeOperationId');
    expect(after.pendingCleanup).toEqual({
      pendingCount: 1,
      retainedDiskCount: 1,
      retryingCount: 0,
      earliestRetentionUntil: expect.any(String),
    });
    expect(await at.source()).toMatchObject({ pendingCleanup: after.pendingCleanup });
  });

  it('is over when the retention is, or when it is told to be', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.validate(configurationId);
    at.advance(SETTLED);
    const { pendingCleanup } = await at.configuration(configurationId);
    await at.validate(configurationId);
    at.advance(SETTLED);
    await at.tell(configurationId, { hold: false });
    const both = await at.configuration(configurationId);

    at.advance(Date.parse(pendingCleanup?.earliestRetentionUntil ?? '') - at.now());
    const other = await at.configuration(configurationId);
    await at.tell(configurationId, { pendingCleanup: null });

    expect(both.pendingCleanup).toEqual({ ...pendingCleanup, pendingCount: 2, retainedDiskCount: 2 });
    expect(other.pendingCleanup).toMatchObject({ pendingCount: 1, retainedDiskCount: 1 });
    expect(await at.configuration(configurationId)).not.toHaveProperty('pendingCleanup');
  });
});

describe('a check of a warm protection', () => {
  it('runs beside the receiver, which stays the active operation', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    const before = await at.configuration(configurationId);

    const { body } = await at.validate(configurationId);

    const during = await at.configuration(configurationId);
    expect(before.warmValidationOperationId).toBe(before.activeOperationId);
    expect(during.activeOperationId).toBe(before.activeOperationId);
    expect(body.operationId).not.toBe(before.activeOperationId);
    expect(during).not.toHaveProperty('warmValidationOperationId');
    expect(during).not.toHaveProperty('warmRecoveryOperationId');
    at.advance(SETTLED);
    expect(await at.configuration(configurationId)).toMatchObject({
      warmValidationOperationId: before.activeOperationId,
      warmRecoveryOperationId: before.activeOperationId,
    });
  });

  it('gets fresh history with each fresh request', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);

    const receipts: Receipt[] = [];
    for (let round = 0; round < 2; round += 1) {
      receipts.push((await at.validate(configurationId)).body);
      at.advance(SETTLED);
    }

    const { activities } = await at.configuration(configurationId);
    const checks = activities.filter(({ kind }) => kind === 'validation').map(({ operationId }) => operationId);
    expect(checks).toEqual(receipts.map(({ operationId }) => operationId));
    expect(new Set(checks).size).toBe(2);
  });

  it('that fails takes back the hint that recovery may be taken over, not the one for another check', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    await at.tell(configurationId, { nextValidation: 'fail' });
    await at.validate(configurationId);

    at.advance(SETTLED);

    const configuration = await at.configuration(configurationId);
    expect(configuration.warmValidationOperationId).toBe(configuration.activeOperationId);
    expect(configuration).not.toHaveProperty('warmRecoveryOperationId');
  });
});
