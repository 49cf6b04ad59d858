import { accounts, credentials, everyScope, memberships, regions, tokens } from '../../accounts/records.ts';
import { alerts, durations, metricNames, queryRanges } from '../../alerts/alert.ts';
import { apps } from '../../apps/app.ts';
import { creatablePresets, knownPresets } from '../../apps/presets.ts';
import type { Method } from '../../area.ts';
import { contactPoints, contactPointTypes } from '../../contact-points/contact-point.ts';
import { PHASES } from '../../disaster/durations.ts';
import { configurations } from '../../disaster/rows.ts';
import { environments } from '../../environments/environment.ts';
import { faults } from '../../public/faults.ts';
import { catalog } from '../../solutions/installation.ts';
import type { Collection } from '../../store/collection.ts';
import type { World } from '../../store/store.ts';

/** One field of a request as the page asks for it. */
export interface Field {
  /** `name`, or its path through objects and lists, as in `items/0/requestId`. */
  readonly name: string;
  readonly kind: 'text' | 'number' | 'flag' | 'list' | 'json';
  readonly isRequired: boolean;
  /** The only words that are taken. */
  readonly words?: readonly string[];
  /** It names a row of this collection. */
  readonly pick?: Pick;
  /** The value is filled in anew when one of these fields changes. */
  readonly follows?: readonly string[];
}

/** A value that can be picked, and how it is called. */
export interface FormChoice {
  readonly value: string;
  readonly text: string;
}

/** A request that the page can send: its fields, and how they are filled in from a world. */
export interface Form {
  readonly method: Method;
  /** Relative to the public prefix, or with `/_sim` for the control surface. */
  readonly path: string;
  readonly area: string;
  readonly does: string;
  readonly fields: readonly Field[];
  readonly fill: (at: FormPlace) => FormValues;
  /** Values of a field that stand in no collection of the page. */
  readonly choices: (at: FormPlace) => Readonly<Record<string, readonly FormChoice[]>>;
}

const kinds = { '': 'text', '#': 'number', '?': 'flag', '[]': 'list', '{}': 'json' } as const;

/** The word lists that fields name. */
const wordLists: Readonly<Record<string, readonly string[]>> = {
  creatablePresets,
  knownPresets,
  contactPointTypes,
  metricNames,
  durations,
  queryRanges,
  everyScope,
  phases: PHASES,
  solutions: catalog.map(({ solutionSlug }) => solutionSlug),
};

/**
 * Reads a list of fields: `name` is text, `name#` a number, `name?` a flag, `name[]` a list and `name{}` any JSON; `*` behind it says
 * that it must be sent. Then may come `@COLLECTION`, whose ids it names, `=WORDS`, which are all it takes (`=a|b`, or the name of a word
 * list), and `<OTHER+FIELDS`, on which its value depends.
 */
function fieldsOf(list: string): readonly Field[] {
  return list.split(/,\s*/).flatMap((text) => {
    const [head = '', ...rest] = text.trim().split(' ');
    const [, name = '', kind = '', must] = /^([\w./]+)(#|\?|\[\]|\{\})?(\*)?$/.exec(head) ?? [];
    const at = (mark: string) => rest.find((part) => part.startsWith(mark))?.slice(1);
    const [pick, words, follows] = [at('@'), at('='), at('<')];
    const field: Field = {
      name,
      kind: kinds[kind as keyof typeof kinds],
      isRequired: must !== undefined,
      ...(pick === undefined ? {} : { pick: pick as Pick }),
      ...(words === undefined ? {} : { words: wordLists[words] ?? words.split('|') }),
      ...(follows === undefined ? {} : { follows: follows.split('+') }),
    };
    return name === '' ? [] : [field];
  });
}

/** `METHOD /path`, as a form is called. */
export function nameOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path}`;
}

type About = readonly [does: string, fields?: string, fill?: Form['fill'], choices?: Form['choices']];

/** Makes the forms of one area: `METHOD /path`, what it does, its fields, and how they are filled in beyond the ids they name. */
export function formsOf(area: string, forms: Readonly<Record<string, About>>): readonly Form[] {
  return Object.entries(forms).map(([name, [does, fields = '', fill = () => ({}), choices = () => ({})]]) => {
    const [method = '', path = ''] = name.split(' ');
    return { method: method as Method, path, area, does, fields: fieldsOf(fields), fill, choices };
  });
}

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
