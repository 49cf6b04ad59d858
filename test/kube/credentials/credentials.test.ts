import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CredentialsError } from '../../../src/kube/credentials/configuration.ts';
import { findCredentials } from '../../../src/kube/credentials/credentials.ts';
import { certificate, key } from '../../hosting/support/certificate.ts';
import { SuspendableClock } from '../../support/suspendable-clock.ts';
import { temporaryDir } from '../../support/temporary.ts';

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
  const file = join(await temporaryDir(), name);
  await writeFile(file, text);
  return file;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** What a search for credentials ends with. */
async function problem(found: Promise<unknown>): Promise<CredentialsError> {
  const error: unknown = await found.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CredentialsError)) throw new Error(`ended with ${String(error)}`);
  expect(error.message).not.toContain('\n');
  return error;
}

describe('a kubeconfig', () => {
  it('says where the cluster is and what to show there', async () => {
    const user = {
      token: 't-1',
      as: 'ann',
      'as-groups': ['a', 'b'],
      'client-certificate-data': base64(certificate),
      'client-key-data': base64(key),
    };
    const cluster = {
      'certificate-authority-data': base64(certificate),
      'tls-server-name': 'inside',
      'proxy-url': 'http://proxy:8080',
    };
    const kubeconfig = await written(config(user, cluster));

    const credentials = await findCredentials({ clock: new SuspendableClock(), env: {}, kubeconfig });

    expect(credentials.server.href).toBe('https://kubernetes.example:6443/prefix');
    expect(credentials.namespace).toBe('ns-x');
    expect(credentials.proxy?.host).toBe('proxy:8080');
    const access = await credentials.access();
    expect(access.authorization?.reveal()).toBe('Bearer t-1');
    expect(access.impersonation).toEqual({ 'impersonate-user': 'ann', 'impersonate-group': ['a', 'b'] });
    expect(access.tls).toMatchObject({ ca: certificate, cert: certificate, serverName: 'inside', insecure: false });
    expect(access.tls.key?.reveal()).toBe(key);
    expect(inspect(access, { depth: 9, showHidden: true })).not.toContain('t-1');
    expect(await credentials.access()).toBe(access);
  });

  it('in YAML, with paths next to it, is read as well', async () => {
    const dir = await temporaryDir();
    await writeFile(join(dir, 'ca.pem'), certificate);
    await writeFile(join(dir, 'token'), 't-file\n');
    const text = [
      'clusters: [{name: c, cluster: {server: "https://a", certificate-authority: ca.pem, insecure-skip-tls-verify: true}}]',
      'users: [{name: u, user: {tokenFile: token}}]',
      'contexts: [{name: x, context: {cluster: c, user: u}}]',
      'current-context: x',
    ].join('\n');
    await writeFile(join(dir, 'config'), text);

    const credentials = await findCredentials({
      clock: new SuspendableClock(),
      env: {},
      kubeconfig: join(dir, 'config'),
    });

    const access = await credentials.access();
    expect(access.authorization?.reveal()).toBe('Bearer t-file');
    expect(access.tls).toMatchObject({ ca: certificate, insecure: true });
    expect(credentials.namespace).toBeUndefined();
  });

  it('is found in KUBECONFIG, where the first of two entries counts, and in the home folder', async () => {
    const first = await written(config({ token: 'first' }, {}, 'one'));
    const second = await written(config({ token: 'second' }, {}, 'two'));
    const clock = new SuspendableClock();
    const env = { KUBECONFIG: `${first}:${second}` };

    const current = await findCredentials({ clock, env });
    const chosen = await findCredentials({ clock, env, context: 'two' });

    expect(current.namespace).toBe('ns-one');
    expect((await chosen.access()).authorization?.reveal()).toBe('Bearer second');
  });

  const exec = { apiVersion: 'v1', command: 'login' };
  const anotherKey = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  const issuer = {
    'id-token': `${base64('{}')}.${base64('{"exp":1}')}.x`.replaceAll('=', ''),
    'refresh-token': 'planted-secret',
    'idp-issuer-url': 'https://issuer.example',
    'client-id': 'c',
  };
  const mistakes: readonly (readonly [because: string, text: string, told: string])[] = [
    ['no YAML', 'users:\n  - {token: planted-secret\n', 'FILE is not one valid YAML document (line 3)'],
    ['nothing in it', '', 'FILE contains no contexts, clusters or users'],
    ['a list', '[planted-secret]', 'FILE contains no contexts, clusters or users'],
    ['no context', '{}', 'FILE: current-context is not set: give a --context'],
    ['an unknown context', '{"current-context":"x"}', 'FILE: current-context: there is no context "x"'],
    [
      'an unknown cluster',
      '{"current-context":"x","contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}]}',
      'FILE: contexts["x"]: there is no cluster "c", or the cluster has no server',
    ],
    [
      'an unknown user',
      config({}).replace('"user":"x"', '"user":"planted"'),
      'FILE: contexts["x"]: there is no user "planted"',
    ],
    [
      'a context without a user',
      config({}).replace('"user":"x"', '"other":"x"'),
      'FILE: contexts["x"].user is not set',
    ],
    [
      'a server that is no URL',
      config({ token: 'planted-secret' }, { server: 'planted-secret' }),
      'FILE: clusters["x"].server is not an http or https URL',
    ],
    [
      'a proxy that is no URL',
      config({}, { 'proxy-url': 'ann:planted-secret@proxy' }),
      'FILE: clusters["x"].proxy-url is not an http, https or socks5 URL',
    ],
    [
      'a file that is not there',
      config({ 'client-certificate': '/nowhere/cert', 'client-key-data': base64('planted-secret') }),
      'FILE: /nowhere/cert cannot be read (ENOENT)',
    ],
    [
      'a token that is not there',
      config({ tokenFile: '/nowhere/token' }),
      'FILE: /nowhere/token cannot be read (ENOENT)',
    ],
    [
      'a certificate that is none',
      config({ 'client-certificate-data': base64('planted-secret'), 'client-key-data': base64(key) }),
      'FILE: users["x"].client-certificate: the certificate or its key cannot be read (ERR_OSSL_PEM_NO_START_LINE)',
    ],
    [
      'a token that no header can carry',
      config({ token: 'planted-secret\nx: y' }),
      'FILE: users["x"].token has a character that an HTTP header cannot contain',
    ],
    ['a file of a token that is empty', config({ tokenFile: '/dev/null' }), 'FILE: users["x"].tokenFile gave no token'],
    [
      'a file of a token that is a folder',
      config({ tokenFile: '/dev' }),
      'FILE: users["x"].tokenFile gave no credential (EISDIR)',
    ],
    [
      'a certificate without a key',
      config({ 'client-certificate-data': base64(certificate) }),
      'FILE: users["x"].client-certificate: the private key of the certificate is missing',
    ],
    [
      'a key that is none',
      config({ 'client-certificate-data': base64(certificate), 'client-key-data': base64('planted-secret') }),
      'FILE: users["x"].client-certificate: the certificate or its key cannot be read (ERR_OSSL_UNSUPPORTED)',
    ],
    [
      'a key of another certificate',
      config({ 'client-certificate-data': base64(certificate), 'client-key-data': base64(anotherKey) }),
      'FILE: users["x"].client-certificate: the key does not belong to the certificate',
    ],
    [
      'an authority that is no text',
      config({ token: 'planted-secret' }, { 'certificate-authority-data': 17 }),
      'FILE: clusters["x"] or users["x"] has a value that is not text (ERR_INVALID_ARG_TYPE)',
    ],
    ['a program without a name', config({ exec: { apiVersion: 'v1' } }), 'FILE: users["x"].exec.command is missing'],
    [
      'a program in an auth-provider',
      config({ 'auth-provider': { name: 'gcp', config: { 'cmd-path': 'gcloud', 'cmd-args': 'planted-secret' } } }),
      'FILE: users["x"].auth-provider.config.cmd-path: the program of an auth-provider is not run; use exec instead',
    ],
    [
      'an issuer that does not listen',
      config({ 'auth-provider': { name: 'oidc', config: { ...issuer, 'idp-issuer-url': 'https://127.0.0.1:2' } } }),
      'FILE: users["x"].auth-provider gave no credential (ECONNREFUSED)',
    ],
    [
      'an issuer whose authority is not there',
      config({ 'auth-provider': { name: 'oidc', config: { ...issuer, 'idp-certificate-authority': '/nowhere/ca' } } }),
      'FILE: /nowhere/ca cannot be read (ENOENT)',
    ],
    [
      'a program that wants a terminal',
      config({ exec: { ...exec, interactiveMode: 'Always' } }),
      'FILE: users["x"].exec.interactiveMode: the program login needs a terminal, and gets none here',
    ],
    [
      'a program that is not there',
      config({ exec: { ...exec, command: '/nowhere/login' } }),
      'FILE: users["x"].exec: /nowhere/login: the program cannot start (ENOENT)',
    ],
    [
      'an issuer that is not named',
      config({ 'auth-provider': { name: 'oidc', config: { 'id-token': 'planted-secret' } } }),
      'FILE: users["x"].auth-provider gave no token',
    ],
  ];

  it.for(mistakes)('with a mistake (%s) says in one line where it is', async ([, text, told]) => {
    const kubeconfig = await written(text);

    const error = await problem(findCredentials({ clock: new SuspendableClock(), env: process.env, kubeconfig }));

    expect(error.message).toBe(`kubeconfig ${told.replace('FILE', kubeconfig)}`);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('planted-secret');
  });

  it('with a certificate that has expired says so', async () => {
    const user = { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) };
    const kubeconfig = await written(config(user));
    const clock = new SuspendableClock(Date.UTC(2121, 0, 1));

    const error = await problem(findCredentials({ clock, env: {}, kubeconfig }));

    expect(error.message).toBe(
      `kubeconfig ${kubeconfig}: users["x"].client-certificate: the certificate expired on 2120-01-01T00:00:00.000Z`,
    );
  });

  it('of which another context is wrong is used', async () => {
    const text = config({ token: 'right' }).replace('"users":[', '"users":[{"user":{}},null,');
    const kubeconfig = await written(text);

    const credentials = await findCredentials({ clock: new SuspendableClock(), env: {}, kubeconfig });

    expect((await credentials.access()).authorization?.reveal()).toBe('Bearer right');
  });

  it('may be of another context than its current one, and says when it has none of that name', async () => {
    const kubeconfig = await written(config({ token: 't' }));

    const error = await problem(findCredentials({ clock: new SuspendableClock(), env: {}, kubeconfig, context: 'y' }));

    expect(error.message).toBe(`kubeconfig ${kubeconfig}: contexts: there is no context "y"`);
  });

  it('with a name and a password shows both', async () => {
    const kubeconfig = await written(config({ username: 'ann', password: 'made-up' }));

    const credentials = await findCredentials({ clock: new SuspendableClock(), env: {}, kubeconfig });

    expect((await credentials.access()).authorization?.reveal()).toBe(`Basic ${base64('ann:made-up')}`);
  });

  it('whose token is replaced is read again after a minute, and one that cannot be read just now stays', async () => {
    const kubeconfig = await written(config({ token: 'one' }));
    const clock = new SuspendableClock();
    const credentials = await findCredentials({ clock, env: {}, kubeconfig });
    const token = async () => (await credentials.access()).authorization?.reveal();
    await writeFile(kubeconfig, config({ token: 'two' }));

    expect(await token()).toBe('Bearer one');
    await clock.advance(61_000);
    expect(await token()).toBe('Bearer two');
    await writeFile(kubeconfig, '{');
    await clock.advance(61_000);
    expect(await token()).toBe('Bearer two');
  });

  it('that is nowhere is missed with a sentence', async () => {
    const nothing = await problem(
      findCredentials({ clock: new SuspendableClock(), env: { HOME: await temporaryDir() } }),
    );
    const explicit = findCredentials({ clock: new SuspendableClock(), env: {}, kubeconfig: '/nowhere/config' });

    expect(nothing.message).toMatch(
      /^no cluster was found: there is no kubeconfig, and this program does not run in a pod/,
    );
    expect((await problem(explicit)).message).toBe('kubeconfig /nowhere/config cannot be read (ENOENT)');
  });
});

describe('in a pod', () => {
  afterEach(() => vi.unstubAllEnvs());

  async function pod() {
    const podRoot = await temporaryDir();
    const dir = join(podRoot, 'var/run/secrets/kubernetes.io/serviceaccount');
    await mkdir(dir, { recursive: true });
    await writeFile(join(dir, 'token'), 'one\n');
    await writeFile(join(dir, 'ca.crt'), certificate);
    await writeFile(join(dir, 'namespace'), 'operators\n');
    const clock = new SuspendableClock();
    // client-node reads them where they are.
    vi.stubEnv('KUBERNETES_SERVICE_HOST', 'fd00::1');
    vi.stubEnv('KUBERNETES_SERVICE_PORT', '443');
    const credentials = await findCredentials({ clock, env: process.env, podRoot });
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
    await writeFile(join(dir, 'ca.crt'), `${certificate}${certificate}`);
    await clock.advance(61_000);
    const third = await credentials.access();

    expect(second).not.toBe(first);
    expect(second.tls).toBe(first.tls);
    expect(third.tls).not.toBe(second.tls);
  });
});

describe('a program of the kubeconfig', () => {
  /** A kubeconfig with a program that counts its runs, and prints what `print` makes of the count. */
  async function program(print: string, extra: object = {}) {
    const dir = await temporaryDir();
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
    const kubeconfig = join(dir, 'config');
    await writeFile(kubeconfig, config({ exec: { ...entry, ...extra } }));
    // client-node looks at the machine's own clock.
    const clock = new SuspendableClock(Date.now());
    return { dir, kubeconfig, clock, found: findCredentials({ clock, env: process.env, kubeconfig }) };
  }

  /** The same, whose program gives a credential. */
  async function loggedIn(print: string, extra: object = {}) {
    const { dir, clock, found } = await program(print, extra);
    const credentials = await found;
    const runs = async (): Promise<number> => Number(await readFile(join(dir, 'count'), 'utf8'));
    const info = (): Promise<string> => readFile(join(dir, 'info'), 'utf8');
    const token = async (): Promise<string | undefined> => (await credentials.access()).authorization?.reveal();
    return { clock, credentials, runs, info, token };
  }

  const printed = (status: string): string =>
    `console.log(JSON.stringify({ kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', status: ${status} }));`;

  it('is run once for as long as its credential lasts, and again a minute before it expires', async () => {
    const { clock, token, runs, info } = await loggedIn(
      printed("{ token: 't-' + count, expirationTimestamp: new Date(Date.now() + 600_000) }"),
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
    const { credentials, token } = await loggedIn(printed("{ token: 't-' + count }"));
    const refused = await credentials.access();

    expect(await credentials.renew(refused)).toBe(true);
    expect(await token()).toBe('Bearer t-2');
  });

  it('may show a certificate instead of a token', async () => {
    const status = JSON.stringify({ clientCertificateData: certificate, clientKeyData: key });
    const { credentials } = await loggedIn(printed(status));

    const access = await credentials.access();

    expect(access.authorization).toBeUndefined();
    expect(access.tls.cert).toBe(certificate);
    expect(access.tls.key?.reveal()).toBe(key);
  });

  const failures: readonly (readonly [string, string, string])[] = [
    ['fails', "console.error('planted-token'); process.exit(3);", 'ended with exit code 3'],
    [
      'is killed',
      "console.log('planted-token'); process.kill(process.pid, 'SIGTERM');",
      'the program was ended by SIGTERM',
    ],
    ['is killed at once', "process.kill(process.pid, 'SIGKILL');", 'the program was ended by SIGKILL'],
    [
      'prints something else',
      "console.log('planted-token');",
      'the program printed something that is not an ExecCredential',
    ],
    ['prints nothing', '', 'the program printed something that is not an ExecCredential'],
    [
      'prints another object',
      'console.log(\'{"token":"planted-token"}\');',
      'the program printed something that is not an ExecCredential',
    ],
    [
      'prints without end',
      "setInterval(() => process.stdout.write('planted-token'.repeat(10_000)), 1);",
      'the program printed more than 1048576 bytes',
    ],
    [
      'complains without end',
      "setInterval(() => process.stderr.write('planted-token'.repeat(10_000)), 1);",
      'the program printed more than 1048576 bytes',
    ],
    ['gives nothing', printed('{}'), 'printed no token and no certificate'],
    [
      'gives a certificate that is none',
      printed("{ clientCertificateData: 'planted-token', clientKeyData: 'planted-token' }"),
      'cannot be read',
    ],
  ];

  it.for(failures)('that %s is told in one line, without a word of what it printed', async ([, print, told]) => {
    const { found, kubeconfig } = await program(print, { installHint: 'install\nit' });

    const error = await problem(found);

    expect(error.message).toMatch(`kubeconfig ${kubeconfig}: users["x"].exec`);
    expect(error.message).toContain(told);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('planted-token');
  });

  it('that hangs is ended with all that it has started', async () => {
    const sleeper = "const child = require('node:child_process').spawn('sleep', ['600'], { stdio: 'inherit' });";
    const { found, kubeconfig, clock, dir } = await program(
      `${sleeper} child.once('spawn', () => fs.writeFileSync(__dirname + '/child', '')); setInterval(() => {}, 1_000);`,
    );
    const ended = problem(found);
    await vi.waitFor(() => readFile(join(dir, 'child')), { timeout: 20_000 });

    await clock.advance(60_000);

    // Only when everything that holds the pipe is gone.
    const { message } = await ended;
    expect(message).toBe(
      `kubeconfig ${kubeconfig}: users["x"].exec: ${join(dir, 'login')}: the program did not end within 60 s`,
    );
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

    const credentials = await findCredentials({ clock: new SuspendableClock(), env: {}, kubeconfig });

    expect((await credentials.access()).authorization?.reveal()).toBe(`Bearer ${token}`);
  });
});
