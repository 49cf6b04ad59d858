/**
 * Sends a recovery request so that it is carried out only once. Validation, activation, discard and reset share these
 * steps.
 *
 * Guarantees: a request is first recorded in status, then the service is read again, and only then is the request sent.
 * All checks are made before each attempt. While the outcome of a call is unknown, either the same bytes are sent again
 * or nothing is sent. The end of a request is final.
 *
 * Why: docs/design/recovery-requests.md
 */
import { defineKind, type KindDefinition, type KindIdentity } from '../../engine/kind/contract/define.ts';
import type { Step } from '../../engine/kind/contract/step.ts';
import { waitWhileFrozen, withoutMisses } from '../../engine/kind/planner/observe.ts';
import { drConfigurationsOf } from '../../hosting/requests.ts';
import { powerless, referencesOf, unreferred } from './approval.ts';
import { conditionsUnderWay, finalIfStalled, isAnswered, lookingAgain, notShown } from './following.ts';
import type { AnyPass, AnyStep, Body, RequestPlan, SeenService } from './plan.ts';
import type { RequestFacts, RequestSpec } from './schema.ts';
import {
  answeredAt,
  beginRequest,
  dropShownEntry,
  notingAnswer,
  resolveRequest,
  takeUp,
  waitForLateCall,
} from './sending.ts';
import { stageNotices } from './stages.ts';
import { recoveryWords } from './words.ts';

/**
 * What each kind of recovery request defines itself: its identity, such as its name and schemas, and the fields in
 * which its definition differs from that of the other kinds.
 */
type Own<Spec, Facts> = KindIdentity & Omit<Partial<KindDefinition<Spec, Facts>>, keyof KindIdentity>;

/** Defines a kind of recovery request from the functions and values in `plan`. */
export function defineRequest<
  Spec extends RequestSpec,
  Facts extends RequestFacts,
  Found extends SeenService,
  Sent extends Body,
>(plan: RequestPlan<Spec, Facts, Found, Sent>, own: Own<Spec, Facts>) {
  return defineKind<Spec, Facts>({
    interfaceWords: recoveryWords,
    needs: (spec) => ({ references: referencesOf(spec) }),
    finished: ({ finishedTime }) => finishedTime !== undefined,
    answered: isAnswered,
    step: (pass) => nextStep(plan, pass) as Step<Facts>,
    show: (pass) => {
      const facts = plan.factsNow(pass);
      return {
        facts,
        notices: stageNotices(pass.memory.facts, facts, pass.memory.id),
        conditions: [...conditionsUnderWay(pass), ...(plan.conditions?.(pass) ?? [])],
      };
    },
    ...own,
    always: ['Accepted', 'Succeeded', ...(own.always ?? [])],
  });
}

/** A list must not be older than this when the operator decides whether to send a call. */
const freshMs = 15_000;

/** Decides the next step of a recovery request. */
function nextStep(plan: RequestPlan, pass: AnyPass): AnyStep {
  const step = decide(plan, pass);
  const { conditionsIfUnknown = [] } = plan;
  if (step.is !== 'stall' || step.reason !== 'UnknownState') return step;
  return { ...step, conditions: [...(step.conditions ?? []), ...conditionsIfUnknown] };
}

function decide(plan: RequestPlan, pass: AnyPass): AnyStep {
  if (pass.subject.deleting) return { is: 'release' };
  const { journal, binding, facts } = pass.memory;
  const accepted = facts.acceptedTime !== undefined;
  if (!accepted && journal === undefined) {
    const off = powerless(pass, plan.power?.(pass.spec)) ?? unreferred(pass);
    if (off !== undefined) return takingBack(pass, finalIfStalled(pass, off));
    if (binding === undefined) return takeUp(plan, pass);
  }
  const seen = plan.look(pass, readSince(pass));
  if ('is' in seen) return notingAnswer(pass, seen);
  return notingAnswer(pass, takingBack(pass, lookingSoon(pass, seen, decideOn(plan, pass, seen))));
}

/**
 * Returns the time at or after which a read must have begun. An older read is not used to decide about the request.
 * - Before the request is in the journal: the time at which the request first asked for the read.
 * - While the request is in the journal: `freshMs` ago, but not before this process first saw the entry, nor before the
 *   time from `answeredAt`.
 * - Once the service has accepted the request: no limit.
 */
function readSince(pass: AnyPass): number {
  const { memory, askedAt, journalSeen, monotonicMs } = pass;
  if (memory.facts.acceptedTime !== undefined) return Number.NEGATIVE_INFINITY;
  if (memory.journal === undefined) return askedAt;
  return Math.max(journalSeen.monotonic, monotonicMs - freshMs, answeredAt(pass));
}

/**
 * Reasons of waits that may end at any moment. While a request that is in the journal or accepted waits for such a
 * reason, the operator reads the service again after a few seconds. For other reasons, the usual poll interval is
 * enough.
 */
const brief: ReadonlySet<string> = new Set(['InProgress', 'InDoubt', 'CleanupPending', 'TakeOver', 'VisibilityLost']);

/** Makes a waiting step read the service again after a few seconds while a recovery request is in progress. */
function lookingSoon(pass: AnyPass, { snapshot }: SeenService, step: AnyStep): AnyStep {
  if (step.is !== 'wait' || step.awaits !== undefined || !brief.has(step.reason)) return step;
  const { journal, facts } = pass.memory;
  if (journal === undefined && facts.acceptedTime === undefined) return step;
  return lookingAgain(pass, step, drConfigurationsOf(pass.account.accountId), snapshot);
}

/**
 * Forgets that an earlier list did not contain an object, because an object is proved gone only if two consecutive
 * lists do not contain it. A step that sets the notes itself is returned unchanged.
 */
function takingBack(pass: AnyPass, step: AnyStep): AnyStep {
  if (step.is === 'release' || step.note !== undefined) return step;
  return { ...step, note: withoutMisses(pass.notes) };
}

/** Decides the next step of a recovery request from what the service shows. */
function decideOn(plan: RequestPlan, pass: AnyPass, seen: SeenService): AnyStep {
  const { journal, facts } = pass.memory;
  if (facts.acceptedTime !== undefined) {
    const { at: since = Number.NEGATIVE_INFINITY } = pass.wrote ?? {};
    const blind = 'configuration' in seen && seen.configuration === undefined ? waitWhileFrozen(pass) : undefined;
    if (blind !== undefined) return blind;
    if (seen.snapshot.begunAt >= since) return dropShownEntry(pass, seen) ?? plan.followAccepted(pass, seen);
    const awaits = { read: drConfigurationsOf(pass.account.accountId), since };
    return { is: 'wait', ...notShown(pass, plan.noun), awaits };
  }
  const traced = plan.findOperation(pass, seen);
  if (traced !== undefined) return waitForLateCall(plan, pass, seen) ?? { is: 'again', remember: traced, note: {} };
  return journal === undefined ? beginRequest(plan, pass, seen) : resolveRequest(plan, pass, seen, journal);
}
