/*
 * `npm run bundle`: the whole program in one archive for laptops, with Node as the only prerequisite.
 *
 * It is the same tree as the image: our sources, which Node reads as they are, and production dependencies. Unpack it anywhere
 * and put its bin folder on PATH; the same bytes come out for the same commit.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';

const root = join(import.meta.dirname, '..');
const contents = ['package.json', 'package-lock.json', '.npmrc', 'LICENSE', 'README.md', 'crds', 'deploy/samples', 'src'];
// It must say what is missing on an old Node too, which cannot read the sources.
const launcher = `#!/usr/bin/env node
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 11)) {
  process.stderr.write('apphosting needs Node 24.11 or newer, and this is ' + process.versions.node + '\\n');
  process.exit(1);
}
await import('../src/main.ts');
`;

/** Writes the archive into a folder; returns its path. */
export function bundle(into: string): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const name = `apphosting-${version}`;
  const work = mkdtempSync(join(tmpdir(), 'apphosting-bundle-'));
  try {
    const tree = join(work, name);
    for (const path of contents) cpSync(join(root, path), join(tree, path), { recursive: true });
    const install = ['ci', '--omit=dev', '--omit=optional', '--ignore-scripts', '--loglevel=error'];
    execFileSync('npm', install, { cwd: tree, stdio: ['ignore', 'ignore', 'inherit'] });
    mkdirSync(join(tree, 'bin'));
    for (const program of ['apphosting', 'kubectl-apphosting']) {
      writeFileSync(join(tree, 'bin', program), launcher);
      chmodSync(join(tree, 'bin', program), 0o755);
    }
    mkdirSync(into, { recursive: true });
    const path = join(resolve(into), `${name}.tar.gz`);
    const same = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mtime=@0', '--mode=go-w'];
    execFileSync('tar', [...same, '-czf', path, name], { cwd: work });
    return path;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const path = bundle(process.argv[2] ?? 'dist');
  process.stdout.write(`${path}: ${(statSync(path).size / 1e6).toFixed(1)} MB\n`);
}
