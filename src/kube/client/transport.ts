/**
 * Sends requests to the API server with undici.
 *
 * Guarantees: every request but a watch has a deadline for the whole exchange, and its response a size limit. No
 * request is sent twice, with one exception: a read that is answered with 401 is repeated once if there is a newer
 * credential. Redirects are not followed. The token is sent in the `Authorization` header only, and only over TLS or
 * inside this machine. Requests and watches use separate HTTP/1.1 connections, so that neither can take all connections
 * from the other.
 */
import { isIP } from 'node:net';
import { checkServerIdentity, createSecureContext, type ConnectionOptions } from 'node:tls';
import { type Clock, deadline } from '../../base/time.ts';
import { collect, collectBody, type Received } from '../../base/collect.ts';
import { messageOf } from '../../base/text.ts';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { KubeError, type ServerDate } from '../../engine/ports.ts';
import { type KubeAccess, type KubeCredentials, mayCarryToken, type Tls } from '../credentials/configuration.ts';
import { type ApiAnswer, refusalOf, silenceOf, TooLargeError } from './failure.ts';

/** A request to the API server. `what` describes the request; error messages about the request begin with it. */
export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: unknown;
  readonly what: string;
}

/** The time and size limits in production; tests use smaller limits. */
export const usualLimits = {
  requestMs: 30_000,
  /**
   * The largest size of a response. It is more than the size of the largest object that the API server accepts (3 MiB). A list
   * page that is larger is read again in smaller pages.
   */
  responseBytes: 8 * 1024 * 1024,
  connections: 16,
  connectMs: 5_000,
  /**
   * The connection of a watch is closed when the watch has sent nothing for this long. The reflector has a shorter limit, and
   * so usually ends the watch first.
   */
  silenceMs: 90_000,
  lineBytes: 8 * 1024 * 1024,
};
export type Limits = Readonly<typeof usualLimits>;

interface Connections {
  readonly tls: Tls;
  readonly requests: Dispatcher;
  readonly watches: Dispatcher;
}

const userAgent = 'apphosting-operator';

/**
 * The connections to one API server, which open with the first request. The subclass `KubeClient` builds the requests and
 * parses the responses.
 */
export class KubeTransport {
  readonly #credentials: KubeCredentials;
  readonly #clock: Clock;
  protected readonly limits: Limits;
  #connections: Connections | undefined;
  #serverDate: ServerDate | undefined;

  constructor(credentials: KubeCredentials, clock: Clock, limits: Partial<Limits> = {}) {
    this.#credentials = credentials;
    this.#clock = clock;
    this.limits = { ...usualLimits, ...limits };
  }

  /** Returns the time in the `Date` header of the API server's last response. */
  serverDate(): ServerDate | undefined {
    return this.#serverDate;
  }

  /** Sends a request and reads the whole response. */
  protected async send(call: ApiCall): Promise<ApiAnswer> {
    const { access, answer } = await this.#once(call);
    if (answer.status !== 401 || !(await this.#renew(access, call)) || call.method !== 'GET') return answer;
    return (await this.#once(call)).answer;
  }

  /** Opens a watch; the caller reads the stream, and ends the watch through the signal. */
  protected async open(call: ApiCall, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const { access, connections } = await this.#dial(call);
    try {
      const response = await connections.watches.request({
        ...this.#options(call, access),
        signal,
        headersTimeout: this.limits.requestMs,
        bodyTimeout: this.limits.silenceMs,
      });
      this.#noteDate(response.headers['date']);
      const { statusCode: status, headers, body } = response;
      if (status === 200) return body;
      const answer = answerOf({ status, headers, body: await collectBody(body, this.#size(call)) });
      if (status === 401) await this.#renew(access, call);
      throw refusalOf(answer, call.what);
    } catch (cause) {
      throw this.#silenceOf(cause, call);
    }
  }

  /** Closes all connections to the API server. Requests under way fail. */
  async close(): Promise<void> {
    const connections = this.#connections;
    this.#connections = undefined;
    await Promise.all([connections?.requests.destroy(), connections?.watches.destroy()]);
  }

  async #once(call: ApiCall): Promise<{ access: KubeAccess; answer: ApiAnswer }> {
    const { requestMs } = this.limits;
    const late = () =>
      new KubeError('unavailable', `${call.what}: no answer from the API server within ${requestMs} ms`);
    const { signal, cancel } = deadline(this.#clock, requestMs, late);
    try {
      const { access, connections } = await this.#dial(call);
      const received = await collect(connections.requests, this.#options(call, access), {
        signal,
        ...this.#size(call),
      });
      this.#noteDate(received.headers['date']);
      return { access, answer: answerOf(received) };
    } catch (cause) {
      throw this.#silenceOf(cause, call);
    } finally {
      cancel();
    }
  }

  #size({ what }: ApiCall) {
    const { responseBytes: mostBytes } = this.limits;
    return { mostBytes, tooLarge: () => new TooLargeError(what, mostBytes) };
  }

  #silenceOf(cause: unknown, { what }: ApiCall): KubeError {
    const { server, proxy } = this.#credentials;
    return silenceOf(cause, what, proxy === undefined ? server.host : `${server.host} through the proxy ${proxy.host}`);
  }

  async #renew(access: KubeAccess, { what }: ApiCall): Promise<boolean> {
    const none = `${what}: the API server answered 401, and there is no newer credential`;
    return this.#credentials.renew(access).catch((cause: unknown) => withoutCredential(none, cause));
  }

  async #dial({ what }: ApiCall): Promise<{ access: KubeAccess; connections: Connections }> {
    const access = await this.#credentials.access().catch((cause: unknown) => withoutCredential(what, cause));
    if (this.#connections?.tls !== access.tls) {
      // Open new connections when the TLS certificates have changed. Requests under way finish on the old connections.
      const old = this.#connections;
      void Promise.allSettled([old?.requests.close(), old?.watches.close()]);
      this.#connections = {
        tls: access.tls,
        requests: this.#dispatcher(access.tls, { connections: this.limits.connections }),
        watches: this.#dispatcher(access.tls, { pipelining: 1 }),
      };
    }
    return { access, connections: this.#connections };
  }

  #dispatcher(tls: Tls, sizes: Agent.Options): Dispatcher {
    // Parse the certificates once, and not for each connection.
    const secureContext = createSecureContext({
      ...(tls.ca !== undefined && { ca: tls.ca }),
      ...(tls.cert !== undefined && { cert: tls.cert }),
      ...(tls.key !== undefined && { key: tls.key.reveal() }),
    });
    const secure = {
      secureContext,
      timeout: this.limits.connectMs,
      rejectUnauthorized: !tls.insecure,
      keepAliveInitialDelay: 30_000,
      ...(tls.serverName !== undefined && { servername: tls.serverName }),
    };
    const common = { ...sizes, allowH2: false, keepAliveTimeout: 20_000, keepAliveMaxTimeout: 60_000 };
    const { proxy, server } = this.#credentials;
    if (proxy === undefined) return new Agent({ ...common, connect: secure });
    const isUnnamed = proxy.protocol === 'socks5:' && tls.serverName === undefined;
    const requestTls = { ...secure, ...(isUnnamed && named(server.hostname)) };
    return new ProxyAgent({ ...common, uri: proxy.href, requestTls });
  }

  #options({ method, path, query = {}, accept, contentType, body }: ApiCall, access: KubeAccess) {
    const { server } = this.#credentials;
    const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const search = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
    const token = mayCarryToken(server) ? access.authorization : undefined;
    return {
      origin: server.origin,
      path: `${server.pathname.replace(/\/$/, '')}${path}${search}`,
      method,
      headers: {
        ...access.impersonation,
        'user-agent': userAgent,
        accept: accept ?? 'application/json',
        ...(body !== undefined && { 'content-type': contentType ?? 'application/json' }),
        ...(token !== undefined && { authorization: token.reveal() }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
  }

  #noteDate(header: unknown): void {
    const dateMs = typeof header === 'string' ? Date.parse(header) : Number.NaN;
    if (!Number.isNaN(dateMs)) this.#serverDate = { dateMs, seenAt: this.#clock.monotonic() };
  }
}

/**
 * Makes TLS to an IP address work through a SOCKS proxy. With such a proxy undici passes the address as the TLS server
 * name, which Node refuses. So `kubernetes`, a usual name of API servers, is passed as the server name, and the
 * certificate is checked against the address.
 */
function named(host: string): Pick<ConnectionOptions, 'servername' | 'checkServerIdentity'> {
  const address = host.replace(/^\[|\]$/g, '');
  if (isIP(address) === 0) return {};
  return {
    servername: 'kubernetes',
    checkServerIdentity: (_name, certificate) => checkServerIdentity(address, certificate),
  };
}

function withoutCredential(message: string, cause: unknown): never {
  throw new KubeError('unauthorized', `${message}: ${messageOf(cause)}`, { cause });
}

function answerOf({ status, headers, body }: Received): ApiAnswer {
  const retryAfter = headers['retry-after'];
  return { status, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined, text: body.toString('utf8') };
}
