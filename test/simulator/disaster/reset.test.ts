import { describe, expect, it } from 'vitest';
import { type Fields, HOUR, setting, SETTLED, WARM } from './setting.ts';

const DATABASE = { sourceAppEnvId: 'env_db_prod', target: { envName: 'dr', appName: 'orders-dr' } };
const ACCOUNT = { scope: 'account', confirmationName: 'Demo', sourceAppEnvId: undefined };

describe('reset', () => {
  it('wipes a cold protection and leaves its source alone', async () => {
    const at = setting();
    const configurationId = await at.protect();

    const { status, body } = await at.reset();

    expect(status).toBe(200);
    expect(body).toEqual({ configurations: 1, destinations: 0 });
    expect((await at.list('configurations')).body.items).toEqual([]);
    expect((await at.points(configurationId)).status).toBe(404);
    expect(await at.source()).not.toHaveProperty('configurationId');
    expect(await at.source()).not.toHaveProperty('pendingCleanup');
    expect(await at.ledger('environment.deleted')).toEqual([]);
    expect(await at.ledger('configuration.wiped')).toMatchObject([{ id: configurationId }]);
  });

  it('wipes a warm protection with its standby, whose disk is kept for a while', async () => {
    const at = setting();
    await at.protect(WARM);

    const { body } = await at.reset();

    expect(body).toEqual({ configurations: 1, destinations: 1 });
    expect(await at.source()).toMatchObject({ pendingCleanup: { retainedDiskCount: 1 } });
    expect(await at.source()).not.toHaveProperty('target');
  });

  it('keeps the disk of a wiped protection no longer than its retention', async () => {
    const at = setting();
    await at.protect(WARM);
    await at.reset();

    at.advance(HOUR);

    const { body } = await at.control<{ collections: { retainedDisks?: unknown[] } }>('GET', '/world');
    expect(body.collections.retainedDisks ?? []).toEqual([]);
    expect(await at.source()).not.toHaveProperty('pendingCleanup');
  });

  it('never deletes a destination that is live', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    await at.activate(configurationId, { target: WARM.target });
    at.advance(SETTLED);

    const { body } = await at.reset();

    expect(body).toEqual({ configurations: 1, destinations: 0 });
    expect(await at.ledger('environment.deleted')).toEqual([]);
  });

  it('stops everything that was going to happen', async () => {
    const at = setting();
    await at.protect();
    await at.reset();
    const { body: before } = await at.control<{ items: Fields[] }>('GET', '/ledger');

    at.advance(7 * 24 * 3_600_000);

    const { body: after } = await at.control<{ items: Fields[] }>('GET', '/ledger');
    expect(after.items).toHaveLength(before.items.length);
  });

  it('lets the environment be protected anew, from generation 0', async () => {
    const at = setting();
    const before = await at.protect();
    await at.reset();

    const result = await at.configureOne();

    expect(result).toMatchObject({ success: true, generation: 1 });
    expect(result.configurationId).not.toBe(before);
  });

  it.each<{ because: string; change: Fields; status: number }>([
    { because: 'the name is another one', change: { confirmationName: 'web' }, status: 422 },
    { because: 'the name differs in case', change: { confirmationName: 'Production' }, status: 422 },
    { because: 'the name has a blank too many', change: { confirmationName: 'production ' }, status: 422 },
    { because: 'the name is missing', change: { confirmationName: undefined }, status: 400 },
    { because: 'the scope is missing', change: { scope: undefined }, status: 400 },
    { because: 'the scope is unknown', change: { scope: 'region' }, status: 400 },
    { because: 'the environment is missing', change: { sourceAppEnvId: undefined }, status: 400 },
    { because: 'the environment is unknown', change: { sourceAppEnvId: 'env_none' }, status: 404 },
    { because: 'a requestId is sent', change: { requestId: 'r' }, status: 400 },
    {
      because: 'an environment is sent for the account',
      change: { scope: 'account', confirmationName: 'Demo' },
      status: 400,
    },
    { because: 'the account has another name', change: { ...ACCOUNT, confirmationName: 'demo' }, status: 422 },
  ])('is refused when $because', async ({ change, status }) => {
    const at = setting({ 'rejection.status': '422' });
    await at.protect();

    const answer = await at.reset(change);

    expect(answer.status).toBe(status);
    expect((await at.list('configurations')).body.items).toHaveLength(1);
  });

  it('of an account wipes all its protections', async () => {
    const at = setting();
    await at.protect();
    await at.protect(DATABASE);

    const { body } = await at.reset(ACCOUNT);

    expect(body).toEqual({ configurations: 2, destinations: 0 });
    expect((await at.list('configurations')).body.items).toEqual([]);
  });

  it('of one environment leaves the others alone', async () => {
    const at = setting();
    await at.protect();
    const other = await at.protect(DATABASE);

    await at.reset();

    expect((await at.list('configurations')).body.items).toMatchObject([{ configurationId: other }]);
  });
});

describe('reset of what was reset already', () => {
  it('counts nothing', async () => {
    const at = setting();
    await at.protect();
    await at.reset();

    expect(await at.reset()).toEqual({ status: 200, body: { configurations: 0, destinations: 0 } });
  });

  it('finds nothing when the readings say so', async () => {
    const at = setting({ 'reset.repeat': 'notFound' });
    await at.protect();

    expect((await at.reset()).status).toBe(200);
    expect((await at.reset()).status).toBe(404);
    expect((await at.reset(ACCOUNT)).status).toBe(404);
  });
});

describe('reset during an activation', () => {
  it.each(['environment', 'account'])('is refused for the %s', async (scope) => {
    const at = setting();
    const configurationId = await at.protect();
    await at.activate(configurationId);

    const { status } = await at.reset(scope === 'account' ? ACCOUNT : {});

    expect(status).toBe(400);
    expect((await at.list('configurations')).body.items).toHaveLength(1);
  });

  it('is refused until a discarded one is cleaned up', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const operationId = await at.activate(configurationId);
    await at.tell(configurationId, { setPhase: 'promoted' });
    await at.discard(configurationId, operationId);

    const during = await at.reset();
    at.advance(SETTLED);
    const after = await at.reset();

    expect([during.status, after.status]).toEqual([400, 200]);
  });

  it('ends a warm one that fails before promotion', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    await at.activate(configurationId, { target: WARM.target });
    await at.tell(configurationId, { setPhase: 'promoting', failSteps: 100, nextPhase: true });

    const { status, body } = await at.reset();

    expect(status).toBe(200);
    expect(body).toEqual({ configurations: 1, destinations: 1 });
    at.advance(SETTLED);
    expect(await at.ledger('environment.created')).toEqual([]);
  });

  it('ends a cold one that keeps failing', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.activate(configurationId);
    await at.tell(configurationId, { setPhase: 'promoting', failSteps: 100 });
    at.advance(15 * 60_000);

    expect(await at.reset()).toEqual({ status: 200, body: { configurations: 1, destinations: 1 } });
  });
});

describe('reset while a cleanup is pending', () => {
  it('reports no success, keeps the records and fences the work', async () => {
    const at = setting({ 'rejection.status': '409' });
    const configurationId = await at.protect();
    await at.tell(configurationId, { pendingCleanup: { pendingCount: 1, retainedDiskCount: 0, retryingCount: 1 } });

    const { status, body } = await at.reset();

    expect(status).toBe(409);
    expect(body).toEqual({ error: expect.any(String) });
    const { readiness } = await at.configuration(configurationId);
    expect(readiness).toMatchObject({ state: 'needsAttention', reason: 'resetPending' });
    expect((await at.validate(configurationId)).status).toBe(409);
    expect((await at.post('activate', await at.activation(configurationId))).status).toBe(409);
    expect((await at.configureOne({ expectedGeneration: 1 })).success).toBe(false);
    at.advance(24 * 3_600_000);
    expect((await at.points(configurationId)).body.items).toHaveLength(1);
  });

  it('succeeds when the same reset is retried after it', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.tell(configurationId, { pendingCleanup: { pendingCount: 1, retainedDiskCount: 0, retryingCount: 1 } });
    const pending = await at.reset();
    await at.reset();
    await at.tell(configurationId, { pendingCleanup: null });

    const done = await at.reset();

    expect(pending.status).toBe(400);
    expect(await at.ledger('configuration.fenced')).toHaveLength(1);
    expect(done).toEqual({ status: 200, body: { configurations: 1, destinations: 0 } });
  });

  it('does not wait for disks under their retention policy', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.validate(configurationId);
    at.advance(SETTLED);

    expect(await at.configuration(configurationId)).toHaveProperty('pendingCleanup');
    expect((await at.reset()).status).toBe(200);
  });
});
