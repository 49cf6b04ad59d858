import type { Stored } from '../objects/object-index.ts';
import type { Memory } from '../kind/contract/step.ts';
import type { StoredStatus } from '../objects/stored-status.ts';
import type { KubeObject } from '../ports.ts';
import type { InProcess } from '../objects/in-process.ts';

/** One object while a pass works on it: its newest known form, and what the pass has learned so far. */
export interface Work {
  readonly entry: Stored;
  /** The newest form that this process has seen or written. */
  readonly object: KubeObject;
  readonly status: StoredStatus<unknown>;
  readonly inProcess: InProcess;
  /** An id came back from the service that status does not carry yet. */
  readonly unwrittenId: boolean;
  /** What may be shown of what its service said. */
  readonly shown: <Value>(value: Value) => Value;
  /** Whether a credential is another one than that of everyday calls. */
  readonly isSeparate: (credential: 'dangerous' | undefined) => boolean;
}

/** How a pass ended, for the queue. */
export type Ended =
  | { readonly is: 'settled'; readonly againInMs: number | undefined }
  /** The next call came to nothing; it is sent again after a pause. */
  | { readonly is: 'failing'; readonly againInMs: number }
  /** Somebody else wrote first: what they wrote is on its way, and wakes. */
  | { readonly is: 'overtaken' }
  | { readonly is: 'quiet'; readonly againInMs: number }
  | { readonly is: 'gone' };

/** The same work with something more remembered. */
export function remembering(work: Work, remember: Partial<Memory<unknown>> | undefined): Work {
  if (remember === undefined) return work;
  return { ...work, status: { ...work.status, memory: { ...work.status.memory, ...remember } } };
}
