import { expect, it } from 'vitest';
import type { Notes } from '../../../src/engine/kind/contract/notes.ts';
import { InProcess } from '../../../src/engine/objects/in-process.ts';

const notes: Notes = { missedAt: 5_000, provedGone: true, missed: { env_1: 5_000, env_2: 9_000 }, sentAt: 5_000 };
const { missedAt: _missedAt, provedGone: _provedGone, ...withoutOwn } = notes;

it.each([
  ['nothing', [], notes],
  ['its own object', ['app_1'], withoutOwn],
  ['one of its other objects', ['env_1'], { ...notes, missed: { env_2: 9_000 } }],
  ['an object that was missed after the list began', ['env_2'], notes],
  ['an object whose id is the name of a note', ['sentAt', 'missedAt', 'missed'], notes],
])('a list that shows %s takes back exactly that it was missed', (_what, shown: readonly string[], left) => {
  const inProcess = new InProcess('uid-1', 0);
  inProcess.notes = notes;

  inProcess.noteShown('app_1', { shownAfter: (at, id) => at < 8_000 && shown.includes(id) });

  expect(inProcess.notes).toEqual(left);
});

it('a reconcile after a pause counts no read from before it, neither of its own object nor of others', () => {
  const inProcess = new InProcess('uid-1', 0);
  inProcess.notes = { missedAt: 5_000, missed: { env_1: 5_000 }, sentAt: 5_000 };

  inProcess.looks = false;
  inProcess.beginLooking();

  expect(inProcess.notes).toEqual({ sentAt: 5_000 });
});
