import type { Json } from '../../../base/json.ts';
import type { Read, Request } from '../../ports.ts';
import type { Pass } from '../contract/pass.ts';
import type { Notice, OwnCondition, Refusal, Step } from '../contract/step.ts';

/**
 * The content of an object by field, as the spec wants it or as the service shows it. A field with the value undefined
 * is not known.
 */
export type Fields = Readonly<Record<string, Json | undefined>>;

/** The fields of `spec.lifecycle`, with the kind's defaults filled in. */
export interface Lifecycle {
  readonly managementPolicy: 'Manage' | 'Observe';
  readonly adoption: 'Never' | 'ById' | 'ByName' | undefined;
  readonly onDelete: 'Delete' | 'Retain' | undefined;
  readonly onMissing: 'Recreate' | 'Stall';
  readonly drift: 'Correct' | 'Report';
}

/**
 * What the operator knows about an object in the service: the item as it was read, and its fields. A field that the
 * operator has written since the read has the written value.
 */
export interface Observation<Item = unknown> {
  readonly item: Item | undefined;
  readonly fields: Fields;
}

/**
 * Another object in the service whose id is part of the calls for this object, such as the contact point of an alert.
 */
export interface Named {
  readonly id: string;
  readonly single: Read;
  /** Describes the object and its resource in messages, such as `contact point cp_1 of ContactPoint ops`. */
  readonly words: string;
}

/**
 * Describes a kind whose objects the service lists, creates by one call, updates by one call and deletes by one call.
 *
 * The shared planner (`planObject`) does everything else: adoption, creating at most once, absence, drift, deletion.
 */
export interface ObjectPlan<Spec = unknown, Facts = unknown, Item = unknown> {
  /** The word by which users know the object, in lower case, such as `contact point`. */
  readonly noun: string;
  list(pass: Pass<Spec, Facts>): Read<Item>;
  single(id: string): Read<Item>;
  /**
   * Returns the container of the object, such as the environment of an alert: the list of the service in which the
   * container appears, and the container's id. The id is empty if it is unknown because a resource to which the spec
   * refers is gone.
   */
  placeOf?(pass: Pass<Spec, Facts>): { readonly list: Read; readonly id: string };
  name(pass: Pass<Spec, Facts>): string;
  nameOf(item: Item): string;
  /** Returns the time at which the item was created; undefined when the item does not show the time. */
  createdAtOf(item: Item): number | undefined;
  /**
   * Returns the account that an item names. If the item names no account, the item belongs to the account whose list
   * shows it.
   */
  accountOf?(item: Item): string | undefined;
  /**
   * Returns the ownership mark in an item. The mark says which resource created the object. A kind whose objects have
   * no field for a mark does not have this function.
   */
  markOf?(item: Item): string | undefined;
  lifecycle(spec: Spec): Lifecycle;
  externalId(spec: Spec): string | undefined;
  /**
   * If no call may be sent for this spec, for example because the environment does not have the metric, returns a step
   * to take instead. Otherwise returns undefined.
   */
  admit?(pass: Pass<Spec, Facts>): Step<Facts> | undefined;
  /**
   * Returns the other objects in the service that the calls for this object name. If one of them is gone, it may be the
   * reason why the service refuses a call.
   */
  namesInCalls?(pass: Pass<Spec, Facts>): readonly Named[];
  /**
   * Returns the other reads that the comparison with the spec needs. The object is compared only when these reads are
   * complete.
   */
  alsoReads?(pass: Pass<Spec, Facts>, id: string): readonly Read[];
  desired(pass: Pass<Spec, Facts>): Fields;
  /**
   * Returns the values that the service shows for the fields of `desired`. A field that the service never shows is
   * absent.
   */
  observed(item: Item, pass: Pass<Spec, Facts>): Fields;
  /**
   * True for a field that the service never shows. For such a field, the fingerprint of the value that was last sent is
   * compared with the spec.
   */
  hidden?(field: string, pass: Pass<Spec, Facts>): boolean;
  /**
   * True for a field that the service does not always show. For example, the service may leave out an empty field.
   * Status always stores a fingerprint of such a field.
   */
  hiddenAtTimes?(field: string): boolean;
  /**
   * True for a field that another resource now sets in the service, such as an image that an AppEnvironment deploys.
   * The value in this spec is then not sent, and status treats it as already sent.
   */
  sentElsewhere?(field: string, pass: Pass<Spec, Facts>): boolean;
  /**
   * True for a field whose fingerprint is stored although the service shows the field. If the spec no longer has the
   * field, the fingerprint shows that an earlier spec set it.
   */
  kept?(field: string): boolean;
  /**
   * True if the service has dropped this field because the spec now sets another field in its place. For example, an
   * app has either the path of a Dockerfile or its content.
   */
  replaced?(field: string, wanted: Fields): boolean;
  /** True for a field that holds a secret. If it differs, status shows `(redacted)` instead of its value. */
  secret?(field: string): boolean;
  /** Fields that the service cannot change after creation. */
  readonly fixed?: readonly string[];
  /** Fields that the create call does not accept. The first update sets them. */
  readonly afterCreation?: readonly string[];
  /**
   * Returns the fields that only the create call accepts and that the service never shows. Status lists them as
   * unverified.
   */
  creationOnly?(spec: Spec): readonly string[];
  /** If an update must not be sent yet, returns a step to take instead. Otherwise returns undefined. */
  mustWait?(pass: Pass<Spec, Facts>, changed: Fields): Step<Facts> | undefined;
  readonly requests: {
    create(pass: Pass<Spec, Facts>, fields: Fields): Request;
    idOfCreated(body: unknown): string | undefined;
    /** Returns the fields, with their values, that the response to a create call shows. */
    shownByCreated?(body: unknown): Fields;
    update(id: string, changed: Fields, pass: Pass<Spec, Facts>): Request;
    /**
     * Returns the changed fields that must be sent in a call of their own before the other changed fields. If a plan
     * does not have this function, one call sends all changed fields.
     */
    updateFirst?(changed: Fields, pass: Pass<Spec, Facts>): readonly string[] | undefined;
    /**
     * Returns the ids in the service that are locked while an update is sent, so that no other Kubernetes object sends
     * a call for the same id; see `Call.alone`.
     */
    updateAlone?(pass: Pass<Spec, Facts>): readonly string[];
    /** Returns the kind's new status fields after an update has succeeded. They are computed from the response. */
    learnedByUpdate?(body: unknown, changed: Fields, pass: Pass<Spec, Facts>): Facts;
    /**
     * Returns the kind's status fields to store before an update is sent. They stay in status while the outcome of the
     * update is unknown.
     */
    supposedOfUpdate?(changed: Fields, pass: Pass<Spec, Facts>): Facts;
    remove(id: string): Request;
  };
  /**
   * Returns a text that says why the service refuses to delete the object. Returns undefined if the message of the
   * service says enough.
   */
  blocked?(refusal: Refusal, pass: Pass<Spec, Facts>): string | undefined;
  /** Says what stays in the service after the object was deleted, such as the volumes of a database. */
  staysBehind?(pass: Pass<Spec, Facts>): string | undefined;
  /**
   * Returns the next step when the object in the service equals the spec. If a plan does not have this function, the
   * object is then ready.
   */
  whenEqual?(pass: Pass<Spec, Facts>, seen: Observation<Item>): Step<Facts>;
  facts(pass: Pass<Spec, Facts>, seen: Observation<Item>): Facts;
  /**
   * Returns the kind's status fields to keep when the object in the service is gone or replaced by another one. All
   * other status fields of the kind are dropped.
   */
  factsOfNext(facts: Facts): Facts;
  /** Returns the conditions that only this kind has. `facts` has the kind's new status fields. */
  conditions?(pass: Pass<Spec, Facts>, seen: Observation<Item>, facts: Facts): readonly OwnCondition[];
  /**
   * Returns the events to publish because something has changed since the last status. `facts` has the kind's new
   * status fields.
   */
  notices?(pass: Pass<Spec, Facts>, seen: Observation<Item>, facts: Facts): readonly Notice[];
}
