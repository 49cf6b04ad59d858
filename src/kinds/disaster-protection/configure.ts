/**
 * Sets up and changes a protection. Each configure call has the settings of one environment, and is recorded in the
 * journal before it is sent.
 *
 * The service recognises a repeated call by its requestId, and responds as it did to the first call. Each call also
 * names the generation of the configuration that it changes. Once the service shows a newer generation, the call is not
 * repeated.
 */
import { waitWhileFrozen, takingOver } from '../../engine/kind/planner/observe.ts';
import { type JournalEntry, writtenBody } from '../../engine/kind/contract/step.ts';
import {
  configureResultOf,
  postDisasterReadinessConfigure,
  protectionIn,
  type ConfigurationItem,
  type Protection,
} from '../../hosting/requests.ts';
import { activationUnderWay, operationInWords } from '../recovery/configurations.ts';
import {
  bound,
  environmentOf,
  ofEnvironment,
  type Configurations,
  type ProtectionPass,
  type ProtectionStep,
} from './binding.ts';
import { refusedBySource } from './eligibility.ts';
import { appliedByItem, differenceOf, isApplied, itemOf, mayBeOf } from './settings.ts';
import { requestIdOf } from '../recovery/request-id.ts';
import { resendMs } from '../recovery/sending.ts';
import { inSpecWords } from '../recovery/words.ts';
import type { DisasterProtectionFacts } from './schema.ts';

/**
 * Delays new settings of a protection while a recovery request for its configuration is in progress. Returns undefined
 * when the settings may be sent.
 */
export function underway(
  pass: ProtectionPass,
  id: string,
  configuration?: ConfigurationItem,
): ProtectionStep | undefined {
  const kinds = ['RecoveryActivation', 'ActivationDiscard', 'DisasterReset'];
  const other =
    kinds.flatMap((kind) => pass.related?.(kind, id) ?? []).find(({ finished, takenUp }) => takenUp && !finished) ??
    // New settings raise the generation of the configuration, which would end a validation. So wait while the outcome
    // of a validation call is unknown.
    pass.related?.('RecoveryValidation', id).find(({ inDoubt }) => inDoubt);
  const active = configuration && activationUnderWay(configuration);
  const what = other?.name ?? (active && operationInWords(active));
  if (what === undefined) return undefined;
  const message =
    other === undefined
      ? `${what} is under way; new settings are sent when it has ended`
      : `new settings wait until ${what} has ended. To send the settings earlier, check in the service that no operation is in progress, then delete ${what}`;
  return { is: 'wait', reason: 'OperationInProgress', message, retryInMs: 10_000 };
}

/** Returns a `wait` step while a DisasterReset of the protection's configuration has not ended; otherwise undefined. */
export function resetAhead(pass: ProtectionPass, configurationId: string): ProtectionStep | undefined {
  const reset = pass
    .related?.('DisasterReset', configurationId)
    .find(({ namespace, finished }) => namespace === pass.subject.namespace && !finished);
  if (reset === undefined) return undefined;
  const message = `${reset.name} resets configuration ${configurationId}; spec.enrollment takes effect after the reset`;
  return { is: 'wait', reason: 'OperationInProgress', message, retryInMs: 10_000 };
}

/** Returns the text that messages use for a call that sets up or changes a protection. */
function words(pass: ProtectionPass, isNew: boolean): string {
  return `${isNew ? 'set up' : 'change'} the protection of environment ${environmentOf(pass)}`;
}

/**
 * Records a configure call in the journal. The next step sends the call. If its outcome is unknown, the same bytes are
 * sent again.
 */
export function configure(
  pass: ProtectionPass,
  configuration: ConfigurationItem | undefined,
  facts: DisasterProtectionFacts,
): ProtectionStep {
  const appEnvId = environmentOf(pass);
  const waits = waitWhileFrozen(pass) ?? refusedBySource(pass, configuration) ?? besideOthers(pass, configuration);
  if (waits !== undefined) return waits;
  const item = itemOf(pass, configuration);
  // Each configure call has its own requestId. An id made from the content alone would be the same for a later set-up
  // with the same content. The service would then respond with the finished operation of the earlier set-up, and begin
  // no new one.
  const requestId = requestIdOf('configure/v1', {
    uid: pass.subject.uid,
    at: pass.wallMs,
    ticks: pass.monotonicMs,
    appEnvId,
    expectedGeneration: item.expectedGeneration,
  });
  const body: Protection = { accountId: pass.account.accountId, common: {}, items: [{ ...item, requestId }] };
  return {
    is: 'begin',
    words: words(pass, configuration === undefined),
    journal: {
      operation: 'configure',
      attempt: pass.spec.enrollment ?? 1,
      digest: pass.fingerprint({ ...item }),
      requestId,
      payload: JSON.stringify(body),
      // A change creates no object. For a change too, the entry `create` locks the environment: other resources wait as
      // long as `pass.creating` names this one; see `besideOthers`.
      create: {
        collection: 'protection',
        name: appEnvId,
        excluded: configuration === undefined ? [] : [configuration.configurationId],
      },
    },
    remember: { facts },
    note: { timesSent: 0 },
  };
}

/**
 * Waits while another resource sets up, changes or resets the protection of the same environment. A set-up also waits
 * for one horizon after a take-over, because earlier calls may still arrive; see `takingOver`.
 */
function besideOthers(pass: ProtectionPass, configuration?: ConfigurationItem): ProtectionStep | undefined {
  const appEnvId = environmentOf(pass);
  const other = pass.creating('protection', appEnvId);
  if (other !== undefined) {
    const message = `${other} is setting up a protection of the same environment`;
    return { is: 'wait', reason: 'CreateInProgress', message, retryInMs: 2_000 };
  }
  // The journal entry of a DisasterReset locks its environment, or the whole account, although it creates nothing.
  const reset = pass.creating('reset', appEnvId) ?? pass.creating('reset', pass.account.accountId);
  if (reset !== undefined) {
    const message = `${reset} resets this protection, or may have sent a call that does; new settings are sent when the outcome of that call is known or the call can no longer arrive`;
    return { is: 'wait', reason: 'OperationInProgress', message, retryInMs: 10_000 };
  }
  return configuration === undefined ? takingOver(pass, 'this resource sets up no protection') : undefined;
}

/**
 * Returns the body of the configure request from the journal entry. Returns undefined if the body is not valid, has
 * another requestId than the entry, or is for another environment or account than the resource.
 */
function sentBody(pass: ProtectionPass, journal: JournalEntry): Protection | undefined {
  const written = protectionIn(writtenBody(journal));
  const [item] = written?.items ?? [];
  const isOurs = item?.sourceAppEnvId === environmentOf(pass) && item.requestId === journal.requestId;
  return isOurs && written?.accountId === pass.account.accountId ? written : undefined;
}

/**
 * Decides the next step while the journal holds a configure call. The service may already show the effect of the call,
 * or may have refused the call. Otherwise the same call is sent again.
 */
export function resolveConfigure(
  pass: ProtectionPass,
  snapshot: Configurations,
  journal: JournalEntry,
): ProtectionStep {
  const body = sentBody(pass, journal);
  const item = body?.items[0];
  if (body === undefined || item === undefined) {
    const message =
      'status.internal.journal does not contain a valid record of a call for this environment; make sure that no call is in progress, then remove status.internal.journal';
    return { is: 'stall', reason: 'JournalDamaged', message };
  }
  const now = ofEnvironment(pass, snapshot);
  const anew = { is: 'again', remember: { journal: undefined }, note: {} } as const;
  if (now !== undefined && now.generation > item.expectedGeneration) {
    // Another client may have raised the generation. In that case, remove the call from the journal, and compare the
    // configuration with the spec again before anything is sent.
    const isNew = item.expectedGeneration === 0;
    const isForeign = pass.notes.timesSent === 0 || (isNew ? !mayBeOf(item, now) : journal.conflicted !== undefined);
    if (isForeign) return anew;
    const remember = { ...bound(pass, now.configurationId, 'Created'), applied: appliedByItem(pass, item) };
    return { is: 'again', remember, note: {} };
  }
  // The configuration that the call would change is gone, or the service refused the call. So remove the journal entry,
  // and decide again from the spec. A new call with the same content is sent only after a pause.
  const isVoid = item.expectedGeneration > 0 && now === undefined;
  if (isVoid || journal.conflicted !== undefined) return anew;
  const busy = now === undefined ? waitWhileFrozen(pass) : underway(pass, now.configurationId, now);
  if (busy !== undefined) return busy;
  const sentAt = pass.notes.sentAt ?? Number.NEGATIVE_INFINITY;
  if (pass.monotonicMs - sentAt < resendMs) {
    const message = `${words(pass, item.expectedGeneration === 0)}: the outcome of the request is not known; the operator repeats the same request every ${resendMs / 1_000} s until the service answers or shows the result. The service recognises the repeated request by its requestId`;
    return { is: 'wait', reason: 'InDoubt', message, retryInMs: 5_000 };
  }
  return {
    is: 'call',
    call: {
      request: postDisasterReadinessConfigure(body),
      words: words(pass, item.expectedGeneration === 0),
      urgency: 'edit',
      resumes: true,
      confirm: 'live',
      ...(now !== undefined &&
        item.expectedGeneration > 0 && { corrects: isApplied(pass) ? differenceOf(pass, now).differing : [] }),
      saidNo: (answer) => {
        const result = configureResultOf(answer, item.sourceAppEnvId);
        return result?.success === false
          ? inSpecWords(result.error ?? 'the service refused the settings of the environment and gave no reason')
          : undefined;
      },
      committed: (answer) => {
        const result = configureResultOf(answer, item.sourceAppEnvId);
        if (result?.success !== true || result.configurationId === undefined) return undefined;
        const facts: DisasterProtectionFacts = {
          ...pass.memory.facts,
          ...(result.generation !== undefined && { configurationGeneration: result.generation }),
        };
        return { ...bound(pass, result.configurationId, 'Created', facts), applied: appliedByItem(pass, item) };
      },
    },
    note: { sentAt: pass.monotonicMs },
  };
}
