import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openKube } from '../../src/kube/client.ts';
import { Reflector } from '../../src/kube/reflector.ts';
import { CollectedLog } from '../support/collected-log.ts';
import { eventually, realClock, realEntropy, tokenCredentials } from '../support/real-time.ts';
import { json, refusal, scriptedServer } from '../support/scripted-server.ts';
import { thing, things } from './example.ts';

/** An object as it goes over the wire. */
function wire(name: string, resourceVersion: number, uid = `uid-${name}`): object {
  return thing(name, { size: resourceVersion }, { namespace: 'a', uid, resourceVersion: String(resourceVersion) });
}

function line(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`;
}

function bookmark(resourceVersion: number): string {
  return line('BOOKMARK', { kind: 'Thing', metadata: { resourceVersion: String(resourceVersion) } });
}

type Step = (response: ServerResponse) => void;

/** Lines, then silence on an open connection. */
function says(...lines: readonly string[]): Step {
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

const resets: Step = (response) => response.destroy();
const closes: Step = (response) => response.end();

function lists(version: number, ...items: readonly object[]): Step {
  return (response) =>
    json(response, 200, { kind: 'ThingList', metadata: { resourceVersion: String(version) }, items });
}

function answers(status: number, reason: string, headers: Record<string, string> = {}): Step {
  return (response) => json(response, status, refusal(status, reason), headers);
}

interface Script {
  /** The answers to complete lists; the last is repeated. */
  readonly lists: readonly Step[];
  readonly watches: readonly Step[];
  /** The version that a look at the newest version shows. */
  readonly newest?: number;
}

/** A reflector on a server that answers one request after the other as the script says. */
async function played(script: Script, onEvent: (text: string) => void = () => undefined) {
  const requests: string[] = [];
  const taken = { list: 0, watch: 0 };
  const next = (steps: readonly Step[], kind: 'list' | 'watch'): Step | undefined =>
    steps[Math.min(taken[kind]++, steps.length - 1)];
  const { url } = await scriptedServer((response, request) => {
    const query = request.url.searchParams;
    if (query.get('watch') === 'true') {
      requests.push(`watch ${query.get('resourceVersion')}`);
      next(script.watches, 'watch')?.(response);
    } else if (query.get('limit') === '1') {
      requests.push('look');
      lists(script.newest ?? 1_000)(response);
    } else {
      requests.push('list');
      next(script.lists, 'list')?.(response);
    }
  });
  const api = openKube({
    credentials: tokenCredentials(url),
    clock: realClock,
    limits: { silenceMs: 400, requestMs: 400, lineBytes: 2_000 },
  });
  const told: string[] = [];
  const log = new CollectedLog();
  const reflector = new Reflector({
    api,
    resource: things,
    clock: realClock,
    entropy: realEntropy,
    log,
    pace: { backoff: { firstMs: 20, longestMs: 100, forgetMs: 60_000 }, relistAfter: 1_000 },
    onEvent: ({ is, object }) => {
      const text = `${is} ${object.metadata.name} ${object.metadata.resourceVersion}`;
      told.push(text);
      onEvent(text);
    },
  });
  onTestFinished(async () => {
    await reflector.stop();
    await api.close();
  });
  reflector.start();
  return { reflector, requests, told, log };
}

const one = wire('one', 10);
const two = wire('two', 20);

/** Every way in which the informer of the stock client was seen to die, to go back in time or to lose an event. */
const rows: readonly {
  readonly name: string;
  readonly script: Script;
  readonly told: readonly string[];
  readonly requests: readonly string[];
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
    name: 'T5: an older form comes after a newer one',
    script: {
      lists: [lists(10, one), lists(30, wire('one', 20))],
      watches: [
        says(line('MODIFIED', wire('one', 20)), line('MODIFIED', wire('one', 15))),
        says(line('ADDED', wire('two', 40))),
      ],
    },
    told: ['applied one 10', 'applied one 20', 'applied two 40'],
    requests: ['list', 'watch 10', 'list', 'watch 30'],
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
    name: 'T8: the deletion of the old object comes after the new one',
    script: {
      lists: [lists(10, one)],
      watches: [
        says(
          line('ADDED', wire('one', 20, 'uid-new')),
          line('DELETED', wire('one', 21)),
          line('ADDED', wire('two', 30)),
        ),
      ],
    },
    told: ['applied one 10', 'gone one 10', 'applied one 20', 'applied two 30'],
    requests: ['list', 'watch 10'],
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
  },
  {
    name: 'T11: not even the head of the answer comes',
    script: { lists: [lists(10, one)], watches: [() => undefined, says(line('ADDED', two))] },
    told: ['applied one 10', 'applied two 20'],
    requests: ['list', 'watch 10', 'look', 'watch 10'],
  },
  {
    name: 'T12: the stream ends at once, with nothing in it',
    script: { lists: [lists(10, one)], watches: [closes, says(line('ADDED', two))] },
    told: ['applied one 10', 'applied two 20'],
    requests: ['list', 'watch 10', 'look', 'watch 10'],
  },
  {
    name: 'T13: the cluster is older than it was after a break',
    script: {
      lists: [lists(10, one), lists(7, wire('one', 6))],
      watches: [saysThen(resets), says(line('ADDED', wire('two', 8)))],
      newest: 7,
    },
    told: ['applied one 10', 'applied one 6', 'applied two 8'],
    requests: ['list', 'watch 10', 'look', 'list', 'watch 7'],
  },
];

describe('a reflector over HTTP', () => {
  it.for(rows)('survives $name', async ({ script, told, requests }) => {
    const run = await played(script);

    await eventually(
      'everything is told',
      () => run.told.length >= told.length && run.requests.length >= requests.length,
    );
    await new Promise((resolve) => setTimeout(resolve, 30));

    expect(run.told).toEqual(told);
    expect(run.requests).toEqual(requests);
    expect(run.log.bugs).toEqual([]);
  });

  it('survives T4: a listener that throws', async () => {
    const { told, log, requests } = await played(
      { lists: [lists(10, one)], watches: [says(line('ADDED', two), bookmark(30))] },
      () => {
        throw new Error('a listener failed');
      },
    );

    await eventually('both are told', () => told.length === 2);

    expect(log.bugs).toHaveLength(2);
    expect(requests).toEqual(['list', 'watch 10']);
  });

  it('takes a list of two hundred thousand objects', async () => {
    const many = Array.from({ length: 200_000 }, (_, at) => ({
      metadata: { name: `n${at}`, namespace: 'a', uid: `u${at}`, resourceVersion: '5' },
    }));
    const { reflector } = await played({
      lists: [
        (response) =>
          json(response, 200, {
            kind: 'ThingList',
            apiVersion: 'v1',
            metadata: { resourceVersion: '10' },
            items: many,
          }),
      ],
      watches: [says()],
    });

    await reflector.synced;

    expect(reflector.size).toBe(200_000);
  });

  it('takes ten thousand events in one go, in order', async () => {
    const events = Array.from({ length: 10_000 }, (_, at) => line('MODIFIED', wire('one', 11 + at))).join('');
    const { told, requests } = await played({ lists: [lists(10, one)], watches: [says(events)] });

    await eventually('all are told', () => told.length === 10_001);

    expect(told.at(-1)).toBe('applied one 10010');
    expect(new Set(told).size).toBe(10_001);
    expect(requests).toEqual(['list', 'watch 10']);
  });
});
