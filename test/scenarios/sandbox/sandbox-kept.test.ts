import { createServer } from 'node:http';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { isRunning } from '../../support/processes.ts';
import { lock } from '../../../src/simulator/store/lock.ts';
import { eventually } from '../support/kubernetes.ts';
import {
  aPlace,
  only,
  processesOf,
  readJson,
  runSandbox,
  sampleIn,
  startSandbox,
  up,
} from '../support/sandbox-process.ts';

/* A control plane takes seconds of both cores to start: one life of a sandbox has all that does not need another one. */

/** The processes of a sandbox, as it has written them down. */
async function pidsIn(data: string): Promise<readonly number[]> {
  return Object.values(await readJson(data, 'pids.json')).map(Number);
}

describe('a sandbox with --data', () => {
  it('lives beside others, starts its parts again, goes on when it was killed, ends at a word, and keeps its data and its address', async () => {
    const { temporary, data } = await aPlace();
    const kept = startSandbox(temporary, '--data', data);
    const passing = startSandbox(temporary, '--samples', 'none');
    await Promise.all([up(kept), up(passing)]);
    const abandoned = join(temporary, await only(temporary));
    const foreign = join(data, '..', 'foreign');
    await mkdir(foreign);
    await writeFile(join(foreign, 'kubeconfig'), 'of somebody else');
    const first = await readJson(data, 'urls.json');

    const second = await runSandbox(temporary, '--data', data);
    expect(second.output).toContain(`a sandbox is running in ${data} (process ${kept.pid} uses the file)`);
    const other = await runSandbox(temporary, '--data', foreign);
    expect(other.output).toContain('is not the folder of a sandbox and not empty');
    expect([second.code, other.code]).toEqual([1, 1]);

    // Beside another one, which is about to start, kubectl asks which is meant.
    const beside = join(temporary, 'apphosting-sandbox-beside');
    await mkdir(join(beside, 'run'), { recursive: true });
    const unlock = lock(join(beside, 'run', 'sandbox'));
    const unclear = await runSandbox(temporary, '--kubectl', 'get', 'namespaces');
    expect(unclear.output).toContain('several sandboxes are running');
    unlock();
    await rm(beside, { recursive: true });
    const clear = await runSandbox(temporary, '--kubectl', 'get', 'contactpoints', '-A');
    expect(clear.output).toContain('No resources found');

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

    // What killed sandboxes leave is cleared away by the next one: kept data goes on at its address, a temporary folder goes.
    for (const sandbox of [kept, passing]) sandbox.kill('SIGKILL');
    await Promise.all([kept.ended, passing.ended]);
    expect([await processesOf(data), await processesOf(abandoned)]).toEqual([5, 5]);
    const next = startSandbox(temporary, '--data', data);
    await up(next);
    await eventually('its samples are Ready', async () => next.output().includes('ContactPoint team/platform: Ready'));
    expect(next.output()).toContain('removed 1 temporary folder');
    expect(next.output()).toContain('ended 5 processes');
    expect([await processesOf(data), await processesOf(abandoned)]).toEqual([5, 0]);
    expect(await readdir(temporary)).toEqual([]);
    expect((await readJson(data, 'urls.json'))['simulator']).toBe(first['simulator']);

    // Everything it started ends on SIGTERM, asked once or three times.
    const pids = await pidsIn(data);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGINT'] as const) next.kill(signal);
    expect(await next.ended).toBe(0);
    expect(pids).toHaveLength(5);
    expect(await Promise.all(pids.map(isRunning))).toEqual([false, false, false, false, false]);
    expect(await processesOf(data)).toBe(0);

    // What was made there is bound to the address of the simulator.
    const squatter = createServer().listen(Number(new URL(String(first['simulator'])).port), '127.0.0.1');
    const taken = await runSandbox(temporary, '--data', data);
    squatter.close();
    expect(taken.output).toContain(`port ${new URL(String(first['simulator'])).port} is taken`);
    expect(taken.code).toBe(1);

    // It serves kubectl while it is down.
    const asked = await runSandbox(temporary, '--data', data, '--kubectl', 'get', 'contactpoints', '-A', '-o', 'name');
    expect(asked.output).toContain('contactpoint.apphosting.dev/on-call');
    expect(asked.code).toBe(0);

    // It ends with 1, and says what the API server has against a sample, or which one is not Ready in time.
    const wrong = await sampleIn(data, 'wrong', '{email: nobody}');
    const refused = await runSandbox(temporary, '--data', data, '--samples', wrong);
    expect(refused.code).toBe(1);
    expect(refused.output).toContain('the API server refuses ContactPoint wrong');
    expect(refused.output).toContain('email must have an @');
    const samples = await sampleIn(data, 'stuck', '{email: a@example.com, never: true}');
    const flags = ['--once', '--timeout', '3', '--samples', samples];
    const { code, output } = await runSandbox(temporary, '--data', data, ...flags);
    expect(code).toBe(1);
    // How far its operator has come by then is a matter of the machine.
    expect(output).toMatch(/samples not Ready after 3 s:\n {2}ContactPoint default\/stuck: not /u);
    expect(await readdir(data)).toEqual(
      expect.arrayContaining(['kubeconfig', 'logs', 'pids.json', 'run', 'urls.json']),
    );
  });
});
