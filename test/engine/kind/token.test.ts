import { describe, expect, it } from 'vitest';
import { tokenIn } from '../../../src/engine/kind/schema/schema.ts';

describe('the token of an annotation', () => {
  it.each([
    { because: 'there is none', given: {}, token: undefined },
    { because: 'it is empty', given: { a: '' }, token: '' },
    { because: 'it fits', given: { a: 'x'.repeat(256) }, token: 'x'.repeat(256) },
    { because: 'it is too long', given: { a: 'x'.repeat(257) }, token: 'x'.repeat(256) },
    { because: 'it is long in units, and not in characters', given: { a: '🚀'.repeat(200) }, token: '🚀'.repeat(200) },
    { because: 'the cut falls into a character', given: { a: `x${'🚀'.repeat(300)}` }, token: `x${'🚀'.repeat(255)}` },
  ])('is what status can hold of it: $because', ({ given, token }) => {
    expect(tokenIn(given, 'a')).toBe(token);
  });
});
