/**
 * Defines, parses and compares JSON values that may contain secrets.
 *
 * Also compares the resourceVersions of Kubernetes, which are numbers written as text.
 */
import { inspect } from 'node:util';

/** A value that must never be printed: every way of turning it into text gives `[secret]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /**
   * Returns the value itself. Only code that sends, fingerprints, compares or validates the value may call this method.
   */
  reveal(): string {
    return this.#value;
  }

  /** Returns the secret without surrounding white space, such as the newline at the end of a file. */
  trimmed(): Secret {
    return new Secret(this.#value.trim());
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

/** Any JSON value. Secrets in the value stay wrapped in `Secret`. */
export type Json = null | boolean | number | string | Secret | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** Returns the value that a JSON text contains; undefined if the text is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Copies a value with its secrets in plain text: to send it, or to compare it with what the service shows. */
export function revealed(value: Json | undefined): unknown {
  if (value instanceof Secret) return value.reveal();
  if (Array.isArray(value)) return value.map(revealed);
  if (typeof value !== 'object' || value === null) return value;
  return mapped(value, (inner) => revealed(inner as Json | undefined));
}

/**
 * Copies an object. Each field gets the value that `change` returns for it; a field for which `change` returns undefined
 * is left out.
 *
 * Takes the keys and not the entries, because V8 makes three more objects for each pair that `([key, value])` takes apart.
 */
export function mapped(value: object, change: (inner: unknown, key: string) => unknown): Record<string, unknown> {
  const fields = value as Readonly<Record<string, unknown>>;
  const rows = Object.keys(fields).map((key) => [key, change(fields[key], key)] as const);
  return Object.fromEntries(rows.filter((row) => row[1] !== undefined));
}

/** True for a JSON object: not null, not a list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the objects in the list that a JSON object has under this key; an empty list when there is no list under the
 * key.
 */
export function recordsIn(value: unknown, key: string): readonly Readonly<Record<string, unknown>>[] {
  const list: unknown = isRecord(value) ? value[key] : undefined;
  return Array.isArray(list) ? (list as unknown[]).filter(isRecord) : [];
}

/**
 * The type of an object whose undefined fields were removed: no
 * field has the value undefined, but a field may be missing.
 */
type Defined<Row> = string extends keyof Row
  ? { [Field in keyof Row]: Exclude<Row[Field], undefined> }
  : { [Field in keyof Row]?: Exclude<Row[Field], undefined> };

/** Copies an object without its undefined fields. */
export function definedIn<Row extends object>(row: Row): Defined<Row> {
  // The cast is safe: the copy lacks only fields that were undefined.
  return mapped(row, (value) => value) as Defined<Row>;
}

/** Copies an object without its undefined fields; returns undefined when no field is left. */
export function stated<Row extends object>(row: Row): Defined<Row> | undefined {
  const rows = definedIn(row);
  return Object.keys(rows).length === 0 ? undefined : rows;
}

/** Copies a list. Returns undefined if the list is empty, so that a field with this value is left out. */
export function unlessEmpty<Item>(list: readonly Item[]): Item[] | undefined {
  return list.length === 0 ? undefined : [...list];
}

/**
 * Compares two values as JSON: the order of keys does not count, a key with the value undefined counts as missing, and secrets
 * are equal if their values are equal. Keys listed in `ignored` are skipped at every depth.
 */
export function sameJson(a: unknown, b: unknown, ignored: readonly string[] = []): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof Secret || b instanceof Secret) {
    return a instanceof Secret && b instanceof Secret && a.reveal() === b.reveal();
  }
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, at) => sameJson(item ?? null, b[at] ?? null, ignored));
  }
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  for (const key in left) if (!ignored.includes(key) && !sameJson(left[key], right[key], ignored)) return false;
  for (const key in right) {
    if (!ignored.includes(key) && !Object.hasOwn(left, key) && right[key] !== undefined) return false;
  }
  return true;
}

/**
 * Writes a value as canonical JSON, so that equal values give equal text: keys sorted, no white space, undefined left
 * out (the part of RFC 8785 that the operator needs). Secrets appear in plain text, so the result may only be hashed or
 * compared, never shown.
 */
export function canonicalJson(value: unknown): string {
  if (value instanceof Secret) return JSON.stringify(value.reveal());
  if (Array.isArray(value)) return `[${value.map((item: unknown) => canonicalJson(item ?? null)).join(',')}]`;
  if (!isRecord(value)) return JSON.stringify(value ?? null);
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  const rows = keys.toSorted().map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  return `{${rows.join(',')}}`;
}

/**
 * True if resourceVersion `a` is older than `b`.
 *
 * A resourceVersion is a decimal string of up to 128 bits, too large for a number. So the strings are compared by length, then
 * character by character.
 */
export function isOlderVersion(a: string, b: string): boolean {
  return a.length === b.length ? a < b : a.length < b.length;
}

/** True if this text is a resourceVersion that `isOlderVersion` can compare. */
export function isVersion(text: string): boolean {
  return /^[1-9][0-9]{0,38}$/.test(text);
}
