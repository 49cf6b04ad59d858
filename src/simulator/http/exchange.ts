/** A request, however it came: over a socket or from the same process. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: Uint8Array | string;
  /** The body was longer than allowed and was not kept. */
  readonly tooLarge?: boolean;
  /** Tells if the client went away. */
  readonly isGivenUp?: () => boolean;
}

/** The reply to a client: an answer, a connection that breaks, silence, or a stream. */
export type Reply = Answered | Reset | Silent | Stream;

/** An answer and its way of delivery. */
export interface Answered {
  readonly kind: 'answered';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** A long body in pieces, each made when it is sent. */
  readonly pieces?: () => Iterable<string>;
  readonly committed: boolean;
  /** Cuts the connection after so many bytes of the body. */
  readonly truncate?: number;
  /** The body arrives byte by byte. */
  readonly msPerByte?: number;
  /** The body is a JSON object of so many bytes instead. */
  readonly hugeBody?: number;
}

/** The connection is reset without an answer. */
interface Reset {
  readonly kind: 'reset';
  readonly committed: boolean;
}

/** The connection stays open and nothing ever comes. */
interface Silent {
  readonly kind: 'silent';
  readonly committed: boolean;
}

/** An answer that goes on: server-sent events. */
export interface Stream {
  readonly kind: 'stream';
  /** Sends each event as it happens; returns what ends it. */
  readonly subscribe: (send: (event: string) => void) => () => void;
}

/** What the socket server needs of a service. */
export interface Served {
  handle(request: HttpRequest): Promise<Reply>;
  /** The longest body that this address takes, in bytes. */
  longestBody(url: string): number;
  /** Stops long work before it is closed. */
  stop(): void;
  /** The answer to what could not even be read as a request. */
  broken(status: number, message: string): Reply;
  close(): Promise<void>;
}

/**
 * A request target as path and query. A target in absolute form (`GET http://host/path`) names its host itself: that host then counts
 * in the place of the Host header.
 */
export function originForm(target: string): { readonly url: string; readonly host?: string } {
  if (target.startsWith('/')) return { url: target };
  const [, host, rest = ''] = /^https?:\/\/([^/?#]+)(.*)$/i.exec(target) ?? [];
  if (host === undefined) return { url: target };
  return { url: rest.startsWith('/') ? rest : `/${rest}`, host };
}

/** Path and query of a request, apart. */
export interface PeerAddress {
  readonly path: string;
  readonly query: URLSearchParams;
}

/** Takes an address apart. */
export function addressOf(url: string): PeerAddress {
  const mark = url.indexOf('?');
  if (mark < 0) return { path: url, query: new URLSearchParams() };
  return { path: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
}

/** The bytes of a body. */
export function bytesOf(body: Uint8Array | string | undefined): Uint8Array {
  return typeof body === 'string' ? new TextEncoder().encode(body) : (body ?? new Uint8Array());
}
