/** Finds the GitOps tool that manages an object and would undo a manual edit of it. */
import type { KubeObject } from '../../engine/ports.ts';

/** Finds the GitOps tool that owns an object, with its Application or release; returns undefined if no label or annotation names one. */
export function gitOwnerOf({ metadata }: KubeObject) {
  const { labels = {}, annotations = {} } = metadata;
  const tracked = annotations['argocd.argoproj.io/tracking-id'];
  if (tracked !== undefined) return { tool: 'Argo CD', name: `Application ${tracked.split(':')[0]}` };
  for (const [label, kind] of Object.entries(fluxLabels)) {
    const name = labels[label];
    if (name !== undefined) return { tool: 'Flux', name: `${kind} ${name}` };
  }
  // Argo CD marks its objects with this label when it does not use annotations.
  const instance = labels['argocd.argoproj.io/instance'];
  return instance === undefined ? undefined : { tool: 'Argo CD', name: `Application ${instance}` };
}

const fluxLabels = {
  'kustomize.toolkit.fluxcd.io/name': 'Kustomization',
  'helm.toolkit.fluxcd.io/name': 'HelmRelease',
} as const;
