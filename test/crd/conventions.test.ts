/* The rules of docs/api-conventions.md, held over the definitions that users install. */
import { describe, expect, it } from 'vitest';
import { type Definition, definitions, nodesIn } from './definitions.ts';
import type { Structural } from '../support/definitions/structural.ts';

/** A node with where it is. */
interface Place {
  readonly kind: string;
  readonly path: string;
  readonly name: string;
  readonly node: Structural;
}

/** Names and spans of time that the service gives out stand as in its manual. */
const verbatim = new Set(['metric', 'duration', 'queryRange']);
/** What stands in status for the operator alone may be called as it likes. */
const ours = '.status.internal';
const serviceWords = new Set(['appId', 'appEnvId', 'contactPointId', 'alertId', 'membershipId', 'mode']);
const lifecycle = new Set(['managementPolicy', 'adoption', 'drift', 'onDelete', 'onMissing']);
const british = /enrol(?!l)|catalogue|behaviour|colour|favour|licence|centre|fulfil(?!l)|cancell(?!ation)/iu;

/** The last name of a path. */
function nameAt(path: string): string {
  return path.split(/[.[{]/u).findLast((part) => part !== ']' && part !== '}' && part !== '') ?? '';
}

/** What breaks a rule of names, values or lists, one `rule: Kind path` a line. */
function findingsAt({ kind, path, name, node }: Place): readonly string[] {
  const inSpec = path.startsWith('.spec');
  const fields = Object.keys(node.properties ?? {});
  const isRef = node.type === 'object' && /Refs?$/u.test(name) && !/(secret|configMap)KeyRef$/u.test(name);
  const isTime = node.format === 'date-time';
  const items = node.items?.properties ?? {};
  const rules = {
    'a value from elsewhere is called valueFrom': inSpec && name.endsWith('From') && name !== 'valueFrom',
    'valueFrom has secretKeyRef and configMapKeyRef only':
      name === 'valueFrom' && fields.some((field) => field !== 'secretKeyRef' && field !== 'configMapKeyRef'),
    'a key has a name and a key': name.endsWith('KeyRef') && fields.toSorted().join() !== 'key,name',
    'a reference has name, externalId or kind only':
      isRef && fields.some((field) => field !== 'name' && field !== 'externalId' && field !== 'kind'),
    'the words of the service for what a kind of ours stands for are no fields of a spec':
      inSpec && serviceWords.has(name),
    'a time ends in Time': isTime && !/(Time|Until)$/u.test(name),
    'what ends in Time is a time': /[a-z]Time$/u.test(name) && node.type === 'string' && !isTime,
    'what ends in At is an echo': /[a-z]At$/u.test(name) && !name.startsWith('lastHandled'),
    'a choice is PascalCase':
      !verbatim.has(name) && (node.enum ?? []).some((word) => !/^[A-Z][A-Za-z0-9]*$/u.test(word)),
    // A set of named risks may know only one so far.
    'a choice leaves one': node.enum?.length === 1 && !path.endsWith('acknowledgements[]'),
    'lifecycle has the fields that the rules name':
      name === 'lifecycle' && fields.some((field) => !lifecycle.has(field)),
    'an environment is called environment': /app_?env|envname/iu.test(name),
    'an id of what the object stands for is externalId': name === 'id' || path === '.status.generation',
    'only status has a default': node.default !== undefined && path !== '.status',
    'a list of a spec is a map by name where items have one':
      inSpec &&
      node.type === 'array' &&
      node.items?.required?.includes('name') === true &&
      items['name'] !== undefined &&
      node['x-kubernetes-list-map-keys']?.join() !== 'name',
    'a list of a spec may be shared, unless its order counts or its items have no name':
      inSpec &&
      node.type === 'array' &&
      node.items?.type === 'string' &&
      node['x-kubernetes-list-type'] !== 'set' &&
      name !== 'args' &&
      name !== 'values',
    'US spelling': british.test(`${name} ${node.description ?? ''}`),
    'what only the operator reads is internal': /^\.status\.(journal|applied|binding|ownership)$/u.test(path),
  };
  return Object.entries(rules).flatMap(([rule, broken]) => (broken ? [`${rule}: ${kind} ${path}`] : []));
}

/** What there is to say against a definition. */
function findingsIn({ spec }: Definition): readonly string[] {
  return spec.versions
    .flatMap(({ schema }) => nodesIn(schema.openAPIV3Schema))
    .filter(([path]) => !path.startsWith(`${ours}.`))
    .flatMap(([path, node]) => findingsAt({ kind: spec.names.kind, path, name: nameAt(path), node }));
}

describe('the definitions', () => {
  it('keep the rules of docs/api-conventions.md', () => {
    expect(definitions.length).toBeGreaterThan(10);
    expect(definitions.flatMap(findingsIn)).toEqual([]);
  });

  it('keep what only the operator reads in status.internal', () => {
    const missing = definitions.flatMap(({ spec }) =>
      spec.versions.flatMap(({ schema }) => {
        const internal = schema.openAPIV3Schema.properties?.['status']?.properties?.['internal'];
        return ['journal', 'applied', 'binding', 'ownership'].filter((field) => !internal?.properties?.[field]);
      }),
    );

    expect(missing).toEqual([]);
  });

  it('would be found out otherwise', () => {
    const properties = {
      urlFrom: { type: 'object', properties: {} },
      valueFrom: { type: 'object', properties: { fieldRef: {} } },
      secretKeyRef: { type: 'object', properties: { name: {} } },
      appRef: { type: 'object', properties: { name: {}, namespace: {} } },
      appEnvId: { type: 'string' },
      id: { type: 'string' },
      madeTime: { type: 'string' },
      made: { type: 'string', format: 'date-time' },
      madeAt: { type: 'string' },
      operator: { type: 'string', enum: ['gt', 'lt'] },
      only: { type: 'string', enum: ['Retain'] },
      lifecycle: { type: 'object', properties: { mode: { type: 'string' } } },
      port: { type: 'integer', default: 80 },
      env: { type: 'array', items: { type: 'object', required: ['name'], properties: { name: {} } } },
      words: { type: 'array', items: { type: 'string' } },
      colour: { type: 'string' },
    };
    const status = { type: 'object', properties: { journal: { type: 'object' } } };
    const openAPIV3Schema = { properties: { spec: { type: 'object', properties }, status } };

    const findings = findingsIn({ spec: { names: { kind: 'Bad' }, versions: [{ schema: { openAPIV3Schema } }] } });

    expect(findings.map((finding) => finding.replace(/^.* Bad /u, ''))).toEqual([
      '.spec.urlFrom',
      '.spec.valueFrom',
      '.spec.secretKeyRef',
      '.spec.appRef',
      '.spec.appEnvId',
      '.spec.appEnvId',
      '.spec.id',
      '.spec.madeTime',
      '.spec.made',
      '.spec.madeAt',
      '.spec.operator',
      '.spec.only',
      '.spec.lifecycle',
      '.spec.lifecycle.mode',
      '.spec.port',
      '.spec.env',
      '.spec.words',
      '.spec.colour',
      '.status.journal',
    ]);
  });
});
