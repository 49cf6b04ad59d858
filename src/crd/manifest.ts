/** Builds the CustomResourceDefinition of a kind. */
import { z } from 'zod';
import { type Column, group, type KindIdentity, version } from '../engine/kind/contract/define.ts';
import { celName, type CelRule, ownNameKey, type OwnName } from '../engine/kind/schema/schema.ts';
import { CommonStatus, InternalStatus, idOf } from '../engine/kind/schema/status.ts';
import { structural, type Structural } from './structural.ts';

/**
 * Annotations that tell Argo CD, Helm and Flux not to delete the CustomResourceDefinition. Its deletion would delete
 * every resource of the kind.
 */
const kept = {
  'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
  'helm.sh/resource-policy': 'keep',
  'kustomize.toolkit.fluxcd.io/prune': 'disabled',
} as const;

/** Builds the CustomResourceDefinition of a kind. */
export function manifest(kind: KindIdentity) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${kind.plural}.${group}`,
      annotations: { ...kept, 'kustomize.toolkit.fluxcd.io/substitute': 'disabled' },
    },
    spec: {
      group,
      scope: kind.scope,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
        shortNames: [...kind.shortNames],
        categories: ['apphosting'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: root(kind) },
          subresources: { status: {} },
          selectableFields: kind.selectable.map((jsonPath) => ({ jsonPath })),
          additionalPrinterColumns: columns(kind).map(printerColumn),
        },
      ],
    },
  };
}

/** Builds the schemas of a kind's spec and status. */
export function schemasOf(kind: KindIdentity): { readonly spec: Structural; readonly status: Structural } {
  return { spec: structural(kind.spec, 'spec'), status: statusSchema(kind) };
}

function root(kind: KindIdentity) {
  const { spec, status } = schemasOf(kind);
  const rules = nameRules(kind.spec);
  return {
    type: 'object',
    description: kind.summary,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: `Always ${group}/${version}.` },
      kind: { type: 'string', description: `Always ${kind.kind}.` },
      metadata: { type: 'object' },
      spec,
      status: { ...status, default: { observedGeneration: -1 } },
    },
    ...(rules.length > 0 && { 'x-kubernetes-validations': rules }),
  };
}

/** Builds the schema of a kind's status: the fields that every kind has, the external id, and the kind's own fields. */
function statusSchema(kind: KindIdentity): Structural {
  const own = structural(kind.facts, 'status');
  const id = kind.idWord === undefined ? {} : { externalId: idOf(kind.kind, kind.idWord) };
  const shared = structural(z.object({ ...CommonStatus.shape, ...id }).meta({ description: 'shared' }), 'status');
  const internal = structural(z.object(InternalStatus).meta({ description: 'internal' }), 'status.internal');
  const taken = { ...shared.properties, ...internal.properties, internal: undefined };
  const facts = Object.entries(own.properties ?? {});
  const twice = facts.map(([name]) => name).filter((name) => name in taken);
  if (twice.length > 0)
    throw new Error(`the status of ${kind.kind} repeats fields that the status of every kind has: ${twice.join(', ')}`);
  const isInternal = (name: string) => kind.internal?.includes(name) === true;
  const stray = kind.internal?.filter((name) => own.properties?.[name] === undefined) ?? [];
  if (stray.length > 0)
    throw new Error(`the internal status fields of ${kind.kind} are not in its schema: ${stray.join(', ')}`);
  return {
    type: 'object',
    description: 'The state that the operator found in the service, and what it did. Never edit status by hand.',
    properties: {
      ...shared.properties,
      ...Object.fromEntries(facts.filter(([name]) => !isInternal(name))),
      internal: {
        type: 'object',
        description:
          'Data that the operator needs after a restart. Its fields may change with every version of the operator; nothing else may read or write them.',
        properties: { ...internal.properties, ...Object.fromEntries(facts.filter(([name]) => isInternal(name))) },
      },
    },
  };
}

/**
 * Builds CEL rules for spec fields that default to metadata.name. The rules are at the root of the schema, because only
 * a rule at the root can read both spec and metadata.
 */
function nameRules(spec: z.ZodType): readonly CelRule[] {
  if (!(spec instanceof z.ZodObject)) return [];
  return Object.entries(spec.shape).flatMap(([field, schema]) => {
    const json = z.toJSONSchema(schema, { io: 'input' });
    const own = json[ownNameKey] as OwnName | undefined;
    return own === undefined ? [] : rulesOfName(field, json.maxLength ?? 253, own);
  });
}

function rulesOfName(field: string, maxLength: number, { fixed }: OwnName): readonly CelRule[] {
  const name = celName(field);
  const effective = (of: string) => `(has(${of}.spec.${name}) ? ${of}.spec.${name} : ${of}.metadata.name)`;
  const fits: CelRule = {
    rule: `has(self.spec.${name}) || size(self.metadata.name) <= ${maxLength}`,
    message: `metadata.name has more than ${maxLength} characters: set spec.${field}`,
  };
  const rule = `${effective('self')} == ${effective('oldSelf')}`;
  // The rule `fits` is needed only if the field allows fewer characters than the 253 that `metadata.name` may have.
  return [
    ...(maxLength < 253 ? [fits] : []),
    ...(fixed === undefined ? [] : [{ rule, message: fixed, reason: 'FieldValueForbidden' } as const]),
  ];
}

/** Builds the columns of `kubectl get`: Ready and its reason, the kind's own columns, the external id, the message and the age. */
function columns(kind: KindIdentity): readonly Column[] {
  const ready = '.status.conditions[?(@.type=="Ready")]';
  const id: readonly Column[] =
    kind.idWord === undefined
      ? []
      : [{ name: 'ID', path: '.status.externalId', wide: true, description: 'The id of the object in the service.' }];
  return [
    {
      name: 'READY',
      path: `${ready}.status`,
      description:
        kind.life === 'account'
          ? 'True if the credential gives access to the account.'
          : 'True if the service equals the spec, or has carried out the request.',
    },
    { name: 'REASON', path: `${ready}.reason`, description: 'The reason of the condition Ready.' },
    ...kind.columns,
    ...id,
    { name: 'MESSAGE', path: `${ready}.message`, wide: true, description: 'The message of the condition Ready.' },
    { name: 'AGE', path: '.metadata.creationTimestamp', type: 'date', description: 'Time since the creation.' },
  ];
}

function printerColumn(column: Column) {
  return {
    name: column.name,
    type: column.type ?? 'string',
    jsonPath: column.path,
    description: column.description,
    ...(column.wide === true && { priority: 1 }),
  };
}
