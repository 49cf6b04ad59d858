import { accounts, credentials, memberships, type MembershipRecord, regions, tokens } from '../../accounts/records.ts';
import { alerts } from '../../alerts/alert.ts';
import { apps } from '../../apps/app.ts';
import { contactPoints } from '../../contact-points/contact-point.ts';
import { configurations } from '../../disaster/rows.ts';
import { environments } from '../../environments/environment.ts';
import { faults } from '../../public/faults.ts';
import type { Collection } from '../../store/collection.ts';
import type { World } from '../../store/store.ts';

/** The collections whose ids a field may name. */
const picks = {
  accounts,
  alerts,
  apps,
  configurations,
  contactPoints,
  credentials,
  environments,
  faults,
  memberships,
  regions,
  tokens,
};

/** The name of a collection whose ids a field may name. */
export type Pick = keyof typeof picks;

/** The values of a request that are filled in, under the names of its fields; what is undefined is not sent. */
export type FormValues = Readonly<Record<string, unknown>>;

/** The context of filling a request in: the world, the sender, and the values that were chosen already. */
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
  /** The id that a field names unless its form says otherwise: the chosen one, else that of the first or of the newest row. */
  readonly idOf: (name: string, pick: Pick, isNewest: boolean) => string | undefined;
  /** A name that no row of a collection has: as it is, or with the first number that is free. */
  readonly freeName: <T extends object>(name: string, of: Collection<T>, nameOf: (row: T) => string) => string;
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
      if (named !== undefined) return world.of(of).get(named);
      const all = rows(of);
      return all.find(suits) ?? all[0];
    },
    idOf: (name, pick, isNewest) => {
      const collection = picks[pick] as unknown as Collection<object>;
      const all = rows(collection);
      const row = isNewest ? all.at(-1) : all[0];
      return chosen(name) ?? (name === 'accountId' ? accountId : row && collection.id(row));
    },
    freeName: (name, of, nameOf) => {
      const taken = new Set(rows(of).map(nameOf));
      let free = name;
      for (let n = 2; taken.has(free); n += 1) free = `${name}-${n}`;
      return free;
    },
  };
}
