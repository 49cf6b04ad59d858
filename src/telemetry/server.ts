import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The functions that answer requests for health and metrics. `alive` and `ready` return a sentence that says why the process is
 * not alive or not ready; undefined means that all is well.
 */
export interface Probes {
  readonly alive: () => string | undefined;
  readonly ready: () => string | undefined;
  readonly metrics: () => Promise<string>;
}

/** Serves `/healthz`, `/readyz` and `/metrics`; an empty host means all addresses. Resolves with the port number. */
export async function serveProbes({ host, port }: { host: string; port: number }, probes: Probes) {
  const server = createServer((request, response) => {
    void answer(probes, request, response);
  });
  server.requestTimeout = 10_000;
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.closeAllConnections();
      return server[Symbol.asyncDispose]();
    },
  };
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
