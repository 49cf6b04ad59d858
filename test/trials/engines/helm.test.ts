import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { environmentWith } from '../../../src/config.ts';
import { kinds } from '../../../src/kinds/index.ts';
import { connect, kubectl, sharedKubernetes } from '../../scenarios/support/kubernetes.ts';

/* The real Helm on the real API server. */

const { helm: had } = inject('engines');
const plane = sharedKubernetes();
const api = connect(plane);
const chart = join(import.meta.dirname, '..', '..', '..', 'deploy', 'helm', 'apphosting-operator');
const values = [
  '--set',
  'extraArgs={--allowed-hosts=hosting.example.com}',
  '--set',
  'image.repository=registry.example.com/operator',
];

async function helm(...args: readonly string[]): Promise<string> {
  const env = environmentWith({ KUBECONFIG: plane.kubeconfigPath });
  const command = join('dir' in had ? had.dir : '', 'helm');
  const { stdout } = await promisify(execFile)(command, ['--namespace', 'by-helm', ...args], { env, timeout: 120_000 });
  return stdout;
}

afterAll(() => api.close());

describe.skipIf('missing' in had)('Helm', () => {
  it('installs, upgrades and takes away the operator, and leaves the definitions', async () => {
    // They are there already, from nobody's release.
    await helm('install', 'apphosting', chart, '--create-namespace', '--take-ownership', ...values);
    const before = await kubectl(
      plane,
      '-n',
      'by-helm',
      'get',
      'deployments',
      '-o',
      'jsonpath={.items[*].metadata.generation}',
    );
    await helm('upgrade', 'apphosting', chart, ...values);
    const after = await kubectl(
      plane,
      '-n',
      'by-helm',
      'get',
      'deployments',
      '-o',
      'jsonpath={.items[*].metadata.generation}',
    );
    await helm('uninstall', 'apphosting');
    const left = await kubectl(plane, 'get', 'crd', '-o', 'name');

    expect([before, after]).toEqual(['1', '1']);
    expect((await kubectl(plane, '-n', 'by-helm', 'get', 'deployments', '-o', 'name')).trim()).toBe('');
    for (const { plural } of kinds) expect(left).toContain(`${plural}.apphosting.dev`);
  });
});

if ('missing' in had) it(`could not be had: ${had.missing}`, (context) => context.skip());
