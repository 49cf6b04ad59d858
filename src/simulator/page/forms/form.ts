import type { Method } from '../../area.ts';
import type { FormPlace, FormValues } from './place.ts';

/** The collections whose ids a field may name. */
export type Pick =
  | 'accounts'
  | 'alerts'
  | 'apps'
  | 'configurations'
  | 'contactPoints'
  | 'credentials'
  | 'environments'
  | 'faults'
  | 'memberships'
  | 'regions'
  | 'tokens';

/** One field of a request as the page asks for it. */
export interface Field {
  /** Where it stands: `name`, or the way into objects and lists, as in `items/0/requestId`. */
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
  /** Suggestions for a field that are in no collection of the page. */
  readonly choices?: (at: FormPlace) => Readonly<Record<string, readonly FormChoice[]>>;
}

type More = Partial<Omit<Field, 'name' | 'kind' | 'isRequired'>>;

function field(kind: Field['kind']) {
  return (name: string, more: More = {}): Field => ({ name, kind, isRequired: false, ...more });
}

export const text = field('text');
export const number = field('number');
export const flag = field('flag');
export const list = field('list');
export const json = field('json');

/** The same field as one that must be sent. */
export function needs(optional: Field): Field {
  return { ...optional, isRequired: true };
}

/** An id of a collection, which must be sent. */
export function id(name: string, pick: Pick, follows?: readonly string[]): Field {
  return needs(text(name, { pick, ...(follows === undefined ? {} : { follows }) }));
}

/** `METHOD /path`, as a form is called. */
export function nameOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path}`;
}

type About = Partial<Omit<Form, 'method' | 'path' | 'area' | 'does'>>;

/** Makes the forms of one area: `METHOD /path`, what it does, its fields and how they are filled in. */
export function formsOf(
  area: string,
  forms: Readonly<Record<string, readonly [does: string, about?: About]>>,
): readonly Form[] {
  return Object.entries(forms).map(([name, [does, about = {}]]) => {
    const [method = '', path = ''] = name.split(' ');
    return { method: method as Method, path, area, does, fields: [], fill: () => ({}), ...about };
  });
}
