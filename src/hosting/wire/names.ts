/**
 * Resolves host names without Node's thread pool.
 *
 * `dns.lookup` uses four threads that the whole process shares, so two names whose servers do not answer would block every other
 * connection. This module asks the name servers directly instead (`Resolver` of `node:dns`), in the usual order of resolv.conf(5):
 * loopback names, `/etc/hosts`, then the name itself and the name in each search domain. The name itself comes first if it has at
 * least `ndots` dots.
 *
 * Each resolution has a deadline. Simultaneous questions for the same name share one resolution. Each answer is kept for the TTL of
 * its records. Other sources of `/etc/nsswitch.conf` (mDNS, LDAP) are not asked.
 */
import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP, type LookupFunction } from 'node:net';
import type { Clock } from '../../base/time.ts';

/** An IP address of a host name. */
interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Thrown when a host name has no address: it does not exist, or its name servers gave no answer. */
class NameNotResolved extends Error {
  readonly code: 'ENOTFOUND' | 'EAI_AGAIN';

  constructor(code: 'ENOTFOUND' | 'EAI_AGAIN') {
    super(code === 'ENOTFOUND' ? 'the host name is not known' : 'the host name could not be looked up');
    this.name = 'NameNotResolved';
    this.code = code;
  }
}

/** Finds at least one address of a name, or rejects with `NameNotResolved`. */
export type Resolve = (name: string) => Promise<readonly HostAddress[]>;

/** The name servers and files to use. The defaults are those of the system; tests pass others. */
interface NameSettings {
  readonly clock: Clock;
  /** Name servers as `address:port`, in place of those of `/etc/resolv.conf`. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  readonly resolvConf?: string;
}

/** How long resolving one name may take, with all its search domains. */
const deadlineMs = 6_000;
/** How long the first try of each name server may take. Each further try takes twice as long. */
const tryMs = 1_500;
/** How long to wait for IPv6 addresses after IPv4 addresses arrived, or the reverse. Some name servers never answer for IPv6. */
const otherFamilyMs = 1_000;

interface Found {
  readonly addresses: readonly HostAddress[];
  readonly livesMs: number;
}

/** Creates a function that resolves host names and keeps each answer for its TTL. */
export function openNames(settings: NameSettings): Resolve {
  const { clock } = settings;
  const kept = new Map<string, Found & { readonly until: number }>();
  const underWay = new Map<string, Promise<readonly HostAddress[]>>();
  const resolved = async (name: string): Promise<readonly HostAddress[]> => {
    try {
      const found = await find(name, settings);
      const now = clock.monotonic();
      for (const [other, { until }] of kept) if (until <= now) kept.delete(other);
      if (found.livesMs > 0) kept.set(name, { ...found, until: now + found.livesMs });
      return found.addresses;
    } finally {
      underWay.delete(name);
    }
  };
  return (name) => {
    const known = kept.get(name);
    if (known !== undefined && clock.monotonic() < known.until) return Promise.resolve(known.addresses);
    const asked = underWay.get(name) ?? resolved(name);
    underWay.set(name, asked);
    return asked;
  };
}

/** Builds a `lookup` function for sockets. A connection uses exactly the addresses that were checked, or fails. */
export function lookupWith(
  resolve: Resolve,
  check: (name: string, addresses: readonly HostAddress[]) => Error | undefined,
): LookupFunction {
  return (name, options, callback) => {
    const failed = (error: unknown): void => {
      const failure = error instanceof NameNotResolved ? error : new NameNotResolved('EAI_AGAIN');
      callback(failure, options.all === true ? [] : '', 0);
    };
    const found = (addresses: readonly HostAddress[]): void => {
      const [first] = addresses;
      const flaw = check(name, addresses);
      if (first === undefined || flaw !== undefined) {
        callback(flaw ?? new NameNotResolved('ENOTFOUND'), options.all === true ? [] : '', 0);
      } else if (options.all === true) {
        callback(null, [...addresses]);
      } else {
        callback(null, first.address, first.family);
      }
    };
    resolve(name).then(found, failed);
  };
}

async function find(name: string, settings: NameSettings): Promise<Found> {
  const fixed = fixedAddresses(name, settings.hostsFile ?? '/etc/hosts');
  if (fixed.length > 0) return { addresses: fixed, livesMs: 0 };
  const resolver = new Resolver({ timeout: tryMs, tries: 3 });
  if (settings.servers !== undefined) resolver.setServers(settings.servers);
  const { clock } = settings;
  const endsAt = clock.monotonic() + deadlineMs;
  const candidates = candidatesOf(name, settings.resolvConf);
  let isUnsure = false;
  for (const [index, candidate] of candidates.entries()) {
    // A name server that fails for one candidate name may know the next one. So each candidate gets an equal share of the time left.
    const shareMs = (endsAt - clock.monotonic()) / (candidates.length - index);
    const cancel = clock.after(shareMs, () => resolver.cancel());
    const answer = await ask(resolver, candidate, clock).finally(cancel);
    if (typeof answer === 'object') return answer;
    isUnsure ||= answer === 'failed';
  }
  throw new NameNotResolved(isUnsure ? 'EAI_AGAIN' : 'ENOTFOUND');
}

/** Returns the addresses of loopback names and of names in the hosts file, which need no name server. */
function fixedAddresses(name: string, hostsFile: string): readonly HostAddress[] {
  const lowerCase = name.toLowerCase();
  if (lowerCase === 'localhost' || lowerCase.endsWith('.localhost')) {
    return [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ];
  }
  return linesOf(hostsFile)
    .filter(([, ...names]) => names.some((other) => other.toLowerCase() === lowerCase))
    .map(([address = '']) => ({ address, family: isIP(address) }))
    .filter((entry): entry is HostAddress => entry.family !== 0)
    .toSorted((a, b) => a.family - b.family);
}

/** Lists the full names to ask for, in the order of resolv.conf(5). If resolv.conf has a setting twice, the last one counts. */
function candidatesOf(name: string, resolvConf = '/etc/resolv.conf'): readonly string[] {
  const lines = linesOf(resolvConf);
  const [, ...domains] = lines.findLast(([word]) => word === 'search' || word === 'domain') ?? [];
  const below = domains.map((domain) => domain.replace(/\.$/, '')).filter((domain) => domain !== '');
  const options = lines.filter(([word]) => word === 'options').flat();
  const ndots = Number(options.findLast((option) => /^ndots:\d+$/.test(option))?.slice('ndots:'.length) ?? 1);
  const searched = below.map((domain) => `${name}.${domain}`);
  return name.split('.').length > ndots ? [name, ...searched] : [...searched, name];
}

/** Reads the words of each line of a file, without comments; returns no lines if the file cannot be read. */
function linesOf(file: string): readonly (readonly string[])[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    return lines.map((line) =>
      line
        .replace(/[#;].*$/, '')
        .trim()
        .split(/\s+/),
    );
  } catch {
    return [];
  }
}

/** Why a host name has no address: none exists, or its name servers failed, refused or did not answer. */
type NoAddress = 'absent' | 'failed';

/** Asks for the IPv4 and the IPv6 addresses of a name. */
async function ask(resolver: Resolver, name: string, clock: Clock): Promise<Found | NoAddress> {
  let cancel = (): void => undefined;
  const hurry = (answer: Found | NoAddress): Found | NoAddress => {
    if (typeof answer === 'object') cancel = clock.after(otherFamilyMs, () => resolver.cancel());
    return answer;
  };
  const ofIpv4 = resolver.resolve4(name, { ttl: true }).then((records) => foundIn(records, 4), noAddress);
  const ofIpv6 = resolver.resolve6(name, { ttl: true }).then((records) => foundIn(records, 6), noAddress);
  const families = await Promise.all([ofIpv4.then(hurry), ofIpv6.then(hurry)]);
  cancel();
  const found = families.filter((answer) => typeof answer === 'object');
  if (found.length === 0) return families.includes('failed') ? 'failed' : 'absent';
  return {
    addresses: found.flatMap(({ addresses }) => addresses),
    livesMs: Math.min(...found.map(({ livesMs }) => livesMs)),
  };
}

function foundIn(
  records: readonly { readonly address: string; readonly ttl: number }[],
  family: 4 | 6,
): Found | NoAddress {
  if (records.length === 0) return 'absent';
  return {
    addresses: records.map(({ address }) => ({ address, family })),
    livesMs: 1_000 * Math.min(...records.map(({ ttl }) => ttl)),
  };
}

function noAddress(error: unknown): NoAddress {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOTFOUND' || code === 'ENODATA' ? 'absent' : 'failed';
}
