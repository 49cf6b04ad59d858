/**
 * Resolves host names without Node's thread pool.
 *
 * `dns.lookup` runs on four threads that the whole process shares, so two names whose servers stay silent would stop every other
 * connection. Names are asked of the name servers directly instead (`node:dns` `Resolver`), in the order that a pod expects: the
 * loopback names, `/etc/hosts`, the name as it is, and the search domains of `/etc/resolv.conf` once the name as it is does not
 * exist. Each resolution has a deadline, everybody who asks for the same name meanwhile shares it, and its answer is kept as
 * long as the records say. Other sources of `/etc/nsswitch.conf` (mDNS, LDAP) are not asked.
 */
import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP, type LookupFunction } from 'node:net';
import type { Clock } from '../../base/clock.ts';

/** One address of a name. */
export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** A name has no address: it does not exist, or its name servers did not say. */
class NameNotResolved extends Error {
  readonly code: 'ENOTFOUND' | 'EAI_AGAIN';

  constructor(code: 'ENOTFOUND' | 'EAI_AGAIN') {
    super(code === 'ENOTFOUND' ? 'the host name is not known' : 'the host name could not be looked up');
    this.name = 'NameNotResolved';
    this.code = code;
  }
}

/** Finds the addresses of a name, one at least; rejects with `NameNotResolved`. */
export type Resolve = (name: string) => Promise<readonly HostAddress[]>;

/** The name servers and files that names are resolved with: the system's own unless a test gives others. */
export interface NameSettings {
  readonly clock: Clock;
  /** Name servers as `address:port`, in place of those of `/etc/resolv.conf`. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  readonly resolvConf?: string;
}

/** The longest that one name may take, with its search domains. */
const deadlineMs = 6_000;
/** The first try of each server; the next ones take twice as long. */
const tryMs = 1_500;
/** Once one family has answered, the other one may take so much longer: some name servers never answer for IPv6. */
const otherFamilyMs = 1_000;

interface Found {
  readonly addresses: readonly HostAddress[];
  readonly livesMs: number;
}

/** Resolves names by the system's settings. */
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

/** Dials only what the check lets through: the addresses that it saw are the ones that are dialled. */
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
  const cancel = settings.clock.after(deadlineMs, () => resolver.cancel());
  try {
    for (const candidate of [name, ...searchDomains(settings.resolvConf).map((domain) => `${name}.${domain}`)]) {
      const found = await ask(resolver, candidate, settings.clock);
      if (found !== undefined) return found;
    }
  } finally {
    cancel();
  }
  throw new NameNotResolved('ENOTFOUND');
}

/** Addresses that no name server is asked for. */
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

/** The domains below which a name is looked for once it does not exist as it is; the last line counts. */
function searchDomains(resolvConf = '/etc/resolv.conf'): readonly string[] {
  const [, ...domains] = linesOf(resolvConf).findLast(([word]) => word === 'search' || word === 'domain') ?? [];
  return domains.map((domain) => domain.replace(/\.$/, '')).filter((domain) => domain !== '');
}

/** The words of each line of a file, without comments; none where the file cannot be read. */
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

/** Both families of one name; undefined where it has no address at all. */
async function ask(resolver: Resolver, name: string, clock: Clock): Promise<Found | undefined> {
  let cancel = (): void => undefined;
  const hurry = (found: Found | undefined): Found | undefined => {
    if (found !== undefined) cancel = clock.after(otherFamilyMs, () => resolver.cancel());
    return found;
  };
  const families = await Promise.allSettled([
    resolver
      .resolve4(name, { ttl: true })
      .then((records) => foundIn(records, 4), absence)
      .then(hurry),
    resolver
      .resolve6(name, { ttl: true })
      .then((records) => foundIn(records, 6), absence)
      .then(hurry),
  ]);
  cancel();
  const found = families.flatMap((family) => (family.status === 'fulfilled' ? (family.value ?? []) : []));
  if (found.length > 0) {
    return {
      addresses: found.flatMap(({ addresses }) => addresses),
      livesMs: Math.min(...found.map(({ livesMs }) => livesMs)),
    };
  }
  if (families.every((family) => family.status === 'fulfilled')) return undefined;
  throw new NameNotResolved('EAI_AGAIN');
}

function foundIn(
  records: readonly { readonly address: string; readonly ttl: number }[],
  family: 4 | 6,
): Found | undefined {
  if (records.length === 0) return undefined;
  return {
    addresses: records.map(({ address }) => ({ address, family })),
    livesMs: 1_000 * Math.min(...records.map(({ ttl }) => ttl)),
  };
}

/** The name server says that there is nothing; whatever else it says, or does not say, is no answer. */
function absence(error: unknown): undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'ENOTFOUND' && code !== 'ENODATA') throw new NameNotResolved('EAI_AGAIN');
}
