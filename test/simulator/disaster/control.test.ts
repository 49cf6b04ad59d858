import { describe, expect, it } from 'vitest';
import { type Fields, HOUR, MINUTE, setting, SETTLED, WARM } from './setting.ts';

describe('failSteps', () => {
  it('waits for the phases that count towards a discard when nothing is under way', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.tell(configurationId, { failSteps: 6 });
    const operationId = await at.activate(configurationId);
    at.advance(880_000);

    const { activeOperation } = await at.configuration(configurationId);
    expect(activeOperation).toMatchObject({ phase: 'promoting', failedSteps: 6 });
    expect((await at.discard(configurationId, operationId)).status).toBe(200);
  });

  it('fails the steps of an enrollment from the first one on, and of a check while it cleans up', async () => {
    const at = setting();
    const { configurationId } = await at.configureOne();
    await at.tell(configurationId, { failSteps: 2, nextPhase: true });
    await at.tell(configurationId, { nextPhase: true });
    const enrolling = await at.configuration(configurationId);
    at.advance(15 * MINUTE);

    await at.validate(configurationId);
    await at.tell(configurationId, { setPhase: 'cleaning', failSteps: 1, nextPhase: true });
    const checking = await at.configuration(configurationId);
    await at.tell(configurationId, { nextPhase: true });

    expect(enrolling.activeOperation).toMatchObject({ kind: 'enrollment', phase: 'queued', failedSteps: 0 });
    expect(await at.ledger('enrollment.stepFailed')).toHaveLength(2);
    expect(checking.activeOperation).toMatchObject({ kind: 'validation', phase: 'cleaning' });
    expect(await at.ledger('validation.succeeded')).toHaveLength(1);
  });
});

describe('a configuration told through the control surface', () => {
  it('that holds makes no progress until it does not hold any more', async () => {
    const at = setting();
    const { configurationId } = await at.configureOne();
    await at.tell(configurationId, { hold: true });

    at.advance(HOUR);
    const held = await at.configuration(configurationId);
    await at.tell(configurationId, { hold: false });
    at.advance(SETTLED);

    expect(held.activeOperation?.phase).toBe('queued');
    expect((await at.configuration(configurationId)).readiness.state).toBe('ready');
  });

  it.each<[string, Fields, (string | undefined)[]]>([
    ['enrollment', {}, ['preparing', 'validating', undefined]],
    ['enrollment', WARM, ['preparing', 'restoring', 'validating', 'restoring']],
    ['validation', {}, ['validating', 'cleaning', undefined]],
    ['activation', {}, ['restoring', 'promoting', 'starting', undefined]],
  ])('does one step of an %s of %o at once, held or not', async (kind, item, expected) => {
    const at = setting();
    const { configurationId } = await at.configureOne(item);
    if (kind !== 'enrollment') at.advance(SETTLED);
    if (kind === 'validation') await at.validate(configurationId);
    if (kind === 'activation') await at.activate(configurationId);
    await at.tell(configurationId, { hold: true });

    const phases = [];
    for (const _ of expected) {
      await at.tell(configurationId, { nextPhase: true });
      phases.push((await at.configuration(configurationId)).activeOperation?.phase);
    }

    expect(phases).toEqual(expected);
    expect((await at.configuration(configurationId)).activities.at(-1)).toMatchObject({ kind });
  });

  it('goes from promoted over handing over to succeeded', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.activate(configurationId);
    await at.tell(configurationId, { setPhase: 'promoted' });
    const promoted = await at.configuration(configurationId);

    at.advance(6_000);
    const handingOver = await at.configuration(configurationId);
    at.advance(6_000);

    expect(promoted).not.toHaveProperty('activationResult');
    expect(promoted.activeOperation?.phase).toBe('promoted');
    expect(handingOver.activeOperation?.phase).toBe('handingOver');
    expect(await at.configuration(configurationId)).toHaveProperty('activationResult');
    expect(await at.ledger('activation.promoted')).toHaveLength(1);
  });

  it.each(['preparing', 'validating'])('goes on with an activation that is told to be %s', async (setPhase) => {
    const at = setting();
    const configurationId = await at.protect();
    await at.activate(configurationId);

    await at.tell(configurationId, { setPhase });
    at.advance(SETTLED);

    expect(await at.configuration(configurationId)).toHaveProperty('activationResult');
  });

  it.each(['enrollment', 'validation', 'activation'])(
    'ends a %s with all that belongs to its success',
    async (kind) => {
      const at = setting();
      const { configurationId } = await at.configureOne();
      if (kind !== 'enrollment') at.advance(SETTLED);
      if (kind === 'validation') await at.validate(configurationId);
      if (kind === 'activation') await at.activate(configurationId);

      await at.tell(configurationId, { setPhase: 'succeeded' });

      const configuration = await at.configuration(configurationId);
      expect(configuration.activities.at(-1)).toMatchObject({ kind, phase: 'succeeded', outcome: 'succeeded' });
      expect(configuration).not.toHaveProperty('activeOperationId');
      expect(configuration.readiness.state).toBe('ready');
      expect((await at.points(configurationId)).body.items).toHaveLength(1);
    },
  );

  it('shows the cleanup it is told about', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.validate(configurationId);
    const date = '2026-01-02T00:00:00.000Z';
    const pendingCleanup = { pendingCount: 3, retainedDiskCount: 2, retryingCount: 1, earliestRetentionUntil: date };
    const validationCleanup = { observedAt: date, retentionPending: false };

    await at.tell(configurationId, { pendingCleanup, validationCleanup });

    const configuration = await at.configuration(configurationId);
    expect(configuration.pendingCleanup).toEqual(pendingCleanup);
    expect(configuration.activeOperation?.validationCleanup).toEqual(validationCleanup);
    expect(await at.source()).toMatchObject({ pendingCleanup });
  });

  it.each<{ because: string; words: Fields; status: number }>([
    { because: 'a word is unknown', words: { phase: 'promoting' }, status: 400 },
    { because: 'a phase is unknown', words: { setPhase: 'flying' }, status: 400 },
    { because: 'a shape is unknown', words: { standby: { shape: 'huge' } }, status: 400 },
    { because: 'there is no operation to move', words: { nextPhase: true }, status: 409 },
    { because: 'there is no standby', words: { standby: { caughtUp: false } }, status: 409 },
  ])('is refused when $because', async ({ words, status }) => {
    const at = setting();
    const configurationId = await at.protect();

    expect((await at.tell(configurationId, words)).status).toBe(status);
  });

  it('must exist', async () => {
    const at = setting();

    expect((await at.tell('drc_none', { hold: true })).status).toBe(404);
    expect((await at.control('POST', '/configurations/drc_none/points', {})).status).toBe(404);
  });
});

describe('a region that is down', () => {
  it('keeps copies from being made, whichever side it is on', async () => {
    const at = setting();
    const configurationId = await at.protect({ snapshotIntervalMs: 5 * MINUTE });

    for (const region of ['eu-west', 'us-east']) {
      await at.control('PATCH', `/regions/${region}`, { up: false });
      at.advance(HOUR);
      expect((await at.configuration(configurationId)).readiness).toMatchObject({ reason: 'rpoExceeded' });
      await at.control('PATCH', `/regions/${region}`, { up: true });
      at.advance(7 * MINUTE);
      expect((await at.configuration(configurationId)).readiness.state).toBe('ready');
    }
  });

  it('lets a standby there catch up when it is back', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    const { nextSnapshotAt = '' } = await at.configuration(configurationId);
    at.advance(Date.parse(nextSnapshotAt) - at.now() + 1_000);
    await at.control('PATCH', '/regions/us-east', { up: false });
    at.advance(HOUR / 2);
    const down = await at.configuration(configurationId);
    await at.control('PATCH', '/regions/us-east', { up: true });

    at.advance(5 * MINUTE);

    expect(down.standby).toMatchObject({ caughtUp: false });
    expect((await at.configuration(configurationId)).standby).toMatchObject({ caughtUp: true });
  });
});

describe('a world that is saved in the middle of an activation', () => {
  it('goes on from there when it is loaded', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.activate(configurationId);
    at.advance(13_000);
    const { body: saved } = await at.control('GET', '/world');

    const before = await at.configuration(configurationId);
    await at.control('POST', '/reset', {});
    const gone = (await at.list('configurations')).body.items;
    await at.control('POST', '/reset', { world: saved });
    const restored = await at.configuration(configurationId);
    at.advance(SETTLED);

    expect(gone).toEqual([]);
    expect(restored).toEqual(before);
    expect(await at.configuration(configurationId)).toHaveProperty('activationResult');
  });
});
