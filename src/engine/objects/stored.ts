/**
 * Parses the objects that are stored in Kubernetes, and indexes them by account, reference, Secret, ConfigMap, id and
 * pending create call. Also renders their status for writing.
 *
 * Guarantees: `Stored` is the newest known version of its object, from the watch or from the operator's own later
 * write. Its index keys are those of this version. If an edit removes a reference from the spec, the index key of that
 * reference stays until the edited spec is applied. An object is in the index exactly as long as it exists.
 */
import { fit, type Cut, tokenIn } from '../kind/schema/schema.ts';
import { definedIn, isRecord, stated, unlessEmpty } from '../../base/json.ts';
import { type AnyKind, type Needs, annotations } from '../kind/contract/define.ts';
import { finalizer, type KubeObject, type MaterialName, type ObjectMeta } from '../ports.ts';
import { CommonStatus, InternalStatus } from '../kind/schema/status.ts';
import type { Condition, Memory, Showing } from '../kind/contract/step.ts';
import { z } from 'zod';

/** An object as it is stored in Kubernetes, with its spec and its status parsed. */
export interface ParsedObject {
  readonly key: string;
  readonly kind: AnyKind;
  readonly object: KubeObject;
  readonly spec:
    | { readonly is: 'valid'; readonly value: unknown }
    | { readonly is: 'invalid'; readonly message: string }
    /** Parsing threw an error because of a bug of the operator. The next reconcile throws the same error. */
    | { readonly is: 'broken'; readonly cause: unknown };
  readonly needs: Needs;
  /** The ids of objects in the service that the spec claims for this resource. */
  readonly claims: readonly string[];
  readonly status: StoredStatus;
  /** The key of the account that the object belongs to. For an account object, its own key. */
  readonly account: string;
}

/**
 * A parsed object in the index, with its index keys. The index finds the object by each of these keys. To save memory,
 * `object` lacks the spec as Kubernetes stores it: what is needed of it is in the other fields.
 */
export interface Stored extends ParsedObject {
  readonly indexKeys: readonly string[];
}

// ---- names -----------------------------------------------------------------------------------------------------

/**
 * Returns the key of an object within the cluster, such as `ContactPoint/team-a/on-call`. The namespace of a
 * cluster-scoped object is empty.
 */
export function keyOf(kind: string, namespace: string | undefined, name: string): string {
  return `${kind}/${namespace ?? ''}/${name}`;
}

/** Returns the key of a Kubernetes object. */
export function keyOfObject(object: KubeObject): string {
  return keyOf(object.kind, object.metadata.namespace, object.metadata.name);
}

/** Splits the key of an object into its kind, namespace and name. */
export function partsOfKey(key: string): { readonly kind: string; readonly namespace: string; readonly name: string } {
  const [kind = '', namespace = '', ...name] = key.split('/');
  return { kind, namespace, name: name.join('/') };
}

/** Returns the kind and name of an object for messages, such as `ContactPoint team-a/on-call`. */
export function inWords(kind: string, meta: Pick<ObjectMeta, 'name' | 'namespace'>): string {
  return `${kind} ${meta.namespace === undefined ? '' : `${meta.namespace}/`}${meta.name}`;
}

/** Returns the kind and name of a stored object for messages, such as `ContactPoint team-a/on-call`. */
export function storedInWords(stored: Stored): string {
  return inWords(stored.kind.kind, stored.object.metadata);
}

/** Returns the name of an account in metrics: `team-a/default`, or `shared` for a cluster-wide account of this name. */
export function accountLabel({ namespace, name }: Pick<ObjectMeta, 'name' | 'namespace'>): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

// ---- the index of objects --------------------------------------------------------------------------------------

/**
 * Builds index keys. An index key stands for an account, another object, a Secret, a ConfigMap, an id or a name. When
 * one of these changes, its index key finds the objects that must be reconciled.
 */
export const indexKey = {
  account: (key: string) => `account:${key}`,
  object: (kind: string, namespace: string | undefined, name: string) => `object:${keyOf(kind, namespace, name)}`,
  material: ({ kind, namespace, name }: MaterialName) => `${kind}:${namespace}/${name}`,
  claim: (kind: string, id: string) => `claim:${kind}/${id}`,
  wipe: (id: string) => `wipe:${id}`,
  create: (collection: string, name: string) => `create:${collection}/${name}`,
} as const;

/**
 * Returns the key of the resource that an index key stands for; undefined if the index key does not stand for a
 * resource.
 */
export function referredKey(name: string): string | undefined {
  return name.startsWith('object:') ? name.slice('object:'.length) : undefined;
}

/** True if an index key stands for an id of the service, which only one object can own. */
export function isClaim(name: string): boolean {
  return name.startsWith('claim:');
}

/** A cache of all objects of the operator's kinds, by key. An index finds the objects that have a given index key. */
export class ObjectIndex {
  readonly #kinds: ReadonlyMap<string, AnyKind>;
  readonly #operatorNamespace: string;
  readonly #stored = new Map<string, Stored>();
  /**
   * The keys of objects by index key. Most index keys find only one object; then the entry is a plain string, since a
   * `Set` for each would take a tenth of all memory.
   */
  readonly #index = new Map<string, string | Set<string>>();

  constructor(kinds: readonly AnyKind[], operatorNamespace: string) {
    this.#kinds = new Map(kinds.map((kind) => [kind.kind, kind]));
    this.#operatorNamespace = operatorNamespace;
  }

  get(key: string): Stored | undefined {
    return this.#stored.get(key);
  }

  values(): Iterable<Stored> {
    return this.#stored.values();
  }

  /**
   * Stores the newest version of an object and updates its index keys. If `status` is given, it is used as it is and
   * not parsed again.
   */
  apply(object: KubeObject, status?: StoredStatus): Stored | undefined {
    const kind = this.#kinds.get(object.kind);
    if (kind === undefined) return undefined;
    const key = keyOfObject(object);
    const before = this.#stored.get(key);
    // Parse the spec again unless this is the operator's own write. After a restore of the cluster, another spec may have the
    // generation of a spec that was lost.
    const whole = parseStored(kind, object, status && before, status);
    const indexKeys = indexKeysOf(whole, this.#operatorNamespace);
    // Until a changed spec is applied, the service still uses the objects that the old spec referred to. So their index
    // keys stay.
    const isApplied = whole.status.memory.applied?.generation === object.metadata.generation;
    const dropped = isApplied ? [] : (before?.indexKeys ?? []).filter((name) => referredKey(name) !== undefined);
    const { spec: _parsed, ...withoutSpec } = object;
    const stored = { ...whole, object: withoutSpec, indexKeys: [...new Set([...indexKeys, ...dropped])] };
    this.#stored.set(key, stored);
    this.#unindex(key, before?.indexKeys ?? []);
    for (const name of stored.indexKeys) {
      const keys = this.#index.get(name);
      if (keys === undefined) this.#index.set(name, key);
      else if (typeof keys === 'string') this.#index.set(name, new Set([keys, key]));
      else keys.add(key);
    }
    return stored;
  }

  remove(key: string): void {
    this.#unindex(key, this.#stored.get(key)?.indexKeys ?? []);
    this.#stored.delete(key);
  }

  /** Returns the objects that are indexed under an index key. */
  indexedBy(name: string): readonly Stored[] {
    const keys = this.#index.get(name) ?? [];
    return (typeof keys === 'string' ? [keys] : [...keys]).flatMap((key) => this.#stored.get(key) ?? []);
  }

  #unindex(key: string, names: readonly string[]): void {
    for (const name of names) {
      const keys = this.#index.get(name);
      if (typeof keys === 'string') {
        if (keys === key) this.#index.delete(name);
      } else if (keys?.delete(key) === true && keys.size === 0) this.#index.delete(name);
    }
  }
}

/**
 * Parses an object. A given status is not parsed again. If `before` is given and has the same uid and generation, the
 * spec is not parsed again either.
 */
export function parseStored(
  kind: AnyKind,
  object: KubeObject,
  before?: ParsedObject,
  status: StoredStatus = parseStatus(kind, object.status),
): ParsedObject {
  const { uid, generation, namespace } = object.metadata;
  const unchanged =
    before?.object.metadata.uid === uid && before.object.metadata.generation === generation && generation !== undefined;
  const key = keyOfObject(object);
  const { spec, needs, claims } = unchanged ? before : takeApart(kind, object);
  const account = unchanged ? before.account : accountOf(kind, key, namespace, object.spec);
  return { key, kind, object, spec, needs, claims, status, account };
}

/** Parses a spec. An error is stored with the object, so that other objects are not affected. */
function takeApart(
  kind: AnyKind,
  object: Pick<KubeObject, 'spec' | 'tooLarge'>,
): Pick<ParsedObject, 'spec' | 'needs' | 'claims'> {
  try {
    const spec = parseSpec(kind, object);
    if (spec.is !== 'valid') return { spec, needs: {}, claims: [] };
    return { spec, needs: kind.needs(spec.value), claims: kind.claims?.(spec.value) ?? [] };
  } catch (cause) {
    return { spec: { is: 'broken', cause }, needs: {}, claims: [] };
  }
}

function parseSpec(kind: AnyKind, object: Pick<KubeObject, 'spec' | 'tooLarge'>): ParsedObject['spec'] {
  if (object.tooLarge !== undefined) return { is: 'invalid', message: object.tooLarge };
  const parsed = kind.spec.safeParse(object.spec ?? {});
  if (parsed.success) return { is: 'valid', value: parsed.data };
  const [issue] = parsed.error.issues;
  const path = ['spec', ...(issue?.path ?? [])].join('.');
  return { is: 'invalid', message: `${path}: ${issue?.message ?? 'not valid'}` };
}

/**
 * Returns the key of an object's account: the account that `spec.accountRef` names, or the HostingAccount `default` of
 * the object's namespace.
 */
function accountOf(kind: AnyKind, key: string, namespace: string | undefined, spec: unknown): string {
  if (kind.life === 'account') return key;
  const ref = isRecord(spec) && isRecord(spec['accountRef']) ? spec['accountRef'] : {};
  const name = typeof ref['name'] === 'string' ? ref['name'] : 'default';
  if (ref['kind'] === 'ClusterHostingAccount') return keyOf('ClusterHostingAccount', undefined, name);
  return keyOf('HostingAccount', namespace, name);
}

function indexKeysOf(stored: ParsedObject, operatorNamespace: string): readonly string[] {
  const { kind, object, spec, needs, claims, status } = stored;
  const namespace = object.metadata.namespace ?? operatorNamespace;
  const { id, journal, facts } = status.memory;
  const own = [...claims, ...(kind.made?.(facts) ?? []), ...(id === undefined ? [] : [id])];
  const wiped = spec.is === 'valid' ? (kind.wipes?.(spec.value, facts) ?? []) : [];
  return [
    ...(kind.life === 'account' ? [] : [indexKey.account(stored.account)]),
    ...(needs.secrets ?? []).map((need) => indexKey.material({ kind: 'Secret', namespace, name: need.name })),
    ...(needs.configMaps ?? []).map((need) => indexKey.material({ kind: 'ConfigMap', namespace, name: need.name })),
    ...(needs.references ?? []).map((need) => indexKey.object(need.kind, object.metadata.namespace, need.name)),
    ...own.map((one) => indexKey.claim(kind.kind, one)),
    ...wiped.map((one) => indexKey.wipe(one)),
    ...(journal?.create === undefined ? [] : [indexKey.create(journal.create.collection, journal.create.name)]),
  ];
}

/**
 * True when the first of two objects is older. If both claim the same id of the service, the older object owns the id.
 */
export function goesFirst(a: KubeObject, b: KubeObject): boolean {
  const [left, right] = [a.metadata, b.metadata];
  if (left.creationTimestamp !== right.creationTimestamp) return left.creationTimestamp < right.creationTimestamp;
  return left.uid < right.uid;
}

/** Returns the keys of the resources that a spec refers to. */
export function referredBy({ needs, object }: ParsedObject): readonly string[] {
  return (needs.references ?? []).map(({ kind, name }) => keyOf(kind, object.metadata.namespace, name));
}

// ---- status ----------------------------------------------------------------------------------------------------
//
// The status of an object: parsed from the stored object, and rendered so that the API server accepts it.

/** The schema of a usable journal entry. An entry without the values that the next step needs counts as unreadable. */
const Journal = InternalStatus.journal.refine((entry) => entry === undefined || isUsable(entry));

function isUsable(entry: NonNullable<z.output<typeof InternalStatus.journal>>): boolean {
  const isTimed = !Number.isNaN(Date.parse(entry.startedAt)) && entry.deadlineSeconds > 0;
  return isTimed && entry.attempt > 0 && (entry.operation !== 'create' || entry.create !== undefined);
}

const Common = z.object({
  externalId: z.string().min(1).optional().catch(undefined),
  conditions: CommonStatus.shape.conditions.catch(undefined),
  lastHandledReconcileAt: CommonStatus.shape.lastHandledReconcileAt.catch(undefined),
  ownership: InternalStatus.ownership.catch(undefined),
  binding: InternalStatus.binding.catch(undefined),
  applied: InternalStatus.applied.catch(undefined),
});

/** A parsed status: what the engine remembers of the object, and the conditions. */
export interface StoredStatus {
  readonly memory: Memory;
  readonly conditions: readonly Condition[];
  readonly lastHandledReconcileAt: string | undefined;
  /**
   * The content of a journal that cannot be parsed. Nothing is sent for the object until a person has removed the
   * journal.
   */
  readonly damaged: unknown;
}

/**
 * Parses a status. A field that cannot be parsed is treated as missing. Only a journal that cannot be parsed is kept
 * unchanged, in `damaged`.
 */
export function parseStatus(kind: AnyKind, status: unknown): StoredStatus {
  const fields = flat(status);
  const { externalId: id, ownership, binding, applied, conditions = [], lastHandledReconcileAt } = Common.parse(fields);
  const journal = Journal.safeParse(fields['journal']);
  const facts = kind.facts.safeParse(fields);
  return {
    memory: { id, ownership, binding, journal: journal.data, applied, facts: facts.success ? facts.data : {} },
    conditions: conditions.map((one) => ({ ...one, observedGeneration: one.observedGeneration ?? -1 })),
    lastHandledReconcileAt,
    damaged: journal.success ? undefined : fields['journal'],
  };
}

/** Returns the fields of a status, with the fields under `internal` moved to the top level. */
function flat(status: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(status)) return {};
  const { internal, ...fields } = status;
  return isRecord(internal) ? { ...fields, ...internal } : fields;
}

/**
 * The lists in status that compare the spec with the object in the service: fields that differ (`drift`), fields that
 * the service never shows (`unverified`), and fields of an earlier spec that cannot be cleared (`leftover`).
 */
export type StatusLists = Required<Pick<Showing, 'drift' | 'unverified' | 'leftover'>>;

const mostCuts = 20;

/**
 * The status fields of all kinds that are fitted to the schema. The kind's own fields are fitted too. Other fields, such
 * as the id and the journal, are written as they are.
 */
const Shown = CommonStatus.pick({ conditions: true, drift: true, unverified: true, leftover: true, wouldDo: true });

/**
 * Renders the whole status without undefined fields. Fits conditions, lists and the kind's own fields to the schema (see
 * `fit`). The status field `truncated` names the lists that were cut, at most 20.
 */
export function renderStatus(
  kind: AnyKind,
  { memory, conditions, lastHandledReconcileAt, damaged }: StoredStatus,
  { drift, unverified, leftover }: StatusLists,
  wouldDo?: string,
): Readonly<Record<string, unknown>> {
  const own = fit(kind.facts, isRecord(memory.facts) ? memory.facts : {});
  const shown = fit(Shown, {
    conditions: [...conditions] as z.output<typeof Shown>['conditions'],
    drift: unlessEmpty(drift),
    unverified: unlessEmpty(unverified),
    leftover: unlessEmpty(leftover),
    wouldDo,
  });
  const isInternal = (field: string) => kind.internal?.includes(field) === true;
  const rows = Object.entries(isRecord(own.value) ? own.value : {});
  return definedIn({
    ...Object.fromEntries(rows.filter(([field]) => !isInternal(field))),
    ...shown.value,
    externalId: memory.id,
    observedGeneration: readyIn(conditions)?.observedGeneration ?? -1,
    lastHandledReconcileAt,
    internal: stated({
      ...Object.fromEntries(rows.filter(([field]) => isInternal(field))),
      ownership: memory.ownership,
      binding: memory.binding,
      // A journal that the operator cannot parse is written back unchanged.
      journal: damaged ?? memory.journal,
      applied: memory.applied,
    }),
    truncated: unlessEmpty(truncated([...own.cut, ...shown.cut])),
  });
}

/** Merges the entries about lists that were cut: each list appears once, with the greatest `total` of its entries. */
function truncated(cuts: readonly Cut[]): readonly Cut[] {
  const totals = new Map<string, number>();
  for (const { field, total } of cuts) totals.set(field, Math.max(total, totals.get(field) ?? 0));
  return [...totals].slice(0, mostCuts).map(([field, total]) => ({ field, total }));
}

/** The group in which the status of an account counts a resource. */
export type CountGroup = 'Ready' | 'Throttled' | 'Forbidden' | 'NotReady';

/**
 * Returns the group in which an account counts this resource; the resource's condition Ready decides which group it is.
 * Returns undefined when the resource is gone.
 */
export function countGroupOf(stored: Stored | undefined): CountGroup | undefined {
  if (stored === undefined) return undefined;
  const { status, reason } = readyIn(stored.status.conditions) ?? {};
  if (status === 'True') return 'Ready';
  return reason === 'Throttled' || reason === 'Forbidden' ? reason : 'NotReady';
}

/** Returns the condition Ready of a status. */
export function readyIn(conditions: readonly Condition[]): Condition | undefined {
  return conditions.find(({ type }) => type === 'Ready');
}

/** True while the object has the operator's finalizer. */
export function isHeldByUs({ metadata }: KubeObject): boolean {
  return metadata.finalizers?.includes(finalizer) === true;
}

/** Returns the value of the annotation `apphosting.dev/reconcile-at`, cut to the length that status can store. */
export function reconcileToken({ metadata }: KubeObject): string | undefined {
  return tokenIn(metadata.annotations, annotations.reconcileAt);
}

/** Returns the value of the annotation `apphosting.dev/accept-missing`, cut to the length that status can store. */
export function acceptMissingToken({ metadata }: KubeObject): string | undefined {
  return tokenIn(metadata.annotations, annotations.acceptMissing);
}
