/** What an alert says of its own state: what is shown, what is told once, and the condition `Firing`. */
import type { Pass } from '../engine/kind/pass.ts';
import type { ObjectPlan } from '../engine/kind/plan.ts';
import type { OwnCondition } from '../engine/kind/step.ts';
import { alertStateOf, type AlertItem } from '../hosting/requests.ts';
import type { Facts, Spec } from './schema/metric-alert.ts';

type AlertPass = Pass<Spec, Facts>;
type Notices = ReturnType<NonNullable<ObjectPlan<Spec, Facts, AlertItem>['notices']>>;

/** The states that the interface describes; another one is shown, and nothing is made of it. */
const states: ReadonlySet<string> = new Set(['Normal', 'Pending', 'Firing', 'NoData', 'Error']);

interface LiveState {
  readonly state?: string | undefined;
  readonly previousState?: string | undefined;
  readonly lastStateCheck?: string | undefined;
}

/** The state as the newest refresh found it, or as the list shows it where nothing is refreshed. */
export function liveState(pass: AlertPass, item: AlertItem | undefined): LiveState | undefined {
  const { refreshSeconds = 120, enabled = true, lifecycle } = pass.spec;
  const { id, facts } = pass.memory;
  // Asking the service to evaluate an alert is a call of its own, and whoever only observes makes none.
  const observes = pass.account.mode === 'Observe' || lifecycle?.mode === 'Observe';
  const refreshed =
    id === undefined || refreshSeconds === 0 || !enabled || observes
      ? undefined
      : pass.view.one(alertStateOf(id, refreshSeconds * 1_000), id)?.item;
  const state = refreshed?.state ?? item?.lastKnownState;
  if (state === undefined) return facts;
  if (state === facts.state) return facts;
  return {
    state,
    previousState: refreshed?.previousState ?? facts.state,
    lastStateCheck: refreshed?.lastStateCheck ?? item?.lastStateCheck,
  };
}

/** A change of state is told once; the first sight of an alert that is calm is none. */
export function notices(pass: AlertPass, name: string, item: AlertItem | undefined): Notices {
  const before = pass.memory.facts.state;
  const now = liveState(pass, item)?.state;
  if (now === undefined || !states.has(now) || now === before || (before === undefined && now === 'Normal')) return [];
  const type = now === 'Firing' || now === 'Error' ? 'Warning' : 'Normal';
  return [{ type, reason: `Alert${now}`, note: `alert "${name}" went from ${before ?? 'unknown'} to ${now}` }];
}

/** Whether the alert fires, as far as the service says. */
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
    default:
      return { type, status: 'Unknown', reason: 'NotRefreshed', message: 'the state has not been asked for yet' };
  }
}
