import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { collectionNames } from '../../../src/simulator/service/areas.ts';
import { Journal, readState } from '../../../src/simulator/store/journal.ts';
import { startSimulator } from '../../../src/simulator/start.ts';
import { box, contactPoint } from '../box.ts';
import { ended, running } from '../process.ts';

let folder = '';
let file = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'simulator-'));
  file = join(folder, 'state');
});

afterEach(() => rmSync(folder, { recursive: true }));

const headers = { authorization: 'demo-admin', 'content-type': 'application/json' };

async function names(url: string): Promise<readonly string[]> {
  const answer = await fetch(`${url}/api/public/v1/contact-points?accountId=acc_demo`, { headers });
  const { contactPoints } = (await answer.json()) as { contactPoints: { name: string }[] };
  return contactPoints.map(({ name }) => name);
}

async function create(url: string, name: string): Promise<boolean> {
  const config = { addresses: ['a@example.com'] };
  const body = JSON.stringify({ accountId: 'acc_demo', name, type: 'email', config });
  try {
    const answer = await fetch(`${url}/api/public/v1/contact-point`, { method: 'POST', headers, body });
    await answer.json();
    return answer.ok;
  } catch {
    return false;
  }
}

/** How many commits stand behind the world in a state file. */
function commitsIn(path: string): number {
  return readState(path, collectionNames)?.lines.filter((line) => 'rows' in line).length ?? 0;
}

/** A state file with a few commits behind the world. */
async function written(commits = 5): Promise<Buffer> {
  const journal = new Journal(file);
  const on = box({ journal });
  for (let n = 0; n < commits; n += 1) await contactPoint(on, `point ${n}`);
  const bytes = readFileSync(file);
  await on.simulator.close();
  return bytes;
}

describe('--state', () => {
  it('loses nothing that was answered when the process is killed', async () => {
    const answered: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const one = await running('--state', file);
      const enough = answered.length + 20 + 15 * round;
      const reached = Promise.withResolvers<void>();
      let goesOn = true;
      const writers = Array.from({ length: 4 }, async (_, writer) => {
        for (let n = 0; goesOn; n += 1) {
          const name = `${round}/${writer}/${n}`;
          if (await create(one.url, name)) answered.push(name);
          if (answered.length >= enough) reached.resolve();
        }
      });
      await reached.promise;
      await one.end('SIGKILL');
      goesOn = false;
      await Promise.all(writers);
    }

    const last = await running('--state', file);
    const kept = new Set(await names(last.url));
    await last.end('SIGTERM');

    expect(answered.filter((name) => !kept.has(name))).toEqual([]);
  });

  it('goes on with time, timers, readings and faults where it stopped', async () => {
    const first = await startSimulator({ state: file, clock: 'virtual' });
    const control = (url: string, method: string, path: string, body?: object) =>
      fetch(`${url}/_sim${path}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    await control(first.url, 'POST', '/clock/advance', { ms: 1000 });
    await control(first.url, 'PATCH', '/readings', { 'errors.body': 'text' });
    await control(first.url, 'POST', '/faults', { match: { path: '/x' }, effect: { hang: true } });
    const body = JSON.stringify({ envName: 'web-prod' });
    await fetch(`${first.url}/api/public/v1/app-env/stop`, { method: 'POST', headers, body });
    const before = first.simulator.store.save();
    await first.close();

    const second = await startSimulator({ state: file, clock: 'virtual' });
    expect(second.simulator.store.save()).toEqual(before);
    second.simulator.advance(3000);
    const { appEnvs } = (await (await fetch(`${second.url}/api/public/v1/app-envs`, { headers })).json()) as {
      appEnvs: { status: string }[];
    };
    await second.close();

    expect(appEnvs[0]?.status).toBe('stopped');
  });

  it('loads a file that was cut off anywhere behind its world', async () => {
    const bytes = await written(3);
    const head = bytes.indexOf(10) + 1;

    for (let end = head; end <= bytes.length; end += 3) {
      writeFileSync(file, bytes.subarray(0, end));
      const whole = bytes.subarray(head, end).filter((byte) => byte === 10).length;
      expect(readState(file, collectionNames)?.lines).toHaveLength(whole);
    }
  });

  it('refuses a file with a line that is no JSON, clearly and without touching it', async () => {
    const bytes = await written();
    const damages = [3, 200, bytes.indexOf(10) + 20, bytes.length - 3];
    const files: Uint8Array[] = damages.map((at) => {
      const damaged = Buffer.from(bytes);
      damaged[at] = 0;
      return damaged;
    });
    for (const line of ['null\n', '5\n', '{}\n']) files.push(Buffer.concat([bytes, Buffer.from(line)]));
    files.push(Buffer.from('this is no state\n'), Buffer.from('{}'), bytes.subarray(0, 100));

    for (const damaged of files) {
      writeFileSync(file, damaged);
      await expect(startSimulator({ state: file })).rejects.toThrow('the file was not changed');
      expect(readFileSync(file).compare(damaged)).toBe(0);
    }
    const { code, stdout, stderr } = await ended('--state', file);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  it('does not touch the state of another one that has the address already', async () => {
    const one = await startSimulator({ state: file });
    await create(one.url, 'first');

    await expect(startSimulator({ state: file, port: one.port })).rejects.toThrow('cannot listen');
    await create(one.url, 'second');

    expect(commitsIn(file)).toBe(2);
    await one.close();
  });

  it('belongs to one process: a second one gives up with one line and exit code 2', async () => {
    const one = await running('--state', file);
    await create(one.url, 'kept');
    const second = await ended('--listen', '127.0.0.1:0', '--state', file);
    await expect(startSimulator({ state: file })).rejects.toThrow('uses the file');
    await create(one.url, 'kept too');
    await one.end('SIGTERM');

    expect([second.code, second.stdout, second.stderr.trim().split('\n').length]).toEqual([2, '', 1]);
    expect(second.stderr).toContain(`process ${one.child.pid}`);
    const two = await startSimulator({ state: file });
    await expect(startSimulator({ state: file })).rejects.toThrow('uses the file');
    expect(await names(two.url)).toEqual(['kept', 'kept too']);
    await two.close();
    expect(readdirSync(folder)).toEqual(['state']);
  });

  it('is taken over from a process that is gone, or whose number another process has now', async () => {
    const gone = { pid: 2 ** 22 + 1 };
    const other = { pid: process.pid, started: 'long ago' };
    for (const owner of [gone, other]) {
      writeFileSync(`${file}.lock`, JSON.stringify(owner));
      await (await startSimulator({ state: file })).close();
    }
    writeFileSync(`${file}.lock`, 'hello');
    await expect(startSimulator({ state: file })).rejects.toThrow('remove it if nothing uses what it locks');
  });

  it('is a file and nothing else', async () => {
    for (const path of ['/proc/x', '/dev/null', folder]) {
      const { code, stderr } = await ended('--listen', '127.0.0.1:0', '--state', path);
      expect([code, stderr.trim().split('\n').length], path).toEqual([2, 1]);
      expect(stderr).toContain(`--state ${path} `);
    }
  });

  it('begins anew in a file that is missing or empty', async () => {
    writeFileSync(file, '');
    const one = await startSimulator({ state: file });
    await create(one.url, 'kept');
    await one.close();

    const two = await startSimulator({ state: file, world: 'empty' });
    expect(await names(two.url)).toEqual(['kept']);
    await two.close();
  });

  it('forgets a commit that was not written to its end', async () => {
    await written(2);
    appendFileSync(file, '{"at":1,"rows":[["contactPo');

    const one = await startSimulator({ state: file });
    await create(one.url, 'next');
    await one.close();

    expect(commitsIn(file)).toBe(0);
    const two = await startSimulator({ state: file });
    expect(await names(two.url)).toEqual(['point 0', 'point 1', 'next']);
    await two.close();
  });

  it('writes the world anew, as a whole, when the commits outgrow it', async () => {
    const journal = new Journal(file);
    const on = box({ journal });
    const description = 'x'.repeat(400);
    const id = await contactPoint(on);
    for (let n = 0; n < 200; n += 1) {
      await on.patch('/contact-point', { contactPointId: id, name: `n${n}` });
    }
    expect(journal.overgrown).toBe(false);
    const many = Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`V${n}`, description]));
    for (let n = 0; n < 60; n += 1) {
      await on.post('/app-env/deploy-image', { appEnvId: 'env_web_prod', image: 'x', envVars: many });
    }

    const kept = commitsIn(file);

    expect(kept).toBeLessThan(60);
    await on.simulator.close();
    const again = await startSimulator({ state: file });
    expect(again.simulator.store.save().collections['environments']?.[0]).toMatchObject({ versions: 61 });
    await again.close();
  });
});
