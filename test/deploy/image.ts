/*
 * `npm run check:image [BASE]`: builds the Dockerfile with buildah, which needs no engine, and runs what came of it as Kubernetes
 * does: process 1, not root, a root that cannot be written, the files and variables of a pod, the arguments of the Deployment.
 *
 * BASE is an image to build with, such as the one that the Dockerfile names. Without one it is made here: the lockfile's Node, npm,
 * and the four Debian packages that they need. There is no shell in it, so nothing of ours can need one.
 */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import process from 'node:process';
import { runInPod } from './support/pod.ts';
import { runProgram } from './support/programs.ts';
import { NotRun, runChecks } from './support/report.ts';

const root = join(import.meta.dirname, '..', '..');
const packages = ['libc6', 'libgcc-s1', 'libstdc++6', 'libatomic1'];
const authorities = '/etc/ssl/certs/ca-certificates.crt';
const limitMs = 20 * 60_000;

/** Calls buildah with a store of this test's own. */
type Buildah = (...args: readonly string[]) => Promise<string>;

function buildahIn(work: string): Buildah {
  const own = ['--root', join(work, 'store'), '--runroot', join(work, 'run'), '--storage-driver', 'vfs'];
  return async (...args) => succeed('buildah', [...own, ...args]);
}

/** What a program printed; it must end well. */
async function succeed(command: string, args: readonly string[], cwd?: string): Promise<string> {
  const { code, stdout, stderr } = await runProgram(command, args, { limitMs, ...(cwd === undefined ? {} : { cwd }) });
  if (code === 0) return stdout.trim();
  throw new Error(
    `${command} ${args.find((arg) => !arg.startsWith('-')) ?? ''}: ${`${stdout}${stderr}`.trim().slice(-2_000)}`,
  );
}

async function mustHave(program: string): Promise<void> {
  const found = await runProgram(program, ['--version']).catch(() => undefined);
  if (found?.code !== 0) throw new NotRun(`there is no ${program} on PATH`);
}

/** An image with Node and npm and nothing else that they do not need; returns its name. */
async function makeBase(buildah: Buildah, work: string): Promise<string> {
  const [debs, tree] = [join(work, 'debs'), join(work, 'base')];
  await mkdir(debs);
  for (const program of ['apt-get', 'dpkg-deb', 'npm']) await mustHave(program);
  const fetched = await runProgram('apt-get', ['download', ...packages], { cwd: debs, limitMs });
  if (fetched.code !== 0) throw new NotRun(`apt-get cannot download ${packages.join(', ')}: ${fetched.stderr.trim()}`);
  for (const deb of await readdir(debs)) await succeed('dpkg-deb', ['-x', join(debs, deb), tree]);
  const local = join(tree, 'usr', 'local');
  for (const folder of ['bin', 'etc']) await mkdir(join(local, folder), { recursive: true });
  await cp(process.execPath, join(local, 'bin', 'node'), { dereference: true });
  // Where npm says its folder is depends on the Node it runs on; where its program is does not.
  const program = await succeed('sh', ['-c', 'readlink -f "$(command -v npm)"']);
  await cp(join(dirname(program), '..'), join(local, 'lib', 'node_modules', 'npm'), { recursive: true });
  const npm = '#!/usr/local/bin/node\nrequire("/usr/local/lib/node_modules/npm/lib/cli.js")(process)\n';
  await writeFile(join(local, 'bin', 'npm'), npm, { mode: 0o755 });
  if (existsSync(authorities)) {
    await cp(authorities, join(tree, authorities), { recursive: true, dereference: true });
    await writeFile(join(local, 'etc', 'npmrc'), `cafile=${authorities}\n`);
  }
  const recipe = join(work, 'base.Dockerfile');
  await writeFile(recipe, 'FROM scratch\nCOPY . /\nENV PATH=/usr/local/bin\n');
  await buildah('bud', '--isolation', 'chroot', '--file', recipe, '--tag', 'localhost/node', tree);
  return 'localhost/node';
}

interface Built {
  readonly name: string;
  /** What it was built with. */
  readonly base: string;
}

/** Builds the image. */
async function build(buildah: Buildah, work: string, given: string | undefined): Promise<Built> {
  const base = given ?? (await makeBase(buildah, work));
  const name = 'localhost/apphosting-operator';
  await buildFrom(buildah, base, name);
  const sizes = (await compressed(buildah, name, work)).map((size) => `${(size / 1e6).toFixed(1)} MB`);
  process.stdout.write(`  its layers, Node and the bundle, are ${sizes.join(' and ')} compressed\n`);
  return { name, base };
}

/** Nothing is taken over from an earlier build, and no time of this one is written down. */
async function buildFrom(buildah: Buildah, base: string, name: string): Promise<void> {
  const chosen = ['--build-arg', `NODE_IMAGE=${base}`, '--tag', name];
  await buildah('bud', '--isolation', 'chroot', '--no-cache', '--layers', '--timestamp', '0', ...chosen, root);
}

/** What of a second build is not as in the first. */
async function differences(buildah: Buildah, { name, base }: Built): Promise<readonly string[]> {
  const again = `${name}-again`;
  await buildFrom(buildah, base, again);
  const [first, second] = [await configOf(buildah, name), await configOf(buildah, again)];
  return first.rootfs.diff_ids.flatMap((id, at) =>
    second.rootfs.diff_ids[at] === id ? [] : [`layer ${at + 1} of a second build has other bytes`],
  );
}

/** Files of an image that are neither Node, nor one of its libraries, nor of the bundle. */
async function strangersIn(tree: string): Promise<readonly string[]> {
  const entries = await readdir(tree, { recursive: true, withFileTypes: true });
  const files = entries.filter((one) => !one.isDirectory()).map((one) => join(one.parentPath, one.name));
  const expected = /^(?:app\/.*|usr\/local\/bin\/node|(?:usr\/)?lib(?:64)?\/(?:.*\/)?[^/]+\.so[.\d]*)$/u;
  return files
    .map((path) => relative(tree, path))
    .filter((path) => !expected.test(path) || path.includes('node_modules'))
    .map((path) => `it holds ${path}`);
}

interface Config {
  readonly config: {
    readonly User: string;
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly Env: readonly string[];
    readonly Labels: Readonly<Record<string, string>>;
  };
  readonly rootfs: { readonly diff_ids: readonly string[] };
}

async function configOf(buildah: Buildah, image: string): Promise<Config> {
  return (JSON.parse(await buildah('inspect', '--type', 'image', image)) as { OCIv1: Config }).OCIv1;
}

/** The bytes of each layer as a registry keeps it. */
async function compressed(buildah: Buildah, image: string, work: string): Promise<readonly number[]> {
  const folder = join(work, 'pushed');
  await buildah('push', image, `dir:${folder}`);
  const { layers } = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as {
    layers: { digest: string }[];
  };
  const files = layers.map(({ digest }) => join(folder, digest.replace('sha256:', '')));
  return Promise.all(files.map(async (file) => (await stat(file)).size));
}

/** What is wrong with how the image says it is to be run. */
function wrongIn({ config }: Config): readonly string[] {
  const labels = ['title', 'description', 'licenses', 'version', 'revision'].map(
    (name) => `org.opencontainers.image.${name}`,
  );
  return [
    ...labels.filter((name) => (config.Labels[name] ?? '') === '').map((name) => `it has no label ${name}`),
    ...(/^[1-9]\d*:[1-9]\d*$/u.test(config.User) ? [] : [`its user is ${config.User}`]),
    ...(config.Entrypoint[0] === 'node' ? [] : [`it starts ${config.Entrypoint.join(' ')}`]),
  ];
}

async function main(base: string | undefined): Promise<number> {
  const work = await mkdtemp(join(tmpdir(), 'apphosting-image-'));
  const buildah = buildahIn(work);
  let image: Built | undefined;
  const built = () => {
    if (image === undefined) throw new NotRun('there is no image');
    return image;
  };
  const mounted = async () => buildah('mount', await buildah('from', '--pull-never', built().name));
  try {
    const { failed } = await runChecks({
      'the image is built': async () => {
        await mustHave('buildah');
        image = await build(buildah, work, base);
        return [];
      },
      'it says who it is and how it runs': async () => wrongIn(await configOf(buildah, built().name)),
      'it has Node, the bundle and nothing else': async () => strangersIn(await mounted()),
      'the same sources give the same bytes': async () => differences(buildah, built()),
      'it runs in a pod and ends when it is told to': async () => {
        const { config } = await configOf(buildah, built().name);
        return runInPod(await mounted(), config);
      },
    });
    return failed === 0 ? 0 : 1;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

process.exitCode = await main(process.argv[2]);
