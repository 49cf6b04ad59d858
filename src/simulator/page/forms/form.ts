import { everyScope, memberships, tokens } from '../../accounts/records.ts';
import { durations, metricNames, queryRanges } from '../../alerts/alert.ts';
import { creatablePresets, knownPresets } from '../../apps/presets.ts';
import { addressed, type Method } from '../../area.ts';
import { areas, collections } from '../../areas.ts';
import { contactPointTypes } from '../../contact-points/contact-point.ts';
import { PHASES } from '../../disaster/durations.ts';
import { catalog } from '../../solutions/installation.ts';
import type { Collection } from '../../store/collection.ts';
import type { World } from '../../store/store.ts';

/** A field in the form of a request. */
interface Field {
  /** The name of the field, or the path to it through objects and lists, such as `items/0/requestId`. */
  readonly name: string;
  readonly kind: 'text' | 'number' | 'flag' | 'list' | 'json';
  readonly isRequired: boolean;
  /** The only values that the field may have. */
  readonly words?: readonly string[];
  /** The name of the collection whose rows the field can name. */
  readonly pick?: string;
  /** The fields on which the value of this field depends: it is filled in again when one of them changes. */
  readonly follows?: readonly string[];
}

/** A value that the user can choose, and the text that the page shows for it. */
export interface FormChoice {
  readonly value: string;
  readonly text: string;
}

/** The form of a request: its fields, and how to fill them in from the world. */
export interface Form {
  readonly method: Method;
  /** The path after the public prefix; for the control surface the whole path, which begins with `/_sim`. */
  readonly path: string;
  readonly area: string;
  readonly does: string;
  readonly fields: readonly Field[];
  readonly fill: (at: FormPlace) => FormValues;
  /** Lists the choices for fields whose values the page cannot find in its own collections. */
  readonly choices: (at: FormPlace) => Readonly<Record<string, readonly FormChoice[]>>;
}

const kinds = { '': 'text', '#': 'number', '?': 'flag', '[]': 'list', '{}': 'json' } as const;

/** The lists of values that the description of a field can refer to by name. */
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
 * Parses the description of the fields of a form. `name` is a text, `name#` a number, `name?` a flag, `name[]` a list and `name{}` any
 * JSON; a `*` after it makes the field required. Three suffixes may follow: `@COLLECTION` says that the field names a row of that
 * collection; `=WORDS` gives the only values (`=a|b`, or the name of a word list); `<OTHER+FIELDS` names the fields on which the value
 * depends.
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
      ...(pick === undefined ? {} : { pick }),
      ...(words === undefined ? {} : { words: wordLists[words] ?? words.split('|') }),
      ...(follows === undefined ? {} : { follows: follows.split('+') }),
    };
    return name === '' ? [] : [field];
  });
}

type About = readonly [does: string, fields?: string, fill?: Form['fill'], choices?: Form['choices']];

/**
 * Makes the forms of an area. For each request, `forms` has an explanation, the fields, and a function that fills in fields other than
 * ids. A field that the route takes and the description leaves out becomes a text field at the end of the form.
 */
export function formsOf(area: string, forms: Readonly<Record<string, About>>): readonly Form[] {
  return Object.entries(forms).map(([name, [does, described = '', fill = () => ({}), choices = () => ({})]]) => {
    const address = addressed(name);
    const fields = fieldsOf(described);
    const left = fieldsTakenBy(address).filter((each) => !fields.some((field) => field.name.split('/')[0] === each));
    return { ...address, area, does, fields: [...fields, ...fieldsOf(left.join(', '))], fill, choices };
  });
}

function fieldsTakenBy({ method, path }: Pick<Form, 'method' | 'path'>): readonly string[] {
  const routes = areas.flatMap((area) => area.routes);
  return routes.find((route) => route.method === method && route.path === path)?.takes ?? [];
}

/** The values of a form by the names of its fields. An undefined value is not sent. */
export type FormValues = Readonly<Record<string, unknown>>;

/** The input for filling in a form: the world, the account of the token, and the values that the user chose. */
export type FormPlace = ReturnType<typeof placeOf>;

/** Collects the input for filling in a form. */
export function placeOf(world: World, token: string | undefined, given: FormValues, lastRequest: number) {
  const [own] = token === undefined ? [] : world.of(memberships).where('token', token);
  /** Returns the text that the user chose for a field; undefined if the user chose none. */
  const chosen = (name: string) => {
    const value = given[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const known = token === undefined ? undefined : world.of(tokens).get(token);
  const accountId = chosen('accountId') ?? known?.currentAccountId ?? own?.accountId;
  /** Lists the rows of a collection that belong to the account. */
  const rows = <T extends object>(of: Collection<T>) => {
    const isOurs = (row: T) => !('accountId' in row) || accountId === undefined || row.accountId === accountId;
    return world.of(of).all().filter(isOurs);
  };
  return {
    world,
    accountId,
    /** A requestId that no request has used yet. */
    requestId: `try-${lastRequest + 1}`,
    chosen,
    rows,
    /**
     * Finds the row for a field: the chosen one, else the first row of the account for which `suits` returns true, else the first row of
     * the account.
     */
    row: <T extends object>(name: string, of: Collection<T>, suits: (row: T) => boolean = () => true) => {
      const named = chosen(name);
      if (named !== undefined) return world.of(of).get(named);
      const all = rows(of);
      return all.find(suits) ?? all[0];
    },
    /** Finds the id for a field: the chosen one, else that of the first row of the account, or of its newest. */
    idOf: (name: string, pick: string, isNewest: boolean) => {
      const collection = collections.find((each) => each.name === pick) as unknown as Collection<object>;
      const row = rows(collection).at(isNewest ? -1 : 0);
      return chosen(name) ?? (name === 'accountId' ? accountId : row && collection.id(row));
    },
    /** Makes a name that no row of the account has: the given name, or this name with the first free number after it. */
    freeName: <T extends object>(name: string, of: Collection<T>, nameOf: (row: T) => string) => {
      const taken = new Set(rows(of).map(nameOf));
      let free = name;
      for (let n = 2; taken.has(free); n += 1) free = `${name}-${n}`;
      return free;
    },
  };
}
