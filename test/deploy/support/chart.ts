import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import type { Binaries } from '../../../src/sandbox/binaries/binaries.ts';
import { startBreakablePlane } from '../../support/breakable-plane.ts';
import { progressOn } from '../../../src/sandbox/binaries/progress.ts';
import { findBinaries } from '../../../src/sandbox/binaries/sources.ts';
import { temporaryFolder } from '../../../src/sandbox/data-folder.ts';
import { programPlaces } from '../../../src/config.ts';
import { withKustomization } from '../../support/kustomization.ts';
import { runProgram, type Printed } from './programs.ts';
import { isClusterWide, nameOf, objectsIn, type Rendered } from './rendered.ts';
import { NotRun } from './report.ts';
import { variants } from './variants.ts';

const chart = join(import.meta.dirname, '..', '..', '..', 'deploy', 'helm', 'apphosting-operator');

/** The program that renders charts, once it is built. */
export type Tools = () => Promise<string>;

async function template(tools: Tools, namespace: string, values: object, release = 'apphosting'): Promise<Printed> {
  return runProgram(await tools(), ['template', chart, namespace, release], { input: JSON.stringify(values) });
}

/** The control plane's programs, kubectl among them; where there are none, nothing can be said. */
export async function binaries(): Promise<Binaries> {
  return findBinaries(programPlaces(), progressOn(process.stderr)).catch((error: unknown) => {
    throw new NotRun(`there is no kubectl: ${error instanceof Error ? error.message : String(error)}`);
  });
}

/** What differs between the chart and the overlays, object by object. */
export async function sameObjects(tools: Tools): Promise<readonly string[]> {
  const { kubectl } = await binaries();
  const wrong: string[] = [];
  for (const variant of variants) {
    const { name, namespace, values } = variant;
    const kustomized = await withKustomization(variant, (folder) => runProgram(kubectl, ['kustomize', folder]));
    const charted = await template(tools, namespace, values);
    if (kustomized.code !== 0 || charted.code !== 0) return [`${name}: ${kustomized.stderr}${charted.stderr}`];
    const [left, right] = [objectsIn(kustomized.stdout), objectsIn(charted.stdout)];
    // Helm makes the namespace by itself: helm install --create-namespace.
    const names = new Set([...left.keys(), ...right.keys()].filter((one) => !one.startsWith('Namespace ')));
    if (names.size < 8) wrong.push(`${name}: only ${names.size} objects`);
    for (const one of names)
      if (!isDeepStrictEqual(left.get(one), right.get(one))) wrong.push(`${name}: ${one} differs`);
  }
  return [...wrong, ...(await unusedValues())];
}

/** Values of the chart that no variant sets: nobody would notice if they did nothing. */
async function unusedValues(): Promise<readonly string[]> {
  const set = new Set(variants.flatMap(({ values }) => pathsIn(values)));
  const all = pathsIn(parse(await readFile(join(chart, 'values.yaml'), 'utf8')));
  return all
    .filter((path) => ![...set].some((one) => one === path || one.startsWith(`${path}.`)))
    .map((path) => `no variant sets ${path}`);
}

/** The values of a chart by their paths: one that is a map of the user's own is one value. */
function pathsIn(values: unknown, at = ''): readonly string[] {
  const isInner =
    typeof values === 'object' && values !== null && !Array.isArray(values) && Object.keys(values).length > 0;
  if (!isInner) return at === '' ? [] : [at];
  return Object.entries(values).flatMap(([name, value]) => pathsIn(value, at === '' ? name : `${at}.${name}`));
}

/** What Helm's linter says, and which mistakes in values the chart lets pass. */
export async function refusedValues(tools: Tools): Promise<readonly string[]> {
  const lint = await runProgram(await tools(), ['lint', chart]);
  const bad = [
    { replicas: 0 },
    { scope: 'Everything' },
    { replica: 2 },
    { networkPolicy: { egressPorts: 443 } },
    { networkPolicy: { extraEgress: [{ from: [] }] } },
    { runAsUser: 0 },
    { monitoring: { labels: { release: true } } },
    { monitoring: { runbooks: 'our wiki' } },
    // The operator ends at once when a flag is given twice.
    { extraArgs: ['--metrics-listen=[::]:8080'] },
    { extraArgs: ['--enable-activation'] },
  ];
  const accepted = [];
  for (const values of bad)
    if ((await template(tools, 'x', values)).code === 0) accepted.push(`accepts ${JSON.stringify(values)}`);
  return [...(lint.code === 0 ? [] : [`${lint.stdout}${lint.stderr}`]), ...accepted];
}

/** What two releases in one cluster would fight for. */
export async function sharedByReleases(tools: Tools): Promise<readonly string[]> {
  const rest = { crds: { install: false }, roles: { install: false } };
  const second = { ...rest, extraArgs: ['--selector=tenant=blue'] };
  const rendered = await Promise.all([
    template(tools, 'apphosting-system', {}),
    template(tools, 'apphosting-blue', second, 'apphosting-blue'),
    template(tools, 'team-a', { ...rest, scope: 'Namespace' }),
    template(tools, 'team-b', { ...rest, scope: 'Namespace' }),
  ]);
  const failed = rendered.filter(({ code }) => code !== 0).map(({ stderr }) => stderr);
  const owned = rendered.map(({ stdout }) => [...objectsIn(stdout).values()].filter(isClusterWide).map(nameOf));
  const [, blue = [], ...inside] = owned;
  const own = ['ClusterRole apphosting-blue-operator', 'ClusterRoleBinding apphosting-blue-operator'];
  const all = owned.flat();
  return [
    ...failed,
    ...all.filter((name, at) => all.indexOf(name) !== at).map((name) => `two releases have ${name}`),
    ...inside.flat().map((name) => `with a namespace of its own there is ${name}`),
    ...(isDeepStrictEqual(blue.toSorted(), own) ? [] : [`the second release has ${blue.join(', ')}`]),
  ];
}

const isForeign = ({ apiVersion }: Rendered) => apiVersion.startsWith('monitoring.coreos.com/');

/** What others have against their own kinds as the chart renders them. */
export async function foreignKinds(tools: Tools): Promise<readonly string[]> {
  const { values, namespace } = variants.find(({ name }) => name === 'monitoring') ?? { values: {}, namespace: '' };
  const { stdout } = await template(tools, namespace, values);
  const found = await runProgram(await tools(), ['foreign'], { input: stdout });
  const misspelt = stdout.replace('endpoints:', 'endpoint:');
  const noticed = (await runProgram(await tools(), ['foreign'], { input: misspelt })).code !== 0;
  return [
    ...(found.code === 0 && found.stdout.startsWith('2 decoded') ? [] : [`${found.stdout}${found.stderr}`]),
    ...(noticed ? [] : ['a field that is not known would not be noticed']),
  ];
}

/** What a real API server has against the chart: each variant asked about, and then applied. */
export async function accepted(tools: Tools): Promise<readonly string[]> {
  const found = await binaries();
  const data = await temporaryFolder('tests');
  const plane = await startBreakablePlane({ dir: data.dir, binaries: found, say: () => undefined });
  const kubectl = (args: readonly string[], input = '') =>
    runProgram(found.kubectl, ['--kubeconfig', plane.kubeconfigPath, ...args], { input });
  try {
    const wrong: string[] = [];
    for (const [at, { name, namespace, values }] of variants.entries()) {
      const { stdout: rendered } = await template(tools, namespace, values);
      await kubectl(['create', 'namespace', namespace]);
      await kubectl(['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted']);
      // The definitions are the same each time; the kinds of others are not known here.
      const asked = [...objectsIn(rendered).values()].filter(
        (one) => !isForeign(one) && (at === 0 || one.kind !== 'CustomResourceDefinition'),
      );
      const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: asked });
      for (const how of [['--server-side', '--dry-run=server'], ['--server-side']]) {
        const { code, stderr } = await kubectl(['apply', ...how, '-f', '-'], input);
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
