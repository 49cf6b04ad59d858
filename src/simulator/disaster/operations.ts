// The journal of a configuration's operations: which one runs, which one holds the lock, how one begins and ends.
import { type OperationKind, type Phase, SECOND, stepLengthMs } from './durations.ts';
import type { Configuration, Happening, Operation, Pinned } from './model.ts';

/** The number of operations that a configuration remembers. Activations and running operations are never forgotten. */
const REMEMBERED = 50;

/** A configuration after these things happened to it. */
export function happened(configuration: Configuration, ...happenings: readonly Happening[]): Configuration {
  return { ...configuration, happenings: [...(configuration.happenings ?? []), ...happenings] };
}

/** An operation by its id. */
export function operationOf(configuration: Configuration, operationId: string | undefined): Operation | undefined {
  return configuration.operations.find((operation) => operation.operationId === operationId);
}

/** The operation with work to do: not ended, and not a receiver that has settled. */
export function busyOperation(configuration: Configuration): Operation | undefined {
  return configuration.operations.find(
    (operation) => operation.endedAt === undefined && operation.stepDueAt !== undefined,
  );
}

/** The activation that is running, its clean-up after a discard included. */
export function runningActivation(configuration: Configuration): Operation | undefined {
  const active = operationOf(configuration, configuration.activeOperationId);
  return active?.kind === 'activation' ? active : undefined;
}

/** Replaces an operation with its new version. */
export function withOperation(configuration: Configuration, changed: Operation): Configuration {
  const operations = configuration.operations.map((operation) =>
    operation.operationId === changed.operationId ? changed : operation,
  );
  return { ...configuration, operations };
}

/** Only these two phases count failed steps towards a discard: they build the recovered environment. */
export function countsFailedSteps(phase: Phase): boolean {
  return phase === 'promoting' || phase === 'starting';
}

/** Adds a new operation to the journal; the caller decides whether it takes the lock. */
export function begin(
  configuration: Configuration,
  begun: { readonly operationId: string; readonly kind: OperationKind; readonly now: number; readonly pinned?: Pinned },
): Configuration {
  const { operationId, kind, now: startedAt, pinned } = begun;
  const stepDueAt = startedAt + stepLengthMs(kind, 'queued');
  const operation: Operation = { operationId, kind, phase: 'queued', startedAt, failedSteps: 0, stepDueAt, pinned };
  return { ...configuration, operations: remembered([...configuration.operations, operation]) };
}

function remembered(operations: readonly Operation[]): readonly Operation[] {
  const surplus = operations.length - REMEMBERED;
  if (surplus <= 0) return operations;
  const dispensable = operations.filter(({ kind, endedAt }) => kind !== 'activation' && endedAt !== undefined);
  const forgotten = new Set(dispensable.slice(0, surplus));
  return operations.filter((operation) => !forgotten.has(operation));
}

/** Moves an operation into a phase and schedules its next step. */
export function enter(configuration: Configuration, operation: Operation, phase: Phase, now: number): Configuration {
  const { kind, operationId } = operation;
  const moved = { ...operation, phase, failedSteps: 0, stepDueAt: now + stepLengthMs(kind, phase) };
  return happened(withOperation(configuration, moved), { kind: `${kind}.phase`, operationId, detail: { phase } });
}

/** Schedules another try of an operation's phase. */
export function waitUntil(configuration: Configuration, operation: Operation, at: number, now: number): Configuration {
  return withOperation(configuration, { ...operation, stepDueAt: Math.max(at, now + SECOND) });
}

/** Ends an operation and releases its lock; a receiver that goes on receiving becomes the active operation again. */
export function end(
  configuration: Configuration,
  operation: Operation,
  outcome: NonNullable<Operation['outcome']>,
  now: number,
  leaves: Pick<Happening, 'retainsDisk'> = {},
): Configuration {
  const { kind, operationId } = operation;
  const phase: Phase = outcome === 'succeeded' ? 'succeeded' : 'failed';
  const ended = withOperation(configuration, { ...operation, stepDueAt: undefined, phase, outcome, endedAt: now });
  return happened(withoutLock(ended, operationId), { kind: `${kind}.${outcome}`, operationId, ...leaves });
}

function withoutLock(configuration: Configuration, operationId: string): Configuration {
  const { activeOperationId, receiverOperationId, told } = configuration;
  const receiver = receiverOperationId === operationId ? undefined : receiverOperationId;
  return {
    ...configuration,
    activeOperationId: activeOperationId === operationId ? receiver : activeOperationId,
    told: { ...told, validationCleanup: undefined, failSteps: 0 },
  };
}
