import { describe, expect, it } from 'vitest';
import { observedText } from '../../../src/engine/kind/planner/compare.ts';
import { Secret } from '../../../src/base/json.ts';

describe('what the service shows instead of what is wanted', () => {
  it.each([
    { observed: 'b', wanted: 'a', text: 'b', because: 'it is plain' },
    {
      observed: 'see https://s.example/x?sig=1',
      wanted: 'a',
      text: 'see [url]',
      because: 'nobody asked for that address',
    },
    {
      observed: 'https://wiki.example old',
      wanted: 'see https://wiki.example',
      text: 'https://wiki.example old',
      because: 'the spec names it',
    },
    { observed: 'a\u0000\nb', wanted: 'a', text: 'a b', because: 'it is one line' },
    { observed: undefined, wanted: 'a', text: '(unset)', because: 'it shows nothing' },
    { observed: null, wanted: 'a', text: '(unset)', because: 'null is no value' },
    { observed: new Secret('x'), wanted: new Secret('y'), text: '(redacted)', because: 'it is a secret' },
  ])('is told as $text since $because', ({ observed, wanted, text }) => {
    expect(observedText(observed, wanted, false)).toBe(text);
  });
});
