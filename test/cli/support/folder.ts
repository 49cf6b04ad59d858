import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A document of a resource of ours, which has a line to itself. */
export function resource(kind: string, name: string, spec: object): string {
  return `${JSON.stringify({ apiVersion: 'apphosting.dev/v1alpha1', kind, metadata: { name }, spec })}\n`;
}

/** A folder with these files, for as long as the test runs. */
export function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'apphosting-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}
