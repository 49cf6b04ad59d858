/** The state of an alert: in status, as an event when it changes, and as the condition `Firing`. */
import { isoSeconds } from '../../base/time.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { ObjectPlan } from '../../engine/kind/planner/plan.ts';
import type { OwnCondition } from '../../engine/kind/contract/step.ts';
import { alertStateOf, type AlertItem } from '../../hosting/requests.ts';
import type { MetricAlertFacts, MetricAlertSpec } from './schema.ts';

type AlertPass = Pass<MetricAlertSpec, MetricAlertFacts>;
type Notices = ReturnType<NonNullable<ObjectPlan<MetricAlertSpec, MetricAlertFacts, AlertItem>['notices']>>;

/** The states that the interface describes. Any other is shown without an interpretation. */
const states: ReadonlySet<string> = new Set(['Normal', 'Pending', 'Firing', 'NoData', 'Error']);

/** One evaluation by the service, as a list or a refresh shows it. */
interface Look {
  readonly state?: string | undefined;
  readonly previousState?: string | undefined;
  readonly lastStateCheck?: string | undefined;
}

type LiveState = Pick<MetricAlertFacts, 'state' | 'previousState' | 'stateChangeTime' | 'lastStateCheckTime'>;

/** The state as the newest look of the service found it: the last refresh, or the list where that shows a later one. */
export function liveState(pass: AlertPass, item: AlertItem | undefined): LiveState | undefined {
  const { refreshSeconds = 120, enabled = true, lifecycle } = pass.spec;
  const { id, facts } = pass.memory;
  // Do not refresh the state with `Observe`: a refresh makes the service evaluate the alert.
  const observes = pass.account.managementPolicy === 'Observe' || lifecycle?.managementPolicy === 'Observe';
  const refreshed =
    id === undefined || refreshSeconds === 0 || !enabled || observes
      ? undefined
      : pass.view.one(alertStateOf(id, refreshSeconds * 1_000), id)?.item;
  const listed = item && { state: item.lastKnownState, lastStateCheck: item.lastStateCheck };
  const newest: Look | undefined = isLater(listed, refreshed) ? listed : (refreshed ?? listed);
  if (newest?.state === undefined || newest.state === facts.state) return facts;
  // After somebody else's refresh the service's previous state is the one that status already has.
  const { state, previousState = facts.state, lastStateCheck } = newest;
  return {
    state,
    previousState: previousState === state ? facts.state : previousState,
    stateChangeTime: isoSeconds(pass.wallMs),
    lastStateCheckTime: lastStateCheck,
  };
}

/** True if the list shows a later evaluation than the last refresh; both times are by the clock of the service. */
function isLater(listed: Look | undefined, refreshed: Look | undefined): boolean {
  const [theirs, ours] = [listed, refreshed].map((one) => Date.parse(one?.lastStateCheck ?? ''));
  return listed?.state !== undefined && theirs !== undefined && ours !== undefined && theirs > ours;
}

/** Makes one event for a change of state; a normal state at the first look is none. */
export function notices(pass: AlertPass, name: string, item: AlertItem | undefined): Notices {
  const before = pass.memory.facts.state;
  const now = liveState(pass, item)?.state;
  if (now === undefined || !states.has(now) || now === before || (before === undefined && now === 'Normal')) return [];
  const type = now === 'Firing' || now === 'Error' ? 'Warning' : 'Normal';
  return [{ type, reason: `Alert${now}`, note: `alert "${name}" went from ${before ?? 'unknown'} to ${now}` }];
}

/** The condition `Firing`. */
export function firing(enabled: boolean, state: string | undefined): OwnCondition {
  const type = 'Firing';
  if (!enabled)
    return {
      type,
      status: 'Unknown',
      reason: 'AlertPaused',
      message: 'the alert is not enabled, so it is not evaluated',
    };
  switch (state) {
    case 'Firing':
      return { type, status: 'True', reason: 'Firing', message: 'the condition is met and notifications were sent' };
    case 'Normal':
    case 'Pending':
      return {
        type,
        status: 'False',
        reason: state,
        message: state === 'Normal' ? 'the condition is not met' : 'the condition is met, but not for long enough yet',
      };
    case 'NoData':
      return { type, status: 'Unknown', reason: 'NoData', message: 'there is no data for the metric' };
    case 'Error':
      return {
        type,
        status: 'Unknown',
        reason: 'EvaluationError',
        message: 'the service cannot evaluate the condition',
      };
    case undefined:
      return { type, status: 'Unknown', reason: 'NotRefreshed', message: 'the state has not been asked for yet' };
    default:
      return {
        type,
        status: 'Unknown',
        reason: 'UnknownAlertState',
        message: `the service says "${state}", which this operator does not know`,
      };
  }
}
