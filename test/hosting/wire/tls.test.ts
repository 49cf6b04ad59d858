import { once } from 'node:events';
import { createServer as createPlain } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import { connect, type AddressInfo, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { HostRules } from '../../../src/hosting/wire/hosts.ts';
import { openUndiciWire, type WireFailure, type WireResponse } from '../../../src/hosting/wire/wire.ts';
import { loopbackRules } from '../support/around.ts';
import { certificate, key } from '../support/certificate.ts';

const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function secureServer(
  options: ServerOptions = {},
): Promise<{ readonly port: number; readonly requests: string[] }> {
  const requests: string[] = [];
  const server = createServer({ cert: certificate, key, ...options }, (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.end('{"ok":true}');
  });
  server.on('tlsClientError', () => undefined);
  return { port: await listening(server), requests };
}

async function exchanged(
  origin: string,
  caBundle: string | undefined,
  rules: HostRules = loopbackRules,
): Promise<{ readonly outcome: WireResponse | WireFailure; readonly started: boolean }> {
  const open = openUndiciWire(rules, () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]));
  closers.push(() => open.close());
  let started = false;
  const outcome = await open.wire({
    method: 'POST',
    origin,
    path: '/x',
    headers: { authorization: 'planted-token' },
    body: '{}',
    writes: true,
    caBundle,
    start: () => {
      started = true;
      return undefined;
    },
    signal: AbortSignal.timeout(60_000),
  });
  return { outcome, started };
}

describe('the wire over TLS', () => {
  it('trusts the authority that the account names', async () => {
    const { port, requests } = await secureServer();

    const { outcome } = await exchanged(`https://localhost:${port}`, certificate);

    expect(outcome).toMatchObject({ status: 200 });
    expect(requests).toEqual(['POST /x']);
  });

  it.each([
    { name: 'an authority that nobody knows', options: {}, caBundle: undefined },
    {
      name: 'a protocol that is too old',
      options: { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' } as const,
      caBundle: certificate,
    },
    { name: 'a bundle that is none', options: {}, caBundle: 'nonsense' },
  ])('sends not a byte to $name', async ({ options, caBundle }) => {
    const { port, requests } = await secureServer(options);

    const { outcome, started } = await exchanged(`https://localhost:${port}`, caBundle);

    expect(outcome).toMatchObject({ failed: 'connection' });
    expect(started).toBe(false);
    expect(requests).toEqual([]);
  });

  it('sends not a byte to a certificate with another name', async () => {
    const { port, requests } = await secureServer();

    const { outcome, started } = await exchanged(`https://other.localhost:${port}`, certificate);

    expect(outcome).toMatchObject({
      failed: 'connection',
      message: 'the certificate of the server is for another host name',
    });
    expect([started, requests.length]).toEqual([false, 0]);
  });

  it('goes through the proxy of the operator, which sees neither token nor path', async () => {
    const { port, requests } = await secureServer();
    const seen: string[] = [];
    const proxy = createPlain();
    proxy.on('connect', (request, client) => {
      seen.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
      // The name leads nowhere; the proxy knows better.
      const upstream = connect(port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(client);
        client.pipe(upstream);
      });
      closers.push(() => {
        upstream.destroy();
        client.destroy();
      });
      for (const socket of [client, upstream]) socket.on('error', () => undefined);
    });
    const rules = { ...loopbackRules, proxy: `http://127.0.0.1:${await listening(proxy)}` };

    const { outcome, started } = await exchanged('https://api.example.com:8443', certificate, rules);

    expect(outcome).toMatchObject({ status: 200 });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatch(/^CONNECT api\.example\.com:8443 /);
    expect(seen[0]).not.toContain('planted');
    expect([started, requests]).toEqual([true, ['POST /x']]);
  });
});
