import { describe, expect, it } from 'vitest';
import { type Fields, HOUR, MINUTE, setting, SETTLED, type Setting, WARM } from './setting.ts';

/** A cold activation that has failed this often in a row in a phase. */
async function failing(at: Setting, steps: number, phase = 'promoting') {
  const configurationId = await at.protect();
  const operationId = await at.activate(configurationId);
  await at.tell(configurationId, { setPhase: phase, failSteps: 100 });
  for (let step = 0; step < steps; step += 1) await at.tell(configurationId, { nextPhase: true });
  return { configurationId, operationId };
}

describe('discard-activation', () => {
  it.each(['promoting', 'starting'])('is allowed after six failed steps in %s', async (phase) => {
    const at = setting();
    const { configurationId, operationId } = await failing(at, 6, phase);

    const { status, body } = await at.discard(configurationId, operationId);

    expect(status).toBe(200);
    expect(body).toEqual({ configurationId, operationId, generation: 1, phase: 'cleaning' });
  });

  it('is rejected after five', async () => {
    const at = setting();
    const { configurationId, operationId } = await failing(at, 5);

    expect((await at.discard(configurationId, operationId)).status).toBe(400);
  });

  it('is allowed after about 15 minutes of retries', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const operationId = await at.activate(configurationId);
    await at.tell(configurationId, { setPhase: 'promoting', failSteps: 100 });

    at.advance(12 * MINUTE);
    const early = await at.discard(configurationId, operationId);
    at.advance(3 * MINUTE);
    const late = await at.discard(configurationId, operationId);

    expect([early.status, late.status]).toEqual([400, 200]);
  });

  it('is rejected while an activation makes progress', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const operationId = await at.activate(configurationId);

    for (const phase of ['queued', 'restoring', 'promoting', 'starting', 'handingOver']) {
      await at.tell(configurationId, { setPhase: phase });
      expect((await at.discard(configurationId, operationId)).status).toBe(400);
    }
  });

  it('is rejected when the activation became live after many failed steps', async () => {
    const at = setting();
    const { configurationId, operationId } = await failing(at, 8, 'starting');
    await at.tell(configurationId, { failSteps: 0, nextPhase: true });

    expect(await at.configuration(configurationId)).toHaveProperty('activationResult');
    expect((await at.discard(configurationId, operationId)).status).toBe(400);
  });

  it('is allowed past promotion as long as nothing is live or handed over', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const operationId = await at.activate(configurationId);
    await at.tell(configurationId, { setPhase: 'promoted' });

    expect((await at.discard(configurationId, operationId)).status).toBe(200);
  });

  it('never ends a warm activation', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    const operationId = await at.activate(configurationId, { target: WARM.target });
    await at.tell(configurationId, { setPhase: 'promoting', failSteps: 100 });
    at.advance(HOUR);

    expect((await at.configuration(configurationId)).activeOperation?.failedSteps).toBeGreaterThan(6);
    expect((await at.discard(configurationId, operationId)).status).toBe(400);
  });

  it.each<{ because: string; change: Fields; status: number }>([
    { because: 'the acknowledgement is missing', change: { discardAcknowledged: undefined }, status: 400 },
    { because: 'the acknowledgement is not the literal true', change: { discardAcknowledged: 'true' }, status: 400 },
    { because: 'the acknowledgement is false', change: { discardAcknowledged: false }, status: 400 },
    { because: 'the body has an unknown field', change: { force: true }, status: 400 },
    { because: 'the generation is stale', change: { expectedGeneration: 2 }, status: 422 },
    { because: 'the operation is missing', change: { operationId: undefined }, status: 400 },
    { because: 'the operation is unknown', change: { operationId: 'op_none' }, status: 404 },
    { because: 'the configuration is unknown', change: { configurationId: 'drc_none' }, status: 404 },
  ])('is refused when $because', async ({ change, status }) => {
    const at = setting({ 'rejection.status': '422' });
    const { configurationId, operationId } = await failing(at, 6);

    expect((await at.discard(configurationId, operationId, change)).status).toBe(status);
    expect(await at.ledger('discard.accepted')).toEqual([]);
  });

  it('cleans up on the clock and returns the configuration to protection', async () => {
    const at = setting();
    const { configurationId, operationId } = await failing(at, 6);
    await at.discard(configurationId, operationId);

    const during = await at.configuration(configurationId);
    const tooEarly = await at.post('activate', await at.activation(configurationId));
    at.advance(SETTLED);
    const after = await at.configuration(configurationId);

    expect(during).toMatchObject({ canRequestDiscard: true, activeOperation: { operationId, phase: 'cleaning' } });
    expect(tooEarly.status).toBe(400);
    expect(after).not.toHaveProperty('activeOperationId');
    expect(after).not.toHaveProperty('activationResult');
    expect(after).not.toHaveProperty('canRequestDiscard');
    expect(after.activities.at(-1)).toMatchObject({ operationId, outcome: 'discarded' });
    expect(after.pendingCleanup).toMatchObject({ retainedDiskCount: 1 });
    expect(after.readiness.state).toBe('ready');
    expect(await at.ledger('environment.created')).toEqual([]);
    expect((await at.post('activate', await at.activation(configurationId))).status).toBe(200);
  });

  it('retried with the same payload returns its receipt, and with another one is rejected', async () => {
    const at = setting();
    const { configurationId, operationId } = await failing(at, 6);
    const first = await at.discard(configurationId, operationId, { requestId: 'give-up' });
    at.advance(SETTLED);

    const again = await at.discard(configurationId, operationId, { requestId: 'give-up' });
    const other = await at.discard(configurationId, 'op_other', { requestId: 'give-up' });

    expect(again).toEqual(first);
    expect(other.status).toBe(400);
    expect(await at.ledger('discard.accepted')).toHaveLength(1);
  });

  it('of what is being discarded already is rejected', async () => {
    const at = setting();
    const { configurationId, operationId } = await failing(at, 6);
    await at.discard(configurationId, operationId);

    expect((await at.discard(configurationId, operationId)).status).toBe(400);
  });

  it('of a check is rejected', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const { body } = await at.validate(configurationId);

    expect((await at.discard(configurationId, body.operationId)).status).toBe(400);
  });
});

describe('discard-activation, when the fourth rule of the errors decides', () => {
  it('is rejected before promotion however often steps failed', async () => {
    const at = setting({ 'discard.window': 'errorsRule4' });
    const { configurationId, operationId } = await failing(at, 10);

    expect((await at.discard(configurationId, operationId)).status).toBe(400);
  });

  it('is allowed past promotion, and rejected once it hands over', async () => {
    const at = setting({ 'discard.window': 'errorsRule4' });
    const configurationId = await at.protect();
    const operationId = await at.activate(configurationId);

    await at.tell(configurationId, { setPhase: 'handingOver' });
    const handingOver = await at.discard(configurationId, operationId);
    await at.tell(configurationId, { setPhase: 'promoted' });
    const promoted = await at.discard(configurationId, operationId);

    expect([handingOver.status, promoted.status]).toEqual([400, 200]);
  });
});
