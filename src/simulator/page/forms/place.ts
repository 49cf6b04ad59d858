import { memberships, type MembershipRecord, tokens } from '../../accounts/records.ts';
import type { Collection } from '../../store/collection.ts';
import type { World } from '../../store/store.ts';

/** The values of a request that are filled in, under the names of its fields; what is undefined is not sent. */
export type FormValues = Readonly<Record<string, unknown>>;

/** Where a request is filled in: a world, whose token sends it, and what was chosen already. */
export interface FormPlace {
  readonly world: World;
  readonly accountId: string | undefined;
  readonly membership: MembershipRecord | undefined;
  /** A reference that no request has used yet. */
  readonly requestId: string;
  /** A text that was chosen for a field. */
  readonly chosen: (name: string) => string | undefined;
  /** The row that a field names: the chosen one, else the first of the account that suits, else the first of the account. */
  readonly row: <T extends object>(name: string, of: Collection<T>, suits?: (row: T) => boolean) => T | undefined;
  /** The rows of a collection that belong to the account. */
  readonly rows: <T extends object>(of: Collection<T>) => readonly T[];
}

interface Asked {
  readonly token: string | undefined;
  readonly given: FormValues;
  readonly lastRequest: number;
}

/** The place of one request. */
export function placeOf(world: World, { token, given, lastRequest }: Asked): FormPlace {
  const own = token === undefined ? [] : world.of(memberships).where('token', token);
  const chosen = (name: string) => {
    const value = given[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const known = token === undefined ? undefined : world.of(tokens).get(token);
  const accountId = chosen('accountId') ?? known?.currentAccountId ?? own[0]?.accountId;
  const rows = <T extends object>(of: Collection<T>) =>
    world
      .of(of)
      .all()
      .filter((row) => !('accountId' in row) || accountId === undefined || row.accountId === accountId);
  return {
    world,
    accountId,
    membership: own.find((membership) => membership.accountId === accountId),
    requestId: `try-${lastRequest + 1}`,
    chosen,
    rows,
    row: (name, of, suits = () => true) => {
      const named = chosen(name);
      const row = named === undefined ? undefined : world.of(of).get(named);
      if (named !== undefined) return row;
      const all = rows(of);
      return all.find(suits) ?? all[0];
    },
  };
}

/** A name that is free: as it is, or with the first number that is. */
export function freeName(name: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name;
  for (let n = 2; ; n += 1) if (!taken.includes(`${name}-${n}`)) return `${name}-${n}`;
}
