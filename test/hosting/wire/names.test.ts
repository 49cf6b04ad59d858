import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/cli/in-memory/virtual-clock.ts';
import { lookupWith, openNames, type Resolve } from '../../../src/hosting/wire/names.ts';
import { openUndiciWire } from '../../../src/hosting/wire/wire.ts';
import { realClock } from '../../support/real-time.ts';
import { loopbackRules } from '../support/around.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const addresses = [
  { address: '192.0.2.1', family: 4 },
  { address: '2001:db8::1', family: 6 },
] as const;

/** A look-up that fails as the system's does. */
function failing(code: string): Resolve {
  return () => Promise.reject(Object.assign(new Error(`getaddrinfo ${code} nowhere.example.com`), { code }));
}

describe('a name', () => {
  it('is looked up once for all who ask for it at the same time, and again afterwards', async () => {
    const asked: string[] = [];
    const resolve = openNames(realClock, async (name) => {
      asked.push(name);
      await Promise.resolve();
      return addresses;
    });

    const found = await Promise.all([resolve('a.example.com'), resolve('a.example.com'), resolve('b.example.com')]);
    await resolve('a.example.com');

    expect(found).toEqual([addresses, addresses, addresses]);
    expect(asked).toEqual(['a.example.com', 'b.example.com', 'a.example.com']);
  });

  it('is looked up again after a failure', async () => {
    let times = 0;
    const resolve = openNames(realClock, (name) =>
      ++times === 1 ? failing('EAI_AGAIN')(name) : Promise.resolve(addresses),
    );

    await expect(resolve('a.example.com')).rejects.toMatchObject({ code: 'EAI_AGAIN' });
    expect(await resolve('a.example.com')).toEqual(addresses);
  });

  it('whose servers stay silent is given up before a connection would be', async () => {
    const clock = new VirtualClock();
    const resolve = openNames(clock, () => new Promise(() => undefined));

    const found = resolve('silent.example.com');
    await Promise.all([clock.advance(6_000), expect(found).rejects.toMatchObject({ code: 'EAI_AGAIN' })]);
  });

  it('of this machine has its addresses', async () => {
    expect(await openNames(realClock)('localhost')).toContainEqual(
      expect.objectContaining({ address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/) }),
    );
  });
});

it.runIf(process.platform === 'linux')('the operator has threads for names that nobody answers', async () => {
  const script = `
    import { readFileSync } from 'node:fs';
    await import('./src/cli/run.ts');
    (await import('./src/config.ts')).addThreads();
    await (await import('./src/hosting/wire/names.ts')).openNames((await import('./src/cli/machine.ts')).realClock)('localhost');
    console.log(/Threads:\\s*(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);`;

  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);

  expect(Number(stdout)).toBeGreaterThan(64);
});

describe('a connection', () => {
  it.each([
    { code: 'ENOTFOUND', message: 'the host name is not known' },
    { code: 'EAI_AGAIN', message: 'the host name could not be looked up' },
    { code: 'EAI_FAIL', message: 'the connection failed (EAI_FAIL)' },
  ])('to a name whose look-up ends with $code fails with a sentence', async ({ code, message }) => {
    const wire = openUndiciWire(loopbackRules, failing(code));
    closers.push(() => wire.close());

    const outcome = await wire.wire({
      method: 'GET',
      origin: 'https://nowhere.example.com:8443',
      path: '/x',
      headers: {},
      body: undefined,
      writes: false,
      caBundle: undefined,
      start: () => undefined,
      signal: AbortSignal.timeout(60_000),
    });

    expect(outcome).toEqual({ failed: 'connection', message });
  });

  it('uses the addresses that were checked, one or all, and none that was refused', async () => {
    const looked = (all: boolean, flaw?: Error): Promise<unknown> =>
      new Promise((done) => {
        const look = lookupWith(
          () => Promise.resolve(addresses),
          () => flaw,
        );
        look('api.example.com', { all }, (error, address) => done(error ?? address));
      });
    const flaw = new Error('not allowed');

    expect(await looked(true)).toEqual(addresses);
    expect(await looked(false)).toBe('192.0.2.1');
    expect(await looked(true, flaw)).toBe(flaw);
  });
});
