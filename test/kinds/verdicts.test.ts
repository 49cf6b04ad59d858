import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { flawsOf, pathInWords } from '../../src/cli/definitions.ts';
import { rulesOf, type CelRule } from '../../src/engine/kind/schema/schema.ts';
import { kinds } from '../../src/kinds/index.ts';
import { brokenOf, unseen } from '../scenarios/invalid/bounds.ts';
import { verdicts } from '../scenarios/invalid/index.ts';
import type { Spec } from '../scenarios/invalid/table.ts';
import { allEdits } from './support/edits/index.ts';

/** The places of every rule below a schema, each with its message. */
function rulesIn(schema: z.ZodType, path = ''): readonly (readonly [path: string, rule: CelRule])[] {
  const inner = schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema;
  const own = rulesOf(inner).map((rule) => [path, rule] as const);
  if (inner instanceof z.ZodArray) return [...own, ...rulesIn(inner.element as z.ZodType, `${path}[]`)];
  if (inner instanceof z.ZodRecord) return [...own, ...rulesIn(inner.valueType as z.ZodType, `${path}{}`)];
  if (!(inner instanceof z.ZodObject)) return own;
  const children = Object.entries(inner.shape) as [string, z.ZodType][];
  return [...own, ...children.flatMap(([name, child]) => rulesIn(child, `${path}.${name}`))];
}

/** The rules that these specs break, as `path: message`. */
function brokenIn(kind: string, specs: readonly Spec[]): ReadonlySet<string> {
  const metadata = { name: 'a-name' };
  const flaws = specs.flatMap((spec) => flawsOf(kind, { metadata, spec: JSON.parse(JSON.stringify(spec)) as Spec }));
  return new Set(
    flaws.map(({ path, message }) => `${pathInWords(path.slice(1)).replaceAll(/\[\d+\]/gu, '[]')}: ${message}`),
  );
}

/** The scenarios ask the API server about the same table: both must say the same. */
describe.each(verdicts)('our own parse of a $kind', (verdict) => {
  const { kind, accepted, refused, changes } = verdict;
  const broken = brokenOf(verdict);
  const parse = (spec: unknown) =>
    kinds.find((identity) => identity.kind === kind)?.spec.safeParse(JSON.parse(JSON.stringify(spec)));

  it.each([...accepted, ...changes.map(({ because, from }) => ({ because, spec: from }))])(
    'accepts: $because',
    ({ spec }) => {
      expect(parse(spec)?.error).toBeUndefined();
    },
  );

  it.each(refused)('refuses: $because', ({ spec }) => {
    expect(parse(spec)?.success).toBe(false);
  });

  it('refuses what breaks any bound of any field', () => {
    const taken = broken.filter(({ spec }) => parse(spec)?.success !== false);

    expect(taken.map(({ because }) => because)).toEqual([]);
    expect(broken.length).toBeGreaterThan(0);
  });
});

describe('the table of verdicts', () => {
  it.each(allEdits)('has a row for every rule of a $kind, at each of its places', ({ kind, schema }) => {
    const { refused = [], changes = [] } = verdicts.find((one) => one.kind === kind) ?? {};
    const broken = brokenIn(
      kind,
      refused.map(({ spec }) => spec),
    );
    const says = changes.flatMap((row) => row.says ?? []);
    const isTried = ([path, { rule, message, fieldPath = '' }]: readonly [string, CelRule]) =>
      rule.includes('oldSelf')
        ? says.some((words) => message.includes(words))
        : broken.has(`${`${path}${fieldPath}`.replace(/^\./u, '')}: ${message}`);

    const untried = rulesIn(schema).filter((one) => !isTried(one));

    expect(untried.map(([path, { message }]) => `${path}: ${message}`)).toEqual([]);
  });

  it.each(verdicts)('accepts every field of a $kind in some example', (kind) => {
    expect(unseen(kind), 'not in an accepted spec of test/scenarios/invalid, nor in a row of the edits').toEqual([]);
  });

  it('has every kind', () => {
    expect(verdicts.map(({ kind }) => kind).toSorted()).toEqual(kinds.map(({ kind }) => kind).toSorted());
  });
});
