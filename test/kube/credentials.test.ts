import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CredentialsError } from '../../src/kube/credentials/access.ts';
import { findCredentials } from '../../src/kube/credentials/credentials.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'credentials-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A kubeconfig with one context; JSON is YAML. */
function config(user: object, cluster: object = {}, name = 'x'): string {
  return JSON.stringify({
    clusters: [{ name, cluster: { server: 'https://kubernetes.example:6443/prefix', ...cluster } }],
    users: [{ name, user }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: `ns-${name}` } }],
    'current-context': name,
  });
}

async function written(text: string, name = 'config'): Promise<string> {
  const file = join(await folder(), name);
  await writeFile(file, text);
  return file;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a kubeconfig', () => {
  it('says where the cluster is and what to show there', async () => {
    const user = {
      token: 't-1',
      as: 'ann',
      'as-groups': ['a', 'b'],
      'client-certificate-data': base64('cert'),
      'client-key-data': base64('key'),
    };
    const cluster = {
      'certificate-authority-data': base64('ca'),
      'tls-server-name': 'inside',
      'proxy-url': 'http://proxy:8080',
    };
    const kubeconfig = await written(config(user, cluster));

    const credentials = await findCredentials({ clock: new VirtualClock(), env: {}, kubeconfig });

    expect(credentials.server.href).toBe('https://kubernetes.example:6443/prefix');
    expect(credentials.namespace).toBe('ns-x');
    expect(credentials.proxy?.host).toBe('proxy:8080');
    const access = await credentials.access();
    expect(access.authorization?.reveal()).toBe('Bearer t-1');
    expect(access.impersonation).toEqual({ 'impersonate-user': 'ann', 'impersonate-group': ['a', 'b'] });
    expect(access.tls).toMatchObject({ ca: 'ca', cert: 'cert', serverName: 'inside', insecure: false });
    expect(access.tls.key?.reveal()).toBe('key');
    expect(inspect(access, { depth: 9, showHidden: true })).not.toContain('t-1');
    expect(await credentials.access()).toBe(access);
  });

  it('in YAML, with paths next to it, is read as well', async () => {
    const dir = await folder();
    await writeFile(join(dir, 'ca.pem'), 'ca text\n');
    await writeFile(join(dir, 'token'), 't-file\n');
    const text = [
      'clusters: [{name: c, cluster: {server: "https://a", certificate-authority: ca.pem, insecure-skip-tls-verify: true}}]',
      'users: [{name: u, user: {tokenFile: token}}]',
      'contexts: [{name: x, context: {cluster: c, user: u}}]',
      'current-context: x',
    ].join('\n');
    await writeFile(join(dir, 'config'), text);

    const credentials = await findCredentials({ clock: new VirtualClock(), env: {}, kubeconfig: join(dir, 'config') });

    const access = await credentials.access();
    expect(access.authorization?.reveal()).toBe('Bearer t-file');
    expect(access.tls).toMatchObject({ ca: 'ca text', insecure: true });
    expect(credentials.namespace).toBeUndefined();
  });

  it('is found in KUBECONFIG, where the first of two entries counts, and in the home folder', async () => {
    const first = await written(config({ token: 'first' }, {}, 'one'));
    const second = await written(config({ token: 'second' }, {}, 'two'));
    const clock = new VirtualClock();
    const env = { KUBECONFIG: `${first}:${second}` };

    const current = await findCredentials({ clock, env });
    const chosen = await findCredentials({ clock, env, context: 'two' });

    expect(current.namespace).toBe('ns-one');
    expect((await chosen.access()).authorization?.reveal()).toBe('Bearer second');
  });

  const mistakes: readonly (readonly [string, string, string])[] = [
    ['no file', '', 'is not as expected'],
    ['not YAML', '{{', 'is not YAML'],
    ['a list', '[]', 'is not as expected'],
    ['no context', '{}', 'has no current context'],
    ['an unknown context', '{"current-context":"x"}', 'has no context "x"'],
    [
      'an unknown cluster',
      '{"current-context":"x","contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}]}',
      'has no cluster "c"',
    ],
    ['a server that is no URL', config({ token: 'planted' }, { server: 'not a url' }), 'is not an http or https URL'],
    [
      'a program that wants a terminal',
      config({ exec: { apiVersion: 'v1', command: 'login', interactiveMode: 'Always' } }),
      'wants a terminal',
    ],
  ];

  it.for(mistakes)('with a mistake (%s) says which', async ([, text, said]) => {
    const kubeconfig = await written(text);

    const found = findCredentials({ clock: new VirtualClock(), env: {}, kubeconfig });

    await expect(found).rejects.toThrow(CredentialsError);
    await expect(found).rejects.toThrow(said);
  });

  it('that is nowhere is missed with a sentence', async () => {
    const found = findCredentials({ clock: new VirtualClock(), env: { HOME: await folder() } });

    await expect(found).rejects.toThrow('there is no cluster: no kubeconfig is given, and this is not a pod');
    const explicit = findCredentials({ clock: new VirtualClock(), env: {}, kubeconfig: '/nowhere/config' });
    await expect(explicit).rejects.toThrow('kubeconfig /nowhere/config cannot be read');
  });
});

describe('in a pod', () => {
  async function pod() {
    const dir = await folder();
    await writeFile(join(dir, 'token'), 'one\n');
    await writeFile(join(dir, 'ca.crt'), 'ca');
    await writeFile(join(dir, 'namespace'), 'operators\n');
    const clock = new VirtualClock();
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443', HOME: '/nowhere' };
    const credentials = await findCredentials({ clock, env, serviceAccountFolder: dir });
    const token = async (): Promise<string | undefined> => (await credentials.access()).authorization?.reveal();
    return { dir, clock, credentials, token };
  }

  it('the service account is found', async () => {
    const { credentials, token } = await pod();

    expect(credentials.server.href).toBe('https://[fd00::1]/');
    expect(credentials.namespace).toBe('operators');
    expect(await token()).toBe('Bearer one');
  });

  it('a token that rotates is read again after a minute, and one that cannot be read just now is kept', async () => {
    const { dir, clock, token } = await pod();
    await token();
    await writeFile(join(dir, 'token'), 'two');

    expect(await token()).toBe('Bearer one');
    await clock.advance(61_000);
    expect(await token()).toBe('Bearer two');
    await rm(join(dir, 'token'));
    await clock.advance(61_000);
    expect(await token()).toBe('Bearer two');
  });

  it('a refused token is read again at once, though not on every refusal', async () => {
    const { dir, clock, credentials, token } = await pod();
    const refused = await credentials.access();
    expect(await credentials.renew(refused)).toBe(false);
    await writeFile(join(dir, 'token'), 'two');

    expect(await credentials.renew(refused)).toBe(false);
    await clock.advance(6_000);
    expect(await Promise.all([credentials.renew(refused), credentials.renew(refused)])).toContain(true);
    expect(await credentials.renew(refused)).toBe(true);
    expect(await token()).toBe('Bearer two');
  });

  it('a new authority is a new set of connections, and a new token is not', async () => {
    const { dir, clock, credentials } = await pod();
    const first = await credentials.access();
    await writeFile(join(dir, 'token'), 'two');
    await clock.advance(61_000);
    const second = await credentials.access();
    await writeFile(join(dir, 'ca.crt'), 'other');
    await clock.advance(61_000);
    const third = await credentials.access();

    expect(second).not.toBe(first);
    expect(second.tls).toBe(first.tls);
    expect(third.tls).not.toBe(second.tls);
  });
});

describe('a program of the kubeconfig', () => {
  /** A program that counts its runs, and prints what `print` makes of the count. */
  async function program(print: string, extra: object = {}) {
    const dir = await folder();
    const script = [
      '#!/usr/bin/env node',
      "const fs = require('node:fs');",
      `const count = Number(fs.existsSync('${dir}/count') ? fs.readFileSync('${dir}/count', 'utf8') : 0) + 1;`,
      `fs.writeFileSync('${dir}/count', String(count));`,
      `fs.writeFileSync('${dir}/info', process.env.KUBERNETES_EXEC_INFO + ' ' + process.env.MINE + ' ' + process.argv[2]);`,
      print,
    ].join('\n');
    await writeFile(join(dir, 'login'), script);
    await chmod(join(dir, 'login'), 0o755);
    const entry = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: './login',
      args: ['get'],
      env: [{ name: 'MINE', value: 'yes' }],
    };
    await writeFile(join(dir, 'config'), config({ exec: { ...entry, ...extra } }));
    const clock = new VirtualClock();
    const env = { PATH: process.env['PATH'] };
    const credentials = await findCredentials({ clock, env, kubeconfig: join(dir, 'config') });
    const runs = async (): Promise<number> => Number(await readFile(join(dir, 'count'), 'utf8'));
    const info = (): Promise<string> => readFile(join(dir, 'info'), 'utf8');
    const token = async (): Promise<string | undefined> => (await credentials.access()).authorization?.reveal();
    return { clock, credentials, runs, info, token };
  }

  const printed = (status: string): string =>
    `console.log(JSON.stringify({ kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', status: ${status} }));`;

  it('is run once for as long as its credential lasts, and again a minute before it expires', async () => {
    const { clock, token, runs, info } = await program(
      printed("{ token: 't-' + count, expirationTimestamp: '2026-01-01T00:10:00Z' }"),
      { provideClusterInfo: true },
    );

    expect(await Promise.all([token(), token()])).toEqual(['Bearer t-1', 'Bearer t-1']);
    expect(await info()).toMatch(/^\{.*"interactive":false.*"server":"https:\/\/kubernetes.example.*\} yes get$/);
    await clock.advance(500_000);
    expect(await token()).toBe('Bearer t-1');
    await clock.advance(50_000);
    expect(await token()).toBe('Bearer t-2');
    expect(await runs()).toBe(2);
  });

  it('is run again when the API server refuses its credential', async () => {
    const { credentials, token } = await program(printed("{ token: 't-' + count }"));
    const refused = await credentials.access();

    expect(await credentials.renew(refused)).toBe(true);
    expect(await token()).toBe('Bearer t-2');
  });

  it('may show a certificate instead of a token', async () => {
    const { credentials } = await program(printed("{ clientCertificateData: 'cert', clientKeyData: 'key' }"));

    const access = await credentials.access();

    expect(access.authorization).toBeUndefined();
    expect(access.tls.cert).toBe('cert');
    expect(access.tls.key?.reveal()).toBe('key');
  });

  const failures: readonly (readonly [string, string, string])[] = [
    ['fails', "console.error('planted-token'); process.exit(3);", 'ended with 3 (install it)'],
    ['prints something else', "console.log('planted-token');", 'printed something that is not an ExecCredential'],
    ['prints too much', "process.stdout.write('planted-token'.repeat(200_000));", 'ended with'],
  ];

  it.for(failures)('that %s is told without a word of what it printed', async ([, print, said]) => {
    const { credentials } = await program(print, { installHint: 'install it' });

    const error: unknown = await credentials.access().catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(CredentialsError);
    expect(String(error)).toContain(said);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('planted-token');
  });
});

describe('an auth-provider of the kubeconfig', () => {
  it('is left to the library that knows how to refresh it', async () => {
    const claims = base64(JSON.stringify({ exp: Math.floor(Date.now() / 1_000) + 3_600 })).replaceAll('=', '');
    const token = `${base64('{}')}.${claims}.signature`;
    const provider = {
      name: 'oidc',
      config: { 'id-token': token, 'idp-issuer-url': 'https://issuer', 'client-id': 'c' },
    };
    const kubeconfig = await written(config({ 'auth-provider': provider }));

    const credentials = await findCredentials({ clock: new VirtualClock(), env: {}, kubeconfig });

    expect((await credentials.access()).authorization?.reveal()).toBe(`Bearer ${token}`);
  });
});
