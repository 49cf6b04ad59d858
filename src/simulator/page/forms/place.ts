import { accounts, credentials, memberships, regions, tokens } from '../../accounts/records.ts';
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

interface Asked {
  readonly token: string | undefined;
  readonly given: FormValues;
  readonly lastRequest: number;
}

/** The context of filling a request in: the world, the sender, and the values that were chosen already. */
export type FormPlace = ReturnType<typeof placeOf>;

/** The place of one request. */
export function placeOf(world: World, { token, given, lastRequest }: Asked) {
  const [own] = token === undefined ? [] : world.of(memberships).where('token', token);
  /** A text that was chosen for a field. */
  const chosen = (name: string) => {
    const value = given[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const known = token === undefined ? undefined : world.of(tokens).get(token);
  const accountId = chosen('accountId') ?? known?.currentAccountId ?? own?.accountId;
  /** The rows of a collection that belong to the account. */
  const rows = <T extends object>(of: Collection<T>) => {
    const isOurs = (row: T) => !('accountId' in row) || accountId === undefined || row.accountId === accountId;
    return world.of(of).all().filter(isOurs);
  };
  return {
    world,
    accountId,
    /** A reference that no request has used yet. */
    requestId: `try-${lastRequest + 1}`,
    chosen,
    rows,
    /** The row that a field names: the chosen one, else the first of the account that suits, else the first of the account. */
    row: <T extends object>(name: string, of: Collection<T>, suits: (row: T) => boolean = () => true) => {
      const named = chosen(name);
      if (named !== undefined) return world.of(of).get(named);
      const all = rows(of);
      return all.find(suits) ?? all[0];
    },
    /** The id that a field names unless its form says otherwise: the chosen one, else that of the first or of the newest row. */
    idOf: (name: string, pick: Pick, isNewest: boolean) => {
      const collection = picks[pick] as unknown as Collection<object>;
      const row = rows(collection).at(isNewest ? -1 : 0);
      return chosen(name) ?? (name === 'accountId' ? accountId : row && collection.id(row));
    },
    /** A name that no row of a collection has: as it is, or with the first number that is free. */
    freeName: <T extends object>(name: string, of: Collection<T>, nameOf: (row: T) => string) => {
      const taken = new Set(rows(of).map(nameOf));
      let free = name;
      for (let n = 2; taken.has(free); n += 1) free = `${name}-${n}`;
      return free;
    },
  };
}
