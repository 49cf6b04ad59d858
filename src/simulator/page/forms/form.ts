import { everyScope, memberships, tokens } from '../../service/accounts/records.ts';
import { durations, metricNames, queryRanges } from '../../service/alerts/alert.ts';
import { creatablePresets, knownPresets } from '../../service/apps/presets.ts';
import { addressed, type Method } from '../../service/area.ts';
import { areas, collections } from '../../service/areas.ts';
import { contactPointTypes } from '../../service/contact-points/contact-point.ts';
import { PHASES } from '../../service/disaster/durations.ts';
import { catalog } from '../../service/solutions/installation.ts';
import type { Collection } from '../../store/collection.ts';
import type { World } from '../../store/store.ts';

/** A field in a request form of the web page. */
interface Field {
  /** The name of the field, or its path through objects and lists, such as `items/0/requestId`. */
  readonly name: string;
  readonly kind: 'text' | 'number' | 'flag' | 'list' | 'json';
  readonly isRequired: boolean;
  /** The allowed values, if the field accepts only certain values. */
  readonly words?: readonly string[];
  /**
   * If the value of this field is the id of a stored object, or a list of such ids, this is the name of the collection of these objects.
   */
  readonly pick?: string;
  /** The fields on which the value of this field depends: when one of them changes, this field is filled in again. */
  readonly follows?: readonly string[];
}

/** A value that the user can choose in a form, and the text that the page shows for this value. */
export interface FormChoice {
  readonly value: string;
  readonly text: string;
}

/** A form on the web page for one kind of request: its fields, and a function that fills them in from the simulator's data. */
export interface Form {
  readonly method: Method;
  /** The path after /api/public/v1; for control requests the whole path, which begins with `/_sim`. */
  readonly path: string;
  readonly area: string;
  readonly does: string;
  readonly fields: readonly Field[];
  readonly fill: (at: FormPlace) => FormValues;
  /**
   * Lists the choices for fields whose possible values the web page does not load, such as the recovery points of a
   * protection.
   */
  readonly choices: (at: FormPlace) => Readonly<Record<string, readonly FormChoice[]>>;
}

const kinds = { '': 'text', '#': 'number', '?': 'flag', '[]': 'list', '{}': 'json' } as const;

/** Lists of allowed values. The description of a form field can give the name of such a list instead of the values. */
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

const fieldPattern = /^([\w./]+)(#|\?|\[\]|\{\})?(\*)?(?:@(\w+))?(?:=([^<]+))?(?:<(.+))?$/;

/**
 * Parses a short description of the fields of a form, such as `accountId*@accounts,port#<dockerPreset,mode=cold|warm`. The fields are
 * separated by commas. After the name comes the type: nothing for a string, `#` for a number, `?` for a flag, `[]` for a list, `{}` for
 * JSON; then `*` if the field is required. Up to three suffixes follow: `@COLLECTION` says that the value is the id of an object in this
 * collection; `=VALUES` lists the allowed values (`=a|b`, or the name of a list in `wordLists`); `<FIELD+FIELD` lists the fields on which
 * the value depends.
 */
function fieldsOf(list: string): readonly Field[] {
  return list.split(/,\s*/).flatMap((text) => {
    const [, name = '', kind = '', must, pick, words, follows] = fieldPattern.exec(text.trim()) ?? [];
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
 * Creates the forms of one area of the web page. For each request, `forms` contains a short explanation, the fields, and a function that
 * fills in the fields other than ids. A field that the endpoint accepts but `forms` does not describe becomes a text field at the end of
 * the form.
 */
export function formsOf(area: string, forms: Readonly<Record<string, About>>): readonly Form[] {
  return Object.entries(forms).map(([name, [does, described = '', fill = () => ({}), choices = () => ({})]]) => {
    const address = addressed(name);
    const fields = fieldsOf(described);
    const left = fieldsTakenBy(address).filter((each) => !fields.some((field) => field.name.split('/')[0] === each));
    return { ...address, area, does, fields: [...fields, ...fieldsOf(left.join(','))], fill, choices };
  });
}

function fieldsTakenBy({ method, path }: Pick<Form, 'method' | 'path'>): readonly string[] {
  const routes = areas.flatMap((area) => area.routes);
  return routes.find((route) => route.method === method && route.path === path)?.takes ?? [];
}

/** The values of a form, by field name. A value that is undefined is not sent. */
export type FormValues = Readonly<Record<string, unknown>>;

/**
 * The values from which a form is filled in: the simulator's data, the account that the user chose or else that of the
 * selected token, the other values that the user chose, and the next free requestId.
 */
export type FormPlace = ReturnType<typeof placeOf>;

/** Returns the values from which a form of the web page is filled in, with functions that find suitable objects. */
export function placeOf(world: World, token: string | undefined, given: FormValues, lastRequest: number) {
  const [own] = token === undefined ? [] : world.of(memberships).where('token', token);
  /** Returns the text that the user chose for a field; undefined if the user chose none. */
  const chosen = (name: string) => {
    const value = given[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const known = token === undefined ? undefined : world.of(tokens).get(token);
  const accountId = chosen('accountId') ?? known?.currentAccountId ?? own?.accountId;
  /**
   * Lists the objects of a collection that belong to the account or, like regions, to no account. If the account is not
   * known, lists all objects of the collection.
   */
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
     * Finds the object for a field of a form. Takes the object that the user chose. If the user chose none, takes the
     * first object of the account that passes the test `suits`, or the account's first object if none passes.
     */
    row: <T extends object>(name: string, of: Collection<T>, suits: (row: T) => boolean = () => true) => {
      const named = chosen(name);
      if (named !== undefined) return world.of(of).get(named);
      const all = rows(of);
      return all.find(suits) ?? all[0];
    },
    /**
     * Finds the id for a field of a form. Takes the id that the user chose. If the user chose none, takes the account's
     * id for the field `accountId`, and for other fields the id of the account's first object, or of its newest object
     * if `isNewest` is true.
     */
    idOf: (name: string, pick: string, isNewest: boolean) => {
      const collection = collections.find((each) => each.name === pick) as unknown as Collection<object>;
      const row = rows(collection).at(isNewest ? -1 : 0);
      return chosen(name) ?? (name === 'accountId' ? accountId : row && collection.id(row));
    },
    /** Returns a name that is still free in the account: the given name, or this name with the first free number appended. */
    freeName: <T extends object>(name: string, of: Collection<T>, nameOf: (row: T) => string) => {
      const taken = new Set(rows(of).map(nameOf));
      let free = name;
      for (let n = 2; taken.has(free); n += 1) free = `${name}-${n}`;
      return free;
    },
  };
}
