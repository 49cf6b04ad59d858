import type { Wire, WireFailure, WireRequest, WireResponse } from '../../../src/hosting/wire/wire.ts';

/** What a scripted service does with one request; undefined never answers. */
export type Script = (
  request: WireRequest,
) => Promise<WireResponse | WireFailure> | WireResponse | WireFailure | undefined;

/** A service without sockets, and every request that reached it. */
export interface ScriptedWire {
  readonly wire: Wire;
  readonly requests: WireRequest[];
}

/** A service that does as the script says. */
export function scriptedWire(script: Script): ScriptedWire {
  const requests: WireRequest[] = [];
  return {
    requests,
    wire: async (request) => {
      const no = request.start();
      if (no !== undefined) return { failed: 'connection', message: no };
      requests.push(request);
      return (await script(request)) ?? nothingUntil(request.signal);
    },
  };
}

/** Never answers; fails when nobody waits any longer. */
export function nothingUntil(signal: AbortSignal): Promise<WireFailure> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve({ failed: 'connection', message: 'nobody waits' }));
  });
}

/** A response with a JSON body. */
export function answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): WireResponse {
  return { status, headers, text: JSON.stringify(body) };
}

/** The name of the list or object that a request asks for: `/contact-points`. */
export function pathOf(request: WireRequest): string {
  return new URL(request.path, 'http://x').pathname.replace('/api/public/v1', '');
}
