import { describe, expect, it } from 'vitest';
import type { AskedSettings } from '../../../src/simulator/service/disaster/bodies.ts';
import { DAY, HOUR, MINUTE, type Fields, type List, type Result, setting, SETTLED, WARM } from './setting.ts';

/** Every setting, none with its default. */
const ALL: Required<AskedSettings> = {
  destinationRegion: 'us-east',
  mode: 'cold',
  storageCredentialId: 'cred_s3',
  snapshotIntervalMs: 15 * MINUTE,
  validationIntervalMs: 2 * HOUR,
  rpoTargetMs: 3 * HOUR,
  rtoTargetMs: 2 * HOUR,
  sameRegionAcknowledged: true,
  target: { envName: 'dr', createNewApp: true, appName: 'orders-dr' },
};
const OTHER = { envName: 'other', createNewApp: true, appName: 'orders-other' };

describe('configure', () => {
  it('queues a preparation and says which operation that is', async () => {
    const at = setting();

    const result = await at.configureOne({ destinationRegion: 'us-east' });

    expect(result).toEqual({
      sourceAppEnvId: 'env_web_prod',
      success: true,
      configurationId: expect.any(String),
      operationId: expect.any(String),
      generation: 1,
      phase: 'queued',
    });
    const configuration = await at.configuration(result.configurationId);
    expect(configuration.readiness.state).toBe('preparing');
    expect(configuration.activeOperationId).toBe(result.operationId);
  });

  it('lets an item override what is common to all', async () => {
    const at = setting();

    const [web, db] = await at.configure(
      [
        at.item({ snapshotIntervalMs: 15 * MINUTE }),
        at.item({ sourceAppEnvId: 'env_db_prod', target: { envName: 'dr', appName: 'orders-dr' } }),
      ],
      { snapshotIntervalMs: 30 * MINUTE, rpoTargetMs: HOUR },
    );

    expect((await at.configuration(web?.configurationId ?? '')).settings).toMatchObject({
      snapshotIntervalMs: 15 * MINUTE,
      rpoTargetMs: HOUR,
    });
    expect((await at.configuration(db?.configurationId ?? '')).settings).toMatchObject({
      snapshotIntervalMs: 30 * MINUTE,
      rpoTargetMs: HOUR,
    });
  });

  it.each<{ because: string; item: Fields }>([
    { because: 'an interval is under one minute', item: { validationIntervalMs: MINUTE - 1 } },
    { because: 'an interval is over 30 days', item: { validationIntervalMs: 30 * DAY + 1 } },
    { because: 'a target is under one minute', item: { rpoTargetMs: MINUTE - 1 } },
    { because: 'a target is over 30 days', item: { rtoTargetMs: 30 * DAY + 1 } },
    { because: 'an interval is no whole number of milliseconds', item: { rpoTargetMs: HOUR + 0.5 } },
    { because: 'no snapshot schedule has this interval', item: { snapshotIntervalMs: 7 * MINUTE } },
    { because: 'the snapshot interval is within bounds but on no schedule', item: { snapshotIntervalMs: MINUTE } },
    { because: 'the region does not support disaster readiness', item: { destinationRegion: 'ap-south' } },
    { because: 'there is no such region', item: { destinationRegion: 'atlantis' } },
    { because: 'the same region is not acknowledged', item: { destinationRegion: 'eu-west' } },
    { because: 'there is no such storage credential', item: { storageCredentialId: 'cred_none' } },
    { because: 'the credential is for something else than storage', item: { storageCredentialId: 'cred_llm' } },
    { because: 'warm protection has no target', item: { mode: 'warm' } },
    { because: 'a new app has no name', item: { target: { envName: 'dr', createNewApp: true } } },
    { because: 'a name is blank', item: { target: { envName: '  ' } } },
    { because: 'the environment has no volume', item: { sourceAppEnvId: 'env_web_staging' } },
    { because: 'functions have no volumes', item: { sourceAppEnvId: 'env_fn_prod' } },
    { because: 'there is no such environment', item: { sourceAppEnvId: 'env_none' } },
    { because: 'a database has no target', item: { sourceAppEnvId: 'env_db_prod' } },
    {
      because: 'a database has no app name',
      item: { sourceAppEnvId: 'env_db_prod', target: { envName: 'dr' } },
    },
    { because: 'there is no generation to edit yet', item: { expectedGeneration: 1 } },
  ])('fails an item when $because', async ({ item }) => {
    const at = setting();
    await at.control('POST', '/credentials', { credentialId: 'cred_llm', accountId: 'acc_demo', kind: 'llm' });

    const result = await at.configureOne(item);

    const { sourceAppEnvId = 'env_web_prod' } = item;
    expect(result).toMatchObject({ sourceAppEnvId, success: false, error: expect.any(String) });
    expect(result).not.toHaveProperty('configurationId');
    expect(await at.ledger('configuration.created')).toEqual([]);
  });

  it.each([MINUTE, 30 * DAY])('takes intervals and targets of %d ms', async (ms) => {
    const at = setting();

    const result = await at.configureOne({ validationIntervalMs: ms, rpoTargetMs: ms, rtoTargetMs: ms });

    expect(result.success).toBe(true);
  });

  it.each([5, 10, 15, 30, 60, 120, 180, 240, 360, 480, 720, 1440, 2880, 10_080, 43_200])(
    'takes snapshots every %d minutes',
    async (minutes) => {
      const at = setting();

      const result = await at.configureOne({ snapshotIntervalMs: minutes * MINUTE });

      expect(result.success).toBe(true);
    },
  );

  it('fails only the item that breaks a rule', async () => {
    const at = setting();

    const results = await at.configure([at.item({ sourceAppEnvId: 'env_db_prod' }), at.item()]);

    expect(results.map(({ success }) => success)).toEqual([false, true]);
  });

  it('lets null in an item stand over a common storage credential', async () => {
    const at = setting();
    await at.control('POST', '/credentials', { credentialId: 'cred_s3', accountId: 'acc_demo', kind: 'storage' });

    const [result] = await at.configure([at.item({ storageCredentialId: null })], { storageCredentialId: 'cred_s3' });

    const { settings } = await at.configuration(result?.configurationId ?? '');
    expect(settings).toHaveProperty('storageCredentialId', null);
  });

  it.each<{ because: string; change: Fields }>([
    { because: 'a field of the body is unknown', change: { dryRun: true } },
    { because: 'a field of the common settings is unknown', change: { common: { actor: 'me' } } },
    { because: 'there are no items', change: { items: [] } },
    { because: 'items is no list', change: { items: {} } },
    { because: 'common is missing', change: { common: undefined } },
    { because: 'the mode is neither cold nor warm', change: { common: { mode: 'hot' } } },
    { because: 'an interval is no number', change: { common: { rpoTargetMs: '60000' } } },
    { because: 'null stands for something else than storage', change: { common: { mode: null } } },
    { because: 'the account is missing', change: { accountId: undefined } },
  ])('answers 400 when $because', async ({ change }) => {
    const at = setting({ 'rejection.status': '422' });

    const { status } = await at.post('configure', { ...at.account, common: {}, items: [at.item()], ...change });

    expect(status).toBe(400);
  });

  it.each<{ because: string; change: Fields }>([
    { because: 'an unknown field', change: { execute: true } },
    { because: 'no environment', change: { sourceAppEnvId: undefined } },
    { because: 'no requestId', change: { requestId: undefined } },
    { because: 'no generation', change: { expectedGeneration: undefined } },
    { because: 'a negative generation', change: { expectedGeneration: -1 } },
    { because: 'a generation that is text', change: { expectedGeneration: '0' } },
    { because: 'an unknown field in its target', change: { target: { envName: 'dr', dns: true } } },
  ])('answers 400 for an item with $because', async ({ change }) => {
    const at = setting();

    const { status } = await at.post('configure', { ...at.account, common: {}, items: [{ ...at.item(), ...change }] });

    expect(status).toBe(400);
  });

  it('takes up to 100 distinct environments', async () => {
    const at = setting();
    const ids = Array.from({ length: 101 }, (_, index) => `env_many_${index}`);
    for (const appEnvId of ids) {
      const from = { appEnvId, appId: 'app_web', name: appEnvId, region: 'eu-west', volumes: 1 };
      await at.control('POST', '/environments', from);
    }
    const items = ids.map((sourceAppEnvId) => at.item({ sourceAppEnvId }));
    const body = { ...at.account, common: {} };

    const tooMany = await at.post('configure', { ...body, items });
    const twice = await at.post('configure', { ...body, items: [items[0], { ...items[0], requestId: 'other' }] });
    const { status, body: done } = await at.post<List<Result>>('configure', { ...body, items: items.slice(0, 100) });

    expect([tooMany.status, twice.status]).toEqual([400, 400]);
    expect(status).toBe(200);
    expect(done.items.filter(({ success }) => success)).toHaveLength(100);
  });

  it('names the results as the readings say', async () => {
    const at = setting({ 'configure.results': 'configurations' });

    const { body } = await at.post('configure', { ...at.account, common: {}, items: [at.item()] });

    expect(Object.keys(body)).toEqual(['configurations']);
  });
});

describe('a retry of configure', () => {
  it('gets the same answer and commits nothing', async () => {
    const at = setting();
    const item = at.item();

    const [first] = await at.configure([item]);
    at.advance(SETTLED);
    const [again] = await at.configure([item]);
    await at.configureOne({ expectedGeneration: 1, rpoTargetMs: 3 * HOUR });
    const [later] = await at.configure([item]);

    expect([again, later]).toEqual([first, first]);
    expect(await at.ledger('configuration.created')).toHaveLength(1);
    expect(await at.ledger('configuration.edited')).toHaveLength(1);
  });

  it('is the same request when a setting moves from the item to the common ones', async () => {
    const at = setting();
    const item = at.item();

    const [first] = await at.configure([{ ...item, mode: 'cold' }]);
    const [again] = await at.configure([item], { mode: 'cold' });

    expect(again).toEqual(first);
  });

  it.each<{ because: string; change: Fields }>([
    { because: 'another setting', change: { rpoTargetMs: 3 * HOUR } },
    { because: 'another storage', change: { storageCredentialId: null } },
    { because: 'another environment', change: { sourceAppEnvId: 'env_db_prod' } },
    { because: 'another generation', change: { expectedGeneration: 1 } },
    { because: 'another target', change: { target: { envName: 'other', createNewApp: true, appName: 'web-dr' } } },
    { because: 'no new app', change: { target: { envName: 'dr', appName: 'web-dr' } } },
    { because: 'no target', change: { target: undefined } },
  ])('with $because under the same requestId is rejected', async ({ change }) => {
    const at = setting();
    const item = at.item({ target: { envName: 'dr', createNewApp: true, appName: 'web-dr' } });
    await at.configure([item]);

    const [changed] = await at.configure([{ ...item, ...change }]);

    expect(changed?.success).toBe(false);
    expect(await at.ledger('configuration.edited')).toEqual([]);
  });

  it('may correct an item that failed under its own requestId', async () => {
    const at = setting();
    const item = at.item({ destinationRegion: 'ap-south' });
    await at.configure([item]);

    const [corrected] = await at.configure([{ ...item, destinationRegion: 'us-east' }]);

    expect(corrected?.success).toBe(true);
  });

  it('shares its references with every other call of the account', async () => {
    const at = setting();
    const configurationId = await at.protect({ requestId: 'mine' });

    const { status } = await at.validate(configurationId, { requestId: 'mine' });

    expect(status).toBe(400);
  });
});

describe('an edit', () => {
  it('takes the next generation and prepares again', async () => {
    const at = setting();
    const configurationId = await at.protect();

    const edited = await at.configureOne({ expectedGeneration: 1, rpoTargetMs: 3 * HOUR });

    expect(edited).toMatchObject({ success: true, configurationId, generation: 2, phase: 'queued' });
    const configuration = await at.configuration(configurationId);
    expect(configuration.settings).toMatchObject({ rpoTargetMs: 3 * HOUR });
    expect(configuration.readiness.state).toBe('preparing');
    at.advance(SETTLED);
    expect((await at.configuration(configurationId)).readiness.state).toBe('ready');
  });

  it.each([0, 2])('with generation %d is stale', async (expectedGeneration) => {
    const at = setting();
    await at.protect();

    const edited = await at.configureOne({ expectedGeneration });

    expect(edited.success).toBe(false);
  });

  it('loses against another one that came first', async () => {
    const at = setting();
    await at.protect();

    const both = await Promise.all([
      at.configureOne({ expectedGeneration: 1, rpoTargetMs: 3 * HOUR }),
      at.configureOne({ expectedGeneration: 1, rpoTargetMs: 4 * HOUR }),
    ]);

    expect(both.map(({ success }) => success)).toEqual([true, false]);
  });

  it.each<[string, unknown, unknown]>([
    ['destinationRegion', 'eu-west', 'us-east'],
    ['mode', 'warm', 'cold'],
    ['storageCredentialId', null, undefined],
    ['snapshotIntervalMs', 30 * MINUTE, HOUR],
    ['validationIntervalMs', HOUR, DAY],
    ['rpoTargetMs', HOUR, 30 * MINUTE],
    ['rtoTargetMs', HOUR, 4 * HOUR],
    ['sameRegionAcknowledged', false, false],
    ['target', OTHER, OTHER],
  ])('changes %s alone; left out, it has its default, and names are kept', async (name, other, leftOut) => {
    const at = setting();
    await at.control('POST', '/credentials', { credentialId: 'cred_s3', accountId: 'acc_demo', kind: 'storage' });
    const configurationId = await at.protect({ sourceAppEnvId: 'env_db_prod', ...ALL });
    const settingsAfter = async (expectedGeneration: number, change: Fields) => {
      await at.configureOne({ sourceAppEnvId: 'env_db_prod', ...ALL, ...change, expectedGeneration });
      return (await at.configuration(configurationId)).settings;
    };

    expect((await at.configuration(configurationId)).settings).toEqual(ALL);
    expect(await settingsAfter(1, { [name]: other })).toEqual({ ...ALL, [name]: other });
    expect(await settingsAfter(2, { [name]: undefined })).toEqual({ ...ALL, [name]: leftOut });
  });

  it('of a warm protection must name the target again', async () => {
    const at = setting();
    await at.protect(WARM);

    const edited = await at.configureOne({ expectedGeneration: 1, mode: 'warm' });

    expect(edited.success).toBe(false);
  });

  it('is refused while an activation runs', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.activate(configurationId);

    const edited = await at.configureOne({ expectedGeneration: 1 });

    expect(edited.success).toBe(false);
  });

  it('that moves the copies starts without points', async () => {
    const at = setting();
    const configurationId = await at.protect();

    await at.configureOne({ expectedGeneration: 1, storageCredentialId: null });

    expect((await at.points(configurationId)).body).toMatchObject({ generation: 2, items: [] });
  });

  it('that leaves the copies where they are keeps the points', async () => {
    const at = setting();
    const configurationId = await at.protect();

    await at.configureOne({ expectedGeneration: 1, rpoTargetMs: 3 * HOUR });

    expect((await at.points(configurationId)).body.items).toHaveLength(1);
  });

  it('of a warm protection that leaves the copies where they are keeps the standby', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    const { target } = await at.source();

    await at.configureOne({ ...WARM, expectedGeneration: 1, rpoTargetMs: 3 * HOUR });
    at.advance(SETTLED);

    expect(await at.source()).toMatchObject({ target });
    expect(await at.configuration(configurationId)).not.toHaveProperty('pendingCleanup');
    expect((await at.points(configurationId)).body.items).toHaveLength(1);
  });

  it('of a warm protection that names a new app prepares the same environment for it', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    const { target: before } = await at.source();
    const target = { envName: 'standby', createNewApp: true, appName: 'web-dr' };

    await at.configureOne({ ...WARM, target, expectedGeneration: 1 });
    at.advance(SETTLED);

    const { target: after } = await at.source();
    expect(after).toMatchObject({ appEnvId: (before as Fields)['appEnvId'], appName: 'web-dr' });
    expect(after).not.toMatchObject({ appId: 'app_web' });
    expect((await at.configuration(configurationId)).warmDestination).toEqual(target);
  });

  it('of a warm protection that moves the copies retires the standby and keeps its disk for a while', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    const { target: before } = await at.source();

    await at.configureOne({ ...WARM, expectedGeneration: 1, storageCredentialId: null });
    const during = await at.configuration(configurationId);
    at.advance(SETTLED);

    expect(during.pendingCleanup).toMatchObject({ retainedDiskCount: 1 });
    expect(during).not.toHaveProperty('standby');
    expect((await at.source())['target']).not.toEqual(before);
    expect((await at.configuration(configurationId)).readiness.state).toBe('ready');
  });
});
