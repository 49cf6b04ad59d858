// The journal of a configuration's operations: which one runs, which one holds the lock, how one begins and ends.
import { SECOND, stepLengthMs } from './durations.ts';
import type { ConfigurationRecord, Operation, OperationKind, Phase, Pinned } from './model.ts';

/** The number of operations that a configuration remembers. Activations and running operations are never forgotten. */
const REMEMBERED = 50;

/** A line for the ledger about a configuration, and its effects on other things. */
export interface Happening {
  readonly kind: string;
  readonly operationId?: string;
  readonly detail?: Readonly<Record<string, string | number | boolean>>;
  /** A disk stays behind under its retention policy. */
  readonly retainsDisk?: true;
  /** A recovered environment became live. */
  readonly recovers?: Pinned;
}

/** A configuration after something happened to it. */
export interface OperationOutcome {
  readonly configuration: ConfigurationRecord;
  readonly happenings: readonly Happening[];
}

/** The circumstances outside of a configuration when something happens to it. */
export interface OperationMoment {
  readonly now: number;
  readonly newId: (prefix: string) => string;
  /** The source environment exists and its region is up and takes snapshots. */
  readonly sourceReachable: boolean;
  readonly destinationUp: boolean;
  /** The account can take the environment that a running activation would bring to life. */
  readonly handoffPossible: boolean;
  /** The source as it is now; absent when it is gone. */
  readonly source?: ConfigurationRecord['source'];
}

/** An outcome without changes. */
export function unchanged(configuration: ConfigurationRecord): OperationOutcome {
  return { configuration, happenings: [] };
}

/** Goes on from an outcome, keeping what happened before. */
export function andThen(
  outcome: OperationOutcome,
  next: (configuration: ConfigurationRecord) => OperationOutcome,
): OperationOutcome {
  const after = next(outcome.configuration);
  return { configuration: after.configuration, happenings: [...outcome.happenings, ...after.happenings] };
}

/** An operation by its id. */
export function operationOf(
  configuration: ConfigurationRecord,
  operationId: string | undefined,
): Operation | undefined {
  if (operationId === undefined) return undefined;
  return configuration.operations.find((operation) => operation.operationId === operationId);
}

/** The operation with work to do: not ended, and not a receiver that has settled. */
export function busyOperation(configuration: ConfigurationRecord): Operation | undefined {
  return configuration.operations.find(
    (operation) => operation.endedAt === undefined && operation.stepDueAt !== undefined,
  );
}

/** The activation that is running, its clean-up after a discard included. */
export function runningActivation(configuration: ConfigurationRecord): Operation | undefined {
  const active = operationOf(configuration, configuration.activeOperationId);
  return active?.kind === 'activation' ? active : undefined;
}

/** Replaces an operation with its new version. */
export function withOperation(configuration: ConfigurationRecord, changed: Operation): ConfigurationRecord {
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
  configuration: ConfigurationRecord,
  begun: { readonly operationId: string; readonly kind: OperationKind; readonly now: number; readonly pinned?: Pinned },
): ConfigurationRecord {
  const operation: Operation = {
    operationId: begun.operationId,
    kind: begun.kind,
    phase: 'queued',
    startedAt: begun.now,
    failedSteps: 0,
    stepDueAt: begun.now + stepLengthMs(begun.kind, 'queued'),
    ...(begun.pinned === undefined ? {} : { pinned: begun.pinned }),
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
export function enter(
  configuration: ConfigurationRecord,
  operation: Operation,
  phase: Phase,
  now: number,
): OperationOutcome {
  const moved = { ...operation, phase, failedSteps: 0, stepDueAt: now + stepLengthMs(operation.kind, phase) };
  return {
    configuration: withOperation(configuration, moved),
    happenings: [{ kind: `${operation.kind}.phase`, operationId: operation.operationId, detail: { phase } }],
  };
}

/** Schedules another try of an operation's phase. */
export function waitUntil(
  configuration: ConfigurationRecord,
  operation: Operation,
  at: number,
  now: number,
): OperationOutcome {
  return unchanged(withOperation(configuration, { ...operation, stepDueAt: Math.max(at, now + SECOND) }));
}

/** Ends an operation and releases its lock; a receiver that goes on receiving becomes the active operation again. */
export function end(
  configuration: ConfigurationRecord,
  operation: Operation,
  outcome: NonNullable<Operation['outcome']>,
  now: number,
): OperationOutcome {
  const { stepDueAt: _done, ...rest } = operation;
  const phase: Phase = outcome === 'succeeded' ? 'succeeded' : 'failed';
  const ended = withOperation(configuration, { ...rest, phase, outcome, endedAt: now });
  return {
    configuration: withoutLock(ended, operation.operationId),
    happenings: [{ kind: `${operation.kind}.${outcome}`, operationId: operation.operationId }],
  };
}

function withoutLock(configuration: ConfigurationRecord, operationId: string): ConfigurationRecord {
  const { activeOperationId, checkOperationId, ...rest } = configuration;
  const receiver = rest.receiverOperationId === operationId ? undefined : rest.receiverOperationId;
  const active = activeOperationId === operationId ? receiver : activeOperationId;
  const check = checkOperationId === operationId ? undefined : checkOperationId;
  const { validationCleanup: _shown, ...told } = rest.told;
  return {
    ...rest,
    ...(active === undefined ? {} : { activeOperationId: active }),
    ...(check === undefined ? {} : { checkOperationId: check }),
    told: { ...told, failSteps: 0 },
  };
}
