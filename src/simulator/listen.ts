/**
 * Serves the simulator on a socket. A request is handled only after its whole body has arrived. If a client sends its request too slowly,
 * its connection is closed at a deadline. An event stream is closed if too many events wait for a client that does not read them.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Answered, originForm, type Reply, type Stream } from './http/exchange.ts';
import { BadOption } from './bad-option.ts';
import type { Simulator } from './simulator.ts';

/** The address and port on which the simulator listens. */
export interface ListenOptions {
  readonly host: string;
  readonly port: number;
}

const headersDeadlineMs = 5000;
const requestDeadlineMs = 15_000;
const longestHeaders = 32 * 1024;
const mostWaiting = 1024 * 1024;

/**
 * Starts a simulator on a socket. `make` is called only after the socket is bound: if another simulator already uses the address, `make`
 * does not run and cannot damage that simulator's state file.
 */
export async function listen(make: () => Simulator, options: ListenOptions) {
  const server = createServer({
    headersTimeout: headersDeadlineMs,
    requestTimeout: requestDeadlineMs,
    connectionsCheckingInterval: 500,
    maxHeaderSize: longestHeaders,
    keepAliveTimeout: 60_000,
  });
  await once(server.listen(options.port, options.host), 'listening').catch((error: Error) => {
    throw new BadOption(`cannot listen on ${options.host}:${options.port}: ${error.message}`, { cause: error });
  });
  const simulator = madeOrClosed(make, server);
  server.on('request', (incoming, outgoing) => void serve(simulator, incoming, outgoing));
  server.on('checkExpectation', (incoming, outgoing) => void serve(simulator, incoming, outgoing));
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return { simulator, url: `http://${host}:${port}`, port, close: () => closed(server, simulator) };
}

function madeOrClosed(make: () => Simulator, server: Server): Simulator {
  try {
    return make();
  } catch (error) {
    server.close();
    throw error;
  }
}

async function closed(server: Server, simulator: Simulator): Promise<void> {
  simulator.stop();
  const ended = once(server.close(), 'close');
  server.closeIdleConnections();
  // Give running requests 300 ms to finish, then close every connection. Otherwise, event streams and requests that are never answered
  // would stay open forever.
  const impatient = setTimeout(() => server.closeAllConnections(), 300).unref();
  await ended;
  clearTimeout(impatient);
  await simulator.close();
}

async function serve(simulator: Simulator, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  outgoing.on('error', () => outgoing.destroy());
  // Close the connection to a browser after each response. If a reused connection breaks, a browser silently repeats
  // the request, and hides a simulated fault from its user.
  if (incoming.headers['sec-fetch-site'] !== undefined) outgoing.shouldKeepAlive = false;
  try {
    const { host: named, origin, authorization, 'content-type': type } = incoming.headers;
    const { url, host = named } = originForm(incoming.url ?? '/');
    const body = await bodyWithin(incoming, simulator.longestBody(url));
    const headers = { host, origin, authorization, 'content-type': type };
    const request = { method: incoming.method ?? 'GET', url, headers, body, tooLarge: body === undefined };
    await deliver(await simulator.handle(request), incoming, outgoing);
  } catch {
    // Close the connection without a response. Either the client is gone, or the state could not be written to disk; in the second case the
    // client must not be told that its request succeeded.
    outgoing.destroy();
  }
}

/**
 * Reads a whole body, even if it is longer than `limit`, because a client that is still sending its body might miss the answer. Returns
 * undefined if the body is longer than `limit`.
 */
async function bodyWithin(incoming: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= limit) chunks.push(chunk);
  }
  return length > limit ? undefined : Buffer.concat(chunks);
}

async function deliver(reply: Reply, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  if (reply.kind === 'answered') return answer(reply, outgoing);
  if (reply.kind === 'stream') return stream(reply, outgoing);
  // For a reply of the kind `silent`, send nothing and leave the connection open.
  if (reply.kind === 'reset') incoming.socket.resetAndDestroy();
}

async function answer(reply: Answered, outgoing: ServerResponse): Promise<void> {
  outgoing.statusCode = reply.status;
  for (const [name, value] of Object.entries(reply.headers)) outgoing.setHeader(name, value);
  if (reply.hugeBody !== undefined) {
    outgoing.setHeader('content-length', reply.hugeBody);
    return pipeline(hugeBody(reply.hugeBody), outgoing);
  }
  // Generate the next piece of the body only after the client has read the previous one.
  if (reply.pieces !== undefined) return pipeline(reply.pieces(), outgoing);
  const bytes = Buffer.from(reply.body);
  outgoing.setHeader('content-length', bytes.length);
  if (reply.truncate !== undefined) return sendPart(bytes.subarray(0, reply.truncate), outgoing);
  if (reply.msPerByte !== undefined) return sendSlowly(bytes, reply.msPerByte, outgoing);
  outgoing.end(bytes);
}

async function sendPart(bytes: Buffer, outgoing: ServerResponse): Promise<void> {
  outgoing.flushHeaders();
  await new Promise<void>((resolve) => outgoing.write(bytes, () => resolve()));
  outgoing.socket?.destroy();
}

async function sendSlowly(bytes: Buffer, msPerByte: number, outgoing: ServerResponse): Promise<void> {
  outgoing.flushHeaders();
  for (let at = 0; at < bytes.length && !outgoing.destroyed; at += 1) {
    outgoing.write(bytes.subarray(at, at + 1));
    await sleep(msPerByte, undefined, { ref: false });
  }
  outgoing.end();
}

/** Generates a JSON object of a given length in bytes. */
function* hugeBody(length: number): Iterable<string> {
  const [head, tail] = ['{"padding":"', '"}'];
  yield head.slice(0, length);
  const piece = 'x'.repeat(64 * 1024);
  for (let left = length - head.length - tail.length; left > 0; left -= piece.length) yield piece.slice(0, left);
  yield tail.slice(0, Math.max(0, length - head.length));
}

function stream(reply: Stream, outgoing: ServerResponse): void {
  outgoing.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  outgoing.write(': listening\n\n');
  const stop = reply.subscribe((event) => {
    // Close the connection of a client that does not read its events, so that unsent events do not pile up in memory. The simulator's page
    // then reconnects and requests the events that it missed.
    if (outgoing.writableLength > mostWaiting) outgoing.destroy();
    else outgoing.write(event);
  });
  outgoing.once('close', stop);
}
