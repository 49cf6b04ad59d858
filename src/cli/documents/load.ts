/**
 * The objects of a folder, a file or standard input, each with the place where it stands.
 *
 * Guarantees: the order of what is found does not depend on the machine; what cannot be read is told and never left out.
 */
import { execFile } from 'node:child_process';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseAllDocuments, type Document } from 'yaml';
import { isRecord } from '../../base/json.ts';

/** Where something stands. */
interface Place {
  readonly file: string;
  readonly line: number;
}

/** An object as it stands in a file. */
export interface Loaded {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly object: Readonly<Record<string, unknown>>;
  readonly place: Place;
  /** The line of a field, or of the nearest one around it. */
  lineOf(path: readonly (string | number)[]): number;
}

/** Something that keeps a document from being read. */
interface Unreadable {
  readonly place: Place;
  readonly message: string;
}

/** Everything that was found. */
export interface Documents {
  readonly loaded: readonly Loaded[];
  readonly unreadable: readonly Unreadable[];
  /** Remarks to print. */
  readonly notes: readonly string[];
}

/** Loads a folder, a file, or with `-` standard input. */
export async function loadDocuments(path: string, input: NodeJS.ReadableStream = process.stdin): Promise<Documents> {
  if (path === '-') return parsed([['(standard input)', await textOf(input)]], []);
  const found = await stat(path).catch((error: unknown) => error as Error);
  if (found instanceof Error) return failed(path, found);
  if (!found.isDirectory()) return files([path], (file) => file, []);
  const inside = (file: string) => relative(path, file);
  const all: string[] = [];
  const unreadable: Unreadable[] = [];
  for await (const one of manifestsIn(path, [])) {
    if (one.problem === undefined) all.push(one.path);
    else unreadable.push({ place: { file: inside(one.path), line: 1 }, message: one.problem });
  }
  const sources = await files(all.filter((file) => !isKustomization(file)).toSorted(), inside, unreadable);
  return all.some((file) => isKustomization(inside(file)) && !inside(file).includes('/'))
    ? kustomized(path, sources)
    : sources;
}

/** The manifests below a folder and what cannot be read; links are followed, hidden names are not. `around` it are these folders. */
async function* manifestsIn(
  folder: string,
  around: readonly string[],
): AsyncGenerator<{ readonly path: string; readonly problem?: string }> {
  const real = await realpath(folder);
  if (around.includes(real)) {
    yield { path: folder, problem: 'this link leads back to a folder that it stands in' };
    return;
  }
  const entries = await readdir(folder).catch((error: unknown) => error as Error);
  if (entries instanceof Error) {
    yield { path: folder, problem: reasonOf(entries) };
    return;
  }
  for (const entry of entries.filter((name) => !name.startsWith('.')).toSorted()) {
    const path = join(folder, entry);
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory() === true) yield* manifestsIn(path, [...around, real]);
    else if (isManifest(entry)) yield { path };
  }
}

/** The objects that `kustomize` builds from a folder, each with its place in the source files if it is found there. */
async function kustomized(path: string, sources: Documents): Promise<Documents> {
  const rendered = await render(path);
  if (rendered.is === 'missing') {
    const note =
      'kustomization.yaml is not rendered, since neither kustomize nor kubectl is there: files are taken as they are';
    return { ...sources, notes: [...sources.notes, note] };
  }
  if (rendered.is === 'failed') {
    const place = { file: 'kustomization.yaml', line: 1 };
    return { loaded: [], unreadable: [...sources.unreadable, { place, message: rendered.message }], notes: [] };
  }
  const { loaded, unreadable } = parsed([['(rendered)', rendered.text]], []);
  const byName = new Map(sources.loaded.map((one) => [`${one.kind}/${one.name}`, one]));
  return {
    loaded: loaded.map((one) => {
      const source = byName.get(`${one.kind}/${one.name}`);
      return source === undefined
        ? { ...one, place: { file: 'kustomization.yaml', line: 1 }, lineOf: () => 1 }
        : { ...one, place: source.place, lineOf: (field) => source.lineOf(field) };
    }),
    unreadable,
    notes: [],
  };
}

type Rendered =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'missing' }
  | { readonly is: 'failed'; readonly message: string };

async function render(path: string): Promise<Rendered> {
  const ways: readonly [string, readonly string[]][] = [
    ['kustomize', ['build', path]],
    ['kubectl', ['kustomize', path]],
  ];
  for (const [program, args] of ways) {
    const done = await run(program, args);
    if (done.is !== 'missing') return done;
  }
  return { is: 'missing' };
}

function run(program: string, args: readonly string[]): Promise<Rendered> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: 60_000, maxBuffer: 256 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error === null) resolve({ is: 'text', text: stdout });
      else if (error.code === 'ENOENT') resolve({ is: 'missing' });
      else {
        const [first = error.message] = stderr.trim().split('\n');
        // The log of kubectl begins a line with a time and the id of its process.
        const words = first.replace(/^[IWEF]\d{4} [\d:.]+ +\d+ [^\]]+\] /u, '');
        resolve({ is: 'failed', message: `${program}: ${words}` });
      }
    });
  });
}

function isManifest(name: string): boolean {
  return /\.(ya?ml|json)$/.test(name);
}

function isKustomization(file: string): boolean {
  return /(^|\/)(kustomization\.ya?ml|Kustomization)$/.test(file);
}

/** The objects in these texts, by their paths; kustomizations are none. */
export function documentsIn(texts: ReadonlyMap<string, string>): Documents {
  return parsed(
    [...texts].filter(([file]) => !isKustomization(file)),
    [],
  );
}

async function files(
  paths: readonly string[],
  nameOf: (file: string) => string,
  before: readonly Unreadable[],
): Promise<Documents> {
  const texts: [string, string][] = [];
  const unreadable = [...before];
  for (const path of paths) {
    const text = await readFile(path, 'utf8').catch((error: unknown) => error as Error);
    if (text instanceof Error) unreadable.push({ place: { file: nameOf(path), line: 1 }, message: reasonOf(text) });
    else texts.push([nameOf(path), text]);
  }
  return parsed(texts, unreadable);
}

function failed(path: string, error: Error): Documents {
  return { loaded: [], unreadable: [{ place: { file: path, line: 1 }, message: reasonOf(error) }], notes: [] };
}

function reasonOf(error: Error): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOENT') return 'there is no such file or folder';
  return code === 'EACCES' ? 'it may not be read' : error.message;
}

function parsed(texts: readonly (readonly [string, string])[], before: readonly Unreadable[]): Documents {
  const loaded: Loaded[] = [];
  const unreadable = [...before];
  for (const [file, text] of texts) {
    const lines = new LineCounter();
    for (const document of parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })) {
      const at = (offset = 0): Place => ({ file, line: lines.linePos(offset).line });
      const found = valueOf(document);
      if ('problem' in found) {
        unreadable.push({ place: at(found.offset), message: found.problem });
        continue;
      }
      const start = startOf(document);
      const flaw = read(document, found.value, at(start), (offset) => at(offset).line, loaded);
      if (flaw !== undefined) unreadable.push({ place: at(start), message: flaw });
    }
  }
  return { loaded, unreadable, notes: [] };
}

/** The value of a document, or what keeps it from being read, and where. */
export function valueOf(
  document: Document.Parsed,
): { readonly value: unknown } | { readonly problem: string; readonly offset: number } {
  const [error] = document.errors;
  if (error !== undefined) return { problem: error.message, offset: error.pos[0] };
  try {
    return { value: document.toJS() };
  } catch (error) {
    // The parser throws where an alias has no anchor, and where aliases multiply.
    return { problem: (error as Error).message, offset: startOf(document) };
  }
}

function startOf({ contents }: Document): number {
  return isNode(contents) ? (contents.range?.[0] ?? 0) : 0;
}

/** Takes the objects of a document; a sentence says why there are none where there should be. */
function read(
  document: Document,
  value: unknown,
  place: Place,
  lineAt: (offset?: number) => number,
  into: Loaded[],
): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (!isRecord(value)) return 'it is no Kubernetes object';
  if (value['kind'] === 'List' && Array.isArray(value['items'])) {
    for (const [index, item] of value['items'].entries()) {
      const line = lineOfPath(document, ['items', index], lineAt);
      const one = isRecord(item) ? objectAt(document, ['items', index], item, { ...place, line }, lineAt) : undefined;
      if (one === undefined) return `items[${index}] has no apiVersion, kind and metadata.name`;
      into.push(one);
    }
    return undefined;
  }
  const one = objectAt(document, [], value, place, lineAt);
  if (one === undefined) return 'it has no apiVersion, kind and metadata.name';
  into.push(one);
  return undefined;
}

function objectAt(
  document: Document,
  base: readonly (string | number)[],
  object: Readonly<Record<string, unknown>>,
  place: Place,
  lineAt: (offset?: number) => number,
): Loaded | undefined {
  const { apiVersion, kind, metadata } = object;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || !isRecord(metadata)) return undefined;
  const { name, generateName, namespace } = metadata;
  const called = typeof name === 'string' ? name : typeof generateName === 'string' ? `${generateName}new` : undefined;
  if (called === undefined) return undefined;
  return {
    apiVersion,
    kind,
    name: called,
    namespace: typeof namespace === 'string' && namespace !== '' ? namespace : undefined,
    object,
    place,
    lineOf: (path) => lineOfPath(document, [...base, ...path], lineAt),
  };
}

function lineOfPath(
  document: Document,
  path: readonly (string | number)[],
  lineAt: (offset?: number) => number,
): number {
  let node: unknown = document.contents;
  let offset = isNode(node) ? node.range?.[0] : 0;
  for (const part of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => (isScalar(key) ? key.value : key) === part);
      if (pair === undefined) break;
      offset = isNode(pair.key) ? (pair.key.range?.[0] ?? offset) : offset;
      node = pair.value;
    } else if (isSeq(node) && typeof part === 'number') {
      node = node.items[part];
      offset = isNode(node) ? (node.range?.[0] ?? offset) : offset;
    } else break;
  }
  return lineAt(offset);
}
