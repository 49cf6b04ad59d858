/**
 * Looks up the addresses of host names in the same way as every program on the machine: as `/etc/hosts`, resolv.conf and
 * nsswitch.conf say.
 *
 * Node runs these lookups in its thread pool, in at most half of the threads. If the name servers for a host name do not respond,
 * the lookup occupies a thread until the system gives up. So all callers that ask for the same name at the same time share one
 * lookup. For the same reason `addThreads` in config.ts gives Node more threads than usual.
 */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { type Clock, inTime } from '../../base/time.ts';

/**
 * Finds the addresses of a host name, or rejects with an error code, such as `ENOTFOUND`, or `EAI_AGAIN` if the lookup
 * took too long.
 */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

const bySystem: Resolve = (name) => lookup(name, { all: true });

/**
 * The deadline of one lookup, in ms. It is shorter than the deadline for connecting. Otherwise a slow lookup would be
 * reported as a slow connection.
 */
const deadlineMs = 6_000;

/** Creates a function that looks up host names. All callers that ask for a name at the same time share one lookup. */
export function openNames(clock: Clock, resolve: Resolve = bySystem): Resolve {
  const underWay = new Map<string, ReturnType<Resolve>>();
  return async (name) => {
    const asked = underWay.get(name) ?? resolve(name).finally(() => underWay.delete(name));
    underWay.set(name, asked);
    const found = await inTime(clock, deadlineMs, asked);
    if (found === undefined)
      throw Object.assign(new Error('the host name was not looked up in time'), { code: 'EAI_AGAIN' });
    return found.value;
  };
}

/** Builds a `lookup` function for sockets. A connection uses exactly the addresses that were checked, or fails. */
export function lookupWith(
  resolve: Resolve,
  check: (name: string, addresses: readonly LookupAddress[]) => Error | undefined,
): LookupFunction {
  return (name, { all = false }, callback) => {
    const failed = (error: Error): void => callback(error, all ? [] : '', 0);
    const found = (addresses: readonly LookupAddress[]): void => {
      const [first] = addresses;
      const flaw = check(name, addresses);
      if (flaw !== undefined) failed(flaw);
      else if (all || first === undefined) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    };
    resolve(name).then(found, failed);
  };
}
