import { createServer } from 'node:http';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { isRunning } from '../../../src/sandbox/control-plane/process-table.ts';
import { eventually } from '../support/kubernetes.ts';
import { aPlace, processesOf, readJson, runSandbox, sampleIn, startSandbox, up } from '../support/sandbox-process.ts';

/** The processes of a sandbox, as it has written them down. */
async function pidsIn(data: string): Promise<readonly number[]> {
  return Object.values(await readJson(data, 'pids.json')).map(Number);
}

describe('a sandbox with --data', () => {
  it('holds its folder, starts its parts again, ends at a word, and keeps its data and its address', async () => {
    const { temporary, data } = await aPlace();
    const sandbox = startSandbox(temporary, '--data', data);
    await up(sandbox);
    const foreign = join(data, '..', 'foreign');
    await mkdir(foreign);
    await writeFile(join(foreign, 'kubeconfig'), 'of somebody else');
    const first = await readJson(data, 'urls.json');

    const second = await runSandbox(temporary, '--data', data);
    expect(second.output).toContain(`a sandbox is running in ${data} (process ${sandbox.pid} uses it)`);
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

    // It serves kubectl while it is down.
    const asked = await runSandbox(temporary, '--data', data, '--kubectl', 'get', 'contactpoints', '-A', '-o', 'name');
    expect(asked.output).toContain('contactpoint.apphosting.dev/on-call');
    expect(asked.code).toBe(0);

    // It is up again at the same address, ends with 1 and says which sample is not Ready in time.
    const samples = await sampleIn(data, 'stuck', '{email: a@example.com, never: true}');
    const flags = ['--once', '--timeout', '3', '--samples', samples];
    const { code, output } = await runSandbox(temporary, '--data', data, ...flags);
    expect(code).toBe(1);
    // How far its operator has come by then is a matter of the machine.
    expect(output).toMatch(/not Ready after 3 s:\n {2}ContactPoint default\/stuck: not /u);
    expect((await readJson(data, 'urls.json'))['simulator']).toBe(first['simulator']);
    expect(await readdir(data)).toEqual(
      expect.arrayContaining(['kubeconfig', 'logs', 'pids.json', 'run', 'urls.json']),
    );
  });
});
