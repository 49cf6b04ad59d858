import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { withFolder, withKustomization } from '../support/kustomization.ts';
import { yamlIn } from '../support/documents.ts';
import { runProgram } from './support/programs.ts';
import { built, straysIn } from './support/kustomized.ts';
import { isClusterWide, nameOf, type Rendered } from './support/rendered.ts';
import type { Tools } from './support/chart.ts';

const root = join(import.meta.dirname, '..', '..');
const read = async (path: string) => readFile(join(root, path), 'utf8');

interface Example {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly images?: readonly object[];
    readonly patches?: readonly object[];
    readonly source?: {
      readonly kustomize: { readonly images?: readonly string[]; readonly patches: readonly object[] };
    };
  };
}

async function exampleIn(path: string, name: string): Promise<Example['spec']> {
  const documents = parseAllDocuments(await read(path)).map((document) => document.toJS() as Example);
  const found = documents.find((one) => one.metadata.name === name && one.kind !== 'GitRepository');
  if (found === undefined) throw new Error(`${path} has no ${name}`);
  return found.spec;
}

/** What is wrong with the examples for Flux, as its own types read them. */
export async function fluxTypes(tools: Tools): Promise<readonly string[]> {
  const folder = join(root, 'deploy', 'flux');
  const texts = await Promise.all((await readdir(folder)).map(async (name) => readFile(join(folder, name), 'utf8')));
  const { code, stdout, stderr } = await runProgram(await tools(), ['foreign'], { input: texts.join('\n---\n') });
  return code === 0 ? [] : [`${stdout}${stderr}`];
}

/** What is wrong with the operator as the examples for Flux and Argo CD install it. */
export async function installedBy(): Promise<readonly string[]> {
  const flux = await exampleIn('deploy/flux/operator.yaml', 'apphosting-operator');
  const { source } = await exampleIn('deploy/argocd/operator.yaml', 'apphosting-operator');
  // Argo CD writes images as NAME=NEWNAME:TAG.
  const images = (source?.kustomize.images ?? []).map((image) => {
    const [, name, newName, newTag] = /^([^=]+)=(.+):([^:/]+)$/u.exec(image) ?? [];
    return { name, newName, newTag };
  });
  const wrong: string[] = [];
  for (const [by, says] of [
    ['Flux', { images: flux.images, patches: flux.patches }],
    ['Argo CD', { images, patches: source?.kustomize.patches }],
  ] as const) {
    const objects = await withKustomization({ overlay: 'cluster-wide', says }, built);
    const deployment = JSON.stringify(objects.find(({ kind }) => kind === 'Deployment'));
    if (!deployment.includes('"registry.example.com/platform/apphosting-operator:0.1.0"'))
      wrong.push(`${by}: another image`);
    if (deployment.split('"--allowed-hosts=hosting.example.com"').length !== 2) wrong.push(`${by}: tokens go anywhere`);
    wrong.push(...straysIn(objects, 'apphosting-system').map((line) => `${by}: ${line}`));
  }
  return wrong;
}

const folder = 'deploy/samples-more/golden-path';

/** What is wrong with the waves that the example for Argo CD gives to the folder of a team. */
export async function waves(): Promise<readonly string[]> {
  const { source } = await exampleIn('deploy/argocd/team.yaml', 'team-a-hosting');
  const names = await readdir(join(root, folder));
  const files = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await read(`${folder}/${name}`)])),
  );
  const { patches = [] } = source?.kustomize ?? {};
  const says = { kind: 'Kustomization', resources: names, namespace: 'team-a', patches };
  return withFolder(
    () => ({ ...files, 'kustomization.yaml': says }),
    async (at) => outOfOrder(await built(at)),
  );
}

/** Objects in a wave before that of something they refer to. */
export function outOfOrder(objects: readonly Rendered[]): readonly string[] {
  const waveOf = ({ metadata }: Rendered) => Number(metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? 0);
  const named = (kind: string, name: string) =>
    objects.find((one) => one.metadata.name === name && one.kind.toLowerCase() === kind);
  const used = new Set(objects.map(waveOf));
  const wrong = objects.flatMap((object) => {
    const refs = [...JSON.stringify(object.spec ?? {}).matchAll(/"(\w+)Ref":\{"name":"([^"]+)"/gu)];
    const needed = refs.map(([, field = '', name = '']) => named(kindOf[field] ?? field.toLowerCase(), name));
    const late = needed.filter((one) => one !== undefined && waveOf(one) > waveOf(object));
    return late.map((one) => `${object.kind} ${object.metadata.name} goes before ${one?.kind} ${one?.metadata.name}`);
  });
  return used.size > 1 ? wrong : [...wrong, 'everything is in one wave'];
}

const kindOf: Readonly<Record<string, string>> = {
  app: 'hostedapp',
  environment: 'appenvironment',
  credentials: 'secret',
  protection: 'disasterprotection',
};

/** What is wrong with each kustomization that a document shows, when somebody uses it as it stands. */
export async function documented(): Promise<readonly string[]> {
  const first = await withKustomization({ overlay: 'cluster-wide' }, built);
  const ofTheCluster = first.filter(isClusterWide).map(nameOf);
  const wrong: string[] = [];
  let count = 0;
  for (const page of ['getting-started', 'operating', 'security', 'gitops'])
    for (const text of yamlIn(await read(`docs/${page}.md`)).filter((one) =>
      one.includes('kustomize.config.k8s.io/'),
    )) {
      count += 1;
      // Where the reader has it: beside a checkout, or in one.
      const fromHere = (at: string) =>
        text.replaceAll(/\.\.\/(?:apphosting-operator\/)?deploy\//gu, `${relative(at, join(root, 'deploy'))}/`);
      const objects = await withFolder((at) => ({ 'kustomization.yaml': fromHere(at) }), built);
      const { namespace, nameSuffix } = parse(text) as { readonly namespace?: string; readonly nameSuffix?: string };
      // Whoever has a suffix is the second operator of a cluster.
      const others = nameSuffix === undefined ? [] : objects.filter(isClusterWide).map(nameOf);
      const fought = others.filter((name) => ofTheCluster.includes(name)).map((name) => `${name} is the first one's`);
      wrong.push(...[...straysIn(objects, namespace), ...fought].map((line) => `${page}: ${line}`));
    }
  return count < 4 ? [...wrong, `only ${count} kustomizations were found`] : wrong;
}
