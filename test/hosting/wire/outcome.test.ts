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
const notSent = { was: 'notSent', hostNotAllowed: false, message: 'm' } as const;

function heldBack(why: 'throttled' | 'unauthorized'): Seen {
  return { was: 'heldBack', why, message: 'm' };
}

/** What was seen, its verdict, the problem of a read, why, and the effects of which the verdict is another one. */
type Row = readonly [
  when: string,
  seen: Seen,
  verdict: string,
  problem: string | undefined,
  because: string,
  except?: Partial<Record<Effect, string>>,
];

const withoutBody = { update: 'committed', remove: 'committed' };

const rows: readonly Row[] = [
  ['nothing was sent', notSent, 'notSent', 'unreachable', 'no byte left this machine'],
  ['host not allowed', { ...notSent, hostNotAllowed: true }, 'notSent', 'hostNotAllowed', 'the check comes first'],
  ['an invalid request', { was: 'invalid', message: 'm' }, 'refused', 'refused', 'it was not sent, and never will be'],
  ['no whole answer', lost, 'inDoubt', 'unreachable', 'reset, timeout, cut or too large: it may have been done'],
  ['held back by a pause', heldBack('throttled'), 'throttled', 'throttled', 'the service asked to wait'],
  [
    'held back by a 401',
    heldBack('unauthorized'),
    'unauthorized',
    'unauthorized',
    'not everybody tries a refused token',
  ],
  [
    '200 with a body that says no',
    { ...answered(200), saysNo: true },
    'committed',
    undefined,
    'a change or a removal was not made; what half was made of the rest is for its kind to read',
    { update: 'refused', remove: 'refused' },
  ],
  ...[200, 201, 202, 204, 299].map((status): Row => [
    `${status} with JSON`,
    answered(status),
    'committed',
    undefined,
    'it was done',
  ]),
  ...[200, 204].map((status): Row => {
    const because = 'an id or a receipt is missing; a change has none';
    return [`${status} without a body`, answered(status, 'empty'), 'inDoubt', 'malformed', because, withoutBody];
  }),
  [
    '200 with garbage',
    answered(200, 'garbage'),
    'inDoubt',
    'malformed',
    'a page of a proxy says nothing of the service',
  ],
  ...[300, 301, 302, 304, 305, 307, 308].map((status): Row => [
    `${status}`,
    answered(status),
    'refused',
    'refused',
    'it says to ask elsewhere, and we do not',
  ]),
  ['303', answered(303), 'inDoubt', 'refused', 'a server says so after having done it', { read: 'refused' }],
  ['401', answered(401), 'unauthorized', 'unauthorized', 'the token is checked first'],
  ['403', answered(403), 'forbidden', 'forbidden', 'permission, or a business rule: the engine decides'],
  ['404', answered(404), 'notFound', 'refused', 'something that a creation names is not there', { create: 'refused' }],
  ['408', answered(408), 'inDoubt', 'unreachable', 'a proxy may say so after passing it on'],
  ['409', answered(409), 'conflict', 'refused', 'refused, or done by an earlier try', { read: 'refused' }],
  ['425', answered(425), 'throttled', 'throttled', 'not looked at yet'],
  ['429', answered(429), 'throttled', 'throttled', 'not looked at'],
  ...[400, 402, 405, 406, 410, 411, 412, 413, 414, 415, 417, 418, 421, 422, 423, 424, 426, 428, 431, 451, 499].map(
    (status): Row => [`${status}`, answered(status), 'refused', 'refused', 'it says no'],
  ),
  ...[500, 501, 502, 503, 504, 505, 507, 508, 511, 520, 599].map((status): Row => [
    `${status}`,
    answered(status),
    'inDoubt',
    'unreachable',
    'it may have failed after it was done',
  ]),
  ...[0, 100, 101, 600, 999].map((status): Row => [
    `${status}`,
    answered(status),
    'inDoubt',
    'unreachable',
    'nothing that a server should answer',
  ]),
];

describe('the outcome table', () => {
  const cases = rows.flatMap(([when, seen, verdict, , because, except]) =>
    effects.map((effect) => ({ when, seen, effect, verdict: except?.[effect] ?? verdict, because })),
  );

  it.each(cases)('reads $when of a $effect as $verdict because $because', ({ seen, effect, verdict }) => {
    expect(verdictOf(effect, seen)).toBe(verdict);
  });

  it.each(rows.map(([when, seen, , problem]) => ({ when, seen, problem })))(
    'takes $when for the problem $problem of a read',
    ({ seen, problem }) => {
      expect(problemOf(seen)).toBe(problem);
    },
  );

  it.each([400, 403, 404, 409, 422, 429, 500, 502])('keeps the body of a creation that ended with %i', (status) => {
    const outcome = outcomeOf('create', answered(status));

    expect(outcome).toMatchObject({ body: { error: 'x' } });
  });
});
