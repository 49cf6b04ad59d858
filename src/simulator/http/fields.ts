import { invalid } from './refusal.ts';

/** An unchecked object from a client: a body, a query, or an object inside a body. */
export type BodyFields = Readonly<Record<string, unknown>>;

/** A function that checks a value from a client and returns the value with its type. A refusal names the field. */
export type Reads<T> = (value: unknown, name: string) => T;

/** Tells if a client sent a field. */
export function sent(from: BodyFields, name: string): boolean {
  return Object.hasOwn(from, name) && from[name] !== undefined;
}

/** Reads a field of an object; refuses when the field was not sent. A refusal calls the field `called`. */
export function required<T>(from: BodyFields, name: string, reads: Reads<T>, called = name): T {
  if (!sent(from, name)) throw invalid(`${called} is required`);
  return reads(from[name], called);
}

/** Reads a field of an object that may be left out. Null does not count as left out. */
export function optional<T>(from: BodyFields, name: string, reads: Reads<T>, called = name): T | undefined {
  return sent(from, name) ? reads(from[name], called) : undefined;
}

/** Makes a reader of a text with limits of its length in characters. The text may be empty only if `min` is 0. */
export function text(options: { readonly min?: number; readonly max?: number } = {}): Reads<string> {
  const { min = 1, max } = options;
  return (value, name) => {
    if (typeof value !== 'string') throw invalid(`${name} must be a string`);
    if (value.length < min) throw invalid(min === 1 ? `${name} must not be empty` : `${name} is too short`);
    if (max !== undefined && value.length > max && Array.from(value).length > max) {
      throw invalid(`${name} must have at most ${max} characters`);
    }
    return value;
  };
}

/** Makes a reader of a text that a pattern matches; a refusal of any other text ends with `refusal`. */
export function matching(pattern: RegExp, refusal: string, options: Parameters<typeof text>[0] = {}): Reads<string> {
  return (value, name) => {
    const given = text(options)(value, name);
    if (!pattern.test(given)) throw invalid(`${name} ${refusal}`);
    return given;
  };
}

/** Reads a field that is true or false. */
export const flag: Reads<boolean> = (value, name) => {
  if (typeof value !== 'boolean') throw invalid(`${name} must be true or false`);
  return value;
};

/** Reads a field that must be true. */
export const onlyTrue: Reads<true> = (value, name) => {
  if (value !== true) throw invalid(`${name} must be true`);
  return true;
};

/** Reads true or false from a query parameter. */
export const queryFlag: Reads<boolean> = (value, name) => {
  if (value !== 'true' && value !== 'false') throw invalid(`${name} must be true or false`);
  return value === 'true';
};

/** Makes a reader of a finite number within bounds. */
export function number(
  options: { readonly min?: number; readonly max?: number; readonly whole?: boolean } = {},
): Reads<number> {
  const { min = -Infinity, max = Infinity, whole = false } = options;
  return (value, name) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) throw invalid(`${name} must be a number`);
    if (whole && !Number.isSafeInteger(value)) throw invalid(`${name} must be a whole number`);
    if (value < min || value > max) throw invalid(`${name} must be between ${min} and ${max}`);
    return value;
  };
}

/** Makes a reader of a query parameter that is a whole number within bounds. */
export function queryNumber(options: { readonly min: number; readonly max: number }): Reads<number> {
  const reads = number({ ...options, whole: true });
  return (value, name) => {
    if (typeof value !== 'string' || !/^-?\d{1,15}$/.test(value)) throw invalid(`${name} must be a whole number`);
    return reads(Number(value), name);
  };
}

/** Makes a reader of a text that must be one of several words. */
export function choice<const W extends string>(words: readonly W[]): Reads<W> {
  return (value, name) => {
    const known = words.find((word) => word === value);
    if (known === undefined) throw invalid(`${name} must be one of ${words.join(', ')}`);
    return known;
  };
}

/** Makes a reader of a list; `reads` reads each item. */
export function list<T>(reads: Reads<T>, options: { readonly min?: number; readonly max?: number } = {}): Reads<T[]> {
  const { min = 0, max = Infinity } = options;
  return (value, name) => {
    if (!Array.isArray(value)) throw invalid(`${name} must be a list`);
    if (value.length < min) throw invalid(`${name} needs at least ${min} item${min === 1 ? '' : 's'}`);
    if (value.length > max) throw invalid(`${name} takes at most ${max} items`);
    return value.map((item, i) => reads(item, `${name}[${i}]`));
  };
}

/** Reads an object without checking its fields. */
export const object: Reads<BodyFields> = (value, name) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(`${name} must be an object`);
  return value as BodyFields;
};

/** Makes a reader of a value that may be null. */
export function orNull<T>(reads: Reads<T>): Reads<T | null> {
  return (value, name) => (value === null ? null : reads(value, name));
}

interface Must<T> {
  readonly must: Reads<T>;
}

/** Marks a field as required in a description of an object. */
export function must<T>(reads: Reads<T>): Must<T> {
  return { must: reads };
}

/** The description of an object: how to read each field. Fields without `must` may be left out. */
export type FieldShape = Readonly<Record<string, Reads<unknown> | Must<unknown>>>;

/** The type of an object that was read by a `FieldShape`; fields that were not sent are absent. */
export type ReadFields<S> = {
  readonly [K in keyof S as S[K] extends Must<unknown> ? K : never]: S[K] extends Must<infer T> ? T : never;
} & {
  readonly [K in keyof S as S[K] extends Must<unknown> ? never : K]?: S[K] extends Reads<infer T> ? T : never;
};

/** Reads the fields of an object in the order of their description; `inside` is the name of the object in refusals. */
export function readFields<const S extends FieldShape>(from: BodyFields, shape: S, inside = ''): ReadFields<S> {
  const read = Object.entries(shape).map(([name, reads]) => {
    const called = pathTo(inside, name);
    return [
      name,
      typeof reads === 'function' ? optional(from, name, reads, called) : required(from, name, reads.must, called),
    ];
  });
  return present(Object.fromEntries(read)) as ReadFields<S>;
}

function pathTo(inside: string, name: string): string {
  return inside === '' ? name : `${inside}.${name}`;
}

/** Makes a reader of an object, which reads the described fields and refuses all others. */
export function fields<const S extends FieldShape>(shape: S): Reads<ReadFields<S>> {
  return (value, name) => {
    const from = object(value, name);
    onlyFields(from, name, Object.keys(shape));
    return readFields(from, shape, name);
  };
}

/** Makes a reader of an object with any keys; `reads` reads each value. */
export function record<T>(reads: Reads<T>): Reads<Readonly<Record<string, T>>> {
  return (value, name) => {
    const entries = Object.entries(object(value, name));
    return Object.fromEntries(entries.map(([key, item]) => [key, reads(item, `${name}.${key}`)]));
  };
}

/** Refuses an object with a field that is not among the known ones. */
export function onlyFields(from: BodyFields, name: string, known: readonly string[]): void {
  const other = Object.keys(from).find((key) => !known.includes(key));
  if (other !== undefined) throw invalid(`${pathTo(name, other)} is not a known field`);
}

/** Copies an object without the fields whose value is undefined. */
export function present<T extends object>(from: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(from).filter(([, value]) => value !== undefined)) as never;
}
