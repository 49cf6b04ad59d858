/** Keeps the stages of an operation in status, in order, each with the time of its first appearance. */
import { isoSeconds } from '../../base/time.ts';
import type { Told, Notice } from '../../engine/kind/contract/step.ts';
import { mostStages, type RequestFacts } from './schema.ts';

/** Adds the current stage to the facts; a known stage keeps its time. */
export function atStage<Facts extends RequestFacts>(facts: Facts, stage: string | undefined, wallMs: number): Facts {
  if (stage === undefined || stage === facts.stage) return facts;
  const observedTime = isoSeconds(wallMs);
  const stages = [...(facts.stages ?? []), { stage, observedTime }].slice(-mostStages);
  return { ...facts, stage, stageChangeTime: observedTime, stages };
}

/** Makes an event of each new stage, and of each step that failed. */
export function stageNotices(
  before: RequestFacts,
  now: RequestFacts,
  operationId: string | undefined,
): readonly Notice[] {
  const name = operationId === undefined ? 'the operation' : `operation ${operationId}`;
  const reached = now.stage === before.stage ? [] : [now.stage];
  const failed = (now.failedSteps ?? 0) > (before.failedSteps ?? 0) ? [now.failedSteps] : [];
  return [
    ...reached.map((stage = ''): Notice => ({ type: 'Normal', ...stageTold(name, stage) })),
    ...failed.map((count): Notice => {
      return { type: 'Warning', reason: 'StepFailed', note: `${name}: ${count} failed steps in a row` };
    }),
  ];
}

/** The event of the stage that an answer names. */
export function stageOfReceipt(
  receipt: { readonly operationId?: string | undefined; readonly phase?: string | undefined } | undefined,
): Told | undefined {
  const { operationId, phase } = receipt ?? {};
  return phase === undefined ? undefined : stageTold(`operation ${operationId ?? '(its id is not shown)'}`, phase);
}

function stageTold(name: string, stage: string): Told {
  return { reason: 'StageReached', note: `${name} is ${stage}` };
}
