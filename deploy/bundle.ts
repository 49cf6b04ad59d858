/*
 * `npm run bundle [FOLDER]`: what is shipped, in `dist` unless said otherwise.
 *
 * `main.mjs` and the chunks of the commands that are loaded when they are asked for, a source map beside each, the files that are
 * read at run time, and the licences of all that is inside. The image is Node and this folder. `--archive` also packs it for
 * laptops, with launchers and samples, Node being the only prerequisite. The same commit gives the same bytes.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import process from 'node:process';
import { gzipSync } from 'node:zlib';
import { build, type InputOptions, type OutputAsset, type OutputChunk, type Plugin } from 'rolldown';
import manifest from '../package.json' with { type: 'json' };

const root = join(import.meta.dirname, '..');
const sources = join(root, 'src');

/** Makes the bundle in a folder, which is emptied first; returns the names of its files. */
export async function bundle(into: string): Promise<readonly string[]> {
  rmSync(into, { recursive: true, force: true });
  const { output } = await build({
    ...settings(),
    output: {
      dir: into,
      format: 'esm',
      minify: true,
      keepNames: true,
      sourcemap: true,
      // As if the bundle stood in dist, wherever it is written: a map knows no place of this machine.
      sourcemapPathTransform: (source, map) => relative(join(root, 'dist'), resolve(dirname(map), source)),
      plugins: [small],
      entryFileNames: '[name].mjs',
      chunkFileNames: '[name].mjs',
      // Traces name files and lines of the sources; the sources themselves are in the repository.
      sourcemapExcludeSources: true,
    },
  });
  for (const path of globSync('**/*', { cwd: sources, withFileTypes: true })) {
    if (!path.isFile() || path.name.endsWith('.ts')) continue;
    const from = join(path.parentPath, path.name);
    cpSync(from, join(into, relative(sources, from)), { recursive: true });
  }
  writeFileSync(join(into, licences), licencesOf(output));
  return globSync('**/*', { cwd: into }).toSorted();
}

/** Beside what is shipped: the licence of everything inside. */
const licences = 'LICENSES.txt';
const optional = ['bufferutil', 'utf-8-validate'];

/** Makes one file of everything, for a program that brings its own Node; returns the file with the licences, beside it. */
export async function bundleAsOneFile(file: string): Promise<string> {
  const shape = { file, format: 'esm', minify: true, keepNames: true, codeSplitting: false } as const;
  const { output } = await build({ ...settings(), output: shape });
  const path = join(dirname(file), licences);
  writeFileSync(path, licencesOf(output));
  return path;
}

/** The settings of every bundle. */
function settings(): InputOptions {
  return {
    cwd: root,
    input: { main: join(sources, 'main.ts') },
    platform: 'node',
    plugins: [placesInSources, inParts],
    // Optional helpers of libraries that nobody here installs; each library does without.
    external: optional,
    // Its index imports every kind of Kubernetes; the operator needs none of them, and takes half as much memory without.
    treeshake: { moduleSideEffects: [{ test: /\/@kubernetes\/client-node\/dist\//u, sideEffects: false }] },
    logLevel: 'warn',
    onLog: (level, log, next) => {
      if (level === 'warn') throw new Error(`bundling: ${log.message}`);
      next(level, log);
    },
  };
}

/**
 * Files that a source reads beside itself are beside the bundle, in the same folders: `import.meta.dirname` of a source below
 * `src` becomes the same folder below the bundle's.
 */
const placesInSources: Plugin = {
  name: 'places-in-sources',
  transform: {
    filter: { id: /\.ts$/u, code: /import\.meta\.(dirname|url)/u },
    handler(code, id) {
      const folder = relative(sources, dirname(id));
      if (folder.startsWith('..')) return undefined;
      const below = JSON.stringify(folder === '' ? '' : `/${folder}`);
      const placed = code
        .replaceAll('import.meta.dirname', `(import.meta.dirname + ${below})`)
        .replaceAll('import.meta.url', `new URL(${JSON.stringify(`./${folder}/`)}, import.meta.url).href`);
      // Every line stays where it was.
      return { code: placed, map: null };
    },
  },
};

/**
 * Loads only the parts of a module that are used. Undici's index loads fetch, WebSocket, caches and mocks too. An import of `http` reads
 * each of its exports, and one of them, WebSocket, loads the undici that Node has inside. Together they are 15 MiB of memory; what
 * does need `fetch` loads it when it is called. Undici's HTTP/2, which loads `node:http2`, is loaded with the first connection that
 * speaks it; ours do not.
 *
 * Leaves out what is never used (`absent`), because V8 keeps the text of each file that it has loaded.
 */
const inParts: Plugin = {
  name: 'in-parts',
  resolveId(id, importer, { kind }) {
    const name = id.replace(/^node:/u, '');
    const from = Object.keys(absent).find((one) => importer?.includes(`/node_modules/${one}/`) === true);
    if (from !== undefined && absent[from]?.[id] !== undefined) return `absent:${from}:${id}`;
    if (id === './client-h2.js' && from === 'undici') return 'parts:client-h2';
    return kind === 'import-statement' && name in parts ? `parts:${name}` : undefined;
  },
  load(id) {
    const [from = '', name = ''] = id.replace(/^absent:/u, '').split(':');
    const classes = absent[from]?.[name];
    if (classes === undefined) return parts[id.replace(/^parts:/u, '')];
    if (classes.length === 0) return `throw new Error('this bundle does not contain ${name}');`;
    return classes.map((one) => `export class ${one} {}`).join('\n');
  },
};

/**
 * What two packages import and our programs never call, with the names that the importing files use:
 * - Undici has a second parser, which only the variable UNDICI_USE_MILO chooses; with it, no request is sent.
 * - client-node only reads configurations and credentials here. It opens no connection through a proxy. It runs no program of
 *   an `auth-provider`, whose output it would search with a JSONPath. It asks no OIDC issuer: `IdentityProvider` does that.
 */
const absent: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  undici: { '../milo/simd.js': [], '../milo/no-simd.js': [] },
  '@kubernetes/client-node': {
    hpagent: ['HttpProxyAgent', 'HttpsProxyAgent'],
    'jsonpath-plus': ['JSONPath'],
    'openid-client': ['customFetch', 'discovery', 'refreshTokenGrant'],
    socks: ['SocksClient'],
    'socks-proxy-agent': ['SocksProxyAgent'],
  },
};

const parts: Readonly<Record<string, string>> = {
  undici: `
    import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
    import connect from 'undici/lib/api/api-connect.js';
    import request from 'undici/lib/api/api-request.js';
    Object.assign(Dispatcher.prototype, { connect, request });
    export { default as Agent } from 'undici/lib/dispatcher/agent.js';
    export { default as EnvHttpProxyAgent } from 'undici/lib/dispatcher/env-http-proxy-agent.js';
    export { default as Pool } from 'undici/lib/dispatcher/pool.js';
    export { default as ProxyAgent } from 'undici/lib/dispatcher/proxy-agent.js';
    export const fetch = async (...given) => (await import('undici')).fetch(...given);
  `,
  http: `
    const http = process.getBuiltinModule('node:http');
    export default http;
    export const { Agent, STATUS_CODES, createServer, get, request } = http;
  `,
  'client-h2': `
    let connect;
    module.exports = (...given) => (connect ??= require('undici/lib/dispatcher/client-h2.js'))(...given);
  `,
};

/**
 * Escapes what is not ASCII, since V8 keeps the whole text of a file in two bytes for each character when a single one needs them.
 * Leaves in each source map where the lines of our own sources begin, and nothing of the packages. Node keeps every mapping from
 * the first trace that it prints: 40 MB with all of them.
 */
const small: Plugin = {
  name: 'small',
  generateBundle(_options, output) {
    for (const file of Object.values(output)) {
      if (file.type !== 'chunk') continue;
      const wide = file.code.split('\n').map((line) => [...line.matchAll(notAscii)].map(({ index }) => index));
      file.code = file.code.replaceAll(notAscii, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
      const beside = output[`${file.fileName}.map`];
      if (beside?.type !== 'asset') continue;
      const map = JSON.parse(String(beside.source)) as { sources: string[]; names: string[]; mappings: string };
      const isOwn = map.sources.map((source) => source.startsWith('../src/'));
      beside.source = JSON.stringify({ ...map, names: [], mappings: onlyLines(map.mappings, isOwn, wide) });
    }
  },
};

const notAscii = /[^\0-\x7f]/g;

/**
 * Only the segments of mappings at which another line begins; one without a source where what is not ours begins. Each column in
 * `wide`, by line, has become six.
 */
export function onlyLines(mappings: string, isOwn: readonly boolean[], wide: readonly number[][] = []): string {
  let [source, line, column] = [0, 0, 0];
  let told = { source: 0, line: 0, column: 0 };
  return mappings
    .split(';')
    .map((segments, row) => {
      let [at, toldAt, place] = [0, 0, ''];
      const kept: string[] = [];
      for (const segment of segments.split(',')) {
        const [aside = 0, source_ = 0, line_ = 0, column_ = 0] = numbersOf(segment);
        at += aside;
        source += source_;
        line += line_;
        column += column_;
        const here = isOwn[source] === true ? `${source} ${line}` : 'foreign';
        if (segment === '' || here === place) continue;
        place = here;
        const movedTo = at + 5 * (wide[row] ?? []).filter((column) => column < at).length;
        const fields =
          here === 'foreign'
            ? [movedTo - toldAt]
            : [movedTo - toldAt, source - told.source, line - told.line, column - told.column];
        if (here !== 'foreign') told = { source, line, column };
        toldAt = movedTo;
        kept.push(fields.map(textOfNumber).join(''));
      }
      return kept.join(',');
    })
    .join(';');
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The numbers of a segment of a source map: base 64, five bits a digit, the sign in the lowest. */
function numbersOf(segment: string): readonly number[] {
  const found: number[] = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = digits.indexOf(digit);
    value += (bits & 31) << shift;
    shift += 5;
    if (bits >= 32) continue;
    found.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return found;
}

function textOfNumber(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1;
  let text = '';
  do {
    const more = rest >> 5;
    text += digits[(rest & 31) | (more > 0 ? 32 : 0)];
    rest = more;
  } while (rest > 0);
  return text;
}

/** The licence of every package of which something is in the bundle, our own first. */
function licencesOf(output: readonly (OutputAsset | OutputChunk)[]): string {
  const modules = output.flatMap((one) => (one.type === 'chunk' ? one.moduleIds : []));
  const folders = new Set(modules.flatMap(packageOf));
  const parts = [...folders].toSorted().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Package;
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)/iu.test(file));
    const texts = files.toSorted().map((file) => readFileSync(join(folder, file), 'utf8').trim());
    if (texts.length === 0 && license === undefined) throw new Error(`${name} says nothing of its licence`);
    return [`${name} ${version}: ${license ?? 'see below'}`, ...texts].join('\n\n');
  });
  const own = readFileSync(join(root, 'LICENSE'), 'utf8').trim();
  return `${[`${manifest.name} ${manifest.version}: ${manifest.license}\n\n${own}`, ...parts].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

interface Package {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** The folder of the package that a module is from. */
function packageOf(module: string): readonly string[] {
  const found = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/u.exec(module);
  return found === null ? [] : [found[0]];
}

// It must say what is missing on an old Node too.
const launcher = `#!/usr/bin/env node
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 11)) {
  process.stderr.write('apphosting needs Node 24.11 or newer, and this is ' + process.versions.node + '\\n');
  process.exit(1);
}
await import('../dist/main.mjs');
`;

/** Packs a bundle for laptops; returns the path of the archive. */
export function archive(from: string, into: string): string {
  const name = `${manifest.name}-${manifest.version}`;
  const work = mkdtempSync(join(tmpdir(), 'apphosting-archive-'));
  try {
    const tree = join(work, name);
    for (const path of ['LICENSE', 'README.md', 'crds', 'deploy/samples']) {
      cpSync(join(root, path), join(tree, path), { recursive: true });
    }
    cpSync(from, join(tree, 'dist'), { recursive: true });
    mkdirSync(join(tree, 'bin'));
    for (const program of ['apphosting', 'kubectl-apphosting']) {
      writeFileSync(join(tree, 'bin', program), launcher);
      chmodSync(join(tree, 'bin', program), 0o755);
    }
    const same = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mtime=@0', '--mode=u+rw,go-w'];
    const packed = execFileSync('tar', [...same, '-cf', '-', name], { cwd: work, maxBuffer: 1024 ** 3 });
    mkdirSync(into, { recursive: true });
    const path = join(resolve(into), `${name}.tar.gz`);
    writeFileSync(path, gzipSync(packed, { level: 9 }));
    return path;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function sizeOf(path: string): string {
  return `${(statSync(path).size / 1e6).toFixed(1)} MB`;
}

if (import.meta.main) {
  const given = process.argv.slice(2);
  const [into = join(root, 'dist')] = given.filter((one) => !one.startsWith('--'));
  for (const file of await bundle(into)) {
    const path = join(into, file);
    if (existsSync(path) && statSync(path).isFile()) process.stdout.write(`${path}: ${sizeOf(path)}\n`);
  }
  if (given.includes('--archive')) {
    const path = archive(into, join(into, '..'));
    process.stdout.write(`${basename(path)}: ${sizeOf(path)}\n`);
  }
}
