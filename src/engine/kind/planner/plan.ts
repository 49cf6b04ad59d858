import type { Json } from '../../../base/json.ts';
import type { Read, Request } from '../../ports.ts';
import type { Pass } from '../contract/pass.ts';
import type { Notice, OwnCondition, Refusal, Step } from '../contract/step.ts';

/** The content of an object by field, as the spec wants it or as the service shows it. An undefined field says nothing. */
export type Fields = Readonly<Record<string, Json | undefined>>;

/** The fields of `spec.lifecycle`, with the kind's defaults filled in. */
export interface Lifecycle {
  readonly managementPolicy: 'Manage' | 'Observe';
  readonly adoption: 'Never' | 'ById' | 'ByName' | undefined;
  readonly onDelete: 'Delete' | 'Retain' | undefined;
  readonly onMissing: 'Recreate' | 'Stall';
  readonly drift: 'Correct' | 'Report';
}

/** An object as far as it is known: the item that the service shows, and its fields with our own newer writes. */
export interface Sight<Item = unknown> {
  readonly item: Item | undefined;
  readonly fields: Fields;
}

/** An object of the service that a call for another object names. */
export interface Named {
  readonly id: string;
  readonly single: Read;
  /** The object in the words of the spec, such as `contact point cp_1 of ContactPoint ops`. */
  readonly words: string;
}

/**
 * Describes objects that the service lists, and that one call each creates, updates and removes.
 *
 * The shared planner (`planObject`) does everything else: adoption, creating at most once, absence, drift, deletion.
 */
export interface ObjectPlan<Spec = unknown, Facts = unknown, Item = unknown> {
  /** What users call the object, in lower case, such as `contact point`. */
  readonly noun: string;
  list(pass: Pass<Spec, Facts>): Read<Item>;
  single(id: string): Read<Item>;
  /**
   * Returns the object that contains this one and may be deleted before it: the list that shows the container, and its id in that
   * list. The id is empty while it is unknown, because a reference is gone; then it is unknown, too, which list has the object.
   */
  placeOf?(pass: Pass<Spec, Facts>): { readonly list: Read; readonly id: string };
  name(pass: Pass<Spec, Facts>): string;
  nameOf(item: Item): string;
  /** Returns when the item was created; undefined when the item does not show that. */
  createdAtOf(item: Item): number | undefined;
  /** Returns the account that an item names. Without this function, or when the item names none, the account's list decides. */
  accountOf?(item: Item): string | undefined;
  /** Returns the mark in the item, which says which resource created the object. Absent for kinds whose objects have no room for a mark. */
  markerOf?(item: Item): string | undefined;
  lifecycle(spec: Spec): Lifecycle;
  externalId(spec: Spec): string | undefined;
  /** Returns the step to take instead of any call, such as for a metric that the environment cannot have; undefined for none. */
  admit?(pass: Pass<Spec, Facts>): Step<Facts> | undefined;
  /** Returns other objects that the calls name. A refusal may be about one of them. */
  namesInCalls?(pass: Pass<Spec, Facts>): readonly Named[];
  /** Returns further reads that must be complete before the object can be compared. */
  alsoReads?(pass: Pass<Spec, Facts>, id: string): readonly Read[];
  desired(pass: Pass<Spec, Facts>): Fields;
  /** Returns the fields of `desired` with the values that the service shows. A field that the service never shows is absent. */
  observed(item: Item, pass: Pass<Spec, Facts>): Fields;
  /** True for fields that the service never shows. Fingerprints of their values are kept instead of comparing them. */
  hidden?(field: string, pass: Pass<Spec, Facts>): boolean;
  /** True for fields that the service hides only at times, such as while they are empty. Their fingerprint is always kept. */
  hiddenAtTimes?(field: string): boolean;
  /** True for fields that another resource manages now. The value in this spec counts as sent. */
  sentElsewhere?(field: string, pass: Pass<Spec, Facts>): boolean;
  /** True for shown fields whose fingerprint is kept as well, to notice when the spec drops them. */
  kept?(field: string): boolean;
  /** True for fields that another wanted field replaces, so that the service no longer has them. */
  replaced?(field: string, wanted: Fields): boolean;
  /** True for fields that hold secrets. They are shown as `(redacted)` wherever they differ. */
  secret?(field: string): boolean;
  /** Fields that the service cannot change after creation. */
  readonly fixed?: readonly string[];
  /** Fields that the create does not accept. The first update sets them. */
  readonly afterCreation?: readonly string[];
  /** Returns fields that only the create accepts and that the service never shows. They are listed as unverified. */
  creationOnly?(spec: Spec): readonly string[];
  /** Returns a step to take instead of an update that must wait. */
  mustWait?(pass: Pass<Spec, Facts>, changed: Fields): Step<Facts> | undefined;
  readonly requests: {
    create(pass: Pass<Spec, Facts>, fields: Fields): Request;
    idOfCreated(body: unknown): string | undefined;
    /** Returns the fields that the answer to a create shows. */
    shownByCreated?(body: unknown): Fields;
    update(id: string, changed: Fields, pass: Pass<Spec, Facts>): Request;
    /**
     * Returns the changed fields that need a call of their own before the others. Without this function all changed fields are sent
     * at once.
     */
    updateFirst?(changed: Fields, pass: Pass<Spec, Facts>): readonly string[] | undefined;
    /** Returns ids of the service that are locked during an update; see `Call.alone`. */
    updateAlone?(pass: Pass<Spec, Facts>): readonly string[];
    /** Returns the facts that the answer to an update tells. */
    learnedByUpdate?(body: unknown, changed: Fields, pass: Pass<Spec, Facts>): Facts;
    /** Returns the facts to remember while the answer to an update is missing. */
    supposedOfUpdate?(changed: Fields, pass: Pass<Spec, Facts>): Facts;
    remove(id: string): Request;
  };
  /** Says what stands in the way of a removal that the service refuses. */
  blocked?(refusal: Refusal, pass: Pass<Spec, Facts>): string | undefined;
  /** Says what the service keeps after a removal. */
  staysBehind?(pass: Pass<Spec, Facts>): string | undefined;
  /** Returns the next step once the service equals the spec. Without this function the object is ready. */
  settle?(pass: Pass<Spec, Facts>, seen: Sight<Item>): Step<Facts>;
  facts(pass: Pass<Spec, Facts>, seen: Sight<Item>): Facts;
  /** Returns the facts that stay when the bound object is gone or replaced. */
  factsOfNext(facts: Facts): Facts;
  /** Returns the conditions of the kind; `facts` is what status shows now. */
  conditions?(pass: Pass<Spec, Facts>, seen: Sight<Item>, facts: Facts): readonly OwnCondition[];
  /** Returns events about changes since the last status; `facts` is what status shows now. */
  notices?(pass: Pass<Spec, Facts>, seen: Sight<Item>, facts: Facts): readonly Notice[];
}
