import type { Dispatcher } from 'undici';

/** A whole answer. */
export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Limits of an exchange: it fails with the signal's reason, or with the error of `tooLarge`. */
export interface Bounds {
  readonly signal: AbortSignal;
  readonly mostBytes: number;
  readonly tooLarge: () => Error;
}

/** Sends one request and collects its answer, without a stream: for a few kilobytes that would cost more than all the rest. */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  { signal, mostBytes, tooLarge }: Bounds,
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    let status = 0;
    let headers: Received['headers'] = {};
    signal.addEventListener('abort', () => reject(reasonOf(signal)), { once: true });
    dispatcher.dispatch(options, {
      onRequestStart: (controller) => {
        // The signal may have been aborted while the request waited for a connection.
        if (signal.aborted) controller.abort(reasonOf(signal));
        else signal.addEventListener('abort', () => controller.abort(reasonOf(signal)), { once: true });
      },
      onResponseStart: (_controller, statusCode, received) => {
        status = statusCode;
        headers = received;
      },
      onResponseData: (controller, part) => {
        size += part.byteLength;
        if (size <= mostBytes) parts.push(part);
        else controller.abort(tooLarge());
      },
      onResponseEnd: () => resolve({ status, headers, text: Buffer.concat(parts).toString('utf8') }),
      onResponseError: (_controller, error) => reject(error),
    });
  });
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('stopped');
}
