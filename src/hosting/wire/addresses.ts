import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** What kind of place an address is. */
export type AddressKind = 'public' | 'private' | 'loopback' | 'forbidden';

function blocks(v4: readonly string[], v6: readonly string[]): BlockList {
  const list = new BlockList();
  const add = (family: 'ipv4' | 'ipv6') => (subnet: string) => {
    const [network = '', bits] = subnet.split('/');
    list.addSubnet(network, Number(bits), family);
  };
  v4.forEach(add('ipv4'));
  v6.forEach(add('ipv6'));
  return list;
}

const loopback = blocks(['127.0.0.0/8'], ['::1/128']);

/** RFC 1918, carrier-grade NAT, unique local. */
const privates = blocks(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'], ['fc00::/7']);

/** Nothing that hosts customers lives here: unspecified, link-local, multicast, reserved, documentation, tunnels, metadata. */
const forbidden = blocks(
  [
    '0.0.0.0/8',
    '169.254.0.0/16',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
    // Metadata of clouds that put it outside of link-local: Alibaba, Azure.
    '100.100.100.200/32',
    '168.63.129.16/32',
  ],
  [
    '::/128',
    '100::/64',
    '64:ff9b:1::/48',
    '2001::/23',
    '2001:db8::/32',
    '2002::/16',
    '3fff::/20',
    '5f00::/16',
    'fe80::/10',
    'fec0::/10',
    'ff00::/8',
    // Metadata inside of the unique-local range: AWS, Google.
    'fd00:ec2::254/128',
    'fd20:ce::254/128',
  ],
);

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): readonly number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const [, head = '', a, b, c, d] = dotted ?? [];
  const hex = (high: string | undefined, low: string | undefined): string =>
    (Number(high) * 256 + Number(low)).toString(16);
  const text = dotted === null ? address : `${head}${hex(a, b)}:${hex(c, d)}`;
  const [left = '', right] = text.split('::');
  const parts = (half: string): readonly number[] =>
    half === '' ? [] : half.split(':').map((group) => parseInt(group, 16));
  if (right === undefined) return parts(left);
  const gap = 8 - parts(left).length - parts(right).length;
  return [...parts(left), ...Array.from({ length: gap }, () => 0), ...parts(right)];
}

/** The IPv4 address inside of a mapped, compatible or NAT64 one. */
function embedded(address: string): string | undefined {
  const groups = groupsOf(address);
  const [high = 0, low = 0] = groups.slice(6);
  const head = groups.slice(0, 6).join(':');
  const wraps = ['0:0:0:0:0:65535', '0:0:0:0:0:0', `${0x64}:${0xff9b}:0:0:0:0`].includes(head);
  const plain = head === '0:0:0:0:0:0' && high === 0 && low <= 1;
  return wraps && !plain ? [high >> 8, high & 255, low >> 8, low & 255].join('.') : undefined;
}

/** Where an address leads. */
export function addressKind(address: string): AddressKind {
  const bare = address.replace(/%.*$/, '');
  const inner = isIPv6(bare) ? embedded(bare) : undefined;
  if (inner !== undefined) return addressKind(inner);
  const family = isIPv4(bare) ? 'ipv4' : isIPv6(bare) ? 'ipv6' : undefined;
  if (family === undefined || forbidden.check(bare, family)) return 'forbidden';
  if (loopback.check(bare, family)) return 'loopback';
  return privates.check(bare, family) ? 'private' : 'public';
}

/** A host name as it is compared: an address of IPv6 without its brackets. */
export function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}
