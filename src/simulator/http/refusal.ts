/** Says that a request is refused. A handler throws the refusal, which undoes everything that the handler did. */
export class RequestRefusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  /** Fields that the interface promises at the top of an error body, whatever form error bodies have otherwise. */
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

/** Makes the refusal of a malformed request: 400. */
export function invalid(message: string): RequestRefusal {
  return new RequestRefusal(400, message);
}

/** Makes the refusal of a caller who may not do this: 403. */
export function forbidden(message: string): RequestRefusal {
  return new RequestRefusal(403, message);
}

/** Makes the refusal of a request that names something unknown: 404. */
export function notFound(message: string): RequestRefusal {
  return new RequestRefusal(404, message);
}

/** Turns an error into a refusal. An error that is no refusal is a bug of the simulator, so it is logged and becomes a 500. */
export function refusalFor(error: unknown, request: string, log: (line: string) => void): RequestRefusal {
  if (error instanceof RequestRefusal) return error;
  log(`${request}: ${String(error instanceof Error ? error.stack : error)}`);
  return new RequestRefusal(500, 'the simulator has a bug: see its log');
}

/** Returns a thing that was looked up; refuses with 404 when it is undefined. */
export function found<T>(thing: T | undefined, message: string): T {
  if (thing === undefined) throw notFound(message);
  return thing;
}

/** Makes the refusal of a request that conflicts with the present state, such as an id that exists: 409, only on the control surface. */
export function taken(message: string): RequestRefusal {
  return new RequestRefusal(409, message);
}
