import type { ServerResponse } from 'node:http';
import { json, refusal } from '../../support/scripted-server.ts';
import { thing } from '../example.ts';

/** An object as it goes over the wire. */
export function wire(name: string, resourceVersion: number, uid = `uid-${name}`): object {
  return thing(name, { size: resourceVersion }, { namespace: 'a', uid, resourceVersion: String(resourceVersion) });
}

/** One line of a watch. */
export function line(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`;
}

/** A line that only says how far the watch is. */
function bookmark(resourceVersion: number): string {
  return line('BOOKMARK', { kind: 'Thing', metadata: { resourceVersion: String(resourceVersion) } });
}

/** How one request is answered. */
export type Step = (response: ServerResponse) => void;

/** Lines, then silence on an open connection. */
export function says(...lines: readonly string[]): Step {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    for (const one of lines) response.write(one);
  };
}

/** Lines, then this end. */
function saysThen(end: Step, ...lines: readonly string[]): Step {
  return (response) => {
    says(...lines)(response);
    setTimeout(() => end(response), 20);
  };
}

/** The connection breaks. */
const resets: Step = (response) => response.destroy();
/** The stream ends. */
const closes: Step = (response) => response.end();

/** A whole list. */
export function lists(version: number, ...items: readonly object[]): Step {
  return (response) =>
    json(response, 200, { kind: 'ThingList', metadata: { resourceVersion: String(version) }, items });
}

/** A refusal. */
function answers(status: number, reason: string, headers: Record<string, string> = {}): Step {
  return (response) => json(response, status, refusal(status, reason), headers);
}

/** The answers of one run; the last of each is repeated. */
export interface Script {
  readonly lists: readonly Step[];
  readonly watches: readonly Step[];
}

/** What is there at first, and what comes. */
export const one = wire('one', 10);
const two = wire('two', 20);

/**
 * The ways in which the informer of the stock client was seen to die or to lose an event, as they come over HTTP. What only the order of
 * events and lists decides, such as a cluster that is older than it was, is tried on the double: `reflector-time.test.ts`.
 */
export const rows: readonly {
  readonly name: string;
  readonly script: Script;
  readonly told: readonly string[];
  readonly requests: readonly string[];
  /** The deadline of the client that is waited for. */
  readonly limits?: { readonly silenceMs: number } | { readonly requestMs: number };
}[] = [
  {
    name: 'T1: the watch answers 500 once',
    script: { lists: [lists(10, one)], watches: [answers(500, 'InternalError'), says(line('ADDED', two))] },
    told: ['applied one 10', 'applied two 20'],
    requests: ['list', 'watch 10', 'look', 'watch 10'],
  },
  {
    name: 'T1: the watch answers 429 once',
    script: {
      lists: [lists(10, one)],
      watches: [answers(429, 'TooManyRequests', { 'retry-after': '1' }), says(line('ADDED', two))],
    },
    told: ['applied one 10', 'applied two 20'],
    requests: ['list', 'watch 10', 'look', 'watch 10'],
  },
  {
    name: 'T2: the connection is reset in the middle of a watch',
    script: { lists: [lists(10, one)], watches: [saysThen(resets, bookmark(15)), says(line('ADDED', two))] },
    told: ['applied one 10', 'applied two 20'],
    requests: ['list', 'watch 10', 'look', 'watch 15'],
  },
  {
    name: 'T2: the connection is reset in the middle of a line',
    script: {
      lists: [lists(10, one)],
      watches: [saysThen(resets, line('ADDED', two).slice(0, 40)), says(line('ADDED', two))],
    },
    told: ['applied one 10', 'applied two 20'],
    requests: ['list', 'watch 10', 'look', 'watch 10'],
  },
  {
    name: 'T3: the first list answers 503',
    script: { lists: [answers(503, 'ServiceUnavailable'), lists(10, one)], watches: [says(line('ADDED', two))] },
    told: ['applied one 10', 'applied two 20'],
    requests: ['list', 'list', 'watch 10'],
  },
  {
    name: 'T6: the object is deleted and recreated in a gap that 410 opens in the stream',
    script: {
      lists: [lists(10, one), lists(30, wire('one', 25, 'uid-new'))],
      watches: [says(line('ERROR', { kind: 'Status', code: 410 })), says(line('ADDED', wire('two', 40)))],
    },
    told: ['applied one 10', 'gone one 10', 'applied one 25', 'applied two 40'],
    requests: ['list', 'watch 10', 'list', 'watch 30'],
  },
  {
    name: 'T6: the same gap, opened by an answer 410',
    script: {
      lists: [lists(10, one), lists(30, wire('one', 25, 'uid-new'))],
      watches: [answers(410, 'Expired'), says(line('ADDED', wire('two', 40)))],
    },
    told: ['applied one 10', 'gone one 10', 'applied one 25', 'applied two 40'],
    requests: ['list', 'watch 10', 'list', 'watch 30'],
  },
  {
    name: 'T7: a line is not JSON',
    script: {
      lists: [lists(10, one), lists(30, one, wire('two', 25))],
      watches: [says('{"type":"ADDED","object":{\n', line('ADDED', wire('x', 26))), says(bookmark(40))],
    },
    told: ['applied one 10', 'applied two 25'],
    requests: ['list', 'watch 10', 'list', 'watch 30'],
  },
  {
    name: 'T7: a line is not an event',
    script: {
      lists: [lists(10, one), lists(30, one, wire('two', 25))],
      watches: [says('<html>proxy</html>\n'), says(bookmark(40))],
    },
    told: ['applied one 10', 'applied two 25'],
    requests: ['list', 'watch 10', 'list', 'watch 30'],
  },
  {
    name: 'T7: a line has no end',
    script: {
      lists: [lists(10, one), lists(30, one, wire('two', 25))],
      watches: [says('x'.repeat(3_000)), says(bookmark(40))],
    },
    told: ['applied one 10', 'applied two 25'],
    requests: ['list', 'watch 10', 'list', 'watch 30'],
  },
  {
    name: 'T9: the stream says 500 and ends',
    script: {
      lists: [lists(10, one)],
      watches: [saysThen(closes, bookmark(12), line('ERROR', { kind: 'Status', code: 500 })), says(line('ADDED', two))],
    },
    told: ['applied one 10', 'applied two 20'],
    requests: ['list', 'watch 10', 'look', 'watch 12'],
  },
  {
    name: 'T10: the reconnect is refused',
    script: { lists: [lists(10, one)], watches: [saysThen(resets), resets, resets, says(line('ADDED', two))] },
    told: ['applied one 10', 'applied two 20'],
    requests: ['list', 'watch 10', 'look', 'watch 10', 'look', 'watch 10', 'look', 'watch 10'],
  },
  {
    name: 'T11: the connection is open and silent',
    script: { lists: [lists(10, one)], watches: [says(), says(line('ADDED', two))] },
    told: ['applied one 10', 'applied two 20'],
    requests: ['list', 'watch 10', 'look', 'watch 10'],
    limits: { silenceMs: 1_000 },
  },
  {
    name: 'T11: not even the head of the answer comes',
    script: { lists: [lists(10, one)], watches: [() => undefined, says(line('ADDED', two))] },
    told: ['applied one 10', 'applied two 20'],
    requests: ['list', 'watch 10', 'look', 'watch 10'],
    limits: { requestMs: 4_000 },
  },
  {
    name: 'T12: the stream ends at once, with nothing in it',
    script: { lists: [lists(10, one)], watches: [closes, says(line('ADDED', two))] },
    told: ['applied one 10', 'applied two 20'],
    requests: ['list', 'watch 10', 'look', 'watch 10'],
  },
];
