/** The state of an alert: in status, as an event when it changes, and as the condition `Firing`. */
import { isoSeconds } from '../../base/time.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { ObjectPlan } from '../../engine/kind/planner/plan.ts';
import { type OwnCondition, about } from '../../engine/kind/contract/step.ts';
import { alertStateOf, type AlertItem } from '../../hosting/requests.ts';
import type { MetricAlertFacts, MetricAlertSpec } from './schema.ts';

export type AlertPass = Pass<MetricAlertSpec, MetricAlertFacts>;
type Notices = ReturnType<NonNullable<ObjectPlan<MetricAlertSpec, MetricAlertFacts, AlertItem>['notices']>>;

const fires = about('Firing');

/** The states that the interface describes, and what each means. Any other is shown without an interpretation. */
const states: ReadonlyMap<string, OwnCondition> = new Map([
  ['Firing', fires.yes('Firing', 'the condition of the alert is met and notifications were sent')],
  ['Normal', fires.no('Normal', 'the condition of the alert is not met')],
  ['Pending', fires.no('Pending', 'the condition of the alert is met, but not for long enough yet')],
  ['NoData', fires.unknown('NoData', 'there is no data for the metric')],
  ['Error', fires.unknown('EvaluationError', 'the service cannot evaluate the condition of the alert')],
]);

/** One evaluation by the service, as a list or a refresh shows it. */
interface Look {
  readonly state?: string | undefined;
  readonly previousState?: string | undefined;
  readonly lastStateCheck?: string | undefined;
}

type LiveState = Pick<MetricAlertFacts, 'state' | 'previousState' | 'stateChangeTime' | 'stateObservedTime'>;

/** A state that nothing has shown for so long is stale, or for three refreshes where these are rarer. */
const staleMs = 3_600_000;

/** True if the state is asked for again and again: that is a call of its own, and whoever only observes makes none. */
function isRefreshed({ spec, account, memory }: AlertPass): boolean {
  const { refreshSeconds, enabled = true, lifecycle } = spec;
  const observes = account.managementPolicy === 'Observe' || lifecycle?.managementPolicy === 'Observe';
  return memory.id !== undefined && refreshSeconds !== 0 && enabled && !observes;
}

function refreshMs({ spec }: AlertPass): number {
  return (spec.refreshSeconds ?? 120) * 1_000;
}

/** The state as the newest look of the service found it: the last refresh, or the list where that shows a later one. */
export function liveState(pass: AlertPass, item: AlertItem | undefined): LiveState {
  const { id = '', facts } = pass.memory;
  const { state: known, previousState: before, stateChangeTime, stateObservedTime } = facts;
  const shown = { state: known, previousState: before, stateChangeTime, stateObservedTime };
  const refreshed = isRefreshed(pass) ? pass.view.one(alertStateOf(id, refreshMs(pass)), id) : undefined;
  const listed = item && { state: item.lastKnownState, lastStateCheck: item.lastStateCheck };
  const isOfList = refreshed?.item === undefined || isLater(listed, refreshed.item);
  const newest: Look | undefined = isOfList ? listed : refreshed.item;
  if (newest?.state === undefined) return shown;
  const seenMs = isOfList
    ? Date.parse(newest.lastStateCheck ?? '')
    : pass.wallMs - (pass.monotonicMs - refreshed.snapshot.begunAt);
  const observed = Number.isNaN(seenMs) ? undefined : isoSeconds(seenMs);
  const { state, previousState = known } = newest;
  if (state === known) {
    // Each write of a time costs a request: it is moved when it is missing, or would count as stale.
    const moves = stateObservedTime === undefined || (isStale(pass, shown) && seenMs > Date.parse(stateObservedTime));
    return moves ? { ...shown, stateObservedTime: observed } : shown;
  }
  // Whoever else had it looked at last made the state of now the one before.
  return {
    state,
    previousState: previousState === state ? known : previousState,
    stateChangeTime: isoSeconds(pass.wallMs),
    stateObservedTime: observed,
  };
}

/** True if the list shows a later evaluation than the last refresh; both times are by the clock of the service. */
function isLater(listed: Look | undefined, refreshed: Look | undefined): boolean {
  const [theirs, ours] = [listed, refreshed].map((one) => Date.parse(one?.lastStateCheck ?? ''));
  return listed?.state !== undefined && theirs !== undefined && ours !== undefined && theirs > ours;
}

/** When the state held for sure: a list may not say when it was looked at. */
function heldAt({ stateObservedTime, stateChangeTime = '' }: LiveState): string {
  return stateObservedTime ?? stateChangeTime;
}

/** True if nothing has shown the state for long. */
function isStale(pass: AlertPass, live: LiveState): boolean {
  const { inEffect } = pass.account;
  const everyMs = isRefreshed(pass) ? Math.max(refreshMs(pass), inEffect.rateLimitedMs ?? 0) : inEffect.pollMs;
  return pass.wallMs - Date.parse(heldAt(live)) > Math.max(staleMs, 3 * everyMs);
}

/** A change of state is told once; the first sight of an alert that is calm is none. */
export function notices(pass: AlertPass, name: string, { state: now }: LiveState): Notices {
  const before = pass.memory.facts.state;
  if (now === undefined || !states.has(now) || now === before || (before === undefined && now === 'Normal')) return [];
  const type = now === 'Firing' || now === 'Error' ? 'Warning' : 'Normal';
  return [{ type, reason: `Alert${now}`, note: `alert "${name}" went from ${before ?? 'unknown'} to ${now}` }];
}

/** The condition `Firing`. */
export function firing(pass: AlertPass, item: AlertItem | undefined, live: LiveState): OwnCondition {
  if (!(item?.enabled ?? pass.spec.enabled ?? true)) {
    return fires.unknown('AlertPaused', 'the alert is not enabled, so it is not evaluated');
  }
  const { state } = live;
  if (isStale(pass, live)) {
    const message = `the state ${state ?? ''} is of ${heldAt(live)}, and nothing has shown a newer one since`;
    return fires.unknown('StateStale', message);
  }
  if (state === undefined) return fires.unknown('NotRefreshed', 'the state has not been asked for yet');
  const unknown = () =>
    fires.unknown('UnknownAlertState', `the service says "${state}", which this operator does not know`);
  return states.get(state) ?? unknown();
}
