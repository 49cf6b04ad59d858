import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { lifecycle, managementPolicy, onDelete, specInAccount } from '../../../src/engine/kind/schema/parts.ts';
import {
  atMostOne,
  exactlyOne,
  immutable,
  rulesOf,
  withRule,
  choice,
  fields,
  flag,
  integer,
  listByKey,
  listOf,
  mapOf,
  moment,
  ownName,
  secretText,
  setOf,
  shown,
  text,
} from '../../../src/engine/kind/schema/schema.ts';

function accepts(schema: z.ZodType, value: unknown): boolean {
  return schema.safeParse(value).success;
}

describe('text', () => {
  it('counts characters as the API server does, not UTF-16 units', () => {
    const word = text('A word.', { max: 2 });

    expect(accepts(word, '🙂🙂')).toBe(true);
    expect(accepts(word, '🙂🙂🙂')).toBe(false);
  });

  it('keeps its description and bounds through optional', () => {
    const json = z.toJSONSchema(fields('An object.', { word: text('A word.', { max: 2, min: 1 }).optional() }));

    expect(json.properties?.['word']).toMatchObject({ description: 'A word.', maxLength: 2, minLength: 1 });
  });
});

describe('moment', () => {
  it.each([
    ['2026-01-31T12:00:00Z', true],
    ['2026-01-31T12:00:00.123Z', true],
    ['2026-01-31T12:00:00+01:00', false],
    ['2026-13-31T12:00:00Z', false],
    ['tomorrow', false],
  ])('%s → %s', (value, verdict) => {
    expect(accepts(moment('When.'), value)).toBe(verdict);
  });
});

describe('exactlyOne', () => {
  const way = exactlyOne(
    fields('A way.', { email: flag('By mail.').optional(), namespace: flag('By namespace.').optional() }),
    ['email', 'namespace'],
  );

  it.each([
    [{}, false],
    [{ email: false }, true],
    [{ namespace: true }, true],
    [{ email: true, namespace: true }, false],
  ])('%j → %s', (value, verdict) => {
    expect(accepts(way, value)).toBe(verdict);
  });

  it('escapes the reserved words of CEL', () => {
    expect(rulesOf(way)).toEqual([
      {
        rule: '[has(self.email), has(self.__namespace__)].exists_one(given, given)',
        message: 'set exactly one of email, namespace',
      },
    ]);
  });
});

describe('atMostOne', () => {
  const way = atMostOne(fields('A way.', { a: flag('A.').optional(), b: flag('B.').optional() }), ['a', 'b']);

  it.each([
    [{}, true],
    [{ a: true }, true],
    [{ a: true, b: true }, false],
  ])('%j → %s', (value, verdict) => {
    expect(accepts(way, value)).toBe(verdict);
  });
});

describe('lists and maps', () => {
  const pair = fields('A pair.', { key: text('Key.', { max: 5 }), value: text('Value.', { max: 5 }) });

  it.each([
    [setOf('Words.', text('Word.', { max: 3 }), { max: 2 }), ['a', 'b'], true, 'distinct'],
    [setOf('Words.', text('Word.', { max: 3 }), { max: 2 }), ['a', 'a'], false, 'a set repeats nothing'],
    [listOf('Words.', text('Word.', { max: 3 }), { max: 2 }), ['a', 'a'], true, 'a list may repeat'],
    [listOf('Words.', text('Word.', { max: 3 }), { max: 1 }), ['a', 'a'], false, 'too long'],
    [listOf('Words.', text('Word.', { max: 3 }), { max: 2, min: 1 }), [], false, 'too short'],
    [listByKey('Pairs.', pair, ['key'], { max: 3 }), [pairOf('a'), pairOf('b')], true, 'distinct keys'],
    [listByKey('Pairs.', pair, ['key'], { max: 3 }), [pairOf('a'), pairOf('a')], false, 'repeated key'],
    [mapOf('Map.', flag('On.'), { maxProperties: 1, maxKeyLength: 2 }), { ab: true }, true, 'within bounds'],
    [mapOf('Map.', flag('On.'), { maxProperties: 1, maxKeyLength: 2 }), { abc: true }, false, 'long key'],
    [mapOf('Map.', flag('On.'), { maxProperties: 1, maxKeyLength: 2 }), { a: true, b: true }, false, 'too many'],
  ])('%# %o accepts %j: %s, because %s', (schema: z.ZodType, value: unknown, verdict: boolean, _because: string) => {
    expect(accepts(schema, value)).toBe(verdict);
  });

  function pairOf(key: string) {
    return { key, value: 'v' };
  }
});

describe('rules', () => {
  it('keeps the description and all rules when several are added', () => {
    const size = integer('Size in bytes.', { min: 0, max: 10 });
    const even = withRule(size, { rule: 'self % 2 == 0', message: 'must be even', check: (n) => n % 2 === 0 });
    const both = immutable(even, 'size cannot be changed');

    expect(both.meta()?.description).toBe('Size in bytes.');
    expect(rulesOf(both).map((one) => one.rule)).toEqual(['self % 2 == 0', 'self == oldSelf']);
    expect(accepts(both, 3)).toBe(false);
    expect(accepts(both, 4)).toBe(true);
  });

  it('reports at the field that the rule names', () => {
    const spec = withRule(fields('A spec.', { a: flag('A.').optional() }), {
      rule: 'has(self.a)',
      message: 'a is needed',
      fieldPath: '.a',
      check: (value) => value.a !== undefined,
    });

    expect(spec.safeParse({}).error?.issues[0]).toMatchObject({ path: ['a'], message: 'a is needed' });
  });
});

describe('specInAccount', () => {
  const Spec = specInAccount('A thing.', {
    name: ownName('The name.', { max: 50 }).optional(),
    token: secretText('The token.'),
    color: choice('The colour.', ['Red', 'Blue']),
    lifecycle: lifecycle({ managementPolicy, onDelete: onDelete(['Delete', 'Retain'], 'Default: Delete.') }),
  });

  it('infers the types of a spec', () => {
    const parsed = Spec.parse({
      token: { valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
      color: 'Red',
      lifecycle: { onDelete: 'Retain' },
    });

    const color: 'Red' | 'Blue' = parsed.color;
    const deletion: 'Delete' | 'Retain' | undefined = parsed.lifecycle?.onDelete;
    expect([color, deletion, parsed.accountRef]).toEqual(['Red', 'Retain', undefined]);
  });

  it('refuses unknown fields in a spec and drops them in a status', () => {
    expect(
      accepts(Spec, { token: { valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }, color: 'Red', colour: 'Red' }),
    ).toBe(false);
    expect(shown('Shown.', { a: flag('A.').optional() }).parse({ b: 1 })).toEqual({});
  });
});
