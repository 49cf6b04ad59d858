import type { Reason } from '../../engine/kind/contract/reasons.ts';
import type { OwnCondition } from '../../engine/kind/contract/step.ts';
import { activeOf, endedInVain, isActivation, isSettledStandby, isWarm } from '../recovery/configurations.ts';
import { codeInWords } from '../recovery/words.ts';
import type { PendingCleanup, SourceItem } from '../../hosting/requests.ts';
import type { Shown } from './facts.ts';

const attention: Readonly<Record<string, Reason>> = {
  chainrollover: 'ChainRollover',
  catchingup: 'CatchingUp',
  rpoexceeded: 'RpoExceeded',
};
const warnings: Readonly<Record<string, Reason>> = { sustainedstandby: 'SustainedStandby', seedboost: 'SeedBoost' };

/** True only for the service's word `ready`, in any capitalisation. */
export function isRecoveryReady({ configuration }: Pick<Shown, 'configuration'>): boolean {
  return configuration.readiness?.state?.toLowerCase() === 'ready';
}

/** Conditions that hold only as long as the service says so. */
export const fleeting = ['RecoveryReady', 'StandbyCaughtUp', 'ActivationAvailable'] as const;

/** Types of conditions that every protection has from the first visit on. */
export const always = ['RecoveryReady', 'ActivationAvailable', 'CleanupPending'] as const;

/** The conditions where the service lists no protection of the environment. */
export function notProtected(appEnvId: string, source: SourceItem | undefined): readonly OwnCondition[] {
  const message = `the service lists no protection of environment ${appEnvId}`;
  return [
    unprotected('NotProtected', message),
    { type: 'ActivationAvailable', status: 'False', reason: 'NotProtected', message },
    cleanupPending(source?.pendingCleanup),
  ];
}

/** The conditions of a protection. */
export function protectionConditions(shown: Shown): readonly OwnCondition[] {
  const standby = isWarm(shown.configuration) ? [standbyCaughtUp(shown)] : [];
  const current = [recoveryReady(shown), ...standby, activationAvailable(shown)];
  const { unread, configuration, source } = shown;
  const cleanup = cleanupPending(configuration.pendingCleanup ?? source?.pendingCleanup);
  if (unread === undefined) return [...current, cleanup];
  const message = `what the service showed last is too old to count: ${unread}`;
  const unknown = current.map(({ type }): OwnCondition => {
    return { type, status: 'Unknown', reason: 'ServiceUnavailable', message };
  });
  return [...unknown, cleanup];
}

/** RecoveryReady while the configuration is missing and not proved gone yet: Unknown. */
export function notShown(configurationId: string): OwnCondition {
  const message = `the service shows no configuration ${configurationId}`;
  return { type: 'RecoveryReady', status: 'Unknown', reason: 'ObjectMissing', message };
}

/** RecoveryReady where nothing protects the environment any more, for the reason that Ready gives as well. */
export function unprotected(reason: Reason, message: string): OwnCondition {
  return { type: 'RecoveryReady', status: 'False', reason, message };
}

function recoveryReady(shown: Shown): OwnCondition {
  const type = 'RecoveryReady';
  const { state, reason, warnings: shownWarnings = [] } = shown.configuration.readiness ?? {};
  const warned = shownWarnings.map((warning) => warnings[warning.toLowerCase()]).find((known) => known !== undefined);
  const beside = shownWarnings.length === 0 ? '' : `, with the warning: ${shownWarnings.map(codeInWords).join(', ')}`;
  if (isRecoveryReady(shown)) {
    return { type, status: 'True', reason: warned ?? 'RecoveryReady', message: `the service says ready${beside}` };
  }
  if (state === undefined) {
    return { type, status: 'Unknown', reason: 'NotDisclosed', message: 'the service does not show its readiness' };
  }
  const words = `the service says ${state}${reason === undefined ? '' : `: ${codeInWords(reason)}`}${beside}`;
  switch (state.toLowerCase()) {
    case 'needsattention':
      return {
        type,
        status: 'False',
        reason: attention[reason?.toLowerCase() ?? ''] ?? 'NeedsAttention',
        message: words,
      };
    case 'preparing':
      return { type, status: 'Unknown', reason: 'Preparing', message: words };
    default:
      return { type, status: 'Unknown', reason: 'UnknownState', message: words };
  }
}

function standbyCaughtUp({ configuration }: Shown): OwnCondition {
  const type = 'StandbyCaughtUp';
  const { caughtUp, shape, reason } = configuration.standby ?? {};
  if (caughtUp === undefined) {
    return { type, status: 'Unknown', reason: 'NotDisclosed', message: 'the service does not show its standby' };
  }
  const size = shape === undefined ? '' : ` at size ${shape}${reason === undefined ? '' : `: ${codeInWords(reason)}`}`;
  const special: Readonly<Record<string, Reason>> = { seedboost: 'SeedBoost', sustained: 'SustainedStandby' };
  const sized = special[shape?.toLowerCase() ?? ''];
  return caughtUp
    ? { type, status: 'True', reason: sized ?? 'CaughtUp', message: `the standby has applied all changes${size}` }
    : { type, status: 'False', reason: sized ?? 'CatchingUp', message: `the standby applies changes${size}` };
}

function activationAvailable({ configuration, points }: Shown): OwnCondition {
  const type = 'ActivationAvailable';
  const { activationUnavailableReason, activationResult } = configuration;
  const no = (reason: Reason, message: string): OwnCondition => ({ type, status: 'False', reason, message });
  if (activationUnavailableReason !== undefined) {
    return no('ActivationUnavailable', `the service says: ${activationUnavailableReason}`);
  }
  if (activationResult !== undefined) {
    return no('AlreadyActivated', `activated by operation ${activationResult.operationId ?? '(not shown)'}`);
  }
  const active = activeOf(configuration);
  if (active !== undefined && !isSettledStandby(configuration)) {
    return no('OperationInProgress', `the service works on operation ${active.operationId ?? '(its id is not shown)'}`);
  }
  const earlier = configuration.activities.find((activity) => isActivation(activity) && !endedInVain(activity));
  if (earlier !== undefined) {
    const which =
      earlier.operationId === undefined ? 'an activation without its id' : `activation ${earlier.operationId}`;
    return no(
      'AlreadyActivated',
      `the history shows ${which}, and does not show that it ended without a live environment`,
    );
  }
  if (points === undefined) {
    return { type, status: 'Unknown', reason: 'NotDisclosed', message: 'the recovery points have not been read' };
  }
  if (points.items.size === 0) return no('NoRecoveryPoint', 'the service lists no recovery point');
  return {
    type,
    status: 'True',
    reason: 'ActivationPossible',
    message: 'nothing that the service shows stands in the way',
  };
}

function cleanupPending(cleanup: PendingCleanup | undefined): OwnCondition {
  const type = 'CleanupPending';
  const pending = cleanup?.pendingCount ?? 0;
  const retained = cleanup?.retainedDiskCount ?? 0;
  if (pending === 0 && retained === 0) {
    return { type, status: 'False', reason: 'NothingPending', message: 'the service shows no clean-up' };
  }
  const until =
    cleanup?.earliestRetentionUntil === undefined ? '' : `, the first until ${cleanup.earliestRetentionUntil}`;
  const message = `${pending} to clean up, ${retained} of them disks kept for their time${until}`;
  return { type, status: 'True', reason: 'CleanupPending', message };
}
