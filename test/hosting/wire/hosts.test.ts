import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressesFlaw, addressKind, checkBaseUrl, type HostRules } from '../../../src/hosting/wire/hosts.ts';

const strict: HostRules = {
  allowedHosts: [],
  allowInsecureLoopback: false,
  allowPrivateAddresses: false,
  proxy: undefined,
};
const laptop: HostRules = { ...strict, allowInsecureLoopback: true };
const inside: HostRules = { ...strict, allowPrivateAddresses: true };
const listed: HostRules = { ...strict, allowedHosts: ['api.example.com', '*.hosting.example'] };

function allows(url: string, rules: HostRules): boolean {
  return !('refused' in checkBaseUrl(url, rules));
}

// Columns: URL · nothing allowed · loopback allowed · private allowed · because.
const urls: readonly (readonly [string, boolean, boolean, boolean, string])[] = [
  ['https://api.example.com', true, true, true, 'it is what a base URL looks like'],
  ['https://api.example.com/', true, true, true, 'a slash at the end is nothing'],
  ['https://API.Example.COM', true, true, true, 'names have no case'],
  ['https://api.example.com:443', true, true, true, 'that is the usual port'],
  ['https://api.example.com:8443', true, true, true, 'the port is above 1023'],
  ['https://api.example.com:1024', true, true, true, 'the port is above 1023'],
  ['https://api.example.com:65535', true, true, true, 'the port is above 1023'],
  ['https://api.example.com/base', true, true, true, 'a path may stand before the prefix'],
  ['https://api.example.com/a/b-c_d.e~f', true, true, true, 'a path may stand before the prefix'],
  ['https://xn--bcher-kva.example', true, true, true, 'a name may be encoded'],
  ['https://8.8.8.8', true, true, true, 'a public address is a host'],
  ['https://[2606:4700:4700::1111]', true, true, true, 'a public address is a host'],
  ['https://[2606:4700:4700:0:0:0:0:1111]:8443', true, true, true, 'a public address may be written long'],
  ['https://svc.example.com', true, true, true, 'only the end of a name makes it private'],
  ['https://local.example.com', true, true, true, 'only the end of a name makes it private'],
  ['https://1e100.example', true, true, true, 'a name may begin with a digit'],

  ['http://api.example.com', false, false, false, 'http shows the token to everybody'],
  ['http://8.8.8.8', false, false, false, 'http shows the token to everybody'],
  ['http://10.0.0.1', false, false, false, 'http shows the token to everybody'],
  ['ftp://api.example.com', false, false, false, 'it is not https'],
  ['ws://api.example.com', false, false, false, 'it is not https'],
  ['file:///etc/passwd', false, false, false, 'it is not https'],
  ['javascript:alert(1)', false, false, false, 'it is not https'],
  ['data:text/plain,x', false, false, false, 'it is not https'],
  ['//api.example.com', false, false, false, 'it has no scheme'],
  ['api.example.com', false, false, false, 'it has no scheme'],
  ['https:api.example.com', false, false, false, 'it lacks its slashes'],
  ['https:/api.example.com', false, false, false, 'it lacks a slash'],
  ['https:///api.example.com', false, false, false, 'it has a slash too many'],
  ['https:\\\\api.example.com', false, false, false, 'it has the wrong slashes'],
  ['', false, false, false, 'it is empty'],
  ['https://', false, false, false, 'it has no host'],
  [' https://api.example.com', false, false, false, 'it has a space before it'],
  ['https://api.example.com ', false, false, false, 'it has a space after it'],
  ['https://api.exa mple.com', false, false, false, 'it has a space in it'],
  ['https://api.exam\tple.com', false, false, false, 'parsers drop tabs'],
  ['https://api.exam\nple.com', false, false, false, 'parsers drop newlines'],
  ['https://api.example.com\r\nx: y', false, false, false, 'it breaks lines'],
  ['https://api.example.com\u0000', false, false, false, 'it has a zero byte'],

  ['https://user@api.example.com', false, false, false, 'it names a user'],
  ['https://user:pass@api.example.com', false, false, false, 'it names a user'],
  ['https://api.example.com@evil.example', false, false, false, 'the host is after the @'],
  ['https://api.example.com:443@evil.example', false, false, false, 'the host is after the @'],
  ['https://@api.example.com', false, false, false, 'it names an empty user'],
  ['https://api.example.com?x=1', false, false, false, 'it has a query'],
  ['https://api.example.com/?', false, false, false, 'it has a query'],
  ['https://api.example.com#x', false, false, false, 'it has a fragment'],
  ['https://evil.example#@api.example.com', false, false, false, 'it has a fragment'],
  ['https://evil.example\\@api.example.com', false, false, false, 'it has a backslash'],
  ['https://api.example.com/../x', false, false, false, 'its path climbs'],
  ['https://api.example.com/a/..', false, false, false, 'its path climbs'],
  ['https://api.example.com/./x', false, false, false, 'its path has a dot'],
  ['https://api.example.com//x', false, false, false, 'its path has an empty part'],
  ['https://api.example.com/%2e%2e/x', false, false, false, 'its path is encoded'],
  ['https://api.example.com/a b', false, false, false, 'its path has a space'],

  ['https://api.example.com:0', false, false, false, 'there is no port 0'],
  ['https://api.example.com:22', false, false, false, 'that port is for something else'],
  ['https://api.example.com:25', false, false, false, 'that port is for something else'],
  ['https://api.example.com:80', false, false, false, 'that port is for something else'],
  ['https://api.example.com:1023', false, false, false, 'that port is for something else'],
  ['https://api.example.com:65536', false, false, false, 'there is no such port'],
  ['https://api.example.com:99999', false, false, false, 'there is no such port'],
  ['https://api.example.com:0443', false, false, false, 'the port is written oddly'],
  ['https://api.example.com:', false, false, false, 'the port is missing'],
  ['https://api.example.com:4 43', false, false, false, 'the port is written oddly'],
  ['https://api.example.com:-1', false, false, false, 'there is no such port'],

  ['https://api.example.com.', false, false, false, 'a dot at the end dodges lists of hosts'],
  ['https://api..example.com', false, false, false, 'a part is empty'],
  ['https://.example.com', false, false, false, 'a part is empty'],
  ['https://-api.example.com', false, false, false, 'a name does not begin so'],
  ['https://api.example.com-', false, false, false, 'a name does not end so'],
  ['https://api_x.example.com', false, false, false, 'a host name has no underscore'],
  ['https://api%2eexample.com', false, false, false, 'the name is encoded'],
  ['https://%31%32%37.0.0.1', false, false, false, 'the address is encoded'],
  ['https://api。example。com', false, false, false, 'dots of other scripts are dots to parsers'],
  ['https://１２７.0.0.1', false, false, false, 'digits of other scripts are digits to parsers'],
  ['https://bücher.example', false, false, false, 'only ASCII is taken literally'],
  ['https://ⓔxample.com', false, false, false, 'only ASCII is taken literally'],

  ['https://localhost', false, true, false, 'it is this machine'],
  ['http://localhost', false, true, false, 'it is this machine'],
  ['http://localhost:8088', false, true, false, 'it is this machine'],
  ['http://sim.localhost:8088', false, true, false, 'it is this machine'],
  ['http://127.0.0.1:8088', false, true, false, 'it is this machine'],
  ['http://127.0.0.1', false, true, false, 'it is this machine'],
  ['https://127.0.0.1', false, true, false, 'it is this machine'],
  ['http://127.255.255.254:8088', false, true, false, 'it is this machine'],
  ['http://[::1]:8088', false, true, false, 'it is this machine'],
  ['http://[0:0:0:0:0:0:0:1]:8088', false, true, false, 'it is this machine'],
  ['http://[::ffff:127.0.0.1]:8088', false, true, false, 'it is this machine inside of another address'],
  ['http://127.0.0.1:22', false, false, false, 'that port is for something else'],
  ['http://localhost.:8088', false, false, false, 'a dot at the end dodges lists of hosts'],
  ['http://2130706433', false, false, false, 'an address in decimal'],
  ['https://2130706433', false, false, false, 'an address in decimal'],
  ['http://0x7f000001', false, false, false, 'an address in hexadecimal'],
  ['http://0x7f.0.0.1', false, false, false, 'an address in hexadecimal'],
  ['http://0177.0.0.1', false, false, false, 'an address in octal'],
  ['http://017700000001', false, false, false, 'an address in octal'],
  ['http://127.1', false, false, false, 'a short address'],
  ['http://127.0.1', false, false, false, 'a short address'],
  ['https://127.0.0.01', false, false, false, 'an address with a zero too many'],
  ['https://0', false, false, false, 'a short address'],
  ['https://0.0.0.0', false, false, false, 'nowhere, which is here'],
  ['https://[::]', false, false, false, 'nowhere, which is here'],
  ['https://256.256.256.256', false, false, false, 'there is no such address'],
  ['https://1.2.3.4.5', false, false, false, 'there is no such address'],
  ['https://[::1%25eth0]', false, false, false, 'an address with a zone'],
  ['https://[fe80::1%eth0]', false, false, false, 'an address with a zone'],
  ['https://[::1', false, false, false, 'the bracket is open'],
  ['https://[12345::1]', false, false, false, 'there is no such address'],

  ['https://10.0.0.1', false, false, true, 'it is a private network'],
  ['https://172.16.0.1', false, false, true, 'it is a private network'],
  ['https://172.31.255.255', false, false, true, 'it is a private network'],
  ['https://172.32.0.1', true, true, true, 'it is just outside of a private network'],
  ['https://192.168.1.1:8443', false, false, true, 'it is a private network'],
  ['https://100.64.0.1', false, false, true, 'it is the network of a provider'],
  ['https://[fc00::1]', false, false, true, 'it is unique local'],
  ['https://[fdff::1]', false, false, true, 'it is unique local'],
  ['https://[::ffff:10.0.0.1]', false, false, true, 'it is private inside of another address'],
  ['https://[::ffff:a00:1]', false, false, true, 'it is private inside of another address'],
  ['https://[64:ff9b::10.0.0.1]', false, false, true, 'it is private behind a translator'],
  ['https://[64:ff9b::8.8.8.8]', true, true, true, 'it is public behind a translator'],
  ['https://[::ffff:8.8.8.8]', true, true, true, 'it is public inside of another address'],
  ['https://kubernetes', false, false, true, 'a name without a dot means something only here'],
  ['https://kubernetes.default.svc', false, false, true, 'it is a name of the cluster'],
  ['https://api.default.svc.cluster.local', false, false, true, 'it is a name of the cluster'],
  ['https://printer.local', false, false, true, 'it is a name of this network'],
  ['https://host.docker.internal', false, false, true, 'it is a name of this network'],
  ['https://router.lan', false, false, true, 'it is a name of this network'],
  ['https://nas.home.arpa', false, false, true, 'it is a name of this network'],

  ['https://169.254.169.254', false, false, false, 'it is instance metadata'],
  ['http://169.254.169.254', false, false, false, 'it is instance metadata'],
  ['https://169.254.170.2', false, false, false, 'it is task metadata'],
  ['https://[fd00:ec2::254]', false, false, false, 'it is instance metadata'],
  ['https://[fd20:ce::254]', false, false, false, 'it is instance metadata'],
  ['https://100.100.100.200', false, false, false, 'it is instance metadata'],
  ['https://168.63.129.16', false, false, false, 'it is the platform of a cloud'],
  ['https://metadata.google.internal', false, false, false, 'it is instance metadata'],
  ['https://metadata', false, false, false, 'it is instance metadata'],
  ['https://instance-data', false, false, false, 'it is instance metadata'],
  ['https://[::ffff:169.254.169.254]', false, false, false, 'it is metadata inside of another address'],
  ['https://[64:ff9b::a9fe:a9fe]', false, false, false, 'it is metadata behind a translator'],
  ['https://[::a9fe:a9fe]', false, false, false, 'it is metadata inside of an old form'],
  ['https://[2002:a9fe:a9fe::1]', false, false, false, 'it is a tunnel'],
  ['https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]', false, false, false, 'it is a tunnel'],
  ['https://[fe80::1]', false, false, false, 'it is link-local'],
  ['https://[fec0::1]', false, false, false, 'it is site-local'],
  ['https://[ff02::1]', false, false, false, 'it is multicast'],
  ['https://[2001:db8::1]', false, false, false, 'it is for documents'],
  ['https://224.0.0.1', false, false, false, 'it is multicast'],
  ['https://239.255.255.250', false, false, false, 'it is multicast'],
  ['https://240.0.0.1', false, false, false, 'it is reserved'],
  ['https://255.255.255.255', false, false, false, 'it is everybody'],
  ['https://192.0.2.1', false, false, false, 'it is for documents'],
  ['https://198.51.100.1', false, false, false, 'it is for documents'],
  ['https://203.0.113.1', false, false, false, 'it is for documents'],
  ['https://198.18.0.1', false, false, false, 'it is for measurements'],
  ['https://192.0.0.192', false, false, false, 'it is instance metadata of another cloud'],
];

// The unit `binary` of fast-check, and its URLs with paths, make a list of all characters first, which takes a second.
const anyCharacter = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));
const anyOrigin = fc
  .tuple(fc.constantFrom('http', 'https'), fc.webAuthority({ withIPv4: true, withIPv6: true, withPort: true }))
  .map(([scheme, authority]) => `${scheme}://${authority}`);

describe('a base URL', () => {
  it('is judged by a table of more than a hundred', () => {
    expect(urls.length).toBeGreaterThan(100);
    expect(new Set(urls.map(([url]) => url)).size).toBe(urls.length);
  });

  it.each(urls)('%j is allowed: %s, with loopback %s, with private %s, because %s', (url, none, loopback, priv) => {
    expect([allows(url, strict), allows(url, laptop), allows(url, inside)]).toEqual([none, loopback, priv]);
  });

  it.each([
    ['https://api.example.com', true],
    ['https://API.EXAMPLE.COM:8443/x', true],
    ['https://a.hosting.example', true],
    ['https://a.b.hosting.example', true],
    ['https://hosting.example', false],
    ['https://evilhosting.example', false],
    ['https://a.hosting.example.evil.example', false],
    ['https://api.example.com.evil.example', false],
    ['https://other.example.com', false],
    ['https://8.8.8.8', false],
  ])('%s is among the allowed hosts: %s', (url, allowed) => {
    expect(allows(url, listed)).toBe(allowed);
  });

  it('is never allowed to lead elsewhere than its own text says', () => {
    fc.assert(
      fc.property(anyOrigin, fc.string({ unit: anyCharacter }), (url, noise) => {
        const checked = checkBaseUrl(url + noise, strict);

        if (!('refused' in checked)) expect(new URL(url + noise).origin).toBe(checked.origin);
      }),
    );
  });

  it('says where it leads, without a slash at the end', () => {
    expect(checkBaseUrl('https://API.example.com:8443/base/', strict)).toMatchObject({
      origin: 'https://api.example.com:8443',
      host: 'api.example.com:8443',
      path: '/base',
    });
  });
});

describe('a name', () => {
  it.each([
    { name: 'api.example.com', to: ['93.184.216.34'], rules: strict, ok: true, because: 'it is public' },
    { name: 'api.example.com', to: ['127.0.0.1'], rules: laptop, ok: false, because: 'only localhost may be here' },
    { name: 'api.example.com', to: ['10.0.0.1'], rules: strict, ok: false, because: 'it is private' },
    { name: 'api.example.com', to: ['10.0.0.1'], rules: inside, ok: true, because: 'private is allowed' },
    { name: 'api.example.com', to: ['169.254.169.254'], rules: inside, ok: false, because: 'metadata never is' },
    {
      name: 'api.example.com',
      to: ['93.184.216.34', '127.0.0.1'],
      rules: strict,
      ok: false,
      because: 'one bad address is enough',
    },
    { name: 'api.example.com', to: ['::ffff:127.0.0.1'], rules: strict, ok: false, because: 'it is here in disguise' },
    { name: 'api.example.com', to: ['fe80::1%eth0'], rules: strict, ok: false, because: 'a zone hides nothing' },
    { name: 'localhost', to: ['127.0.0.1', '::1'], rules: laptop, ok: true, because: 'that is what it is for' },
    { name: 'localhost', to: ['93.184.216.34'], rules: laptop, ok: false, because: 'http would go to another machine' },
    {
      name: 'localhost',
      to: ['10.0.0.1'],
      rules: { ...laptop, ...inside, allowInsecureLoopback: true },
      ok: false,
      because: 'http would go to another machine',
    },
  ])('$name that resolves to $to is dialled: $ok, because $because', ({ name, to, rules, ok }) => {
    const flaw = addressesFlaw(
      name,
      to.map((address) => ({ address })),
      rules,
    );

    expect(flaw === undefined).toBe(ok);
  });

  it.each([
    ['api.localhost', '93.184.216.34', 'the host name stands for this machine itself, but resolves to another machine'],
    ['localhost', '10.0.0.1', 'the host name stands for this machine itself, but resolves to another machine'],
    ['api.example.com', '127.0.0.1', 'the host resolves to this machine itself'],
  ])('%s that resolves to %s is refused with true words', (name, address, words) => {
    const rules = { ...laptop, ...inside, allowInsecureLoopback: true };

    expect(addressesFlaw(name, [{ address }], rules)).toBe(`${words}, which is not allowed`);
  });
});

describe('an address', () => {
  it('is of the same kind when it is wrapped in IPv6', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(addressKind(`::ffff:${address}`)).toBe(addressKind(address));
        expect(addressKind(`64:ff9b::${address}`)).toBe(addressKind(address));
      }),
    );
  });

  it('is forbidden when it is none', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!/^[0-9a-f:.%]+$/i.test(text));

        expect(addressKind(text)).toBe('forbidden');
      }),
    );
  });
});
