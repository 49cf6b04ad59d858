/** Generates the parts of the command pages that come from the code: help, permissions, the JSON schema of a plan. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { helpOf, wordOf } from '../../config.ts';
import { planSchema } from '../plan/model.ts';
import { commandReferences, permissionsOf } from './commands.ts';

/** The text that each generated file must have, by path; `read` returns a page as it is now. */
export function referencePages(read: (path: string) => string): ReadonlyMap<string, string> {
  const pages = commandReferences.map((reference): [string, string] => {
    const path = `docs/cli/${wordOf(reference.command)}.md`;
    const help = `\`\`\`text\n${helpOf(reference.command).trimEnd()}\n\`\`\``;
    const page = between(read(path), 'help', help);
    return [path, between(page, 'permissions', permissionsOf(reference))];
  });
  return new Map([...pages, ['docs/cli/plan.schema.json', `${JSON.stringify(planSchema(), null, 2)}\n`]]);
}

/** Replaces the text between the two marker comments of a part of a page. */
export function between(page: string, part: string, text: string): string {
  const [begin, end] = [`<!-- ${part}: made from the command -->`, `<!-- /${part} -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`a page lacks ${begin} and ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '../../..');
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  for (const [path, text] of referencePages(read)) writeFileSync(join(root, path), text);
}
