/**
 * Measures the simulator with 10,000 objects in memory: reads, lists, changes, creates, and its memory after all of them, also when its
 * logs are read. The simulator runs in a process of its own; the client writes prepared bytes
 * to a few sockets and only counts answers, so that it is not what is measured.
 *
 *   node bench/simulator.ts [--seconds N] [--state]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { argv, execPath, exit } from 'node:process';
import { parseArgs } from 'node:util';

import { createSimulator } from '../src/simulator/simulator.ts';

const objects = 10_000;
const sockets = 4;
const depth = 16;

const { values } = parseArgs({
  args: argv.slice(2),
  options: { seconds: { type: 'string', default: '4' }, state: { type: 'boolean', default: false } },
});
const seconds = Number(values.seconds);

/** A world with 10,000 contact points, and their ids. */
async function bigWorld(): Promise<{ readonly world: unknown; readonly ids: readonly string[] }> {
  const simulator = createSimulator({ clock: 'virtual' });
  const ids: string[] = [];
  const made = { method: 'POST', url: '/_sim/accounts', headers: { host: 'localhost' } };
  await simulator.handle({ ...made, body: JSON.stringify({ accountId: 'acc_apps', name: 'A hundred apps' }) });
  const membership = { accountId: 'acc_apps', role: 'admin' };
  const member = JSON.stringify({ token: 'apps-admin', memberships: [membership], currentAccountId: 'acc_apps' });
  await simulator.handle({ ...made, url: '/_sim/tokens', body: member });
  for (let n = 0; n < 100; n += 1) {
    const body = JSON.stringify({ accountId: 'acc_apps', name: `app ${n}`, port: 80 });
    const headers = { authorization: 'apps-admin', 'content-type': 'application/json' };
    await simulator.handle({ method: 'POST', url: '/api/public/v1/app', headers, body });
  }
  for (let n = 0; n < objects; n += 1) {
    const config = { addresses: [`on-call-${n}@example.com`] };
    const body = JSON.stringify({ accountId: 'acc_demo', name: `point ${n}`, type: 'email', config });
    const headers = { authorization: 'demo-admin', 'content-type': 'application/json' };
    const reply = await simulator.handle({ method: 'POST', url: '/api/public/v1/contact-point', headers, body });
    if (reply.kind !== 'answered' || reply.status !== 200) throw new Error('the world could not be made');
    ids.push((JSON.parse(reply.body) as { contactPoint: { contactPointId: string } }).contactPoint.contactPointId);
  }
  return { world: simulator.store.save(), ids };
}

function get(path: string, token = 'demo-admin'): Buffer {
  return Buffer.from(`GET /api/public/v1${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: ${token}\r\n\r\n`);
}

/** The memory of a process in MB, where the system tells it. */
function memoryOf(pid: number): number {
  try {
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);
  } catch {
    return Number.NaN;
  }
}

/** Reads both logs of the simulator as a whole, and says how many lines they have. */
async function readLogs(base: string): Promise<readonly number[]> {
  const lines: number[] = [];
  for (const log of ['ledger', 'requests']) {
    const { items } = (await (await fetch(`${base}/_sim/${log}`)).json()) as { items: readonly unknown[] };
    lines.push(items.length);
  }
  return lines;
}

function send(method: 'POST' | 'PATCH', path: string, body: unknown): Buffer {
  const text = JSON.stringify(body);
  const head = `host: localhost\r\nauthorization: demo-admin\r\ncontent-type: application/json`;
  return Buffer.from(
    `${method} /api/public/v1${path} HTTP/1.1\r\n${head}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}

const status = 'HTTP/1.1 ';
const good = `${status}200`;

/** Counts the answers in what arrives; one that is not 200 ends the measurement. */
class Answers {
  count = 0;
  #rest = '';

  take(chunk: Buffer): number {
    // The text that is carried over is one character shorter than a match, so that nothing counts twice.
    const text = this.#rest + chunk.toString('latin1');
    this.#rest = text.slice(1 - good.length);
    const got = text.split(good).length - 1;
    if (text.slice(0, -3).split(status).length - 1 > got)
      throw new Error(`an answer was not 200: ${text.slice(0, 200)}`);
    this.count += got;
    return got;
  }
}

async function pump(socket: Socket, next: () => Buffer, until: number): Promise<number> {
  const answers = new Answers();
  for (let i = 0; i < depth; i += 1) socket.write(next());
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('data', (chunk: Buffer) => {
      const got = answers.take(chunk);
      if (performance.now() > until) {
        socket.destroy();
        resolve(answers.count);
        return;
      }
      socket.write(Buffer.concat(Array.from({ length: got }, next)));
    });
  });
}

async function rate(port: number, next: () => Buffer): Promise<number> {
  const until = performance.now() + seconds * 1000;
  const opened = Array.from({ length: sockets }, () => connect(port, '127.0.0.1').setNoDelay(true));
  await Promise.all(opened.map((socket) => once(socket, 'connect')));
  const began = performance.now();
  const counts = await Promise.all(opened.map((socket) => pump(socket, next, until)));
  return Math.round(counts.reduce((sum, count) => sum + count, 0) / ((performance.now() - began) / 1000));
}

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'simulator-bench-'));
  const { world, ids } = await bigWorld();
  writeFileSync(join(folder, 'world.json'), JSON.stringify(world));
  const state = values.state ? ['--state', join(folder, 'state')] : [];
  const args = ['src/main.ts', 'simulator', '--listen', '127.0.0.1:0', '--world', join(folder, 'world.json'), ...state];
  const child = spawn(execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const base = line.toString().trim().split(' ').at(-1) ?? '';
    const port = Number(new URL(base).port);
    let n = 0;
    const id = () => ids[(n += 7919) % ids.length];
    const reads = await rate(port, () => get(`/contact-point?contactPointId=${id()}`));
    const writes = await rate(port, () =>
      send('PATCH', '/contact-point', { contactPointId: id(), name: `renamed ${n % 1000}` }),
    );
    const lists = await rate(port, () => get('/apps', 'apps-admin'));
    const config = { addresses: ['on-call@example.com'] };
    const creates = await rate(port, () => {
      n += 1;
      return send('POST', '/contact-point', { accountId: 'acc_demo', name: `new ${n}`, type: 'email', config });
    });
    const memory = memoryOf(child.pid ?? 0);
    const [commits, requests] = await readLogs(base);
    const memoryThen = memoryOf(child.pid ?? 0);
    console.log(`objects   ${objects}${values.state ? ', every commit on disk' : ''}`);
    console.log(`reads/s   ${reads}`);
    console.log(`writes/s  ${writes}`);
    console.log(`creates/s ${creates}`);
    console.log(`lists/s   ${lists} of 100 apps`);
    console.log(
      `memory    ${memory} MB after ${requests} requests with ${commits} commits, ${memoryThen} MB after its logs were read`,
    );
    return reads >= 5000 && writes >= 2000 && lists >= 2500 && creates >= 7000 ? 0 : 1;
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
    rmSync(folder, { recursive: true });
  }
}

exit(await main());
