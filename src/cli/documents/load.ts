/**
 * Loads Kubernetes objects from a folder, a file or standard input, each with its file and line.
 *
 * Guarantees: the order of the objects does not depend on the machine; a file or folder that cannot be read is reported
 * and never left out. Exception: if kustomize has built the objects of a folder, only problems in the output of
 * kustomize are reported.
 */
import { execFile } from 'node:child_process';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseAllDocuments, type Document } from 'yaml';
import { isRecord } from '../../base/json.ts';

/** A place in a manifest: a file and a line. */
interface Place {
  readonly file: string;
  readonly line: number;
}

/** An object that was loaded from a manifest file. */
export interface Loaded {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly object: Readonly<Record<string, unknown>>;
  readonly place: Place;
  /** Finds the line of a field in the file. If the field is absent, finds the line of its nearest parent. */
  readonly lineOf: (path: readonly (string | number)[]) => number;
}

/** The reason why a file or a YAML document cannot be read, and its place. */
export interface Unreadable {
  readonly place: Place;
  readonly message: string;
  /** True if the document is valid YAML, but not a Kubernetes object. */
  readonly isYaml: boolean;
}

/** The objects that were loaded from manifests, and the manifests that could not be read. */
export interface Documents {
  readonly loaded: readonly Loaded[];
  readonly unreadable: readonly Unreadable[];
  /** Sentences for the user, such as that a kustomization was not rendered. */
  readonly notes: readonly string[];
}

/** Loads manifests from a folder, a file, or standard input for `-`. Renders a folder that has a kustomization. */
export async function loadDocuments(path: string): Promise<Documents> {
  if (path === '-') return documentsIn(new Map([['(standard input)', await textOf(process.stdin)]]));
  const { texts, unreadable } = await readTexts(path);
  const documents = documentsIn(texts);
  const all = { ...documents, unreadable: [...unreadable, ...documents.unreadable] };
  return [...texts.keys()].some((file) => isKustomization(file) && !file.includes('/')) ? kustomized(path, all) : all;
}

/**
 * Reads one manifest file, or all manifest files in a folder. Returns the text of each file under its relative path,
 * and a list of the files that cannot be read.
 */
export async function readTexts(path: string) {
  const texts: [string, string][] = [];
  const unreadable: Unreadable[] = [];
  /**
   * Reads a file, or all manifest files in a folder and its subfolders; follows symbolic links. `around` lists the
   * folders that contain the file or folder. A link back to one of them is refused, because the reading would never
   * end.
   */
  const read = async (file: string, around: readonly string[]): Promise<void> => {
    const name = relative(path, file) || file;
    const refuse = (message: string) =>
      void unreadable.push({ place: { file: name, line: 1 }, message, isYaml: false });
    try {
      if (!(await stat(file)).isDirectory()) return void texts.push([name, await readFile(file, 'utf8')]);
      const real = await realpath(file);
      if (around.includes(real)) refuse('the symbolic link points to a folder that contains the link');
      else for (const inner of await wantedIn(file)) await read(join(file, inner), [...around, real]);
    } catch (error) {
      refuse(reasonOf(error as Error));
    }
  };
  await read(path, []);
  return { texts: new Map(texts.toSorted(([a], [b]) => (a < b ? -1 : 1))), unreadable };
}

/**
 * Lists the names of the manifest files and subfolders in a folder, in alphabetical order. Leaves out hidden files and
 * folders. Also lists a broken link if its name has no extension, so that the link is reported.
 */
async function wantedIn(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.')).toSorted();
  const mayBeFolder = (name: string) =>
    stat(join(folder, name)).then(
      (found) => found.isDirectory(),
      () => !name.includes('.'),
    );
  const wanted = await Promise.all(names.map(async (name) => isManifest(name) || mayBeFolder(name)));
  return names.filter((_name, at) => wanted[at]);
}

/**
 * Lists the objects that `kustomize` builds from a folder. Each object gets the file and line of its source, if one of
 * the manifests in the folder contains the object.
 */
async function kustomized(path: string, sources: Documents): Promise<Documents> {
  const rendered = await render(path);
  if (rendered === undefined) {
    const note =
      'kustomization.yaml is not rendered, since neither kustomize nor kubectl is installed: the files are read as they are';
    return { ...sources, notes: [...sources.notes, note] };
  }
  const place = { file: 'kustomization.yaml', line: 1 };
  if ('problem' in rendered)
    return {
      loaded: [],
      unreadable: [...sources.unreadable, { place, message: rendered.problem, isYaml: false }],
      notes: [],
    };
  const { loaded, unreadable } = documentsIn(new Map([['(rendered)', rendered.text]]));
  const byName = new Map(sources.loaded.map((one) => [`${one.kind}/${one.name}`, one]));
  return {
    loaded: loaded.map((one) => {
      const source = byName.get(`${one.kind}/${one.name}`);
      return { ...one, place: source?.place ?? place, lineOf: source?.lineOf ?? (() => 1) };
    }),
    unreadable,
    notes: [],
  };
}

/** Runs `kustomize` on a folder; if it fails, says why. Returns undefined if neither kustomize nor kubectl is installed. */
async function render(path: string): Promise<{ readonly text: string } | { readonly problem: string } | undefined> {
  const ways = [
    ['kustomize', 'build'],
    ['kubectl', 'kustomize'],
  ] as const;
  for (const [program, verb] of ways) {
    try {
      const limits = { timeout: 60_000, maxBuffer: 256 * 1024 * 1024 };
      return { text: (await promisify(execFile)(program, [verb, path], limits)).stdout };
    } catch (error) {
      const { code, message, stderr = '' } = error as NodeJS.ErrnoException & { readonly stderr?: string };
      if (code === 'ENOENT') continue;
      const [first = ''] = stderr.trim().split('\n');
      // Remove the time and process id with which kubectl begins a log line.
      const words = first.replace(/^[IWEF]\d{4} [\d:.]+ +\d+ [^\]]+\] /u, '');
      return { problem: `${program}: ${words || message}` };
    }
  }
  return undefined;
}

function isManifest(name: string): boolean {
  return /\.(ya?ml|json)$/.test(name) || isKustomization(name);
}

function isKustomization(file: string): boolean {
  return /(^|\/)(kustomization\.ya?ml|Kustomization)$/.test(file);
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return 'there is no such file or folder';
  return code === 'EACCES' ? 'there is no permission to read the file' : message;
}

/** Parses the objects in manifest files. `texts` maps the path of each file to its text. Skips kustomization files. */
export function documentsIn(texts: ReadonlyMap<string, string>): Documents {
  const files = [...texts].filter(([file]) => !isKustomization(file));
  const parts = files.flatMap(([file, text]) => {
    const lines = new LineCounter();
    const documents = [...parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })];
    return documents.flatMap((document) => partsOf({ file, lines, document }));
  });
  return {
    loaded: parts.filter((part) => 'object' in part),
    unreadable: parts.filter((part) => 'message' in part),
    notes: [],
  };
}

function startOf({ contents }: Document): number {
  return isNode(contents) ? (contents.range?.[0] ?? 0) : 0;
}

/** A YAML document and the file that it comes from. */
interface Source {
  readonly file: string;
  readonly lines: LineCounter;
  readonly document: Document.Parsed;
}

type Path = readonly (string | number)[];

/** Lists the objects of a YAML document, or of the List in it; reports anything that is not a Kubernetes object. */
function partsOf(source: Source): readonly (Loaded | Unreadable)[] {
  const { file, lines, document } = source;
  const unreadable = (message: string, offset: number, isYaml: boolean) => {
    return [{ place: { file, line: lines.linePos(offset).line }, message, isYaml }];
  };
  const [error] = document.errors;
  if (error !== undefined) return unreadable(error.message, error.pos[0], false);
  let value: unknown;
  try {
    value = document.toJS();
  } catch (error) {
    // Report the errors that the YAML parser throws here, such as an alias without an anchor, or aliases that expand to
    // too many nodes.
    return unreadable((error as Error).message, startOf(document), false);
  }
  if (value === null || value === undefined) return [];
  if (!isRecord(value))
    return unreadable('the YAML document is not a mapping, so it is no Kubernetes object', startOf(document), true);
  if (value['kind'] !== 'List' || !Array.isArray(value['items'])) return [objectAt(source, [], value)];
  return value['items'].map((item, index) => objectAt(source, ['items', index], item));
}

function objectAt(source: Source, base: Path, object: unknown): Loaded | Unreadable {
  const place = placeOf(source, base);
  const { apiVersion, kind, metadata } = isRecord(object) ? object : {};
  const { name, generateName, namespace } = isRecord(metadata) ? metadata : {};
  const called = typeof name === 'string' ? name : typeof generateName === 'string' ? `${generateName}new` : undefined;
  if (!isRecord(object) || typeof apiVersion !== 'string' || typeof kind !== 'string' || called === undefined) {
    const what = base.length === 0 ? 'the object' : `items[${base.at(-1)}]`;
    return {
      place,
      message: `${what} needs apiVersion, kind, and metadata.name or generateName, each a text`,
      isYaml: true,
    };
  }
  return {
    apiVersion,
    kind,
    name: called,
    namespace: typeof namespace === 'string' && namespace !== '' ? namespace : undefined,
    object,
    place,
    lineOf: (path) => placeOf(source, [...base, ...path]).line,
  };
}

/** Finds the file and line of a field. If the field is absent, finds those of its nearest parent. */
function placeOf({ file, lines, document }: Source, path: Path): Place {
  let node: unknown = document.contents;
  let offset = startOf(document);
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
  return { file, line: lines.linePos(offset ?? 0).line };
}
