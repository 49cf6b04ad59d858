/** Shows the state of an alert: in status, as an event when the state changes, and as the condition `Firing`. */
import { isoSeconds } from '../../base/time.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import { type Notice, type OwnCondition, about } from '../../engine/kind/contract/step.ts';
import { alertStateOf, type AlertItem } from '../../hosting/requests.ts';
import type { MetricAlertFacts, MetricAlertSpec } from './schema.ts';

export type AlertPass = Pass<MetricAlertSpec, MetricAlertFacts>;

const fires = about('Firing');

/**
 * Maps each alert state in the service's API documentation to the status of the condition `Firing`. For any other alert
 * state, this status is Unknown.
 */
const states: ReadonlyMap<string, OwnCondition> = new Map([
  ['Firing', fires.yes('Firing', 'the condition of the alert is met and notifications were sent')],
  ['Normal', fires.no('Normal', 'the condition of the alert is not met')],
  ['Pending', fires.no('Pending', 'the condition of the alert is met, but not for long enough yet')],
  ['NoData', fires.unknown('NoData', 'there is no data for the metric')],
  ['Error', fires.unknown('EvaluationError', 'the service cannot evaluate the condition of the alert')],
]);

/** The result of one evaluation of an alert by the service, as the list of alerts or a refresh shows it. */
interface Evaluation {
  readonly state?: string | undefined;
  readonly previousState?: string | undefined;
  readonly lastStateCheck?: string | undefined;
}

type LiveState = Pick<MetricAlertFacts, 'state' | 'previousState' | 'stateChangeTime' | 'stateObservedTime'>;

/**
 * An alert state is stale if nothing has confirmed it for this time, or for three intervals between reads, whichever is
 * longer.
 */
const staleMs = 3_600_000;

/**
 * True if the operator asks the service to refresh the state of the alert. A refresh is a POST request, and the
 * operator sends only GET requests for a resource with `managementPolicy: Observe`.
 */
function isRefreshed({ spec, account, memory }: AlertPass): boolean {
  const { refreshSeconds, enabled = true, lifecycle } = spec;
  const observes = account.managementPolicy === 'Observe' || lifecycle?.managementPolicy === 'Observe';
  return memory.id !== undefined && refreshSeconds !== 0 && enabled && !observes;
}

function refreshMs({ spec }: AlertPass): number {
  return (spec.refreshSeconds ?? 120) * 1_000;
}

/**
 * Returns the newest state of the alert: from the last refresh, or from the list of alerts if the list shows a later
 * evaluation.
 */
export function liveState(pass: AlertPass, item: AlertItem | undefined): LiveState {
  const { id = '', facts } = pass.memory;
  const { state: known, previousState: before, stateChangeTime, stateObservedTime } = facts;
  const shown = { state: known, previousState: before, stateChangeTime, stateObservedTime };
  const refreshed = isRefreshed(pass) ? pass.view.one(alertStateOf(id, refreshMs(pass)), id) : undefined;
  const listed = item && { state: item.lastKnownState, lastStateCheck: item.lastStateCheck };
  const isOfList = refreshed?.item === undefined || isLater(listed, refreshed.item);
  const newest: Evaluation | undefined = isOfList ? listed : refreshed.item;
  if (newest?.state === undefined) return shown;
  const seenMs = isOfList
    ? Date.parse(newest.lastStateCheck ?? '')
    : pass.wallMs - (pass.monotonicMs - refreshed.snapshot.begunAt);
  const observed = Number.isNaN(seenMs) ? undefined : isoSeconds(seenMs);
  const { state, previousState = known } = newest;
  if (state === known) {
    // Each write of status costs a request. So write a new time only if status has none, or if the alert's state would
    // count as stale with the old time.
    const moves = stateObservedTime === undefined || (isStale(pass, shown) && seenMs > Date.parse(stateObservedTime));
    return moves ? { ...shown, stateObservedTime: observed } : shown;
  }
  // If another client refreshed the state before the operator, the service names the current state as the previous one.
  // In this case, the real previous state is the one in status.
  return {
    state,
    previousState: previousState === state ? known : previousState,
    stateChangeTime: isoSeconds(pass.wallMs),
    stateObservedTime: observed,
  };
}

/**
 * True if the list of alerts shows a later evaluation of the alert than the last refresh does. Both times are by the
 * service's clock.
 */
function isLater(listed: Evaluation | undefined, refreshed: Evaluation | undefined): boolean {
  const [theirs, ours] = [listed, refreshed].map((one) => Date.parse(one?.lastStateCheck ?? ''));
  return listed?.state !== undefined && theirs !== undefined && ours !== undefined && theirs > ours;
}

/**
 * Returns the time when the alert was last known to be in the recorded state: the time when the state was last
 * confirmed or, if status lacks that time, the time when the operator noticed the change to this state.
 */
function heldAt({ stateObservedTime, stateChangeTime = '' }: LiveState): string {
  return stateObservedTime ?? stateChangeTime;
}

/** True if the state of the alert was last confirmed too long ago. */
function isStale(pass: AlertPass, live: LiveState): boolean {
  const { inEffect } = pass.account;
  const everyMs = isRefreshed(pass) ? Math.max(refreshMs(pass), inEffect.rateLimitedMs ?? 0) : inEffect.pollMs;
  return pass.wallMs - Date.parse(heldAt(live)) > Math.max(staleMs, 3 * everyMs);
}

/** Returns an event for each change of the alert's state. The first state of an alert is not a change if it is Normal. */
export function notices(pass: AlertPass, name: string, { state: now }: LiveState): readonly Notice[] {
  const before = pass.memory.facts.state;
  if (now === undefined || !states.has(now) || now === before || (before === undefined && now === 'Normal')) return [];
  const type = now === 'Firing' || now === 'Error' ? 'Warning' : 'Normal';
  return [{ type, reason: `Alert${now}`, note: `alert "${name}" changed from state ${before ?? 'unknown'} to ${now}` }];
}

/** Builds the condition `Firing`, which is True while the alert fires. */
export function firing(pass: AlertPass, item: AlertItem | undefined, live: LiveState): OwnCondition {
  if (!(item?.enabled ?? pass.spec.enabled ?? true))
    return fires.unknown('AlertPaused', 'the alert is not enabled, so the service does not evaluate it');
  const { state } = live;
  if (isStale(pass, live)) {
    const message = `the alert was last known to be in state ${state ?? ''} at ${heldAt(live)}; the service has reported no newer state since`;
    return fires.unknown('StateStale', message);
  }
  if (state === undefined) return fires.unknown('NotRefreshed', 'the operator has not read the state of the alert yet');
  const unknown = () => fires.unknown('UnknownAlertState', `the service reports the unknown alert state "${state}"`);
  return states.get(state) ?? unknown();
}
