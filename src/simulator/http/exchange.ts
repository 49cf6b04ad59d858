/** A request, however it came: over a socket or from the same process. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: Uint8Array | string | undefined;
  /** The body was longer than allowed and was not kept. */
  readonly tooLarge?: boolean;
  /** Tells if the client went away. */
  readonly isGivenUp?: () => boolean;
}

/** The reply to a client: an answer, a connection that breaks, silence, or a stream. */
export type Reply = Answered | Unanswered | Stream;

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

/** An answer without peculiarities. */
export function answered(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>>,
  committed = false,
): Answered {
  return { kind: 'answered', status, headers, body, committed };
}

/** The connection is reset without an answer, or stays open and nothing ever comes. */
interface Unanswered {
  readonly kind: 'reset' | 'silent';
  readonly committed: boolean;
}

/** An answer that goes on: server-sent events. */
export interface Stream {
  readonly kind: 'stream';
  /** Sends each event as it happens; returns what ends it. */
  readonly subscribe: (send: (event: string) => void) => () => void;
}

/** A service as the socket server needs it. */
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

/** Takes an address apart into its path and its query. */
export function addressOf(url: string): { readonly path: string; readonly query: URLSearchParams } {
  const [path = ''] = url.split('?', 1);
  return { path, query: new URLSearchParams(url.slice(path.length + 1)) };
}

/** The bytes of a body. */
export function bytesOf(body: Uint8Array | string | undefined): Uint8Array {
  return typeof body === 'string' ? new TextEncoder().encode(body) : (body ?? new Uint8Array());
}
