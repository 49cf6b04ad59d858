/** What a pass leaves behind: status, events, metrics, and when to look again. */
import { sameJson } from '../../base/json.ts';
import { storedInWords, type Stored } from '../objects/object-index.ts';
import { conclude, type Condition } from './conditions.ts';
import type { Parts } from '../parts.ts';
import type { Pass } from '../kind/contract/pass.ts';
import type { Call, OwnCondition, Showing, Told, Verdict } from '../kind/contract/step.ts';
import { staying } from '../reconcile/leaving.ts';
import { parseStatus, renderStatus, type StatusParts } from '../objects/stored-status.ts';
import { reconcileToken } from '../objects/names.ts';
import { conceded, resolved } from '../objects/in-process.ts';
import type { KubeObject, Outcome } from '../ports.ts';
import { asMarked } from '../call/call-backoff.ts';
import type { Ended, Work } from '../reconcile/work.ts';

/** What a pass says in the end. */
export interface Said {
  readonly verdict: Verdict<unknown>;
  /** Missing where the object could not be looked at: what status showed of it stays. */
  readonly pass: Pass<unknown, unknown> | undefined;
  readonly wouldDo: string | undefined;
}

const resyncMs = 1_200_000;
const stalledRecheckMs = 600_000;
const headlines: ReadonlySet<string> = new Set(['Ready', 'Reconciling', 'Stalled', 'Synced', 'Drifted']);

/** Concludes a pass: writes status when it differs, publishes what changed, and says when to look again. */
export async function concludePass(parts: Parts, work: Work, said: Said): Promise<Ended> {
  const verdict = asShown(said.verdict, work);
  const wouldDo = said.wouldDo && work.shown(said.wouldDo);
  const showing = said.pass === undefined ? undefined : work.entry.kind.show(said.pass);
  const seen = showing?.unseen === true ? undefined : showing;
  const lists = seen ?? keptLists(work.object);
  const { generation = 0 } = work.object.metadata;
  const conditions = conclude({
    verdict,
    own: withAlways(
      work,
      verdict,
      overlaid(
        verdict.conditions ?? [],
        seen === undefined ? keptConditions(work, verdict) : withoutSecrets(seen.conditions, work),
      ),
    ),
    drifted: lists.drift.map((row) => row.field),
    wouldDo,
    generation,
    previous: work.status.conditions,
    wallMs: parts.clock.wall(),
  });
  if (said.pass !== undefined) noteContest(work, verdict, said.pass);
  const token = reconcileToken(work.object);
  const isHandled = token !== undefined && work.inProcess.forced?.token === token;
  const handled = isHandled ? token : work.status.lastHandledReconcileAt;
  const facts = showing?.facts ?? work.status.memory.facts;
  const next: Work = {
    ...work,
    status: {
      ...work.status,
      conditions,
      lastHandledReconcileAt: handled,
      memory: { ...work.status.memory, facts },
    },
  };
  const stored = await write(parts, next, wouldDo, seen);
  if (stored === undefined) return { is: 'overtaken' };
  announce(parts, work, verdict, conditions);
  for (const { note, ...notice } of showing?.notices ?? []) {
    parts.events.record({ regarding: work.object, action: 'Observe', ...notice, note: work.shown(note) });
  }
  parts.concluded(work.entry, verdict);
  if (work.entry.kind.finished?.(facts) === true) {
    // One more pass, which only lets go of what it looked at.
    return { is: 'settled', againInMs: 1 };
  }
  return { is: 'settled', againInMs: againIn(parts, verdict) };
}

/** A verdict as people may read it; whatever is cut is cut after that, or a part of a secret would stay. */
function asShown(verdict: Verdict<unknown>, work: Work): Verdict<unknown> {
  const { conditions, message } = verdict;
  return {
    ...verdict,
    ...(message !== undefined && { message: work.shown(message) }),
    ...(conditions !== undefined && { conditions: withoutSecrets(conditions, work) }),
  };
}

function withoutSecrets(conditions: readonly OwnCondition[], work: Work): readonly OwnCondition[] {
  return conditions.map((condition) => ({ ...condition, message: work.shown(condition.message) }));
}

/** A fight over fields ends when they stand as the spec wants them, and not before. */
function noteContest({ inProcess }: Work, verdict: Verdict<unknown>, pass: Pass<unknown, unknown>): void {
  if (verdict.is === 'stall' && verdict.reason === 'Contested') conceded(inProcess, pass.contested, pass.monotonicMs);
  else if (verdict.is === 'ready' && inProcess.contest.left !== undefined) resolved(inProcess, pass.subject.generation);
}

/** The conditions with those that belong to the kind and of which nothing is known yet, for the reason that Ready has. */
function withAlways(
  { entry }: Work,
  { reason = 'ReadingService', message = '' }: Verdict<unknown>,
  own: readonly OwnCondition[],
): readonly OwnCondition[] {
  const types = new Set(own.map(({ type }) => type));
  const missing = (entry.kind.always ?? []).filter((type) => !types.has(type));
  return [...own, ...missing.map((type): OwnCondition => ({ type, status: 'Unknown', reason, message }))];
}

/** Conditions that the verdict states, and the shown ones of other types. */
function overlaid(stated: readonly OwnCondition[], shown: readonly OwnCondition[]): readonly OwnCondition[] {
  const types = new Set(stated.map(({ type }) => type));
  return [...stated, ...shown.filter(({ type }) => !types.has(type))];
}

/**
 * Writes what the work remembers, unless status says it already; undefined when somebody else was first, or when what was
 * written stands on a spec that this pass has not seen.
 */
export async function write(
  parts: Parts,
  work: Work,
  wouldDo: string | undefined,
  showing?: Showing<unknown>,
): Promise<Work | undefined> {
  const { kind } = work.entry;
  const render = (object: KubeObject) => renderStatus(kind, partsOf(work, object, wouldDo, showing));
  const status = render(work.object);
  if (sameJson(status, work.object.status)) return { ...work, unwrittenId: false };
  const { uid, generation } = work.object.metadata;
  const before = work.entry.status.memory.journal;
  const stillOurs = (newest: KubeObject) => {
    if (newest.metadata.uid !== uid) return undefined;
    const found = parseStatus(kind, newest.status);
    const { journal, id } = found.memory;
    const isWiped = journal === undefined && id === undefined;
    if (!isWiped && !sameJson(journal, before)) return undefined;
    const isJudged = newest.metadata.generation === generation || found.conditions.length === 0;
    return isJudged ? render(newest) : renderStatus(kind, partsOf(learned(work, found), newest, undefined, undefined));
  };
  const written = work.unwrittenId
    ? await parts.writer.commitStatus(work.object, stillOurs)
    : await parts.writer.writeStatus(work.object, status);
  if (work.unwrittenId) work.inProcess.unwritten = undefined;
  // The answer came when the object was gone: nobody else knows what it told.
  if (work.unwrittenId && written.is === 'gone') tellLost(parts, work);
  if (written.is !== 'written') return undefined;
  const { object } = written;
  const entry = { ...work.entry, object, status: parseStatus(kind, object.status) };
  parts.wrote(entry);
  work.inProcess.journal = work.status.memory.journal;
  parts.metrics.count('apphosting_status_writes_total', { kind: kind.kind });
  // What the pass goes on with would be the old spec under the number of the new one.
  return object.metadata.generation === generation ? { ...work, object, entry, unwrittenId: false } : undefined;
}

/** What an answer told is kept; what was concluded from it about an older spec is not said of the newer one. */
function learned(work: Work, { conditions, lastHandledReconcileAt }: Work['status']): Work {
  return { ...work, status: { ...work.status, conditions, lastHandledReconcileAt } };
}

function partsOf(
  work: Work,
  object: KubeObject,
  wouldDo: string | undefined,
  showing: Showing<unknown> | undefined,
): StatusParts {
  const { status, shown } = work;
  const memory = asMarked(status.memory, work.inProcess);
  const ready = status.conditions.find((condition) => condition.type === 'Ready');
  const kept = keptLists(object);
  return {
    memory: { ...memory, facts: shown(memory.facts) },
    damaged: status.damaged,
    observedGeneration: ready?.observedGeneration,
    conditions: status.conditions,
    lastHandledReconcileAt: status.lastHandledReconcileAt,
    drift: showing?.drift ?? kept.drift,
    unverified: showing?.unverified ?? kept.unverified,
    leftover: showing?.leftover ?? kept.leftover,
    wouldDo,
  };
}

/** The lists of status as they stand, for a write that has not looked at the object. */
function keptLists({ status }: KubeObject): Pick<StatusParts, 'drift' | 'unverified' | 'leftover'> {
  const lists = (status ?? {}) as Partial<Pick<StatusParts, 'drift' | 'unverified' | 'leftover'>>;
  return { drift: lists.drift ?? [], unverified: lists.unverified ?? [], leftover: lists.leftover ?? [] };
}

/** The kind's own conditions as they stand, when the object could not be looked at; what nobody looks at any more is not known. */
function keptConditions({ status, entry }: Work, verdict: Verdict<unknown>): readonly OwnCondition[] {
  const own = status.conditions.filter(({ type }) => !headlines.has(type)) as readonly OwnCondition[];
  const { reason = 'InSync', message = '' } = verdict;
  if (reason === 'ReadingService' || reason === 'InDoubt') return own;
  return own.map((condition) =>
    entry.kind.fleeting?.includes(condition.type) === true
      ? { ...condition, status: 'Unknown', reason, message }
      : condition,
  );
}

/** Publishes a change of what holds an object up; success right after a call has been told already. */
function announce(parts: Parts, work: Work, verdict: Verdict<unknown>, conditions: readonly Condition[]): void {
  const before = work.status.conditions.find((condition) => condition.type === 'Ready');
  const after = conditions.find((condition) => condition.type === 'Ready');
  if (after === undefined || (before?.reason === after.reason && before.status === after.status)) return;
  const { kind, metadata } = work.object;
  parts.log.info({ kind, namespace: metadata.namespace, name: metadata.name, reason: after.reason }, after.message);
  const recovered = before !== undefined && before.reason !== 'Creating' && before.reason !== 'ReadingService';
  if (verdict.is === 'ready' && !recovered) return;
  parts.events.record({
    regarding: work.object,
    type: verdict.is === 'stall' ? 'Warning' : 'Normal',
    reason: after.reason,
    action: 'Reconcile',
    note: after.message,
  });
}

/** Publishes a call to the service, once. */
export function record(parts: Parts, work: Work, call: Call<unknown>, outcome: Outcome): void {
  const { kind, metadata } = work.object;
  parts.metrics.count('apphosting_calls_total', { kind, endpoint: call.request.endpoint, outcome: outcome.is });
  // What was not carried out is no news: the reason that status gives for it is logged when it changes.
  const isNews = outcome.is !== 'notSent' && outcome.is !== 'notExecuted';
  parts.log[isNews ? 'info' : 'debug'](
    { kind, namespace: metadata.namespace, name: metadata.name, endpoint: call.request.endpoint, outcome: outcome.is },
    call.words,
  );
  if (outcome.is === 'notExecuted' && outcome.why === 'throttled')
    parts.throttled(work.entry.account, outcome.retryInMs ?? 0);
  if (call.warns !== undefined) tell(parts, work, 'Warning', call.warns);
  if (outcome.is !== 'committed') return;
  const told = call.tells?.(outcome.body);
  if (told !== undefined) tell(parts, work, 'Normal', told);
  const reasons = {
    create: 'Created',
    update: 'Updated',
    remove: 'Deleted',
    identified: 'Requested',
    read: 'Read',
  } as const;
  const reason = reasons[call.request.effect];
  parts.events.record({ regarding: work.object, type: 'Normal', reason, action: reason, note: `done: ${call.words}` });
}

function againIn(parts: Parts, verdict: Verdict<unknown>): number | undefined {
  const jitter = 0.8 + parts.entropy.fraction() * 0.4;
  switch (verdict.is) {
    case 'ready':
      return verdict.retryInMs ?? resyncMs * jitter;
    case 'wait':
      return verdict.retryInMs;
    case 'stall':
      return stalledRecheckMs * jitter;
  }
}

function tell(parts: Parts, work: Work, type: 'Normal' | 'Warning', { reason, note }: Told): void {
  parts.events.record({ regarding: work.object, type, reason, action: reason, note: work.shown(note) });
}

/** What stays in the service of an object that went is told once. */
export function tellRetained({ events, log }: Pick<Parts, 'events' | 'log'>, entry: Stored, note: string): void {
  log.warn(inLog(entry), note);
  events.record({ regarding: entry.object, type: 'Warning', reason: 'Retained', action: 'Release', note });
}

/** An object that nothing held is gone: what it leaves in the service is told. */
export function tellLeft(parts: Pick<Parts, 'events' | 'log'>, entry: Stored): void {
  const note = entry.kind.leaves?.(entry.status.memory);
  if (note !== undefined) tellRetained(parts, entry, note);
}

/** The same of what was made for an object that somebody took away meanwhile, although we held it. */
function tellLost(parts: Parts, { entry, status }: Work): void {
  const { memory } = status;
  const note = entry.kind.leaves?.(memory) ?? (entry.kind.holds ? staying(memory) : undefined);
  if (note !== undefined) tellRetained(parts, entry, note);
}

/** An entry for the log. */
export function inLog(entry: Stored): { readonly object: string } {
  return { object: storedInWords(entry) };
}
