/**
 * Brings the CRDs, the generated manifests in `deploy/` and the reference docs up to date, and removes leftover CRDs;
 * `npm run generate` runs this. The example runs in the docs and the pictures have scripts of their own.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { helpOf, wordOf } from '../../config.ts';
import { outputs, wholeFolders, type ReadFile } from '../../crd/outputs.ts';
import { withPart } from '../../crd/text.ts';
import { kinds } from '../../kinds/index.ts';
import { planSchema } from '../plan/model.ts';
import { type CommandReference, commandReferences, permissionsOf } from './commands.ts';

/** Writes each of these files that is out of date, and removes CRDs that are no longer generated; returns the paths of both. */
export function generate(root: string): readonly string[] {
  const stale = outOfDate(root);
  for (const [path, content] of stale) {
    if (content === undefined) rmSync(join(root, path));
    else {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    }
  }
  return [...stale.keys()];
}

/**
 * Finds those of these files that are out of date, with their new content. The content is undefined for a CRD that is no
 * longer generated.
 */
export function outOfDate(root: string): ReadonlyMap<string, string | undefined> {
  const read: ReadFile = (path) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined);
  const fresh = new Map([
    ...outputs(kinds, read),
    ...commandReferences.map((reference) => commandPage(reference, read)),
    ['docs/cli/plan.schema.json', `${JSON.stringify(planSchema(), null, 2)}\n`],
  ]);
  const changed = [...fresh].filter(([path, content]) => read(path) !== content);
  const leftover = wholeFolders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
    .filter((path) => !fresh.has(path))
    .map((path) => [path, undefined] as const);
  return new Map([...changed, ...leftover].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Updates the help text and the permissions on the documentation page of a command. */
function commandPage(reference: CommandReference, read: ReadFile): readonly [string, string] {
  const path = `docs/cli/${wordOf(reference.command)}.md`;
  const help = `\`\`\`text\n${helpOf(reference.command).trimEnd()}\n\`\`\``;
  const page = withPart(read(path) ?? '', 'help', help, path);
  return [path, withPart(page, 'permissions', permissionsOf(reference), path)];
}

if (import.meta.main) {
  for (const path of generate(join(import.meta.dirname, '../../..'))) process.stdout.write(`wrote: ${path}\n`);
}
