/**
 * Sends a recovery request so that it is carried out only once. Validation, activation, discard and reset share these
 * steps: sending.ts has those until the service has accepted the request, following.ts what comes after.
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
import { accepted, conditionsUnderWay, finalIfStalled, isAnswered, lookingAgain, notShown } from './following.ts';
import type { AnyPass, AnyStep, Body, RequestPlan, SeenService } from './plan.ts';
import type { RequestFacts, RequestSpec } from './schema.ts';
import { beginRequest, dropShownEntry, freshSince, notingAnswer, resolveRequest, waitForLateCall } from './sending.ts';
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

/** Decides the next step of a recovery request. */
function nextStep(plan: RequestPlan, pass: AnyPass): AnyStep {
  if (pass.subject.deleting) return { is: 'release' };
  const { journal, binding, facts } = pass.memory;
  if (facts.acceptedTime === undefined && journal === undefined) {
    const fence = powerless(pass, plan.power?.(pass.spec)) ?? unreferred(pass);
    if (fence !== undefined) return finish(plan, pass, finalIfStalled(pass, fence));
    if (binding === undefined) return takeUp(plan, pass);
  }
  const seen = plan.look(pass, readSince(pass));
  return 'is' in seen ? notingAnswer(pass, seen) : finish(plan, pass, decide(plan, pass, seen), seen);
}

function takeUp(plan: RequestPlan, pass: AnyPass): AnyStep {
  const { endpoint, accountId } = pass.account;
  const facts: RequestFacts = { ...pass.memory.facts, ...plan.factsAtStart(pass) };
  return { is: 'again', remember: { binding: { endpoint, accountId }, facts } };
}

/**
 * Returns the time at or after which a read must have begun. An older read is not used to decide about the request.
 * - Before the request is in the journal: the time at which the request first asked for the read.
 * - While the request is in the journal: the time from `freshSince`.
 * - Once the service has accepted the request: no limit.
 */
function readSince(pass: AnyPass): number {
  const { facts, journal } = pass.memory;
  if (facts.acceptedTime !== undefined) return Number.NEGATIVE_INFINITY;
  return journal === undefined ? pass.askedAt : freshSince(pass);
}

/**
 * Reasons of waits that may end at any moment. While a request that is in the journal or accepted waits for such a
 * reason, the operator reads the service again after a few seconds. For other reasons, the usual poll interval is
 * enough.
 */
const brief: ReadonlySet<string> = new Set(['InProgress', 'InDoubt', 'CleanupPending', 'TakeOver', 'VisibilityLost']);

/**
 * Adds to a step what each step needs that was decided from the state of the service, or that a fence gave:
 * - Notes that no longer say that an earlier list did not contain an object, because an object is proved gone only if two
 *   consecutive lists do not contain it. A step that sets the notes itself keeps them.
 * - A note of the time at which the response to the last call arrived; see `notingAnswer`.
 * - The conditions that the kind sets at an unknown outcome.
 * - For a wait that may end at any moment: another read of the service after a few seconds; see `brief`.
 */
function finish(plan: RequestPlan, pass: AnyPass, decided: AnyStep, seen?: SeenService): AnyStep {
  if (decided.is === 'release') return decided;
  const step = notingAnswer(pass, { note: withoutMisses(pass.notes), ...decided });
  if (step.is === 'stall' && step.reason === 'UnknownState') {
    return { ...step, conditions: [...(step.conditions ?? []), ...(plan.conditionsIfUnknown ?? [])] };
  }
  if (seen === undefined || step.is !== 'wait' || step.awaits !== undefined || !brief.has(step.reason)) return step;
  const { journal, facts } = pass.memory;
  if (journal === undefined && facts.acceptedTime === undefined) return step;
  return lookingAgain(pass, step, drConfigurationsOf(pass.account.accountId), seen.snapshot);
}

/** Decides the next step of a recovery request from what the service shows. */
function decide(plan: RequestPlan, pass: AnyPass, seen: SeenService): AnyStep {
  const { journal, facts } = pass.memory;
  if (facts.acceptedTime === undefined) {
    const found = plan.findOperation(pass, seen);
    if (found !== undefined) {
      const remember = { journal: undefined, facts: accepted(pass), ...found };
      return waitForLateCall(plan, pass, seen) ?? { is: 'again', remember, note: {} };
    }
    return journal === undefined ? beginRequest(plan, pass, seen) : resolveRequest(plan, pass, seen, journal);
  }
  const blind = 'configuration' in seen && seen.configuration === undefined ? waitWhileFrozen(pass) : undefined;
  if (blind !== undefined) return blind;
  const { at: since = Number.NEGATIVE_INFINITY } = pass.wrote ?? {};
  if (seen.snapshot.begunAt >= since) return dropShownEntry(pass, seen) ?? plan.followAccepted(pass, seen);
  const awaits = { read: drConfigurationsOf(pass.account.accountId), since };
  return { is: 'wait', ...notShown(pass, plan.noun), awaits };
}
