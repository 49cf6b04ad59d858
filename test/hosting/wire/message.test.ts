import { describe, expect, it } from 'vitest';
import { errorTextOf, wordsFrom } from '../../../src/hosting/api/endpoint.ts';
import { retryAfterMs } from '../../../src/base/time.ts';

describe('the short text of an error body', () => {
  it.each([
    { body: { error: 'no' }, text: 'no', because: 'the default shape' },
    { body: { message: 'no' }, text: 'no', because: 'another name' },
    { body: { error: { message: 'no', code: 'E1' } }, text: 'no', because: 'nested' },
    { body: { error: { code: 'E1' } }, text: 'E1', because: 'nested with a code only' },
    { body: { error: 'in use', details: '2 alerts' }, text: 'in use: 2 alerts', because: 'the contact point in use' },
    { body: { error: 'in use', details: { count: 2 } }, text: 'in use', because: 'details that are not text' },
    { body: 'plain', text: 'plain', because: 'plain text' },
    { body: '<html><body>502</body></html>', text: undefined, because: 'a page of a proxy says nothing' },
    { body: '', text: undefined, because: 'empty' },
    { body: undefined, text: undefined, because: 'not there' },
    { body: null, text: undefined, because: 'null' },
    { body: ['no'], text: undefined, because: 'a list is no error' },
    { body: { error: 7 }, text: undefined, because: 'a number is no text' },
    { body: { error: '  ' }, text: undefined, because: 'blank' },
  ])('is $text when $because', ({ body, text }) => {
    expect(errorTextOf(body)).toBe(text);
  });
});

describe('text of the service', () => {
  it.each([
    { text: 'a\u0000b\u001b[31mc\nd', safe: 'a b [31mc d', because: 'control characters' },
    { text: 'see https://h.example/x?token=1 or ftp://y', safe: 'see [url] or [url]', because: 'URLs' },
    { text: 'HTTP://H/x!', safe: '[url]', because: 'URLs in capitals' },
    { text: 'abc\u202Edef\u200Bghi', safe: 'abc def ghi', because: 'characters that only steer' },
  ])('loses $because', ({ text, safe }) => {
    expect(wordsFrom(text)).toBe(safe);
  });

  it('is cut at 200 characters, never inside of a character', () => {
    const cut = wordsFrom('😀'.repeat(300));

    expect(cut.length).toBeLessThanOrEqual(200);
    expect(cut.isWellFormed()).toBe(true);
  });
});

describe('Retry-After', () => {
  const now = Date.UTC(2026, 0, 1);

  it.each([
    { header: '', ms: undefined, because: 'it is absent or empty' },
    { header: '3', ms: 3000, because: 'it is in seconds' },
    { header: ' 1.5 ', ms: 1500, because: 'it is a fraction' },
    { header: '0', ms: 1000, because: 'zero means a moment' },
    { header: '-5', ms: 1000, because: 'it is negative' },
    { header: '36000', ms: 900_000, because: 'ten hours are capped at 15 minutes' },
    { header: '1e400', ms: undefined, because: 'it is garbage' },
    { header: 'soon', ms: undefined, because: 'it is garbage' },
    { header: new Date(now + 5000).toUTCString(), ms: 5000, because: 'it is a date' },
    { header: new Date(now - 5000).toUTCString(), ms: 1000, because: 'the date is past' },
    { header: new Date(now + 86_400_000).toUTCString(), ms: 900_000, because: 'the date is capped' },
  ])('asks for $ms ms when $because', ({ header, ms }) => {
    expect(retryAfterMs(header, now)).toBe(ms);
  });
});
