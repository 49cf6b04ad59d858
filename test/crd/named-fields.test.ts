/* Fields that documents and messages name: each exists in some definition. */
import { describe, expect, it } from 'vitest';
import { filesUnder } from '../repository/files.ts';
import { definitions, nodesIn } from './definitions.ts';

/** The paths of all fields, without marks of lists: `spec.env.name`. */
const fields = new Set(
  definitions.flatMap(({ spec }) =>
    spec.versions.flatMap(({ schema }) =>
      nodesIn(schema.openAPIV3Schema).map(([path]) => path.slice(1).replaceAll(/\[\]|\{\}/gu, '')),
    ),
  ),
);

/** The fields that pieces of text name and that no definition has. */
function unknownIn(pieces: readonly string[]): readonly string[] {
  const named = pieces.flatMap((piece) => piece.match(/(?<![\w./?-])(?:spec|status)\.[a-z]\w*(?:\.[a-z]\w*)*/gu) ?? []);
  return named.filter((field) => !fields.has(field));
}

const inBackticks = (text: string) => text.match(/`[^`\n]+`/gu) ?? [];
const inQuotes = (text: string) => text.replaceAll(/\$\{[^}]*\}/gu, '').match(/'[^'\n]+'|"[^"\n]+"|`[^`\n]+`/gu) ?? [];

function findings(
  files: ReadonlyMap<string, string>,
  piecesOf: (text: string) => readonly string[],
): readonly string[] {
  return [...files].flatMap(([path, text]) => unknownIn(piecesOf(text)).map((field) => `${path}: ${field}`));
}

describe('the fields', () => {
  it('that documents name exist', () => {
    // The simulator calls its own settings so.
    const files = [...filesUnder('docs')].filter(([path]) => path.endsWith('.md') && !path.includes('simulator'));

    expect(files.length).toBeGreaterThan(50);
    expect(findings(new Map(files), inBackticks)).toEqual([]);
  });

  it('that messages name exist', () => {
    const files = filesUnder('src/kinds', 'src/engine', 'src/crd');

    expect(files.size).toBeGreaterThan(50);
    expect(findings(files, inQuotes)).toEqual([]);
  });

  it('would be found out otherwise', () => {
    expect(unknownIn(['`spec.mode: Manage`', 'status.externalId', 'look at status.journal', 'spec.env.name'])).toEqual([
      'spec.mode',
      'status.journal',
    ]);
  });
});
