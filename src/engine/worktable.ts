import type { Closed } from './accounts.ts';
import type { Entry } from './book.ts';
import type { Pass } from './kind/pass.ts';
import type { Call, JournalEntry } from './kind/step.ts';
import type { Recollection } from './memory.ts';
import type { Clock, KubeObject, Leadership, Outcome, Service } from './ports.ts';
import type { Recall } from './recall.ts';
import type { Turns } from './turns.ts';

/** One object while a pass works on it: its newest known form, and what the pass has learned so far. */
export interface Work {
  readonly entry: Entry;
  /** The newest form that this process has seen or written. */
  readonly object: KubeObject;
  readonly recollection: Recollection<unknown>;
  readonly recall: Recall;
  /** An id came back from the service that status does not carry yet. */
  readonly unwrittenId: boolean;
  /** The service behind a credential; why it cannot be used, where it is one of its own. */
  readonly service: (credential: 'dangerous' | undefined) => Service | Closed;
  /** Whether a credential is another one than that of everyday calls. */
  readonly isSeparate: (credential: 'dangerous' | undefined) => boolean;
}

/** What performing a call needs from the frame around the step. */
export interface Worktable {
  readonly clock: Clock;
  readonly leadership: Leadership;
  readonly turns: Turns;
  /** Writes what the work remembers; undefined when somebody else was first. */
  write(work: Work, wouldDo: string | undefined): Promise<Work | undefined>;
  /** Takes the right to create under this name; false when another object has it. */
  reserve(key: string, entry: JournalEntry, pass: Pass<unknown, unknown>): boolean;
  unreserve(key: string): void;
  /** The object as it stands in the cluster now. */
  readLive(work: Work): Promise<KubeObject | undefined>;
  /** Whether the kind, asked again in this very tick, still wants exactly this call. */
  stillWants(work: Work, pass: Pass<unknown, unknown>, call: Call<unknown>): boolean;
  /** A call was sent: events, metrics, log. */
  called(work: Work, call: Call<unknown>, outcome: Outcome): void;
}
