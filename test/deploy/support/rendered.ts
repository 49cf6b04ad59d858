import { parseAllDocuments } from 'yaml';

/** An object as an installer renders it. */
export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  readonly spec?: unknown;
}

// What a chart adds to what it installs, and what only says who installed it.
const chartOnly = ['helm.sh/chart', 'app.kubernetes.io/managed-by', 'app.kubernetes.io/instance'];

/** The objects of a stream of YAML by kind and name, without what only says who installed them. */
export function objectsIn(text: string): ReadonlyMap<string, Rendered> {
  const documents = parseAllDocuments(text).map((document) => document.toJS() as Rendered | null);
  return new Map(
    documents.flatMap((object) => {
      if (object === null) return [];
      const metadata = {
        ...object.metadata,
        labels: without(object.metadata.labels),
        annotations: without(object.metadata.annotations),
      };
      return [[`${object.kind} ${object.metadata.name}`, { ...object, metadata }] as const];
    }),
  );
}

function without(fields: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !chartOnly.includes(name)));
}

const clusterWide = [
  'Namespace',
  'CustomResourceDefinition',
  'ClusterRole',
  'ClusterRoleBinding',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
];

/** Whether an object belongs to the cluster and to no namespace of it. */
export function isClusterWide({ kind }: Rendered): boolean {
  return clusterWide.includes(kind);
}

/** The kind and the name of an object. */
export const nameOf = ({ kind, metadata }: Rendered): string => `${kind} ${metadata.name}`;
