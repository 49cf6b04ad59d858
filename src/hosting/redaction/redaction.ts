/**
 * A body of the service without the secrets that are in use, before anybody sees it.
 *
 * What is only shown loses every known secret. What is compared with a spec or decides what is done next must stay what it is:
 * an app called like the user of its database is still that app, and one that is not recognised is created twice. So words of a
 * vocabulary lose no secret that is a word itself, names none that might be a name, and ids stay. What people wrote into an
 * alert or a contact point in words of their own stays as well: who shares the account could otherwise make it differ from its
 * spec. It is without secrets wherever it is shown.
 *
 * Why: docs/design/secrets-and-redaction.md
 */
import { isObject } from '../bodies/shape.ts';
import type { Sureness } from './known-secrets.ts';

/** A text without the secrets that are at least so sure. */
export type Hide = (text: string, least: Sureness) => string;

/** Words that only the service says. */
const words = ['kind', 'lastKnownState', 'outcome', 'phase', 'previousState', 'state', 'status'];
/** What specs say as well. */
const names = [
  'aggregation',
  'appName',
  'builder',
  'cliEnvName',
  'components',
  'contextDir',
  'defaultDockerPresetVersion',
  'description',
  'destinationRegion',
  'dockerPreset',
  'dockerPresetVersion',
  'dockerfilePath',
  'duration',
  'eligibleDestinations',
  'envName',
  'environmentName',
  'gitBranch',
  'gitNamespace',
  'gitRepo',
  'inputs',
  'metric',
  'mode',
  'name',
  'operator',
  'queryRange',
  'region',
  'requiredInputs',
  'solutionSlug',
  'template',
  'type',
  'value',
  'version',
  'versions',
];
const surenessOf: ReadonlyMap<string, Sureness> = new Map([
  ...words.map((name) => [name, 'noWord'] as const),
  ...names.map((name) => [name, 'noName'] as const),
]);

/** Ids and times, under whatever names they stand, and where the next page begins: their readers take nothing else for them. */
const isExact = /(?:^id|Ids?|Cursor|At|Until)$/;
/** Lists that may hold bare ids. */
const idLists: ReadonlySet<string> = new Set(['apps', 'appEnvs', 'components', 'environments']);

/** What people wrote themselves, and the ids of the items in which that is taken as it is. */
const written: ReadonlySet<string> = new Set(['description', 'name']);
const itemIds = ['alertId', 'contactPointId'];

/** Takes the known secrets out of a parsed body, in place; the texts under the spared name stay. */
export function unsaid(body: unknown, hide: Hide, spared?: string): unknown {
  return within(body, '', 'anyWord', hide, spared);
}

function within(value: unknown, name: string, least: Sureness, hide: Hide, spared: string | undefined): unknown {
  if (typeof value === 'string') return hide(value, least);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const item: unknown = value[index];
      if (typeof item !== 'string') value[index] = within(item, name, least, hide, spared);
      else if (!idLists.has(name)) value[index] = hide(item, least);
    }
    return value;
  }
  if (!isObject(value)) return value;
  const record: Record<string, unknown> = value;
  const isWritten = itemIds.some((id) => id in record);
  for (const key in record) {
    const inner = record[key];
    if (inner === null || typeof inner === 'number' || typeof inner === 'boolean') continue;
    if (key === spared || isExact.test(key) || (isWritten && written.has(key))) continue;
    record[key] = within(inner, key, surenessOf.get(key) ?? 'anyWord', hide, spared);
  }
  return record;
}

/**
 * What was left in a body to be compared, without secrets: a text, or the fields of those names in a value, which itself stays.
 * Whatever else is in a value was made fit to be shown before, or must be found again as it is.
 */
export function shownWithout<Value>(value: Value, hide: Hide): Value {
  if (typeof value === 'string') return hide(value, 'noName') as Value & string;
  return copied(value, '', hide) as Value;
}

function copied(value: unknown, name: string, hide: Hide): unknown {
  if (typeof value === 'string') return written.has(name) ? hide(value, 'noName') : value;
  if (Array.isArray(value)) return value.map((item: unknown) => copied(item, name, hide));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copied(inner, key, hide)]));
}
