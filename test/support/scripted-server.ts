import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';

/** One request that arrived. */
export interface Arrived {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** How one request is answered. */
export type Answering = (response: ServerResponse, request: Arrived) => void;

/** A server on loopback. */
interface ScriptedServer {
  readonly url: string;
  readonly arrived: Arrived[];
  /** How many were opened so far. */
  readonly connections: () => number;
}

/** A server on loopback that answers as a test says; ended with the test. */
export async function scriptedServer(answer: Answering): Promise<ScriptedServer> {
  const arrived: Arrived[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://server');
      const body = Buffer.concat(parts).toString('utf8');
      const one = { method: request.method ?? '', url, headers: request.headers, body };
      arrived.push(one);
      answer(response, one);
    });
  });
  server.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  return { url, arrived, connections: () => connections };
}

/** Answers with a status and JSON. */
export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** A refusal as the API server words it. */
export function refusal(code: number, reason: string, details: object = {}, message = 'refused'): object {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message, details };
}
