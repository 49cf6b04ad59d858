import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startBreakablePlane } from '../support/breakable-plane.ts';
import { belongsTo } from '../../src/sandbox/control-plane/leftovers.ts';
import { isRunning, processTable } from '../../src/sandbox/control-plane/process-table.ts';
import { field, itemsOf, textOf } from '../../src/sandbox/cluster.ts';
import { temporaryFolder } from '../../src/sandbox/data-folder.ts';
import { apiOf, barePlane, eventually, sharedKubernetes } from './support/kubernetes.ts';
import type { Api, OwnPlane } from './support/kubernetes.ts';

const maps = '/api/v1/namespaces/default/configmaps';

async function namesOf(api: Api): Promise<readonly string[]> {
  const { body } = await api.get(maps);
  return itemsOf(body, 'items').map((item) => textOf(field(item, 'metadata', 'name')));
}

async function runningIn(dir: string): Promise<number> {
  return (await processTable()).filter((row) => belongsTo(dir, row)).length;
}

/* The first four break one control plane, one after the other; the last of them ends it. */
describe('a control plane of its own', () => {
  const ended: string[] = [];
  let plane: OwnPlane;

  beforeAll(async () => {
    plane = await barePlane({ onEnded: (part) => ended.push(part) });
  });

  afterAll(() => plane.stop());

  it('keeps its objects and its address while its API server is started again', async () => {
    const api = apiOf(plane);
    await api.post(maps, { metadata: { name: 'kept' } });
    const before = plane.pids().apiserver;

    await plane.restartApiServer();

    expect(plane.pids().apiserver).not.toBe(before);
    expect(await namesOf(apiOf(plane))).toContain('kept');
  });

  it('answers again after its etcd was killed and started', async () => {
    const api = apiOf(plane);
    await api.post(maps, { metadata: { name: 'kept-too' } });

    process.kill(plane.pids().etcd ?? 0, 'SIGKILL');
    await eventually('the end of etcd is noticed', async () => ended.includes('etcd'));
    await plane.startEtcd();

    await eventually('it answers', async () => (await api.get(maps)).status === 200);
    expect(await namesOf(api)).toContain('kept-too');
  });

  it('goes back to a copy of its data', async () => {
    const folder = await temporaryFolder('tests');
    onTestFinished(folder.release);
    const api = apiOf(plane);
    await api.post(maps, { metadata: { name: 'before' } });
    await plane.copyEtcd(join(folder.dir, 'copy'));
    const after = await api.post(maps, { metadata: { name: 'after' } });

    await plane.restoreEtcd(join(folder.dir, 'copy'));

    const restored = apiOf(plane);
    expect(await namesOf(restored)).toContain('before');
    expect(await namesOf(restored)).not.toContain('after');
    const { body } = await restored.post(maps, { metadata: { name: 'again' } });
    const version = (of: unknown) => Number(textOf(field(of, 'metadata', 'resourceVersion')));
    expect(version(body)).toBeLessThanOrEqual(version(after.body) + 50);
  });

  it('leaves no process when it is stopped', async () => {
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
