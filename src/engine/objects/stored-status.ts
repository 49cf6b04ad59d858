/** The status of an object: parsed as Kubernetes has it, and rendered so that the API server takes it. */
import type { Condition, Drift, JournalEntry, Memory } from '../kind/contract/step.ts';
import { isRecord } from '../../base/json.ts';
import { z } from 'zod';
import type { AnyKind } from '../kind/contract/define.ts';
import { CommonStatus } from '../kind/schema/status.ts';

const JournalFields = z.object({
  operation: z.string(),
  attempt: z.int().min(1),
  endpoint: z.string(),
  accountId: z.string(),
  startedAt: z.string(),
  deadlineSeconds: z.number().positive(),
  digest: z.string(),
  create: z
    .object({
      collection: z.string(),
      name: z.string(),
      excluded: z.array(z.string()),
      serviceTime: z.string().exactOptional(),
    })
    .optional(),
  conflicted: z.string().optional(),
  before: z.string().optional(),
  requestId: z.string().optional(),
  payload: z.string().optional(),
});

/** An entry that lacks what the next step needs counts as unreadable. */
const Journal = JournalFields.refine(
  ({ startedAt, operation, create }) =>
    !Number.isNaN(Date.parse(startedAt)) && (operation !== 'create' || create !== undefined),
);

const Common = z.object({
  observedGeneration: z.number().optional().catch(undefined),
  conditions: z
    .array(
      z.object({
        type: z.string(),
        status: z.enum(['True', 'False', 'Unknown']),
        reason: z.string(),
        message: z.string(),
        observedGeneration: z.number().catch(-1),
        lastTransitionTime: z.string(),
      }),
    )
    .catch([]),
  lastHandledReconcileAt: z.string().optional().catch(undefined),
  ownership: z.enum(['Created', 'Adopted', 'Presumed']).optional().catch(undefined),
  binding: z.object({ endpoint: z.string(), accountId: z.string() }).optional().catch(undefined),
  journal: Journal.optional(),
  applied: z
    .object({
      generation: z.number(),
      prints: z.record(z.string(), z.string()).default({}),
      unshown: z.literal(true).optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
});

/** A status as it was parsed: what the engine keeps in it, and what a new status is compared with. */
export interface StoredStatus<Facts> {
  readonly memory: Memory<Facts>;
  readonly conditions: readonly Condition[];
  readonly lastHandledReconcileAt: string | undefined;
  /** A journal that cannot be parsed, as it stands. Nothing is sent until a person has looked at it. */
  readonly damaged: unknown;
}

/** Parses a status. Unreadable parts count as absent, except the journal. */
export function parseStatus(kind: AnyKind, status: unknown): StoredStatus<unknown> {
  const fields = flat(status);
  const parsed = Common.safeParse(fields);
  const common = parsed.success ? parsed.data : Common.parse({ ...fields, journal: undefined });
  const id = fields['externalId'];
  const facts = kind.facts.safeParse(fields);
  return {
    memory: {
      id: typeof id === 'string' && id !== '' ? id : undefined,
      ownership: common.ownership,
      binding: common.binding,
      journal: parsed.success ? withoutUndefined<JournalEntry>(parsed.data.journal) : undefined,
      applied: common.applied,
      facts: facts.success ? facts.data : {},
    },
    conditions: common.conditions,
    lastHandledReconcileAt: common.lastHandledReconcileAt,
    damaged: parsed.success ? undefined : fields['journal'],
  };
}

/** The fields of a status side by side, wherever they stand. */
function flat(status: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(status)) return {};
  const { internal, ...fields } = status;
  return isRecord(internal) ? { ...fields, ...internal } : fields;
}

/** Everything a status is written from. */
export interface StatusParts {
  readonly memory: Memory<unknown>;
  /** A journal that cannot be read stays as it is. */
  readonly damaged?: unknown;
  readonly observedGeneration: number | undefined;
  readonly conditions: readonly Condition[];
  readonly lastHandledReconcileAt: string | undefined;
  readonly drift: readonly Drift[];
  readonly unverified: readonly string[];
  readonly leftover: readonly string[];
  readonly wouldDo: string | undefined;
}

const mostCuts = 20;

/** The shared fields of status that people read and that may be cut; the engine must find the others again as written. */
const Shown = CommonStatus.pick({ conditions: true, drift: true, unverified: true, leftover: true, wouldDo: true });

/**
 * Renders the whole status without undefined fields. What people read is cut to the limits of the schema, and `truncated`
 * says so.
 */
export function renderStatus(kind: AnyKind, parts: StatusParts): Readonly<Record<string, unknown>> {
  const { memory } = parts;
  const facts: Readonly<Record<string, unknown>> = isRecord(memory.facts) ? memory.facts : {};
  const own = fit(kind.facts, facts);
  const shown = fit(Shown, {
    conditions: [...parts.conditions] as z.output<typeof Shown>['conditions'],
    drift: stated(parts.drift),
    unverified: stated(parts.unverified),
    leftover: stated(parts.leftover),
    wouldDo: parts.wouldDo,
  });
  const isInternal = (field: string) => kind.internal?.includes(field) === true;
  const rows = Object.entries(isRecord(own.value) ? own.value : {});
  return definedIn({
    ...Object.fromEntries(rows.filter(([field]) => !isInternal(field))),
    ...shown.value,
    externalId: memory.id,
    observedGeneration: parts.observedGeneration ?? -1,
    lastHandledReconcileAt: parts.lastHandledReconcileAt,
    internal: anyOf({
      ...Object.fromEntries(rows.filter(([field]) => isInternal(field))),
      ownership: memory.ownership,
      binding: memory.binding,
      journal: parts.damaged ?? memory.journal,
      applied: memory.applied,
    }),
    truncated: stated(truncated([...own.cut, ...shown.cut])),
  });
}

function definedIn(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function anyOf(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const defined = definedIn(fields);
  return Object.keys(defined).length === 0 ? undefined : defined;
}

function stated<Item>(list: readonly Item[]): Item[] | undefined {
  return list.length === 0 ? undefined : [...list];
}

/** Each cut list once, with its greatest length. */
function truncated(cuts: readonly Cut[]): readonly Cut[] {
  const totals = new Map<string, number>();
  for (const { field, total } of cuts) totals.set(field, Math.max(total, totals.get(field) ?? 0));
  return [...totals].slice(0, mostCuts).map(([field, total]) => ({ field, total }));
}

function withoutUndefined<T extends object>(value: { [K in keyof T]?: T[K] | undefined } | undefined): T | undefined {
  if (value === undefined) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T;
}

// ---- a status that fits its schema -----------------------------------------------------------------------------
//
// Cuts a status to its schema, because the API server refuses a whole status that does not fit.
//
// Only fields for people are cut, never the journal: bytes that are sent again must be the same bytes.
//
// Why: docs/design/status-and-conditions.md#a-status-is-cut-to-its-schema-before-it-is-written

/** A list that lost entries. */
interface Cut {
  readonly field: string;
  readonly total: number;
}

/** A value that fits the schema, and the lists that were cut for it. */
export interface Fitted<Value> {
  readonly value: Value;
  readonly cut: readonly Cut[];
}

interface Node {
  readonly type?: string;
  readonly format?: string;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly additionalProperties?: Node | boolean;
}

const nodes = new WeakMap<z.ZodType, Node>();

/**
 * Cuts a value to its schema: texts and lists lose their end, numbers go to the nearest bound, unknown fields and invalid
 * times are dropped.
 */
export function fit<Value>(schema: z.ZodType<Value>, value: Value): Fitted<Value> {
  let node = nodes.get(schema);
  if (node === undefined) {
    node = z.toJSONSchema(schema, { io: 'input' }) as Node;
    nodes.set(schema, node);
  }
  const cut: Cut[] = [];
  return { value: within(node, value, '', cut) as Value, cut };
}

function within(node: Node, value: unknown, path: string, cut: Cut[]): unknown {
  if (typeof value === 'string') return shortened(value, node.maxLength);
  if (typeof value === 'number') return Math.min(Math.max(value, node.minimum ?? value), node.maximum ?? value);
  if (Array.isArray(value)) return list(node, value, path, cut);
  if (typeof value === 'object' && value !== null) return object(node, value, path, cut);
  return value;
}

// As the API server reads times: https://github.com/go-openapi/strfmt/blob/v0.23.0/time.go
const timeForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:[.]\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/** The API server would refuse the whole status for a text that is no time where there must be one. */
function isNoTime({ format }: Node, value: unknown): boolean {
  return (
    format === 'date-time' && !(typeof value === 'string' && timeForm.test(value) && !Number.isNaN(Date.parse(value)))
  );
}

/** Characters are counted as the API server counts them. */
function shortened(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  if (text.length <= maxLength) return text;
  const characters = Array.from(text);
  return characters.length <= maxLength ? text : `${characters.slice(0, maxLength - 1).join('')}…`;
}

function list(node: Node, items: readonly unknown[], path: string, cut: Cut[]): unknown {
  const { maxItems = items.length, items: item } = node;
  if (items.length > maxItems) cut.push({ field: path, total: items.length });
  return item === undefined ? items : items.slice(0, maxItems).map((one) => within(item, one, `${path}[]`, cut));
}

function object(node: Node, value: object, path: string, cut: Cut[]): unknown {
  const { properties, additionalProperties, maxProperties } = node;
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  const given = Object.entries(value).filter(([, one]) => one !== undefined);
  if (properties !== undefined) {
    return Object.fromEntries(
      given.flatMap(([name, one]) => {
        const child = properties[name];
        return child === undefined || isNoTime(child, one) ? [] : [[name, within(child, one, at(name), cut)]];
      }),
    );
  }
  const most = maxProperties ?? given.length;
  if (given.length > most) cut.push({ field: path, total: given.length });
  if (typeof additionalProperties !== 'object') return Object.fromEntries(given.slice(0, most));
  const kept = given.slice(0, most).map(([name, one]) => [name, within(additionalProperties, one, at(name), cut)]);
  return Object.fromEntries(kept);
}
