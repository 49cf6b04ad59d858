import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Read } from '../../src/engine/ports.ts';
import * as b from '../../src/hosting/requests.ts';
import { Secret } from '../../src/base/json.ts';

const appsIn = b.appsOf('acc').items;
const appEnvsIn = b.appEnvsOf('acc').items;
const contactPointsIn = b.contactPointsOf('acc').items;
const alertsIn = b.alertsOf('e').items;
const sourcesIn = b.drSourcesOf('acc').items;
const configurationsIn = b.drConfigurationsOf('acc').items;
const pointsIn = b.drPointsOf('acc', 'cfg').items;
const presetsIn = b.appPresetsOf().items;
const solutionsIn = b.solutionsOf('acc').items;
const appIn = theOneOf(b.appOf('a'));
const alertIn = theOneOf(b.alertOf('al'));
const contactPointIn = theOneOf(b.contactPointOf('cp'));
const contactPointWithSecretsIn = theOneOf(b.contactPointWithSecretsOf('cp', undefined));
const refreshedStateOf = theOneOf(b.alertStateOf('al', 1_000));
const memberAccessIn = theOneOf(b.memberAccessOf('acc', 'm'));

/** Reads the body of one object. */
function theOneOf<Item>(read: Read<Item>): (body: unknown) => Item | undefined {
  return (body) => read.items(body)?.[0];
}

const alert = { alertId: 'al', name: 'n', metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '5m' };
const point = { contactPointId: 'cp', name: 'n', type: 'webhook' };
const app = { appId: 'a', name: 'n' };
const environment = { appEnvId: 'e', appId: 'a', name: 'n' };
const configuration = { configurationId: 'cfg', generation: 1 };
const recoveryPoint = { selectedOperationId: 'o', pointId: 'p', cutoffAt: '2026-01-01T00:00:00.000Z' };

describe('a list', () => {
  const lists = [
    { name: 'apps', read: appsIn, field: 'apps', item: app, id: 'appId' },
    { name: 'environments', read: appEnvsIn, field: 'appEnvs', item: environment, id: 'appEnvId' },
    { name: 'contact points', read: contactPointsIn, field: 'contactPoints', item: point, id: 'contactPointId' },
    { name: 'alerts', read: alertsIn, field: 'alerts', item: alert, id: 'alertId' },
    { name: 'sources', read: sourcesIn, field: 'items', item: { sourceAppEnvId: 'e' }, id: 'sourceAppEnvId' },
    { name: 'configurations', read: configurationsIn, field: 'items', item: configuration, id: 'configurationId' },
    { name: 'points', read: pointsIn, field: 'items', item: recoveryPoint, id: 'pointId' },
    { name: 'presets', read: presetsIn, field: 'presets', item: { name: 'CUSTOM' }, id: 'name' },
    { name: 'solutions', read: solutionsIn, field: 'solutions', item: { solutionSlug: 's' }, id: 'solutionSlug' },
  ] as const;

  it.each(lists)(
    'of $name is read with the least that it shows, and with more than we know',
    ({ read, field, item }) => {
      expect(read({ [field]: [] })).toEqual([]);
      expect(read({ [field]: [item] })).toHaveLength(1);
      expect(read({ [field]: [{ ...item, extra: { deep: [1] } }], extra: 1 })).toEqual(read({ [field]: [item] }));
    },
  );

  it.each(lists)('of $name is not readable when it is not what the interface promises', ({ read, field, item, id }) => {
    for (const value of [
      undefined,
      null,
      {},
      'x',
      7,
      [null],
      [7],
      [[item]],
      [{ ...item, [id]: '' }],
      [{ ...item, [id]: 7 }],
      [{}],
    ]) {
      expect(read({ [field]: value })).toBeUndefined();
    }
    for (const body of [undefined, null, '', {}]) expect(read(body)).toBeUndefined();
  });

  it.each(lists.slice(0, 7))('of $name is found under its own name only', ({ read, item }) => {
    for (const body of [[], [item], { other: [item] }]) expect(read(body)).toBeUndefined();
  });

  it.each(lists.slice(7))('of $name has no name in the interface, so any one list will do', ({ read, item }) => {
    for (const body of [[item], { other: [item] }]) expect(read(body)).toHaveLength(1);
    expect(read({ other: [item], another: [item] })).toBeUndefined();
  });

  it.each(lists)('of $name takes null for absent where a field is optional', ({ read, field, item }) => {
    const names = Object.keys(read({ [field]: [item] })?.[0] ?? {});
    const full = Object.fromEntries(
      [...names, 'createdAt', 'updatedAt', 'limits', 'config'].map((name) => [name, null]),
    );

    expect(read({ [field]: [{ ...full, ...item }] })).toHaveLength(1);
  });

  it('never throws, whatever it is given', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        for (const { read, field } of lists) {
          read(body);
          read({ [field]: [body] });
        }
      }),
    );
  });
});

describe('one object', () => {
  it.each([
    { read: appIn, bare: app, wrapped: { app } },
    { read: alertIn, bare: alert, wrapped: { message: 'ok', alert } },
    { read: contactPointIn, bare: point, wrapped: { message: 'ok', contactPoint: point } },
  ])('is read bare and wrapped', ({ read, bare, wrapped }) => {
    expect(read(bare)).toBeDefined();
    expect(read(wrapped)).toEqual(read(bare));
    for (const body of [undefined, {}, { message: 'ok' }, []]) expect(read(body)).toBeUndefined();
  });

  it('has dates with and without milliseconds, and none where they are none', () => {
    const at = (createdAt: unknown): unknown => appsIn({ apps: [{ ...app, createdAt }] })?.[0]?.createdAtMs;

    expect(at('2026-01-01T00:00:00.000Z')).toBe(Date.UTC(2026, 0, 1));
    expect(at('2026-01-01T00:00:00Z')).toBe(Date.UTC(2026, 0, 1));
    for (const odd of [undefined, null, 'soon', 7, {}]) expect(at(odd)).toBeUndefined();
  });

  it('has the contact points of an alert as ids, whichever way they are shown', () => {
    const ids = (shown: object): unknown => alertIn({ ...alert, ...shown })?.contactPointIds;

    expect(ids({ contactPointIds: ['a', 'b'] })).toEqual(['a', 'b']);
    expect(ids({ contactPoints: [{ contactPointId: 'a', name: 'n', type: 'email' }] })).toEqual(['a']);
    expect(ids({ contactPointIds: null, contactPoints: null })).toBeUndefined();
  });

  it('wraps every text of a config that may be secret', () => {
    const config = { url: 'https://planted', password: 'planted', httpMethod: 'POST', deep: { x: ['planted'] }, n: 1 };

    const read = contactPointWithSecretsIn({ contactPoint: { ...point, config } });

    expect(JSON.stringify(read)).not.toContain('planted');
    expect(read?.config?.['httpMethod']).toBe('POST');
    expect(read?.config?.['url']).toEqual(new Secret('https://planted'));
    expect(contactPointWithSecretsIn(point)?.config).toBeUndefined();
  });
});

describe('what is shown of an answer', () => {
  const forged = `RUNNING\n${'x'.repeat(3_000)} https://signed.example/x?sig=1`;

  it('is a word where a word belongs', () => {
    const statuses = ['RUNNING', 'deploy failed', 'v1.2-beta', '', forged, 'a/b', 'x'.repeat(65)].map(
      (status) => appEnvsIn({ appEnvs: [{ ...environment, status }] })?.[0]?.status,
    );

    expect(statuses).toEqual(['RUNNING', 'deploy failed', 'v1.2-beta', '', '(no word)', '(no word)', '(no word)']);
    expect(refreshedStateOf({ state: forged, lastStateCheck: forged })).toEqual({ state: '(no word)' });
    expect(contactPointsIn({ contactPoints: [{ ...point, type: forged }] })?.[0]?.type).toBe(forged);
  });

  it('is a time where a time belongs', () => {
    const times = [
      '2026-01-01T00:00:00Z',
      '2026-01-01T00:00:00.123+02:00',
      'https://signed.example/x?sig=1',
      '',
      'soon',
    ];

    const shown = times.map((nextSnapshotAt) => {
      const readiness = { cutoffAt: nextSnapshotAt };
      const read = configurationsIn({ items: [{ ...configuration, nextSnapshotAt, readiness }] })?.[0];
      return [read?.nextSnapshotAt, read?.readiness?.cutoffAt];
    });

    const none = [undefined, undefined];
    expect(shown).toEqual([[times[0], times[0]], [times[1], times[1]], none, none, none]);
    expect(pointsIn({ items: [{ ...recoveryPoint, cutoffAt: times[2] }] })).toBeUndefined();
  });

  it.each(['https://signed.example/x?sig=1', 'a sentence', 'a\nb', '', 'x'.repeat(257)])(
    'is an id, which %j is not',
    (appId) => {
      expect(appsIn({ apps: [app, { ...app, appId }] })).toBeUndefined();
      expect(sourcesIn({ items: [{ sourceAppEnvId: 'e', appId }] })).toMatchObject([{ appId: undefined }]);
    },
  );

  it('is a capacity where a capacity belongs', () => {
    const retainedSizing = { replicas: 2, volumeCapacities: ['10Gi', 'https://signed.example/x?sig=1'] };

    expect(pointsIn({ items: [{ ...recoveryPoint, retainedSizing }] })?.[0]?.retainedSizing).toEqual({
      replicas: 2,
      volumeCapacities: ['10Gi', '(no word)'],
    });
  });

  it('is a name as it is, since it is compared', () => {
    const names = [
      'Orders  & Co',
      'see https://example.com/x',
      'a\u0000b',
      'fam\u200Dily',
      'co\u00ADop',
      'e\u0301',
      '\u00E9',
    ];

    expect(
      appsIn({ apps: names.map((name, index) => ({ ...app, appId: `a${index}`, name })) })?.map(({ name }) => name),
    ).toEqual(names);
  });
});

describe('member access', () => {
  const allowed = (body: unknown): unknown => memberAccessIn(body)?.allowedAppEnvIds;

  it.each([
    { body: { membershipId: 'm', allowedAppEnvIds: ['e'] }, ids: ['e'], because: 'that is the default' },
    { body: { access: { membershipId: 'm', allowedAppEnvIds: ['e'] } }, ids: ['e'], because: 'it may be wrapped' },
    { body: { membershipId: 'm', appEnvIds: ['e'] }, ids: ['e'], because: 'the list may be called so' },
    { body: { membershipId: 'm', environments: [{ appEnvId: 'e' }] }, ids: ['e'], because: 'it may hold objects' },
    { body: { membershipId: 'm', allowedAppEnvIds: [] }, ids: [], because: 'empty means everything' },
    { body: { membershipId: 'm', allowedAppEnvIds: null }, ids: [], because: 'null is like empty' },
    { body: { membershipId: 'm' }, ids: [], because: 'left out means everything' },
    { body: { allowedAppEnvIds: ['e'] }, ids: ['e'], because: 'whose it is goes without saying' },
    { body: {}, ids: undefined, because: 'it is about nobody' },
    { body: { membershipId: 'other' }, ids: undefined, because: 'it is about somebody else' },
    { body: { membershipId: 'm', allowedAppEnvIds: [7] }, ids: undefined, because: 'those are no ids' },
    { body: { membershipId: 'm', allowedAppEnvIds: 'all' }, ids: undefined, because: 'that is no list' },
    { body: { membershipId: 'm', environments: [{ id: 'e' }] }, ids: undefined, because: 'those have no ids' },
    { body: undefined, ids: undefined, because: 'there is nothing' },
  ])('is $ids when $because', ({ body, ids }) => {
    expect(allowed(body)).toEqual(ids);
  });
});

describe('what an answer says', () => {
  it.each([
    [b.createdAppId({ appId: 'a' }), 'a'],
    [b.createdAppId({ app: { appId: 'a' } }), 'a'],
    [b.createdAppId({ message: 'ok' }), undefined],
    [b.createdContactPointId({ message: 'ok', contactPoint: point }), 'cp'],
    [b.createdContactPointId({ contactPointId: 'cp' }), 'cp'],
    [b.createdContactPointId({ contactPoint: { contactPointId: 7 } }), undefined],
    [b.createdAlert({ message: 'ok', alert: { alertId: 'al', enabled: true } })?.alertId, 'al'],
    [b.createdAlert({ message: 'ok' }), undefined],
    [b.environmentsAffectedOf({ appId: 'a', environmentsAffected: 2 }), 2],
    [b.deployedContentIdOf({ contentId: 'c' }), 'c'],
    [b.deployedContentIdOf({ appEnv: { contentId: 'c' } }), 'c'],
    [b.deployedContentIdOf({ appEnv: { status: 'UPDATING' } }), undefined],
    [b.lifecycleAnswerOf({ success: true, appEnv: { status: 'UPDATING' } })?.status, 'UPDATING'],
    [b.lifecycleAnswerOf({ success: false })?.success, false],
    [b.rollbackInfoOf({ rollbackInfo: { fromVersion: 2, toVersion: 1, contentId: 'c' } })?.toVersion, 1],
    [b.rollbackInfoOf({}), undefined],
    [refreshedStateOf({ state: 'Firing', previousState: null })?.state, 'Firing'],
    [refreshedStateOf({ message: 'ok' }), undefined],
    [b.usedByAlertsOf({ error: 'in use', details: '2 alerts use it' }), 2],
    [b.usedByAlertsOf({ error: 'in use', details: { count: 3 } }), 3],
    [b.usedByAlertsOf({ error: 'in use', details: 4 }), 4],
    [b.usedByAlertsOf({ error: 'no' }), undefined],
    [b.installationIdOf({ installationId: 'i' }), 'i'],
    [b.installationIdOf({ error: 'x', details: { installationId: 'i' } }), 'i'],
    [b.installationIdOf({ error: { message: 'x', details: { installationId: 'i' } } }), 'i'],
    [b.installationIdOf({ error: { installationId: 'i' } }), 'i'],
    [b.installationIdOf('text'), undefined],
    [b.resetCountsOf({ configurations: 1, destinations: 0 })?.destinations, 0],
    [b.resetCountsOf({}), undefined],
    [b.receiptOf({ operationId: 'o' })?.operationId, 'o'],
    [b.receiptOf({})?.operationId, undefined],
    [b.receiptOf('x'), undefined],
  ])('%# is %j', (said, expected) => {
    expect(said).toEqual(expected);
  });

  it.each([
    {
      body: {
        components: [
          { name: 'a', appId: 'a1', appEnvId: 'e1' },
          { name: 'b', appId: 'a2', appEnvId: 'e2' },
        ],
      },
    },
    { body: { apps: [{ appId: 'a1' }, { appId: 'a2' }], appEnvs: [{ appEnvId: 'e1' }, { appEnvId: 'e2' }] } },
    {
      body: {
        apps: [{ appId: 'a1' }, { appId: 'a2' }],
        appEnvs: [
          { appEnvId: 'e2', appId: 'a2' },
          { appEnvId: 'e1', appId: 'a1' },
        ],
      },
    },
    {
      body: {
        apps: [
          { name: 'web', appId: 'a1' },
          { name: 'db', appId: 'a2' },
        ],
        appEnvs: [
          { name: 'db', appEnvId: 'e2' },
          { name: 'web', appEnvId: 'e1' },
        ],
      },
    },
    { body: { apps: ['a1', 'a2'], environments: ['e1', 'e2'] } },
    { body: { appIds: ['a1', 'a2'], appEnvIds: ['e1', 'e2'] } },
    {
      body: {
        solution: {
          components: [
            { appId: 'a1', appEnvId: 'e1' },
            { appId: 'a2', appEnvId: 'e2' },
          ],
        },
      },
    },
  ])('names the components of a solution in any of its shapes: $body', ({ body }) => {
    const result = b.solutionResultOf({ ...body, installationId: 'i', postInstallNote: null });

    expect(result?.components.map(({ appId, appEnvId }) => [appId, appEnvId])).toEqual([
      ['a1', 'e1'],
      ['a2', 'e2'],
    ]);
    expect(result?.installationId).toBe('i');
    expect(result?.postInstallNote).toBeUndefined();
  });

  it.each(['items', 'results', 'configurations', 'anything'])('finds the result of a source in %s', (name) => {
    const good = {
      sourceAppEnvId: 'e1',
      success: true,
      configurationId: 'cfg',
      operationId: 'o',
      generation: 2,
      phase: 'q',
    };
    const bad = { sourceAppEnvId: 'e2', success: false, error: 'no volume' };
    const body = { [name]: [bad, good], other: [1, 'x', null] };

    expect(b.configureResultOf(body, 'e1')).toMatchObject({ success: true, configurationId: 'cfg', generation: 2 });
    expect(b.configureResultOf(body, 'e2')).toEqual({ success: false, error: 'no volume' });
    expect(b.configureResultOf(body, 'e3')).toBeUndefined();
    expect(b.configureResultOf({ [name]: [{ sourceAppEnvId: 'e1' }] }, 'e1')).toBeUndefined();
  });

  it.each([
    { error: 'no volume' },
    { message: 'no volume' },
    { safeError: 'no volume' },
    { reason: 'no volume' },
    { error: { message: 'no volume', code: 'E1' } },
  ])('finds the safe error of an item in %o', (said) => {
    const body = { items: [{ sourceAppEnvId: 'e1', success: false, ...said }] };

    expect(b.configureResultOf(body, 'e1')).toEqual({ success: false, error: 'no volume' });
  });

  it('takes a reason against an activation for one in whatever form it stands', () => {
    const shown = (activationUnavailableReason: unknown) =>
      configurationsIn({ items: [{ configurationId: 'c1', generation: 1, activationUnavailableReason }] })?.[0]
        ?.activationUnavailableReason;

    expect(shown('no engine')).toBe('no engine');
    expect(shown({ code: 'E1' })).toBe('the service gave no reason');
    expect(shown(null)).toBeUndefined();
    expect(shown(undefined)).toBeUndefined();
  });

  it('makes what the service says of a protection fit to be shown', () => {
    const unfit = `see https://internal.example/?sig=1\u0007 ${'x'.repeat(400)}`;
    const error = { sourceAppEnvId: 'e1', success: false, error: unfit };
    const [configuration] =
      configurationsIn({
        items: [
          {
            configurationId: 'c1',
            generation: 1,
            activationUnavailableReason: unfit,
            readiness: { state: unfit, reason: unfit, warnings: [unfit] },
            activities: [{ operationId: 'o1', phase: unfit, kind: unfit, outcome: unfit }],
            standby: { shape: unfit, reason: unfit },
          },
        ],
      }) ?? [];
    const [source] =
      sourcesIn({
        items: [{ appEnvId: 'e1', unsupportedReasons: [{ reason: unfit }], volumes: [{ name: unfit, reason: unfit }] }],
      }) ?? [];

    for (const shown of [b.configureResultOf({ items: [error] }, 'e1'), configuration, source]) {
      const text = JSON.stringify(shown);
      expect(text).toContain('see [url] xxx');
      expect(text).not.toMatch(/internal|sig=|\\u0007|x{200}/);
    }
  });

  it('never throws, whatever it is given', () => {
    const readers: readonly ((body: unknown, id: string) => unknown)[] = [
      alertIn,
      alertsIn,
      appEnvsIn,
      appIn,
      appsIn,
      configurationsIn,
      b.configureResultOf,
      contactPointIn,
      contactPointWithSecretsIn,
      contactPointsIn,
      b.createdAlert,
      b.createdAppId,
      b.createdContactPointId,
      b.deployedContentIdOf,
      b.environmentsAffectedOf,
      b.installationIdOf,
      b.lifecycleAnswerOf,
      memberAccessIn,
      pointsIn,
      presetsIn,
      b.receiptOf,
      refreshedStateOf,
      b.resetCountsOf,
      b.rollbackInfoOf,
      b.solutionResultOf,
      solutionsIn,
      sourcesIn,
      b.usedByAlertsOf,
    ];
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        for (const read of readers) read(body, 'x');
      }),
    );
  });
});
