import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findCredentials } from '../../../src/kube/credentials/credentials.ts';
import { certificate, key } from '../../hosting/support/certificate.ts';
import { SuspendableClock } from '../../support/suspendable-clock.ts';
import { temporaryDir } from '../../support/temporary.ts';

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

function token(claims: object): string {
  return `${encoded({ alg: 'RS256' })}.${encoded(claims)}.${Buffer.from('signature').toString('base64url')}`;
}

/** An issuer of tokens that last an hour. */
class Issuer {
  /** The refresh tokens that it was asked with. */
  readonly asked: (string | null)[] = [];
  /** What it answers instead of a token. */
  insteadOf: { readonly status: number; readonly body: string } | undefined;
  /** The refresh token that comes with the next token. */
  replaces: string | undefined;
  url = '';

  static async open(clock: SuspendableClock): Promise<Issuer> {
    const issuer = new Issuer();
    const server = createServer({ cert: certificate, key }, (request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        response.setHeader('content-type', 'application/json');
        if (request.method === 'GET') response.end(issuer.#described());
        else issuer.#answer(Buffer.concat(parts).toString(), clock, response);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    issuer.url = `https://localhost:${(server.address() as AddressInfo).port}`;
    return issuer;
  }

  #described(): string {
    return JSON.stringify({ issuer: this.url, token_endpoint: `${this.url}/token`, jwks_uri: `${this.url}/keys` });
  }

  #answer(form: string, clock: SuspendableClock, response: { statusCode: number; end: (text: string) => void }): void {
    this.asked.push(new URLSearchParams(form).get('refresh_token'));
    response.statusCode = this.insteadOf?.status ?? 200;
    const now = Math.floor(clock.wall() / 1_000);
    const id_token = token({ iss: this.url, aud: 'kubectl', sub: 'ann', iat: now, exp: now + 3_600 });
    const given = { access_token: 'a', token_type: 'bearer', expires_in: 3_600, id_token };
    const replaced = this.replaces === undefined ? {} : { refresh_token: this.replaces };
    response.end(this.insteadOf?.body ?? JSON.stringify({ ...given, ...replaced }));
  }
}

/** A clock that agrees with the one by which tokens are judged. */
function clockOfToday(): SuspendableClock {
  const clock = new SuspendableClock();
  clock.suspend(Date.now() - clock.wall());
  return clock;
}

async function kubeconfig(clock: SuspendableClock, url: string, more: object = {}): Promise<string> {
  const config = {
    'id-token': token({ exp: Math.floor(clock.wall() / 1_000) - 1 }),
    'refresh-token': 'planted-refresh',
    'client-id': 'kubectl',
    'client-secret': 'planted-client-secret',
    'idp-issuer-url': url,
    'idp-certificate-authority-data': Buffer.from(certificate).toString('base64'),
    ...more,
  };
  const text = JSON.stringify({
    clusters: [{ name: 'x', cluster: { server: 'https://kubernetes.example:6443' } }],
    users: [{ name: 'x', user: { 'auth-provider': { name: 'oidc', config } } }],
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
    'current-context': 'x',
  });
  const file = join(await temporaryDir(), 'config');
  await writeFile(file, text);
  return file;
}

/** The seconds until the token of the credential ends. */
function lasts(clock: SuspendableClock, authorization: string | undefined): number {
  const { exp } = JSON.parse(Buffer.from(authorization?.split('.')[1] ?? '', 'base64url').toString()) as {
    exp: number;
  };
  return exp - Math.floor(clock.wall() / 1_000);
}

describe('a kubeconfig with an OpenID Connect token', () => {
  it('renews a token that has expired, and again a minute before the new one ends', async () => {
    const clock = clockOfToday();
    const issuer = await Issuer.open(clock);
    issuer.replaces = 'planted-second';
    const file = await kubeconfig(clock, issuer.url);

    const credentials = await findCredentials({ clock, env: {}, kubeconfig: file });
    const now = async () => lasts(clock, (await credentials.access()).authorization?.reveal());
    expect(await now()).toBe(3_600);
    await clock.advance(1_800_000);
    expect(await now()).toBe(1_800);
    await clock.advance(1_741_000);
    expect(await now()).toBe(3_600);

    expect(issuer.asked).toEqual(['planted-refresh', 'planted-second']);
  });

  it('keeps its refresh token where the issuer gives no other one', async () => {
    const clock = clockOfToday();
    const issuer = await Issuer.open(clock);
    const file = await kubeconfig(clock, issuer.url);

    const credentials = await findCredentials({ clock, env: {}, kubeconfig: file });
    await clock.advance(3_600_000);
    await credentials.access();

    expect(issuer.asked).toEqual(['planted-refresh', 'planted-refresh']);
  });

  it.each([
    ['refuses', { status: 400, body: '{"error":"invalid_grant","error_description":"planted-refresh"}' }],
    ['is broken', { status: 500, body: 'planted-refresh' }],
    ['answers nonsense', { status: 200, body: '<html>planted-refresh</html>' }],
  ])('says in one line which entry gave nothing when the issuer %s', async (_what, insteadOf) => {
    const clock = clockOfToday();
    const issuer = await Issuer.open(clock);
    issuer.insteadOf = insteadOf;
    const file = await kubeconfig(clock, issuer.url);

    const found = findCredentials({ clock, env: {}, kubeconfig: file });

    await expect(found).rejects.toThrow(`kubeconfig ${file}: users["x"].auth-provider gave no credential`);
    await expect(found).rejects.not.toThrow(/planted/u);
  });

  it.each([
    ['whose issuer cannot be reached', { 'idp-issuer-url': 'https://localhost:9' }],
    ['whose issuer is no URL', { 'idp-issuer-url': 'issuer' }],
    ['whose authority is no certificate', { 'idp-certificate-authority-data': 'bm9uZQ==' }],
    ['that has no issuer', { 'idp-issuer-url': undefined }],
  ])('says so in one line when it is one %s', async (_what, more) => {
    const clock = clockOfToday();
    const issuer = await Issuer.open(clock);
    const file = await kubeconfig(clock, issuer.url, more);

    const found = findCredentials({ clock, env: {}, kubeconfig: file });

    await expect(found).rejects.toThrow(`kubeconfig ${file}: users["x"].auth-provider gave no`);
    expect(issuer.asked).toEqual([]);
  });
});
