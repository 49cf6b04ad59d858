/**
 * Decides to which hosts a token may be sent.
 *
 * A base URL with a user, a query, or an unusual spelling of its host is refused. Whenever a connection is made without
 * the proxy, the addresses of the host are checked, and the connection uses exactly the checked addresses.
 */
import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';

/** The rules that say to which hosts the operator may connect. They come from the operator's own settings. */
export interface HostRules {
  /**
   * Allowed names (`api.example.com`), suffixes (`*.example.com`) and IP addresses. An empty list forbids no host: then
   * only the other rules decide, which always forbid metadata servers of clouds.
   */
  readonly allowedHosts: readonly string[];
  /** Allows loopback addresses, with http or https, for a simulator on the same machine. */
  readonly allowInsecureLoopback: boolean;
  /** Allows private addresses, and host names that exist in private networks only. */
  readonly allowPrivateAddresses: boolean;
  /**
   * The operator's HTTPS proxy. It is used for all hosts except this machine and the hosts in `noProxy`. The proxy, not
   * the operator, resolves the host names.
   */
  readonly proxy: string | undefined;
  /** The hosts that are reached without the proxy, as `NO_PROXY` lists them. */
  readonly noProxy?: string | undefined;
}

/** A base URL that the host rules allow, split into its parts. */
export interface BaseUrl {
  readonly origin: string;
  /** The host, with the port unless the port is the scheme's default. */
  readonly host: string;
  /** The path of the base URL, without a slash at its end. */
  readonly path: string;
}

/** Thrown when a connection is refused because the host rules forbid its address. */
export class HostNotAllowed extends Error {
  override readonly name = 'HostNotAllowed';
}

/** Parses a base URL, or returns the reason why the host rules refuse the base URL. */
export function checkBaseUrl(baseUrl: string, rules: HostRules): BaseUrl | { readonly refused: string } {
  const parsed = baseUrlIn(baseUrl);
  if ('refused' in parsed) return parsed;
  const flaw = schemeFlaw(parsed, rules) ?? nameFlaw(parsed.hostname, rules) ?? listFlaw(parsed.hostname, rules);
  return flaw === undefined ? parsed : { refused: flaw };
}

const shape =
  /^(https?):\/\/(\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::([1-9]\d{0,4}))?((?:\/[a-z0-9._~-]+)*)\/?$/i;

function baseUrlIn(text: string): (BaseUrl & { readonly hostname: string }) | { readonly refused: string } {
  const match = shape.exec(text);
  const [, scheme = '', hostname = '', , path = ''] = match ?? [];
  if (match === null || !URL.canParse(text)) {
    return { refused: 'the base URL must be https://host[:port][/path]' };
  }
  const url = new URL(text);
  if (!hostname.startsWith('[') && url.hostname !== hostname.toLowerCase())
    return { refused: 'the base URL has a host that is not valid' };
  if (/(^|\/)\.{1,2}(\/|$)/.test(path) || hostname.includes('..'))
    return {
      refused: 'the base URL must not contain . or .. as a segment of its path, or two dots in a row in its host',
    };
  return { origin: `${scheme.toLowerCase()}://${url.host}`, host: url.host, path, hostname: url.hostname };
}

function schemeFlaw(url: BaseUrl & { readonly hostname: string }, rules: HostRules): string | undefined {
  const loopback = isLoopbackName(url.hostname);
  if (loopback && !rules.allowInsecureLoopback) return 'the base URL names this machine itself, which is not allowed';
  if (url.origin.startsWith('http://') && !loopback) return 'the base URL must begin with https://';
  const port = Number(/:(\d+)$/.exec(url.host)?.[1] ?? 443);
  const common = port === 443 || (port > 1023 && port < 65_536) || (loopback && port === 80);
  return common ? undefined : `the base URL has port ${port}; only 443 and ports above 1023 are allowed`;
}

/** True when a host name or an address means this machine itself. */
export function isLoopbackName(hostname: string): boolean {
  const name = bare(hostname);
  return isIP(name) === 0 ? name === 'localhost' || name.endsWith('.localhost') : addressKind(name) === 'loopback';
}

const privateNames = /^[^.]+$|\.(internal|local|localdomain|lan|home|corp|intranet|svc|cluster)$|\.home\.arpa$/;

function nameFlaw(hostname: string, rules: HostRules): string | undefined {
  const name = bare(hostname);
  if (isLoopbackName(hostname)) return undefined;
  if (isIP(name) !== 0) return addressFlaw(name, false, rules);
  if (/^metadata(\.|$)|^instance-data(\.|$)/.test(name))
    return "the base URL has the name of a cloud's metadata server, which is not allowed";
  const known = rules.allowPrivateAddresses || !privateNames.test(name);
  return known ? undefined : 'the base URL names a host of a private network, which is not allowed';
}

function listFlaw(hostname: string, rules: HostRules): string | undefined {
  if (rules.allowedHosts.length === 0) return undefined;
  const fits = rules.allowedHosts.some((entry) => {
    const allowed = entry.trim().toLowerCase();
    return allowed.startsWith('*.')
      ? hostname.endsWith(allowed.slice(1))
      : hostname === allowed || bare(hostname) === allowed;
  });
  return fits ? undefined : `the host ${hostname} is not among the allowed hosts`;
}

function addressFlaw(address: string, loopbackName: boolean, rules: HostRules): string | undefined {
  const kind = addressKind(address);
  if (loopbackName && (kind === 'public' || kind === 'private'))
    return 'the host name stands for this machine itself, but resolves to another machine, which is not allowed';
  switch (kind) {
    case 'public':
      return undefined;
    case 'loopback':
      return loopbackName && rules.allowInsecureLoopback
        ? undefined
        : 'the host resolves to this machine itself, which is not allowed';
    case 'private':
      return rules.allowPrivateAddresses ? undefined : 'the host resolves to a private address, which is not allowed';
    case 'forbidden':
      return 'the host resolves to an address that is never allowed';
  }
}

/**
 * Returns the reason why the operator must not connect to a host with these addresses; undefined when all of the addresses are
 * allowed.
 */
export function addressesFlaw(
  hostname: string,
  addresses: readonly { readonly address: string }[],
  rules: HostRules,
): string | undefined {
  const loopback = isLoopbackName(hostname);
  return addresses.map(({ address }) => addressFlaw(address, loopback, rules)).find((flaw) => flaw !== undefined);
}

/** The kind of network that an address belongs to, such as public or private. */
type AddressKind = 'public' | 'private' | 'loopback' | 'forbidden';

/**
 * Maps each address range that ipaddr.js names to a kind of network. All ranges that are not listed here (reserved, link-local,
 * multicast, tunnels) are forbidden, since no hosting service has an address in them.
 */
const kinds: Readonly<Record<string, AddressKind>> = {
  unicast: 'public',
  loopback: 'loopback',
  private: 'private',
  carrierGradeNat: 'private',
  uniqueLocal: 'private',
};

/**
 * Forbidden addresses inside allowed ranges: the metadata servers of clouds (Alibaba, Azure, AWS, Google), and the deprecated
 * IPv6 form of IPv4 addresses.
 */
const never = ['100.100.100.200/32', '168.63.129.16/32', 'fd00:ec2::254/128', 'fd20:ce::254/128', '::/96'].map(
  ipaddr.parseCIDR,
);

/** IPv6 ranges whose last four bytes are an IPv4 address: mapped addresses (RFC 4291) and NAT64 addresses (RFC 6052). */
const wrapping = ['::ffff:0:0/96', '64:ff9b::/96'].map(ipaddr.parseCIDR);

/** Returns the kind of network that an address belongs to. */
export function addressKind(address: string): AddressKind {
  const bare = address.replace(/%.*$/, '');
  if (isIP(bare) === 0) return 'forbidden';
  const written = ipaddr.parse(bare);
  const meant = wrapping.some((range) => isWithin(written, range))
    ? ipaddr.fromByteArray(written.toByteArray().slice(-4))
    : written;
  const kind = kinds[meant.range()] ?? 'forbidden';
  return kind !== 'loopback' && never.some((range) => isWithin(meant, range)) ? 'forbidden' : kind;
}

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, range: [ipaddr.IPv4 | ipaddr.IPv6, number]): boolean {
  return address.kind() === range[0].kind() && address.match(range);
}

/** Removes the brackets around an IPv6 address, so that addresses can be compared. */
function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}
