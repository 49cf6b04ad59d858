import type { Clock, Entropy } from '../../base/time.ts';
import type { Accounts } from '../account/accounts.ts';
import type { ObjectIndex, Stored, StoredStatus } from '../objects/stored.ts';
import type { OperatorKey } from '../objects/fingerprint.ts';
import type { Subscriptions } from '../objects/subscriptions.ts';
import type { AnyKind } from '../kind/contract/define.ts';
import type { Powers } from '../kind/contract/pass.ts';
import type { Verdict, Memory } from '../kind/contract/step.ts';
import type {
  EventRecorder,
  Hosting,
  Leadership,
  Log,
  Material,
  Metrics,
  ObjectWriter,
  Service,
  Troubles,
  KubeObject,
} from '../ports.ts';
import type { InProcessStates, InProcess } from '../objects/in-process.ts';
import type { OpenCreates } from '../objects/open-creates.ts';

/** What the engine is started with. */
export interface EngineOptions {
  readonly kinds: readonly AnyKind[];
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly hosting: Hosting;
  readonly writer: ObjectWriter;
  readonly material: Material;
  readonly events: EventRecorder;
  readonly leadership: Leadership;
  readonly log: Log;
  readonly troubles: Troubles;
  readonly metrics: Metrics;
  /** The operator's own key for marks and fingerprints. */
  readonly key: OperatorKey;
  readonly operatorNamespace: string;
  readonly labelsOf: (namespace: string) => Readonly<Record<string, string>> | undefined;
  readonly settings: {
    readonly horizonMs: number;
    /** How long a call that changes something may take, its wait for the budget included, before it counts as lost. */
    readonly callMs: number;
    /** The default poll interval, for accounts without spec.pollSeconds. */
    readonly pollMs: number;
    readonly workers: number;
    readonly readOnly: boolean;
    /** True without a selector: a resource that is not listed does not exist. */
    readonly seesAll: boolean;
    /** The recovery requests that this process may send; none without it. */
    readonly powers?: Powers;
  };
  /** The API server's own clock at its last answer, if known. */
  readonly serverDate?: () => { readonly dateMs: number; readonly seenAt: number } | undefined;
}

/** The parts of the engine that are shared by all reconciles. */
export interface EngineParts extends EngineOptions {
  readonly objects: ObjectIndex;
  readonly accounts: Accounts;
  readonly subscriptions: Subscriptions;
  readonly inProcessStates: InProcessStates;
  readonly openCreates: OpenCreates;
  /** Takes an object that we wrote. */
  wrote(entry: Stored): void;
  /** Wakes an object after the next list of a read. */
  asked(service: Service, readKey: string, objectKey: string): void;
  /** Wakes an object when the one that has this claim lets it go. */
  awaitClaim(claim: string, objectKey: string): void;
  quarantinedUntil(): number;
  concluded(entry: Stored, verdict: Verdict): void;
  /** A call of an account begins; the returned function says that it has ended. */
  calling(account: string): () => void;
  /** True while other objects of an account wait for a worker. */
  isCrowded(account: string): boolean;
  /** Waits for the service without keeping a worker. */
  away<T>(wait: () => Promise<T>): Promise<T>;
}

/** What can be read of the context of a reconcile. */
export interface ReadableContext {
  readonly parts: EngineParts;
  readonly inProcess: InProcess;
  readonly stored: Stored;
  readonly status: StoredStatus;
  readonly object: KubeObject;
  readonly memory: Memory;
  redacted<Value>(value: Value): Value;
}
