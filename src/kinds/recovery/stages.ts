/**
 * Keeps the newest stages of an operation in status, in order, each with the time at which the operator first saw it. Makes
 * events about new stages.
 */
import { isoSeconds } from '../../base/time.ts';
import type { Told, Notice } from '../../engine/kind/contract/step.ts';
import type { Receipt } from '../../hosting/requests.ts';
import { operationInWords } from './configurations.ts';
import { mostStages, type RequestFacts } from './schema.ts';

/** Adds a stage to the stages in status, unless it is already the current stage. */
export function atStage<Facts extends RequestFacts>(facts: Facts, stage: string | undefined, wallMs: number): Facts {
  if (stage === undefined || stage === facts.stage) return facts;
  const observedTime = isoSeconds(wallMs);
  const stages = [...(facts.stages ?? []), { stage, observedTime }].slice(-mostStages);
  return { ...facts, stage, stageChangeTime: observedTime, stages };
}

/** Makes an event for each new stage, and for each rise in the number of failed steps. */
export function stageNotices(
  before: RequestFacts,
  { stage, failedSteps = 0 }: RequestFacts,
  operationId: string | undefined,
): readonly Notice[] {
  const name = operationId === undefined ? 'the operation' : `operation ${operationId}`;
  const notices: Notice[] = [];
  if (stage !== undefined && stage !== before.stage) notices.push({ type: 'Normal', ...stageTold(name, stage) });
  if (failedSteps > (before.failedSteps ?? 0)) {
    notices.push({ type: 'Warning', reason: 'StepFailed', note: `${name} has ${failedSteps} failed steps in a row` });
  }
  return notices;
}

/**
 * If the service's response to a request says which stage the operation has reached, returns an event about this stage.
 */
export function stageOfReceipt(receipt: Receipt | undefined): Told | undefined {
  return receipt?.phase === undefined ? undefined : stageTold(operationInWords(receipt), receipt.phase);
}

function stageTold(name: string, stage: string): Told {
  return { reason: 'StageReached', note: `${name} is ${stage}` };
}
