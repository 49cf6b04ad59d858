import { invalid } from './refusal.ts';

/** An object from a client that is not validated yet: a body, a query, or an object inside a body. */
export type BodyFields = Readonly<Record<string, unknown>>;

/** Validates a value from a client and returns it with its type; fails with 400 and the name of the field if the value is not valid. */
export type Reads<T> = (value: unknown, name: string) => T;

/** True if the client sent the field. */
export function sent(from: BodyFields, name: string): boolean {
  return Object.hasOwn(from, name) && from[name] !== undefined;
}

/**
 * Validates a required field of an object; fails with 400 if the client did not send the field. `called` is the name of the field in the
 * error message.
 */
export function required<T>(from: BodyFields, name: string, reads: Reads<T>, called = name): T {
  if (!sent(from, name)) throw invalid(`${called} is required`);
  return reads(from[name], called);
}

/**
 * Validates an optional field of an object; returns undefined if the client did not send the field. A null counts as sent, so it is
 * validated like any other value.
 */
export function optional<T>(from: BodyFields, name: string, reads: Reads<T>, called = name): T | undefined {
  return sent(from, name) ? reads(from[name], called) : undefined;
}

/** Returns a validator for a string with a minimum and a maximum length in characters. The string may be empty only if `min` is 0. */
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

/** Returns a validator for a string that must match a pattern; `wanted` describes such a string in the error message. */
export function matching(pattern: RegExp, wanted: string, options: Parameters<typeof text>[0] = {}): Reads<string> {
  return (value, name) => {
    const given = text(options)(value, name);
    if (!pattern.test(given)) throw invalid(`${name} must be ${wanted}`);
    return given;
  };
}

/** Validates a field that must be true or false. */
export const flag: Reads<boolean> = (value, name) => {
  if (typeof value !== 'boolean') throw invalid(`${name} must be true or false`);
  return value;
};

/** Validates a field that must be true. */
export const onlyTrue: Reads<true> = (value, name) => {
  if (value !== true) throw invalid(`${name} must be true`);
  return true;
};

/** Validates a query parameter that must be `true` or `false`. */
export const queryFlag: Reads<boolean> = (value, name) => {
  if (value !== 'true' && value !== 'false') throw invalid(`${name} must be true or false`);
  return value === 'true';
};

/** Returns a validator for a finite number within bounds. */
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

/** Returns a validator for a query parameter that must be a whole number within bounds. */
export function queryNumber(options: { readonly min: number; readonly max: number }): Reads<number> {
  const reads = number({ ...options, whole: true });
  return (value, name) => {
    if (typeof value !== 'string' || !/^-?\d{1,15}$/.test(value)) throw invalid(`${name} must be a whole number`);
    return reads(Number(value), name);
  };
}

/** Returns a validator for a string that must be one of the given values. */
export function choice<const W extends string>(words: readonly W[]): Reads<W> {
  return (value, name) => {
    const known = words.find((word) => word === value);
    if (known === undefined) throw invalid(`${name} must be one of ${words.join(', ')}`);
    return known;
  };
}

/** Returns a validator for a list; `reads` validates each item of the list. */
export function list<T>(reads: Reads<T>, options: { readonly min?: number; readonly max?: number } = {}): Reads<T[]> {
  const { min = 0, max = Infinity } = options;
  return (value, name) => {
    if (!Array.isArray(value)) throw invalid(`${name} must be a list`);
    if (value.length < min) throw invalid(`${name} needs at least ${min} item${min === 1 ? '' : 's'}`);
    if (value.length > max) throw invalid(`${name} takes at most ${max} items`);
    return value.map((item, i) => reads(item, `${name}[${i}]`));
  };
}

/** Validates that a value is an object, but does not validate its fields. */
export const object: Reads<BodyFields> = (value, name) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(`${name} must be an object`);
  return value as BodyFields;
};

/** Returns a validator that accepts null and otherwise validates with `reads`. */
export function orNull<T>(reads: Reads<T>): Reads<T | null> {
  return (value, name) => (value === null ? null : reads(value, name));
}

interface Must<T> {
  readonly must: Reads<T>;
}

/** Marks a field as required in a `FieldShape`. */
export function must<T>(reads: Reads<T>): Must<T> {
  return { must: reads };
}

/** Describes an object: for each field, the function that validates it. Fields without `must` are optional. */
export type FieldShape = Readonly<Record<string, Reads<unknown> | Must<unknown>>>;

/** The type of an object whose fields were validated with a `FieldShape`. An optional field that the client did not send is absent. */
export type ReadFields<S> = {
  readonly [K in keyof S as S[K] extends Must<unknown> ? K : never]: S[K] extends Must<infer T> ? T : never;
} & {
  readonly [K in keyof S as S[K] extends Must<unknown> ? never : K]?: S[K] extends Reads<infer T> ? T : never;
};

/** Validates the fields of an object in the order of their `FieldShape`; `inside` is the name of the object in error messages. */
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

/** Returns a validator for an object with the given fields; the validator refuses all other fields. */
export function fields<const S extends FieldShape>(shape: S): Reads<ReadFields<S>> {
  return (value, name) => {
    const from = object(value, name);
    onlyFields(from, name, Object.keys(shape));
    return readFields(from, shape, name);
  };
}

/** Returns a validator for an object with any keys; `reads` validates each value. */
export function record<T>(reads: Reads<T>): Reads<Readonly<Record<string, T>>> {
  return (value, name) => {
    const entries = Object.entries(object(value, name));
    return Object.fromEntries(entries.map(([key, item]) => [key, reads(item, `${name}.${key}`)]));
  };
}

/** Fails with 400 if an object has a field that is not in the list of known fields. */
export function onlyFields(from: BodyFields, name: string, known: readonly string[]): void {
  const other = Object.keys(from).find((key) => !known.includes(key));
  if (other !== undefined) throw invalid(`${pathTo(name, other)} is not a known field`);
}

/** Copies an object without the fields whose value is undefined. */
export function present<T extends object>(from: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(from).filter(([, value]) => value !== undefined)) as never;
}
