import { describe, expect, it } from 'vitest';
import { sameJson } from '../../src/base/json.ts';

describe('sameJson', () => {
  it.each(['constructor', 'toString', '__proto__'])('sees a key that every object knows: %s', (key) => {
    const one = JSON.parse(`{"${key}": "x"}`) as object;

    expect([sameJson({}, one), sameJson(one, {}), sameJson(one, structuredClone(one))]).toEqual([false, false, true]);
  });
});
