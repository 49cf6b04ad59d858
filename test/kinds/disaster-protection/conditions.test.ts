import { describe, expect, it } from 'vitest';
import type { PendingCleanup, PointItem } from '../../../src/hosting/requests.ts';
import { protectionConditions } from '../../../src/kinds/disaster-protection/conditions.ts';
import type { Shown } from '../../../src/kinds/disaster-protection/facts.ts';
import { aConfiguration, aPoint, aSource } from '../support/disaster-pass.ts';

const points = (items: readonly PointItem[]): Shown['points'] => ({
  items: new Map(items.map((item) => [item.pointId, item])),
  begunAt: 0,
  dateMs: undefined,
});

/** A protection as the service shows it; `configuration` is as it stands in the list. */
function shown(configuration: object, more: Partial<Shown> = {}): Shown {
  const settled = { readiness: { state: 'ready' }, ...configuration };
  return {
    environmentId: 'env_1',
    configuration: aConfiguration(settled),
    source: aSource,
    points: points([aPoint]),
    ...more,
  };
}

function conditionOf(type: string, of: Shown): string | undefined {
  const found = protectionConditions(of).find((condition) => condition.type === type);
  return found && `${found.status}/${found.reason}`;
}

describe('RecoveryReady', () => {
  it.each([
    [{ state: 'ready' }, 'True/RecoveryReady'],
    [{ state: 'READY' }, 'True/RecoveryReady'],
    [{ state: 'ready', warnings: ['sustainedStandby'] }, 'True/SustainedStandby'],
    [{ state: 'ready', warnings: ['seedBoost'] }, 'True/SeedBoost'],
    [{ state: 'ready', warnings: ['somethingNew'] }, 'True/RecoveryReady'],
    [{ state: 'needsAttention', reason: 'chainRollover' }, 'False/ChainRollover'],
    [{ state: 'needsAttention', reason: 'catchingUp', warnings: ['seedBoost'] }, 'False/CatchingUp'],
    [{ state: 'needsAttention', reason: 'rpoExceeded' }, 'False/RpoExceeded'],
    [{ state: 'needsAttention', reason: 'somethingNew' }, 'False/NeedsAttention'],
    [{ state: 'needsAttention' }, 'False/NeedsAttention'],
    [{ state: 'preparing' }, 'Unknown/Preparing'],
    [{ state: 'failed' }, 'Unknown/UnknownState'],
    [{ state: 'expired' }, 'Unknown/UnknownState'],
    [{ state: 'unknown' }, 'Unknown/UnknownState'],
    [{ state: 'almostReady' }, 'Unknown/UnknownState'],
    [{ state: '' }, 'Unknown/UnknownState'],
    [{ warnings: ['seedBoost'] }, 'Unknown/NotDisclosed'],
    [null, 'Unknown/NotDisclosed'],
    ['ready', 'Unknown/NotDisclosed'],
  ])('of %j is %s', (readiness, expected) => {
    expect(conditionOf('RecoveryReady', shown({ readiness }))).toBe(expected);
  });
});

describe('a code of the service', () => {
  const messageOf = (type: string, of: Shown) =>
    protectionConditions(of).find((condition) => condition.type === type)?.message;

  it.each([
    ['chainRollover', /: a new chain of snapshots has not replaced the old one yet \(chainRollover\)/],
    ['catchingUp', /: the standby has not applied all changes yet \(catchingUp\)/],
    ['rpoExceeded', /: the newest recovery point is older than spec.rpoTargetSeconds \(rpoExceeded\)/],
    ['somethingNew', /: "somethingNew"/],
    ['constructor', /: "constructor"/],
  ])('for attention is told in words, and quoted where it is not known: %s', (reason, words) => {
    const readiness = { state: 'needsAttention', reason, warnings: ['seedBoost', 'sustainedStandby'] };
    const message = messageOf('RecoveryReady', shown({ readiness }));

    expect(message).toMatch(words);
    expect(message).toMatch(
      / larger size until it has applied its first copy, which is large \(seedBoost\), .* full size \(sustainedStandby\)$/,
    );
  });

  it('for the size of a standby is told in words', () => {
    const standby = { shape: 'sustained', reason: 'standardTooSlow', caughtUp: true };

    expect(messageOf('StandbyCaughtUp', shown({ settings: { mode: 'warm' }, standby }))).toMatch(
      /has the size sustained: .* too slowly for spec.snapshotIntervalSeconds \(standardTooSlow\)$/,
    );
  });
});

describe('StandbyCaughtUp', () => {
  it.each([
    [{ shape: 'standard', caughtUp: true }, 'True/CaughtUp'],
    [{ shape: 'standard', caughtUp: false }, 'False/CatchingUp'],
    [{ shape: 'seedBoost', reason: 'catchingUp', caughtUp: false }, 'False/SeedBoost'],
    [{ shape: 'sustained', reason: 'standardTooSlow', caughtUp: true }, 'True/SustainedStandby'],
    [{ shape: 'aShapeToCome', caughtUp: true }, 'True/CaughtUp'],
    [{ shape: 'standard' }, 'Unknown/NotDisclosed'],
    [undefined, 'Unknown/NotDisclosed'],
  ])('of %j is %s', (standby, expected) => {
    expect(conditionOf('StandbyCaughtUp', shown({ settings: { mode: 'warm' }, standby }))).toBe(expected);
  });

  it('is nothing that a cold protection has', () => {
    expect(conditionOf('StandbyCaughtUp', shown({}))).toBeUndefined();
  });
});

describe('ActivationAvailable', () => {
  const activation = { operationId: 'op_1', kind: 'activation', phase: 'x' };
  const inVain = { ...activation, endedAt: '2026-01-01T00:00:00Z', outcome: 'discarded' };

  it.each<readonly [because: string, expected: string, of: Shown]>([
    ['nothing stands in the way', 'True/ActivationPossible', shown({})],
    [
      'the source engine cannot be activated',
      'False/ActivationUnavailable',
      shown({ activationUnavailableReason: 'no' }),
    ],
    ['it was activated', 'False/AlreadyActivated', shown({ activationResult: { operationId: 'op_1' } })],
    ['a result is there that says nothing', 'False/AlreadyActivated', shown({ activationResult: {} })],
    ['an operation is under way', 'False/OperationInProgress', shown({ activeOperationId: 'op_9' })],
    [
      'a standby has settled',
      'True/ActivationPossible',
      shown({ activeOperationId: 'op_9', warmRecoveryOperationId: 'op_9' }),
    ],
    ['the history has an activation', 'False/AlreadyActivated', shown({ activities: [activation] })],
    ['the history has one that was discarded', 'True/ActivationPossible', shown({ activities: [inVain] })],
    ['no point is listed', 'False/NoRecoveryPoint', shown({}, { points: points([]) })],
    ['the points were not read', 'Unknown/NotDisclosed', shown({}, { points: undefined })],
  ])('when %s: %s', (_because, expected, of) => {
    expect(conditionOf('ActivationAvailable', of)).toBe(expected);
  });
});

describe('CleanupPending', () => {
  const cleanup = (pendingCount: number, retainedDiskCount: number) => ({
    pendingCount,
    retainedDiskCount,
    retryingCount: 0,
  });
  const ofSource: PendingCleanup = { ...cleanup(1, 0), earliestRetentionUntil: undefined };

  it.each<readonly [because: string, expected: string, of: Shown]>([
    ['nothing is shown', 'False/NothingPending', shown({})],
    ['the counts are 0', 'False/NothingPending', shown({ pendingCleanup: cleanup(0, 0) })],
    ['something is cleaned up', 'True/CleanupPending', shown({ pendingCleanup: cleanup(1, 0) })],
    ['a disk is kept for its time', 'True/CleanupPending', shown({ pendingCleanup: cleanup(0, 1) })],
    [
      'only the source shows it',
      'True/CleanupPending',
      shown({}, { source: { ...aSource, pendingCleanup: ofSource } }),
    ],
  ])('when %s: %s', (_because, expected, of) => {
    expect(conditionOf('CleanupPending', of)).toBe(expected);
  });
});

describe('what was read too long ago', () => {
  it('leaves nothing True that holds only as long as the service says so', () => {
    const of = shown({ settings: { mode: 'warm' }, standby: { caughtUp: true } }, { unread: 'no answer' });

    for (const type of ['RecoveryReady', 'StandbyCaughtUp', 'ActivationAvailable']) {
      expect(conditionOf(type, of)).toBe('Unknown/ServiceUnavailable');
    }
  });
});
