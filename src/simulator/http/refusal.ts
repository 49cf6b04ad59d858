/** A request that is turned down: thrown by a handler, it undoes everything the handler did. */
export class RequestRefusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  /** Fields that stand at the top of the body under every form of errors, as the interface promises. */
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

/** Refuses a request that breaks the form the interface gives: 400. */
export function invalid(message: string): RequestRefusal {
  return new RequestRefusal(400, message);
}

/** Refuses a caller who may not do this: 403. */
export function forbidden(message: string): RequestRefusal {
  return new RequestRefusal(403, message);
}

/** Refuses a request that names something unknown: 404. */
export function notFound(message: string): RequestRefusal {
  return new RequestRefusal(404, message);
}

/** The refusal that an error comes to; one that is not meant for the client is a bug, and is logged. */
export function refusalFor(error: unknown, request: string, log: (line: string) => void): RequestRefusal {
  if (error instanceof RequestRefusal) return error;
  log(`${request}: ${String(error instanceof Error ? error.stack : error)}`);
  return new RequestRefusal(500, 'the simulator has a bug: see its log');
}

/** The thing that a request names; refuses when it is unknown. */
export function found<T>(thing: T | undefined, message: string): T {
  if (thing === undefined) throw notFound(message);
  return thing;
}

/** Refuses an id that exists already: 409, on the control surface only. */
export function taken(message: string): RequestRefusal {
  return new RequestRefusal(409, message);
}
