import { execFile, spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bundle, onlyLines } from '../../deploy/bundle.ts';
import { temporaryDir } from '../support/temporary.ts';

const root = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);

/** Compiled code of a bundle that is about to go is of use to nobody. */
const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' };

let made: string;
let files: readonly string[];

beforeAll(async () => {
  made = await mkdtemp(join(tmpdir(), 'bundle-'));
  files = await bundle(made);
}, 120_000);
afterAll(() => rm(made, { recursive: true }));

const text = (file: string): Promise<string> => readFile(join(made, file), 'utf8');

async function contents(folder: string, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      return (await stat(path)).isFile() ? [[name, await readFile(path, 'latin1')] as const] : [];
    }),
  );
  return new Map(rows.flat());
}

describe('the bundle', () => {
  it('is the same byte by byte when it is made again, and knows no place of this machine', async () => {
    const again = await temporaryDir();

    const names = await bundle(again);

    const [first, second] = [await contents(made, files), await contents(again, names)];
    expect([...second.keys()]).toEqual([...first.keys()]);
    for (const [name, bytes] of first) expect(second.get(name) === bytes, name).toBe(true);
    const placed = [...first].filter(([, bytes]) => bytes.includes(root) || bytes.includes(made));
    expect(placed.map(([name]) => name)).toEqual([]);
  });

  it('runs with nothing beside it, and serves the page of the simulator', async () => {
    const alone = await temporaryDir();
    await cp(made, alone, { recursive: true });
    const main = join(alone, 'main.mjs');

    const { stdout } = await run(process.execPath, [main, '--version'], { env: {} });
    const helps = await Promise.all(
      ['run', 'sandbox', 'points', 'activate'].map((command) =>
        run(process.execPath, [main, command, '--help'], { env }),
      ),
    );
    const page = await pageOf(main);

    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/u);
    expect(helps.every((help) => help.stdout.startsWith('apphosting ') && help.stderr === '')).toBe(true);
    expect(page).toContain('<!doctype html>');
  });

  it('has a map beside each file that leads to the lines of the sources', async () => {
    const chunks = files.filter((file) => file.endsWith('.mjs'));
    const said = 'no cluster was found: there is no kubeconfig';

    const withCode = await Promise.all(chunks.map(async (file) => ({ file, code: await text(file) })));
    const found = withCode.find(({ code }) => code.includes(said));

    if (found === undefined) throw new Error('the sentence is in no chunk');
    const map = new SourceMap(JSON.parse(await text(`${found.file}.map`)));
    const before = found.code.slice(0, found.code.indexOf(said)).split('\n');
    const entry = map.findEntry(before.length - 1, before.at(-1)?.length ?? 0) as Partial<SourceMapEntry>;
    expect(entry.originalSource).toMatch(/src\/kube\/credentials\/configuration\.ts$/u);
    const source = await readFile(join(root, 'src/kube/credentials/configuration.ts'), 'utf8');
    expect(
      source
        .split('\n')
        .slice(entry.originalLine, (entry.originalLine ?? 0) + 2)
        .join('\n'),
    ).toContain(said);
    const mapped = withCode.filter(({ code }) => code.length > 2_000).map(({ file }) => `${file}.map`);
    expect(files).toEqual(expect.arrayContaining(mapped));
  });

  it('loads no more of undici for the operator than opens connections, and nothing of the one that Node has inside', async () => {
    const tell = `
      import { registerHooks } from 'node:module';
      const urls = [];
      registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
      process.on('exit', () => console.error(JSON.stringify({ urls, builtins: process.moduleLoadList })));
    `;
    const preload = ['--import', `data:text/javascript,${encodeURIComponent(tell)}`];

    const { stderr } = await run(process.execPath, [...preload, join(made, 'main.mjs'), 'run', '--help'], { env });

    const { urls, builtins } = JSON.parse(stderr) as { urls: readonly string[]; builtins: readonly string[] };
    const chunks = urls.filter((url) => url.startsWith('file:'));
    const loaded = await Promise.all(chunks.map((url) => readFile(new URL(url), 'utf8')));
    expect(loaded.join('\n')).toContain('keepAliveMaxTimeout');
    expect(loaded.filter((code) => code.includes('MockAgent'))).toEqual([]);
    const code = loaded.join('\n');
    const whole = (await Promise.all(files.filter((file) => file.endsWith('.mjs')).map(text))).join('\n');
    // The libraries for YAML and for OIDC are there, and are loaded only when they are needed.
    for (const name of ['yaml.alias', 'authorization_code'])
      expect([name, whole.includes(name), code.includes(name)]).toEqual([name, true, false]);
    // Of the parsers in WebAssembly there are two, with and without SIMD. Of the proxies of client-node there is none.
    expect(code.match(/AGFzbQ/gu)).toHaveLength(2);
    expect(whole).not.toContain('SocksClientError');
    expect(builtins).toContain('NativeModule http');
    expect(builtins).not.toContain('NativeModule internal/deps/undici/undici');
  });

  it('is ASCII, of which V8 keeps one byte for each character', async () => {
    const code = await Promise.all(files.filter((file) => file.endsWith('.mjs')).map(text));

    expect(code.flatMap((one) => one.match(/[^\0-\x7f]/g) ?? [])).toEqual([]);
  });

  it('names the licence of everything that is inside', async () => {
    const maps = await Promise.all(files.filter((file) => file.endsWith('.map')).map(text));
    const inside = maps.flatMap((map) => (JSON.parse(map) as { sources: readonly string[] }).sources);
    const packages = new Set(
      inside.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/u.exec(path)?.slice(1) ?? []),
    );

    const licences = await text('LICENSES.txt');

    expect([...packages]).toEqual(expect.arrayContaining(['undici', 'zod', '@kubernetes/client-node']));
    for (const name of packages)
      expect(licences, name).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+\\S*: \\S`, 'mu'));
    expect(licences.startsWith('apphosting-operator ')).toBe(true);
  });
});

interface SourceMapEntry {
  readonly originalSource: string;
  readonly originalLine: number;
}

/** What the simulator of a bundle shows to a browser. */
async function pageOf(main: string): Promise<string> {
  const child = spawn(process.execPath, [main, 'simulator', '--listen', '127.0.0.1:0'], { env });
  onTestFinished(() => void child.kill());
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (printed += String(part)));
  for (;;) {
    const [, url] = /listening on (http:\S+)/u.exec(printed) ?? [];
    if (url !== undefined) return (await fetch(`${url}/`)).text();
    if (child.exitCode !== null) throw new Error(printed);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('a source map of the bundle', () => {
  it('keeps where lines of our own sources begin, and where code of others does', () => {
    const sameLine = 'AAAA,IAAI,IAAI';
    const foreign = 'GCAA';
    const nextLine = 'IDCJ';

    const kept = onlyLines(`${sameLine},${foreign},${nextLine}`, [true, false]);

    const map = new SourceMap({ ...empty, sources: ['own.ts', 'package.js'], mappings: kept });
    const at = (column: number) => map.findEntry(0, column) as Partial<SourceMapEntry>;
    expect([at(9).originalSource, at(9).originalLine]).toEqual(['own.ts', 0]);
    expect(at(12).originalSource).toBeUndefined();
    expect([at(15).originalSource, at(15).originalLine]).toEqual(['own.ts', 1]);
    expect(kept.split(',')).toHaveLength(3);
  });

  it('knows where a line is behind characters that are written longer', () => {
    const map = new SourceMap({ ...empty, sources: ['own.ts'], mappings: onlyLines('AAAA,IACA', [true], [[1, 4]]) });

    const lineAt = (column: number) => (map.findEntry(0, column) as Partial<SourceMapEntry>).originalLine;
    expect([lineAt(8), lineAt(9)]).toEqual([0, 1]);
  });
});

const empty = { file: '', version: 3, sourcesContent: [], names: [], sourceRoot: '' };
