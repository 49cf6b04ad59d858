import type { JournalEntry } from '../contract/step.ts';

/** The body that an entry carries; undefined where somebody changed it so that it cannot be read. */
export function writtenBody({ payload = '' }: Pick<JournalEntry, 'payload'>): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}
