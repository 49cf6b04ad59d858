/** Admission policies that a cluster may add to the roles; each is optional. */
import type { KindIdentity } from '../engine/kind/contract/define.ts';
import { group, manifest, version } from './manifest.ts';
import type { Structural } from './structural.ts';

const labels = { 'app.kubernetes.io/name': 'apphosting-operator', 'app.kubernetes.io/part-of': 'apphosting' };

interface Policy {
  readonly name: string;
  readonly operations: readonly ('CREATE' | 'UPDATE')[];
  readonly resources: readonly string[];
  readonly variables?: readonly { readonly name: string; readonly expression: string }[];
  /** One check of permissions at most: each takes a third of what an expression may cost. */
  readonly expression: string;
  readonly message: string;
}

/** The policy and the binding that puts it into effect everywhere. */
function inEffect({ name, operations, resources, variables, expression, message }: Policy): readonly object[] {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const metadata = { name, labels };
  const policy = {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [group], apiVersions: [version], operations, resources }],
      },
      ...(variables !== undefined && { variables }),
      // Invalid, the default, makes tools delete and create what they should leave alone.
      validations: [{ expression, message, reason: 'Forbidden' }],
    },
  };
  const spec = { policyName: name, validationActions: ['Deny'] };
  return [policy, { apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata, spec }];
}

/** Creating an activation or a discard needs the verb `activate` on the protection that it names. */
export function activationPolicy(): readonly object[] {
  return inEffect({
    name: 'apphosting-activation',
    operations: ['CREATE'],
    resources: ['recoveryactivations', 'activationdiscards'],
    expression: `authorizer.group('${group}').resource('disasterprotections').namespace(object.metadata.namespace).name(object.spec.protectionRef.name).check('activate').allowed()`,
    message: 'you need the verb "activate" on the DisasterProtection that spec.protectionRef names',
  });
}

/** Letting a resource use a Secret needs the permission to read Secrets there; Secrets that it named before may stay. */
export function secretReferencePolicies(kinds: readonly KindIdentity[]): readonly object[] {
  return kinds
    .filter(({ scope }) => scope === 'Namespaced')
    .flatMap((kind) => {
      const paths = secretPaths(kind);
      if (paths.length === 0) return [];
      return inEffect({
        name: `apphosting-secret-references-${kind.plural}`,
        operations: ['CREATE', 'UPDATE'],
        resources: [kind.plural],
        variables: [
          { name: 'named', expression: namesAt('object', paths) },
          { name: 'before', expression: `oldObject == null ? [] : ${namesAt('oldObject', paths)}` },
        ],
        expression:
          "variables.named.all(name, name in variables.before) || authorizer.group('').resource('secrets').namespace(object.metadata.namespace).check('get').allowed()",
        message: 'you need the verb "get" on Secrets in this namespace to let a resource use one',
      });
    });
}

/** Where a spec names a Secret: properties, `[]` for the items of a list, `{}` for the values of a map. */
type Path = readonly string[];

/** Every place in which a spec of this kind can name a Secret. */
export function secretPaths(kind: KindIdentity): readonly Path[] {
  return manifest(kind).spec.versions.flatMap(({ schema }) => pathsIn(schema.openAPIV3Schema.properties.spec));
}

function pathsIn(node: Structural): readonly Path[] {
  const { description, properties = {}, items, additionalProperties: values } = node;
  const { name } = properties;
  const isReference =
    /^(The|A) Secret /.test(description) || name?.description.startsWith('The name of the Secret') === true;
  if (name !== undefined && isReference) return [[]];
  const below = [
    ...Object.entries(properties).map(([step, child]) => [step, child] as const),
    ...(items === undefined ? [] : [['[]', items] as const]),
    ...(typeof values === 'object' ? [['{}', values] as const] : []),
  ];
  return below.flatMap(([step, child]) => pathsIn(child).map((path) => [step, ...path]));
}

/** The names at these paths, as CEL: what is absent on the way is left out. */
function namesAt(object: string, paths: readonly Path[]): string {
  const lists = paths.map((path) => optionalsAt(`${object}.spec`, path));
  return `(${lists.join(' + ')}).filter(name, name.hasValue()).map(name, name.value())`;
}

function optionalsAt(from: string, path: Path): string {
  const many = path.findIndex((step) => step === '[]' || step === '{}');
  const dotted = (steps: Path) => steps.map((step) => `.?${step}`).join('');
  if (many === -1) return `[${from}${dotted([...path, 'name'])}]`;
  const list = `${from}${dotted(path.slice(0, many))}`;
  const rest = dotted([...path.slice(many + 1), 'name']);
  if (path[many] === '[]') return `${list}.orValue([]).map(one, one${rest})`;
  return `${list}.orValue({}).map(key, ${list}[key]${rest})`;
}
