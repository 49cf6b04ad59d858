/** Which hosts are reached without the proxy, as `NO_PROXY` says them. */
import { bare } from './addresses.ts';

/**
 * True where an entry of the list matches this origin: a name and all names below it (`example.com`, `.example.com` and
 * `*.example.com` say the same), an address, each with a port or for every port, or `*` for everything.
 */
export function goesDirectly(noProxy: string, origin: string): boolean {
  const url = new URL(origin);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const hostname = bare(url.hostname);
  return noProxy
    .toLowerCase()
    .split(',')
    .map((entry) => partsOf(entry.trim()))
    .some(({ name, onPort = port }) => onPort === port && isOrHolds(name, hostname));
}

/** An address of IPv6 has colons of its own: a port follows its brackets only. */
function partsOf(entry: string): { readonly name: string; readonly onPort: string | undefined } {
  const [, name = entry, onPort] = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
  return { name: bare(name), onPort };
}

function isOrHolds(name: string, hostname: string): boolean {
  if (name === '*') return true;
  const parent = name.replace(/^\*?\./, '');
  return parent !== '' && (hostname === parent || hostname.endsWith(`.${parent}`));
}
