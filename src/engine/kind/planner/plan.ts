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
 * What is known of an object in the service: the item as it was read, and its fields. Values that the operator has
 * written since the read replace the values that were read.
 */
export interface Sight<Item = unknown> {
  readonly item: Item | undefined;
  readonly fields: Fields;
}

/** Another object in the service that the calls for this object name, such as the contact point of an alert. */
export interface Named {
  readonly id: string;
  readonly single: Read;
  /** The object with its id and resource, as text for messages, such as `contact point cp_1 of ContactPoint ops`. */
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
   * Returns the container of the object, such as the environment of an alert: a list of the service that contains the
   * container, and the id of the container. The id is empty if it cannot be known, because a resource to which the spec
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
   * Returns the ownership mark in the item, which says which resource created the object. Absent for kinds whose
   * objects have no field for a mark.
   */
  markerOf?(item: Item): string | undefined;
  lifecycle(spec: Spec): Lifecycle;
  externalId(spec: Spec): string | undefined;
  /**
   * Returns a step to take instead of any call, for example for a metric that the environment cannot have; undefined if
   * calls may be sent.
   */
  admit?(pass: Pass<Spec, Facts>): Step<Facts> | undefined;
  /**
   * Returns the other objects that the object's calls name. When the service refuses a call, one of these objects may
   * be the cause.
   */
  namesInCalls?(pass: Pass<Spec, Facts>): readonly Named[];
  /** Returns further reads that must be complete before the object can be compared with the spec. */
  alsoReads?(pass: Pass<Spec, Facts>, id: string): readonly Read[];
  desired(pass: Pass<Spec, Facts>): Fields;
  /**
   * Returns the values that the service shows for the fields of `desired`. A field that the service never shows is
   * absent.
   */
  observed(item: Item, pass: Pass<Spec, Facts>): Fields;
  /** True for a field that the service never shows. The fingerprint of its last sent value is compared instead. */
  hidden?(field: string, pass: Pass<Spec, Facts>): boolean;
  /**
   * True for a field that the service hides only at times, for example while it is empty. The fingerprint of such a
   * field is always stored.
   */
  hiddenAtTimes?(field: string): boolean;
  /**
   * True for a field that another resource now sets in the service. The value in this spec is then not sent; it counts
   * as sent already.
   */
  sentElsewhere?(field: string, pass: Pass<Spec, Facts>): boolean;
  /**
   * True for a field that the service shows and whose fingerprint is stored too, to notice when the spec no longer has
   * the field.
   */
  kept?(field: string): boolean;
  /** True for a field that the service no longer has because the spec sets a field that replaces it. */
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
  /** Returns a step to take instead of an update that must wait; undefined if the update may be sent. */
  mustWait?(pass: Pass<Spec, Facts>, changed: Fields): Step<Facts> | undefined;
  readonly requests: {
    create(pass: Pass<Spec, Facts>, fields: Fields): Request;
    idOfCreated(body: unknown): string | undefined;
    /** Returns the fields that the answer to a create call shows. */
    shownByCreated?(body: unknown): Fields;
    update(id: string, changed: Fields, pass: Pass<Spec, Facts>): Request;
    /**
     * Returns the changed fields that must be sent in a separate call before the other changed fields. Without this
     * function all changed fields are sent in one call.
     */
    updateFirst?(changed: Fields, pass: Pass<Spec, Facts>): readonly string[] | undefined;
    /**
     * Returns the ids in the service that are locked while an update is sent, so that no other Kubernetes object sends
     * a call for the same id; see `Call.alone`.
     */
    updateAlone?(pass: Pass<Spec, Facts>): readonly string[];
    /** Returns the kind's status fields that follow from the response to an update. */
    learnedByUpdate?(body: unknown, changed: Fields, pass: Pass<Spec, Facts>): Facts;
    /**
     * Returns the kind's status fields to store before an update is sent. They apply until the response to the update
     * arrives.
     */
    supposedOfUpdate?(changed: Fields, pass: Pass<Spec, Facts>): Facts;
    remove(id: string): Request;
  };
  /** Says what prevents a deletion that the service refuses. */
  blocked?(refusal: Refusal, pass: Pass<Spec, Facts>): string | undefined;
  /** Says what stays in the service after the object was deleted, such as the volumes of a database. */
  staysBehind?(pass: Pass<Spec, Facts>): string | undefined;
  /**
   * Returns the next step when the object in the service equals the spec. For a kind without this function, the object
   * is then ready.
   */
  settle?(pass: Pass<Spec, Facts>, seen: Sight<Item>): Step<Facts>;
  facts(pass: Pass<Spec, Facts>, seen: Sight<Item>): Facts;
  /** Returns those status fields of the kind that stay when the object in the service is gone or replaced. */
  factsOfNext(facts: Facts): Facts;
  /** Returns the conditions that only this kind has. `facts` has the kind's new status fields. */
  conditions?(pass: Pass<Spec, Facts>, seen: Sight<Item>, facts: Facts): readonly OwnCondition[];
  /** Returns events about changes since the last status. `facts` has the kind's new status fields. */
  notices?(pass: Pass<Spec, Facts>, seen: Sight<Item>, facts: Facts): readonly Notice[];
}
