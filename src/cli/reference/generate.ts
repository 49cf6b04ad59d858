/** Writes what the pages of the commands take from the commands themselves: help, permissions, the schema of a plan. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { helpOf, wordOf } from '../../config.ts';
import { planSchema } from '../plan/model.ts';
import { commandReferences, permissionsOf } from './commands.ts';

/** The files of the commands as they must be, by path; `read` gives a page as it is. */
export function referencePages(read: (path: string) => string): ReadonlyMap<string, string> {
  const pages = commandReferences.map((reference): [string, string] => {
    const path = `docs/cli/${wordOf(reference.command)}.md`;
    const help = `\`\`\`text\n${helpOf(reference.command).trimEnd()}\n\`\`\``;
    const page = between(read(path), 'help', help);
    return [path, between(page, 'permissions', permissionsOf(reference))];
  });
  return new Map([...pages, ['docs/cli/plan.schema.json', `${JSON.stringify(planSchema(), null, 2)}\n`]]);
}

/** A page with this text between the marks of a part. */
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
