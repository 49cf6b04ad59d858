/*
 * `npm run check:deploy`: what only tools of others can say about what is installed, built from their Go modules at the versions
 * in tools/go.mod. It is the last step of `npm test`; where the tools cannot be built, it says so and is no failure.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { isDeepStrictEqual } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';
import { progressOn } from '../../src/sandbox/binaries/progress.ts';
import { programPlaces } from '../../src/config.ts';
import { accepted, foreignKinds, refusedValues, sameObjects, sharedByReleases, type Tools } from './support/chart.ts';
import { documented, fluxTypes, installedBy, waves } from './examples.ts';
import { strays } from './support/kustomized.ts';
import { runProgram } from './support/programs.ts';
import { releasesBefore } from './releases.ts';
import { NotRun, runChecks, type Tally } from './support/report.ts';
import { argoOf, recoverableOf, rows } from './support/statuses.ts';
import { builtTools } from './tools.ts';

const root = join(import.meta.dirname, '..', '..');

/** Runs the checks whose names have one of the words; all of them without any. */
export async function checkDeploy(words: readonly string[] = []): Promise<Tally> {
  let built: Promise<string> | undefined;
  const tools = () => (built ??= builtTools(programPlaces().cacheDir, progressOn(process.stderr)));
  const work = await mkdtemp(join(tmpdir(), 'apphosting-deploy-'));
  try {
    return await runChecks(
      {
        'Helm renders what Kustomize renders': () => sameObjects(tools),
        'the chart refuses values it does not know': () => refusedValues(tools),
        'releases of the chart share nothing': () => sharedByReleases(tools),
        'a real API server takes what Helm renders': () => accepted(tools),
        'everything is where the operator is': strays,
        'kustomizations in documents build': documented,
        'Flux and Argo CD install the operator': installedBy,
        'waves follow references': waves,
        'Prometheus knows every field of its kinds': () => foreignKinds(tools),
        'Flux knows every field of its kinds': () => fluxTypes(tools),
        'samples fit the schemas': () => schemas(tools, work),
        'no definition lost anything since the last release': () => compatible(tools, work),
        'a definition that lost something would be noticed': () => incompatible(tools, work),
        'statuses mean the same to everyone': () => statuses(tools),
        'each alert fires where it should': () => alerts(tools),
      },
      words,
    );
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

interface Node {
  readonly required: string[];
  readonly properties: Record<string, { readonly enum?: string[] } | undefined>;
}

interface Definition {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: { readonly properties: { readonly spec: Node } } };
    }[];
  };
}

/** Samples against the schemas that the definitions carry; a closed network has no schemas of Kubernetes itself. */
async function schemas(tools: Tools, work: string): Promise<readonly string[]> {
  const folder = join(work, 'schemas');
  await mkdir(folder, { recursive: true });
  for (const file of await readdir(join(root, 'crds'))) {
    for (const document of parseAllDocuments(await readFile(join(root, 'crds', file), 'utf8'))) {
      const { spec } = document.toJS() as Definition;
      for (const { name, schema } of spec.versions)
        await writeFile(
          join(folder, `${spec.names.kind.toLowerCase()}_${name}.json`),
          JSON.stringify(schema.openAPIV3Schema),
        );
    }
  }
  const names = join(folder, '{{ .ResourceKind }}_{{ .ResourceAPIVersion }}.json');
  const samples = ['deploy/samples', 'deploy/samples-more'].map((one) => join(root, one));
  const { code, stdout, stderr } = await runProgram(await tools(), ['conform', names, ...samples]);
  return code === 0 ? [] : [`${stdout}${stderr}`];
}

/** Against the definitions of the last releases. */
async function compatible(tools: Tools, work: string): Promise<readonly string[]> {
  const git = (...args: readonly string[]) => runProgram('git', args, { cwd: root });
  const tags = await git('tag', '--list', 'v*', '--merged', 'HEAD', '--sort=-version:refname');
  if (tags.code !== 0) throw new NotRun('this is not a checkout of Git with its commits');
  const releases = releasesBefore(
    tags.stdout.split('\n').filter((tag) => tag !== ''),
    await readFile(join(root, 'CHANGELOG.md'), 'utf8'),
  );
  const now = new Set(await readdir(join(root, 'crds')));
  const wrong: string[] = [];
  for (const since of releases) {
    const listed = await git('ls-tree', '--name-only', since, 'crds/');
    const pairs: string[] = [];
    for (const path of listed.stdout.trim().split('\n')) {
      const file = path.slice('crds/'.length);
      if (!now.has(file)) wrong.push(`${path} was in ${since}, and is gone`);
      else
        pairs.push(await written(join(work, file), (await git('show', `${since}:${path}`)).stdout), join(root, path));
    }
    const { code, stdout, stderr } = await runProgram(await tools(), ['compatible', ...pairs]);
    if (code !== 0) wrong.push(`since ${since}: ${stdout}${stderr}`);
  }
  return wrong;
}

async function written(path: string, text: string): Promise<string> {
  await writeFile(path, text);
  return path;
}

/** Feeds the comparison what it must refuse. */
async function incompatible(tools: Tools, work: string): Promise<readonly string[]> {
  const path = join(root, 'crds', 'metricalerts.yaml');
  const text = await readFile(path, 'utf8');
  const losses: Readonly<Record<string, (spec: Node) => void>> = {
    'a field that went': ({ properties }) => delete properties['threshold'],
    'a value that went': ({ properties }) => properties['operator']?.enum?.pop(),
    'a field that became required': ({ required }) => required.push('duration'),
    'a shorter list': ({ properties }) => Object.assign(properties['contactPointRefs'] ?? {}, { maxItems: 1 }),
    'another type': ({ properties }) => Object.assign(properties['threshold'] ?? {}, { type: 'string' }),
  };
  const unnoticed: string[] = [];
  for (const [name, lose] of Object.entries(losses)) {
    const changed = parseAllDocuments(text)[0]?.toJS() as Definition;
    for (const { schema } of changed.spec.versions) lose(schema.openAPIV3Schema.properties.spec);
    const after = await written(join(work, 'after.yaml'), JSON.stringify(changed));
    const { code } = await runProgram(await tools(), ['compatible', path, after]);
    if (code === 0) unnoticed.push(`${name} is not noticed`);
  }
  return unnoticed;
}

interface Opinions {
  readonly name: string;
  readonly kstatus: string;
  readonly flux: string;
  readonly cel: string;
  readonly argo: string;
}

async function statuses(tools: Tools): Promise<readonly string[]> {
  const table = rows();
  const health = await readFile(join(root, 'deploy', 'argocd', 'lua', 'health.lua'), 'utf8');
  const recovery = parse(await readFile(join(root, 'deploy', 'flux', 'strict-recovery.yaml'), 'utf8'));
  const { spec } = recovery as { readonly spec: { readonly healthCheckExprs: readonly object[] } };
  const input = JSON.stringify({ health, expressions: spec.healthCheckExprs[0], rows: table });
  const { code, stdout, stderr } = await runProgram(await tools(), ['statuses'], { input });
  if (code !== 0) return [stderr];
  const found = new Map((JSON.parse(stdout) as readonly Opinions[]).map((one) => [one.name, one]));
  return table.flatMap((row) => {
    const { name, kstatus } = row;
    const said = found.get(name);
    const wanted = { name, kstatus, flux: kstatus, cel: recoverableOf(row), argo: argoOf(row) };
    return isDeepStrictEqual(said, wanted)
      ? []
      : [`${name}: ${JSON.stringify(said)}, wanted ${JSON.stringify(wanted)}`];
  });
}

async function alerts(tools: Tools): Promise<readonly string[]> {
  const { code, stdout, stderr } = await runProgram(await tools(), [
    'alerts',
    join(import.meta.dirname, 'rules.test.yaml'),
  ]);
  return code === 0 ? [] : [`${stdout}${stderr}`];
}

if (import.meta.main) {
  const { failed, note } = await checkDeploy(process.argv.slice(2));
  if (note !== undefined) process.stdout.write(`${note}\n`);
  process.exitCode = failed === 0 ? 0 : 1;
}
