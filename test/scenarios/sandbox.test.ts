import { createServer } from 'node:http';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { within } from '../../src/sandbox/control-plane/deadline.ts';
import { endLeftovers } from '../../src/sandbox/control-plane/leftovers.ts';
import { isRunning } from '../../src/sandbox/control-plane/process-table.ts';
import { temporaryFolder } from '../../src/sandbox/data-folder.ts';
import { eventually } from './support/kubernetes.ts';
import { processesOf, readJson, runSandbox, startSandbox, up } from './support/sandbox-process.ts';

async function place() {
  const folder = await temporaryFolder('tests');
  onTestFinished(folder.release);
  const temporary = join(folder.dir, 'tmp');
  await mkdir(temporary);
  const data = join(folder.dir, 'data');
  onTestFinished(async () => {
    // Only a test that failed half-way leaves anything.
    for (const dir of [data, ...(await readdir(temporary)).map((name) => join(temporary, name))])
      await endLeftovers(dir);
  });
  return { temporary, data };
}

describe('the sandbox', () => {
  it('ends with 0 once every sample is Ready, and leaves nothing', async () => {
    const { temporary } = await place();

    const { code, output } = await runSandbox(temporary, '--once');

    expect(output).toContain('all 2 samples are Ready');
    expect(output).toContain('ContactPoint team/platform: Ready');
    expect(code).toBe(0);
    expect(await readdir(temporary)).toEqual([]);
    expect(await processesOf(join(temporary, 'apphosting-sandbox-'))).toBe(0);
  });

  it('ends with 1 and says which sample is not Ready in time', async () => {
    const { temporary, data } = await place();
    const samples = join(data, '..', 'samples');
    await mkdir(samples);
    const never = ['apiVersion: apphosting.dev/v1alpha1', 'kind: ContactPoint', 'metadata: {name: stuck}'];
    await writeFile(join(samples, 'a.yaml'), [...never, 'spec: {email: a@example.com, never: true}'].join('\n'));

    const { code, output } = await runSandbox(temporary, '--once', '--timeout', '3', '--samples', samples);

    expect(code).toBe(1);
    expect(output).toContain('ContactPoint default/stuck: not ready, Waiting: it never will be');
  });

  it('says what the API server has against a sample', async () => {
    const { temporary, data } = await place();
    const samples = join(data, '..', 'samples');
    await mkdir(samples);
    const wrong = ['apiVersion: apphosting.dev/v1alpha1', 'kind: ContactPoint', 'metadata: {name: wrong}'];
    await writeFile(join(samples, 'a.yaml'), [...wrong, 'spec: {email: nobody}'].join('\n'));

    const { code, output } = await runSandbox(temporary, '--samples', samples);

    expect(code).toBe(1);
    expect(output).toContain('ContactPoint wrong is refused');
    expect(output).toContain('email must have an @');
    expect(await readdir(temporary)).toEqual([]);
  });

  it('ends everything it started on SIGTERM, asked once or three times', async () => {
    const { temporary, data } = await place();
    const sandbox = startSandbox(temporary, '--data', data);
    await up(sandbox);
    const pids = Object.values(await readJson(data, 'pids.json')).map(Number);

    for (const signal of ['SIGINT', 'SIGTERM', 'SIGINT'] as const) sandbox.kill(signal);

    expect(await within(15_000, sandbox.ended)).toEqual({ value: 0 });
    expect(pids).toHaveLength(5);
    expect(await Promise.all(pids.map(isRunning))).toEqual([false, false, false, false, false]);
    expect(await processesOf(data)).toBe(0);
  });

  it('ends in seconds, and leaves nothing, when it is stopped while it starts', async () => {
    const { temporary } = await place();
    const sandbox = startSandbox(temporary);
    await eventually('it has begun', async () => (await readdir(temporary)).length > 0);
    await eventually('its etcd runs', async () => (await processesOf(join(temporary, await only(temporary)))) > 0);

    sandbox.kill('SIGTERM');

    expect(await within(10_000, sandbox.ended)).toEqual({ value: 130 });
    expect(await readdir(temporary)).toEqual([]);
  });

  it('keeps its data, is up again at the same address, and serves kubectl while it is down', async () => {
    const { temporary, data } = await place();
    await runSandbox(temporary, '--once', '--data', data);
    const first = await readJson(data, 'urls.json');

    const asked = await runSandbox(temporary, '--data', data, '--kubectl', 'get', 'contactpoints', '-A', '-o', 'name');
    const { code } = await runSandbox(temporary, '--once', '--data', data, '--samples', 'none');

    expect(asked.output).toContain('contactpoint.apphosting.dev/on-call');
    expect(asked.code).toBe(0);
    expect(code).toBe(0);
    expect((await readJson(data, 'urls.json'))['simulator']).toBe(first['simulator']);
    expect(await readdir(data)).toEqual(
      expect.arrayContaining(['kubeconfig', 'logs', 'pids.json', 'run', 'urls.json']),
    );
  });

  it('refuses a folder in which another one runs, a folder of something else, and a taken port it is bound to', async () => {
    const { temporary, data } = await place();
    const running = startSandbox(temporary, '--data', data);
    await up(running);
    const foreign = join(data, '..', 'foreign');
    await mkdir(foreign);
    await writeFile(join(foreign, 'kubeconfig'), 'of somebody else');

    const second = await runSandbox(temporary, '--data', data);
    const other = await runSandbox(temporary, '--data', foreign);
    running.kill('SIGTERM');
    await running.ended;
    const { port } = new URL(String((await readJson(data, 'urls.json'))['simulator']));
    const squatter = createServer().listen(Number(port), '127.0.0.1');
    onTestFinished(() => void squatter.close());
    const taken = await runSandbox(temporary, '--data', data);

    expect(second.output).toContain(`a sandbox is running in ${data} (process ${running.pid})`);
    expect(other.output).toContain('holds other things');
    expect(taken.output).toContain(`port ${port} is taken`);
    expect([second.code, other.code, taken.code]).toEqual([1, 1, 1]);
  });

  it('runs beside another one, and asks which is meant when kubectl is to be run', async () => {
    const { temporary } = await place();
    const [first, second] = [startSandbox(temporary), startSandbox(temporary, '--samples', 'none')];
    await Promise.all([up(first), up(second)]);

    const unclear = await runSandbox(temporary, '--kubectl', 'get', 'namespaces');
    second.kill('SIGTERM');
    await second.ended;
    const clear = await runSandbox(temporary, '--kubectl', 'get', 'contactpoints', '-A', '-o', 'name');

    expect(unclear.output).toContain('several sandboxes are running');
    expect(clear.output).toContain('contactpoint.apphosting.dev/on-call');
  });

  it('starts a part again that was killed, and writes down its new process', async () => {
    const { temporary, data } = await place();
    const sandbox = startSandbox(temporary, '--data', data);
    await up(sandbox);
    const before = await readJson(data, 'pids.json');

    for (const part of ['operator', 'simulator', 'etcd', 'apiserver', 'controllerManager']) {
      process.kill(Number(before[part]), 'SIGKILL');
      const isNew = async () => {
        const now = (await readJson(data, 'pids.json'))[part];
        return now !== undefined && now !== before[part];
      };
      await eventually(`${part} is up again`, isNew, 120_000);
    }
    sandbox.kill('SIGTERM');

    expect(await within(15_000, sandbox.ended)).toEqual({ value: 0 });
    expect(await processesOf(data)).toBe(0);
  });

  it('clears away what a killed one left: kept data goes on, a temporary folder goes', async () => {
    const { temporary, data } = await place();
    const [kept, passing] = [startSandbox(temporary, '--data', data), startSandbox(temporary)];
    await Promise.all([up(kept), up(passing)]);
    const abandoned = join(temporary, await only(temporary));
    for (const sandbox of [kept, passing]) sandbox.kill('SIGKILL');
    await Promise.all([kept.ended, passing.ended]);
    expect([await processesOf(data), await processesOf(abandoned)]).toEqual([5, 5]);

    const { code, output } = await runSandbox(temporary, '--once', '--data', data);

    expect(output).toContain('left in 1 temporary folder');
    expect(output).toContain('ended 5 processes');
    expect(code).toBe(0);
    expect([await processesOf(data), await processesOf(abandoned)]).toEqual([0, 0]);
    expect(await readdir(temporary)).toEqual([]);
  });
});

async function only(dir: string): Promise<string> {
  const [first = ''] = await readdir(dir);
  return first;
}
