import type { Json } from '../../../base/json.ts';
import type { Read, Request } from '../../ports.ts';
import type { Pass } from '../contract/pass.ts';
import type { Notice, OwnCondition, Refusal, Step } from '../contract/step.ts';

/** The content of an object by field: what the spec wants, or what the service shows. An undefined field says nothing. */
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

/** Another object of the service that a call names. */
export interface Named {
  readonly id: string;
  readonly single: Read;
  /** The object in the words of the spec: `contact point cp_1 of ContactPoint ops`. */
  readonly words: string;
}

/**
 * An object that the service lists, and that is created, updated and removed by one call each.
 *
 * The shared planner (`planObject`) does everything else: adoption, creating at most once, absence, drift, deletion.
 */
export interface ObjectPlan<Spec = unknown, Facts = unknown, Item = unknown> {
  /** The users' word for it, in lower case: `contact point`. */
  readonly noun: string;
  list(pass: Pass<Spec, Facts>): Read<Item>;
  single(id: string): Read<Item>;
  /** False while it is unknown which list has the object, because a reference is gone. Without this function it is always known. */
  isPlaced?(pass: Pass<Spec, Facts>): boolean;
  /** The object that contains this one and may be deleted before it: the list that shows the container, and its id there. */
  placeOf?(pass: Pass<Spec, Facts>): { readonly list: Read; readonly id: string };
  name(pass: Pass<Spec, Facts>): string;
  nameOf(item: Item): string;
  /** When the item was created; undefined when it does not show that. */
  createdAtOf(item: Item): number | undefined;
  /** The account that an item names. Without this function, or when the item names none, the account's list decides. */
  accountOf?(item: Item): string | undefined;
  /** The mark in the item, which says which resource created it; absent for kinds whose objects have no room for a mark. */
  markerOf?(item: Item): string | undefined;
  lifecycle(spec: Spec): Lifecycle;
  externalId(spec: Spec): string | undefined;
  /** The step to take instead of any call, such as for a metric that the environment cannot have; undefined for none. */
  admit?(pass: Pass<Spec, Facts>): Step<Facts> | undefined;
  /** Other objects that the calls name: a refusal may be about one of these. */
  namesInCalls?(pass: Pass<Spec, Facts>): readonly Named[];
  /** Further reads that must be there before the object can be compared. */
  alsoReads?(pass: Pass<Spec, Facts>, id: string): readonly Read[];
  desired(pass: Pass<Spec, Facts>): Fields;
  /** The same fields as the service shows them; a field that it never shows is absent. */
  observed(item: Item, pass: Pass<Spec, Facts>): Fields;
  /** Fields that the interface never shows back; remembered as fingerprints instead of being compared. */
  hidden?(field: string, pass: Pass<Spec, Facts>): boolean;
  /** Fields that the service hides only at times, such as while they are empty; their fingerprint is always kept. */
  hiddenAtTimes?(field: string): boolean;
  /** Fields that another resource manages now: the value in this spec counts as sent. */
  sentElsewhere?(field: string, pass: Pass<Spec, Facts>): boolean;
  /** Shown fields whose fingerprint is kept as well, to notice when the spec drops them. */
  kept?(field: string): boolean;
  /** Fields that another wanted field replaces: the service no longer has them. */
  replaced?(field: string, wanted: Fields): boolean;
  /** Fields that hold secrets: shown as `(redacted)` wherever they differ. */
  secret?(field: string): boolean;
  /** Fields that the service cannot change after creation. */
  readonly fixed?: readonly string[];
  /** Fields that creation does not take; the first update sets them. */
  readonly afterCreation?: readonly string[];
  /** Fields that only creation takes and that are never shown: they are listed as unverified. */
  creationOnly?(spec: Spec): readonly string[];
  /** A step to take instead of an update that must wait. */
  mustWait?(pass: Pass<Spec, Facts>, changed: Fields): Step<Facts> | undefined;
  readonly requests: {
    create(pass: Pass<Spec, Facts>, fields: Fields): Request;
    idOfCreated(body: unknown): string | undefined;
    /** Fields that the answer to a creation shows. */
    shownByCreated?(body: unknown): Fields;
    update(id: string, changed: Fields, pass: Pass<Spec, Facts>): Request;
    /** The changed fields that need a call of their own before the others; without this function all go at once. */
    updateFirst?(changed: Fields, pass: Pass<Spec, Facts>): readonly string[] | undefined;
    /** Ids of the service that are locked during an update; see `Call.alone`. */
    updateAlone?(pass: Pass<Spec, Facts>): readonly string[];
    /** The facts that the answer to an update tells. */
    learnedByUpdate?(body: unknown, changed: Fields, pass: Pass<Spec, Facts>): Facts;
    /** The facts to remember while the answer to an update is missing. */
    supposedOfUpdate?(changed: Fields, pass: Pass<Spec, Facts>): Facts;
    remove(id: string): Request;
  };
  /** Says what stands in the way of a removal that the service refuses. */
  blocked?(refusal: Refusal, pass: Pass<Spec, Facts>): string | undefined;
  /** Says what the service keeps after a removal. */
  staysBehind?(pass: Pass<Spec, Facts>): string | undefined;
  /** The next step once spec and service agree. Without this function the object is ready. */
  settle?(pass: Pass<Spec, Facts>, seen: Sight<Item>): Step<Facts>;
  facts(pass: Pass<Spec, Facts>, seen: Sight<Item>): Facts;
  /** Facts that stay when the bound object is gone or replaced. */
  factsOfNext(facts: Facts): Facts;
  /** Conditions of the kind; `facts` is what status shows now. */
  conditions?(pass: Pass<Spec, Facts>, seen: Sight<Item>, facts: Facts): readonly OwnCondition[];
  /** Events about changes since the last status; `facts` is what status shows now. */
  notices?(pass: Pass<Spec, Facts>, seen: Sight<Item>, facts: Facts): readonly Notice[];
}
