/**
 * Defines the readings: one switch for every point that the description of the interface leaves open. The first word of a list is the
 * default. A reading changes exactly what its sentence says.
 */

function words<const W extends string>(does: string, ...values: readonly [W, ...W[]]) {
  return { kind: 'words', does, words: values } as const;
}

/** Describes a reading that is a number. If it is off by default, it may also be turned off, with `off` or 0. */
function amount<const I extends number | 'off'>(does: string, initial: I) {
  return { kind: 'amount', does, initial } as const;
}

type Words<W extends string> = ReturnType<typeof words<W>>;
type Amount<I extends number | 'off'> = ReturnType<typeof amount<I>>;
type AnyReading = Words<string> | Amount<number | 'off'>;

/** All readings, with their names, meanings and values. */
export const registry = {
  'names.apps': words('two apps of an account may share a name, or not', 'repeatable', 'unique'),
  'names.contactPoints': words('two contact points of an account may share a name, or not', 'repeatable', 'unique'),
  'names.alerts': words('two alerts of an environment may share a name, or not', 'repeatable', 'unique'),
  'rejection.status': words('status of a business rejection whose status is not shown', '400', '409', '422', '403'),
  'errors.body': words('the form of an error body', 'error', 'message', 'nested', 'text', 'empty'),
  'get.wrapping': words('a single object is the body itself, or stands in the body under its name', 'bare', 'wrapped'),
  'patch.response': words('the answer to PATCH /contact-point and PATCH /alert', 'object', 'messageOnly', 'empty'),
  'envAccess.shape': words(
    "the form of a member's environment access",
    'allowedAppEnvIds',
    'appEnvIds',
    'environments',
  ),
  'deployImage.contentId': words('where deploy-image puts the content id', 'top', 'appEnv', 'absent'),
  'solution.response': words('the form of a created solution', 'components', 'apps', 'flat'),
  'solution.errorId': words('where a failed solution carries its installationId', 'top', 'details'),
  'solution.successId': words('a success carries the installationId, or not', 'shown', 'absent'),
  'configure.results': words(
    'the name of the list of results in the answer to configure',
    'items',
    'results',
    'configurations',
  ),
  'status.words': words('how an environment status is spelled', 'asShown', 'upper', 'lower', 'unknownWords'),
  'deploy.settles': words('the status after a deployment', 'RUNNING', 'lastKnown', 'neverSettles'),
  'deploy.ms': amount('how long a deployment takes', 3000),
  'deploy.whileUpdating': words('a deployment while another one runs', 'accept', 'reject'),
  'lists.lagMs': amount('how far the state that a list shows lags behind', 0),
  'lists.order': words('the order of lists', 'created', 'shuffled'),
  'cursor.end': words('nextCursor on the last page', 'absent', 'null', 'empty'),
  'dates.form': words('dates with or without milliseconds', 'ms', 'seconds'),
  'fields.extra': words('every object carries an unknown field, or not', 'off', 'on'),
  'fields.unknown': words(
    'a field or parameter that the interface does not name, outside of disaster readiness: ignored and shown in the request log, or refused',
    'ignored',
    'refused',
  ),
  'fields.nulls': words('optional fields without a value are left out, or null', 'off', 'on'),
  'points.order': words('the order of recovery points', 'shuffled', 'chronological'),
  'dr.phases': words('the phase words of disaster readiness', 'named', 'opaque'),
  'dr.disclosed': words('which optional fields disaster readiness discloses', 'all', 'minimal'),
  'dr.operations': words(
    'the fields of an operation in a configuration: all, all but its id, or only what the interface names',
    'full',
    'withoutIds',
    'asNamed',
  ),
  'dr.readinessWord': words('the word for a configuration that is ready', 'ready', 'Ready', 'protected'),
  'reset.repeat': words('a reset of what was reset already', 'ok', 'notFound'),
  'discard.window': words('which text decides when a discard is allowed', 'table', 'errorsRule4'),
  'activate.receipt': words('the fields of the receipt of an activation', 'full', 'idOnly', 'opaque'),
  'alerts.refreshPaused': words('a refresh of a paused alert', 'keeps', 'rejects'),
  'alerts.cache': words(
    'lastKnownState and lastStateCheck move by refresh only, or with each evaluation',
    'refreshOnly',
    'live',
  ),
  'contactPoints.deploys': words(
    'in which regions the service deploys a contact point without being told',
    'whenUsed',
    'everywhere',
    'never',
  ),
  'createApp.provisions': words('a new database gets an environment by itself, or not', 'none', 'databases'),
  'envVars.order': words('the order in which the control surface shows variables', 'asGiven', 'byName'),
  masking: words('the form of a masked secret', '****'),
  'rate.limit': amount('requests per second and token', 'off'),
  'rate.retryAfter': words('how a 429 says when to come back', 'seconds', 'date', 'absent'),
} as const;

type Registry = typeof registry;

/** The name of a reading. */
export type ReadingName = keyof Registry;

/** The values of all readings, by name. */
export type Readings = {
  readonly [N in ReadingName]: Registry[N] extends Words<infer W>
    ? W
    : Registry[N] extends Amount<'off'>
      ? number | 'off'
      : number;
};

/** Returns the readings with their default values. */
export function defaultReadings(): Readings {
  const all = Object.entries(registry).map(([name, entry]) => [
    name,
    entry.kind === 'words' ? entry.words[0] : entry.initial,
  ]);
  return Object.fromEntries(all) as Readings;
}

/** Lists the values that a reading may have, as text for users. */
export function valuesOf(name: ReadingName): readonly string[] {
  const entry: AnyReading = registry[name];
  return entry.kind === 'words' ? entry.words : [String(entry.initial), 'N'];
}

/** Applies changes `{NAME: VALUE}` from a user to the readings; returns a sentence instead when a name or value is wrong. */
export function changeReadings(from: Readings, changes: Readonly<Record<string, unknown>>): Readings | string {
  const next: Record<string, string | number> = { ...from };
  for (const [name, given] of Object.entries(changes)) {
    if (!Object.hasOwn(registry, name)) return `there is no reading "${name}"`;
    const value = parse(registry[name as ReadingName], given);
    if (value === undefined) {
      return `reading "${name}" is one of ${valuesOf(name as ReadingName).join(', ')}, not ${JSON.stringify(given)}`;
    }
    next[name] = value;
  }
  return next as Readings;
}

const longestAmount = 366 * 24 * 3_600_000;

function parse(entry: AnyReading, given: unknown): string | number | undefined {
  if (entry.kind === 'words') {
    const word = typeof given === 'number' ? String(given) : given;
    return entry.words.find((known) => known === word);
  }
  if (entry.initial === 'off' && ['off', 0, '0'].includes(given as string | number)) return 'off';
  const value = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given;
  if (typeof value !== 'number' || !Number.isInteger(value)) return undefined;
  return value >= 0 && value <= longestAmount ? value : undefined;
}
