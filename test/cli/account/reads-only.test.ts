import { describe, expect, it, onTestFinished } from 'vitest';
import { openReadingWire } from '../../../src/cli/account/reads-only.ts';
import type { WireRequest } from '../../../src/hosting/wire/wire.ts';
import { realClock } from '../../support/real-time.ts';
import { json, scriptedServer } from '../../support/scripted-server.ts';

describe('the wire of commands that look', () => {
  it('carries GET to a socket, and opens not even a connection for anything else', async () => {
    const server = await scriptedServer((response) => json(response, 200, {}));
    const rules = { allowedHosts: [], allowInsecureLoopback: true, allowPrivateAddresses: false, proxy: undefined };
    const open = openReadingWire(rules, realClock);
    onTestFinished(() => open.close());
    let started = 0;
    const send = (method: WireRequest['method'], writes: boolean, body?: string) =>
      open.wire({
        method,
        origin: server.url,
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
    expect(server.arrived.map(({ method }) => method)).toEqual(['GET']);
  });
});
