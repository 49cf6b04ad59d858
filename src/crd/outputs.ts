/**
 * Builds the CRDs, the other generated manifests and the reference docs of the kinds in memory, so that writing,
 * checking and testing use the same list.
 */
import { parse } from 'yaml';
import type { KindIdentity } from '../engine/kind/contract/define.ts';
import { argoConfig } from './argocd.ts';
import { manifest } from './manifest.ts';
import { activationPolicy, secretReferencePolicies } from './policies.ts';
import { clusterWide, forUsers, namespaced, ownNamespace } from './rbac.ts';
import { page, pageName, troubleshooting } from './reference.ts';
import { yaml } from './text.ts';

/** Reads a file of the repository; returns undefined if there is no such file. */
export type ReadFile = (path: string) => string | undefined;

/** The folders in which every file is a generated file. */
export const wholeFolders: readonly string[] = ['crds'];

/** Builds the content of each of these files, by its path from the root of the repository. */
export function outputs(kinds: readonly KindIdentity[], read: ReadFile): ReadonlyMap<string, string> {
  const guide = read('docs/troubleshooting.md');
  return new Map([
    ...kinds.map((kind) => [`crds/${kind.plural}.yaml`, yaml([manifest(kind)])] as const),
    ...installed(kinds),
    ...rules(read),
    ['deploy/argocd/argocd-cm.yaml', yaml([argoConfig(kinds, (name) => read(`deploy/argocd/lua/${name}.lua`) ?? '')])],
    ...(guide === undefined ? [] : [['docs/troubleshooting.md', troubleshooting(guide)] as const]),
    ...kinds.map((kind) => {
      const path = `docs/kinds/${pageName(kind.kind)}.md`;
      return [path, page(kind, read(path), sampleOf(kind, read))] as const;
    }),
  ]);
}

/**
 * Builds the installation files, each once for Kustomize and once for Helm, because neither tool can read files outside
 * its own folder.
 */
function installed(kinds: readonly KindIdentity[]): readonly (readonly [string, string])[] {
  const kustomize = 'deploy/kustomize';
  const chart = 'deploy/helm/apphosting-operator/files';
  const parts = [
    [kinds.map(manifest), `${kustomize}/crds/crds.yaml`, `${chart}/crds.yaml`],
    [forUsers(kinds), `${kustomize}/roles/rbac.yaml`, `${chart}/roles.yaml`],
    [ownNamespace(), `${kustomize}/base/rbac.yaml`, `${chart}/own-namespace.yaml`],
    [clusterWide(kinds), `${kustomize}/overlays/cluster-wide/rbac.yaml`, `${chart}/cluster-wide.yaml`],
    [namespaced(kinds), `${kustomize}/overlays/namespaced/rbac.yaml`, `${chart}/namespaced.yaml`],
    [activationPolicy(), `${kustomize}/components/activation-policy/policy.yaml`, `${chart}/activation-policy.yaml`],
    [
      secretReferencePolicies(kinds),
      `${kustomize}/components/secret-reference-policy/policy.yaml`,
      `${chart}/secret-reference-policy.yaml`,
    ],
  ] as const;
  return parts.flatMap(([documents, ...paths]) => {
    const text = yaml(documents);
    return paths.map((path) => [path, text] as const);
  });
}

/** Builds the alerting rules for clusters with the Prometheus operator. */
function rules(read: ReadFile): readonly (readonly [string, string])[] {
  const spec: unknown = parse(read('deploy/prometheus/rules.yaml') ?? '{}');
  const names = { 'app.kubernetes.io/name': 'apphosting-operator', 'app.kubernetes.io/part-of': 'apphosting' };
  const metadata = { name: 'apphosting-operator', labels: names };
  const rule = { apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule', metadata, spec };
  return [
    ['deploy/kustomize/components/monitoring/prometheus-rule.yaml', yaml([rule])],
    ['deploy/helm/apphosting-operator/files/rules.yaml', yaml([Object(spec)])],
  ];
}

/** Reads the sample resource of a kind; the page of the kind shows it as its example. */
function sampleOf(kind: KindIdentity, read: ReadFile): string {
  const name = `${pageName(kind.kind)}.yaml`;
  const sample = read(`deploy/samples/${name}`) ?? read(`deploy/samples-more/${name}`);
  if (sample === undefined) throw new Error(`the kind ${kind.kind} has no sample: write deploy/samples-more/${name}`);
  return sample;
}
