/** Waits for a validation whose end the service does not show, but not for ever. */
import type { Step } from '../../engine/kind/contract/step.ts';
import type { Snapshot } from '../../engine/ports.ts';
import type { ConfigurationItem, DrOperation } from '../../hosting/requests.ts';
import { activeIdOf, activeOf, isWarm } from '../recovery/configurations.ts';
import { ended } from '../recovery/one-shot-end.ts';
import type { ValidationPass } from './ours.ts';
import type { RecoveryValidationFacts } from './schema.ts';

/** A validation that may still run is given up after so long without any change. */
const patienceMs = 3_600_000;

/** A validation as the newest list shows it. */
interface Listed {
  readonly configuration: ConfigurationItem;
  readonly operation: DrOperation;
  readonly snapshot: Snapshot;
  readonly running: string;
}

/** Waits for the end of a listed validation, and says that nobody knows it where nothing moves for too long. */
export function untilUnknown(pass: ValidationPass, listed: Listed): Step<RecoveryValidationFacts> {
  const { configuration, operation, snapshot, running } = listed;
  const { monotonicMs, memory, notes } = pass;
  if (mayBeActive(configuration, memory.id)) {
    return { is: 'wait', reason: 'InProgress', message: running, note: {} };
  }
  const hasMoved = operation.phase !== undefined && operation.phase.slice(0, 64) !== memory.facts.stage;
  const endlessSince = hasMoved ? monotonicMs : (notes['endlessSince'] ?? monotonicMs);
  const due = endlessSince + (isOvertaken(configuration, operation) ? pass.horizonMs : patienceMs);
  if (snapshot.begunAt < due) {
    const retryInMs = Math.max(10_000, due - monotonicMs);
    return { is: 'wait', reason: 'InProgress', message: running, retryInMs, note: { endlessSince } };
  }
  const stage = operation.phase === undefined ? '' : ` as ${operation.phase}`;
  const message = `the service lists operation ${memory.id ?? ''}${stage} and shows neither its end nor what came of it; look there`;
  return ended(pass, { is: 'stall', reason: 'UnknownState', message });
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
