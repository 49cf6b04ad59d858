import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { openNames, type Resolve } from '../../../src/hosting/wire/names.ts';
import {
  openUndiciWire,
  type OpenWire,
  type WireFailure,
  type WireRequest,
  type WireResponse,
} from '../../../src/hosting/wire/wire.ts';
import { eventually, realClock } from '../../support/real-time.ts';
import { loopbackRules } from '../support/around.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A server that speaks raw bytes; its behaviour is called once per request, as soon as the head is there. */
async function server(
  behave: (socket: Socket, head: string) => void,
): Promise<{ origin: string; heads: string[]; sockets: Set<Socket> }> {
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  const listener: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      const head = chunk.toString('latin1');
      if (!/^(GET|POST|PATCH|DELETE) /.test(head)) {
        socket.destroy();
        return;
      }
      heads.push(head);
      behave(socket, head);
    });
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    listener.close();
    await once(listener, 'close');
  });
  return { origin: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`, heads, sockets };
}

function opened(): OpenWire {
  const wire = openUndiciWire(loopbackRules, openNames(realClock));
  closers.push(() => wire.close());
  return wire;
}

async function exchanged(
  wire: OpenWire,
  origin: string,
  change: Partial<WireRequest> = {},
): Promise<{ readonly outcome: WireResponse | WireFailure; readonly started: boolean }> {
  let started = false;
  const outcome = await wire.wire({
    method: 'POST',
    origin,
    path: '/x',
    headers: { authorization: 'planted-token' },
    body: '{"a":1}',
    writes: true,
    caBundle: undefined,
    start: () => {
      started = true;
      return undefined;
    },
    signal: AbortSignal.timeout(60_000),
    ...change,
  });
  return { outcome, started };
}

function respond(body: string | Buffer, head = ''): (socket: Socket) => void {
  return (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n${head}\r\n`);
    socket.write(body);
  };
}

describe('the wire', () => {
  it('brings a whole answer', async () => {
    const { origin, heads } = await server(respond('{"ok":true}', 'Date: now\r\n'));

    const { outcome } = await exchanged(opened(), origin);

    expect(outcome).toMatchObject({ status: 200, text: '{"ok":true}', headers: { date: 'now' } });
    expect(heads[0]).toMatch(/^POST \/x HTTP\/1\.1\r\n/);
    expect(heads[0]).toMatch(/\r\nauthorization: planted-token\r\n/i);
  });

  it('says that nothing was started when nobody listens', async () => {
    const { origin, sockets } = await server(() => undefined);
    for (const close of closers.splice(0)) await close();

    const { outcome, started } = await exchanged(opened(), origin);

    expect(outcome).toEqual({ failed: 'connection', message: 'the connection was refused' });
    expect([started, sockets.size]).toEqual([false, 0]);
  });

  it.each([
    { name: 'a reset before the head', behave: (socket: Socket) => socket.resetAndDestroy() },
    { name: 'an end before the head', behave: (socket: Socket) => socket.end() },
    {
      name: 'a reset in the body',
      behave: (socket: Socket) =>
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"a"', () => socket.resetAndDestroy()),
    },
    {
      name: 'a body that is cut',
      behave: (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"a"'),
    },
    {
      name: 'a chunked body that is cut',
      behave: (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{"a"\r\n'),
    },
    { name: 'bytes that are not HTTP', behave: (socket: Socket) => socket.end('SSH-2.0-nonsense\r\n') },
    {
      name: 'headers without end',
      behave: (socket: Socket) => socket.write(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`),
    },
  ])('fails on $name, once, after having started', async ({ behave }) => {
    const { origin, heads } = await server(behave);

    const { outcome, started } = await exchanged(opened(), origin);

    expect(outcome).toMatchObject({ failed: 'connection' });
    expect(started).toBe(true);
    expect(heads).toHaveLength(1);
  });

  it('waits for an answer for as long as its caller does, which may be minutes', async () => {
    const { tick } = createRequire(import.meta.url)('undici/lib/util/timers.js') as { tick: (ms: number) => void };
    const { origin } = await server((socket) => {
      // A timer of undici begins to count at its first tick.
      for (const ms of [1_000, 120_000]) tick(ms);
      respond('{"ok":true}')(socket);
    });

    const { outcome } = await exchanged(opened(), origin);

    expect(outcome).toMatchObject({ status: 200 });
  });

  it('stops reading an answer that is too large', async () => {
    const mebibyte = Buffer.alloc(1 << 20, 'x');
    const { origin } = await server((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const more = (): void => {
        if (!socket.destroyed) socket.write(`100000\r\n${mebibyte.toString()}\r\n`, () => setImmediate(more));
      };
      more();
    });

    const { outcome } = await exchanged(opened(), origin);

    expect(outcome).toEqual({ failed: 'connection', message: 'the answer of the service is larger than 8 MiB' });
  });

  it('lets go of a slow answer when nobody waits any longer', async () => {
    const leaving = new AbortController();
    const { origin, sockets } = await server((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{', () => leaving.abort());
    });

    const { outcome } = await exchanged(opened(), origin, { signal: leaving.signal });

    expect(outcome).toMatchObject({ failed: 'connection' });
    expect(sockets.size).toBe(1);
    const isLetGo = () => [...sockets].every((socket) => socket.destroyed || socket.readableEnded);
    await eventually('the connection is let go', isLetGo);
  });

  it('ends what is under way when it is closed', async () => {
    const wire = opened();
    const { origin } = await server(() => void wire.close());

    const { outcome } = await exchanged(wire, origin);

    expect(outcome).toMatchObject({ failed: 'connection' });
  });

  it.each([301, 302, 303, 307, 308])('never follows a %i to another listener', async (status) => {
    const other = await server(respond('{}'));
    const { origin } = await server((socket) => {
      socket.write(`HTTP/1.1 ${status} Moved\r\nlocation: ${other.origin}/y\r\ncontent-length: 0\r\n\r\n`);
    });

    const { outcome } = await exchanged(opened(), origin);

    expect(outcome).toMatchObject({ status });
    expect(other.sockets.size).toBe(0);
  });

  it('hands on a body without its byte order mark', async () => {
    const { origin } = await server(respond(Buffer.from('\uFEFF{"a":1}')));

    const { outcome } = await exchanged(opened(), origin);

    expect(outcome).toMatchObject({ text: '{"a":1}' });
  });

  it('hands on a body that is no text as no text', async () => {
    const { origin } = await server(respond(gzipSync('{"a":1}'), 'content-encoding: gzip\r\n'));

    const { outcome } = await exchanged(opened(), origin);

    expect(outcome).toMatchObject({ status: 200, text: undefined });
  });

  it('sends a write once even when an idle connection was closed meanwhile', async () => {
    const { origin, heads, sockets } = await server(respond('{}'));
    const wire = opened();

    await exchanged(wire, origin);
    for (const socket of sockets) {
      // It is closed when the other side has closed it as well.
      socket.end();
      await once(socket, 'close');
    }
    const { outcome } = await exchanged(wire, origin);

    expect(outcome).toMatchObject({ status: 200 });
    expect(heads).toHaveLength(2);
  });

  it('asks in the very tick of sending, and sends no byte when the answer is no', async () => {
    const { origin, heads } = await server(respond('{}'));

    const wire = opened();

    const { outcome } = await exchanged(wire, origin, { start: () => 'the lease is lost' });
    await exchanged(wire, origin, { path: '/next' });

    expect(outcome).toEqual({ failed: 'connection', message: 'the lease is lost' });
    expect(heads).toEqual([expect.stringMatching(/^POST \/next /)]);
  });

  it('dials nothing when a name leads to where it must not', async () => {
    const { origin, sockets } = await server(respond('{}'));
    const here: Resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
    const wire = openUndiciWire(loopbackRules, here);
    closers.push(() => wire.close());

    const { outcome, started } = await exchanged(wire, origin.replace('127.0.0.1', 'rebound.example.com'));

    expect(outcome).toMatchObject({ failed: 'hostNotAllowed' });
    expect([started, sockets.size]).toEqual([false, 0]);
  });

  it('refuses to talk TLS with a server that does not', async () => {
    const { origin } = await server((socket) => socket.destroy());

    const { outcome, started } = await exchanged(opened(), origin.replace('http:', 'https:'));

    expect(outcome).toMatchObject({ failed: 'connection' });
    expect(started).toBe(false);
  });
});

describe('the proxy', () => {
  /** Who says no to a request: the rules, which check addresses only without a proxy, or the proxy, on which nobody listens. */
  async function refusedBy(origin: string, noProxy: string): Promise<string> {
    const resolve: Resolve = () => Promise.resolve([{ address: '10.0.0.1', family: 4 }]);
    const wire = openUndiciWire({ ...loopbackRules, proxy: 'http://127.0.0.1:1', noProxy }, resolve);
    closers.push(() => wire.close());
    const { outcome } = await exchanged(wire, origin);
    return 'failed' in outcome && outcome.failed === 'hostNotAllowed' ? 'the rules' : 'the proxy';
  }

  it.each([
    { noProxy: 'api.example.com', by: 'the rules', because: 'it is named' },
    { noProxy: 'other.org, API.example.com', by: 'the rules', because: 'it is one of a list, however it is written' },
    { noProxy: 'example.com', by: 'the rules', because: 'names below a name belong to it' },
    { noProxy: '.example.com', by: 'the rules', because: 'a suffix is named' },
    { noProxy: '*.example.com', by: 'the rules', because: 'a suffix is named with a star' },
    { noProxy: '*', by: 'the rules', because: 'everything is named' },
    { noProxy: 'api.example.com:443', by: 'the rules', because: 'its port is the one of https' },
    { noProxy: 'api.example.com:8443', by: 'the proxy', because: 'another port is named' },
    { noProxy: 'ample.com', by: 'the proxy', because: 'the end of a word is no suffix' },
    { noProxy: 'v2.api.example.com', by: 'the proxy', because: 'a name below it is named' },
    { noProxy: '', by: 'the proxy', because: 'nothing is named' },
    { noProxy: ' , ', by: 'the proxy', because: 'nothing is named between the commas' },
  ])('is left out for a host or not: $because', async ({ noProxy, by }) => {
    expect(await refusedBy('https://api.example.com', noProxy)).toBe(by);
  });

  it('is left out for this machine', async () => {
    const { origin } = await server(respond('{}'));
    const wire = openUndiciWire({ ...loopbackRules, proxy: 'http://127.0.0.1:1' }, openNames(realClock));
    closers.push(() => wire.close());

    const { outcome } = await exchanged(wire, origin);

    expect(outcome).toMatchObject({ status: 200 });
  });
});
