/** A spec as JSON; undefined leaves a field out. */
export type Spec = Readonly<Record<string, unknown>>;

/** A spec that must be refused, by the API server and by our own parse. */
interface Refused {
  readonly because: string;
  readonly spec: Spec;
  /** What the API server's message must contain for a user to know what to do. */
  readonly says: string;
}

/** A change of an accepted spec; `says` is absent where it must be accepted. */
export interface Change {
  readonly because: string;
  readonly from: Spec;
  readonly to: Spec;
  readonly says?: string;
}

/** What the definition of a kind must accept and refuse. */
export interface Verdicts {
  readonly kind: string;
  readonly accepted: readonly { readonly because: string; readonly spec: Spec }[];
  readonly refused: readonly Refused[];
  readonly changes: readonly Change[];
}

/** A text that is too long for a field of that length. */
export function longer(than: number): string {
  return 'x'.repeat(than + 1);
}

/** A spec in an account by its name, and whatever else every kind takes. */
export function inAccount(spec: Spec, more: Spec = {}): { readonly because: string; readonly spec: Spec } {
  return {
    because: 'an account by its kind and name',
    spec: { ...spec, ...more, accountRef: { kind: 'ClusterHostingAccount', name: 'shared' } },
  };
}

/** Changes of accountRef, which every kind in an account must treat alike. */
export function accountChanges(spec: Spec): readonly Change[] {
  const says = 'accountRef cannot be changed';
  const at = (accountRef: unknown) => ({ ...spec, accountRef });
  return [
    { because: 'the default account may be written out', from: spec, to: at({ name: 'default' }) },
    { because: 'and left out again', from: at({ kind: 'HostingAccount', name: 'default' }), to: spec },
    { because: 'an empty reference is the default', from: at({}), to: at({ kind: 'HostingAccount' }) },
    { because: 'an account cannot be added', from: spec, to: at({ name: 'other' }), says },
    { because: 'an account cannot be removed', from: at({ name: 'other' }), to: spec, says },
    { because: 'an account cannot be swapped', from: at({ name: 'a' }), to: at({ name: 'b' }), says },
    { because: 'nor its kind', from: spec, to: at({ kind: 'ClusterHostingAccount' }), says },
  ];
}
