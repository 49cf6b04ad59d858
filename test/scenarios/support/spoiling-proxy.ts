import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { Agent, request } from 'undici';

/** The service's own answer. */
interface Reply {
  readonly status: number;
  readonly body: Buffer;
}

/** What a spoiled request has to do with: the service behind it, and the socket of whoever asked. */
interface Spoiling {
  /** Has the service carry it out. */
  readonly forward: () => Promise<Reply>;
  readonly socket: Socket;
  /** Of a host that nobody may be sent to. */
  readonly trapUrl: string;
}

/** One way to spoil an answer, on a socket that closes after it. */
export type Spoil = (spoiling: Spoiling) => Promise<void>;

const json = 'content-type: application/json';
const html = '<html><body>Bad Gateway</body></html>';

function head(status: number, ...lines: readonly string[]): string {
  return `${[`HTTP/1.1 ${status} Spoiled`, 'connection: close', ...lines].join('\r\n')}\r\n\r\n`;
}

function whole(socket: Socket, status: number, body: Buffer | string, ...lines: readonly string[]): void {
  socket.write(head(status, `content-length: ${Buffer.byteLength(body)}`, ...lines));
  socket.end(body);
}

/** Writes pieces until the other side has enough. */
async function endless(socket: Socket, piece: Buffer | string, everyMs = 0): Promise<void> {
  const pieces = async function* (): AsyncGenerator<Buffer | string> {
    for (;;) {
      yield piece;
      if (everyMs > 0) await sleep(everyMs);
    }
  };
  await pipeline(pieces, socket);
}

/** One chunk of an answer whose length nobody has said. */
function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

/**
 * Every way to spoil an answer; `after` it was carried out where the name says nothing else. None has a deadline of its own: what
 * does not come, or has no end, goes on until whoever asked gives up.
 */
export const spoils: Readonly<Record<string, Spoil>> = {
  droppedAfterCommit: async ({ forward, socket }) => {
    await forward();
    socket.destroy();
  },
  droppedBefore: async ({ socket }) => {
    socket.destroy();
  },
  unanswered: async ({ forward, socket }) => {
    await forward();
    if (!socket.destroyed) await once(socket, 'close');
  },
  truncated: async ({ forward, socket }) => {
    const { status, body } = await forward();
    socket.write(head(status, json, `content-length: ${body.length}`));
    socket.end(body.subarray(0, Math.floor(body.length / 2)));
  },
  pageBefore: async ({ socket }) => whole(socket, 502, html, 'content-type: text/html'),
  pageAfter: async ({ forward, socket }) => {
    await forward();
    whole(socket, 502, html, 'content-type: text/html');
  },
  htmlWith200: async ({ forward, socket }) => {
    await forward();
    whole(socket, 200, '<html>signed in</html>', 'content-type: text/html');
  },
  compressed: async ({ forward, socket }) => {
    const { status, body } = await forward();
    whole(socket, status, gzipSync(body), json, 'content-encoding: gzip');
  },
  endlessChunks: async ({ forward, socket }) => {
    const { status } = await forward();
    socket.write(head(status, json, 'transfer-encoding: chunked'));
    await endless(socket, chunk(' '.repeat(0x1_0000)));
  },
  aByteASecond: async ({ forward, socket }) => {
    const { status } = await forward();
    socket.write(head(status, json, 'transfer-encoding: chunked'));
    await endless(socket, chunk(' '), 1_000);
  },
  resetInHeaders: async ({ forward, socket }) => {
    await forward();
    socket.write('HTTP/1.1 200 OK\r\ncontent-le', () => socket.resetAndDestroy());
  },
  lengthTooLong: async ({ forward, socket }) => {
    const { status, body } = await forward();
    socket.write(head(status, json, `content-length: ${body.length + 100}`));
    socket.end(body);
  },
  lengthTooShort: async ({ forward, socket }) => {
    const { status, body } = await forward();
    socket.write(head(status, json, `content-length: ${Math.floor(body.length / 2)}`));
    socket.end(body);
  },
  redirected: async ({ socket, trapUrl }) => whole(socket, 307, '', `location: ${trapUrl}/elsewhere`),
  redirectedAfter: async ({ forward, socket, trapUrl }) => {
    await forward();
    whole(socket, 303, '', `location: ${trapUrl}/elsewhere`);
  },
  huge: async ({ forward, socket }) => {
    const { status } = await forward();
    socket.write(head(status, json, 'content-length: 104857600'));
    await endless(socket, Buffer.alloc(0x1_0000, ' '));
  },
  oldProtocol: async ({ forward, socket }) => {
    const { status, body } = await forward();
    socket.write(`HTTP/1.0 ${status} OK\r\n${json}\r\n\r\n`);
    socket.end(body);
  },
  unauthorized: async ({ socket }) => whole(socket, 401, '{"error":"no"}', json),
  throttled: async ({ socket }) => whole(socket, 429, '{"error":"slow"}', json, 'retry-after: 1'),
};

/** A proxy between the operator and the service that spoils what it is told to. */
export interface SpoilingProxy {
  readonly url: string;
  /** The way in which a request is spoiled, or its name; undefined lets it pass. */
  spoil: (method: string, path: string, body: string) => string | Spoil | undefined;
  /** The requests that followed a redirect. */
  readonly trapped: string[];
  close(): Promise<void>;
}

/** Starts a proxy in front of the service. */
export async function spoilingProxy(serviceUrl: string): Promise<SpoilingProxy> {
  const agent = new Agent();
  const sockets = new Set<Socket>();
  const trapped: string[] = [];
  const trap = createServer((incoming, response) => {
    trapped.push(`${incoming.method} ${incoming.url}`);
    response.end('{}');
  });
  const forwarded = async (incoming: IncomingMessage, body: Buffer): Promise<Reply> => {
    const { host: _host, connection: _connection, ...headers } = incoming.headers;
    const answer = await request(`${serviceUrl}${incoming.url}`, {
      method: incoming.method as 'GET',
      headers,
      body: body.length === 0 ? null : body,
      dispatcher: agent,
    });
    return { status: answer.statusCode, body: Buffer.from(await answer.body.arrayBuffer()) };
  };
  const server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => {
      const sent = Buffer.concat(parts);
      const forward = () => forwarded(incoming, sent);
      const way = proxy.spoil(incoming.method ?? '', incoming.url ?? '', String(sent));
      const spoil = typeof way === 'string' ? spoils[way] : way;
      if (spoil === undefined) {
        forward().then(
          ({ status, body }) => response.writeHead(status, { 'content-type': 'application/json' }).end(body),
          () => response.destroy(),
        );
        return;
      }
      const { socket } = incoming;
      spoil({ forward, socket, trapUrl: urlOf(trap) }).catch(() => socket.destroy());
    });
  });
  for (const one of [server, trap]) {
    one.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => sockets.delete(socket));
    });
    one.listen(0, '127.0.0.1');
    await once(one, 'listening');
  }
  const proxy: SpoilingProxy = {
    url: urlOf(server),
    spoil: () => undefined,
    trapped,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all([server, trap].map((one) => new Promise((resolve) => one.close(resolve))));
      await agent.destroy();
    },
  };
  return proxy;
}

function urlOf(server: { address(): string | AddressInfo | null }): string {
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}
