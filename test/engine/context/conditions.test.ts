import type { Condition, Verdict } from '../../../src/engine/kind/contract/step.ts';
import { describe, expect, it } from 'vitest';
import { conclude, paused } from '../../../src/engine/context/report.ts';
import { statusFlaws } from '../../support/memory/status-checker.ts';

const base = { own: [], drifted: [], generation: 3, previous: [], wallMs: Date.UTC(2026, 0, 1) };

function typesOf(conditions: readonly Condition[]): string {
  return conditions.map(({ type, status }) => `${type}=${status}`).join(' ');
}

const verdicts: readonly { verdict: Verdict<unknown>; expected: string; because: string }[] = [
  { verdict: { is: 'ready' }, expected: 'Ready=True Synced=True', because: 'kstatus takes this for Current' },
  {
    verdict: { is: 'wait', reason: 'Creating', message: 'm' },
    expected: 'Ready=False Reconciling=True Synced=False',
    because: 'kstatus takes this for InProgress',
  },
  {
    verdict: { is: 'stall', reason: 'Rejected', message: 'm' },
    expected: 'Ready=False Stalled=True Synced=False',
    because: 'kstatus takes this for Failed',
  },
];

describe('conditions', () => {
  it.each(verdicts)('say $expected for $verdict.is, because $because', ({ verdict, expected }) => {
    const conditions = conclude({ ...base, verdict });

    expect(typesOf(conditions)).toBe(expected);
    expect(statusFlaws({ observedGeneration: 3, conditions }, 3)).toEqual([]);
  });

  it('keep the time of the last transition while the status stays the same', () => {
    const first = conclude({ ...base, verdict: { is: 'wait', reason: 'Creating', message: 'a' } });
    const second = conclude({
      ...base,
      previous: first,
      wallMs: base.wallMs + 60_000,
      verdict: { is: 'wait', reason: 'InDoubt', message: 'b' },
    });
    const third = conclude({ ...base, previous: second, wallMs: base.wallMs + 120_000, verdict: { is: 'ready' } });

    expect(second[0]?.lastTransitionTime).toBe('2026-01-01T00:00:00Z');
    expect(third[0]?.lastTransitionTime).toBe('2026-01-01T00:02:00Z');
  });

  it('show drift without touching Ready', () => {
    const conditions = conclude({
      ...base,
      drifted: ['name'],
      verdict: { is: 'ready', reason: 'Observed', message: 'm' },
    });

    expect(typesOf(conditions)).toBe('Ready=True Synced=False Drifted=True');
  });

  it('do not call synced what would still be done', () => {
    const conditions = conclude({
      ...base,
      wouldDo: 'create contact point "ops"',
      verdict: { is: 'ready', reason: 'Observed', message: 'm' },
    });

    expect(typesOf(conditions)).toBe('Ready=True Synced=False');
    expect(conditions[1]).toMatchObject({
      reason: 'Observed',
      message: expect.stringContaining('create contact point'),
    });
  });

  it('are frozen while paused, and do not claim a newer generation', () => {
    const before = conclude({ ...base, verdict: { is: 'ready' } });

    expect(paused(before, 3, 0)).toBe(before);
    expect(typesOf(paused(before, 4, 0))).toBe('Ready=Unknown Synced=True');
  });
});
