import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openReadingWire } from '../../../src/cli/account/reads-only.ts';
import type { WireRequest } from '../../../src/hosting/wire/wire.ts';
import { realClock } from '../../support/real-time.ts';

async function serverThatCounts() {
  const methods: string[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    methods.push(request.method ?? '');
    response.end('{}');
  });
  server.on('connection', () => (connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, methods, connections: () => connections };
}

describe('the wire of commands that look', () => {
  it('carries GET to a socket, and opens not even a connection for anything else', async () => {
    const server = await serverThatCounts();
    const rules = { allowedHosts: [], allowInsecureLoopback: true, allowPrivateAddresses: false, proxy: undefined };
    const open = openReadingWire(rules, realClock);
    onTestFinished(() => open.close());
    let started = 0;
    const send = (method: WireRequest['method'], writes: boolean, body?: string) =>
      open.wire({
        method,
        origin: server.origin,
        path: '/api/public/v1/apps',
        headers: {},
        body,
        writes,
        caBundle: undefined,
        start: () => {
          started += 1;
          return undefined;
        },
        signal: new AbortController().signal,
      });

    for (const method of ['POST', 'PATCH', 'DELETE'] as const)
      expect(await send(method, true, '{}')).toMatchObject({ message: expect.stringContaining('only reads') });
    expect(await send('GET', true)).toMatchObject({ failed: 'connection' });
    expect(await send('GET', false, '{}')).toMatchObject({ failed: 'connection' });
    expect([server.connections(), started]).toEqual([0, 0]);

    expect(await send('GET', false)).toMatchObject({ status: 200 });
    expect(server.methods).toEqual(['GET']);
  });
});
