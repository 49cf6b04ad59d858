import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/time.ts';
import { lookupWith, openNames, type Resolve } from '../../../src/hosting/wire/names.ts';
import { openUndiciWire, type WireFailure, type WireResponse } from '../../../src/hosting/wire/wire.ts';
import { realClock } from '../../support/real-time.ts';
import { temporaryDir } from '../../support/temporary.ts';
import { loopbackRules } from '../support/around.ts';
import { nameServer, type NameAnswer, type NameServer } from '../support/name-server.ts';

const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** How long one family is waited for once the other one is there; whoever waits longer waits for both. */
const otherFamilyMs = 1_000;

/** Time in which a wait is over as soon as nobody will answer it: the server has told what it leaves without an answer. */
class Silence implements Clock {
  aheadMs = 0;
  readonly #unanswered = new Set<string>();
  readonly #waits = new Set<{ readonly delayMs: number; readonly wake: () => void }>();

  wall(): number {
    return realClock.wall();
  }
  monotonic(): number {
    return realClock.monotonic() + this.aheadMs;
  }
  after(delayMs: number, wake: () => void): () => void {
    const wait = { delayMs, wake };
    this.#waits.add(wait);
    this.#endWaits();
    return () => void this.#waits.delete(wait);
  }
  leaveUnanswered(question: string): void {
    this.#unanswered.add(question);
    this.#endWaits();
  }
  #endWaits(): void {
    const isBoth = this.#unanswered.size === 2;
    const longestMs = isBoth ? Infinity : this.#unanswered.size * otherFamilyMs;
    const over = [...this.#waits].filter(({ delayMs }) => delayMs <= longestMs);
    if (isBoth) this.#unanswered.clear();
    for (const wait of over) {
      this.#waits.delete(wait);
      wait.wake();
    }
  }
}

interface Opened {
  readonly resolve: Resolve;
  readonly server: NameServer;
  readonly clock: Silence;
}

async function opened(
  answer: (question: string) => NameAnswer,
  files: { readonly hosts?: string; readonly resolvConf?: string } = {},
): Promise<Opened> {
  const clock = new Silence();
  const server = await nameServer((question) => {
    const said = answer(question);
    if (said === 'silent') clock.leaveUnanswered(question);
    return said;
  });
  closers.push(() => server.close());
  const folder = await temporaryDir();
  const [hostsFile, resolvConf] = [join(folder, 'hosts'), join(folder, 'resolv.conf')];
  writeFileSync(hostsFile, files.hosts ?? '');
  writeFileSync(resolvConf, files.resolvConf ?? '');
  return { resolve: openNames({ clock, servers: [server.server], hostsFile, resolvConf }), server, clock };
}

const one: NameAnswer = { addresses: ['192.0.2.1'], ttl: 30 };

function answering(table: Readonly<Record<string, NameAnswer>>, otherwise: NameAnswer = 'unknownName') {
  return (question: string): NameAnswer => table[question] ?? otherwise;
}

async function exchanged(resolve: Resolve, origin: string): Promise<WireResponse | WireFailure> {
  const wire = openUndiciWire(loopbackRules, resolve);
  closers.push(() => wire.close());
  return wire.wire({
    method: 'GET',
    origin,
    path: '/x',
    headers: {},
    body: undefined,
    writes: false,
    caBundle: undefined,
    start: () => undefined,
    signal: AbortSignal.timeout(60_000),
  });
}

async function greeting(): Promise<number> {
  const server = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

describe('a name', () => {
  it('has the addresses of both families', async () => {
    const { resolve } = await opened(
      answering({
        'A api.example.com': { addresses: ['192.0.2.1', '192.0.2.2'], ttl: 30 },
        'AAAA api.example.com': { addresses: ['2001:db8:0:0:0:0:0:1'], ttl: 30 },
      }),
    );

    expect(await resolve('api.example.com')).toEqual([
      { address: '192.0.2.1', family: 4 },
      { address: '192.0.2.2', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ]);
  });

  it.each([
    { other: 'none', because: 'has no address' },
    { other: 'failed', because: 'fails' },
    { other: 'refused', because: 'is refused' },
    { other: 'garbled', because: 'is garbled' },
    { other: 'silent', because: 'is never answered' },
  ] as const)('has the addresses of one family where the other one $because', async ({ other }) => {
    const { resolve } = await opened(answering({ 'A api.example.com': one }, other));

    expect(await resolve('api.example.com')).toEqual([{ address: '192.0.2.1', family: 4 }]);
  });

  it.each([
    { answer: 'unknownName', code: 'ENOTFOUND', because: 'it does not exist' },
    { answer: 'none', code: 'ENOTFOUND', because: 'it has no address' },
    { answer: 'failed', code: 'EAI_AGAIN', because: 'its name server fails' },
    { answer: 'refused', code: 'EAI_AGAIN', because: 'its name server refuses to answer' },
    { answer: 'garbled', code: 'EAI_AGAIN', because: 'its name server answers with garbage' },
    { answer: 'silent', code: 'EAI_AGAIN', because: 'its name server stays silent' },
  ] as const)('is not resolved because $because', async ({ answer, code }) => {
    const { resolve } = await opened(() => answer);

    await expect(resolve('nowhere.example.com')).rejects.toMatchObject({ name: 'NameNotResolved', code });
  });

  it('is not resolved where nothing listens for names', async () => {
    const { resolve, server } = await opened(() => one);
    await server.close();
    closers.splice(0);

    await expect(resolve('nowhere.example.com')).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  });

  it('is asked for once by all who want it at the same time, and again when its record has expired', async () => {
    const { resolve, server, clock } = await opened(answering({ 'A api.example.com': one }, 'none'));

    await Promise.all([resolve('api.example.com'), resolve('api.example.com'), resolve('api.example.com')]);
    clock.aheadMs = 29_000;
    await resolve('api.example.com');
    const meanwhile = server.questions.length;
    clock.aheadMs = 31_000;
    await resolve('api.example.com');

    expect([meanwhile, server.questions.length]).toEqual([2, 4]);
  });

  it('is asked for again after a failure', async () => {
    let answer: NameAnswer = 'failed';
    const { resolve } = await opened((question) => (question.startsWith('A ') ? answer : 'none'));

    await expect(resolve('api.example.com')).rejects.toThrow('could not be looked up');
    answer = one;

    expect(await resolve('api.example.com')).toHaveLength(1);
  });

  it('is looked for below the search domains once it does not exist as it is', async () => {
    const resolvConf = 'search first.example\nsearch team.svc.cluster.local svc.cluster.local # the last line counts\n';
    const { resolve, server } = await opened(answering({ 'A hosting.team.svc.cluster.local': one }), { resolvConf });

    expect(await resolve('hosting.team')).toEqual([{ address: '192.0.2.1', family: 4 }]);
    expect(server.questions.filter((question) => question.startsWith('A '))).toEqual([
      'A hosting.team',
      'A hosting.team.team.svc.cluster.local',
      'A hosting.team.svc.cluster.local',
    ]);
  });

  it('is looked for below the search domains first where it has fewer dots than ndots', async () => {
    const resolvConf = 'search team.svc.cluster.local svc.cluster.local\noptions edns0 ndots:5\n';
    const { resolve, server } = await opened(answering({ 'A hosting.team': one }), { resolvConf });

    expect(await resolve('hosting.team')).toHaveLength(1);
    expect(server.questions.filter((question) => question.startsWith('A '))).toEqual([
      'A hosting.team.team.svc.cluster.local',
      'A hosting.team.svc.cluster.local',
      'A hosting.team',
    ]);
  });

  it.each([
    { resolvConf: 'search broken.example example.com', because: 'a server fails for a search domain' },
    { resolvConf: 'search example.com\noptions ndots:5', because: 'its own server fails' },
    { resolvConf: 'search example.com', because: 'its own server fails, which is asked first' },
  ])('is looked for further on in the search list though $because', async ({ resolvConf }) => {
    const table = { 'A hosting.team.example.com': one } as const;
    const { resolve } = await opened(answering(table, 'failed'), { resolvConf });

    expect(await resolve('hosting.team')).toEqual([{ address: '192.0.2.1', family: 4 }]);
  });

  it.each(['refused', 'garbled', 'silent'] as const)(
    'is looked for further on in the search list though the answer for a search domain is %s',
    async (answer) => {
      const below = { 'A hosting.team.example.com': answer, 'AAAA hosting.team.example.com': answer } as const;
      const table = { ...below, 'A hosting.team': one } as const;
      const { resolve } = await opened(answering(table), { resolvConf: 'search example.com\noptions ndots:5' });

      expect(await resolve('hosting.team')).toEqual([{ address: '192.0.2.1', family: 4 }]);
    },
  );

  it.each([
    { failing: 'hosting.team', because: 'as it is' },
    { failing: 'hosting.team.first.example', because: 'below a search domain' },
  ])('may be there later where no server knows it and one fails for it $because', async ({ failing }) => {
    const table = { [`A ${failing}`]: 'failed', [`AAAA ${failing}`]: 'failed' } as const;
    const { resolve } = await opened(answering(table), { resolvConf: 'search first.example second.example' });

    await expect(resolve('hosting.team')).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  });

  it('is taken from the hosts file first', async () => {
    const hosts = '# 192.0.2.9 api.example.com\n192.0.2.3\tother API.example.com # ours\nnonsense api.example.com\n';
    const { resolve, server } = await opened(() => 'silent', { hosts });

    expect(await resolve('api.example.com')).toEqual([{ address: '192.0.2.3', family: 4 }]);
    expect(server.questions).toEqual([]);
  });

  it('of loopback needs no name server', async () => {
    const { resolve, server } = await opened(() => 'silent');

    expect(await resolve('sim.localhost')).toContainEqual({ address: '127.0.0.1', family: 4 });
    expect(server.questions).toEqual([]);
  });

  it('is asked for without the hosts file and the search domains where they cannot be read', async () => {
    const server = await nameServer(answering({ 'A api.example.com': one }, 'none'));
    closers.push(() => server.close());
    const files = { hostsFile: '/nowhere/hosts', resolvConf: '/nowhere/resolv.conf' };

    expect(await openNames({ clock: realClock, servers: [server.server], ...files })('api.example.com')).toHaveLength(
      1,
    );
  });
});

describe('a connection', () => {
  it.each([
    { answer: 'unknownName', message: 'the host name is not known' },
    { answer: 'failed', message: 'the host name could not be looked up' },
    { answer: 'silent', message: 'the host name could not be looked up' },
  ] as const)('to a name whose server says $answer fails with a sentence', async ({ answer, message }) => {
    const { resolve } = await opened(() => answer);

    expect(await exchanged(resolve, 'https://nowhere.example.com:8443')).toEqual({ failed: 'connection', message });
  });

  it('is not held up by any number of names whose servers stay silent', async () => {
    const port = await greeting();
    const server = await nameServer(() => 'silent');
    closers.push(() => server.close());
    const deadlines: (() => void)[] = [];
    const held: Clock = {
      ...realClock,
      after: (_delayMs, wake) => {
        deadlines.push(wake);
        return () => undefined;
      },
    };
    const resolve = openNames({ clock: held, servers: [server.server], resolvConf: '/nowhere/resolv.conf' });
    const ended: string[] = [];
    const silent = Array.from({ length: 12 }, (_, index) =>
      exchanged(resolve, `https://silent-${index}.example.com`).then(() => ended.push('silent')),
    );

    const answer = await exchanged(resolve, `http://localhost:${port}`);
    await readFile(import.meta.filename);
    const meanwhile = [...ended];
    for (const wake of deadlines) wake();
    await Promise.all(silent);

    expect(answer).toMatchObject({ status: 200 });
    expect([meanwhile, ended.length]).toEqual([[], 12]);
  });

  it('is refused where a name resolves to nothing, and where Node asks for one address only', async () => {
    const looked = (resolve: Resolve, all: boolean): Promise<string> =>
      new Promise((done) => {
        const look = lookupWith(resolve, () => undefined);
        look('api.example.com', { all }, (error, address) => done(error?.message ?? JSON.stringify(address)));
      });

    expect(await looked(() => Promise.resolve([]), true)).toBe('the host name is not known');
    expect(await looked(() => Promise.resolve([{ address: '192.0.2.1', family: 4 }]), false)).toBe('"192.0.2.1"');
    expect(await looked(() => Promise.reject(new Error('odd')), true)).toBe('the host name could not be looked up');
  });
});
