/** Optional ValidatingAdmissionPolicies that restrict users more finely than roles can. */
import { group, type KindIdentity, version } from '../engine/kind/contract/define.ts';
import { manifest } from './manifest.ts';
import type { Structural } from './structural.ts';

const labels = { 'app.kubernetes.io/name': 'apphosting-operator', 'app.kubernetes.io/part-of': 'apphosting' };

interface Policy {
  readonly name: string;
  readonly operations: readonly ('CREATE' | 'UPDATE')[];
  readonly resources: readonly string[];
  readonly variables?: readonly { readonly name: string; readonly expression: string }[];
  /**
   * A CEL expression. It must call `authorizer` only once, and not once for each Secret, because Kubernetes limits the
   * cost of an expression, and each call uses up a third of the limit.
   */
  readonly expression: string;
  readonly message: string;
}

/** Builds a policy, and the binding that applies it to the whole cluster. */
function inEffect({ name, operations, resources, variables, expression, message }: Policy): readonly object[] {
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const metadata = { name, labels };
  const policy = {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: { resourceRules: [{ apiGroups: [group], apiVersions: [version], operations, resources }] },
      ...(variables !== undefined && { variables }),
      // Refuse with the reason `Forbidden`. On the default reason, `Invalid`, some tools delete the refused object and
      // create it again.
      validations: [{ expression, message, reason: 'Forbidden' }],
    },
  };
  const spec = { policyName: name, validationActions: ['Deny'] };
  return [policy, { apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata, spec }];
}

/** Allows only users with the verb `activate` on a DisasterProtection to create a RecoveryActivation or ActivationDiscard for it. */
export function activationPolicy(): readonly object[] {
  return inEffect({
    name: 'apphosting-activation',
    operations: ['CREATE'],
    resources: ['recoveryactivations', 'activationdiscards'],
    expression: `authorizer.group('${group}').resource('disasterprotections').namespace(object.metadata.namespace).name(object.spec.protectionRef.name).check('activate').allowed()`,
    message: 'you need the verb "activate" on the DisasterProtection that spec.protectionRef names',
  });
}

/**
 * Builds policies that let a user refer to a Secret in a resource only if the user may read the Secrets of the
 * namespace. An update may keep references that the resource already had.
 */
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
        message: 'you need the verb "get" on Secrets in this namespace to let a resource use a Secret',
      });
    });
}

/** The path to a field in a spec: names of properties, `[]` for the items of a list, `{}` for the values of a map. */
type Path = readonly string[];

/** Finds every path at which the spec of a kind can refer to a Secret. */
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

/**
 * Builds a CEL expression that lists the names of Secrets at the given paths of an object; the expression skips absent
 * paths.
 */
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
