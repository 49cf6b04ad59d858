import { RequestRefusal } from './refusal.ts';

interface Routed {
  readonly method: string;
  readonly path: string;
}

interface Found<R> {
  readonly route: R;
  /** The part of the path that stands where the route has `:id`. */
  readonly id: string;
}

/** Finds the route for a method and a path; refuses with 404 or 405. */
export class Router<R extends Routed> {
  readonly #exact = new Map<string, Map<string, R>>();
  readonly #patterns = new Map<string, Map<string, R>>();

  constructor(routes: readonly R[]) {
    for (const route of routes) {
      const paths = route.path.includes(':id') ? this.#patterns : this.#exact;
      const methods = paths.get(route.path) ?? new Map<string, R>();
      paths.set(route.path, methods.set(route.method, route));
    }
  }

  find(method: string, path: string): Found<R> {
    const [methods, id] = this.#lookUp(path);
    if (methods === undefined) throw new RequestRefusal(404, 'there is nothing at this path');
    const route = methods.get(method);
    if (route === undefined) {
      const allow = [...methods.keys()].join(', ');
      throw new RequestRefusal(405, `this path allows ${allow} only`, {}, { allow });
    }
    return { route, id };
  }

  #lookUp(path: string): [Map<string, R> | undefined, string] {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return [exact, ''];
    for (const [pattern, methods] of this.#patterns) {
      const [, segment] = new RegExp(`^${pattern.replace(':id', '([^/]+)')}$`).exec(path) ?? [];
      const id = segment === undefined ? undefined : decoded(segment);
      if (id !== undefined) return [methods, id];
    }
    return [undefined, ''];
  }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
