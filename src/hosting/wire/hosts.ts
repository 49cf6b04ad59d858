/**
 * Which hosts a token may be sent to.
 *
 * The base URL is taken literally or not at all: no user, no query, no odd spelling of an address or a name. What the name
 * resolves to is checked when a connection is made, and the address that was checked is the one that is dialled.
 */
import { isIP } from 'node:net';
import { addressKind, bare } from './addresses.ts';
import { goesDirectly } from './no-proxy.ts';

/** The hosts that the operator's own settings allow. */
export interface HostRules {
  /** Names (`api.example.com`) and suffixes (`*.example.com`); empty allows every public host. */
  readonly allowedHosts: readonly string[];
  /** Loopback, over http too: for the simulator on a laptop. */
  readonly allowInsecureLoopback: boolean;
  /** Private networks and names that only they know. */
  readonly allowPrivateAddresses: boolean;
  /** The operator's HTTPS proxy; it then resolves the names. */
  readonly proxy: string | undefined;
  /** The hosts that are reached without the proxy, as `NO_PROXY` lists them. */
  readonly noProxy?: string | undefined;
}

/** A base URL that may be used. */
export interface BaseUrl {
  readonly origin: string;
  /** Host, and port where it is not the scheme's own. */
  readonly host: string;
  /** Without a slash at its end. */
  readonly path: string;
}

/** A connection would have led to where it must not. */
export class HostNotAllowed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'HostNotAllowed';
  }
}

/** The host rules at work. */
export interface Hosts {
  readonly check: (baseUrl: string) => BaseUrl | { readonly refused: string };
  /** Says why a name must not be dialled at these addresses; undefined where each is allowed. */
  readonly addressesFlaw: (hostname: string, addresses: readonly { readonly address: string }[]) => string | undefined;
  readonly proxyFor: (origin: string) => string | undefined;
}

/** Puts host rules to work. */
export function openHosts(rules: HostRules): Hosts {
  return {
    check: (baseUrl) => {
      const parsed = baseUrlIn(baseUrl);
      if ('refused' in parsed) return parsed;
      const flaw = schemeFlaw(parsed, rules) ?? nameFlaw(parsed.hostname, rules) ?? listFlaw(parsed.hostname, rules);
      return flaw === undefined ? parsed : { refused: flaw };
    },
    addressesFlaw: (hostname, addresses) => addressesFlaw(hostname, addresses, rules),
    proxyFor: (origin) => {
      const direct = isLoopbackName(new URL(origin).hostname) || goesDirectly(rules.noProxy ?? '', origin);
      return direct ? undefined : rules.proxy;
    },
  };
}

const shape =
  /^(https?):\/\/(\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::([1-9]\d{0,4}))?((?:\/[a-z0-9._~-]+)*)\/?$/i;

function baseUrlIn(text: string): (BaseUrl & { readonly hostname: string }) | { readonly refused: string } {
  const match = shape.exec(text);
  const [, scheme = '', hostname = '', , path = ''] = match ?? [];
  if (match === null || !URL.canParse(text)) {
    return { refused: 'the base URL must be https://host, with a port and a path at most' };
  }
  const url = new URL(text);
  if (!hostname.startsWith('[') && url.hostname !== hostname.toLowerCase()) {
    return { refused: 'the base URL names its host in an unusual spelling' };
  }
  if (/(^|\/)\.{1,2}(\/|$)/.test(path) || hostname.includes('..')) {
    return { refused: 'the base URL must not contain empty or dotted parts' };
  }
  return { origin: `${scheme.toLowerCase()}://${url.host}`, host: url.host, path, hostname: url.hostname };
}

function schemeFlaw(url: BaseUrl & { readonly hostname: string }, rules: HostRules): string | undefined {
  const loopback = isLoopbackName(url.hostname);
  if (loopback && !rules.allowInsecureLoopback)
    return 'the base URL leads to this machine itself, which is not allowed';
  if (url.origin.startsWith('http://') && !loopback) return 'the base URL must be https';
  const port = Number(/:(\d+)$/.exec(url.host)?.[1] ?? 443);
  const common = port === 443 || (port > 1023 && port < 65_536) || (loopback && port === 80);
  return common ? undefined : `the base URL has port ${port}; 443 and ports above 1023 are allowed`;
}

function isLoopbackName(hostname: string): boolean {
  const name = bare(hostname);
  return isIP(name) === 0 ? name === 'localhost' || name.endsWith('.localhost') : addressKind(name) === 'loopback';
}

const privateNames = /^[^.]+$|\.(internal|local|localdomain|lan|home|corp|intranet|svc|cluster)$|\.home\.arpa$/;

function nameFlaw(hostname: string, rules: HostRules): string | undefined {
  const name = bare(hostname);
  if (isLoopbackName(hostname)) return undefined;
  if (isIP(name) !== 0) return addressFlaw(name, false, rules);
  if (/^metadata(\.|$)|^instance-data(\.|$)/.test(name))
    return 'the base URL leads to instance metadata, which is not allowed';
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
  switch (addressKind(address)) {
    case 'public':
      return loopbackName ? 'localhost leads to another machine' : undefined;
    case 'loopback':
      return loopbackName && rules.allowInsecureLoopback
        ? undefined
        : 'the host leads to this machine itself, which is not allowed';
    case 'private':
      return rules.allowPrivateAddresses && !loopbackName
        ? undefined
        : 'the host leads to a private address, which is not allowed';
    case 'forbidden':
      return 'the host leads to an address that is never allowed';
  }
}

function addressesFlaw(
  hostname: string,
  addresses: readonly { readonly address: string }[],
  rules: HostRules,
): string | undefined {
  const loopback = isLoopbackName(hostname);
  return addresses.map(({ address }) => addressFlaw(address, loopback, rules)).find((flaw) => flaw !== undefined);
}
