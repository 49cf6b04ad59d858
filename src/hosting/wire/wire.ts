/** Carries out one HTTP exchange. The undici one is in `undici-wire.ts`; a test may pass one that has no sockets. */
import type { Request } from '../../engine/ports.ts';

/** One exchange, ready to go: the only place where secrets stand in the open. */
export interface WireRequest {
  readonly method: Request['method'];
  /** Scheme, host and port. */
  readonly origin: string;
  /** Absolute, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** A write must not go out on a connection that the other side may be closing. */
  readonly writes: boolean;
  /** Certificates in PEM that are trusted in place of the usual ones. */
  readonly caBundle: string | undefined;
  /** Called exactly once, in the tick in which the bytes go out; a sentence says why they must not. */
  readonly start: () => string | undefined;
  /** Aborted when nobody waits any longer. */
  readonly signal: AbortSignal;
}

/** A whole response. */
export interface WireResponse {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined where the bytes are not text. */
  readonly text: string | undefined;
}

/** No complete response arrived. If `start` was called, bytes may have been sent. */
export interface WireFailure {
  readonly failed: 'hostNotAllowed' | 'connection' | 'tooLarge';
  /** In our own words, never the other side's bytes. */
  readonly message: string;
}

/** Carries out one exchange; never throws. */
export type Wire = (request: WireRequest) => Promise<WireResponse | WireFailure>;
