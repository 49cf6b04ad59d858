import { describe, expect, it } from 'vitest';
import { isRecord } from '../../../src/base/json.ts';
import { loadDocuments } from '../../../src/cli/documents/load.ts';
import { makePlan } from '../../../src/cli/plan/make-plan.ts';
import { sortDocuments } from '../../../src/cli/plan/scenes.ts';
import { resourceOf } from '../../../src/engine/kind/contract/define.ts';
import { kinds } from '../../../src/kinds/index.ts';
import { Bench, materials } from '../../kinds/support/edits/bench.ts';
import { allEdits } from '../../kinds/support/edits/index.ts';
import { without, type Edits, type Outcome, type Spec } from '../../kinds/support/edits/table.ts';
import { folderOf } from '../support/folder.ts';
import { readerOf } from '../support/in-memory.ts';

/* What a plan with --base tells of each edit is the call that test/kinds/edits.test.ts has seen for it. */

interface Try {
  readonly name: string;
  readonly field: string;
  readonly before: Spec;
  readonly to: Spec;
  readonly comes: Outcome;
}

/** The edits that reach the operator, each with an object of its own. */
function triesOf({ rows }: Edits): readonly Try[] {
  const reaches = (outcome: Outcome | undefined) => outcome !== undefined && outcome.is !== 'refused';
  return rows
    .flatMap(({ field, before, changed, removed }) => [
      ...(changed !== undefined && reaches(changed.comes) ? [{ field, before, ...changed }] : []),
      ...(removed !== undefined && reaches(removed.comes)
        ? [{ field, before, to: removed.to ?? without(before, field), comes: removed.comes }]
        : []),
    ])
    .map((one, index) => ({ ...one, name: `row-${index}` }));
}

function leavesOf(value: unknown, path = ''): readonly string[] {
  if (!isRecord(value) || Object.keys(value).length === 0) return [path];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, path === '' ? name : `${path}.${name}`));
}

/** The ids by which calls name objects and themselves, and what says how to carry out a call. */
const naming =
  /^((account|app|appEnv|sourceAppEnv|alert|contactPoint|membership|request)Id|common|expectedGeneration)$/u;

/** The fields of a body that a plan may tell, by their names. */
function fieldsOf(outcome: Outcome): readonly string[] {
  if (outcome.is !== 'sent') return [];
  const { items, ...body } = outcome.body as { readonly items?: readonly object[] };
  return leavesOf({ ...body, ...items?.[0] }).filter((name) => !naming.test(name));
}

/** Objects that are sent whole, though only some of what is in them may have changed. */
const sentWhole = /^(POST \/disaster-readiness\/configure|PATCH \/app jobConfig)/u;

describe.each(allEdits.filter(({ kind }) => kind !== 'SolutionInstallation'))(
  'a plan of the edits of a $kind',
  (edits) => {
    it('tells each call that comes, with what it changes, and nothing else', async () => {
      const { kind } = edits;
      const tries = triesOf(edits);
      const bench = await Bench.open(edits, tries);
      const specs = new Map(tries.map(({ name, to }) => [name, bench.specOf(name, to)]));
      const documentsWith = (specOf: (name: string) => object | undefined) => {
        const objects = kinds
          .filter(({ life }) => life !== 'account')
          .flatMap((one) => bench.world.cluster.all(resourceOf(one)));
        return objects.map(({ metadata: { name, namespace }, spec, ...type }) => {
          const changed = type.kind === kind ? specOf(name) : undefined;
          return JSON.stringify({
            apiVersion: type.apiVersion,
            kind: type.kind,
            metadata: { name, namespace },
            spec: changed ?? spec,
          });
        });
      };
      const sorted = async (documents: readonly string[]) => {
        const folder = folderOf({ 'a.yaml': [...documents, ...materials].join('\n---\n') });
        return sortDocuments(await loadDocuments(folder), 'team');
      };

      const made = await makePlan({
        name: 'test',
        from: 'a.yaml',
        base: await sorted(documentsWith(() => undefined)),
        wanted: await sorted(documentsWith((name) => specs.get(name))),
        readers: [readerOf(bench.world)],
        requestsPerSecond: 5,
      });

      for (const { name, field, comes } of tries) {
        const rows = made.rows.filter((row) => row.kind === kind && row.name === name && row.call !== undefined);
        // A header that gives way to another one is told, too, though the body does not name it.
        const told = rows
          .flatMap(({ fields }) => fields.map((one) => one.name))
          .filter((one) => !one.startsWith('healthCheckHeaders.') || fieldsOf(comes).includes(one));
        const [first = ''] = fieldsOf(comes);
        expect(
          rows.map(({ call }) => call),
          `${field} of ${name}`,
        ).toEqual(comes.is === 'sent' ? [comes.call] : []);
        if (comes.is !== 'sent') continue;
        if (sentWhole.test(`${comes.call} ${first}`))
          expect(fieldsOf(comes), field).toEqual(expect.arrayContaining(told));
        else expect(told.toSorted(), `${field} of ${name}`).toEqual(fieldsOf(comes).toSorted());
      }
      expect(made).toMatchObject({ complete: true, findings: [] });
      expect(JSON.stringify(made)).not.toMatch(/secret [ab]/u);
    });
  },
);
