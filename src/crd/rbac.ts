/**
 * Builds the RBAC roles. The operator gets only the permissions that it uses. Users get roles that match how dangerous
 * each kind is.
 */
import { group, type KindIdentity } from '../engine/kind/contract/define.ts';

/** A permission that the operator needs for resources that are not of its own kinds, such as Secrets. */
interface KubePermission {
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /**
   * The place where the permission is granted. `objects`: in every namespace whose resources the operator serves.
   * `own`: in the operator's namespace. `cluster`: on cluster-scoped resources.
   */
  readonly where: 'objects' | 'own' | 'cluster';
  /** The reason why the operator needs the permission. docs/security.md and the generated files show this text. */
  readonly because: string;
}

/** All permissions that the operator needs for resources that are not of its own kinds, such as Secrets and Leases. */
export const accesses: readonly KubePermission[] = [
  {
    group: '',
    resources: ['secrets'],
    verbs: ['get', 'list', 'watch'],
    where: 'objects',
    because:
      'The operator reads and watches the Secrets that specs name; with --secret-watch=off it needs only the verb get.',
  },
  {
    group: '',
    resources: ['configmaps'],
    verbs: ['get', 'list', 'watch'],
    where: 'objects',
    because:
      'The operator reads and watches the ConfigMaps that specs name; with --secret-watch=off it needs only the verb get.',
  },
  {
    group: 'events.k8s.io',
    resources: ['events'],
    verbs: ['create', 'patch'],
    where: 'objects',
    because: 'The operator creates events about what happened to a resource.',
  },
  {
    group: '',
    resources: ['namespaces'],
    verbs: ['list', 'watch'],
    where: 'cluster',
    because: 'The operator reads the labels of namespaces, to decide which namespaces may use a ClusterHostingAccount.',
  },
  {
    group: 'coordination.k8s.io',
    resources: ['leases'],
    verbs: ['get', 'create', 'update'],
    where: 'own',
    because: 'The replicas of the operator elect their leader with a Lease.',
  },
  {
    group: '',
    resources: ['secrets'],
    verbs: ['get', 'create'],
    where: 'own',
    because: 'The operator keeps its own key in a Secret, and reads the Secrets of ClusterHostingAccounts.',
  },
];

interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** A Role or ClusterRole. */
export interface Role {
  readonly apiVersion: 'rbac.authorization.k8s.io/v1';
  readonly kind: 'Role' | 'ClusterRole';
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly rules: readonly PolicyRule[];
}

function role(kind: Role['kind'], name: string, rules: readonly PolicyRule[], labels?: Record<string, string>): Role {
  const metadata = labels === undefined ? { name } : { name, labels };
  return { apiVersion: 'rbac.authorization.k8s.io/v1', kind, metadata, rules };
}

const plurals = (kinds: readonly KindIdentity[]) => kinds.map(({ plural }) => plural);

/**
 * Builds the rules that let the operator read its own kinds, write their status, and set finalizers on the kinds whose
 * deletion calls the service.
 */
function ownKinds(kinds: readonly KindIdentity[]): readonly PolicyRule[] {
  const held = kinds.filter(({ holds }) => holds);
  const of = (resources: readonly string[], verbs: readonly string[]) => ({ apiGroups: [group], resources, verbs });
  return [
    of(plurals(kinds), ['get', 'list', 'watch']),
    of(
      plurals(kinds).map((plural) => `${plural}/status`),
      ['update'],
    ),
    // A finalizer is part of the metadata, so setting one needs `patch` on the object itself.
    of(plurals(held), ['patch']),
  ];
}

function used(where: readonly KubePermission['where'][]): readonly PolicyRule[] {
  return accesses
    .filter((access) => where.includes(access.where))
    .map(({ group: apiGroup, resources, verbs }) => ({ apiGroups: [apiGroup], resources, verbs }));
}

/** Builds the operator's role when the operator serves the whole cluster. */
export function clusterWide(kinds: readonly KindIdentity[]): readonly Role[] {
  return [role('ClusterRole', 'apphosting-operator', [...ownKinds(kinds), ...used(['objects', 'cluster'])])];
}

/**
 * Builds the operator's role when the operator serves one namespace. The role grants nothing outside of that namespace, and
 * nothing on cluster-scoped kinds.
 */
export function namespaced(kinds: readonly KindIdentity[]): readonly Role[] {
  const inside = kinds.filter(({ scope }) => scope === 'Namespaced');
  return [role('Role', 'apphosting-operator', [...ownKinds(inside), ...used(['objects'])])];
}

/** Builds the operator's role in its own namespace, such as for its Lease. */
export function ownNamespace(): readonly Role[] {
  return [role('Role', 'apphosting-operator-own', used(['own']))];
}

/** The kinds that users with the role `edit` cannot write, each with the group of users that can write the kind. */
const guarded: Readonly<Record<string, 'admin' | 'cluster' | 'activator' | 'resetter'>> = {
  HostingAccount: 'admin',
  MemberAccess: 'admin',
  ClusterHostingAccount: 'cluster',
  RecoveryActivation: 'activator',
  ActivationDiscard: 'activator',
  DisasterReset: 'resetter',
};

const write = ['create', 'update', 'patch', 'delete', 'deletecollection'];
// The verbs that users get on recovery requests. The spec of a recovery request cannot be changed, so users do not get
// `update`; they get `patch` for the metadata.
const writeOnce = ['create', 'patch', 'delete'];
const aggregate = (...to: readonly string[]) =>
  Object.fromEntries(to.map((name) => [`rbac.authorization.k8s.io/aggregate-to-${name}`, 'true']));

/**
 * Builds the roles for users. The roles for view, edit and admin are aggregated to the ClusterRoles of the same name.
 * An administrator binds the roles for activation and reset separately.
 */
export function forUsers(kinds: readonly KindIdentity[]): readonly Role[] {
  const by = (who: string | undefined) => plurals(kinds.filter(({ kind }) => guarded[kind] === who));
  const of = (resources: readonly string[], verbs: readonly string[]) => ({ apiGroups: [group], resources, verbs });
  const read = of(plurals(kinds), ['get', 'list', 'watch']);
  return [
    role('ClusterRole', 'apphosting-view', [read], aggregate('view', 'edit', 'admin')),
    role('ClusterRole', 'apphosting-edit', [of(by(undefined), write)], aggregate('edit', 'admin')),
    role('ClusterRole', 'apphosting-admin', [of(by('admin'), write)], aggregate('admin')),
    role('ClusterRole', 'apphosting-activator', [
      read,
      of(by('activator'), writeOnce),
      of(['disasterprotections'], ['activate']),
    ]),
    role('ClusterRole', 'apphosting-resetter', [read, of(by('resetter'), writeOnce)]),
  ];
}
