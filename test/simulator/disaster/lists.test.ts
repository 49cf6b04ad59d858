import { describe, expect, it } from 'vitest';
import { type Fields, HOUR, type List, type Point, type Points, setting, SETTLED, WARM } from './setting.ts';

describe('sources', () => {
  it('reports every environment with its eligibility', async () => {
    const at = setting();

    const { status, body } = await at.list('sources');

    expect(status).toBe(200);
    expect(body.items.map(({ sourceAppEnvId, eligible }) => [sourceAppEnvId, eligible])).toEqual(
      expect.arrayContaining([
        ['env_web_prod', true],
        ['env_db_prod', true],
        ['env_web_staging', false],
        ['env_fn_prod', false],
        ['env_job_prod', false],
      ]),
    );
    expect(await at.source()).toEqual({
      sourceAppEnvId: 'env_web_prod',
      appId: 'app_web',
      appName: 'web',
      environmentName: 'production',
      region: 'eu-west',
      eligible: true,
      volumes: [{ name: 'volume-1', eligible: true }],
      unsupportedReasons: [],
      eligibleDestinations: ['us-east', 'eu-west'],
      suggestedSettings: {
        destinationRegion: 'us-east',
        mode: 'cold',
        snapshotIntervalMs: HOUR,
        validationIntervalMs: 24 * HOUR,
        rpoTargetMs: 2 * HOUR,
        rtoTargetMs: 4 * HOUR,
        sameRegionAcknowledged: false,
      },
    });
    expect(await at.source('env_web_staging')).toMatchObject({ unsupportedReasons: ['noPersistentVolume'] });
  });

  it('follows what regions support', async () => {
    const at = setting();
    const nothing = { functions: true, sandbox: true, disasterReadiness: false };

    await at.control('PATCH', '/regions/eu-west', { supports: nothing });

    expect(await at.source()).toMatchObject({
      eligible: false,
      volumes: [{ name: 'volume-1', eligible: false, reason: 'regionUnsupported' }],
      unsupportedReasons: ['regionUnsupported'],
      eligibleDestinations: ['us-east'],
    });
  });

  it('shows the standby of a warm protection as target', async () => {
    const at = setting();
    const target = { envName: 'standby', createNewApp: true, appName: 'web-standby' };

    const configurationId = await at.protect({ mode: 'warm', target });

    expect(await at.source()).toMatchObject({
      mode: 'warm',
      configurationId,
      target: {
        appEnvId: expect.any(String),
        appId: expect.any(String),
        appName: 'web-standby',
        environmentName: 'standby',
      },
    });
  });
});

describe('configurations', () => {
  it('shows a cold one with planned names, a warm one with its destination', async () => {
    const at = setting();
    const cold = await at.protect({ target: { envName: 'dr' } });
    const appNames = { envName: 'dr', appName: 'db-dr' };
    const warm = await at.protect({ sourceAppEnvId: 'env_db_prod', mode: 'warm', target: appNames });

    const names = await Promise.all([cold, warm].map((id) => at.configuration(id)));

    expect(names[0]?.plannedDestination).toEqual({ envName: 'dr', createNewApp: false });
    expect(names[0]).not.toHaveProperty('warmDestination');
    expect(names[1]?.warmDestination).toEqual({ envName: 'dr', createNewApp: true, appName: 'db-dr' });
    expect(names[1]).not.toHaveProperty('plannedDestination');
  });

  it('never shows what is private', async () => {
    const at = setting();
    await at.protect(WARM);

    const { body } = await at.list('configurations');

    for (const secret of ['told', 'backlog', 'lease', 'points', 'timer', 'failSteps', 'credentials']) {
      expect(JSON.stringify(body)).not.toContain(`"${secret}"`);
    }
  });
});

describe('points', () => {
  it('are candidates with everything that an activation names', async () => {
    const at = setting();
    const configurationId = await at.protect();

    const { status, body } = await at.points(configurationId);

    expect(status).toBe(200);
    expect(body).toEqual({
      generation: 1,
      items: [
        {
          selectedOperationId: expect.any(String),
          pointId: expect.stringMatching(/^[0-9a-f]{64}$/),
          cutoffAt: '2026-01-01T00:00:10.000Z',
          availabilityRequiresVerification: true,
          retainedSizing: {
            replicas: 1,
            zClouds: 1,
            cpu: 1,
            cpuRequest: 0.5,
            memoryMb: 1024,
            memoryRequestMb: 512,
            volumeCapacities: ['10Gi'],
          },
        },
      ],
    });
  });

  it('hide their sizing when the source has changed since protection was set up', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const resources = { containers: 3, zClouds: 2, cpu: 2, memory: 2048 };
    await at.control('PATCH', '/environments/env_web_prod', { resources });

    at.advance(HOUR);

    const { body } = await at.points(configurationId);
    const sized = body.items.filter(({ retainedSizing }) => retainedSizing !== undefined);
    expect(body.items).toHaveLength(2);
    expect(sized).toHaveLength(1);
  });

  it('of a warm protection are one: the validated point of the original receiver', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    const { activeOperationId } = await at.configuration(configurationId);
    const { body: first } = await at.points(configurationId);

    at.advance(3 * HOUR);

    const { body: later } = await at.points(configurationId);
    expect(first.items).toMatchObject([{ selectedOperationId: activeOperationId }]);
    expect(later.items).toMatchObject([{ selectedOperationId: activeOperationId }]);
    expect(later.items[0]?.pointId).not.toBe(first.items[0]?.pointId);
  });

  it('of a warm protection are none before its receiver has settled, also after an edit', async () => {
    const at = setting();
    const { configurationId } = await at.configureOne(WARM);
    at.advance(12_000);
    const enrolling = await at.points(configurationId);
    at.advance(SETTLED);

    await at.configureOne({ ...WARM, expectedGeneration: 1 });

    expect([enrolling.body.items, (await at.points(configurationId)).body.items]).toEqual([[], []]);
  });

  it('come in no chronological order unless the readings say so', async () => {
    const at = setting();
    const configurationId = await at.protect();
    at.advance(20 * HOUR);
    const cutoffs = async () => (await at.points(configurationId)).body.items.map(({ cutoffAt }) => cutoffAt);

    const shuffled = await cutoffs();
    await at.reads({ 'points.order': 'chronological' });
    const chronological = await cutoffs();

    expect(shuffled).not.toEqual(shuffled.toSorted());
    expect(chronological).toEqual(shuffled.toSorted());
  });

  it('are read by any member with svc:read', async () => {
    const at = setting();
    const configurationId = await at.protect();
    const query = { accountId: 'acc_demo', configurationId };

    const statuses = [];
    for (const token of ['nobody', 'demo-environment', 'demo-foreign', 'demo-readonly', 'demo-member']) {
      statuses.push((await at.get('/disaster-readiness/points', query, token)).status);
    }

    expect(statuses).toEqual([401, 401, 403, 200, 200]);
  });

  it.each<{ because: string; query: Record<string, string>; status: number }>([
    { because: 'the configuration is unknown', query: { configurationId: 'drc_none' }, status: 404 },
    { because: 'the account is unknown', query: { accountId: 'acc_none' }, status: 404 },
    { because: 'the limit is 0', query: { limit: '0' }, status: 400 },
    { because: 'the limit is 101', query: { limit: '101' }, status: 400 },
    { because: 'the limit is no number', query: { limit: 'many' }, status: 400 },
    { because: 'the cursor is none', query: { after: 'nonsense' }, status: 400 },
    { because: 'a parameter is unknown', query: { dryRun: 'true' }, status: 400 },
  ])('are refused when $because', async ({ query, status }) => {
    const at = setting();
    const configurationId = await at.protect();

    expect((await at.points(configurationId, query)).status).toBe(status);
  });
});

describe('pages', () => {
  it.each(['shuffled', 'chronological'])('of %s points lead through all of them, each once', async (order) => {
    const at = setting({ 'points.order': order });
    const configurationId = await at.protect();
    await at.control('POST', `/configurations/${configurationId}/points`, { count: 119 });

    const seen: Point[] = [];
    let after: Record<string, string> = {};
    for (let pages = 0; pages < 10; pages += 1) {
      const { body } = await at.points(configurationId, { limit: '25', ...after });
      seen.push(...body.items);
      if (typeof body.nextCursor !== 'string') break;
      after = { after: body.nextCursor };
    }

    expect(new Set(seen.map(({ pointId }) => pointId)).size).toBe(120);
    expect(seen).toHaveLength(120);
  });

  it('survive that things come and go between them', async () => {
    const at = setting();
    await at.protect();
    const rest = await at.protect({ sourceAppEnvId: 'env_db_prod', target: { envName: 'dr', appName: 'db-dr' } });
    const { body: first } = await at.list('configurations', { limit: '1' });

    await at.reset();
    const { body: second } = await at.list('configurations', { after: String(first.nextCursor) });

    expect(second.items).toMatchObject([{ configurationId: rest }]);
  });

  it.each(['created', 'shuffled'])('of lists that are %s lead through all of them, each once', async (order) => {
    const at = setting({ 'lists.order': order });

    const seen: unknown[] = [];
    let after: Record<string, string> = {};
    for (let pages = 0; pages < 10; pages += 1) {
      const { body } = await at.list('sources', { limit: '2', ...after });
      seen.push(...body.items.map(({ sourceAppEnvId }) => sourceAppEnvId));
      if (typeof body.nextCursor !== 'string') break;
      after = { after: body.nextCursor };
    }

    expect(seen).toHaveLength(5);
    expect(new Set(seen).size).toBe(5);
  });

  it('hold 50 items by default and up to 100', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.control('POST', `/configurations/${configurationId}/points`, { count: 149 });

    const byDefault = await at.points(configurationId);
    const most = await at.points(configurationId, { limit: '100' });

    expect(byDefault.body.items).toHaveLength(50);
    expect(most.body.items).toHaveLength(100);
  });

  it('refuse a cursor that this list has not given', async () => {
    const at = setting();
    const configurationId = await at.protect();
    await at.control('POST', `/configurations/${configurationId}/points`, { count: 3 });
    const other = await at.protect({ sourceAppEnvId: 'env_db_prod', target: { envName: 'db', appName: 'db' } });
    const { nextCursor } = (await at.list('sources', { limit: '1' })).body;
    const given = String(nextCursor);
    const { nextCursor: ofPoints } = (await at.points(configurationId, { limit: '1' })).body;

    const after = async (cursor: string) => (await at.list('sources', { after: cursor })).status;

    expect(await after(given)).toBe(200);
    expect(await after(given.slice(0, -1))).toBe(400);
    expect(await after(given.slice(0, -8))).toBe(400);
    expect(await after(`${given}!`)).toBe(400);
    expect(await after(String(ofPoints))).toBe(400);
    expect((await at.list('configurations', { after: given })).status).toBe(400);
    expect((await at.points(configurationId, { after: String(ofPoints) })).status).toBe(200);
    expect((await at.points(other, { after: String(ofPoints) })).status).toBe(400);
  });

  it.each([
    { end: 'absent', last: undefined },
    { end: 'null', last: null },
    { end: 'empty', last: '' },
  ])('end with a cursor that is $end', async ({ end, last }) => {
    const at = setting({ 'cursor.end': end });
    const configurationId = await at.protect();

    const answers: List[] = [];
    answers.push((await at.list('sources')).body, (await at.list('configurations')).body);
    const { body } = await at.points(configurationId);

    for (const answer of [...answers, body]) expect(answer.nextCursor).toBe(last);
  });
});

describe('what little is disclosed when the readings say so', () => {
  it('leaves out every optional field of sources and configurations', async () => {
    const at = setting();
    const configurationId = await at.protect(WARM);
    await at.validate(configurationId);
    at.advance(SETTLED);

    await at.reads({ 'dr.disclosed': 'minimal' });

    expect(Object.keys(await at.source()).toSorted()).toEqual([
      'appId',
      'appName',
      'eligible',
      'eligibleDestinations',
      'environmentName',
      'region',
      'sourceAppEnvId',
      'suggestedSettings',
      'unsupportedReasons',
      'volumes',
    ]);
    const configuration = await at.configuration(configurationId);
    expect(Object.keys(configuration).toSorted()).toEqual([
      'activities',
      'configurationId',
      'generation',
      'readiness',
      'settings',
      'sourceAppEnvId',
      'validationScheduleEstablished',
    ]);
    expect(Object.keys(configuration.readiness)).toEqual(['state', 'warnings']);
    expect(Object.keys(configuration.activities[0] ?? {})).toEqual(['operationId', 'kind', 'phase', 'startedAt']);
  });

  it.each([
    ['withoutIds', ['kind', 'phase', 'failedSteps'], ['kind', 'phase', 'startedAt']],
    ['asNamed', [], []],
  ])('leaves out of operations what dr.operations=%s says', async (reading, active, activity) => {
    const at = setting();
    const configurationId = await at.protect(WARM);

    await at.reads({ 'dr.operations': reading });

    const configuration = await at.configuration(configurationId);
    expect(configuration.activeOperationId).toMatch(/^op_/);
    expect(Object.keys(configuration.activeOperation ?? {})).toEqual(active);
    expect(configuration.activities.map((one) => Object.keys(one))).toEqual([activity]);
  });
});

describe('opaque phases', () => {
  it('are words never seen before, in receipts, operations and history', async () => {
    const at = setting({ 'dr.phases': 'opaque' });
    const { configurationId, phase } = await at.configureOne();
    const { activeOperation } = await at.configuration(configurationId);
    at.advance(SETTLED);

    const words = [phase, activeOperation?.phase, (await at.configuration(configurationId)).activities[0]?.phase];

    for (const word of words) expect(word).toMatch(/^stage-[0-9a-f]{8}$/);
  });
});

describe('a list', () => {
  it('needs svc:read and an accountId', async () => {
    const at = setting();
    await at.control('POST', '/tokens', {
      token: 'writer',
      scopes: ['svc:write:config', 'svc:write:deploy', 'svc:write:dangerous'],
      memberships: [{ accountId: 'acc_demo', role: 'admin' }],
    });

    for (const name of ['sources', 'configurations', 'points']) {
      expect((await at.list(name, {}, 'writer')).status).toBe(403);
      expect((await at.list(name, {}, 'demo-foreign')).status).toBe(403);
      expect((await at.get(`/disaster-readiness/${name}`)).status).toBe(400);
    }
    expect((await at.list('points')).status).toBe(400);
  });

  it('shows a restricted member only the environments of their own', async () => {
    const at = setting();
    const web = await at.protect();
    const db = await at.protect({ sourceAppEnvId: 'env_db_prod', target: { envName: 'dr', appName: 'db-dr' } });
    await at.control('PATCH', '/accounts/acc_demo', { memberEnvAccess: true });
    const access = { accountId: 'acc_demo', membershipId: 'mem_demo', allowedAppEnvIds: ['env_db_prod'] };
    await at.patch('/member/env-access', access);

    const sources = await at.list('sources', {}, 'demo-member');
    const configurations = await at.list('configurations', {}, 'demo-member');
    const points = (configurationId: string) =>
      at.get<Points>('/disaster-readiness/points', { accountId: 'acc_demo', configurationId }, 'demo-member');

    const ids = (items: readonly Fields[]) => items.map(({ sourceAppEnvId }) => sourceAppEnvId);
    expect(ids(sources.body.items)).toEqual(['env_db_prod']);
    expect(ids(configurations.body.items)).toEqual(['env_db_prod']);
    expect((await points(web)).status).toBe(403);
    expect((await points(db)).status).toBe(200);
  });

  it('may lag behind', async () => {
    const at = setting();
    await at.protect();

    await at.reads({ 'lists.lagMs': 10 * 60_000 });

    expect((await at.list('configurations')).body.items).toEqual([]);
    at.advance(10 * 60_000);
    expect((await at.list('configurations')).body.items).toHaveLength(1);
  });
});
