import { execFile } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { simulator } from '../../src/simulator/main.ts';
import { type Listening, startSimulator } from '../../src/simulator/start.ts';
import { ended, type Running, running } from './process.ts';

let started: Listening;

beforeAll(async () => {
  started = await startSimulator();
});

afterAll(() => started.close());

const headers = { authorization: 'demo-admin', 'content-type': 'application/json' };
const point = { accountId: 'acc_demo', name: 'x', type: 'email', config: { addresses: ['a@example.com'] } };

function open(): Socket {
  return connect(started.port, '127.0.0.1').on('error', () => undefined);
}

/** Everything that comes back until the connection ends. */
async function told(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await new Promise((resolve) => socket.once('close', resolve));
  return text;
}

async function inject(effect: object, url = started.url): Promise<void> {
  const body = JSON.stringify({ match: {}, effect });
  await fetch(`${url}/_sim/faults`, { method: 'POST', body });
}

/** The faults that no request has met yet. */
async function faults(url = started.url): Promise<readonly unknown[]> {
  const answer = await fetch(`${url}/_sim/faults`);
  return ((await answer.json()) as { items: readonly unknown[] }).items;
}

/** How many public requests came to a simulator. */
async function asked(url: string): Promise<number> {
  const answer = await fetch(`${url}/_sim/requests`);
  return ((await answer.json()) as { items: readonly unknown[] }).items.length;
}

function create(signal: AbortSignal | null = null): Promise<Response> {
  const body = JSON.stringify(point);
  return fetch(`${started.url}/api/public/v1/contact-point`, { method: 'POST', headers, body, signal });
}

async function count(): Promise<number> {
  const answer = await fetch(`${started.url}/api/public/v1/contact-points?accountId=acc_demo`, { headers });
  return ((await answer.json()) as { contactPoints: unknown[] }).contactPoints.length;
}

describe('the connection of a browser', () => {
  it('ends with each answer, so that nothing is sent again by itself; that of another client stays open', async () => {
    const url = `${started.url}/_sim/healthz`;
    const browser = await fetch(url, { headers: { 'sec-fetch-site': 'same-origin' } });
    const other = await fetch(url);

    expect(browser.headers.get('connection')).toBe('close');
    expect(other.headers.get('connection')).toBe('keep-alive');
  });
});

describe('bad requests on a socket', () => {
  it('are answered with a 4xx', async () => {
    const post = 'POST /api/public/v1/app HTTP/1.1\r\nHost: x\r\nAuthorization: demo-admin\r\nConnection: close\r\n';
    const table = [
      ['nonsense\r\n\r\n', 400],
      [`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(10_000_000)}\r\n\r\n`, 431],
      [`${post}Content-Length: 2000000\r\n\r\n${'x'.repeat(2_000_000)}`, 413],
      [`${post}Transfer-Encoding: chunked\r\n\r\n${`40000\r\n${'x'.repeat(0x40000)}\r\n`.repeat(6)}0\r\n\r\n`, 413],
      [`${post}Content-Length: x\r\n\r\n`, 400],
      [`${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
      ['GET /api/public/v1/apps HTTP/1.1\r\nAuthorization: demo-admin\r\nConnection: close\r\n\r\n', 400],
    ] as const;

    for (const [bytes, status] of table) {
      const socket = open();
      const text = told(socket);
      socket.write(bytes);
      expect((await text).split(' ')[1], bytes.slice(0, 60)).toBe(String(status));
    }
    expect((await fetch(`${started.url}/_sim/healthz`)).status).toBe(200);
  });

  it('run into a deadline when they do not arrive', async () => {
    const socket = open();
    const text = told(socket);
    socket.write('GET /api/public/v1/apps HTTP/1.1\r\nHost: x\r\n');

    expect(await text).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('leave nothing half done when the client goes away in the middle', async () => {
    const before = await count();
    const body = JSON.stringify(point);
    const socket = open();
    const head = 'POST /api/public/v1/contact-point HTTP/1.1\r\nHost: x\r\nAuthorization: demo-admin\r\n';
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`);
    socket.end();
    await told(socket);

    expect(await count()).toBe(before);
  });
});

describe('a client that never reads', () => {
  let one: Running;

  beforeAll(async () => {
    one = await running();
  });

  afterAll(() => one.end('SIGTERM'));

  /** A connection on which nobody reads. */
  function deaf(): Socket {
    const socket = connect(one.port, '127.0.0.1').on('error', () => undefined);
    return socket.pause();
  }

  async function memory(): Promise<number> {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(one.child.pid)]);
    return Number(stdout) * 1024;
  }

  /** Each answer takes a turn of the simulator's loop, in which it could also go on with what nobody reads. */
  async function turns(): Promise<void> {
    for (let turn = 0; turn < 40; turn += 1) await (await fetch(`${one.url}/_sim/healthz`)).text();
  }

  const first = 'GET /api/public/v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: demo-admin\r\n\r\n';

  it('is not read from either, so that its answers do not pile up', async () => {
    const before = await memory();
    const socket = deaf();
    socket.write(first);
    const request = 'GET /_sim/world HTTP/1.1\r\nHost: localhost\r\n\r\n';
    for (let n = 0; n < 20; n += 1) socket.write(request.repeat(1000));
    await expect.poll(() => asked(one.url), { timeout: 60_000 }).toBe(1);
    await turns();
    const grown = (await memory()) - before;
    socket.destroy();

    // Twenty thousand answers would be some 300 MB.
    expect(grown).toBeLessThan(200_000_000);
  });

  it('does not bring a huge body into memory', async () => {
    await inject({ hugeBody: 500_000_000 }, one.url);
    const before = await memory();
    const socket = deaf();
    socket.write(first);
    await expect.poll(() => faults(one.url), { timeout: 60_000 }).toEqual([]);
    await turns();
    const grown = (await memory()) - before;
    socket.destroy();

    expect(grown).toBeLessThan(200_000_000);
  });
});

describe('faults on a socket', () => {
  it('reset the connection, before or after the commit', async () => {
    const before = await count();
    await inject({ dropBefore: true });
    await expect(create()).rejects.toThrow();
    expect(await count()).toBe(before);

    await inject({ dropAfter: true });
    await expect(create()).rejects.toThrow();
    expect(await count()).toBe(before + 1);
  });

  it('never answer, before or after the commit', async () => {
    const before = await count();
    for (const effect of [{ hang: true }, { hangAfterCommit: true }]) {
      await inject(effect);
      const leaving = new AbortController();
      const refused = expect(create(leaving.signal)).rejects.toThrow();
      await expect.poll(() => faults(), { timeout: 60_000 }).toEqual([]);
      leaving.abort();
      await refused;
    }

    expect(await count()).toBe(before + 1);
  });

  it('cut the body off', async () => {
    await inject({ truncate: 10 });
    const answer = await create();

    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
  });

  it('send a body slowly, and a huge one in pieces', async () => {
    await inject({ slowBodyMsPerByte: 1 });
    const began = performance.now();
    const { message } = (await (await create()).json()) as { message: string };
    expect(message).toContain('created');
    expect(performance.now() - began).toBeGreaterThan(150);

    await inject({ hugeBody: 3_000_000 });
    const text = await (await create()).text();
    expect(text).toHaveLength(3_000_000);
    expect(Object.keys(JSON.parse(text) as object)).toEqual(['padding']);
  });
});

describe('a request target in absolute form', () => {
  it('is served, and the host that it names counts in the place of the Host header', async () => {
    const base = `http://127.0.0.1:${started.port}`;
    const table: readonly (readonly [target: string, host: string, status: number])[] = [
      [`${base}/api/public/v1/apps?accountId=acc_demo`, 'x', 200],
      [`HTTP://LocalHost/api/public/v1/apps`, 'x', 200],
      [`${base}/_sim/clock`, 'evil.example', 200],
      [`http://evil.example/_sim/clock`, `127.0.0.1:${started.port}`, 403],
      [base, 'x', 200],
      [`${base}?a=1`, 'x', 200],
      ['ftp://127.0.0.1/_sim/clock', '127.0.0.1', 404],
      ['*', '127.0.0.1', 404],
    ];

    for (const [target, host, status] of table) {
      const socket = open();
      socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: demo-admin\r\nConnection: close\r\n\r\n`);
      expect(await told(socket), target).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    }
  });
});

describe('POST /_sim/clock/advance', () => {
  const day = 86_400_000;
  let one: Listening;

  /** A simulator whose clock has a lot to do: a rule is evaluated four times a minute. */
  beforeEach(async () => {
    one = await startSimulator({ clock: 'virtual' });
    await withAlert(one.url);
  });

  afterEach(() => one.close());

  async function withAlert(url: string): Promise<void> {
    const contactPoint = await fetch(`${url}/api/public/v1/contact-point`, {
      method: 'POST',
      headers,
      body: JSON.stringify(point),
    });
    const made = (await contactPoint.json()) as { contactPoint: { contactPointId: string } };
    const rule = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '5m', name: 'busy' };
    const body = { appEnvId: 'env_web_prod', ...rule, contactPointIds: [made.contactPoint.contactPointId] };
    await fetch(`${url}/api/public/v1/app-env/alert`, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  function advance(url: string, ms: number): Promise<Response> {
    return fetch(`${url}/_sim/clock/advance`, { method: 'POST', body: JSON.stringify({ ms }) });
  }

  async function now(url: string): Promise<number> {
    const { now: iso } = (await (await fetch(`${url}/_sim/clock`)).json()) as { now: string };
    return Date.parse(iso) - Date.UTC(2026, 0, 1);
  }

  it('lets other requests be served in between', async () => {
    const long = advance(one.url, 20 * day);

    expect(await now(one.url)).toBeLessThan(20 * day);
    expect((await long).status).toBe(200);
    expect(await now(one.url)).toBe(20 * day);
  });

  it('lets the time of two requests pass one after the other', async () => {
    const answers = await Promise.all([advance(one.url, day), advance(one.url, day)]);

    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await now(one.url)).toBe(2 * day);
  });

  it('is stopped by a reset', async () => {
    const long = advance(one.url, 400 * day);
    await now(one.url);
    await fetch(`${one.url}/_sim/reset`, { method: 'POST' });

    expect((await long).status).toBe(503);
    expect(await now(one.url)).toBe(0);
  });

  it('refuses what would take minutes before any of it has happened, and says how much can be done', async () => {
    const refused = await advance(one.url, 3650 * day);
    const { error } = (await refused.json()) as { error: string };
    const tooLate = await advance(one.url, 8000 * 366 * day);

    expect([refused.status, tooLate.status]).toEqual([400, 400]);
    expect(Number(/at most (\d+) ms at a time/.exec(error)?.[1])).toBeGreaterThan(365 * day);
    expect(await now(one.url)).toBe(0);
  });

  it('is cut short by SIGTERM, and the state is what had happened by then', async () => {
    const file = join(tmpdir(), `simulator-cut-short-${process.pid}`);
    const cut = await running('--clock', 'virtual', '--state', file);
    await withAlert(cut.url);
    const long = advance(cut.url, 400 * day).then(
      ({ status }) => status,
      () => 'cut off',
    );
    await now(cut.url);

    expect(await cut.end('SIGTERM')).toBe(0);
    expect([503, 'cut off']).toContain(await long);
    const again = await startSimulator({ clock: 'virtual', state: file });
    const reached = await now(again.url);
    await again.close();
    rmSync(file);
    expect(reached).toBeGreaterThan(0);
    expect(reached).toBeLessThan(400 * day);
  });
});

describe('GET /_sim/events', () => {
  it('tells the ledger and the requests as they happen', async () => {
    const stop = new AbortController();
    const answer = await fetch(`${started.url}/_sim/events`, { signal: stop.signal });
    await create();
    let text = '';
    for await (const chunk of answer.body ?? []) {
      text += new TextDecoder().decode(chunk);
      if (text.includes('event: request')) break;
    }
    stop.abort();

    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(text).toMatch(/event: ledger\ndata: .*contactPoint\.created/);
  });
});

describe('the command', () => {
  it('prints exactly one line when it listens, and ends by a signal though a client stays', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const one = await running('--clock', 'virtual');
      const stuck = connect(one.port, '127.0.0.1').on('error', () => undefined);
      await fetch(`${one.url}/_sim/healthz`);

      expect(await one.end(signal)).toBe(0);
      expect(one.output()).toBe(`simulator listening on ${one.url}\n`);
      stuck.destroy();
    }
  });

  it('takes its flags', async () => {
    const one = await running(
      '--world',
      'empty',
      '--reading',
      'errors.body=text',
      '--rate-limit',
      '9',
      '--clock',
      'virtual',
    );
    const readings = await (await fetch(`${one.url}/_sim/readings`)).json();
    const clock = await (await fetch(`${one.url}/_sim/clock`)).json();
    await one.end('SIGTERM');

    expect(readings).toMatchObject({ 'errors.body': 'text', 'rate.limit': 9 });
    expect(clock).toEqual({ now: '2026-01-01T00:00:00.000Z', mode: 'virtual' });
  });

  it('refuses a bad flag with exit code 2 and one clear line', async () => {
    const broken = join(tmpdir(), `no-world-${process.pid}.json`);
    writeFileSync(broken, '{"format":"something else"}');
    const table = [
      ['--speed', '9'],
      ['extra'],
      ['--listen', 'nowhere'],
      ['--listen', '127.0.0.1:99999'],
      ['--clock', 'sundial'],
      ['--reading', 'errors.body'],
      ['--reading', 'errors.body=poem'],
      ['--reading', 'no.such=1'],
      ['--rate-limit', '-1'],
      ['--latency', '-1'],
      ['--latency', 'long'],
      ['--world', '/does/not/exist.json'],
      ['--world', broken],
      ['--listen', '127.0.0.1:0', '--state', '/does/not/exist/state'],
      ['--listen', '127.0.0.1:0', '--state', tmpdir()],
      ['--listen', `127.0.0.1:${started.port}`],
    ];

    for (const args of table) {
      const said = { out: '', err: '' };
      const code = await simulator(args, { out: (text) => (said.out += text), err: (text) => (said.err += text) });
      expect([code, said.out, said.err.trim().split('\n').length], args.join(' ')).toEqual([2, '', 1]);
    }
    expect(await ended('--speed', '9')).toMatchObject({ code: 2, stdout: '' });
  });
});
