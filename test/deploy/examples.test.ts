import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { kinds } from '../../src/kinds/index.ts';
import { outOfOrder } from './examples.ts';
import { rowsOf } from '../support/documents.ts';
import { straysIn } from './support/kustomized.ts';
import { variants } from './support/variants.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { version } = z.object({ version: z.string() }).parse(JSON.parse(read('package.json')));

/** Every file of YAML under `deploy`, but the templates of the chart, which are none until they are rendered. */
const files = readdirSync(join(root, 'deploy'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.yaml') && !name.includes('/templates/'))
  .map((name) => `deploy/${name}`);

/** What of a file cannot be read, or could be read in two ways. */
function flawsOf(text: string): readonly string[] {
  return parseAllDocuments(text, { uniqueKeys: true }).flatMap(({ errors, warnings }) =>
    [...errors, ...warnings].map(({ message }) => message),
  );
}

const Name = z.object({ name: z.string() });
const About = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string() }),
});
const Kustomization = z.object({
  sourceRef: z.object({ kind: z.literal('GitRepository'), name: z.string() }),
  path: z.string().regex(/^\.\//u),
  dependsOn: z.array(Name).default([]),
  prune: z.boolean(),
  healthCheckExprs: z
    .array(z.strictObject({ apiVersion: z.string(), kind: z.string(), current: z.string(), failed: z.string() }))
    .default([]),
});
const Source = z.object({
  repoURL: z.url(),
  targetRevision: z.string(),
  path: z.string(),
  kustomize: z.strictObject({
    namespace: z.string().optional(),
    images: z.array(z.string().regex(/^[^=]+=.+:[^:/]+$/u)).optional(),
    patches: z.array(z.strictObject({ target: z.looseObject({}), patch: z.string() })),
  }),
});
// What of https://argo-cd.readthedocs.io/en/stable/user-guide/application-specification/ the examples use.
const Application = z.strictObject({
  project: z.string(),
  source: Source,
  destination: z.strictObject({ server: z.url(), namespace: z.string() }),
  syncPolicy: z.strictObject({
    automated: z.strictObject({ prune: z.boolean(), selfHeal: z.boolean() }),
    syncOptions: z.array(z.string().regex(/^[A-Z]\w+=(true|false)$/u)),
    retry: z
      .strictObject({
        limit: z.int(),
        backoff: z.strictObject({ duration: z.string(), factor: z.int(), maxDuration: z.string() }),
      })
      .optional(),
  }),
});

function objectsIn(folder: string) {
  return files
    .filter((path) => dirname(path) === folder)
    .flatMap((path) => parseAllDocuments(read(path)).map((document) => document.toJS() as { spec: unknown }))
    .map((object) => ({ ...About.parse(object), spec: object.spec }));
}

const flux = objectsIn('deploy/flux');
const argo = objectsIn('deploy/argocd').filter(({ kind }) => kind === 'Application');
const has = (kind: string, name: string) => flux.some((one) => one.kind === kind && one.metadata.name === name);

/** Applications whose resources are in sync waves and that prune in those waves. */
const pruningInWaves = (applications: typeof argo) =>
  applications
    .filter((application) => JSON.stringify(application.spec).includes('argocd.argoproj.io/sync-wave'))
    .filter(({ spec }) => !Application.parse(spec).syncPolicy.syncOptions.includes('PruneLast=true'))
    .map(({ metadata }) => metadata.name);

describe('an Application with sync waves', () => {
  it('prunes last, or a deletion that waits for a change in a later wave would hold it up for good', () => {
    expect(pruningInWaves(argo)).toEqual([]);
  });

  it('would be noticed if it did not', () => {
    const text = JSON.stringify(argo).replaceAll('"PruneLast=true"', '"PruneLast=false"');

    expect(pruningInWaves(JSON.parse(text) as typeof argo)).toContain('team-a-hosting');
  });
});

describe('files of YAML', () => {
  it.each(files)('%s can be read in one way', (path) => {
    expect(flawsOf(read(path))).toEqual([]);
  });

  it('would be noticed if they could not', () => {
    expect(flawsOf('a: 1\na: 2\n')).toHaveLength(1);
    expect(files.length).toBeGreaterThan(30);
  });

  it('of Kustomize are all used, and what uses them is there', () => {
    const folder = join(root, 'deploy', 'kustomize');
    const inKustomize = files.filter((path) => path.startsWith('deploy/kustomize/'));
    const used = inKustomize
      .filter((path) => path.endsWith('/kustomization.yaml'))
      .flatMap((path) => {
        const { resources = [] } = parse(read(path)) as { readonly resources?: readonly string[] };
        return resources.map((name) => join(root, dirname(path), name));
      });

    expect(used.filter((path) => !existsSync(path)).map((path) => relative(folder, path))).toEqual([]);
    expect(
      inKustomize.filter((path) => !path.endsWith('/kustomization.yaml') && !used.includes(join(root, path))),
    ).toEqual([]);
  });
});

describe('each component', () => {
  const components = readdirSync(join(root, 'deploy/kustomize/components')).toSorted();

  it('is in the documents, and compared with the chart', () => {
    const listed = rowsOf(read('docs/operating.md').split('Components go with')[1] ?? '', 'You want');

    expect(listed.map(([, name = '']) => name.replaceAll('`', '')).toSorted()).toEqual(components);
    expect([...new Set(variants.flatMap((one) => one.components ?? []))].toSorted()).toEqual(components);
  });
});

describe('the examples for Flux', () => {
  const kustomizations = flux.filter(({ kind }) => kind === 'Kustomization');

  it.each(kustomizations.map((one) => [one.metadata.name, one.spec] as const))(
    '%s refers to what there is',
    (_name, spec) => {
      const { sourceRef, dependsOn, path, healthCheckExprs } = Kustomization.parse(spec);

      expect(has('GitRepository', sourceRef.name)).toBe(true);
      expect(dependsOn.filter(({ name }) => !has('Kustomization', name))).toEqual([]);
      expect(sourceRef.name !== 'apphosting' || existsSync(join(root, path))).toBe(true);
      expect(healthCheckExprs.filter(({ kind }) => !kinds.some((one) => one.kind === kind))).toEqual([]);
    },
  );

  it('tell of Kustomizations that there are, by a provider that there is', () => {
    const Alert = z.object({ providerRef: Name, eventSources: z.array(Name.extend({ kind: z.string() })) });
    const { providerRef, eventSources } = Alert.parse(flux.find(({ kind }) => kind === 'Alert')?.spec);

    expect(has('Provider', providerRef.name)).toBe(true);
    expect(eventSources.map(({ name }) => name)).toEqual(
      kustomizations.map(({ metadata }) => metadata.name).toSorted(),
    );
  });

  it('take the release that this is', () => {
    expect(read('deploy/flux/operator.yaml')).toContain(`tag: v${version}\n`);
    expect(read('deploy/flux/operator.yaml')).toContain(`newTag: ${version}\n`);
  });
});

describe('the examples for Argo CD', () => {
  it.each(argo.map((one) => [one.metadata.name, one.spec] as const))(
    '%s has nothing that Argo CD does not know',
    (_name, spec) => {
      expect(Application.safeParse(spec).error).toBeUndefined();
    },
  );

  it('keep the operator when its Application goes, and let go of what a team has', () => {
    const finalizersOf = (name: string) => argo.find(({ metadata }) => metadata.name === name)?.metadata['finalizers'];

    expect(finalizersOf('apphosting-operator')).toBeUndefined();
    expect(finalizersOf('team-a-hosting')).toEqual(['resources-finalizer.argocd.argoproj.io']);
  });

  it('take the release that this is, from a folder that there is', () => {
    const { source } = Application.parse(argo.find(({ metadata }) => metadata.name === 'apphosting-operator')?.spec);

    expect(source.targetRevision).toBe(`v${version}`);
    expect(source.kustomize.images?.[0]?.split(':').at(-1)).toBe(version);
    expect(statSync(join(root, source.path)).isDirectory()).toBe(true);
  });
});

describe('what the checks of deployments look for', () => {
  const at = (kind: string, namespace?: string) => ({
    apiVersion: 'v1',
    kind,
    metadata: { name: 'one', ...(namespace !== undefined && { namespace }) },
  });

  it('is an object elsewhere than the operator', () => {
    const objects = [at('Deployment', 'ops'), at('Service'), at('ClusterRole'), at('Role', 'ops')];

    expect(straysIn(objects)).toEqual(['Service one is in the default namespace, not ops']);
    expect(straysIn(objects, 'team-a')).toHaveLength(3);
  });

  it('is a resource that goes before what it refers to', () => {
    const account = {
      ...at('HostedApp'),
      metadata: { name: 'shop', annotations: { 'argocd.argoproj.io/sync-wave': '1' } },
    };
    const environment = { ...at('AppEnvironment'), spec: { appRef: { name: 'shop' } } };

    expect(outOfOrder([account, environment])).toEqual(['AppEnvironment one goes before HostedApp shop']);
    expect(outOfOrder([environment])).toEqual(['everything is in one wave']);
  });
});
