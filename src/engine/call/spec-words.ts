import type { Outcome } from '../ports.ts';

/** The interface's names of fields, each with its place in the spec. */
export type InterfaceWords = Readonly<Record<string, string>>;

/** Translates the interface's field names in an outcome's message to paths of the spec. */
export function inSpecWords(outcome: Outcome, words: InterfaceWords = {}): Outcome {
  const names = Object.keys(words).toSorted((a, b) => b.length - a.length);
  if (outcome.is === 'committed' || names.length === 0) return outcome;
  const pattern = new RegExp(
    `(?<![\\w./])(?:${names.map((name) => name.replaceAll('.', '[.]')).join('|')})(?!\\w)`,
    'gu',
  );
  return { ...outcome, message: outcome.message.replaceAll(pattern, (name) => `spec.${words[name]}`) };
}
