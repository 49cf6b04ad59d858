import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  immutable,
  rulesKey,
  fields,
  flag,
  integer,
  listByKey,
  listOf,
  mapOf,
  setOf,
  text,
} from '../../src/engine/kind/schema/schema.ts';
import { structural } from '../../src/crd/structural.ts';

const word = text('A word.', { max: 10 });

describe('structural', () => {
  it('keeps descriptions, bounds and list types', () => {
    const schema = fields('A spec.', {
      word: text('A word.', { min: 1, max: 10, pattern: '^a$' }),
      count: integer('How many.', { min: 0, max: 3 }).optional(),
      big: integer('How many.', { min: 0, max: 2 ** 40 }),
      words: setOf('Words.', word, { max: 2, min: 1 }),
      map: mapOf('Words by name.', word, { maxProperties: 2, maxKeyLength: 3 }),
    });

    expect(structural(schema, 'spec')).toEqual({
      type: 'object',
      description: 'A spec.',
      required: ['word', 'big', 'words', 'map'],
      properties: {
        word: { type: 'string', description: 'A word.', minLength: 1, maxLength: 10, pattern: '^a$' },
        count: { type: 'integer', description: 'How many.', minimum: 0, maximum: 3, format: 'int32' },
        big: { type: 'integer', description: 'How many.', minimum: 0, maximum: 2 ** 40, format: 'int64' },
        words: {
          type: 'array',
          description: 'Words.',
          minItems: 1,
          maxItems: 2,
          'x-kubernetes-list-type': 'set',
          items: { type: 'string', description: 'A word.', maxLength: 10 },
        },
        map: {
          type: 'object',
          description: 'Words by name.',
          maxProperties: 2,
          additionalProperties: { type: 'string', description: 'A word.', maxLength: 10 },
          [rulesKey]: [{ rule: 'self.all(key, size(key) <= 3)', message: 'each name must have at most 3 characters' }],
        },
      },
    });
  });

  it.each([
    ['a union', z.union([z.string(), z.number()]), 'spec.x has no single type'],
    ['a nullable field', word.nullable(), 'spec.x uses nullable'],
    ['an open object', z.looseObject({}).meta({ description: 'd' }), 'spec.x is open'],
    ['anything', z.any().meta({ description: 'd' }), 'spec.x has no single type'],
    ['a default', word.default('a'), 'spec.x uses default'],
    ['a date', z.date().meta({ description: 'd' }), 'Date cannot be represented'],
    ['a pattern that Go does not know', text('d', { max: 1, pattern: '^(?=a)a$' }), 'spec.x has the pattern'],
    ['a pattern without anchors', text('d', { max: 1, pattern: 'a' }), 'spec.x has the pattern'],
    ['a transition rule that can be dodged', immutable(word, 'stays').optional(), 'spec.x has a transition rule'],
    [
      'a transition rule under an optional parent',
      fields('d', { y: immutable(word, 'stays') }).optional(),
      'spec.x.y has a transition rule',
    ],
    [
      'a transition rule in a list',
      listOf('d', fields('d', { y: immutable(word, 'stays') }), { max: 1 }),
      'spec.x[].y has a transition rule',
    ],
    [
      'a key that items may leave out',
      listByKey('d', fields('d', { y: word.optional(), on: flag('d') }), ['y'], { max: 1 }),
      'spec.x is a list by the key y',
    ],
  ])('refuses %s', (_what: string, part: z.ZodType, problem: string) => {
    const schema = z.strictObject({ x: part }).meta({ description: 'A spec.' });

    expect(() => structural(schema, 'spec')).toThrow(problem);
  });
});
