import { describe, expect, it, onTestFinished } from 'vitest';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { Reflector } from '../../../src/kube/reflector.ts';
import { CollectedLog } from '../../support/collected-log.ts';
import { eventually, realClock, realEntropy, tokenCredentials } from '../../support/real-time.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { things } from '../example.ts';
import { bookmark, line, lists, one, rows, says, type Script, type Step, two, wire } from './watch-faults.ts';

/** A reflector on a server that answers one request after the other as the script says. */
async function played(
  script: Script,
  onEvent: (text: string) => void = () => undefined,
  { silenceMs = 60_000, requestMs = 60_000, idleMs = 80_000 } = {},
) {
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
  const api = new KubeClient(tokenCredentials(url), realClock, { silenceMs, requestMs, lineBytes: 2_000 });
  const told: string[] = [];
  const log = new CollectedLog();
  const reflector = new Reflector({
    api,
    resource: things,
    clock: realClock,
    entropy: realEntropy,
    log,
    pace: { backoff: { firstMs: 20, longestMs: 100, forgetMs: 60_000 }, idleMs },
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

describe('a reflector over HTTP', () => {
  it.for(rows)('survives $name', async ({ script, told, requests, limits }) => {
    const run = await played(script, undefined, limits);

    await eventually(
      'everything is told',
      () => run.told.length >= told.length && run.requests.length >= requests.length,
    );

    expect(run.told).toEqual(told);
    expect(run.requests.slice(0, requests.length)).toEqual(requests);
    expect(run.log.bugs).toEqual([]);
  });

  it('lists what a server that accepts every watch and never speaks keeps from it, and goes on doing so', async () => {
    const changed = [lists(30, one, wire('two', 25)), lists(50, one, wire('two', 45))];
    const { told, requests, log } = await played(
      { lists: [lists(10, one), ...changed], watches: [says()] },
      undefined,
      {
        silenceMs: 5_000,
        idleMs: 300,
      },
    );

    await eventually('both changes are told', () => told.length >= 3);

    expect(told).toEqual(['applied one 10', 'applied two 25', 'applied two 45']);
    expect(requests.slice(0, 7)).toEqual(['list', 'watch 10', 'look', 'list', 'watch 30', 'look', 'list']);
    expect(log.bugs).toEqual([]);
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

  it('takes ten thousand events in one go, in order', async () => {
    const events = Array.from({ length: 10_000 }, (_, at) => line('MODIFIED', wire('one', 11 + at))).join('');
    const { told, requests } = await played({ lists: [lists(10, one)], watches: [says(events)] });

    await eventually('all are told', () => told.length === 10_001);

    expect(told.at(-1)).toBe('applied one 10010');
    expect(new Set(told).size).toBe(10_001);
    expect(requests).toEqual(['list', 'watch 10']);
  });
});
