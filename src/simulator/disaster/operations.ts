// Keeps the operations of a configuration: which one runs, which one is active and so holds the lock, and how they begin and end.
import type { World } from '../store/store.ts';
import { type OperationKind, type Phase, SECOND, stepLengthMs } from './durations.ts';
import type { Configuration, Happening, Operation, Pinned } from './model.ts';

/** How many operations a configuration keeps. Activations and running operations are kept in addition. */
const REMEMBERED = 50;

/** Adds events to a configuration; they are written to the ledger when the configuration is stored. */
export function happened(configuration: Configuration, ...happenings: readonly Happening[]): Configuration {
  return { ...configuration, happenings: [...(configuration.happenings ?? []), ...happenings] };
}

/** Finds an operation of a configuration by its id. */
export function operationOf(configuration: Configuration, operationId: string | undefined): Operation | undefined {
  return configuration.operations.find((operation) => operation.operationId === operationId);
}

/** Tells if an operation still has steps to do; an enrollment that only receives changes has none. */
export function isBusy({ endedAt, stepDueAt }: Operation): boolean {
  return endedAt === undefined && stepDueAt !== undefined;
}

/** Finds the operation of a configuration that still has steps to do. */
export function busyOperation(configuration: Configuration): Operation | undefined {
  return configuration.operations.find(isBusy);
}

/** Finds the running activation; an activation that is being cleaned up after a discard still counts. */
export function runningActivation(configuration: Configuration): Operation | undefined {
  const active = operationOf(configuration, configuration.activeOperationId);
  return active?.kind === 'activation' ? active : undefined;
}

/** Replaces an operation of a configuration with its new version. */
export function withOperation(configuration: Configuration, changed: Operation): Configuration {
  const operations = configuration.operations.map((operation) =>
    operation.operationId === changed.operationId ? changed : operation,
  );
  return { ...configuration, operations };
}

/** Tells if failed steps in a phase permit a discard, as in the two phases that build the recovered environment. */
export function countsFailedSteps(phase: Phase): boolean {
  return phase === 'promoting' || phase === 'starting';
}

/**
 * Begins an operation and records an event of the kind `noted`. The operation becomes the active one, except for a check of a warm
 * configuration: there the enrollment that receives changes stays active.
 */
export function begin(
  world: World,
  configuration: Configuration,
  kind: OperationKind,
  noted?: string,
  pinned?: Pinned,
): Configuration {
  const operationId = world.id('op');
  const stepDueAt = world.now + stepLengthMs(kind, 'queued');
  const queued = { phase: 'queued', startedAt: world.now, failedSteps: 0, stepDueAt } as const;
  const operations = remembered([...configuration.operations, { operationId, kind, ...queued, pinned }]);
  const isBeside = kind === 'validation' && configuration.receiverOperationId !== undefined;
  const activeOperationId = isBeside ? configuration.activeOperationId : operationId;
  const begun = { ...configuration, operations, activeOperationId };
  const detail = pinned && { pointId: pinned.pointId, cutoffAt: pinned.cutoffAt };
  return noted === undefined ? begun : happened(begun, { kind: noted, operationId, detail });
}

function remembered(operations: readonly Operation[]): readonly Operation[] {
  const isKept = ({ kind, endedAt }: Operation) => kind === 'activation' || endedAt === undefined;
  return operations.filter((operation, n) => isKept(operation) || n >= operations.length - REMEMBERED);
}

/** Moves an operation into a phase and schedules its next step. */
export function enter(configuration: Configuration, operation: Operation, phase: Phase, now: number): Configuration {
  const { kind, operationId } = operation;
  const moved = { ...operation, phase, failedSteps: 0, stepDueAt: now + stepLengthMs(kind, phase) };
  return happened(withOperation(configuration, moved), { kind: `${kind}.phase`, operationId, detail: { phase } });
}

/** Schedules the next step of an operation within its phase. */
export function waitUntil(configuration: Configuration, operation: Operation, at: number, now: number): Configuration {
  return withOperation(configuration, { ...operation, stepDueAt: Math.max(at, now + SECOND) });
}

/**
 * Ends an operation and releases its lock. In a warm configuration, the enrollment that receives changes becomes the active operation
 * again.
 */
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
