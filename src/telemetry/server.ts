import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

/** The answers to the probes: a sentence says why the process is not alive or not ready; undefined means that all is well. */
export interface Probes {
  readonly alive: () => string | undefined;
  readonly ready: () => string | undefined;
  readonly metrics: () => Promise<string>;
}

/** Serves `/healthz`, `/readyz` and `/metrics`; an empty host means all addresses. Resolves with the port. */
export async function serveProbes(
  probes: Probes,
  host: string,
  port: number,
): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    void answer(probes, request, response);
  });
  server.requestTimeout = 10_000;
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  return { port: typeof address === 'object' && address !== null ? address.port : port, close: () => closed(server) };
}

async function answer(probes: Probes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.resume();
  const path = request.url?.split('?', 1)[0];
  if (path === '/healthz') return verdict(response, probes.alive());
  if (path === '/readyz') return verdict(response, probes.ready());
  if (path !== '/metrics') return void response.writeHead(404).end();
  const text = await probes.metrics();
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text);
}

function verdict(response: ServerResponse, problem: string | undefined): void {
  response.writeHead(problem === undefined ? 200 : 503, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${problem ?? 'ok'}\n`);
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
