// Begins, finds and ends the operations of a configuration.
import type { World } from '../../store/store.ts';
import { type OperationKind, type Phase, SECOND, stepLengthMs } from './durations.ts';
import type { Configuration, Happening, Operation, Pinned } from './model.ts';

/**
 * Number of newest operations that a configuration keeps. Older operations are dropped, except activations and
 * operations that are running.
 */
const REMEMBERED = 50;

/** Adds events to a configuration in memory. They are written to the change log when the configuration is stored. */
export function happened(configuration: Configuration, ...happenings: readonly Happening[]): Configuration {
  return { ...configuration, happenings: [...(configuration.happenings ?? []), ...happenings] };
}

/** Finds an operation of a configuration by its id. */
export function operationOf(configuration: Configuration, operationId: string | undefined): Operation | undefined {
  return configuration.operations.find((operation) => operation.operationId === operationId);
}

/**
 * True if an operation still has steps to do. The completed enrollment of a warm configuration has none: it stays open
 * only to feed changes to the standby.
 */
export function isBusy({ endedAt, stepDueAt }: Operation): boolean {
  return endedAt === undefined && stepDueAt !== undefined;
}

/** Finds the operation of a configuration that still has steps to do. There is at most one. */
export function busyOperation(configuration: Configuration): Operation | undefined {
  return configuration.operations.find(isBusy);
}

/** Finds the running activation of a configuration; a discarded activation counts as running until its cleanup ends. */
export function runningActivation(configuration: Configuration): Operation | undefined {
  const active = operationOf(configuration, configuration.activeOperationId);
  return active?.kind === 'activation' ? active : undefined;
}

/** Returns a copy of a configuration in which the operation `changed` replaces the operation with the same id. */
export function withOperation(configuration: Configuration, changed: Operation): Configuration {
  const operations = configuration.operations.map((operation) =>
    operation.operationId === changed.operationId ? changed : operation,
  );
  return { ...configuration, operations };
}

/**
 * True for the phases `promoting` and `starting`. Only failed steps in these phases are shown to clients and can make
 * it possible to discard a cold activation or to reset its configuration.
 */
export function countsFailedSteps(phase: Phase): boolean {
  return phase === 'promoting' || phase === 'starting';
}

/**
 * Begins an operation and makes it the active operation, except for a validation of an enrolled warm configuration,
 * whose enrollment stays active. If `noted` is given, adds an event of the kind `noted` to the configuration.
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

/** Moves an operation to a phase and schedules its next step. */
export function enter(configuration: Configuration, operation: Operation, phase: Phase, now: number): Configuration {
  const { kind, operationId } = operation;
  const moved = { ...operation, phase, failedSteps: 0, stepDueAt: now + stepLengthMs(kind, phase) };
  return happened(withOperation(configuration, moved), { kind: `${kind}.phase`, operationId, detail: { phase } });
}

/** Schedules the next step of an operation within its current phase. */
export function waitUntil(configuration: Configuration, operation: Operation, at: number, now: number): Configuration {
  return withOperation(configuration, { ...operation, stepDueAt: Math.max(at, now + SECOND) });
}

/**
 * Ends an operation, so that another can begin. If it was the active operation, the completed enrollment of a warm
 * configuration becomes active again. In all other configurations, no operation is then active.
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
