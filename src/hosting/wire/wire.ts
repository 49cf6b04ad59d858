/**
 * Sends HTTP requests and receives the responses. A function of the type `Wire` handles one request; tests may pass
 * their own function, which needs no sockets.
 *
 * The usual function uses undici: HTTP/1.1, no redirects, no retries, responses of at most 8 MiB, no compression. For
 * each origin and set of trusted certificates there are two connection pools, one for reads and one for writes.
 * Connections for writes close after one idle second: if the server closed a connection just when a write is sent, the
 * outcome of the write would be unknown.
 */
import type { Request } from '../../engine/ports.ts';
import { EnvHttpProxyAgent, Pool, type Dispatcher } from 'undici';
import { collect, type ReceivedHeaders } from '../../base/collect.ts';
import { addressesFlaw, HostNotAllowed, type HostRules, isLoopbackName } from './hosts.ts';
import { lookupWith, type Resolve } from './names.ts';

/** An HTTP request, ready to send. Secrets are in plain text only here. */
export interface WireRequest {
  readonly method: Request['method'];
  /** The scheme, host and port of the request's URL. */
  readonly origin: string;
  /** The absolute path of the request's URL, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** True for a request that changes something. Such a request must not use a connection that the server may be closing. */
  readonly writes: boolean;
  /** The certificates (PEM) of the certificate authorities to trust in place of the usual ones. */
  readonly caBundle: string | undefined;
  /** Called at most once, immediately before the request is sent. Returns the reason if the request must not be sent. */
  readonly start: () => string | undefined;
  /** Aborted when the request's deadline has passed. */
  readonly signal: AbortSignal;
}

/** A complete HTTP response. */
export interface WireResponse {
  readonly status: number;
  /** The headers of the response. The names of the headers are in lower case. */
  readonly headers: ReceivedHeaders;
  /** The body without a byte order mark; undefined when it is not valid UTF-8. */
  readonly text: string | undefined;
}

/**
 * Says why no complete response arrived. If `start` was called and allowed the request, a part of the request may have
 * been sent; otherwise nothing was sent.
 */
export interface WireFailure {
  readonly failed: 'hostNotAllowed' | 'connection';
  /** An error message. It never contains text from the server. */
  readonly message: string;
}

/** Sends one HTTP request and returns the response or the failure; never throws. */
export type Wire = (request: WireRequest) => Promise<WireResponse | WireFailure>;

const largestBytes = 8 * 1024 * 1024;
/**
 * The largest `spec.budget.concurrency`, which is also the number of connections, so that no request has to wait for a
 * connection.
 */
const mostAtOnce = 100;

/** A function that sends HTTP requests, and its connections. Closing the connections aborts all requests under way. */
export interface OpenWire {
  readonly wire: Wire;
  close(): Promise<void>;
}

/**
 * Creates the connection pools, and the function that sends requests over them. The function connects only to hosts
 * that the host rules allow.
 */
export function openUndiciWire(rules: HostRules, resolve: Resolve): OpenWire {
  const dispatchers = new Map<string, Dispatcher>();
  const dispatcherFor = (request: WireRequest): Dispatcher => {
    const key = JSON.stringify([request.origin, request.writes, request.caBundle ?? '']);
    const open = dispatchers.get(key) ?? openDispatcher(rules, resolve, request);
    dispatchers.set(key, open);
    return open;
  };
  return {
    wire: (request) => exchanged(dispatcherFor(request), request),
    close: async () => {
      const open = [...dispatchers.values()];
      dispatchers.clear();
      await Promise.all(open.map((dispatcher) => dispatcher.destroy()));
    },
  };
}

function openDispatcher(rules: HostRules, resolve: Resolve, request: WireRequest): Dispatcher {
  const options = {
    allowH2: false,
    pipelining: 1,
    connections: mostAtOnce,
    keepAliveTimeout: request.writes ? 1000 : 10_000,
    keepAliveMaxTimeout: request.writes ? 1000 : 30_000,
  };
  const tls = {
    minVersion: 'TLSv1.2' as const,
    timeout: 8000,
    ...(request.caBundle !== undefined && { ca: request.caBundle }),
  };
  const lookup = lookupWith(resolve, (name, addresses) => {
    const flaw = addressesFlaw(name, addresses, rules);
    return flaw === undefined ? undefined : new HostNotAllowed(flaw);
  });
  const connect = { ...tls, lookup };
  const { proxy, noProxy = '' } = rules;
  if (proxy === undefined || isLoopbackName(new URL(request.origin).hostname))
    return new Pool(request.origin, { ...options, connect });
  // The administrator chose the proxy, so the host rules do not restrict its address.
  const proxyTls = { timeout: 8000, lookup: lookupWith(resolve, () => undefined) };
  return new EnvHttpProxyAgent({
    ...options,
    connect,
    httpProxy: proxy,
    httpsProxy: proxy,
    noProxy,
    requestTls: tls,
    proxyTls,
    proxyTunnel: true,
  });
}

/** Describes a failure by its error code, since the error's message may contain addresses or text of the server. */
function failureOf(error: unknown): WireFailure {
  if (error instanceof ExchangeEnded) return { failed: 'connection', message: error.message };
  const causes = [error, error instanceof Error ? error.cause : undefined];
  const refused = causes.find((cause) => cause instanceof HostNotAllowed);
  if (refused !== undefined) return { failed: 'hostNotAllowed', message: refused.message };
  const code = causes
    .map((cause) => (cause instanceof Error && 'code' in cause ? String(cause.code) : ''))
    .find(Boolean);
  return { failed: 'connection', message: words[code ?? ''] ?? `the connection failed (${code ?? 'unknown'})` };
}

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name could not be looked up',
  UND_ERR_CONNECT_TIMEOUT: 'connecting took too long',
  UND_ERR_SOCKET: 'the connection was closed',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the server is for another host name',
  CERT_HAS_EXPIRED: 'the certificate of the server has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate of the server is signed by an authority that is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate of the server is signed by an authority that is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate of the server is signed by an authority that is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate of the server is signed by an authority that is not trusted',
};

/** One decoder for all calls. Each call decodes a complete text, so the decoder keeps no state between calls. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Decodes bytes as UTF-8; returns undefined if they are not valid UTF-8. */
function textOf(body: Buffer): string | undefined {
  try {
    return utf8.decode(body);
  } catch {
    return undefined;
  }
}

async function exchanged(dispatcher: Dispatcher, request: WireRequest): Promise<WireResponse | WireFailure> {
  const { origin, path, method, body } = request;
  const options = { origin, path, method, headers: request.headers, body: body ?? null };
  try {
    const received = await collect(dispatcher, options, {
      signal: request.signal,
      mostBytes: largestBytes,
      tooLarge: () => new ExchangeEnded('the answer of the service is larger than 8 MiB'),
      mayStart: () => {
        const no = request.start();
        return no === undefined ? undefined : new ExchangeEnded(no);
      },
    });
    return { status: received.status, headers: received.headers, text: textOf(received.body) };
  } catch (error) {
    return failureOf(error);
  }
}

/** Thrown when the operator itself aborts a request; the message says why. */
class ExchangeEnded extends Error {
  override readonly name = 'ExchangeEnded';
}
