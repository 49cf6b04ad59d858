/** A type of client-node as it stands in JSON: its classes hold moments as `Date`, the API server writes them as text. */
export type KubeWire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly KubeWire<Item>[]
    : T extends object
      ? { readonly [K in keyof T]: KubeWire<T[K]> | (object extends Pick<T, K> ? undefined : never) }
      : T;

/** The fields of a type whose values nobody has checked yet. */
export type Unchecked<T> = { readonly [K in keyof T]?: unknown };
