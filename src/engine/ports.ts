/**
 * The interfaces through which the engine reaches the service, Kubernetes, logs and metrics.
 *
 * `hosting` and `kube` implement these interfaces, `main` connects the implementations, and tests pass small
 * substitutes. Nothing in this file does I/O.
 */
import type { z } from 'zod';
import type { JsonObject, Secret } from '../base/json.ts';

// ---- the service ----------------------------------------------------------------------------------------------

/**
 * The kind of effect that a request has in the service. The same response can mean different outcomes for different
 * effects: see the table in `hosting/wire/transport.ts`.
 */
export type Effect = 'read' | 'create' | 'update' | 'remove' | 'identified';

/** The urgency of a request within the request budget of its credential. The most urgent request is sent first. */
export type Urgency = 'dangerous' | 'edit' | 'wait' | 'drift';

/** One request to the service, as plain data. */
export interface Request {
  /**
   * The endpoint as the service's API documents it, such as `POST /contact-point`. Used in messages, logs and metrics.
   */
  readonly endpoint: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path after the public prefix of the service's API. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
  /** The schema of the body. A body that does not fit the schema is not sent. */
  readonly schema?: z.ZodType;
  /**
   * What the request does in the service. A request with the effect `identified` contains a requestId by which the
   * service recognises a repeated request, so the same request may be sent again.
   */
  readonly effect: Effect;
}

/**
 * The outcome of a call to the service. Responses that the caller handles in the same way have the same outcome.
 * `hosting/wire/transport.ts` derives the outcome from the response or, if there is none, from the failure.
 */
export type Outcome =
  /** The service carried out the call. */
  | { readonly is: 'committed'; readonly body: unknown; readonly dateMs: number | undefined }
  /** The operator did not send the request. */
  | { readonly is: 'notSent'; readonly message: string }
  /**
   * The service did not carry out the call, because it throttles requests or because the credential does not allow the
   * call.
   */
  | {
      readonly is: 'notExecuted';
      readonly why: 'throttled' | 'unauthorized' | 'forbidden';
      readonly message: string;
      readonly retryInMs: number | undefined;
      /**
       * The body of the response. If a rule of the service caused a 403, the body may contain more than a message, such
       * as an installationId.
       */
      readonly body: unknown;
    }
  /** The service refused the call. The same request would be refused again. */
  | { readonly is: 'refused'; readonly status: number; readonly message: string; readonly body: unknown }
  /** The service answers 404: it does not know the object that the call addresses. */
  | { readonly is: 'notFound'; readonly message: string }
  /**
   * The service answered 409: it refused the call, or it had carried out an earlier try of the same call. One read
   * finds out which of the two happened.
   */
  | { readonly is: 'conflict'; readonly message: string; readonly body: unknown }
  /** The call may or may not have been carried out. */
  | { readonly is: 'inDoubt'; readonly message: string; readonly body: unknown };

/**
 * A read of the service: a list with all its pages, or one object. A read of one object gives a list with one item or
 * none.
 */
export interface Read<Item = unknown> {
  /** The key of the read, unique within an account, such as `contactPoints` or `alerts/env_1`. */
  readonly key: string;
  readonly first: Request;
  /** Builds the request for the next page from the body of a page; returns undefined after the last page. */
  readonly next?: (body: unknown) => Request | undefined;
  /** Parses the items of one page; returns undefined when the body is not as the service's API documents it. */
  readonly items: (body: unknown) => readonly Item[] | undefined;
  idOf(item: Item): string;
  /** True if a 404 proves that the object is gone, as for a read of one object by its id. */
  readonly absentOn404?: boolean;
  /**
   * How often the read is repeated: at the account's poll interval, once an hour, never (`onDemand`), or so rarely that
   * all rate-limited reads together use at most a fifth of the request budget.
   */
  readonly pace: 'poll' | 'hourly' | 'onDemand' | 'rateLimited';
  /** The minimum time between two reads at the pace `rateLimited`. */
  readonly rateLimitedMs?: number;
  /**
   * Returns the group to which an item belongs, such as the app of an environment. An object that uses a whole group is
   * reconciled when any item of the group changes.
   */
  groupOf?(item: Item): string | undefined;
  /**
   * Field names, at any depth, whose changes do not matter, such as `lastStateCheck`. Items that differ only in these
   * fields count as unchanged.
   */
  readonly moving?: readonly string[];
  /**
   * True while the items should be polled more often, for example while an environment is updating or an operation
   * runs.
   */
  busy?(items: ReadonlyMap<string, Item>): boolean;
}

/**
 * Returns an id that stands for a whole group of items in a list. It contains a space, and no id of the service does,
 * so it differs from the ids of all items.
 */
export function groupId(group: string): string {
  return `group ${group}`;
}

/** The result of a complete read of a list: every page arrived and none was refused. */
export interface Snapshot<Item = unknown> {
  readonly items: ReadonlyMap<string, Item>;
  /** Monotonic time right before the first request of the list was sent. */
  readonly begunAt: number;
  /** The time on the service's own clock when the read of the list began, if known. */
  readonly dateMs: number | undefined;
}

/** Why a list of the service could not be read. */
export interface ReadProblem {
  readonly why: 'unauthorized' | 'forbidden' | 'throttled' | 'refused' | 'unreachable' | 'malformed' | 'hostNotAllowed';
  readonly message: string;
  /** Monotonic time at which the read failed. */
  readonly at: number;
}

export interface SendOptions {
  readonly urgency: Urgency;
  /**
   * The key of the Kubernetes object for which the call is sent, and a text for the call, such as `create contact point
   * "On call"`. Undefined for a read.
   */
  readonly call?: { readonly object: string; readonly words: string };
  /** Monotonic time at which the call stops waiting for its response. The transport's own time limit still applies. */
  readonly deadline?: number;
  /**
   * Called in the same tick of the event loop in which the request is sent. If this function returns a reason, the
   * request is not sent, and the outcome is `notSent`.
   */
  readonly mayDispatch: () => string | undefined;
}

/** The state of a connection: whether the service refuses or throttles its credential. */
interface ServiceHealth {
  readonly unauthorizedSince: number | undefined;
  /**
   * Monotonic time at which the pause that the service asked for ends; see
   * docs/design/polling-and-budget.md#after-a-429-pause-all-requests-of-the-credential.
   */
  readonly throttledUntil: number | undefined;
  /**
   * Monotonic time until which fewer requests are sent than the request budget allows, because the service asked to
   * slow down. Never earlier than `throttledUntil`.
   */
  readonly slowedUntil: number | undefined;
}

/** How often the lists and objects of an account are read, and how many requests this takes. */
interface Polling {
  readonly forecastPerHour: number;
  /**
   * The estimated shortest interval of rate-limited reads that are not pressing; undefined while no object uses a
   * rate-limited read.
   */
  readonly rateLimitedMs: number | undefined;
  /**
   * The poll interval in effect: as configured, or longer when polling would use more than half of the request budget.
   */
  readonly pollIntervalMs: number;
}

/** A connection to one account of the service with one credential. */
export interface Service {
  /** The host and port of the service, as they appear in status. */
  readonly endpoint: string;
  readonly accountId: string;
  /** Returns the result of the last complete read of a list; undefined before the first one. */
  snapshot<Item>(read: Read<Item>): Snapshot<Item> | undefined;
  /** Returns why the list cannot be read now; undefined if its last read was complete. */
  problem(read: Read): ReadProblem | undefined;
  /**
   * Requests a read of a list that begins at the time `since` (monotonic) or later. One read serves all objects that
   * request the same list. Reads of urgency `edit` go before reads of urgency `wait`.
   */
  want(read: Read, since: number, urgency: 'edit' | 'wait'): void;
  /** Repeats a read, as often as its `pace` says, until the returned function is called. */
  follow(read: Read): () => void;
  /** Estimates how long a call would wait for the request budget if it were announced now (see `announce`). */
  waitMs(urgency: Urgency): number;
  /**
   * Announces a call that will soon be sent. From then on, `waitMs` takes this call into account when it estimates how
   * long another call would wait. The returned function ends the announcement.
   */
  announce(urgency: Urgency): () => void;
  /**
   * Sends a request. With a deadline, a request that the service throttles is sent a second time after the pause. It is
   * not sent again if the pause is long, or if `mayDispatch` then returns a reason; for a call of an object, one reason
   * is that less than a third of its time limit is left.
   */
  send(request: Request, options: SendOptions): Promise<Outcome>;
  /** Removes the credential from a text, or from all texts in a value, so that people may see the text. */
  shown<Value>(value: Value): Value;
  health(): ServiceHealth;
  polling(): Polling;
  /** Ends polling and closes the network connections. */
  close(): Promise<void>;
}

/**
 * The settings with which a connection to the service is opened. The operator takes them from the account and its
 * Secret, with defaults for the poll interval and the budget. Commands take some of them from flags or constants.
 */
export interface ServiceSettings {
  readonly baseUrl: string;
  readonly token: Secret;
  readonly caBundle: string | undefined;
  readonly accountId: string;
  readonly pollSeconds: number;
  readonly requestsPerSecond: number;
  readonly concurrency: number;
  /**
   * The account's name in metrics. If it is not given, as for the credential of `spec.dangerousCredentialsRef`, the
   * connection sets no gauges.
   */
  readonly name?: string;
}

/** Identifies an account of the service by the endpoint and the account id. */
export type ServicePlace = Pick<Service, 'endpoint' | 'accountId'>;

/**
 * Called when the read of a list has ended. `changed` has the ids of the items that differ from the previous list; for
 * a first list, the ids of all items.
 */
export type ListListener = (event: {
  readonly service: Service;
  readonly key: string;
  readonly changed: ReadonlySet<string>;
  readonly problem: ReadProblem | undefined;
}) => void;

/**
 * Called when the service answers a request with this credential with 425 or 429, which asks for fewer requests.
 * `health()` of `service` then says until when all requests wait.
 */
export type ThrottleListener = (service: Service) => void;

/**
 * While more than this time remains of a pause, requests fail at once, and status says so. After that, requests wait for
 * the end of the pause.
 */
export const shortPauseMs = 10_000;

/** Opens a connection to the service. If the base URL is not valid or not allowed, returns a sentence that says why. */
export interface Hosting {
  open(
    settings: ServiceSettings,
    onList: ListListener,
    onThrottled?: ThrottleListener,
  ): Service | { readonly refused: string };
}

// ---- Kubernetes -----------------------------------------------------------------------------------------------

/** The metadata that the engine uses. All other metadata is dropped while parsing. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Any Kubernetes object, as JSON. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
  readonly status?: unknown;
  /**
   * Set only if the spec is too large: the message for status that says so. Of such a spec, the operator keeps only
   * `accountRef`.
   */
  readonly tooLarge?: string;
  readonly [key: string]: unknown;
}

/** A resource type of the Kubernetes API. */
export interface Resource {
  /** The API group; empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

export interface PageOptions {
  readonly namespace?: string | undefined;
  readonly limit: number;
  readonly continue?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** If true, the API server returns only the metadata of each object (PartialObjectMetadata). */
  readonly metadataOnly?: boolean | undefined;
}

export interface Page {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
  readonly continue: string | undefined;
}

export interface WatchOptions extends Pick<PageOptions, 'namespace' | 'labelSelector' | 'metadataOnly'> {
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  | { readonly type: 'ERROR'; readonly code: number; readonly message: string };

/** The time that the API server gave in its last response. */
export interface ServerDate {
  readonly dateMs: number;
  /** Monotonic time at which that response arrived. */
  readonly seenAt: number;
}

/** One operation of a JSON patch. */
export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'test';
  readonly path: string;
  readonly value?: unknown;
}

/**
 * The part of the Kubernetes API that the operator uses. Every call has a deadline, and failures are thrown as
 * `KubeError`.
 */
export interface KubeApi {
  get(resource: Resource, namespace: string | undefined, name: string): Promise<KubeObject | undefined>;
  list(resource: Resource, options: PageOptions): Promise<Page>;
  watch(resource: Resource, options: WatchOptions): AsyncIterable<WatchEvent>;
  create(resource: Resource, namespace: string | undefined, object: unknown): Promise<KubeObject>;
  /** Replaces the whole object by PUT. Used for the Lease. */
  replace(resource: Resource, namespace: string | undefined, name: string, object: unknown): Promise<KubeObject>;
  /** Replaces the whole status by PUT, with uid and resourceVersion. */
  replaceStatus(resource: Resource, namespace: string | undefined, name: string, object: unknown): Promise<KubeObject>;
  patch(
    resource: Resource,
    namespace: string | undefined,
    name: string,
    operations: readonly PatchOperation[],
  ): Promise<KubeObject>;
  delete(resource: Resource, namespace: string | undefined, name: string): Promise<void>;
  serverDate?(): ServerDate | undefined;
}

/** The reason why a request to the Kubernetes API failed. */
export type KubeReason =
  /** 409, or a JSON patch whose `test` failed (422): somebody else wrote the object first, so read it again. */
  | 'conflict'
  /** 404 on a write: the object does not exist. */
  | 'notFound'
  /** 410: the resourceVersion or the continue token is too old. */
  | 'gone'
  /** 409 on create: the name is taken. */
  | 'exists'
  | 'forbidden'
  | 'unauthorized'
  /** 400, 422 or another 4xx without a reason of its own: the API server does not accept the request. */
  | 'invalid'
  /** 429: the API server is busy; `retryInMs` says when to try again. */
  | 'throttled'
  /** 5xx, a connection reset or a timeout: the request may or may not have been carried out. */
  | 'unavailable';

/**
 * Thrown when a request to the Kubernetes API could not be sent, was refused or not answered, or got an unusable
 * response.
 */
export class KubeError extends Error {
  readonly reason: KubeReason;
  readonly retryInMs: number | undefined;

  constructor(reason: KubeReason, message: string, options?: { cause?: unknown; retryInMs?: number }) {
    super(message, { cause: options?.cause });
    this.name = 'KubeError';
    this.reason = reason;
    this.retryInMs = options?.retryInMs;
  }
}

/** The result of a write to a Kubernetes object. */
export type Written =
  | { readonly is: 'written'; readonly object: KubeObject }
  /** Somebody else wrote the object first, so read the object again. */
  | { readonly is: 'conflict' }
  | { readonly is: 'gone' };

/** The only finalizer that the operator uses. */
export const finalizer = 'apphosting.dev/hosting';

/** Writes those parts of a custom resource that the operator owns: its status and its finalizer. */
export interface ObjectWriter {
  /** Reads the object from the API server, not from a cache. */
  readLive(object: KubeObject): Promise<KubeObject | undefined>;
  /**
   * Replaces the whole status, with uid and resourceVersion, so that the write fails if somebody else wrote the object
   * first.
   */
  writeStatus(object: KubeObject, status: object): Promise<Written>;
  /**
   * Writes a status that must not be lost, for example because it contains a new id. `render` gets the newest version
   * of the object and returns the status to write, or undefined if somebody else's status must stay. Retries until the
   * status is written. Gives up only if the object is gone, if `render` returns undefined, or if the API server
   * repeatedly refuses the status as invalid.
   */
  commitStatus(object: KubeObject, render: (newest: KubeObject) => object | undefined): Promise<Written>;
  /** Sets the operator's finalizer on the object. */
  hold(object: KubeObject): Promise<Written>;
  /** Removes the operator's finalizer from the object. */
  release(object: KubeObject): Promise<Written>;
}

/** Collects failures of requests to Kubernetes, so that an outage is logged once and not for each object. */
export interface Troubles {
  /**
   * Records a failed request for this object or watch. Returns true if the failure is part of an outage of Kubernetes,
   * and false if it concerns only this object.
   */
  failed(who: string, error: KubeError): boolean;
  /**
   * Records that a request for this object or watch has succeeded, or that the object is gone. An outage of Kubernetes
   * ends when this has been recorded for every object and watch with a failed request during the outage.
   */
  went(who: string): void;
}

/**
 * A change of one object in a cache: `applied` has the newest version of the object, and `gone` says that the object is
 * gone. A recreated object is reported as gone first.
 */
export type CacheEvent =
  | { readonly is: 'applied'; readonly object: KubeObject; readonly initial: boolean }
  | { readonly is: 'gone'; readonly object: KubeObject };

/**
 * Publishes Kubernetes events about objects. When an equal event is recorded again soon, only the count of the
 * published event grows.
 */
export interface EventRecorder {
  record(event: {
    readonly regarding: KubeObject;
    readonly type: 'Normal' | 'Warning';
    readonly reason: string;
    readonly action: string;
    readonly note: string;
    /**
     * True when the object's status contains the same information as this event. Such events about many objects may be
     * merged into one event.
     */
    readonly isRoutine?: boolean;
  }): void;
}

/**
 * Tells whether this process is the leader. Leader election only keeps two processes from acting at the same time; the
 * journal in status keeps a call from happening twice.
 */
export interface Leadership {
  /**
   * Returns undefined when this process may act, otherwise the reason why it must not act. Checks both the monotonic
   * clock and the wall clock.
   */
  mayAct(): string | undefined;
}

/** Identifies a Secret or ConfigMap. */
export interface MaterialName {
  readonly kind: 'Secret' | 'ConfigMap';
  readonly namespace: string;
  readonly name: string;
}

/** Reads Secrets and ConfigMaps; the result is undefined for one that does not exist. */
export interface Material {
  secret(namespace: string, name: string): Promise<ReadonlyMap<string, Secret> | undefined>;
  configMap(namespace: string, name: string): Promise<ReadonlyMap<string, string> | undefined>;
}

/** Writes structured log lines. The implementation is pino; tests collect the lines. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Records the operator's metrics, each under its name. The implementation is prom-client. */
export interface Metrics {
  count(name: string, labels?: Readonly<Record<string, string>>, by?: number): void;
  gauge(name: string, labels: Readonly<Record<string, string>>, value: number | undefined): void;
  observe(name: string, labels: Readonly<Record<string, string>>, value: number): void;
}
