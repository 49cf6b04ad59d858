import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { rulesOf } from '../../src/engine/kind/schema/rules.ts';
import { identities } from '../../src/kinds/identities.ts';
import { verdicts } from '../scenarios/invalid/index.ts';
import { allEdits } from './support/edits/index.ts';

/** The messages of every rule below a schema, each with its place. */
function messagesIn(schema: z.ZodType, path = ''): readonly (readonly [path: string, message: string])[] {
  const inner = schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema;
  const own = rulesOf(inner).map(({ message }) => [path, message] as const);
  if (inner instanceof z.ZodArray) return [...own, ...messagesIn(inner.element as z.ZodType, `${path}[]`)];
  if (inner instanceof z.ZodRecord) return [...own, ...messagesIn(inner.valueType as z.ZodType, `${path}{}`)];
  if (!(inner instanceof z.ZodObject)) return own;
  const children = Object.entries(inner.shape) as [string, z.ZodType][];
  return [...own, ...children.flatMap(([name, child]) => messagesIn(child, `${path}.${name}`))];
}

/** The scenarios ask the API server about the same table: both must say the same. */
describe.each(verdicts)('our own parse of a $kind', ({ kind, accepted, refused, changes }) => {
  const parse = (spec: unknown) =>
    identities.find((identity) => identity.kind === kind)?.spec.safeParse(JSON.parse(JSON.stringify(spec)));

  it.each([...accepted, ...changes.map(({ because, from }) => ({ because, spec: from }))])(
    'accepts: $because',
    ({ spec }) => {
      expect(parse(spec)?.error).toBeUndefined();
    },
  );

  it.each(refused)('refuses: $because', ({ spec }) => {
    expect(parse(spec)?.success).toBe(false);
  });
});

describe('the table of verdicts', () => {
  it.each(allEdits)('has a row for every rule of a $kind', ({ kind, schema }) => {
    const { refused = [], changes = [] } = verdicts.find((one) => one.kind === kind) ?? {};
    const says = [...refused, ...changes].flatMap((row) => row.says ?? []);

    const untried = messagesIn(schema).filter(([, message]) => !says.some((words) => message.includes(words)));

    expect(untried).toEqual([]);
  });

  it('has every kind', () => {
    expect(verdicts.map(({ kind }) => kind).toSorted()).toEqual(identities.map(({ kind }) => kind).toSorted());
  });
});
