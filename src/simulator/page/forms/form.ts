import { everyScope } from '../../accounts/records.ts';
import { durations, queryRanges } from '../../alerts/alert.ts';
import { metricNames } from '../../alerts/metrics.ts';
import { creatablePresets, knownPresets } from '../../apps/presets.ts';
import type { Method } from '../../area.ts';
import { contactPointTypes } from '../../contact-points/config.ts';
import { PHASES } from '../../disaster/durations.ts';
import { catalog } from '../../solutions/catalog.ts';
import type { FormPlace, FormValues, Pick } from './place.ts';

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
