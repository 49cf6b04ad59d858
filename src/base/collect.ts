/**
 * Collects one HTTP response from undici: the way of requests to the service and to Kubernetes.
 *
 * Guarantees: a response that is too large, and a request whose signal is aborted, fail at once; whether a request may go out
 * is asked once, in the tick in which its bytes do.
 */

/** One request that is under way, as far as it can be ended. */
interface Controller {
  abort(reason: Error): void;
}

/** What undici tells of a request: a `Dispatcher.DispatchHandler`, without its package. */
export interface ResponseHandler {
  readonly onRequestStart: (controller: Controller) => void;
  readonly onResponseStart: (controller: Controller, status: number, headers: ReceivedHeaders) => void;
  readonly onResponseData: (controller: Controller, part: Buffer) => void;
  readonly onResponseEnd: () => void;
  readonly onResponseError: (controller: Controller, error: Error) => void;
}

export type ReceivedHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A whole response. */
export interface Received {
  readonly status: number;
  readonly headers: ReceivedHeaders;
  readonly body: Buffer;
}

/** What ends a request early; it fails with the error. */
export interface Bounds {
  /** Fails with the signal's reason. */
  readonly signal: AbortSignal;
  readonly mostBytes: number;
  readonly tooLarge: () => Error;
  /** Asked once, in the tick in which the bytes go out; an error says why they must not. */
  readonly mayStart?: () => Error | undefined;
}

/**
 * Dispatches one request and collects its whole response. Streams, which a few kilobytes do not need, cost more than all the
 * rest.
 */
export function collect(
  dispatch: (handler: ResponseHandler) => void,
  { signal, mostBytes, tooLarge, mayStart }: Bounds,
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    let status = 0;
    let headers: ReceivedHeaders = {};
    const end = (controller: Controller, error: Error): void => {
      reject(error);
      controller.abort(error);
    };
    signal.addEventListener('abort', () => reject(reasonOf(signal)), { once: true });
    dispatch({
      onRequestStart: (controller) => {
        // It may have been given up while it waited for a connection.
        const no = signal.aborted ? reasonOf(signal) : mayStart?.();
        if (no === undefined)
          signal.addEventListener('abort', () => controller.abort(reasonOf(signal)), { once: true });
        else end(controller, no);
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

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('stopped');
}
