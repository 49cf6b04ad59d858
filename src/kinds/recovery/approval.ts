/**
 * Decides if a dangerous request may be sent now. The operator's flags must allow it, and `validUntil` must not have
 * passed by any of three clocks (operator, Kubernetes, service).
 */
import { isoSeconds } from '../../base/time.ts';
import type { ReferenceNeed } from '../../engine/kind/contract/define.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Reason } from '../../engine/kind/contract/reasons.ts';
import type { Snapshot } from '../../engine/ports.ts';
import type { Verdict } from '../../engine/kind/contract/step.ts';
import { needOf } from '../shared/references.ts';
import type { RequestSpec } from './schema.ts';

/** A reason not to send a recovery request. A stall is final; after a wait, the request may still be sent. */
export type Fence = Extract<Verdict<never>, { is: 'wait' | 'stall' }>;

const apartMs = 60_000;
const longestMs = 24 * 3_600_000;
const wholeSecondMs = 1_000;

/** Returns a `stall` step with this reason and message: nothing more is sent for the recovery request. */
export function never(reason: Reason, message: string) {
  return { is: 'stall', reason, message } as const;
}

/** Returns a `wait` step with this reason and message: the recovery request is not sent yet. */
export function notYet(reason: Reason, message: string): Fence {
  return { is: 'wait', reason, message, retryInMs: 30_000 };
}

/**
 * Stalls a request that needs a flag of the operator, if the flags do not allow it, or if its resource was created
 * before this process started. If the request is in the journal, the resource may be older, because the process that
 * recorded the request was allowed to send it.
 */
export function powerless({ powers, subject, memory }: Pass, power?: 'activation' | 'accountReset'): Fence | undefined {
  if (power === undefined) return undefined;
  const missing = [
    ...(powers?.activation === true ? [] : ['--enable-activation']),
    ...(power === 'accountReset' && powers?.accountReset !== true ? ['--enable-account-reset'] : []),
  ];
  if (powers === undefined || missing.length > 0) {
    const flags = missing.join(' and ');
    const message = `the operator runs without ${flags}, so it does not send this request; start the operator with ${flags}, then create a new resource`;
    return never('ActivationDisabled', message);
  }
  if (memory.journal !== undefined || subject.createdAtMs >= powers.sinceMs) return undefined;
  const [made, started] = [isoSeconds(subject.createdAtMs), isoSeconds(powers.sinceMs)];
  const message = `this resource was created at ${made}, before the operator started at ${started} (by the later of its own clock and that of Kubernetes), so this request is never sent; to send the request now, create a new resource; if ${started} is in the future, first correct the clock and restart the operator`;
  return never('ActivationDisabled', message);
}

/** Returns the reference to the Kubernetes object that must exist when a recovery request is sent, if there is one. */
export function referencesOf({ protectionRef, environmentRef }: RequestSpec): readonly ReferenceNeed[] {
  return [
    ...needOf('DisasterProtection', protectionRef, 'protectionRef', { optional: true }),
    ...needOf('AppEnvironment', environmentRef, 'environmentRef', { optional: true }),
  ];
}

/**
 * Waits while the object that the spec refers to does not exist, belongs to another account or has no id in the service
 * yet. Stalls if the request expires in the meantime.
 */
export function unreferred(pass: Pass<RequestSpec>): Fence | undefined {
  const missing = referencesOf(pass.spec).find(({ kind, name }) => pass.referred(kind, name) === undefined);
  if (missing === undefined) return undefined;
  // The clocks of the operator and of Kubernetes show well enough whether the request has expired, so do not read the
  // service only for the time on its clock.
  const late = expired(pass);
  if (late?.is === 'stall') return late;
  const message = `spec.${missing.field} refers to ${missing.kind} ${missing.name}, which does not exist, belongs to another account or has no id in the service yet; nothing is sent`;
  return notYet('ReferenceNotReady', message);
}

/**
 * Stalls the request once `validUntil` has passed by any of three clocks (operator, Kubernetes, service), or if it is
 * too far in the future. Waits while these clocks disagree.
 */
export function expired(pass: Pass<RequestSpec>, snapshot?: Snapshot): Fence | undefined {
  const { spec, subject, wallMs, clusterMs, monotonicMs } = pass;
  const { validUntil } = spec;
  if (validUntil === undefined) return undefined;
  const serviceMs = snapshot?.dateMs === undefined ? undefined : snapshot.dateMs + monotonicMs - snapshot.begunAt;
  const remote = [clusterMs, serviceMs].filter((clock) => clock !== undefined);
  const clocks = [wallMs, ...remote];
  const latest = Math.max(...clocks);
  const until = Date.parse(validUntil);
  if (!(latest <= until)) return never('Expired', `spec.validUntil ${validUntil} has passed`);
  if (until > subject.createdAtMs + longestMs + wholeSecondMs) {
    const message = `spec.validUntil ${validUntil} is more than 24 hours after this resource was created`;
    return never('InvalidSpec', message);
  }
  if (remote.length === 0) {
    const message =
      'the operator has not read the time from Kubernetes or from the service yet, so spec.validUntil cannot be checked; nothing is sent';
    return notYet('ClockUnsure', message);
  }
  if (latest - Math.min(...clocks) > apartMs) {
    const message =
      'the clocks of the operator, of Kubernetes and of the service are more than 60 seconds apart; nothing is sent until they agree';
    return notYet('ClockUnsure', message);
  }
  return undefined;
}
