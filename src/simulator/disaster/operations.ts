// The journal of a configuration's operations: which one runs, which one holds the lock, how one begins and ends.
import { SECOND, stepLengthMs } from './durations.ts';
import type { Configuration, Operation, OperationKind, Phase, Pinned } from './model.ts';

/** The number of operations that a configuration remembers. Activations and running operations are never forgotten. */
const REMEMBERED = 50;

/** A line for the ledger about a configuration, and its effects on other things. */
export interface Happening {
  readonly kind: string;
  readonly operationId?: string;
  readonly detail?: Readonly<Record<string, string | number | boolean>> | undefined;
  /** A disk stays behind under its retention policy. */
  readonly retainsDisk?: true;
  /** A recovered environment became live. */
  readonly recovers?: Pinned;
}

/** A configuration after something happened to it. */
export interface OperationOutcome {
  readonly configuration: Configuration;
  readonly happenings: readonly Happening[];
}

/** The circumstances outside of a configuration when something happens to it. */
export interface Moment {
  readonly now: number;
  readonly newId: (prefix: string) => string;
  /** The source environment exists and its region is up and takes snapshots. */
  readonly sourceReachable: boolean;
  readonly destinationUp: boolean;
  /** The account can take the environment that a running activation would bring to life. */
  readonly handoffPossible: boolean;
  /** The source as it is now; absent when it is gone. */
  readonly source: Configuration['source'] | undefined;
}

/** An outcome without changes. */
export function unchanged(configuration: Configuration): OperationOutcome {
  return { configuration, happenings: [] };
}

/** A configuration after these things happened to it. */
export function happened(configuration: Configuration, ...happenings: readonly Happening[]): OperationOutcome {
  return { configuration, happenings };
}

/** Goes on from an outcome, keeping what happened before. */
export function andThen(
  outcome: OperationOutcome,
  next: (configuration: Configuration) => OperationOutcome,
): OperationOutcome {
  const after = next(outcome.configuration);
  return { configuration: after.configuration, happenings: [...outcome.happenings, ...after.happenings] };
}

/** An operation by its id. */
export function operationOf(configuration: Configuration, operationId: string | undefined): Operation | undefined {
  if (operationId === undefined) return undefined;
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
  const operation: Operation = {
    operationId: begun.operationId,
    kind: begun.kind,
    phase: 'queued',
    startedAt: begun.now,
    failedSteps: 0,
    stepDueAt: begun.now + stepLengthMs(begun.kind, 'queued'),
    pinned: begun.pinned,
  };
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
export function enter(configuration: Configuration, operation: Operation, phase: Phase, now: number): OperationOutcome {
  const moved = { ...operation, phase, failedSteps: 0, stepDueAt: now + stepLengthMs(operation.kind, phase) };
  return happened(withOperation(configuration, moved), {
    kind: `${operation.kind}.phase`,
    operationId: operation.operationId,
    detail: { phase },
  });
}

/** Schedules another try of an operation's phase. */
export function waitUntil(
  configuration: Configuration,
  operation: Operation,
  at: number,
  now: number,
): OperationOutcome {
  return unchanged(withOperation(configuration, { ...operation, stepDueAt: Math.max(at, now + SECOND) }));
}

/** Ends an operation and releases its lock; a receiver that goes on receiving becomes the active operation again. */
export function end(
  configuration: Configuration,
  operation: Operation,
  outcome: NonNullable<Operation['outcome']>,
  now: number,
): OperationOutcome {
  const phase: Phase = outcome === 'succeeded' ? 'succeeded' : 'failed';
  const ended = withOperation(configuration, { ...operation, stepDueAt: undefined, phase, outcome, endedAt: now });
  return happened(withoutLock(ended, operation.operationId), {
    kind: `${operation.kind}.${outcome}`,
    operationId: operation.operationId,
  });
}

function withoutLock(configuration: Configuration, operationId: string): Configuration {
  const { activeOperationId, checkOperationId, receiverOperationId, told } = configuration;
  const receiver = receiverOperationId === operationId ? undefined : receiverOperationId;
  return {
    ...configuration,
    activeOperationId: activeOperationId === operationId ? receiver : activeOperationId,
    checkOperationId: checkOperationId === operationId ? undefined : checkOperationId,
    told: { ...told, validationCleanup: undefined, failSteps: 0 },
  };
}
