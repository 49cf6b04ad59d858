import type { Route } from './area.ts';
import { RequestRefusal } from '../http/refusal.ts';

/**
 * Finds the route for a method and a path, and the value of `:id` in the path; fails with 404 if no route has this path, and with 405 if no
 * route with this path has this method.
 */
export function routeFor<R extends Pick<Route, 'method' | 'path'>>(routes: readonly R[], method: string, path: string) {
  const here = routes.flatMap((route) => {
    const id = idIn(route.path, path);
    return id === undefined ? [] : [{ route, id }];
  });
  if (here.length === 0) throw new RequestRefusal(404, 'the simulator has no route with this path');
  const found = here.find(({ route }) => route.method === method);
  if (found !== undefined) return found;
  const allow = here.map(({ route }) => route.method).join(', ');
  throw new RequestRefusal(405, `this path accepts only the methods ${allow}`, {}, { allow });
}

/**
 * Returns the value of `:id` in a path, or an empty string if the route has no `:id`; returns undefined if the path does not match the
 * route.
 */
function idIn(pattern: string, path: string): string | undefined {
  if (!pattern.includes(':id')) return pattern === path ? '' : undefined;
  const [, segment] = new RegExp(`^${pattern.replace(':id', '([^/]+)')}$`).exec(path) ?? [];
  return segment === undefined ? undefined : decoded(segment);
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
