import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';

/** The kind of network that an address belongs to. */
export type AddressKind = 'public' | 'private' | 'loopback' | 'forbidden';

/** By the names of ipaddr.js. Nothing that hosts customers lives in the other ranges: reserved, link-local, multicast, tunnels. */
const kinds: Readonly<Record<string, AddressKind>> = {
  unicast: 'public',
  loopback: 'loopback',
  private: 'private',
  carrierGradeNat: 'private',
  uniqueLocal: 'private',
};

/** Forbidden inside of ranges that are not: metadata of clouds (Alibaba, Azure, AWS, Google), and the old form of IPv4 in IPv6. */
const never = ['100.100.100.200/32', '168.63.129.16/32', 'fd00:ec2::254/128', 'fd20:ce::254/128', '::/96'].map(
  ipaddr.parseCIDR,
);

/** Addresses that stand for one of IPv4 in their last four bytes: mapped ones (RFC 4291), and those of a translator (RFC 6052). */
const wrapping = ['::ffff:0:0/96', '64:ff9b::/96'].map(ipaddr.parseCIDR);

/** Classifies an address. */
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

/** A host name as it is compared: an address of IPv6 without its brackets. */
export function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}
