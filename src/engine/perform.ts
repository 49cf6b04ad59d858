/**
 * Sending the one call that a step decided on.
 *
 * Guarantees: whatever must not happen twice stands in status, with uid and resourceVersion, before the first byte is sent;
 * an id that came back is written before anything else is done; nothing is sent by a process that may no longer act.
 */
import { conclude } from './conditions.ts';
import type { Pass } from './kind/pass.ts';
import type { Call, JournalEntry, Memory, Verdict } from './kind/step.ts';
import { isoSeconds } from './conditions.ts';
import { corrected } from './recall.ts';
import { settle } from './settle.ts';
import { requestDigest } from './surroundings.ts';
import type { Work, Worktable } from './worktable.ts';

const deadlineSeconds = 30;
const refusedForMs = 600_000;

/** How performing a call ended for the pass. */
export type Performed =
  /** Decide anew with this. */
  | { readonly is: 'on'; readonly work: Work }
  /** Say this. */
  | { readonly is: 'said'; readonly work: Work; readonly verdict: Verdict<unknown>; readonly backoff: boolean }
  /** Somebody else was first, or this process may not act: come back without a word. */
  | { readonly is: 'quiet'; readonly retryInMs: number };

/** Performs a call and says what follows for the object. */
export async function perform(
  table: Worktable,
  work: Work,
  pass: Pass<unknown, unknown>,
  call: Call<unknown>,
): Promise<Performed> {
  const digest = requestDigest(pass.print, call.request);
  const { refused } = work.recall;
  if (refused?.digest === digest && pass.monotonicMs - refused.at < refusedForMs) {
    return { is: 'said', work, verdict: refused.verdict, backoff: false };
  }
  if (table.leadership.mayAct() !== undefined) return { is: 'quiet', retryInMs: 2_000 };
  const ready = await prepare(table, work, pass, call);
  if (ready === undefined) return { is: 'quiet', retryInMs: 200 };
  return send(table, ready, pass, call, digest);
}

/** Brings everything into status that must stand there before the call; undefined when somebody else was first. */
async function prepare(
  table: Worktable,
  work: Work,
  pass: Pass<unknown, unknown>,
  call: Call<unknown>,
): Promise<Work | undefined> {
  const written = work.unwrittenId ? await table.write(work, undefined) : work;
  if (written === undefined || call.journal === undefined) return written;
  const entry: JournalEntry = {
    ...call.journal,
    endpoint: pass.account.endpoint,
    accountId: pass.account.accountId,
    startedAt: isoSeconds(pass.wallMs),
    deadlineSeconds,
  };
  const reserved = table.reserve(work.entry.key, entry, pass);
  if (!reserved) return undefined;
  const conditions =
    work.recollection.conditions.length > 0
      ? work.recollection.conditions
      : conclude({
          verdict: { is: 'wait', reason: 'Creating', message: call.words },
          own: [],
          drifted: [],
          generation: pass.subject.generation,
          previous: [],
          wallMs: pass.wallMs,
        });
  const journalled = {
    ...work,
    recollection: { ...work.recollection, conditions, memory: { ...work.recollection.memory, journal: entry } },
  };
  const stored = await table.write(journalled, undefined);
  if (stored === undefined) table.unreserve(work.entry.key);
  return stored;
}

async function send(
  table: Worktable,
  work: Work,
  pass: Pass<unknown, unknown>,
  call: Call<unknown>,
  digest: string,
): Promise<Performed> {
  const { recall } = work;
  const until = pass.monotonicMs + deadlineSeconds * 1_000;
  const outcome = await work.service(call.credential).send(call.request, {
    urgency: call.urgency,
    mayDispatch: () =>
      table.leadership.mayAct() ?? (table.clock.monotonic() > until ? 'waited too long in the queue' : undefined),
  });
  const now = table.clock.monotonic();
  table.called(work, call, outcome);
  const settlement = settle(call, outcome, work.recollection.memory);
  table.unreserve(work.entry.key);
  if (settlement.is === 'done') {
    recall.refused = undefined;
    recall.askedAt = undefined;
    recall.wrote = {
      at: now,
      fields: { ...recall.wrote?.fields, ...call.wrote?.(outcome.is === 'committed' ? outcome.body : undefined) },
    };
    recall.notes = call.note?.(now) ?? {};
    if (call.corrects !== undefined) corrected(recall, call.corrects, now);
    return { is: 'on', work: { ...remembering(work, settlement.remember), unwrittenId: settlement.identified } };
  }
  if (settlement.is === 'doubt') {
    recall.askedAt = now;
    return { is: 'on', work: remembering(work, settlement.remember) };
  }
  const { verdict } = settlement;
  if (settlement.final) recall.refused = { digest, at: now, verdict };
  const id = verdict.remember?.id;
  const identified = id !== undefined && id !== work.recollection.memory.id;
  return {
    is: 'said',
    work: identified ? { ...work, unwrittenId: true } : work,
    verdict,
    backoff: settlement.retry === 'backoff',
  };
}

/** The same work with something more remembered. */
export function remembering(work: Work, remember: Partial<Memory<unknown>> | undefined): Work {
  if (remember === undefined) return work;
  return { ...work, recollection: { ...work.recollection, memory: { ...work.recollection.memory, ...remember } } };
}
