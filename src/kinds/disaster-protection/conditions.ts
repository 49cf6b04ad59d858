import type { Reason } from '../../engine/kind/contract/reasons.ts';
import { type OwnCondition, about } from '../../engine/kind/contract/step.ts';
import {
  activeOf,
  failedOrCancelled,
  isActivation,
  isSettledStandby,
  isWarm,
  operationInWords,
} from '../recovery/configurations.ts';
import { codeInWords } from '../recovery/words.ts';
import type { PendingCleanup, SourceItem } from '../../hosting/requests.ts';
import type { Shown } from './facts.ts';

/**
 * The condition reason for each of the service's codes about readiness, warnings and the standby. The codes are in
 * lower case.
 */
const reasons: Readonly<Record<string, Reason>> = {
  chainrollover: 'ChainRollover',
  catchingup: 'CatchingUp',
  rpoexceeded: 'RpoExceeded',
  sustainedstandby: 'SustainedStandby',
  sustained: 'SustainedStandby',
  seedboost: 'SeedBoost',
};

function reasonOf(word = ''): Reason | undefined {
  return reasons[word.toLowerCase()];
}

/** True only if the service shows the readiness state `ready`, in any capitalisation. */
export function isRecoveryReady({ configuration }: Pick<Shown, 'configuration'>): boolean {
  return configuration.readiness?.state?.toLowerCase() === 'ready';
}

/** The types of the conditions that become Unknown while the configuration cannot be read from the service. */
export const fleeting = ['RecoveryReady', 'StandbyCaughtUp', 'ActivationAvailable'] as const;

/** The types of the conditions that every DisasterProtection has from its first reconcile on. */
export const always = ['RecoveryReady', 'ActivationAvailable', 'CleanupPending'] as const;

const ready = about('RecoveryReady');
const caughtUp = about('StandbyCaughtUp');
const available = about('ActivationAvailable');
const cleanup = about('CleanupPending');

/** Builds the conditions of a DisasterProtection while the service does not protect the environment. */
export function notProtected(appEnvId: string, source: SourceItem | undefined): readonly OwnCondition[] {
  const message = `the service lists no protection of environment ${appEnvId}`;
  return [
    unprotected('NotProtected', message),
    available.no('NotProtected', message),
    cleanupPending(source?.pendingCleanup),
  ];
}

/** Builds the conditions of a DisasterProtection whose configuration the service shows. */
export function protectionConditions(shown: Shown): readonly OwnCondition[] {
  const standby = isWarm(shown.configuration) ? [standbyCaughtUp(shown)] : [];
  const current = [recoveryReady(shown), ...standby, activationAvailable(shown)];
  const { unread, configuration, source } = shown;
  const pending = cleanupPending(configuration.pendingCleanup ?? source?.pendingCleanup);
  if (unread === undefined) return [...current, pending];
  const message = `the last successful read of the service is too old to use: ${unread}`;
  return [...current.map(({ type }) => about(type).unknown('ServiceUnavailable', message)), pending];
}

/**
 * Builds the condition RecoveryReady with the value Unknown. Used when the list does not contain the configuration, but
 * it is not proved yet that the configuration is gone.
 */
export function notShown(configurationId: string): OwnCondition {
  return ready.unknown('ObjectMissing', `the service does not list configuration ${configurationId}`);
}

/** Builds the condition RecoveryReady with the value False, for an environment that nothing protects. */
export const unprotected = ready.no;

function recoveryReady(shown: Shown): OwnCondition {
  const { state, reason, warnings: shownWarnings = [] } = shown.configuration.readiness ?? {};
  const warned = shownWarnings.map(reasonOf).find((known) => known !== undefined);
  const beside = shownWarnings.length === 0 ? '' : `; the service warns: ${shownWarnings.map(codeInWords).join(', ')}`;
  if (isRecoveryReady(shown))
    return ready.yes(warned ?? 'RecoveryReady', `the service says that recovery is ready${beside}`);
  if (state === undefined)
    return ready.unknown('NotDisclosed', 'the service does not report whether recovery is ready');
  const words = `the service reports the readiness state ${state}${reason === undefined ? '' : `: ${codeInWords(reason)}`}${beside}`;
  switch (state.toLowerCase()) {
    case 'needsattention':
      return ready.no(reasonOf(reason) ?? 'NeedsAttention', words);
    case 'preparing':
      return ready.unknown('Preparing', words);
    default:
      return ready.unknown('UnknownState', words);
  }
}

function standbyCaughtUp({ configuration }: Shown): OwnCondition {
  const { caughtUp: isCaughtUp, shape, reason } = configuration.standby ?? {};
  if (isCaughtUp === undefined)
    return caughtUp.unknown('NotDisclosed', 'the service does not report whether the standby has applied all changes');
  const size =
    shape === undefined
      ? ''
      : `; the standby has the size ${shape}${reason === undefined ? '' : `: ${codeInWords(reason)}`}`;
  const sized = reasonOf(shape);
  return isCaughtUp
    ? caughtUp.yes(sized ?? 'CaughtUp', `the standby has applied all changes${size}`)
    : caughtUp.no(sized ?? 'CatchingUp', `the standby is still applying changes${size}`);
}

function activationAvailable({ configuration, points }: Shown): OwnCondition {
  const { activationUnavailableReason, activationResult } = configuration;
  if (activationUnavailableReason !== undefined)
    return available.no('ActivationUnavailable', `the service allows no activation: ${activationUnavailableReason}`);
  if (activationResult !== undefined)
    return available.no('AlreadyActivated', `${operationInWords(activationResult)} activated the configuration`);
  const active = activeOf(configuration);
  if (active !== undefined && !isSettledStandby(configuration)) {
    return available.no('OperationInProgress', `the service works on ${operationInWords(active)}`);
  }
  const earlier = configuration.activities.find((activity) => isActivation(activity) && !failedOrCancelled(activity));
  if (earlier !== undefined) {
    const { operationId: id } = earlier;
    const which = id === undefined ? 'an activation without an id' : `activation ${id}`;
    const message = `the history of the configuration lists ${which}, so a recovered environment may already be live`;
    return available.no('AlreadyActivated', message);
  }
  if (points === undefined) return available.unknown('NotDisclosed', 'the recovery points have not been read yet');
  if (points.items.size === 0) return available.no('NoRecoveryPoint', 'the service lists no recovery point');
  return available.yes('ActivationPossible', 'as far as the service shows, an activation is possible');
}

function cleanupPending(shown: PendingCleanup | undefined): OwnCondition {
  const { pendingCount = 0, retainedDiskCount = 0, earliestRetentionUntil } = shown ?? {};
  if (pendingCount === 0 && retainedDiskCount === 0) {
    return cleanup.no('NothingPending', 'the service reports nothing to clean up');
  }
  const until =
    earliestRetentionUntil === undefined ? '' : `; the first retention period ends at ${earliestRetentionUntil}`;
  const message = `the service reports pending clean-ups: ${pendingCount}; disks kept until their retention period ends: ${retainedDiskCount}${until}`;
  return cleanup.yes('CleanupPending', message);
}
