import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bundle } from '../../deploy/bundle.ts';
import { overlays } from './support/deployed.ts';
import { apiOf, kubectl, ownControlPlane } from './support/kubernetes.ts';

const run = promisify(execFile);

interface Template {
  readonly spec: { readonly template: { readonly metadata: object; readonly spec: { securityContext?: object } } };
}

describe('the overlay for the whole cluster', () => {
  it('makes pods that the strictest Pod Security lets in', async () => {
    const plane = await ownControlPlane();
    const api = apiOf(plane);
    await kubectl(plane, 'apply', '-k', join(overlays, 'cluster-wide'));
    const deployments = '/apis/apps/v1/namespaces/apphosting-system/deployments/apphosting-operator';
    const { template } = ((await api.get(deployments)).body as Template).spec;
    const create = (spec: object) =>
      api.post('/api/v1/namespaces/apphosting-system/pods?dryRun=All', { metadata: { name: 'one' }, spec });

    const { securityContext: _dropped, ...lax } = template.spec;

    expect(await create(template.spec)).toMatchObject({ status: 201 });
    expect(await create(lax)).toMatchObject({ status: 403 });
  });
});

describe('the archive for laptops', () => {
  it('runs from an empty folder with nothing but Node', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'apphosting-archive-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const archive = bundle(folder);

    await run('tar', ['-xzf', archive, '-C', folder, '--strip-components=1']);
    const launcher = join(folder, 'bin', 'apphosting');
    const { stdout } = await run(process.execPath, [launcher, 'run', '--help'], { cwd: folder, env: {} });

    expect(stdout).toContain('apphosting run [options]');
    const wrong = run(process.execPath, [join(folder, 'bin', 'kubectl-apphosting'), 'run', '--nothing'], { env: {} });
    await expect(wrong).rejects.toMatchObject({ code: 2 });
  });
});
