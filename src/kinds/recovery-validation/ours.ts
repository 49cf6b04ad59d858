/** Which operation is the one of a validation, also where the history of the service shows no ids, and how long its end is waited for. */
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Step } from '../../engine/kind/contract/step.ts';
import type { Snapshot } from '../../engine/ports.ts';
import type { ConfigurationItem, DrOperation } from '../../hosting/requests.ts';
import { never } from '../recovery/approval.ts';
import { activeIdOf, activeOf, filledFrom, isWarm, operationIn, sameMoment } from '../recovery/configurations.ts';
import { ended } from '../recovery/one-shot.ts';
import type { RecoveryValidationFacts, RecoveryValidationSpec } from './schema.ts';

/** A pass over a validation. */
export type ValidationPass = Pass<RecoveryValidationSpec, RecoveryValidationFacts>;

/** The service's clock may differ from ours by this much when an operation is recognised by its beginning. */
const apartMs = 60_000;

/** The operation of a validation, by its id, or as the validation without an id that a history shows in its place. */
export function ownOperation({ memory }: ValidationPass, configuration: ConfigurationItem): DrOperation | undefined {
  const { id, facts } = memory;
  const named = operationIn(configuration, id);
  const { startedTime, acceptedTime = '' } = facts;
  const isActive = id !== undefined && activeIdOf(configuration) === id;
  const others = configuration.activities.filter((one) => one.operationId === undefined && isValidation(one));
  const [nameless, ...more] = others.filter((one) => {
    if (startedTime !== undefined) return sameMoment(one.startedAt, startedTime);
    if (one.startedAt === undefined || one.endedAt !== undefined) return false;
    return isActive || Math.abs(Date.parse(one.startedAt) - Date.parse(acceptedTime)) <= apartMs;
  });
  if (id === undefined || nameless === undefined || more.length > 0) return named;
  return { ...filledFrom(named ?? nameless, nameless), operationId: id };
}

/** True for a validation, by the kind that the service shows. */
export function isValidation({ kind }: DrOperation): boolean {
  return kind !== undefined && /validat/i.test(kind);
}

/** A validation without any change for this long is given up. */
const patienceMs = 3_600_000;

/** A validation as the newest list shows it. */
interface Listed {
  readonly configuration: ConfigurationItem;
  readonly operation: DrOperation;
  readonly snapshot: Snapshot;
  readonly running: string;
}

/** Waits for the end of a listed validation; after too long without any change the outcome is unknown. */
export function untilUnknown(pass: ValidationPass, listed: Listed): Step<RecoveryValidationFacts> {
  const { configuration, operation, snapshot, running } = listed;
  const { monotonicMs, memory, notes } = pass;
  if (mayBeActive(configuration, memory.id)) {
    return { is: 'wait', reason: 'InProgress', message: running, note: {} };
  }
  const hasMoved = operation.phase !== undefined && operation.phase !== memory.facts.stage;
  const endlessSince = hasMoved ? monotonicMs : (notes['endlessSince'] ?? monotonicMs);
  const due = endlessSince + (isOvertaken(configuration, operation) ? pass.horizonMs : patienceMs);
  if (snapshot.begunAt < due) {
    const retryInMs = Math.max(10_000, due - monotonicMs);
    return { is: 'wait', reason: 'InProgress', message: running, retryInMs, note: { endlessSince } };
  }
  const stage = operation.phase === undefined ? '' : ` as ${operation.phase}`;
  const message = `the service lists operation ${memory.id ?? ''}${stage} and shows neither its end nor what came of it; look there`;
  return ended(pass, never('UnknownState', message));
}

/** True when the active operation is this one, or may be this one. */
function mayBeActive(configuration: ConfigurationItem, id: string | undefined): boolean {
  const activeId = activeIdOf(configuration);
  return activeId === undefined ? activeOf(configuration) !== undefined : activeId === id;
}

/** True when another operation began later. Operations run side by side only beside a standby. */
function isOvertaken(configuration: ConfigurationItem, { startedAt }: DrOperation): boolean {
  if (isWarm(configuration)) return false;
  const isLater = (other: DrOperation) => Date.parse(other.startedAt ?? '') > Date.parse(startedAt ?? '');
  return activeOf(configuration) !== undefined || configuration.activities.some(isLater);
}
