import { createServer } from 'node:http';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endLeftovers } from '../../src/sandbox/control-plane/leftovers.ts';
import { isRunning } from '../../src/sandbox/control-plane/process-table.ts';
import { temporaryFolder } from '../../src/sandbox/data-folder.ts';
import { eventually } from './support/kubernetes.ts';
import { processesOf, readJson, runOwnSandbox, runSandbox, startSandbox, up } from './support/sandbox-process.ts';

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

/** A folder with one sample of the stand-ins' kind. */
async function sampleWith(data: string, name: string, spec: string): Promise<string> {
  const samples = join(data, '..', `samples-${name}`);
  await mkdir(samples);
  const sample = ['apiVersion: apphosting.dev/v1alpha1', 'kind: ContactPoint', `metadata: {name: ${name}}`];
  await writeFile(join(samples, 'a.yaml'), [...sample, `spec: ${spec}`].join('\n'));
  return samples;
}

/** The processes of a sandbox, as it has written them down. */
async function pidsIn(data: string): Promise<readonly number[]> {
  return Object.values(await readJson(data, 'pids.json')).map(Number);
}

/* A sandbox takes seconds to start: each of these starts as few as it can, and tries on them all that does not need another. */
describe('the sandbox', () => {
  it('of this repository has every sample Ready, ends with 0, and leaves nothing', async () => {
    const { temporary } = await place();

    const { code, output } = await runOwnSandbox(temporary, '--once');

    expect(output).toMatch(/all \d+ samples are Ready/u);
    expect(code).toBe(0);
    expect(await readdir(temporary)).toEqual([]);
    expect(await processesOf(join(temporary, 'apphosting-sandbox-'))).toBe(0);
  });

  it('ends with 1 and says which sample is not Ready in time', async () => {
    const { temporary, data } = await place();
    const samples = await sampleWith(data, 'stuck', '{email: a@example.com, never: true}');

    const { code, output } = await runSandbox(temporary, '--once', '--timeout', '8', '--samples', samples);

    expect(code).toBe(1);
    expect(output).toContain('ContactPoint default/stuck: not ready, Waiting: it never will be');
  });

  it('says what the API server has against a sample', async () => {
    const { temporary, data } = await place();
    const samples = await sampleWith(data, 'wrong', '{email: nobody}');

    const { code, output } = await runSandbox(temporary, '--samples', samples);

    expect(code).toBe(1);
    expect(output).toContain('ContactPoint wrong is refused');
    expect(output).toContain('email must have an @');
    expect(await readdir(temporary)).toEqual([]);
  });

  it('ends, and leaves nothing, when it is stopped while it starts', async () => {
    const { temporary } = await place();
    const sandbox = startSandbox(temporary);
    await eventually('it has begun', async () => (await readdir(temporary)).length > 0);
    await eventually('its etcd runs', async () => (await processesOf(join(temporary, await only(temporary)))) > 0);

    sandbox.kill('SIGTERM');

    expect(await sandbox.ended).toBe(130);
    expect(await readdir(temporary)).toEqual([]);
  });

  it('holds its folder, starts its parts again, ends at a word, and keeps its data and its address', async () => {
    const { temporary, data } = await place();
    const sandbox = startSandbox(temporary, '--data', data);
    await up(sandbox);
    const foreign = join(data, '..', 'foreign');
    await mkdir(foreign);
    await writeFile(join(foreign, 'kubeconfig'), 'of somebody else');
    const first = await readJson(data, 'urls.json');

    const second = await runSandbox(temporary, '--data', data);
    expect(second.output).toContain(`a sandbox is running in ${data} (process ${sandbox.pid} has it)`);
    const other = await runSandbox(temporary, '--data', foreign);
    expect(other.output).toContain('holds other things');
    expect([second.code, other.code]).toEqual([1, 1]);

    // Each part that is killed is started again, and its new process is written down.
    const before = await readJson(data, 'pids.json');
    for (const part of ['operator', 'simulator', 'etcd', 'apiserver', 'controllerManager']) {
      process.kill(Number(before[part]), 'SIGKILL');
      const isNew = async () => {
        const now = (await readJson(data, 'pids.json'))[part];
        return now !== undefined && now !== before[part];
      };
      await eventually(`${part} is up again`, isNew);
    }

    // Everything it started ends on SIGTERM, asked once or three times.
    const pids = await pidsIn(data);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGINT'] as const) sandbox.kill(signal);
    expect(await sandbox.ended).toBe(0);
    expect(pids).toHaveLength(5);
    expect(await Promise.all(pids.map(isRunning))).toEqual([false, false, false, false, false]);
    expect(await processesOf(data)).toBe(0);

    // What was made there is bound to the address of the simulator.
    const squatter = createServer().listen(Number(new URL(String(first['simulator'])).port), '127.0.0.1');
    const taken = await runSandbox(temporary, '--data', data);
    squatter.close();
    expect(taken.output).toContain(`port ${new URL(String(first['simulator'])).port} is taken`);
    expect(taken.code).toBe(1);

    // It serves kubectl while it is down, and is up again at the same address.
    const asked = await runSandbox(temporary, '--data', data, '--kubectl', 'get', 'contactpoints', '-A', '-o', 'name');
    expect(asked.output).toContain('contactpoint.apphosting.dev/on-call');
    expect(asked.code).toBe(0);
    const { code } = await runSandbox(temporary, '--once', '--data', data, '--samples', 'none');
    expect(code).toBe(0);
    expect((await readJson(data, 'urls.json'))['simulator']).toBe(first['simulator']);
    expect(await readdir(data)).toEqual(
      expect.arrayContaining(['kubeconfig', 'logs', 'pids.json', 'run', 'urls.json']),
    );
  });

  it('runs beside another one, asks which is meant, and clears away what killed ones left', async () => {
    const { temporary, data } = await place();
    const [kept, passing] = [startSandbox(temporary, '--data', data), startSandbox(temporary)];
    const other = startSandbox(temporary, '--samples', 'none');
    await Promise.all([up(kept), up(passing), up(other)]);

    const unclear = await runSandbox(temporary, '--kubectl', 'get', 'namespaces');
    expect(unclear.output).toContain('several sandboxes are running');
    other.kill('SIGTERM');
    await other.ended;
    const clear = await runSandbox(temporary, '--kubectl', 'get', 'contactpoints', '-A', '-o', 'name');
    expect(clear.output).toContain('contactpoint.apphosting.dev/on-call');
    const abandoned = join(temporary, await only(temporary));

    for (const sandbox of [kept, passing]) sandbox.kill('SIGKILL');
    await Promise.all([kept.ended, passing.ended]);
    expect([await processesOf(data), await processesOf(abandoned)]).toEqual([5, 5]);

    // Kept data goes on, a temporary folder goes.
    const { code, output } = await runSandbox(temporary, '--once', '--data', data);
    expect(output).toContain('left in 1 temporary folder');
    expect(output).toContain('ended 5 processes');
    expect(output).toContain('all 2 samples are Ready');
    expect(output).toContain('ContactPoint team/platform: Ready');
    expect(code).toBe(0);
    expect([await processesOf(data), await processesOf(abandoned)]).toEqual([0, 0]);
    expect(await readdir(temporary)).toEqual([]);
  });
});

async function only(dir: string): Promise<string> {
  const [first = ''] = await readdir(dir);
  return first;
}
