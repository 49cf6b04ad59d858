import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fit, facts, integer, listOf, mapOf, shown, text } from '../../../src/engine/kind/schema/schema.ts';
import { InternalStatus } from '../../../src/engine/kind/schema/status.ts';

const Facts = facts({
  name: text('A name.', { max: 4 }).optional(),
  count: integer('A number.', { min: 0, max: 9 }).optional(),
  rows: listOf('Rows.', shown('A row.', { words: listOf('Words.', text('A word.', { max: 3 }), { max: 2 }) }), {
    max: 2,
  }).optional(),
  map: mapOf('A map.', text('A value.', { max: 2 }), { maxProperties: 1, maxKeyLength: 5 }).optional(),
});

describe('fit', () => {
  it('leaves alone what fits', () => {
    const value = { name: '🙂🙂🙂🙂', count: 3, rows: [{ words: ['a', 'b'] }], map: { a: 'b' } };

    expect(fit(Facts, value)).toEqual({ value, cut: [] });
  });

  it('rounds a whole number down', () => {
    expect(fit(Facts, { count: 3.9 })).toEqual({ value: { count: 3 }, cut: [] });
  });

  it('cuts texts and numbers, and says which lists lost entries', () => {
    const row = { words: ['long', 'b', 'c'] };

    const { value, cut } = fit(Facts, {
      name: '🙂🙂🙂🙂🙂',
      count: 12,
      rows: [row, row, row],
      map: { a: 'bcd', e: 'f' },
    });

    const words = ['lo…', 'b'];
    expect(value).toEqual({ name: '🙂🙂🙂…', count: 9, rows: [{ words }, { words }], map: { a: 'b…' } });
    expect(cut).toEqual([
      { field: 'rows', total: 3 },
      { field: 'rows[].words', total: 3 },
      { field: 'rows[].words', total: 3 },
      { field: 'map', total: 2 },
    ]);
    expect(Facts.safeParse(value).success).toBe(true);
  });

  it('drops fields that the schema does not have', () => {
    const more: object = { name: 'a', other: 'b' };

    expect(fit(Facts, more).value).toEqual({ name: 'a' });
  });
});

const Internal = z.object(InternalStatus);

describe('the common status', () => {
  it('lets a journal hold the largest payload that is sent again', () => {
    const journal = {
      operation: 'activate',
      attempt: 1,
      endpoint: 'h',
      accountId: 'a',
      startedAt: '2026-01-31T12:00:00Z',
      deadlineSeconds: 30,
      digest: 'd',
      payload: 'x'.repeat(32_768),
    };

    expect(fit(Internal, { journal })).toEqual({ value: { journal }, cut: [] });
  });
});
