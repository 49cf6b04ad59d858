import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { KindIdentity } from '../../src/engine/kind/contract/define.ts';
import { facts, fields, flag } from '../../src/engine/kind/schema/schema.ts';
import { kinds } from '../../src/kinds/index.ts';
import { manifest } from '../../src/crd/manifest.ts';
import { yaml } from '../../src/crd/text.ts';

type Node = Readonly<Record<string, unknown>>;

function versionOf(kind: KindIdentity) {
  const [version] = manifest(kind).spec.versions;
  if (version === undefined) throw new Error('no version');
  return version;
}

/** Problems of a schema as a reader of the generated file sees them: written without the generator's own checks. */
function problemsOf(node: Node, path: string): readonly string[] {
  const own: string[] = [];
  if (node['description'] === undefined && !path.endsWith('.metadata')) own.push(`${path}: no description`);
  if (node['type'] === 'string' && node['maxLength'] === undefined && node['enum'] === undefined) {
    if (!/^\.(apiVersion|kind)$/u.test(path)) own.push(`${path}: no maxLength`);
  }
  if (node['type'] === 'array' && node['maxItems'] === undefined) own.push(`${path}: no maxItems`);
  if (node['type'] === 'array' && node['x-kubernetes-list-type'] === undefined) own.push(`${path}: no list type`);
  if (node['additionalProperties'] !== undefined && node['maxProperties'] === undefined) {
    own.push(`${path}: no maxProperties`);
  }
  if (node['type'] === 'number' && (node['minimum'] === undefined || node['maximum'] === undefined)) {
    own.push(`${path}: no bounds`);
  }
  if (node['type'] === 'object' && !('properties' in node) && !('additionalProperties' in node)) {
    if (path !== '.metadata') own.push(`${path}: no fields`);
  }
  if (node['default'] !== undefined && path !== '.status') own.push(`${path}: a default`);
  for (const word of ['anyOf', 'oneOf', 'allOf', 'not', '$ref', 'nullable']) {
    if (word in node) own.push(`${path}: ${word}`);
  }
  const children = Object.entries((node['properties'] ?? {}) as Readonly<Record<string, Node>>);
  const below = [node['items'], node['additionalProperties']].filter((child) => child !== undefined) as Node[];
  return [
    ...own,
    ...children.flatMap(([name, child]) => problemsOf(child, `${path}.${name}`)),
    ...below.flatMap((child) => problemsOf(child, `${path}[]`)),
  ];
}

describe('problemsOf', () => {
  it('finds what it looks for', () => {
    const bad = {
      description: 'd',
      properties: {
        a: { type: 'string', default: 'x' },
        b: { type: 'array', description: 'd', items: { anyOf: [] } },
        c: { additionalProperties: { description: 'd' }, description: 'd' },
        d: { type: 'number', description: 'd', minimum: 0 },
        e: { type: 'object', description: 'd' },
      },
    };

    expect(problemsOf(bad, '')).toEqual([
      '.a: no description',
      '.a: no maxLength',
      '.a: a default',
      '.b: no maxItems',
      '.b: no list type',
      '.b[]: no description',
      '.b[]: anyOf',
      '.c: no maxProperties',
      '.d: no bounds',
      '.e: no fields',
    ]);
  });
});

describe.each(kinds)('the definition of $kind', (kind) => {
  it('bounds and describes everything', () => {
    expect(problemsOf(versionOf(kind).schema.openAPIV3Schema, '')).toEqual([]);
  });

  it('has columns by condition type, the id only when asked for, and the age last', () => {
    const { additionalPrinterColumns: columns } = versionOf(kind);

    expect(columns.slice(0, 2)).toMatchObject([
      { name: 'READY', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
      { name: 'REASON', jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
    ]);
    expect(columns.at(-1)).toMatchObject({ name: 'AGE', type: 'date' });
    expect(columns.filter(({ name, priority }) => name === 'ID' && priority !== 1)).toEqual([]);
    expect(new Set(columns.map(({ name }) => name)).size).toBe(columns.length);
  });

  it('has columns and selectable fields that exist', () => {
    const { schema, selectableFields, additionalPrinterColumns } = versionOf(kind);
    const plain = additionalPrinterColumns.map(({ jsonPath }) => jsonPath).filter((path) => !path.includes('['));
    const paths = [...selectableFields.map(({ jsonPath }) => jsonPath), ...plain];

    const missing = paths.filter(
      (path) => path !== '.metadata.creationTimestamp' && !has(schema.openAPIV3Schema, path),
    );

    expect(missing).toEqual([]);
    // https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-selectors
    expect(selectableFields.length).toBeLessThanOrEqual(8);
  });

  it('tells Argo CD, Flux and Helm that it stays when they take away what is theirs', () => {
    expect(manifest(kind).metadata.annotations).toMatchObject({
      'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
      'helm.sh/resource-policy': 'keep',
      'kustomize.toolkit.fluxcd.io/prune': 'disabled',
    });
  });

  it('has nothing that Flux or YAML 1.1 would read otherwise', () => {
    const text = yaml([manifest(kind)]);

    expect(text.split('\n')[0]).toBe('# Generated by npm run generate; do not edit.');
    expect(text).not.toContain('${');
    expect(parse(text, { version: '1.1' })).toEqual(JSON.parse(JSON.stringify(manifest(kind))));
    expect(manifest(kind).metadata.annotations).toMatchObject({ 'kustomize.toolkit.fluxcd.io/substitute': 'disabled' });
  });
});

function has(root: Node, path: string): boolean {
  const found = path
    .split('.')
    .filter((part) => part !== '')
    .reduce<Node | undefined>(
      (node, part) => (node?.['properties'] as Readonly<Record<string, Node>> | undefined)?.[part],
      root,
    );
  return found !== undefined;
}

describe('manifest', () => {
  const base = kinds[0];
  if (base === undefined) throw new Error('no kinds');

  it('refuses status fields that every kind has already', () => {
    const kind = { ...base, facts: facts({ journal: flag('A journal.').optional() }) };

    expect(() => manifest(kind)).toThrow('repeats fields that the status of every kind has: journal');
  });

  it('adds no rule on names where none is taken from metadata', () => {
    const kind = { ...base, spec: fields('A spec.', { on: flag('On.') }) };

    expect(versionOf(kind).schema.openAPIV3Schema).not.toHaveProperty('x-kubernetes-validations');
  });
});

describe('the definitions together', () => {
  it('have names that differ', () => {
    const names = kinds.flatMap(({ kind, plural, shortNames }) => [kind.toLowerCase(), plural, ...shortNames]);

    expect(new Set(names).size).toBe(names.length);
  });
});
