/* Examples made from the schemas: every bound of every field, broken once in a spec that is accepted otherwise. */
import { structural, type Structural } from '../../../src/crd/structural.ts';
import { kinds } from '../../../src/kinds/index.ts';
import { allEdits } from '../../kinds/support/edits/index.ts';
import { specOf } from '../../kinds/support/edits/table.ts';
import type { Spec, Verdicts } from './table.ts';

/** A spec in which one field breaks one bound. */
export interface Broken {
  /** The field without the places in lists, and the bound. */
  readonly because: string;
  readonly spec: Spec;
  /** The path that the API server must name. */
  readonly at: string;
}

/** The bounds of a node. */
interface Bounds {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
}

/** A value of an accepted spec with its schema. */
interface Place {
  /** The path without the places in lists: `.env[].name`. */
  readonly path: string;
  /** The path as the API server writes it: `.env[0].name`. */
  readonly at: string;
  readonly node: Structural;
  readonly value: unknown;
  /** The whole spec with another value here; undefined takes the field out. */
  readonly put: (value: unknown) => unknown;
}

function isObject(value: unknown): value is Spec {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function placesIn(place: Place): readonly Place[] {
  const { path, at, node, value, put } = place;
  const { properties = {}, items, additionalProperties } = node;
  if (Array.isArray(value) && items !== undefined) {
    const list: readonly unknown[] = value;
    const below = list.map((item, index) => ({
      path: `${path}[]`,
      at: `${at}[${index}]`,
      node: items,
      value: item,
      put: (other: unknown) => put(list.with(index, other)),
    }));
    return [place, ...below.flatMap(placesIn)];
  }
  if (!isObject(value)) return [place];
  const below = Object.entries(value).flatMap(([name, child]): readonly Place[] => {
    const schema = properties[name] ?? additionalProperties;
    if (schema === undefined) return [];
    const isEntry = properties[name] === undefined;
    return [
      {
        path: isEntry ? `${path}{}` : `${path}.${name}`,
        at: `${at}.${name}`,
        node: schema,
        value: child,
        put: (other: unknown) => put({ ...value, [name]: other }),
      },
    ];
  });
  return [place, ...below.flatMap(placesIn)];
}

/** Items that differ in their key, or by themselves. */
function many(place: Place, count: number): readonly unknown[] {
  const [first] = place.value as readonly unknown[];
  const [key] = (place.node['x-kubernetes-list-map-keys'] ?? []) as readonly string[];
  return Array.from({ length: count }, (_, index) => {
    if (key !== undefined && isObject(first)) return { ...first, [key]: `${String(first[key])}${index}` };
    return typeof first === 'string' && place.node['x-kubernetes-list-type'] === 'set' ? `${first}${index}` : first;
  });
}

/** Values that this place must refuse, each by the bound that it breaks. */
function brokenAt(place: Place): Readonly<Record<string, unknown>> {
  const { node, value } = place;
  const { minLength = 0, maxLength, minimum, maximum, minItems = 0, maxItems, maxProperties } = node as Bounds;
  switch (node.type) {
    case 'string':
      return {
        ...(node.enum !== undefined && { 'a word that is none of its words': 'NoneOfThem' }),
        ...(node['pattern'] !== undefined && { 'its pattern': ' '.repeat(Math.max(1, minLength)) }),
        ...(maxLength !== undefined && { 'its greatest length': 'x'.repeat(maxLength + 1) }),
        ...(minLength > 0 && { 'its least length': '' }),
        'its type': 1,
      };
    case 'integer':
    case 'number':
      return {
        ...(minimum !== undefined && { 'its least value': minimum - 1 }),
        ...(maximum !== undefined && { 'its greatest value': maximum + 1 }),
        ...(node.type === 'integer' && { 'a fraction': 1.5 }),
        'its type': 'x',
      };
    case 'boolean':
      return { 'its type': 'true' };
    case 'array':
      return {
        ...(maxItems !== undefined && { 'its greatest size': many(place, maxItems + 1) }),
        ...(minItems > 0 && { 'its least size': [] }),
        ...(node['x-kubernetes-list-type'] !== 'atomic' && {
          'items that differ': [...many(place, 1), ...many(place, 1)],
        }),
        'its type': {},
      };
    default:
      return {
        ...(maxProperties !== undefined && {
          'its greatest size': Object.fromEntries(
            Array.from({ length: maxProperties + 1 }, (_, at) => [`k${at}`, 'v']),
          ),
        }),
        ...(maxProperties === undefined && { 'fields that are known': { ...(value as Spec), fieldOfNobody: 1 } }),
        'its type': [],
      };
  }
}

function placesOf({ kind, accepted, changes }: Verdicts): readonly Place[] {
  const identity = kinds.find((one) => one.kind === kind);
  if (identity === undefined) throw new Error(`no kind ${kind}`);
  const node = structural(identity.spec, 'spec');
  const taken = changes.flatMap(({ from, to, says }) => (says === undefined ? [from, to] : [from]));
  const ofKind = allEdits.filter((edits) => edits.kind === kind);
  const edited = ofKind.flatMap((edits) => edits.rows.map(({ before }) => specOf(edits, before)));
  const all = [...accepted.map(({ spec }) => spec), ...taken, ...edited].flatMap((spec) => {
    const value: unknown = JSON.parse(JSON.stringify(spec));
    return placesIn({ path: '', at: 'spec', node, value, put: (other) => other });
  });
  const paths = new Set<string>();
  // A list says something of its items only where it has some.
  const telling = all.filter(({ value }) => !Array.isArray(value) || value.length > 0);
  return telling.filter(({ path }) => !paths.has(path) && paths.add(path));
}

/** Every place of a spec that no accepted example has, and no row of the table of edits. */
export function unseen(verdicts: Verdicts): readonly string[] {
  const seen = new Set(placesOf(verdicts).map(({ path }) => path));
  const identity = kinds.find((one) => one.kind === verdicts.kind);
  const below = (node: Structural, path: string): readonly string[] => [
    path,
    ...Object.entries(node.properties ?? {}).flatMap(([name, child]) => below(child, `${path}.${name}`)),
    ...(node.items === undefined ? [] : below(node.items, `${path}[]`)),
    ...(node.additionalProperties === undefined ? [] : below(node.additionalProperties, `${path}{}`)),
  ];
  return identity === undefined ? [] : below(structural(identity.spec, 'spec'), '').filter((path) => !seen.has(path));
}

/** For every bound of every place: an accepted example in which just that is broken. */
export function brokenOf(verdicts: Verdicts): readonly Broken[] {
  return placesOf(verdicts).flatMap(({ path, at, node, value, put }) => {
    const place = { path, at, node, value, put };
    const bounds = Object.entries(brokenAt(place)).map(([bound, other]) => ({
      because: `spec${path} keeps ${bound}`,
      spec: put(other) as Spec,
      at,
    }));
    const missing = (node.required ?? []).map((name) => ({
      because: `spec${path}.${name} is required`,
      spec: put({ ...(value as Spec), [name]: undefined }) as Spec,
      at: `${at}.${name}`,
    }));
    return [...bounds.filter(({ spec }) => isObject(spec)), ...missing];
  });
}
