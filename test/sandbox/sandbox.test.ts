import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { paintFor } from '../../src/cli/output.ts';
import { liveDisplay, plainDisplay } from '../../src/sandbox/display.ts';
import { notReady } from '../../src/sandbox/follow.ts';
import { samplesIn } from '../../src/sandbox/launch.ts';
import { inApplyOrder, manifestsIn, manifestsOf } from '../../src/sandbox/manifests.ts';
import { operator, simulator, wordsOf } from '../../src/sandbox/programs.ts';
import { revival } from '../../src/sandbox/revival.ts';
import { splitKubectl } from '../../src/sandbox/sandbox.ts';
import { rowOf, stateOf, tableOf } from '../../src/sandbox/table.ts';
import type { SandboxRow } from '../../src/sandbox/table.ts';
import type { KubeObject } from '../../src/engine/ports.ts';
import { temporaryDir } from '../support/temporary.ts';

const plain = paintFor('never', process.stdout);

const row = (over: Partial<SandboxRow> = {}): SandboxRow => ({
  kind: 'ContactPoint',
  namespace: 'default',
  name: 'on-call',
  ready: 'True',
  reason: 'Settled',
  state: '',
  message: '',
  ...over,
});

function resource(generation: number, observedGeneration: number): KubeObject {
  const conditions = [{ type: 'Ready', status: 'True', reason: 'Settled' }];
  const metadata = { name: 'a', namespace: 'b', generation, uid: '', resourceVersion: '1', creationTimestamp: '' };
  const status = { observedGeneration, state: 'running', conditions };
  return { apiVersion: 'apphosting.dev/v1alpha1', kind: 'Thing', metadata, status };
}

function written() {
  const parts: string[] = [];
  return {
    screen: { write: (text: string) => parts.push(text), columns: 60, rows: 6 },
    take: () => parts.splice(0).join(''),
  };
}

describe('a row', () => {
  it('is Ready only for the generation that was looked at', () => {
    expect(rowOf(resource(2, 2))).toMatchObject({ ready: 'True', state: 'running', reason: 'Settled' });
    expect(rowOf(resource(3, 2))).toMatchObject({ ready: '', reason: '' });
    expect(rowOf({ ...resource(1, -1), status: { observedGeneration: -1 } }).ready).toBe('');
  });

  it.each([
    { of: row(), text: 'Ready' },
    { of: row({ state: 'running' }), text: 'Ready, running' },
    { of: row({ ready: 'False', reason: 'Waiting', message: 'for the app' }), text: 'not ready, Waiting: for the app' },
    { of: row({ ready: '' }), text: 'the operator has not reported a status yet' },
  ])('is "$text" in a line', ({ of, text }) => {
    expect(stateOf(of)).toBe(text);
  });
});

describe('the table', () => {
  it('aligns its columns and hides the default namespace', () => {
    const rows = [
      row(),
      row({ kind: 'HostingAccount', namespace: 'team', name: 'a', ready: 'False', reason: 'Waiting' }),
    ];

    expect(tableOf(rows, { columns: 80, rows: 20 }, plain)).toEqual([
      'KIND            NAME     READY  STATE  WHAT',
      'ContactPoint    on-call  True',
      'HostingAccount  team/a   False         Waiting',
    ]);
  });

  it('fits the terminal and says how much it leaves out', () => {
    const rows = Array.from({ length: 50 }, (_, at) =>
      row({ name: `a-${at}`, ready: 'False', message: 'long '.repeat(50) }),
    );

    const lines = tableOf(rows, { columns: 40, rows: 10 }, plain);

    expect(lines).toHaveLength(9);
    expect(lines.at(-1)).toBe('… and 43 more');
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(40);
  });
});

describe('the display', () => {
  it('replaces the table on a terminal, and only when it changed', () => {
    const { screen, take } = written();
    const display = liveDisplay(screen, plain);

    display.show([row()]);
    expect(take()).toContain('on-call');
    display.show([row()]);
    expect(take()).toBe('');
    display.line('the operator ended');
    const [first, ...others] = take().split('\n');
    expect(first).toBe('\u001B[2A\u001B[Jthe operator ended');
    expect(others).toEqual([expect.stringContaining('KIND'), expect.stringContaining('on-call'), '']);
  });

  it('writes a line per change elsewhere', () => {
    const { screen, take } = written();
    const display = plainDisplay(screen, () => ' 1.0 s');

    display.show([row({ ready: 'False', reason: 'Waiting' })]);
    display.show([row({ ready: 'False', reason: 'Waiting' })]);
    display.show([row()]);
    display.show([]);

    expect(take().split('\n')).toEqual([
      ' 1.0 s  ContactPoint default/on-call: not ready, Waiting',
      ' 1.0 s  ContactPoint default/on-call: Ready',
      ' 1.0 s  ContactPoint default/on-call: gone',
      '',
    ]);
  });
});

describe('manifests', () => {
  it('are read from every YAML file, in order, without the placeholder of the Secret', async () => {
    const dir = await temporaryDir();
    await mkdir(join(dir, 'more'));
    await writeFile(join(dir, 'b.yaml'), 'apiVersion: v1\nkind: Secret\nmetadata: {name: hosting-credentials}\n---\n');
    await writeFile(join(dir, 'more', 'c.yml'), 'apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n');
    await writeFile(join(dir, 'a.yaml'), '# nothing\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n');
    await writeFile(join(dir, 'kustomization.yaml'), 'resources: [a.yaml]\n');
    await writeFile(join(dir, 'README.md'), 'kind: nothing\n');

    expect((await manifestsIn(dir)).map(({ kind }) => kind)).toEqual(['ConfigMap', 'Secret', 'Namespace']);
    expect(inApplyOrder(await samplesIn(dir)).map(({ kind }) => kind)).toEqual(['Namespace', 'ConfigMap']);
  });

  it.each([
    {
      text: 'kind: Thing',
      says: 'a.yaml:1: the object needs apiVersion, kind, and metadata.name or generateName, each a text',
    },
    { text: 'a: [', says: 'a.yaml:1: ' },
  ])('that are wrong are named: $text', ({ text, says }) => {
    expect(() => manifestsOf(new Map([['a.yaml', text]]))).toThrow(says);
  });

  it('whose folder is absent say so', async () => {
    await expect(manifestsIn('/does/not/exist')).rejects.toThrow('/does/not/exist:1: there is no such file or folder');
  });
});

describe('samples', () => {
  const sample = (kind: string, name: string, apiVersion = 'apphosting.dev/v1alpha1') => ({
    apiVersion,
    kind,
    metadata: { name },
  });

  it('are ready when the operator made each of ours so', () => {
    const samples = [
      sample('ContactPoint', 'on-call'),
      sample('ContactPoint', 'absent'),
      sample('ClusterHostingAccount', 'all'),
      sample('ConfigMap', 'a', 'v1'),
    ];
    const rows = [row(), row({ kind: 'ClusterHostingAccount', namespace: '', name: 'all', ready: 'Unknown' })];

    expect(notReady(samples, rows).map(({ key }) => key)).toEqual([
      'ContactPoint default/absent',
      'ClusterHostingAccount all',
    ]);
  });
});

describe('arguments', () => {
  it('behind --kubectl are kubectl’s', () => {
    expect(splitKubectl(['--data', 'd', '--kubectl', 'get', '--data', 'x'])).toEqual({
      own: ['--data', 'd'],
      kubectl: ['get', '--data', 'x'],
    });
    expect(splitKubectl(['--once'])).toEqual({ own: ['--once'], kubectl: undefined });
  });

  it.each([
    { text: '--a 1  --b=2', words: ['--a', '1', '--b=2'] },
    { text: `--selector 'a in (b, c)' --x="y z"`, words: ['--selector', 'a in (b, c)', '--x=y z'] },
    { text: '  ', words: [] },
  ])('in one text are split like a shell does: $text', ({ text, words }) => {
    expect(wordsOf(text)).toEqual(words);
  });

  it('of the simulator and the operator are what their contracts say', () => {
    const commands = { simulator: ['main.ts', 'simulator'], operator: ['main.ts', 'run'] };
    const settings = { latency: 50, reading: ['a=b'], rateLimit: undefined, clock: 'virtual' as const };

    expect(simulator(commands, '/d', 81, settings).args.join(' ')).toBe(
      'main.ts simulator --listen=127.0.0.1:81 --state=/d/run/simulator/state --latency=50 --clock=virtual --reading=a=b',
    );
    expect(operator(commands, '/d', 82, ['--selector a=b']).args.join(' ')).toBe(
      'main.ts run --kubeconfig=/d/run/operator/kubeconfig --operator-namespace=apphosting-system ' +
        '--metrics-listen=127.0.0.1:82 --allow-insecure-loopback --enable-activation --selector a=b',
    );
  });
});

describe('revival', () => {
  it('tries until what ended is up again', async () => {
    const stop = new AbortController();
    const said: string[] = [];
    let starts = 0;
    const start = () => {
      starts += 1;
      return starts < 3 ? Promise.reject(new Error('not yet')) : Promise.resolve();
    };
    const { ended } = revival(
      (text) => said.push(text),
      stop.signal,
      () => Promise.resolve(),
    );

    ended('the operator', { code: 1, signal: null }, start);
    await expect.poll(() => said.at(-1), { timeout: 60_000 }).toBe('the operator is up again');

    expect(said).toEqual([
      'the operator ended by itself (exit code 1): starting it again',
      'not yet',
      'not yet',
      'the operator is up again',
    ]);
  });

  it('does nothing once everything is ending', async () => {
    const stop = new AbortController();
    stop.abort();
    const said: string[] = [];

    revival(
      (text) => said.push(text),
      stop.signal,
      () => Promise.resolve(),
    ).ended('x', { code: 0, signal: null }, () => Promise.reject(new Error('must not be asked')));

    expect(said).toEqual([]);
  });
});
