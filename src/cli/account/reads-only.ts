/** The HTTP connection of commands that only look at the service: it sends GET and nothing else. */
import type { Clock } from '../../base/time.ts';
import type { HostRules } from '../../hosting/wire/hosts.ts';
import { openNames } from '../../hosting/wire/names.ts';
import { openUndiciWire, type OpenWire, type Wire } from '../../hosting/wire/wire.ts';

/** Restricts HTTP requests to reads: any other request fails before a connection is opened. */
function readsOnly(wire: Wire): Wire {
  return async (request) => {
    if (request.method === 'GET' && request.body === undefined && !request.writes) return wire(request);
    return { failed: 'connection', message: `this command only reads: ${request.method} is not sent` };
  };
}

/** Opens HTTP connections that only read, to hosts that the host rules allow. */
export function openReadingWire(hostRules: HostRules, clock: Clock): OpenWire {
  const open = openUndiciWire(hostRules, openNames({ clock }));
  return { wire: readsOnly(open.wire), close: () => open.close() };
}
