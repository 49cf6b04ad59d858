import { execFile } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { json, refusal, scriptedServer } from '../support/scripted-server.ts';
import { temporaryDir } from '../support/temporary.ts';
import { folderOf } from './support/folder.ts';
import { serviceAtSocket } from './support/service.ts';

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');

interface Ended {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

function apphosting(...args: readonly string[]): Promise<Ended> {
  return called(main, args);
}

function called(file: string, args: readonly string[]): Promise<Ended> {
  return ended(process.execPath, [file, ...args]);
}

function ended(program: string, args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(program, args, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, stdout, stderr });
    });
  });
}

async function kubeconfig(cluster: object, user: object): Promise<string> {
  const file = join(await temporaryDir(), 'config');
  const entries = {
    clusters: [{ name: 'x', cluster }],
    users: [{ name: 'x', user }],
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x', namespace: 'team' } }],
    'current-context': 'x',
  };
  await writeFile(file, JSON.stringify(entries));
  return file;
}

describe('a command whose kubeconfig is wrong', () => {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh' };
  const plugin = { exec: { ...exec, args: ['-c', 'echo planted-secret >&2; exit 3'] } };

  it.for([
    ['run', []],
    ['points', ['shop']],
  ] as const)('ends with 1 and one line that names file and field: %s', async ([command, args]) => {
    const file = await kubeconfig({ server: 'https://127.0.0.1:1' }, plugin);

    const { code, stdout, stderr } = await apphosting(command, ...args, '--kubeconfig', file);

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `apphosting ${command}: kubeconfig ${file}: users["x"].exec: sh: the program ended with exit code 3\n`,
    );
  });

  it('names the server, and the proxy where it goes through one that is down', async () => {
    const password = { token: 'planted-secret' };
    const proxied = {
      server: 'https://ann:planted-secret@127.0.0.1:1',
      'proxy-url': 'http://ann:planted-secret@127.0.0.1:2',
    };
    const file = await kubeconfig(proxied, password);

    const { code, stderr } = await apphosting('run', '--kubeconfig', file);

    expect(code).toBe(1);
    const why = 'listing hostingaccounts: no answer from 127.0.0.1:1 through the proxy 127.0.0.1:2 (ECONNREFUSED)';
    expect(stderr).toBe(`apphosting run: kubeconfig ${file}: the cluster cannot be used: ${why}\n`);
  });
});

describe('a word that is no command', () => {
  it.each(['plans', 'constructor'])('is said to be none: %s', async (word) => {
    const { code, stderr } = await apphosting(word);

    expect(stderr).toBe(`apphosting: there is no command "${word}"; apphosting --help lists the commands\n`);
    expect(code).toBe(64);
  });
});

describe('what kubectl passes on', () => {
  it('is who is acted as, in place of what the kubeconfig says', async () => {
    const { url, arrived } = await scriptedServer((response) => json(response, 404, refusal(404, 'NotFound', {})));
    const file = await kubeconfig({ server: url }, { token: 'planted-secret', as: 'somebody-else' });

    await apphosting('points', 'shop', '--kubeconfig', file, '--as', 'ann', '--as-group', 'a', '--as-group', 'b');

    const { headers } = arrived[0] ?? {};
    expect(headers?.['impersonate-user']).toBe('ann');
    expect(headers?.['impersonate-group']).toBe('a, b');
  });

  it('is refused where it names groups without a user', async () => {
    const file = await kubeconfig({ server: 'https://127.0.0.1:1' }, { token: 'planted-secret' });

    const { code, stderr } = await apphosting('points', 'shop', '--kubeconfig', file, '--as-group', 'a');

    expect(stderr).toContain('apphosting points: --as-group needs --as: ');
    expect(code).toBe(64);
  });

  it('is how long a request may take', async () => {
    const { url } = await scriptedServer(() => undefined);
    const file = await kubeconfig({ server: url }, { token: 'planted-secret' });

    const { code, stderr } = await apphosting('points', 'shop', '--kubeconfig', file, '--request-timeout', '1s');

    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no answer from the API server within 1000 ms'),
    });
  });

  it('is the name of the plugin, which stands in help and messages', async () => {
    const link = join(await temporaryDir(), 'kubectl-apphosting');
    await symlink(main, link);

    const help = await called(link, ['--help']);
    const wrong = await called(link, ['status', '--nothing']);

    expect(help.stdout).toMatch(/^kubectl apphosting COMMAND /);
    expect(wrong.stderr).toContain(
      'kubectl apphosting status: there is no option --nothing; kubectl apphosting status',
    );
  });
});

describe('a command about a protection', () => {
  it.for([
    ['is not there', 404, refusal(404, 'NotFound', { name: 'shop' }), 'there is no DisasterProtection team/shop'],
    [
      'may not be read',
      403,
      refusal(403, 'Forbidden', {}, 'ann may not'),
      'reading disasterprotections team/shop: 403 ann may not',
    ],
  ] as const)('that %s says so in one line', async ([, status, body, told]) => {
    const { url, arrived } = await scriptedServer((response) => json(response, status, body));
    const file = await kubeconfig({ server: url }, { token: 'planted-secret' });

    const { code, stderr } = await apphosting('points', 'DisasterProtection/shop', '--kubeconfig', file);

    expect({ code, stderr }).toEqual({ code: 1, stderr: `apphosting points: ${told}\n` });
    expect(arrived.map(({ url: { pathname } }) => pathname)).toEqual([
      '/apis/apphosting.dev/v1alpha1/namespaces/team/disasterprotections/shop',
    ]);
    expect(arrived[0]?.headers.authorization).toBe('Bearer planted-secret');
  });
});

describe('a command whose result nobody reads to the end', () => {
  it('ends with its own code, as in `apphosting status | head`', async () => {
    const { url } = await scriptedServer((response) =>
      json(response, 200, { metadata: { resourceVersion: '1' }, items: [] }),
    );
    const file = await kubeconfig({ server: url }, { token: 'planted-secret' });
    const pipe = '{ "$0" "$@"; echo "ended with $?" >&2; } | true';

    const stderr = await new Promise((resolve) => {
      execFile('sh', ['-c', pipe, process.execPath, main, 'status', '--kubeconfig', file], (_error, _stdout, told) =>
        resolve(told),
      );
    });

    expect(stderr).toBe('ended with 0\n');
  });
});

describe('a plan', () => {
  it('says that the API server was not reached, and does not name flags that would not help', async () => {
    const file = await kubeconfig({ server: 'https://127.0.0.1:1' }, { token: 'planted-secret' });
    const kind = { apiVersion: 'apphosting.dev/v1alpha1', kind: 'HostingAccount', metadata: { name: 'default' } };
    const account = { ...kind, spec: { credentialsRef: { name: 'key' }, externalId: 'acc_demo' } };
    const folder = folderOf({ 'a.yaml': JSON.stringify(account) });

    const { code, stderr } = await apphosting('plan', folder, '--kubeconfig', file, '--context', 'x');

    const why = 'reading secrets team/key: no answer from 127.0.0.1:1 (ECONNREFUSED)';
    expect(stderr).toBe(`apphosting plan: the API server was not reached, or failed: ${why}\n`);
    expect(code).toBe(1);
  });

  it('reads what a shell gives it as a pipe', async () => {
    const { url } = await serviceAtSocket();
    const spec = { email: { addresses: ['a@example.com'] } };
    const kind = { apiVersion: 'apphosting.dev/v1alpha1', kind: 'ContactPoint' };
    const document = { ...kind, metadata: { name: 'on-call' }, spec };
    const folder = folderOf({ 'a.yaml': JSON.stringify(document), token: 'demo-readonly' });
    const flags = `--base-url ${url} --token-file ${folder}/token --account-id acc_demo --allow-insecure-loopback`;
    const line = `${process.execPath} ${main} plan <(cat ${folder}/a.yaml) ${flags}`;

    const { stdout } = await ended('bash', ['-c', line]);

    expect(stdout).toMatch(/^1 create\./mu);
  });
});
