import { describe, expect, it } from 'vitest';

import { alert, alertBody, box, type Box, contactPoint } from './box.ts';

const quarter = 15_000;

const metrics = {
  ofEveryEnvironment: ['cpu_percent', 'memory_percent', 'cpu_usage', 'memory_usage'].flatMap((metric) => [
    metric,
    `${metric}_per_pod`,
  ]),
  ofIngress: [
    'ingress_request_rate',
    'ingress_5xx_rate',
    'ingress_5xx_percent',
    'ingress_4xx_rate',
    'ingress_4xx_percent',
    'ingress_p95_latency',
    'ingress_p99_latency',
  ],
};

async function shown(on: Box, alertId: string) {
  return (await on.get(`/alert?alertId=${alertId}`)).body;
}

/** The state that the engine sees now. */
async function live(on: Box, alertId: string): Promise<string> {
  return (await on.post('/alert/refresh', { alertId })).body.state;
}

async function measure(on: Box, value: unknown, more: object = {}) {
  return on.control('POST', '/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent', value, ...more });
}

describe('POST /app-env/alert', () => {
  it('answers with the alert and its defaults', async () => {
    const on = box();

    const { status, body } = await on.post('/app-env/alert', await alertBody(on));

    expect(status).toBe(200);
    expect(body.alert).toEqual({
      alertId: expect.any(String),
      name: 'busy',
      metric: 'cpu_percent',
      operator: 'gt',
      threshold: 80,
      duration: '5m',
      aggregation: 'mean',
      queryRange: '10m',
      enabled: true,
      lastKnownState: 'Normal',
      contactPoints: [{ contactPointId: expect.any(String), name: 'On call', type: 'email' }],
    });
    expect(Object.keys(body)).toEqual(['message', 'alert']);
  });

  it.each([
    { metric: [...metrics.ofEveryEnvironment, ...metrics.ofIngress] },
    { duration: ['1m', '5m', '10m', '15m', '30m', '1h'] },
    { queryRange: ['5m', '10m', '15m', '30m', '1h', '2h'] },
    { aggregation: ['mean', 'max', 'min', 'last'] },
    { operator: ['gt', 'lt'] },
  ])('takes every word of the text: %j', async (words) => {
    const on = box();
    for (const [field, values] of Object.entries(words)) {
      for (const value of values) {
        const { status, body } = await on.post('/app-env/alert', await alertBody(on, { [field]: value }));
        expect([status, body.alert[field]], value).toEqual([200, value]);
      }
    }
  });

  it('is readable with every field of the text', async () => {
    const on = box();
    const alertId = await alert(on, { description: 'too busy' });

    expect(await shown(on, alertId)).toMatchObject({
      appEnvId: 'env_web_prod',
      accountId: 'acc_demo',
      description: 'too busy',
      region: 'eu-west',
      contactPointIds: [expect.any(String)],
      createdAt: '2026-01-01T00:00:00.000Z',
    });
    expect((await on.get('/app-env/alerts?appEnvId=env_web_prod')).body.alerts).toHaveLength(1);
    expect((await on.get('/app-env/alerts?appEnvId=env_web_staging')).body.alerts).toEqual([]);
  });

  it('refuses what breaks the table', async () => {
    const on = box();
    const body = await alertBody(on);
    const ids = body.contactPointIds;
    const table = [
      { change: { appEnvId: undefined }, status: 400, because: 'at least one of appEnvId and envName' },
      { change: { envName: 'web-staging' }, status: 400, because: 'both name one environment' },
      { change: { envName: 'web-prod' }, status: 200, because: 'both name the same one' },
      { change: { name: undefined }, status: 400, because: 'name is required' },
      { change: { name: '' }, status: 400, because: 'a name has a character' },
      { change: { name: 'x'.repeat(101) }, status: 400, because: 'a name has at most 100' },
      { change: { description: 'x'.repeat(501) }, status: 400, because: 'a description has at most 500' },
      { change: { name: 'x'.repeat(100), description: 'x'.repeat(500) }, status: 200, because: 'both may be so long' },
      { change: { metric: undefined }, status: 400, because: 'metric is required' },
      { change: { metric: 'mood' }, status: 400, because: 'no such metric' },
      { change: { operator: undefined }, status: 400, because: 'operator is required' },
      { change: { operator: 'eq' }, status: 400, because: 'gt or lt' },
      { change: { threshold: undefined }, status: 400, because: 'threshold is required' },
      { change: { threshold: '80' }, status: 400, because: 'threshold is a Number' },
      { change: { duration: undefined }, status: 400, because: 'duration is required' },
      { change: { duration: '2m' }, status: 400, because: 'not one of the durations' },
      { change: { aggregation: 'sum' }, status: 400, because: 'not one of the aggregations' },
      { change: { queryRange: '1m' }, status: 400, because: 'not one of the query ranges' },
      { change: { contactPointIds: undefined }, status: 400, because: 'exactly one of the two' },
      { change: { contactPointNames: ['On call'] }, status: 400, because: 'exactly one of the two' },
      { change: { contactPointIds: 'x' }, status: 400, because: 'a list of ids' },
      { change: { contactPointIds: [...ids, 'cp_none'] }, status: 404, because: 'they must exist' },
      { change: { appEnvId: 'env_none' }, status: 404, because: 'no such environment' },
    ];

    for (const { change, status, because } of table) {
      expect((await on.post('/app-env/alert', { ...body, ...change })).status, because).toBe(status);
    }
    expect((await on.get('/app-env/alerts?appEnvId=env_web_prod')).body.alerts).toHaveLength(2);
  });

  it('finds contact points by exact name, one each', async () => {
    const on = box();
    const { contactPointIds: _, ...body } = await alertBody(on);
    const named = (name: string) => on.post('/app-env/alert', { ...body, contactPointNames: [name] });

    expect((await named('On call')).status).toBe(200);
    expect((await named('on call')).status).toBe(404);
    await contactPoint(on);
    expect((await named('On call')).status).toBe(400);
  });

  it('does not reach into other accounts for its contact points', async () => {
    const on = box();
    const config = { addresses: ['a@example.com'] };
    const foreign = { accountId: 'acc_other', name: 'Theirs', type: 'email', config };
    const { contactPointId } = (await on.post('/contact-point', foreign, 'demo-foreign')).body.contactPoint;
    const { contactPointIds: _, ...body } = await alertBody(on);

    expect((await on.post('/app-env/alert', { ...body, contactPointIds: [contactPointId] })).status).toBe(404);
    expect((await on.post('/app-env/alert', { ...body, contactPointNames: ['Theirs'] })).status).toBe(404);
  });

  it('takes envName alone', async () => {
    const on = box();
    const { appEnvId: _, ...body } = await alertBody(on, { envName: 'orders-db-prod' });

    expect((await on.post('/app-env/alert', body)).status).toBe(200);
    expect((await on.get('/app-env/alerts?appEnvId=env_db_prod')).body.alerts).toHaveLength(1);
  });

  it('refuses the metrics of ingress on databases, and no others', async () => {
    const on = box();
    const alertId = await alert(on, { appEnvId: 'env_db_prod' });
    const watched = async (metric: string) =>
      (await on.post('/app-env/alert', await alertBody(on, { appEnvId: 'env_db_prod', metric }))).status;

    for (const metric of metrics.ofEveryEnvironment) expect(await watched(metric), metric).toBe(200);
    for (const metric of metrics.ofIngress) {
      expect(await watched(metric), metric).toBe(400);
      expect((await on.patch('/alert', { alertId, metric })).status, metric).toBe(400);
    }
  });

  it('refuses a second name in one environment only when names are unique', async () => {
    const on = box();
    const body = await alertBody(on);
    for (let n = 0; n < 2; n += 1) expect((await on.post('/app-env/alert', body)).status).toBe(200);
    await on.readings({ 'names.alerts': 'unique' });

    expect((await on.post('/app-env/alert', body)).status).toBe(400);
    expect((await on.post('/app-env/alert', { ...body, appEnvId: 'env_web_staging' })).status).toBe(200);
  });
});

describe('PATCH /alert', () => {
  it('refuses what creation refuses', async () => {
    const on = box();
    const alertId = await alert(on);
    const words = [{ operator: 'eq' }, { duration: '7m' }, { queryRange: '3m' }, { aggregation: 'avg' }];
    const texts = [{ name: '' }, { name: 'x'.repeat(101) }, { description: 'x'.repeat(501) }, { metric: 'disk' }];

    for (const change of [...words, ...texts, { threshold: null }, { enabled: 'no' }]) {
      expect((await on.patch('/alert', { alertId, ...change })).status).toBe(400);
    }
    expect((await on.patch('/alert', { alertId, contactPointIds: ['cp_none'] })).status).toBe(404);
    expect((await on.patch('/alert', { alertId: 'alert_none', threshold: 'x' })).status).toBe(404);
    expect((await on.patch('/alert', {})).status).toBe(400);
  });

  it('lets go of the contact points that it no longer names', async () => {
    const on = box();
    const alertId = await alert(on);
    const [{ contactPointId }] = (await on.get('/contact-points?accountId=acc_demo')).body.contactPoints;

    await on.patch('/alert', { alertId, contactPointIds: [await contactPoint(on, 'Other')] });

    expect((await on.remove(`/contact-point?contactPointId=${contactPointId}`)).status).toBe(200);
  });

  it('pauses with enabled false, and goes on with true', async () => {
    const on = box();
    const alertId = await alert(on, { duration: '1m' });
    await on.patch('/alert', { alertId, enabled: false });
    await measure(on, 99);
    on.advance(10 * quarter);
    expect(await live(on, alertId)).toBe('Normal');

    await on.patch('/alert', { alertId, enabled: true });
    on.advance(10 * quarter);

    expect(await live(on, alertId)).toBe('Firing');
  });
});

describe('evaluation', () => {
  it('goes from Pending to Firing when the condition was met for the duration, and back to Normal', async () => {
    const on = box();
    const alertId = await alert(on, { duration: '1m' });
    await measure(on, 81);

    on.advance(quarter);
    expect(await live(on, alertId)).toBe('Pending');
    on.advance(3 * quarter);
    expect(await live(on, alertId)).toBe('Pending');
    on.advance(quarter);
    expect(await live(on, alertId)).toBe('Firing');
    await measure(on, 80);
    on.advance(quarter);
    expect(await live(on, alertId)).toBe('Normal');
  });

  it('starts the duration anew after a break', async () => {
    const on = box();
    const alertId = await alert(on, { duration: '1m' });
    for (const value of [81, 79, 81]) {
      await measure(on, value);
      on.advance(3 * quarter);
    }

    expect(await live(on, alertId)).toBe('Pending');
  });

  it.each([{ metric: 'memory_percent' }, { aggregation: 'max' }, { threshold: 50 }, { operator: 'lt', threshold: 95 }])(
    'starts the duration anew when the condition becomes another one: %j',
    async (change) => {
      const on = box();
      const alertId = await alert(on, { duration: '1m' });
      await measure(on, 90, { pods: [90] });
      await measure(on, 90, { metric: 'memory_percent' });
      on.advance(10 * quarter);
      expect(await live(on, alertId)).toBe('Firing');

      await on.patch('/alert', { alertId, ...change });
      on.advance(quarter);
      expect(await live(on, alertId)).toBe('Pending');
      on.advance(4 * quarter);
      expect(await live(on, alertId)).toBe('Firing');
    },
  );

  it('goes on counting when a change leaves the condition as it is', async () => {
    const on = box();
    const alertId = await alert(on, { duration: '1m' });
    await measure(on, 90);
    on.advance(10 * quarter);

    await on.patch('/alert', { alertId, name: 'busier', metric: 'cpu_percent', threshold: 80 });
    on.advance(quarter);

    expect(await live(on, alertId)).toBe('Firing');
  });

  it('knows NoData and Error', async () => {
    const on = box();
    const alertId = await alert(on);
    for (const [value, state] of [
      [null, 'NoData'],
      ['error', 'Error'],
      [1, 'Normal'],
    ]) {
      expect((await measure(on, value)).status).toBe(200);
      await on.control('POST', '/alerts/evaluate');
      expect(await live(on, alertId)).toBe(state);
    }
  });

  it('compares with gt and lt, strictly', async () => {
    const on = box();
    const [gt, lt] = [await alert(on), await alert(on, { operator: 'lt' })];
    for (const [value, states] of [
      [80, ['Normal', 'Normal']],
      [80.1, ['Pending', 'Normal']],
      [79.9, ['Normal', 'Pending']],
    ] as const) {
      await measure(on, value);
      await on.control('POST', '/alerts/evaluate');
      expect([await live(on, gt), await live(on, lt)]).toEqual(states);
    }
  });

  it('aggregates over pods', async () => {
    const on = box();
    const table = [
      ['mean', 'Normal'],
      ['max', 'Pending'],
      ['min', 'Normal'],
      ['last', 'Pending'],
    ] as const;
    const metric = 'cpu_percent_per_pod';
    const ids = await Promise.all(table.map(([aggregation]) => alert(on, { aggregation, metric })));
    await measure(on, 60, { metric, pods: [10, 85] });
    await on.control('POST', '/alerts/evaluate');

    for (const [i, [aggregation, state]] of table.entries()) {
      expect(await live(on, ids[i] ?? ''), aggregation).toBe(state);
    }
  });

  it('moves what clients are told by refresh only, unless the reading says it is live', async () => {
    for (const [cache, told] of [
      ['refreshOnly', 'Normal'],
      ['live', 'Pending'],
    ]) {
      const on = box({ readings: { 'alerts.cache': cache } });
      const alertId = await alert(on);
      await measure(on, 99);
      on.advance(quarter);

      expect((await shown(on, alertId)).lastKnownState).toBe(told);
    }
  });
});

describe('POST /alert/refresh', () => {
  it('answers with state, previous state and the time of the check, and keeps them', async () => {
    const on = box();
    const alertId = await alert(on);
    await measure(on, 99);
    on.advance(quarter);

    const { body } = await on.post('/alert/refresh', { alertId });

    const lastStateCheck = '2026-01-01T00:00:15.000Z';
    expect(body).toEqual({ state: 'Pending', previousState: 'Normal', lastStateCheck });
    expect(await shown(on, alertId)).toMatchObject({ lastKnownState: 'Pending', lastStateCheck });
  });

  it('keeps the state of a paused alert, or is refused when the reading says so', async () => {
    const on = box();
    const alertId = await alert(on);
    await on.post('/alert/toggle', { alertId, enabled: false });
    await measure(on, 99);
    on.advance(quarter);

    expect(await live(on, alertId)).toBe('Normal');
    await on.readings({ 'alerts.refreshPaused': 'rejects' });
    expect((await on.post('/alert/refresh', { alertId })).status).toBe(400);
  });
});

describe('POST /alert/toggle', () => {
  it('pauses: the state stops updating until it is switched on again', async () => {
    const on = box();
    const alertId = await alert(on, { duration: '1m' });
    await measure(on, 99);
    on.advance(10 * quarter);
    expect(await live(on, alertId)).toBe('Firing');

    const { body } = await on.post('/alert/toggle', { alertId, enabled: false });
    expect(body).toEqual({ message: expect.any(String), enabled: false });
    await measure(on, 1);
    on.advance(10 * quarter);
    expect((await shown(on, alertId)).lastKnownState).toBe('Firing');

    await on.post('/alert/toggle', { alertId, enabled: true });
    on.advance(quarter);
    expect(await live(on, alertId)).toBe('Normal');
  });

  it('starts the duration anew after a pause, unless the alert was firing', async () => {
    const on = box();
    const ids = [await alert(on, { duration: '1m' }), await alert(on, { duration: '10m' })];
    await measure(on, 99);
    on.advance(10 * quarter);
    for (const enabled of [false, true]) {
      for (const alertId of ids) await on.post('/alert/toggle', { alertId, enabled });
      on.advance(enabled ? quarter : 3_600_000);
    }

    expect(await Promise.all(ids.map((alertId) => live(on, alertId)))).toEqual(['Firing', 'Pending']);
  });

  it('keeps the state a client knows, even when the engine had seen another one before the pause', async () => {
    const on = box();
    const alertId = await alert(on);
    await measure(on, 99);
    on.advance(quarter);
    await on.post('/alert/toggle', { alertId, enabled: false });

    expect((await on.post('/alert/refresh', { alertId })).body).toMatchObject({ state: 'Normal' });
  });

  it('needs a Boolean', async () => {
    const on = box();
    const alertId = await alert(on);

    for (const enabled of [undefined, 'true', 1, null]) {
      expect((await on.post('/alert/toggle', { alertId, enabled })).status).toBe(400);
    }
  });
});

describe('DELETE /alert', () => {
  it('is permanent and frees its contact points', async () => {
    const on = box();
    const alertId = await alert(on);
    const [{ contactPointId }] = (await on.get('/contact-points?accountId=acc_demo')).body.contactPoints;

    expect(Object.keys((await on.remove(`/alert?alertId=${alertId}`)).body)).toEqual(['message']);
    const again = [
      await on.get(`/alert?alertId=${alertId}`),
      await on.patch('/alert', { alertId, name: 'x' }),
      await on.post('/alert/toggle', { alertId, enabled: true }),
      await on.post('/alert/refresh', { alertId }),
      await on.remove(`/alert?alertId=${alertId}`),
    ];
    expect(again.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    expect((await on.remove(`/contact-point?contactPointId=${contactPointId}`)).status).toBe(200);
  });
});

describe('an alert and an environment', () => {
  it('must be named, and be there', async () => {
    const on = box();

    expect((await on.get('/alert')).status).toBe(400);
    expect((await on.remove('/alert')).status).toBe(400);
    expect((await on.get('/app-env/alerts')).status).toBe(400);
    expect((await on.get('/app-env/alerts?appEnvId=none')).status).toBe(404);
  });
});
