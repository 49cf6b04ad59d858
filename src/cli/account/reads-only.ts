/** Opens the HTTP connections of commands that must not change anything in the service. These connections send only GET requests. */
import type { Clock } from '../../base/time.ts';
import type { HostRules } from '../../hosting/wire/hosts.ts';
import { openNames } from '../../hosting/wire/names.ts';
import { openUndiciWire, type OpenWire, type Wire } from '../../hosting/wire/wire.ts';

/** Opens HTTP connections to hosts that the host rules allow. Fails any request that is not a GET before a connection is opened. */
export function openReadingWire(hostRules: HostRules, clock: Clock): OpenWire {
  const open = openUndiciWire(hostRules, openNames(clock));
  const wire: Wire = async (request) => {
    if (request.method === 'GET' && request.body === undefined && !request.writes) return open.wire(request);
    return { failed: 'connection', message: `this command only reads: ${request.method} is not sent` };
  };
  return { wire, close: () => open.close() };
}
