import type { Memory } from '../kind/contract/step.ts';
import type { InProcess } from '../objects/in-process.ts';
import type { Stored } from '../objects/object-index.ts';
import type { StoredStatus } from '../objects/stored-status.ts';
import type { KubeObject } from '../ports.ts';
import type { EngineParts } from './parts.ts';

/** What can be read of the context of a reconcile. */
export interface ReadableContext {
  readonly parts: EngineParts;
  readonly inProcess: InProcess;
  readonly stored: Stored;
  readonly status: StoredStatus<unknown>;
  readonly object: KubeObject;
  readonly memory: Memory<unknown>;
  redacted<Value>(value: Value): Value;
}
