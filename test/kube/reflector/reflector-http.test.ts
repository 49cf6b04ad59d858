import { describe, expect, it, onTestFinished } from 'vitest';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { Reflector } from '../../../src/kube/reflector.ts';
import { CollectedLog } from '../../support/collected-log.ts';
import { eventually, realClock, realEntropy, tokenCredentials } from '../../support/real-time.ts';
import { scriptedServer } from '../../support/scripted-server.ts';
import { things } from '../example.ts';
import { line, lists, one, rows, says, type Script, type Step, wire } from './watch-faults.ts';

/** A reflector on a server that answers one request after the other as the script says. */
async function played(
  script: Script,
  { silenceMs = 60_000, requestMs = 60_000 }: { silenceMs?: number; requestMs?: number } = {},
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
      lists(1_000)(response);
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
    pace: { backoff: { firstMs: 20, longestMs: 100, forgetMs: 60_000 } },
    onEvent: ({ is, object }) => told.push(`${is} ${object.metadata.name} ${object.metadata.resourceVersion}`),
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
    const run = await played(script, limits);

    await eventually(
      'everything is told',
      () => run.told.length >= told.length && run.requests.length >= requests.length,
    );

    expect(run.told).toEqual(told);
    expect(run.requests.slice(0, requests.length)).toEqual(requests);
    expect(run.log.bugs).toEqual([]);
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
