/*
 * `npm run check:deploy`: what only tools of others can say about what is installed, each tool built from its Go module at the
 * version in tools/go.mod. It needs Go and takes minutes the first time; `npm test` does not need it.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { isDeepStrictEqual } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { findBinaries } from '../../src/cli/control-plane/sources.ts';
import { progressOn } from '../../src/cli/control-plane/progress.ts';
import { surroundings } from '../../src/config.ts';
import { build, runProgram, type Printed } from './programs.ts';
import { objectsIn } from './rendered.ts';
import { argoOf, rows } from './statuses.ts';

const root = join(import.meta.dirname, '..', '..');
const chart = join(root, 'deploy', 'helm', 'apphosting-operator');
const into = join(surroundings().cacheDir, 'check-deploy');
const overlay = (name: string) => join(root, 'deploy', 'kustomize', 'overlays', name);

/** Every check, with what it found wrong. */
const checks: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  'Helm renders what Kustomize renders': sameObjects,
  'the chart refuses values it does not know': refusedValues,
  'what is installed fits the schemas': schemas,
  'no definition lost anything since the last release': compatible,
  'statuses mean the same to everyone': statuses,
  'each alert fires where it should': alerts,
};

async function helm(...args: readonly string[]): Promise<Printed> {
  return runProgram(await build('helm', into), args);
}

const policies = 'activation=true,policies.activation=true,policies.secretReferences=true';
const variants = [
  [overlay('cluster-wide'), 'apphosting-system', []],
  [overlay('activation'), 'apphosting-system', ['--set', 'activation=true']],
  [join(import.meta.dirname, 'with-policies'), 'apphosting-system', ['--set', policies]],
  [overlay('namespaced'), 'apphosting', ['--set', 'scope=Namespace,crds.install=false,roles.install=false']],
] as const;

async function sameObjects(): Promise<readonly string[]> {
  const { kubectl } = await findBinaries(surroundings(), progressOn(process.stderr));
  const wrong: string[] = [];
  for (const [name, namespace, flags] of variants) {
    const kustomized = await runProgram(kubectl, ['kustomize', name]);
    const charted = await helm('template', 'apphosting', chart, '--namespace', namespace, ...flags);
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

async function refusedValues(): Promise<readonly string[]> {
  const { code: lint, stdout } = await helm('lint', '--strict', chart);
  const bad = ['replicas=0', 'scope=Everything', 'replica=2', 'networkPolicy.egressPorts=443'];
  const accepted = [];
  for (const value of bad) {
    const { code } = await helm('template', 'x', chart, '--set', value);
    if (code === 0) accepted.push(`accepts ${value}`);
  }
  return [...(lint === 0 ? [] : [stdout]), ...accepted];
}

/** Samples against the schemas that the definitions carry; a closed network has no schemas of Kubernetes itself. */
async function schemas(): Promise<readonly string[]> {
  const folder = join(into, 'schemas');
  await mkdir(folder, { recursive: true });
  for (const file of await readdir(join(root, 'crds'))) {
    for (const document of parseAllDocuments(await readFile(join(root, 'crds', file), 'utf8'))) {
      const { spec } = document.toJS() as {
        spec: { names: { kind: string }; versions: { name: string; schema: { openAPIV3Schema: object } }[] };
      };
      for (const { name, schema } of spec.versions)
        await writeFile(
          join(folder, `${spec.names.kind.toLowerCase()}_${name}.json`),
          JSON.stringify(schema.openAPIV3Schema),
        );
    }
  }
  const tool = await build('kubeconform', into);
  const location = join(folder, '{{ .ResourceKind }}_{{ .ResourceAPIVersion }}.json');
  const samples = ['deploy/samples', 'deploy/samples-more'].map((one) => join(root, one));
  const flags = ['-schema-location', location, '-skip', 'Secret,ConfigMap', '-summary'];
  const { code, stdout, stderr } = await runProgram(tool, [...flags, ...samples]);
  return code === 0 ? [] : [`${stdout}${stderr}`];
}

/** Against the definitions of the newest tag; before the first release there is nothing to lose. */
async function compatible(): Promise<readonly string[]> {
  const tag = await runProgram('git', ['describe', '--tags', '--abbrev=0', '--match', 'v*'], { cwd: root });
  const since = tag.code === 0 ? tag.stdout.trim() : undefined;
  if (since === undefined) process.stdout.write('  there is no release yet: compared with the last commit instead\n');
  const tool = await build('crdify', into);
  const wrong: string[] = [];
  for (const file of await readdir(join(root, 'crds'))) {
    const old = await runProgram('git', ['show', `${since ?? 'HEAD'}:crds/${file}`], { cwd: root });
    if (old.code !== 0) continue; // It is new.
    const before = join(into, `before-${file}`);
    await writeFile(before, old.stdout);
    const files = [before, join(root, 'crds', file)].map((path) => `file://${path}`);
    const { code, stdout, stderr } = await runProgram(tool, files);
    if (code !== 0) wrong.push(`${file}: ${stdout}${stderr}`);
  }
  return wrong;
}

interface Opinions {
  readonly name: string;
  readonly kstatus: string;
  readonly flux: string;
  readonly cel: string;
  readonly argo: string;
}

async function statuses(): Promise<readonly string[]> {
  const tool = await build('statuses', into);
  const table = rows();
  const health = await readFile(join(root, 'deploy', 'argocd', 'lua', 'health.lua'), 'utf8');
  const team = parseAllDocuments(await readFile(join(root, 'deploy', 'flux', 'team.yaml'), 'utf8'))[0]?.toJS() as {
    spec: { healthCheckExprs: readonly object[] };
  };
  const input = JSON.stringify({ health, expressions: team.spec.healthCheckExprs[0], rows: table });
  const { code, stdout, stderr } = await runProgram(tool, [], { input });
  if (code !== 0) return [stderr];
  const found = new Map((JSON.parse(stdout) as readonly Opinions[]).map((one) => [one.name, one]));
  return table.flatMap((row) => {
    const { name, kstatus } = row;
    const said = found.get(name);
    const wanted = { kstatus, flux: kstatus, argo: argoOf(row) };
    // Flux asks kstatus about deletions itself, and an expression about a status without conditions cannot be evaluated yet.
    const expressed = kstatus === 'Terminating' || said?.cel === 'error' || said?.cel === kstatus;
    const same = said?.kstatus === wanted.kstatus && said.flux === wanted.flux && said.argo === wanted.argo;
    return same && expressed ? [] : [`${name}: ${JSON.stringify(said)}, wanted ${JSON.stringify(wanted)}`];
  });
}

async function alerts(): Promise<readonly string[]> {
  const tool = await build('rules', into);
  const { code, stdout, stderr } = await runProgram(tool, [join(import.meta.dirname, 'rules.test.yaml')]);
  return code === 0 ? [] : [`${stdout}${stderr}`];
}

async function main(): Promise<number> {
  const only = process.argv.slice(2);
  let failures = 0;
  for (const [name, check] of Object.entries(checks)) {
    if (only.length > 0 && !only.some((word) => name.includes(word))) continue;
    const wrong = await check().catch((error: unknown) => [error instanceof Error ? error.message : String(error)]);
    failures += wrong.length;
    process.stdout.write(
      `${wrong.length === 0 ? 'passed' : 'FAILED'}  ${name}\n${wrong.map((one) => `  ${one}\n`).join('')}`,
    );
  }
  return failures === 0 ? 0 : 1;
}

process.exitCode = await main();
