/*
 * The rules of openshift/crd-schema-checker about one definition, said again: its module cannot be had from Go's proxy. Its rules
 * about two versions are those of crdify, and its budget of CEL is the API server's own: see docs/design/testing.md.
 */
import { describe, expect, it } from 'vitest';
import { type Definition, definitions, nodesIn } from './definitions.ts';
import type { Structural } from '../support/definitions/structural.ts';

/** What there is to say against a definition, one `rule: Kind path` a line. */
function findingsIn({ spec }: Definition): readonly string[] {
  return spec.versions.flatMap(({ schema, subresources }) => [
    ...(subresources?.status === undefined ? [`MustHaveStatus: ${spec.names.kind}`] : []),
    ...nodesIn(schema.openAPIV3Schema).flatMap(([path, node]) =>
      brokenAt(node, path).map((rule) => `${rule}: ${spec.names.kind} ${path}`),
    ),
  ]);
}

/** The rules that a node breaks. */
function brokenAt(node: Structural, path: string): readonly string[] {
  const listType = node['x-kubernetes-list-type'] ?? '';
  const isKnownList = ['map', 'set', 'atomic'].includes(listType);
  const rules = [
    ['NoBools', node.type === 'boolean'],
    ['NoFloats', node.type === 'number'],
    ['NoUints', node.format?.startsWith('uint') === true],
    ['NoMaps', node.additionalProperties !== undefined],
    ['ListsMustHaveSSATags', node.type === 'array' && !isKnownList],
    ['ConditionsMustHaveProperSSATags', path.endsWith('.conditions') && !areConditions(node)],
  ] as const;
  return rules.flatMap(([rule, isBroken]) => (isBroken ? [rule] : []));
}

function areConditions(node: Structural): boolean {
  const wanted = ['lastTransitionTime', 'message', 'reason', 'status', 'type'];
  const keys = node['x-kubernetes-list-map-keys'] ?? [];
  const required = node.items?.required ?? [];
  const isKeyed = node['x-kubernetes-list-type'] === 'map' && keys.length === 1 && keys[0] === 'type';
  return isKeyed && wanted.every((name) => required.includes(name) && node.items?.properties?.[name] !== undefined);
}

const service = 'a field of the service that is on or off there and cannot become more';
/** Why a finding stays; a new one needs a line here. */
const accepted: readonly (readonly [finding: string, because: string])[] = [
  [
    'NoMaps: ClusterHostingAccount .spec.allowedNamespaces.selector.matchLabels',
    'a label selector as Kubernetes has it',
  ],
  ['NoMaps: HostedApp .spec.atCreation.database.settings', 'names are the service’s and differ by database'],
  ['NoFloats: MetricAlert .spec.threshold', 'docs/design/status-and-conditions.md#thresholds-are-numbers'],
  ['NoBools: AppEnvironment .spec.deploy.build.forceNewBuild', service],
  ['NoBools: AppEnvironment .spec.deploy.build.rebuild', service],
  ['NoBools: AppEnvironment .spec.startupConfig.shell', service],
  ['NoBools: ContactPoint .spec.verifyConfig', service],
  ['NoBools: DisasterProtection .spec.target.createNewApp', service],
  ['NoBools: HostedApp .spec.applyImmediately', service],
  ['NoBools: HostedApp .spec.atCreation.database.withPersistence', service],
  ['NoBools: HostedApp .spec.jobConfig.shell', service],
  ['NoBools: HostedApp .spec.source.cliDeployment', service],
  ['NoBools: MetricAlert .spec.enabled', service],
  ['NoBools: RecoveryActivation .spec.target.createNewApp', service],
];
// What the service says is told as it says it; nobody writes or merges it but the operator.
const mirrored = /^(?:NoBools|NoFloats|NoMaps): \w+ \.status\./u;

describe('the definitions', () => {
  it('break no rule of crd-schema-checker but for a reason', () => {
    const findings = definitions.flatMap(findingsIn).filter((finding) => !mirrored.test(finding));

    expect(definitions.length).toBeGreaterThan(10);
    expect(findings.toSorted()).toEqual(accepted.map(([finding]) => finding).toSorted());
  });

  it('would be found out otherwise', () => {
    const properties = {
      on: { type: 'boolean' },
      part: { type: 'number' },
      size: { type: 'integer', format: 'uint32' },
      names: { type: 'array', items: { additionalProperties: { type: 'string' } } },
      conditions: { type: 'array', 'x-kubernetes-list-type': 'atomic' },
    };
    const versions = [{ schema: { openAPIV3Schema: { properties } } }];

    expect(findingsIn({ spec: { names: { kind: 'Bad' }, versions } })).toEqual([
      'MustHaveStatus: Bad',
      'NoBools: Bad .on',
      'NoFloats: Bad .part',
      'NoUints: Bad .size',
      'ListsMustHaveSSATags: Bad .names',
      'NoMaps: Bad .names[]',
      'ConditionsMustHaveProperSSATags: Bad .conditions',
    ]);
  });
});
