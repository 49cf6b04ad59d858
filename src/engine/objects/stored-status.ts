import type { Condition, Drift, JournalEntry, Memory } from '../kind/contract/step.ts';
import { isRecord } from '../../base/json.ts';
import { z } from 'zod';
import type { AnyKind } from '../kind/contract/define.ts';
import { fit, type Cut } from '../kind/schema/fit.ts';
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
