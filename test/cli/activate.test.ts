import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { activateCommand, manifestOf } from '../../src/cli/activate.ts';
import { listing } from '../../src/cli/points.ts';
import { protectionFrom, withPoints, type ProtectionView } from '../../src/cli/protection.ts';
import { RecoveryActivationSpec } from '../../src/kinds/recovery-activation/schema.ts';

const nowMs = Date.UTC(2026, 0, 31, 12);
const [newest, older] = ['a1'.repeat(32), 'a2'.repeat(32)];

function aProtection(more: object = {}): ProtectionView {
  const point = (pointId: string, cutoffTime: string) => ({
    selectedOperationId: 'op_1',
    pointId,
    cutoffTime,
    configurationGeneration: 3,
    sizing: { replicas: 1, cpu: 2, memoryMb: 4096, volumeCapacities: ['10Gi'] },
  });
  return protectionFrom({
    apiVersion: 'apphosting.dev/v1alpha1',
    kind: 'DisasterProtection',
    metadata: { name: 'orders', namespace: 'team', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
    spec: { environmentRef: { externalId: 'env_1' } },
    status: {
      externalId: 'cfg_1',
      source: { appName: 'orders', environmentName: 'prod' },
      plannedDestination: { environmentName: 'recovered', appName: 'orders-recovered', createNewApp: true },
      recoveryPoints: [point(newest, '2026-01-31T11:55:00.000Z'), point(older, '2026-01-30T11:00:00.000Z')],
      conditions: [{ type: 'RecoveryReady', status: 'True', message: '' }],
      ...more,
    },
  });
}

const asked = { before: undefined, limit: 50, output: 'table' } as const;

/** What apphosting points prints. */
function textOf(protection: ProtectionView, more: object = {}): string {
  const told = listing(protection, { ...asked, ...more }, nowMs);
  return told.text ?? '';
}

describe('apphosting activate', () => {
  it('prints a manifest that is pinned, expires and is valid', () => {
    const choice = { point: 'latest', confirm: 'orders/prod', validMinutes: 60 };
    const manifest = manifestOf(aProtection(), choice, nowMs);
    const object = parse('text' in manifest ? manifest.text : '') as { kind: string; spec: unknown };

    expect(object).toMatchObject({
      kind: 'RecoveryActivation',
      metadata: { name: 'orders-20260131t120000', namespace: 'team' },
    });
    expect(RecoveryActivationSpec.parse(object.spec)).toMatchObject({
      configurationId: 'cfg_1',
      recoveryPoint: { pointId: newest, cutoffTime: '2026-01-31T11:55:00.000Z', configurationGeneration: 3 },
      target: { environmentName: 'recovered', appName: 'orders-recovered', createNewApp: true },
      confirmation: 'orders/prod',
      validUntil: '2026-01-31T13:00:00Z',
    });
  });

  it('leaves the confirmation to a person, and says what there is to know', () => {
    const doubtful = aProtection({ conditions: [{ type: 'RecoveryReady', status: 'False', message: 'too old' }] });
    const manifest = manifestOf(doubtful, { point: 'a2', validMinutes: 5 }, nowMs);

    expect(manifest).toMatchObject({ text: expect.stringContaining('confirmation: FILL-IN/FILL-IN') });
    expect(manifest).toMatchObject({ text: expect.stringContaining('# NOT READY: too old') });
    expect(manifest).toMatchObject({ text: expect.stringContaining('1d1h ago') });
  });

  it('says why it knows no recovery point', () => {
    const none = aProtection({ recoveryPoints: [] });
    const choice = { point: 'latest', validMinutes: 5 };

    expect(() => manifestOf(none, choice, nowMs)).toThrow('no recovery point is known: the service lists none');
    const stale = { why: 'HTTP status 500', asked: true };
    expect(() => manifestOf({ ...none, stale }, choice, nowMs)).toThrow('is known: HTTP status 500');
  });

  it('takes exactly the names of a warm destination, and says so to who asks for others', () => {
    const warmDestination = { environmentName: 'standby', createNewApp: false };
    const choice = { point: 'latest', validMinutes: 5 };
    const protection = aProtection({ warmDestination });
    const manifest = manifestOf(protection, { ...choice, environmentName: 'standby' }, nowMs);
    const object = parse('text' in manifest ? manifest.text : '') as { spec: { target: object } };

    expect(object.spec.target).toEqual({ environmentName: 'standby', createNewApp: false });
    for (const other of [{ environmentName: 'other' }, { appName: 'other' }]) {
      const choose = () => manifestOf(protection, { ...choice, ...other }, nowMs);
      expect(choose).toThrow('a warm standby keeps its names');
    }
  });

  it('leaves open whether the app of a warm destination is new where the service does not show it', () => {
    const warmDestination = { environmentName: 'standby', appName: 'orders-standby' };
    const manifest = manifestOf(aProtection({ warmDestination }), { point: 'latest', validMinutes: 5 }, nowMs);
    const object = parse('text' in manifest ? manifest.text : '') as { spec: { target: object } };

    expect(object.spec.target).toEqual(warmDestination);
  });

  it('keeps the saved name of the app as it stands, since databases need it', () => {
    const plannedDestination = { environmentName: 'recovered', appName: 'orders-recovered', createNewApp: false };
    const manifest = manifestOf(aProtection({ plannedDestination }), { point: 'latest', validMinutes: 5 }, nowMs);
    const object = parse('text' in manifest ? manifest.text : '') as { spec: { target: object } };

    expect(object.spec.target).toEqual(plannedDestination);
  });

  it('tells a new try of the same point from those that the history shows', () => {
    const tried = (cutoffTime: string) => ({ operationId: `op_${cutoffTime}`, kind: 'activation', cutoffTime });
    const operations = [
      tried('2026-01-31T11:55:00Z'),
      tried('2026-01-31T11:00:00Z'),
      // Of this one the service shows neither an id nor a kind.
      { cutoffTime: '2026-01-31T11:55:00.000Z' },
      { operationId: 'op_v', kind: 'validation' },
    ];
    const specOf = (point: string) => {
      const manifest = manifestOf(aProtection({ operations }), { point, validMinutes: 5 }, nowMs);
      return (parse('text' in manifest ? manifest.text : '') as { spec: object }).spec;
    };

    expect(specOf('latest')).toHaveProperty('attempt', 3);
    expect(specOf('a2')).not.toHaveProperty('attempt');
  });

  it('asks for the activation before it to be named, and does not name it by itself', () => {
    const message = 'operation op_9 has activated the configuration';
    const activated = aProtection({
      conditions: [{ type: 'ActivationAvailable', status: 'False', reason: 'AlreadyActivated', message }],
    });
    const manifest = manifestOf(activated, { point: 'latest', validMinutes: 5 }, nowMs);

    expect(manifest).toMatchObject({ text: expect.stringContaining(`# ACTIVATED BEFORE: ${message}`) });
    expect(manifest).toMatchObject({ text: expect.stringContaining('afterOperationId: FILL-IN') });
    expect(textOf(activated)).toContain(`ACTIVATED BEFORE: ${message}`);
  });

  it('says what stands in the way, and that a list of points is old', () => {
    const busy = aProtection({
      settings: { snapshotIntervalSeconds: 60 },
      conditions: [
        { type: 'RecoveryReady', status: 'True', message: '' },
        {
          type: 'ActivationAvailable',
          status: 'False',
          reason: 'OperationInProgress',
          message: 'the service works on operation op_7',
        },
      ],
    });
    const manifest = manifestOf(busy, { point: 'latest', validMinutes: 5 }, nowMs);

    for (const said of [
      'NOT POSSIBLE NOW: the service works on operation op_7',
      'OLD: the newest recovery point is 5m old',
    ]) {
      expect(manifest).toMatchObject({ text: expect.stringContaining(`# ${said}`) });
      expect(textOf(busy)).toContain(said);
    }
  });

  it('acknowledges a source that may still write only when told to', () => {
    const choice = { point: 'latest', confirm: 'orders/prod', validMinutes: 60 };
    const specOf = (more: object) => {
      const manifest = manifestOf(aProtection(), { ...choice, ...more }, nowMs);
      return (parse('text' in manifest ? manifest.text : '') as { spec: object }).spec;
    };

    expect(specOf({ acknowledgeWriters: true })).toHaveProperty('acknowledgements', ['WriterSafety']);
    expect(specOf({ acknowledgeWriters: false })).not.toHaveProperty('acknowledgements');
  });

  it.each([
    ['a2222', 'no recovery point has an id that begins with a2222'],
    ['a', 'the ids of 2 recovery points begin with a'],
  ])('refuses --point %s', (point, expected) => {
    const choose = () => manifestOf(aProtection(), { point, validMinutes: 5 }, nowMs);

    expect(choose).toThrow(expected);
  });

  it('prints a manifest also of a point that only status knows, as the note on exit codes says', () => {
    const view = withPoints(aProtection(), { why: 'it is down', asked: true });

    expect(manifestOf(view, { point: 'latest', validMinutes: 5 }, nowMs)).toEqual({ text: expect.any(String) });
    expect(activateCommand.notes.at(-1)).toMatch(
      /^Exit codes: 0 the manifest was printed, even if the service gave no/,
    );
  });

  it('refuses to confirm another source', () => {
    const choice = { point: 'latest', confirm: 'orders/staging', validMinutes: 5 };

    expect(() => manifestOf(aProtection(), choice, nowMs)).toThrow('does not name the environment of this protection');
  });

  it.each([{ appName: 'orders' }, { environmentName: 'prod' }])(
    'takes the confirmation as it is when the service shows only %o',
    (source) => {
      const choice = { point: 'latest', confirm: 'orders/prod', validMinutes: 5 };

      const { text = '' } = manifestOf(aProtection({ source }), choice, nowMs);

      expect(parse(text)).toMatchObject({ spec: { confirmation: 'orders/prod' } });
    },
  );
});

describe('apphosting points', () => {
  it('lists points with age and size, newest first', () => {
    const lines = textOf(aProtection()).split('\n');

    expect(lines[0]).toMatch(/^POINT +AGE +CUTOFF +GENERATION +SIZE$/);
    expect(lines[1]).toMatch(/^a1a1a1a1a1a1 +5m +.* 1 replica, 2 CPU, 4096 MB, 10Gi$/);
    expect(lines[2]).toMatch(/^a2a2a2a2a2a2 +1d1h/);
    expect(lines[3]).toBe('');
  });

  it('lists those up to a moment, and says how many there are', () => {
    expect(textOf(aProtection(), { limit: 1 })).toContain(
      '1 of 2 recovery points are listed; use --limit or --before to list others.',
    );
    expect(textOf(aProtection(), { output: 'name', before: Date.UTC(2026, 0, 31) })).toBe(`${older}\n`);
    expect(textOf(aProtection(), { before: 0 })).toBe('There are no recovery points to list.\n');
  });

  it('tells a program all of them', () => {
    const { data } = listing(aProtection(), asked, nowMs);

    const points = [newest, older].map((pointId) => expect.objectContaining({ pointId }) as unknown);
    expect(data).toEqual({ configurationId: 'cfg_1', source: 'Service', total: 2, points });
  });

  it('says that it could not tell where the points are those of status', () => {
    const told = listing(withPoints(aProtection(), { why: 'it is down', asked: true }), asked, nowMs);

    expect(told).toMatchObject({
      problems: [
        'the service gave no list of recovery points (it is down); these points are from the status of the protection',
      ],
      data: { source: 'Status', total: 2 },
    });
  });

  it('believes the service where status knows no point yet', () => {
    const { facts } = aProtection();
    const conditions = [{ type: 'ActivationAvailable', status: 'False', reason: 'NoRecoveryPoint', message: 'none' }];
    const fresh = aProtection({ conditions, recoveryPoints: [] });
    const protection = withPoints(fresh, { points: facts.recoveryPoints ?? [] });

    expect(textOf(protection)).not.toContain('NOT POSSIBLE NOW');
    expect(manifestOf(protection, { point: 'latest', validMinutes: 5 }, nowMs)).toHaveProperty('text');
  });
});
