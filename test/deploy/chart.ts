import { basename, join } from 'node:path';
import process from 'node:process';
import { isDeepStrictEqual } from 'node:util';
import type { Binaries } from '../../src/cli/control-plane/binaries.ts';
import { startControlPlane } from '../../src/cli/control-plane/control-plane.ts';
import { progressOn } from '../../src/cli/control-plane/progress.ts';
import { findBinaries } from '../../src/cli/control-plane/sources.ts';
import { temporaryFolder } from '../../src/cli/sandbox/data-folder.ts';
import { surroundings } from '../../src/config.ts';
import { runProgram, type Printed } from './programs.ts';
import { objectsIn } from './rendered.ts';
import { NotRun } from './report.ts';

const deploy = join(import.meta.dirname, '..', '..', 'deploy');
const chart = join(deploy, 'helm', 'apphosting-operator');

const overlay = (name: string) => join(deploy, 'kustomize', 'overlays', name);

/** What Kustomize builds, its namespace, and the values that make the chart the same. */
const variants = [
  [overlay('cluster-wide'), 'apphosting-system', []],
  [overlay('activation'), 'apphosting-system', ['activation=true']],
  [overlay('namespaced'), 'apphosting', ['scope=Namespace', 'crds.install=false', 'roles.install=false']],
] as const;

/** The program that renders charts, once it is built. */
export type Tools = () => Promise<string>;

async function template(tools: Tools, namespace: string, values: readonly string[]): Promise<Printed> {
  return runProgram(await tools(), ['template', chart, namespace, ...values]);
}

async function binaries(): Promise<Binaries> {
  return findBinaries(surroundings(), progressOn(process.stderr)).catch((error: unknown) => {
    throw new NotRun(`there is no kubectl: ${error instanceof Error ? error.message : String(error)}`);
  });
}

/** What differs between the chart and the overlays, object by object. */
export async function sameObjects(tools: Tools): Promise<readonly string[]> {
  const { kubectl } = await binaries();
  const wrong: string[] = [];
  for (const [folder, namespace, values] of variants) {
    const name = basename(folder);
    const kustomized = await runProgram(kubectl, ['kustomize', folder]);
    const charted = await template(tools, namespace, values);
    if (kustomized.code !== 0 || charted.code !== 0) return [`${name}: ${kustomized.stderr}${charted.stderr}`];
    const [left, right] = [objectsIn(kustomized.stdout), objectsIn(charted.stdout)];
    // Helm makes the namespace by itself: helm install --create-namespace.
    const names = new Set([...left.keys(), ...right.keys()].filter((one) => !one.startsWith('Namespace ')));
    if (names.size < 8) wrong.push(`${name}: only ${names.size} objects`);
    for (const one of names)
      if (!isDeepStrictEqual(left.get(one), right.get(one))) wrong.push(`${name}: ${one} differs`);
  }
  return wrong;
}

/** What Helm's linter says, and which mistakes in values the chart lets pass. */
export async function refusedValues(tools: Tools): Promise<readonly string[]> {
  const lint = await runProgram(await tools(), ['lint', chart]);
  const bad = ['replicas=0', 'scope=Everything', 'replica=2', 'networkPolicy.egressPorts=443'];
  const accepted = [];
  for (const value of bad) if ((await template(tools, 'x', [value])).code === 0) accepted.push(`accepts ${value}`);
  return [...(lint.code === 0 ? [] : [`${lint.stdout}${lint.stderr}`]), ...accepted];
}

/** What a real API server has against the chart: each variant asked about, and then applied. */
export async function accepted(tools: Tools): Promise<readonly string[]> {
  const found = await binaries();
  const rendered = await Promise.all(variants.map(([, namespace, values]) => template(tools, namespace, values)));
  const data = await temporaryFolder('tests');
  const plane = await startControlPlane({ dir: data.dir, binaries: found, say: () => undefined });
  const kubectl = (args: readonly string[], input = '') =>
    runProgram(found.kubectl, ['--kubeconfig', plane.kubeconfigPath, ...args], { input });
  try {
    const wrong: string[] = [];
    for (const [at, [folder, namespace]] of variants.entries()) {
      const name = basename(folder);
      await kubectl(['create', 'namespace', namespace]);
      await kubectl(['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted']);
      for (const how of [['--server-side', '--dry-run=server'], ['--server-side']]) {
        const { code, stderr } = await kubectl(['apply', ...how, '-f', '-'], rendered[at]?.stdout);
        // Pod Security warns here of what it would refuse later.
        if (code !== 0 || stderr.includes('Warning')) wrong.push(`${name}: apply ${how.join(' ')}: ${stderr}`);
      }
      const kinds = 'deployment,poddisruptionbudget,networkpolicy,service';
      const { stdout } = await kubectl(['-n', namespace, 'get', kinds, '-o', 'name']);
      if (stdout.trim().split('\n').length < 4) wrong.push(`${name}: there is only ${stdout.trim()}`);
    }
    return wrong;
  } finally {
    await plane.stop();
    await data.release();
  }
}
