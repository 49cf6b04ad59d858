import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startBreakablePlane } from '../support/breakable-plane.ts';
import { belongsTo } from '../../src/sandbox/control-plane/leftovers.ts';
import { isRunning, processTable } from '../../src/sandbox/control-plane/process-table.ts';
import { temporaryFolder } from '../../src/sandbox/data-folder.ts';
import { apiOf, ownControlPlane, sharedKubernetes, field, itemsOf, textOf } from './support/kubernetes.ts';
import type { Api } from './support/kubernetes.ts';

const maps = '/api/v1/namespaces/default/configmaps';

async function namesOf(api: Api): Promise<readonly string[]> {
  const { body } = await api.get(maps);
  return itemsOf(body, 'items').map((item) => textOf(field(item, 'metadata', 'name')));
}

async function runningIn(dir: string): Promise<number> {
  return (await processTable()).filter((row) => belongsTo(dir, row)).length;
}

describe('a control plane of its own', () => {
  it('leaves no process when it is stopped', async () => {
    const plane = await ownControlPlane();
    const pids = Object.values(plane.pids());

    await plane.stop();

    expect(pids).toHaveLength(3);
    expect(await Promise.all(pids.map(isRunning))).toEqual([false, false, false]);
  });

  it('ends what a killed process left in its folder before it starts there', async () => {
    const folder = await temporaryFolder('tests');
    onTestFinished(folder.release);
    const starter = join(import.meta.dirname, 'support', 'start-and-wait.ts');
    const child = spawn(process.execPath, [starter, folder.dir], {
      env: { ...process.env, KUBEBUILDER_ASSETS: join(sharedKubernetes().binaries.etcd, '..') },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(createInterface({ input: child.stdout }), 'line');
    child.kill('SIGKILL');
    expect(await runningIn(folder.dir)).toBe(3);

    const said: string[] = [];
    const { binaries } = sharedKubernetes();
    const again = await startBreakablePlane({ dir: folder.dir, binaries, say: (text) => said.push(text) });
    onTestFinished(again.stop);

    expect(said).toEqual([expect.stringContaining('ended 3 processes')]);
    expect(await namesOf(apiOf(again))).toContain('from-before');
    expect(await runningIn(folder.dir)).toBe(3);
    expect(existsSync(join(folder.dir, 'kubeconfig'))).toBe(true);
  });
});
