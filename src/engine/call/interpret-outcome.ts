import { isoSecondsUp } from '../../base/time.ts';
import type { Call, Memory, Refusal, Verdict } from '../kind/contract/step.ts';
import type { Outcome } from '../ports.ts';

/** The meaning of a call's outcome for the object. */
export type Interpretation =
  /** Done: remember this and decide anew. */
  | { readonly is: 'done'; readonly remember: Partial<Memory>; readonly identified: boolean }
  /** Unknown: the entry stays in the journal, and the next step looks before it acts. */
  | {
      readonly is: 'doubt';
      readonly remember: Partial<Memory> | undefined;
      /** The verdict if the call proves not to have been carried out. */
      readonly refused?: Verdict;
    }
  /** Not done: say so. */
  | {
      readonly is: 'said';
      readonly verdict: Verdict;
      /**
       * When the same request may be sent again: `backoff`, after a growing pause; `looking`, the same, but the object is
       * read again when the verdict says; `asSaid`, when the verdict says, or after ten minutes.
       */
      readonly retry: 'backoff' | 'looking' | 'asSaid';
    };

/**
 * Turns the outcome of a call into memory and verdict. After a call that was certainly not carried out the journal entry is
 * cleared and `meanwhile` undone (`before` has the earlier values). In doubt both stay, so that the next step reads before
 * it acts.
 */
export function interpretOutcome(
  call: Call,
  answered: Outcome,
  memory: Memory,
  wallMs: number,
  before: Partial<Memory> = {},
): Interpretation {
  const outcome = understood(call, answered);
  const judge = call.resumes === true ? resumed : judged;
  const interpretation = judge(call, outcome, memory, wallMs);
  if (outcome.is === 'inDoubt' || interpretation.is === 'doubt') return interpretation;
  if (interpretation.is === 'done') return { ...interpretation, remember: { ...before, ...interpretation.remember } };
  const { verdict } = interpretation;
  return { ...interpretation, verdict: { ...verdict, remember: { ...before, ...verdict.remember } } };
}

function judged(call: Call, outcome: Outcome, memory: Memory, wallMs: number): Interpretation {
  if (outcome.is === 'committed') return committed(call, outcome.body, memory);
  if (outcome.is === 'notFound' && call.request.effect === 'remove') return committed(call, undefined, memory);
  if (outcome.is === 'notSent') return waiting(call, 'ServiceUnavailable', outcome.message, { journal: undefined });
  const own = call.refused?.(outcome);
  if (outcome.is === 'conflict' && memory.journal !== undefined && (own === undefined || own.is === 'stall')) {
    return { ...saidNo(call, outcome.message, memory), ...(own !== undefined && { refused: own }) };
  }
  if (own !== undefined) {
    const cleared = outcome.is === 'inDoubt' ? {} : { journal: undefined };
    return {
      is: 'said',
      verdict: { ...own, remember: { ...cleared, ...own.remember } },
      retry: outcome.is === 'inDoubt' && own.is === 'wait' ? 'looking' : 'asSaid',
    };
  }
  return refused(call, outcome, wallMs);
}

/** Reads an answer with a success status whose body says no as a refusal. */
function understood(call: Call, outcome: Outcome): Outcome {
  const no = outcome.is === 'committed' ? call.saidNo?.(outcome.body) : undefined;
  if (outcome.is !== 'committed' || no === undefined) return outcome;
  return { is: 'refused', status: 200, message: no, body: outcome.body };
}

/**
 * Interprets the outcome of a resumed call, which may have been sent before. Only a success ends its journal entry here:
 * after a refusal the kind reads once more, and when nothing was sent the entry stays.
 */
function resumed(call: Call, outcome: Outcome, memory: Memory, wallMs: number): Interpretation {
  const kept = { journal: memory.journal };
  switch (outcome.is) {
    case 'committed':
      return committed(call, outcome.body, memory);
    case 'notSent':
      return waiting(call, 'ServiceUnavailable', outcome.message, kept);
    case 'notExecuted':
      if (outcome.why !== 'forbidden') return notExecuted(call, outcome, wallMs, kept);
      return { ...saidNo(call, outcome.message, memory), refused: forbidden(call, outcome.message) };
    case 'refused':
    case 'conflict':
    case 'notFound':
      return saidNo(call, outcome.message, memory);
    case 'inDoubt':
      return { is: 'doubt', remember: {} };
  }
}

function rejected(call: Call, message: string): Extract<Verdict, { is: 'stall' }> {
  return { is: 'stall', reason: 'Rejected', message: `${call.words}: ${message}` };
}

function forbidden(call: Call, message: string): Extract<Verdict, { is: 'stall' }> {
  return { is: 'stall', reason: 'Forbidden', message: `${call.words}: ${message}` };
}

/** A refusal that one fresh read must confirm. */
function saidNo(call: Call, message: string, { journal }: Memory): Extract<Interpretation, { is: 'doubt' }> {
  const remember = journal && { journal: { ...journal, conflicted: message.slice(0, 200) } };
  return { is: 'doubt', remember, refused: rejected(call, message) };
}

function committed(call: Call, body: unknown, memory: Memory): Interpretation {
  const remember = call.committed(body);
  if (remember === undefined) {
    return { is: 'doubt', remember: {} };
  }
  const identified = remember.id !== undefined && remember.id !== memory.id;
  const isOnce = call.journal !== undefined || call.resumes === true || call.request.effect === 'identified';
  return { is: 'done', remember: { journal: undefined, ...remember }, identified: identified || isOnce };
}

function refused(call: Call, outcome: Refusal, wallMs: number): Interpretation {
  switch (outcome.is) {
    case 'notExecuted':
      return notExecuted(call, outcome, wallMs);
    case 'notFound':
      return call.journal === undefined
        ? waiting(call, 'ObjectMissing', outcome.message, undefined)
        : stalled(call, outcome.message);
    case 'inDoubt':
      return call.journal === undefined
        ? waiting(call, 'ServiceUnavailable', outcome.message, undefined)
        : { is: 'doubt', remember: {} };
    case 'refused':
    case 'conflict':
      return stalled(call, outcome.message);
  }
}

function notExecuted(
  call: Call,
  outcome: Extract<Refusal, { is: 'notExecuted' }>,
  wallMs: number,
  remember: Partial<Memory> = { journal: undefined },
): Interpretation {
  switch (outcome.why) {
    case 'throttled': {
      const verdict: Verdict = { ...slowedDown(call, outcome.retryInMs ?? 0, wallMs), remember };
      return { is: 'said', verdict, retry: 'backoff' };
    }
    case 'unauthorized': {
      const message = `${call.words}: the service does not accept the account's token`;
      return {
        is: 'said',
        verdict: { is: 'wait', reason: 'AccountNotReady', message, remember },
        retry: 'backoff',
      };
    }
    case 'forbidden':
      return { is: 'said', verdict: { ...forbidden(call, outcome.message), remember }, retry: 'asSaid' };
  }
}

/** The verdict while the service throttles the account. */
export function slowedDown({ words }: Call, retryInMs: number, wallMs: number): Verdict {
  const message = `${words}: the service asked to slow down; requests wait until ${isoSecondsUp(wallMs + retryInMs)}`;
  return { is: 'wait', reason: 'Throttled', message, retryInMs };
}

function waiting(
  call: Call,
  reason: 'ServiceUnavailable' | 'ObjectMissing',
  message: string,
  remember: Partial<Memory> | undefined,
): Interpretation {
  const verdict: Verdict = {
    is: 'wait',
    reason,
    message: `${call.words}: ${message}`,
    ...(remember && { remember }),
  };
  return { is: 'said', verdict, retry: 'backoff' };
}

function stalled(call: Call, message: string): Interpretation {
  return { is: 'said', verdict: { ...rejected(call, message), remember: { journal: undefined } }, retry: 'asSaid' };
}

/** The interface's names of fields, each with its place in the spec. */
export type InterfaceWords = Readonly<Record<string, string>>;

/** Translates the interface's field names in an outcome's message to paths of the spec. */
export function inSpecWords(outcome: Outcome, words: InterfaceWords = {}): Outcome {
  const names = Object.keys(words).toSorted((a, b) => b.length - a.length);
  if (outcome.is === 'committed' || names.length === 0) return outcome;
  const pattern = new RegExp(
    `(?<![\\w./])(?:items\\[\\d+\\]\\.)?(${names.map((name) => name.replaceAll('.', '[.]')).join('|')})(?!\\w)`,
    'gu',
  );
  return { ...outcome, message: outcome.message.replaceAll(pattern, (_all, name: string) => `spec.${words[name]}`) };
}
