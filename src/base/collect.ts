/**
 * Sends an HTTP request with undici and collects its response. The operator and its commands send every request to the
 * service and to Kubernetes with `collect`, except watches: the response to a watch has no end, unless it is a refusal,
 * whose body `collectBody` reads.
 *
 * Guarantees: a response that is too large, or a request whose signal is aborted, fails at once; `mayStart` is called
 * right before the bytes are sent.
 */

import type { Dispatcher } from 'undici';

export type ReceivedHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A response with its whole body. */
export interface Received {
  readonly status: number;
  readonly headers: ReceivedHeaders;
  readonly body: Buffer;
}

/**
 * The limits of one request: when the request is aborted, and how large the response may be. A request that exceeds a
 * limit fails.
 */
export interface Bounds {
  /** Aborting this signal ends the request, which then fails with the signal's reason. */
  readonly signal: AbortSignal;
  readonly mostBytes: number;
  readonly tooLarge: () => Error;
  /**
   * Called right before the request is sent. If this function returns an error, nothing is sent and the request fails
   * with that error.
   */
  readonly mayStart?: () => Error | undefined;
}

/**
 * Sends one request and collects its whole response. Uses no streams: for a body of a few kilobytes, setting up a
 * stream would cost more CPU than the rest of the request.
 */
export function collect(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  { signal, mostBytes, tooLarge, mayStart }: Bounds,
): Promise<Received> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    let status = 0;
    let headers: ReceivedHeaders = {};
    const end = (controller: Dispatcher.DispatchController, error: Error): void => {
      reject(error);
      controller.abort(error);
    };
    let started: Dispatcher.DispatchController | undefined;
    const aborted = (): void => {
      reject(signal.reason as Error);
      started?.abort(signal.reason as Error);
    };
    signal.addEventListener('abort', aborted, { once: true });
    dispatcher.dispatch(options, {
      onRequestStart: (controller) => {
        started = controller;
        // If the request was aborted while it waited for a connection, do not send it.
        const no = signal.aborted ? (signal.reason as Error) : mayStart?.();
        if (no !== undefined) end(controller, no);
      },
      onResponseStart: (_controller, statusCode, received) => {
        status = statusCode;
        headers = received;
      },
      onResponseData: (controller, part) => {
        size += part.length;
        if (size <= mostBytes) parts.push(part);
        else end(controller, tooLarge());
      },
      onResponseEnd: () => {
        const [only] = parts;
        resolve({ status, headers, body: only !== undefined && parts.length === 1 ? only : Buffer.concat(parts) });
      },
      onResponseError: (_controller, error) => reject(error),
    });
  });
}

/** Collects the body of a response that arrives as a stream. */
export async function collectBody(
  stream: AsyncIterable<Uint8Array>,
  { mostBytes, tooLarge }: Pick<Bounds, 'mostBytes' | 'tooLarge'>,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of stream) {
    size += part.length;
    if (size > mostBytes) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts);
}
