import { describe, expect, it } from 'vitest';
import type { Effect } from '../../../src/engine/ports.ts';
import { outcomeOf, problemOf, type Answer, type Seen } from '../../../src/hosting/wire/transport.ts';

const effects: readonly Effect[] = ['read', 'create', 'update', 'remove', 'identified'];

function answered(status: number, kind: 'json' | 'empty' | 'garbage' = 'json'): Answer {
  return {
    was: 'answer',
    status,
    body: kind === 'json' ? { error: 'x' } : undefined,
    readable: kind === 'json',
    empty: kind === 'empty',
    saysNo: status >= 300,
    digest: '',
    dateMs: undefined,
    retryAfterMs: undefined,
    message: 'm',
  };
}

function verdictOf(effect: Effect, seen: Seen): string {
  const outcome = outcomeOf(effect, seen);
  return outcome.is === 'notExecuted' ? outcome.why : outcome.is;
}

const lost: Seen = { was: 'lost', message: 'm' };
const notSent: Seen = { was: 'notSent', hostNotAllowed: false, message: 'm' };

// Columns: what was seen · read · create · update · remove · identified · problem of a read · because.
const rows: readonly (readonly [string, Seen, string, string, string, string, string, string | undefined, string])[] = [
  [
    'nothing was sent',
    notSent,
    'notSent',
    'notSent',
    'notSent',
    'notSent',
    'notSent',
    'unreachable',
    'no byte left this machine',
  ],
  [
    'host not allowed',
    { ...notSent, hostNotAllowed: true },
    'notSent',
    'notSent',
    'notSent',
    'notSent',
    'notSent',
    'hostNotAllowed',
    'the check comes before the connection',
  ],
  [
    'a request that the interface does not allow',
    { was: 'invalid', message: 'm' },
    'refused',
    'refused',
    'refused',
    'refused',
    'refused',
    'refused',
    'it was not sent, and the same one never will be',
  ],
  [
    'no whole answer',
    lost,
    'inDoubt',
    'inDoubt',
    'inDoubt',
    'inDoubt',
    'inDoubt',
    'unreachable',
    'reset, timeout, cut or too large: it may have been done',
  ],
  [
    'held back by a pause',
    { was: 'heldBack', why: 'throttled', message: 'm' },
    'throttled',
    'throttled',
    'throttled',
    'throttled',
    'throttled',
    'throttled',
    'the service asked to wait, so nothing was sent',
  ],
  [
    'held back by a 401',
    { was: 'heldBack', why: 'unauthorized', message: 'm' },
    'unauthorized',
    'unauthorized',
    'unauthorized',
    'unauthorized',
    'unauthorized',
    'unauthorized',
    'a refused token is not tried by everybody',
  ],
  [
    '200 with a body that says no',
    { ...answered(200), saysNo: true },
    'committed',
    'committed',
    'refused',
    'refused',
    'committed',
    undefined,
    'a change or a removal was not made; what half was made of the rest is for its kind to read',
  ],
  ...[200, 201, 202, 204, 299].map(
    (status) =>
      [
        `${status} with JSON`,
        answered(status),
        'committed',
        'committed',
        'committed',
        'committed',
        'committed',
        undefined,
        'it was done',
      ] as const,
  ),
  [
    '200 without a body',
    answered(200, 'empty'),
    'inDoubt',
    'inDoubt',
    'committed',
    'committed',
    'inDoubt',
    'malformed',
    'an id or a receipt is missing; a change has none',
  ],
  [
    '204 without a body',
    answered(204, 'empty'),
    'inDoubt',
    'inDoubt',
    'committed',
    'committed',
    'inDoubt',
    'malformed',
    'an id or a receipt is missing; a change has none',
  ],
  [
    '200 with garbage',
    answered(200, 'garbage'),
    'inDoubt',
    'inDoubt',
    'inDoubt',
    'inDoubt',
    'inDoubt',
    'malformed',
    'a page of somebody on the way says nothing of the service',
  ],
  ...[300, 301, 302, 304, 305, 307, 308].map(
    (status) =>
      [
        `${status}`,
        answered(status),
        'refused',
        'refused',
        'refused',
        'refused',
        'refused',
        'refused',
        'it says to ask elsewhere, and we do not',
      ] as const,
  ),
  [
    '303',
    answered(303),
    'refused',
    'inDoubt',
    'inDoubt',
    'inDoubt',
    'inDoubt',
    'refused',
    'a server says so after having done it',
  ],
  [
    '401',
    answered(401),
    'unauthorized',
    'unauthorized',
    'unauthorized',
    'unauthorized',
    'unauthorized',
    'unauthorized',
    'the token is checked first',
  ],
  [
    '403',
    answered(403),
    'forbidden',
    'forbidden',
    'forbidden',
    'forbidden',
    'forbidden',
    'forbidden',
    'permission, or a business rule: the engine decides',
  ],
  [
    '404',
    answered(404),
    'notFound',
    'refused',
    'notFound',
    'notFound',
    'notFound',
    'refused',
    'a creation is refused because something it names is not there',
  ],
  [
    '408',
    answered(408),
    'inDoubt',
    'inDoubt',
    'inDoubt',
    'inDoubt',
    'inDoubt',
    'unreachable',
    'a proxy may say so after passing it on',
  ],
  [
    '409',
    answered(409),
    'refused',
    'conflict',
    'conflict',
    'conflict',
    'conflict',
    'refused',
    'refused, or done by an earlier try',
  ],
  [
    '425',
    answered(425),
    'throttled',
    'throttled',
    'throttled',
    'throttled',
    'throttled',
    'throttled',
    'not looked at yet',
  ],
  ['429', answered(429), 'throttled', 'throttled', 'throttled', 'throttled', 'throttled', 'throttled', 'not looked at'],
  ...[400, 402, 405, 406, 410, 411, 412, 413, 414, 415, 417, 418, 421, 422, 423, 424, 426, 428, 431, 451, 499].map(
    (status) =>
      [
        `${status}`,
        answered(status),
        'refused',
        'refused',
        'refused',
        'refused',
        'refused',
        'refused',
        'it says no',
      ] as const,
  ),
  ...[500, 501, 502, 503, 504, 505, 507, 508, 511, 520, 599].map(
    (status) =>
      [
        `${status}`,
        answered(status),
        'inDoubt',
        'inDoubt',
        'inDoubt',
        'inDoubt',
        'inDoubt',
        'unreachable',
        'it may have failed after having done it',
      ] as const,
  ),
  ...[0, 100, 101, 600, 999].map(
    (status) =>
      [
        `${status}`,
        answered(status),
        'inDoubt',
        'inDoubt',
        'inDoubt',
        'inDoubt',
        'inDoubt',
        'unreachable',
        'nothing that a server should answer',
      ] as const,
  ),
];

describe('the outcome table', () => {
  const cases = rows.flatMap(([seen, value, ...rest]) =>
    effects.map((effect, column) => ({ seen, value, effect, expected: rest[column], because: rest[6] })),
  );

  it.each(cases)('reads $seen of a $effect as $expected because $because', ({ value, effect, expected }) => {
    expect(verdictOf(effect, value)).toBe(expected);
  });

  it.each(rows.map(([seen, value, , , , , , problem]) => ({ seen, value, problem })))(
    'takes $seen for the problem $problem of a read',
    ({ value, problem }) => {
      expect(problemOf(value)).toBe(problem);
    },
  );

  it('never commits, refuses or finds absent what it has not seen whole', () => {
    for (const effect of effects) {
      for (const seen of [lost, notSent]) expect(['inDoubt', 'notSent']).toContain(verdictOf(effect, seen));
    }
  });

  it.each([400, 403, 404, 409, 422, 429, 500, 502])('keeps the body of a creation that ended with %i', (status) => {
    const outcome = outcomeOf('create', answered(status));

    expect(outcome).toMatchObject({ body: { error: 'x' } });
  });
});
