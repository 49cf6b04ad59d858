import { describe, expect, it } from 'vitest';
import { DAY, type Fields, HOUR, MINUTE, setting, SETTLED, WARM } from './setting.ts';

describe('an enrollment', () => {
  it('goes through its phases and ends ready', async () => {
    const at = setting();
    const { configurationId } = await at.configureOne();

    const seen = new Set<string>();
    for (let second = 0; second < 30; second += 1) {
      const { activeOperation, readiness } = await at.configuration(configurationId);
      seen.add(`${activeOperation?.phase} ${readiness.state}`);
      at.advance(1_000);
    }

    expect([...seen]).toEqual(['queued preparing', 'preparing preparing', 'validating preparing', 'undefined ready']);
  });

  it('waits for a region that is down', async () => {
    const at = setting();
    const { configurationId } = await at.configureOne();
    await at.control('PATCH', '/regions/us-east', { up: false });
    at.advance(HOUR);
    const waiting = await at.configuration(configurationId);

    await at.control('PATCH', '/regions/us-east', { up: true });
    at.advance(10 * MINUTE);

    expect(waiting.readiness.state).toBe('preparing');
    expect((await at.configuration(configurationId)).readiness.state).toBe('ready');
  });

  it('that fails is never ready, and an edit begins anew', async () => {
    const at = setting();
    const { configurationId } = await at.configureOne();
    await at.tell(configurationId, { setPhase: 'failed' });

    expect((await at.configuration(configurationId)).readiness).toMatchObject({ state: 'failed' });
    await at.configureOne({ expectedGeneration: 1 });
    at.advance(SETTLED);

    expect((await at.configuration(configurationId)).readiness.state).toBe('ready');
  });
});

describe('snapshots', () => {
  it('are taken at their interval', async () => {
    const at = setting();
    const configurationId = await at.protect({ snapshotIntervalMs: 15 * MINUTE });

    at.advance(2 * HOUR);

    const { body } = await at.points(configurationId);
    const cutoffs = body.items.map(({ cutoffAt }) => Date.parse(cutoffAt)).toSorted((one, other) => one - other);
    expect(cutoffs).toHaveLength(9);
    expect(new Set(cutoffs.slice(1).map((cutoff, index) => cutoff - (cutoffs[index] ?? 0)))).toEqual(
      new Set([15 * MINUTE]),
    );
  });

  it('keep their beat when one is taken by hand', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const { nextSnapshotAt } = await at.configuration(configurationId);

    await at.control('POST', `/configurations/${configurationId}/points`, { count: 3 });

    expect(await at.configuration(configurationId)).toMatchObject({ nextSnapshotAt });
    expect((await at.points(configurationId)).body.items).toHaveLength(4);
  });
});

describe('readiness', () => {
  it('is ready with the age of the newest point', async () => {
    const at = setting();
    const configurationId = await at.protect();

    at.advance(90 * MINUTE);

    const { readiness } = await at.configuration(configurationId);
    expect(readiness).toMatchObject({ state: 'ready', warnings: [], cutoffAt: '2026-01-01T01:00:10.000Z' });
    expect(readiness.recoveryPointAgeMs).toBe(at.now() - Date.parse('2026-01-01T01:00:10.000Z'));
  });

  it('needs attention once the RPO target is missed because the source region is down', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.control('PATCH', '/regions/eu-west', { up: false });

    at.advance(HOUR);
    const within = await at.configuration(configurationId);
    at.advance(HOUR);
    const past = await at.configuration(configurationId);

    expect(within.readiness.state).toBe('ready');
    expect(past.readiness).toMatchObject({ state: 'needsAttention', reason: 'rpoExceeded' });
  });

  it('says chainRollover while a full copy replaces a broken chain, and is ready after it', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.control('PATCH', '/regions/eu-west', { up: false });
    at.advance(4 * HOUR);
    await at.control('PATCH', '/regions/eu-west', { up: true });

    const { nextSnapshotAt = '' } = await at.configuration(configurationId);
    at.advance(Date.parse(nextSnapshotAt) - at.now() + 1_000);
    const during = await at.configuration(configurationId);
    at.advance(MINUTE);
    const after = await at.configuration(configurationId);

    expect(during.readiness).toMatchObject({ state: 'needsAttention', reason: 'chainRollover' });
    expect(after.readiness.state).toBe('ready');
  });

  it.each(['chainRollover', 'catchingUp'])(
    'goes from %s to rpoExceeded 12 hours past the RPO target, still needing attention',
    async (reason) => {
      const at = setting();
      const configurationId = await at.protect({ rpoTargetMs: 2 * HOUR });
      await at.tell(configurationId, { readiness: { state: 'needsAttention', reason, warnings: [] } });

      at.advance(13 * HOUR);
      const before = await at.configuration(configurationId);
      at.advance(HOUR);
      const after = await at.configuration(configurationId);

      expect(before.readiness).toMatchObject({ state: 'needsAttention', reason });
      expect(after.readiness).toMatchObject({ state: 'needsAttention', reason: 'rpoExceeded' });
    },
  );

  it('is not ready on evidence that has expired', async () => {
    const at = setting();
    const configurationId = await at.protect({ validationIntervalMs: MINUTE, rpoTargetMs: 30 * DAY });
    await at.tell(configurationId, { hold: true });

    at.advance(HOUR);

    expect((await at.configuration(configurationId)).readiness).toMatchObject({
      state: 'needsAttention',
      reason: 'validationExpired',
    });
  });

  it.each(['failed', 'needsAttention'])('that was told to be %s lasts until evidence changes it', async (state) => {
    const at = setting();
    const configurationId = await at.protect();
    await at.tell(configurationId, { readiness: { state, reason: 'told', warnings: ['careful'] } });
    await at.tell(configurationId, { applySeconds: 1 });

    const told = await at.configuration(configurationId);
    at.advance(HOUR);
    const later = await at.configuration(configurationId);

    expect(told.readiness).toMatchObject({ state, reason: 'told', warnings: ['careful'] });
    expect(later.readiness).toMatchObject({ state: 'ready', warnings: [] });
  });

  it('that was told before there is a point keeps its reason', async () => {
    const at = setting();
    const { configurationId } = await at.configureOne();

    await at.tell(configurationId, { readiness: { state: 'needsAttention', reason: 'chainRollover' } });

    expect((await at.configuration(configurationId)).readiness).toMatchObject({ reason: 'chainRollover' });
  });

  it('that was told is computed again when null is told', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.tell(configurationId, { readiness: { state: 'needsAttention', reason: 'chainRollover' } });

    await at.tell(configurationId, { readiness: null });

    expect((await at.configuration(configurationId)).readiness.state).toBe('ready');
  });

  it.each(['Ready', 'protected'])('is called %s when the readings say so, and nothing else is', async (word) => {
    const at = setting({ 'dr.readinessWord': word });
    const { configurationId } = await at.configureOne();

    const preparing = await at.configuration(configurationId);
    at.advance(SETTLED);

    expect(preparing.readiness.state).toBe('preparing');
    expect((await at.configuration(configurationId)).readiness.state).toBe(word);
  });
});

describe('a standby', () => {
  it('is standard, and has caught up once a change is applied', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);

    at.advance(HOUR);

    expect((await at.configuration(configurationId)).standby).toEqual({
      shape: 'standard',
      caughtUp: true,
      lastApplySeconds: 5,
      lastApplyBytes: expect.any(Number),
    });
  });

  it('is not settled while it applies a change', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    const { nextSnapshotAt = '' } = await at.configuration(configurationId);

    at.advance(Date.parse(nextSnapshotAt) - at.now() + 1_000);
    const applying = await at.configuration(configurationId);
    at.advance(5_000);
    const applied = await at.configuration(configurationId);

    expect(applying.standby).toMatchObject({ caughtUp: false });
    expect(applying).not.toHaveProperty('warmRecoveryOperationId');
    expect(applying.readiness.state).toBe('ready');
    expect(applied.warmRecoveryOperationId).toBe(applied.activeOperationId);
  });

  it('is boosted for a large first copy until two changes in a row were quick', async () => {
    const at = setting();
    const { configurationId } = await at.configureOne({ ...WARM, snapshotIntervalMs: 5 * MINUTE });
    await at.tell(configurationId, { firstCopyBytes: 500_000_000_000 });

    at.advance(SETTLED);
    const seeding = await at.configuration(configurationId);
    at.advance(34 * MINUTE);
    const seeded = await at.configuration(configurationId);
    at.advance(10 * MINUTE);
    const settled = await at.configuration(configurationId);

    expect(seeding.standby).toMatchObject({ shape: 'seedBoost', reason: 'catchingUp', caughtUp: false });
    expect(seeding.readiness).toMatchObject({ state: 'preparing', warnings: ['seedBoost'] });
    expect(seeded.standby).toMatchObject({ caughtUp: true });
    expect(seeded.readiness.state).toBe('ready');
    expect(settled.standby).toMatchObject({ shape: 'standard' });
    expect(settled.readiness.warnings).toEqual([]);
  });

  it('is sustained once a change took over a third of the snapshot interval, until it was quiet for long', async () => {
    const at = setting();
    const configurationId = await at.protect({ ...WARM, snapshotIntervalMs: 15 * MINUTE });
    await at.tell(configurationId, { applySeconds: 301 });
    at.advance(25 * MINUTE);
    const slow = await at.configuration(configurationId);

    await at.tell(configurationId, { applySeconds: 10 });
    at.advance(HOUR);
    const quiet = await at.configuration(configurationId);
    at.advance(HOUR);
    const settled = await at.configuration(configurationId);

    expect(slow.standby).toMatchObject({ shape: 'sustained', reason: 'standardTooSlow', lastApplySeconds: 301 });
    expect(slow.readiness.warnings).toEqual(['sustainedStandby']);
    expect(quiet.standby).toMatchObject({ shape: 'sustained' });
    expect(settled.standby).toMatchObject({ shape: 'standard' });
    expect(settled.standby).not.toHaveProperty('reason');
  });

  it('gets smaller after exactly two quick changes in a row when boosted, and six when sustained', async () => {
    const at = setting();
    const configurationId = await at.protect({ ...WARM, snapshotIntervalMs: 15 * MINUTE });
    const shapesFrom = async (first: number) => {
      const applied = await at.ledger('standby.applied');
      return applied.slice(first).map(({ detail }) => (detail as Fields)['shape']);
    };

    await at.tell(configurationId, { standby: { shape: 'seedBoost' } });
    for (const applySeconds of [5, 301, 5, 5]) {
      await at.tell(configurationId, { applySeconds });
      at.advance(15 * MINUTE);
    }
    const boosted = await shapesFrom(1);
    await at.tell(configurationId, { standby: { shape: 'sustained' } });
    at.advance(2 * HOUR);
    const sustained = await shapesFrom(1 + boosted.length);

    expect(boosted).toEqual(['seedBoost', 'seedBoost', 'seedBoost', 'standard']);
    expect(sustained.indexOf('standard')).toBe(5);
  });

  it('takes a large first copy again when it is told to, and catches up', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    await at.tell(configurationId, { firstCopyBytes: 500_000_000_000 });
    const copying = await at.configuration(configurationId);

    at.advance(34 * MINUTE);

    expect(copying.standby).toMatchObject({ shape: 'seedBoost', reason: 'catchingUp', caughtUp: false });
    expect((await at.configuration(configurationId)).standby).toMatchObject({
      caughtUp: true,
      lastApplyBytes: 500_000_000_000,
    });
  });

  it('stays standard when a change took exactly a third of the snapshot interval', async () => {
    const at = setting();
    const configurationId = await at.protect({ ...WARM, snapshotIntervalMs: 15 * MINUTE });
    await at.tell(configurationId, { applySeconds: 300 });

    at.advance(HOUR);

    expect((await at.configuration(configurationId)).standby).toMatchObject({ shape: 'standard' });
  });

  it('that falls behind needs attention, and misses the RPO target for good when it makes no progress', async () => {
    const at = setting();
    const configurationId = await at.protect({ ...WARM, snapshotIntervalMs: 15 * MINUTE, rpoTargetMs: 30 * MINUTE });
    await at.tell(configurationId, { applySeconds: 4 * 3_600 });

    at.advance(45 * MINUTE);
    const behind = await at.configuration(configurationId);
    at.advance(2 * HOUR);
    const stuck = await at.configuration(configurationId);

    expect(behind.readiness).toMatchObject({ state: 'needsAttention', reason: 'catchingUp' });
    expect(stuck.readiness).toMatchObject({ state: 'needsAttention', reason: 'rpoExceeded' });
  });

  it('that was told to have fallen behind catches up for 12 hours past the RPO target', async () => {
    const at = setting();
    const configurationId = await at.protect({ ...WARM, rpoTargetMs: 2 * HOUR });
    await at.tell(configurationId, { standby: { shape: 'seedBoost', caughtUp: false } });

    at.advance(13 * HOUR);
    const before = await at.configuration(configurationId);
    at.advance(HOUR);
    const after = await at.configuration(configurationId);

    expect(before.readiness).toMatchObject({ state: 'needsAttention', reason: 'catchingUp', warnings: ['seedBoost'] });
    expect(after.readiness).toMatchObject({ state: 'needsAttention', reason: 'rpoExceeded' });
  });

  it.each<{ told: Fields; warnings: string[] }>([
    { told: { shape: 'seedBoost', reason: 'catchingUp', caughtUp: false }, warnings: ['seedBoost'] },
    { told: { shape: 'sustained', reason: 'standardTooSlow', caughtUp: true }, warnings: ['sustainedStandby'] },
  ])('told to be $told.shape is so, with its warning', async ({ told, warnings }) => {
    const at = setting();
    const configurationId = await at.protect(WARM);

    await at.tell(configurationId, { standby: told });

    const { standby, readiness } = await at.configuration(configurationId);
    expect(standby).toMatchObject(told);
    expect(readiness.warnings).toEqual(warnings);
  });
});
