/**
 * Reads the folder of an import, then computes and writes the files that change. Guarantees: a file is written whole or
 * not at all; in an existing file only fields that come from the service change, so comments, order and manual edits
 * stay; no file is ever removed.
 */
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Document, isMap, isScalar, isSeq, parseAllDocuments, parseDocument, stringify } from 'yaml';
import { z } from 'zod';
import { definedIn, isRecord, sameJson } from '../../base/json.ts';
import { group, version } from '../../engine/kind/contract/define.ts';
import { kindOf } from '../cluster/objects.ts';
import { fieldsAt, valueAt } from '../definitions.ts';
import { documentsIn, readTexts } from '../documents/load.ts';
import { unwritten, yamlOptions } from '../output.ts';
import { folders, writtenSpec, type Draft } from './manifests.ts';

/** A file to write, with its old and its new text; `before` is undefined for a new file. */
export interface FileChange {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string;
}

/** The files of an import folder, and the resources that their manifests contain. */
export interface FolderContent {
  /** The text of each YAML file, by its path in the folder. */
  readonly files: ReadonlyMap<string, string>;
  /** The name of each resource, by the id of its object in the service. */
  readonly names: ReadonlyMap<string, string>;
  /**
   * The path of each resource's manifest. The keys have the form `Kind/id`, with the id of the resource's object in the
   * service.
   */
  readonly paths: ReadonlyMap<string, string>;
}

/** Reads an import folder; a missing folder counts as empty. */
export async function readFolder(folder: string): Promise<FolderContent | { readonly problem: string }> {
  const { texts, unreadable } = existsSync(folder) ? await readTexts(folder) : { texts: new Map(), unreadable: [] };
  const [flaw] = unreadable;
  if (flaw !== undefined) return { problem: `${flaw.place.file}: ${flaw.message}` };
  const files = new Map([...texts].filter(([path]) => /\.ya?ml$/.test(path)));
  const documents = documentsIn(files);
  const broken = documents.unreadable.find(({ isYaml }) => !isYaml);
  if (broken !== undefined) return { problem: `${broken.place.file}:${broken.place.line}: ${broken.message}` };
  const names = new Map<string, string>();
  const paths = new Map<string, string>();
  const places = new Map<string, string>();
  for (const { kind, namespace, name, object, place } of documents.loaded) {
    if (!isRecord(object['spec'])) continue;
    const key = JSON.stringify([kind, namespace, name]);
    const first = places.get(key);
    if (first !== undefined) return { problem: `${place.file}: ${kind}/${name} is also in ${first}` };
    places.set(key, place.file);
    const { externalId } = object['spec'];
    if (typeof externalId !== 'string') continue;
    names.set(externalId, name);
    paths.set(`${kind}/${externalId}`, place.file);
  }
  return { files, names, paths };
}

/** The account whose resources an import folder holds, and the namespace of its manifests. */
export interface FolderAccount {
  readonly accountId: string;
  readonly namespace: string | undefined;
  /**
   * The account resource in the cluster that the imported resources use. If undefined, import also writes a manifest
   * for an account resource.
   */
  readonly ref: { readonly kind: string; readonly name: string } | undefined;
}

/** Computes which files of the import folder change. */
export function changesOf(found: FolderContent, drafts: readonly Draft[], account: FolderAccount): FileChange[] {
  // One file may hold several resources: merge each resource into the text that the earlier ones have changed.
  const texts = new Map<string, string>();
  for (const draft of drafts) {
    const path = found.paths.get(`${draft.kind}/${draft.id}`) ?? `${folders[draft.kind]}/${draft.name}.yaml`;
    const before = texts.get(path) ?? found.files.get(path);
    // Keep the policy Observe of a resource while its Secret still holds placeholders, because otherwise the operator
    // would send the placeholders.
    const isToFillIn = draft.secrets.some(({ name }) => hasBlanks(found.files.get(secretPath(name)) ?? ''));
    texts.set(path, before === undefined ? newText(draft, account) : mergedText(before, draft, isToFillIn));
  }
  const changes = [...texts].map(([path, after]) => ({ path, before: found.files.get(path), after }));
  const secrets = drafts.flatMap((draft) => draft.secrets.map((one) => secretFile(one, draft, account.namespace)));
  const accounts = account.ref === undefined ? [accountFile(account), credentialsFile(account)] : [];
  const fixed = [...accounts, ...secrets].map(({ path, after, keys = {} }) => {
    const before = found.files.get(path);
    return { path, before, after: before === undefined ? after : withKeys(before, keys) };
  });
  // Add only new files to an existing kustomization. Leave out the Secrets, because a person must fill them in and
  // apply them. Write the kustomization before all other files: otherwise an import that is stopped could leave files
  // that no later import adds, because they are no longer new.
  const kustomization = found.files.get('kustomization.yaml');
  const resources = [...fixed.slice(0, accounts.length === 0 ? 0 : 1), ...changes]
    .filter(({ before }) => kustomization === undefined || before === undefined)
    .map(({ path }) => path)
    .toSorted();
  const listed = { path: 'kustomization.yaml', before: kustomization, after: kustomized(kustomization, resources) };
  const others = [...fixed, ...changes].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return [listed, ...others].filter(({ before, after }) => before !== after);
}

/** The number of files that an import has written, and the problem that kept it from writing the others. */
export interface FilesWritten {
  readonly written: number;
  readonly problem?: string;
}

/**
 * Writes the files one after the other, each either completely or not at all. Stops at the first file that cannot be
 * written. If the signal is aborted, stops before the next file.
 */
export async function writeFiles(
  folder: string,
  changes: readonly FileChange[],
  signal: AbortSignal,
): Promise<FilesWritten> {
  let written = 0;
  for (const { path, after } of changes) {
    if (signal.aborted) break;
    const target = join(folder, path);
    const beside = `${target}.${process.pid}.tmp`;
    try {
      await mkdir(dirname(target), { recursive: true });
      await writeFile(beside, after, { flag: 'wx' });
      await rename(beside, target);
    } catch (error) {
      if (existsSync(beside)) await rm(beside);
      return { written, problem: unwritten(target, error) };
    }
    written += 1;
  }
  return { written };
}

function textOf(object: object, comment?: string): string {
  const document = new Document(object, { aliasDuplicateObjects: false, ...yamlOptions });
  if (comment !== undefined) document.commentBefore = ` ${comment.replaceAll('\n', '\n ')}`;
  return document.toString({ lineWidth: 0 });
}

function newText(draft: Draft, { namespace, ref }: FolderAccount): string {
  const { kind, name, observed } = draft;
  const isDefault = ref === undefined || (ref.kind === 'HostingAccount' && ref.name === 'default');
  const whole = { ...writtenSpec(draft), ...(!isDefault && { accountRef: ref }) };
  const spec = ordered(kindOf(kind)?.spec ?? z.never(), whole);
  const object = { apiVersion: `${group}/${version}`, kind, metadata: definedIn({ name, namespace }), spec };
  return textOf(object, observed && `Only observed [${observed.code}]: ${observed.reason}.`);
}

/**
 * Merges one resource into the text of a file: updates the fields that come from the service, adds missing references to
 * Secrets, and removes a policy Observe that import chose and that is no longer needed. All else stays unchanged.
 */
function mergedText(before: string, draft: Draft, isToFillIn: boolean): string {
  const documents = parseAllDocuments(before);
  const mine = documents.find((document) => {
    return document.get('kind') === draft.kind && document.getIn(['metadata', 'name']) === draft.name;
  });
  if (mine === undefined) return before;
  const value: unknown = mine.toJS();
  let isChanged = draft.observed === undefined && !isToFillIn && liftObserve(mine);
  const absent = (draft.ifAbsent ?? []).filter((field) => valueAt(value, ['spec', ...field.split('.')]) === undefined);
  for (const field of [...draft.own, ...absent]) {
    const path = ['spec', ...field.split('.')];
    const wanted = valueAt(draft.spec, field.split('.'));
    if (sameJson(valueAt(value, path), wanted)) continue;
    isChanged = true;
    if (wanted === undefined) mine.deleteIn(path);
    else setValue(mine, path, wanted);
  }
  return isChanged ? documents.map((document) => document.toString({ lineWidth: 0 })).join('') : before;
}

/**
 * Sets a value in a manifest. Writes this value with quotes if parsers of YAML 1.1 need them, and leaves all else as it
 * is.
 */
function setValue(document: Document.Parsed, path: readonly string[], value: unknown): void {
  const node = parseDocument(stringify(value, yamlOptions)).contents;
  const old = document.getIn(path, true);
  // If the field has a YAML scalar already, change only the value of the scalar: a new scalar would lose the comments
  // of the old one.
  if (!isScalar(old) || !isScalar(node)) return document.setIn(path, node);
  old.value = node.value;
  if (node.type !== undefined && node.type !== 'PLAIN') old.type = node.type;
}

/**
 * Removes the policy Observe from a manifest if the manifest's comment says that import chose the policy. Keeps the
 * policy if a person wanted it.
 */
function liftObserve(document: Document.Parsed): boolean {
  const written = /^ Only observed \[(?!AsAsked)\w+\]: .*\n?/mu;
  const holder = [document, document.contents].find((one) => written.test(one?.commentBefore ?? ''));
  if (!holder || document.getIn(observing) !== 'Observe') return false;
  holder.commentBefore = holder.commentBefore?.replace(written, '') || null;
  document.deleteIn(observing);
  const lifecycle = document.getIn(observing.slice(0, -1));
  if (isMap(lifecycle) && lifecycle.items.length === 0) document.deleteIn(observing.slice(0, -1));
  return true;
}

const observing = ['spec', 'lifecycle', 'managementPolicy'];

/** Sorts the fields of a spec in the order of its schema. */
function ordered(schema: z.ZodType, value: unknown, path: readonly (string | number)[] = []): unknown {
  if (Array.isArray(value)) return value.map((item, at) => ordered(schema, item, [...path, at]));
  if (!isRecord(value)) return value;
  const order = fieldsAt(schema, path);
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  const rows = Object.entries(value).toSorted(([a], [b]) => rank(a) - rank(b));
  return Object.fromEntries(rows.map(([name, inner]) => [name, ordered(schema, inner, [...path, name])]));
}

/** True if a text still has placeholders that a person has to fill in. */
export function hasBlanks(text: string): boolean {
  return /fill-in[.@]example\.com/u.test(text);
}

type NewFile = Pick<FileChange, 'path' | 'after'> & { readonly keys?: Readonly<Record<string, string>> };

function accountFile({ accountId, namespace }: FolderAccount): NewFile {
  const object = {
    apiVersion: `${group}/${version}`,
    kind: 'HostingAccount',
    metadata: definedIn({ name: 'default', namespace }),
    spec: { credentialsRef: { name: 'hosting-credentials' }, externalId: accountId },
  };
  return { path: 'account.yaml', after: textOf(object, 'The Secret is in secrets/hosting-credentials.yaml.') };
}

function credentialsFile({ namespace }: FolderAccount): NewFile {
  const values = { baseUrl: 'https://fill-in.example.com', token: 'replace this text by the access token' };
  return fileToFillIn('hosting-credentials', namespace, values, 'the credentials of the account');
}

function secretFile({ name, keys }: Draft['secrets'][number], draft: Draft, namespace: string | undefined): NewFile {
  const address = (what: string) => `https://fill-in.example.com/${encodeURIComponent(what)}`;
  const values = Object.fromEntries(Object.entries(keys).map(([key, what]) => [key, address(what)]));
  return { ...fileToFillIn(name, namespace, values, `${draft.kind}/${draft.name}`), keys: values };
}

/** Adds missing keys, with placeholders, to the manifest of a Secret. */
function withKeys(before: string, keys: Readonly<Record<string, string>>): string {
  const document = parseDocument(before);
  const missing = Object.entries(keys).filter(
    ([key]) => !document.hasIn(['stringData', key]) && !document.hasIn(['data', key]),
  );
  for (const [key, value] of missing) document.setIn(['stringData', key], value);
  return missing.length === 0 ? before : document.toString({ lineWidth: 0 });
}

function secretPath(name: string): string {
  return `secrets/${name}.yaml`;
}

function fileToFillIn(name: string, namespace: string | undefined, stringData: object, what: string): NewFile {
  const object = { apiVersion: 'v1', kind: 'Secret', metadata: definedIn({ name, namespace }), stringData };
  const comment = `Import writes no secrets: fill in the Secret of ${what}, and do not commit it.\nkustomization.yaml leaves this file out: apply the file by hand, or create the Secret in a different way.`;
  return { path: secretPath(name), after: textOf(object, comment) };
}

/** Adds missing files to the resources of a kustomization; makes a kustomization if there is none. */
function kustomized(before: string | undefined, resources: readonly string[]): string {
  if (before === undefined)
    return textOf({ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', resources });
  const document = parseDocument(before);
  const listed = document.get('resources');
  const known = isSeq(listed) ? (listed.toJSON() as readonly unknown[]) : [];
  const missing = resources.filter((path) => !known.includes(path));
  if (missing.length === 0) return before;
  if (isSeq(listed)) for (const path of missing) listed.add(path);
  else document.set('resources', missing);
  return document.toString({ lineWidth: 0 });
}
