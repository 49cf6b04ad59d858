/**
 * An error that refuses a request; it holds the status and the message of the response. If a handler throws it, all changes that the
 * handler made are undone.
 */
export class RequestRefusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  /**
   * Additional fields at the top level of the error body, such as `details` or `installationId`. The simulator option `errors.body` sets
   * the form of the error body, but does not change these fields.
   */
  readonly kept: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    message: string,
    kept: Readonly<Record<string, unknown>> = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = status;
    this.kept = kept;
    this.headers = headers;
  }
}

/** Returns the error for an invalid request: status 400. */
export function invalid(message: string): RequestRefusal {
  return new RequestRefusal(400, message);
}

/** Returns the error for a caller without permission: status 403. */
export function forbidden(message: string): RequestRefusal {
  return new RequestRefusal(403, message);
}

/** Returns the error for an object that does not exist: status 404. */
export function notFound(message: string): RequestRefusal {
  return new RequestRefusal(404, message);
}

/**
 * Converts an error into the refusal that the client receives. Any error other than a `RequestRefusal` is a bug of the simulator: it is
 * logged, and the client receives a 500.
 */
export function refusalFor(error: unknown, request: string, log: (line: string) => void): RequestRefusal {
  if (error instanceof RequestRefusal) return error;
  log(`${request}: ${String(error instanceof Error ? error.stack : error)}`);
  return new RequestRefusal(500, 'the simulator has a bug: its log shows the error');
}

/** Returns the object that a look-up found; fails with 404 if the look-up found none. */
export function found<T>(thing: T | undefined, message: string): T {
  if (thing === undefined) throw notFound(message);
  return thing;
}

/**
 * Returns the error for a control request (/_sim) that conflicts with the current state, for example if an id already exists: status 409.
 */
export function taken(message: string): RequestRefusal {
  return new RequestRefusal(409, message);
}
