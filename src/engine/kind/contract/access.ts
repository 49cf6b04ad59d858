/** What the engine does with the Kubernetes API besides its own kinds; the permissions are made from this list. */
export interface KubePermission {
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** `objects` is wherever resources of ours are, `own` the operator's namespace, `cluster` what belongs to no namespace. */
  readonly where: 'objects' | 'own' | 'cluster';
  /** Shown in docs/security.md and in the generated files. */
  readonly because: string;
}

/** Everything that the engine asks of the Kubernetes API besides its own kinds. */
export const accesses: readonly KubePermission[] = [
  {
    group: '',
    resources: ['secrets'],
    verbs: ['get', 'list', 'watch'],
    where: 'objects',
    because: 'reads the Secrets that specs name, and sees when they change; with --secret-watch=off only get is used',
  },
  {
    group: '',
    resources: ['configmaps'],
    verbs: ['get', 'list', 'watch'],
    where: 'objects',
    because:
      'reads the ConfigMaps that specs name, and sees when they change; with --secret-watch=off only get is used',
  },
  {
    group: 'events.k8s.io',
    resources: ['events'],
    verbs: ['create', 'patch'],
    where: 'objects',
    because: 'tells what happened to a resource',
  },
  {
    group: '',
    resources: ['namespaces'],
    verbs: ['list', 'watch'],
    where: 'cluster',
    because: 'decides by labels which namespaces may use a ClusterHostingAccount',
  },
  {
    group: 'coordination.k8s.io',
    resources: ['leases'],
    verbs: ['get', 'create', 'update'],
    where: 'own',
    because: 'agrees with its other replicas on who acts',
  },
  {
    group: '',
    resources: ['secrets'],
    verbs: ['get', 'create'],
    where: 'own',
    because: 'keeps the key of its fingerprints and marks, and reads the Secrets of cluster accounts',
  },
];
