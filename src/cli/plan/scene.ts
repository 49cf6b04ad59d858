/** An object of ours, or a Secret or ConfigMap, that takes part. */
export interface Actor {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
  /** What the cluster shows of it now; absent where that is not known. */
  readonly live?: { readonly generation: number; readonly status: Readonly<Record<string, unknown>> };
  /** True if it may bind by name, because its binding is unknown. */
  readonly presumed?: true;
}

/** Values by namespace and name: those of a Secret, or those of a ConfigMap. */
export type MaterialValues = ReadonlyMap<string, Readonly<Record<string, string>>>;

/** All objects, Secrets and ConfigMaps at one time. */
export interface Scene {
  readonly actors: readonly Actor[];
  readonly secrets: MaterialValues;
  readonly configMaps: MaterialValues;
}
