import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { archive, bundle } from '../../../deploy/bundle.ts';
import { overlays } from '../support/deployed.ts';
import { apiOf, kubectl, ownControlPlane, sharedKubernetes } from '../support/kubernetes.ts';
import { startProgram } from '../support/running.ts';

const run = promisify(execFile);
const strict = { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted' };

interface Template {
  readonly spec: { readonly template: { readonly metadata: object; readonly spec: { securityContext?: object } } };
}

const overlaysAndNamespaces = [
  ['cluster-wide', 'apphosting-system'],
  ['activation', 'apphosting-system'],
  // Without the definitions, which are there by now.
  ['namespaced', 'apphosting'],
] as const;

describe('every overlay', () => {
  it('is missed by the operator, taken whole by an API server, and its pods by the strictest Pod Security', async () => {
    const plane = await ownControlPlane();
    const api = apiOf(plane);
    // Before anything is installed, the operator says in one line what to do.
    const running = startProgram(['run', '--metrics-listen', '127.0.0.1:0', '--kubeconfig', plane.kubeconfigPath]);
    onTestFinished(running.end);
    expect(await running.ended).toBe(1);
    expect(running.output()).toMatch(/^apphosting run: [^\n]+kubectl apply -f crds\/[^\n]*\n$/u);

    const apply = (overlay: string, ...flags: readonly string[]) =>
      kubectl(plane, 'apply', '--server-side', '--warnings-as-errors', ...flags, '-k', join(overlays, overlay));
    for (const name of new Set(overlaysAndNamespaces.map(([, namespace]) => namespace)))
      await api.post('/api/v1/namespaces', { metadata: { name, labels: strict } });

    for (const [overlay, namespace] of overlaysAndNamespaces) {
      await apply(overlay, '--dry-run=server');
      await apply(overlay);

      const kinds = 'deployments,poddisruptionbudgets,networkpolicies,services';
      const names = await kubectl(plane, '-n', namespace, 'get', kinds, '-o', 'name');
      expect(names.trim().split('\n').toSorted(), overlay).toEqual([
        'deployment.apps/apphosting-operator',
        'networkpolicy.networking.k8s.io/apphosting-operator',
        'poddisruptionbudget.policy/apphosting-operator',
        'service/apphosting-operator-metrics',
      ]);
      const path = `/apis/apps/v1/namespaces/${namespace}/deployments/apphosting-operator`;
      const { template } = ((await api.get(path)).body as Template).spec;
      const create = (spec: object) =>
        api.post(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, { metadata: { name: 'one' }, spec });
      const { securityContext: _dropped, ...lax } = template.spec;
      expect(await create(template.spec), overlay).toMatchObject({ status: 201 });
      expect(await create(lax), overlay).toMatchObject({ status: 403 });
    }
  });
});

describe('the archive for laptops', () => {
  it('runs from an empty folder with nothing but Node, also as a plugin of kubectl', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'apphosting-archive-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const made = join(folder, 'made');
    await bundle(made);
    await run('tar', ['-xzf', archive(made, folder), '-C', folder, '--strip-components=1']);
    await rm(made, { recursive: true });
    // The only Node there is on PATH, and no other program.
    const env = { PATH: [join(folder, 'bin'), dirname(process.execPath)].join(delimiter) };
    const { binaries } = sharedKubernetes();

    const { stdout } = await run('apphosting', ['run', '--help'], { cwd: folder, env });
    const version = await run('apphosting', ['--version'], { cwd: folder, env });
    const plugin = await run(binaries.kubectl, ['apphosting', 'points', '--help'], { cwd: folder, env });
    const wrong = run('kubectl-apphosting', ['run', '--nothing'], { cwd: folder, env });

    expect(stdout).toContain('apphosting run [options]');
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/u);
    expect(plugin.stdout).toContain('points');
    await expect(wrong).rejects.toMatchObject({ code: 64 });
  });
});
