/**
 * Defines the simulator options: one for each point that the API documentation leaves open. An option changes exactly what its description
 * says.
 */

/**
 * All simulator options, each with its description and its values, the default first. A number among the values stands for any whole
 * number; an option that is `off` by default can also be switched off with 0.
 */
const registry = {
  'names.apps': ['decides if two apps of an account may have the same name', 'repeatable', 'unique'],
  'names.contactPoints': ['decides if two contact points of an account may have the same name', 'repeatable', 'unique'],
  'names.alerts': ['decides if two alerts of an environment may have the same name', 'repeatable', 'unique'],
  'rejection.status': ['sets the HTTP status of rejections that have no documented one', '400', '409', '422', '403'],
  'errors.body': ['sets the form of the body of an error response', 'error', 'message', 'nested', 'text', 'empty'],
  'get.wrapping': [
    'decides if GET /app answers with the app itself or with {app}; the same for a contact point, an alert and env-access',
    'bare',
    'wrapped',
  ],
  'patch.response': ['sets the response to PATCH /contact-point and PATCH /alert', 'object', 'messageOnly', 'empty'],
  'envAccess.shape': [
    'sets the key of the list in an env-access response',
    'allowedAppEnvIds',
    'appEnvIds',
    'environments',
  ],
  'deployImage.contentId': ['sets the place of contentId in the response of deploy-image', 'top', 'appEnv', 'absent'],
  'solution.response': ['sets the form of the response to POST /solutions', 'components', 'apps', 'flat'],
  'solution.errorId': ['sets the place of installationId in the error of POST /solutions', 'top', 'details'],
  'solution.successId': ['decides if a successful POST /solutions returns the installationId', 'shown', 'absent'],
  'configure.results': [
    'sets the key of the list in the answer to a configure request',
    'items',
    'results',
    'configurations',
  ],
  'status.words': [
    'sets how the status of an environment is written, such as in upper case',
    'asShown',
    'upper',
    'lower',
    'unknownWords',
  ],
  'deploy.settles': [
    'decides which status an environment has after a deployment that is not a start or a stop: RUNNING, the status before the deployment, or UPDATING for ever',
    'RUNNING',
    'lastKnown',
    'neverSettles',
  ],
  'deploy.ms': ['sets the duration of a deployment in milliseconds', 3000],
  'deploy.whileUpdating': ['decides if deployments of an environment may overlap', 'accept', 'reject'],
  'lists.lagMs': ['sets the age of the state that lists show, in milliseconds', 0],
  'lists.order': ['sets the order of the items in lists', 'created', 'shuffled'],
  'cursor.end': ['decides if nextCursor on the last page is absent, null or empty', 'absent', 'null', 'empty'],
  'dates.form': ['decides if dates contain milliseconds', 'ms', 'seconds'],
  'fields.extra': ['decides if every object in a response has an additional unknown field', 'off', 'on'],
  'fields.unknown': [
    'decides what happens to an undocumented field or parameter: it is ignored and listed in the request log, or the request is refused; disaster-readiness endpoints always refuse the request',
    'ignored',
    'refused',
  ],
  'fields.nulls': ['decides if optional fields without a value are left out or null', 'off', 'on'],
  'points.order': ['sets how the list of recovery points is sorted', 'shuffled', 'chronological'],
  'dr.phases': ['decides if the phases of disaster-readiness operations have readable names', 'named', 'opaque'],
  'dr.disclosed': ['decides if sources and configurations contain their optional fields', 'all', 'minimal'],
  'dr.operations': ['sets which fields the operations of a configuration have', 'full', 'withoutIds', 'asNamed'],
  'dr.readinessWord': ['sets the word in readiness.state for a ready configuration', 'ready', 'Ready', 'protected'],
  'reset.repeat': ['decides if a reset that finds no protection succeeds or fails with 404', 'ok', 'notFound'],
  'discard.window': [
    'decides if six failed steps allow an activation to be discarded before its promotion',
    'table',
    'errorsRule4',
  ],
  'activate.receipt': ['sets which fields the response of activate has', 'full', 'idOnly', 'opaque'],
  'alerts.refreshPaused': ['decides if a refresh of a paused alert keeps the state or is rejected', 'keeps', 'rejects'],
  'alerts.cache': ['decides if lastKnownState changes only by a refresh, or at each evaluation', 'refreshOnly', 'live'],
  'contactPoints.deploys': ['sets to which regions contact points are deployed', 'whenUsed', 'everywhere', 'never'],
  'createApp.provisions': ['decides if the service creates an environment for a new database', 'none', 'databases'],
  'envVars.order': ['sets the order of variables in GET /_sim/environments/ID', 'asGiven', 'byName'],
  masking: ['the text that responses show in place of every masked secret; this option has only one value', '****'],
  'rate.limit': ['sets how many requests a second each token may send', 'off', 1],
  'rate.retryAfter': ['sets the form of the Retry-After header of a 429 response', 'seconds', 'date', 'absent'],
} as const;

type Registry = typeof registry;

/**
 * The type of an option's value, derived from the values that are listed for the option. If a number is listed, every
 * number is allowed; of words, only the listed ones are allowed.
 */
type AnyOf<Value> = Value extends number ? number : Value;

/** The values of all simulator options, by name. */
export type Readings = {
  readonly [N in keyof Registry]: Registry[N] extends readonly [string, ...infer Values]
    ? AnyOf<Values[number]>
    : never;
};

/**
 * Lists every simulator option with its description and its possible values, as users see them. The value N stands for any whole number.
 */
export const everyReading = Object.entries(registry).map(([name, [does, ...values]]) => {
  const isAmount = values.some((value) => typeof value === 'number');
  return { name, does, values: isAmount ? [String(values[0]), 'N'] : values.map(String) };
});

/** Returns the default values of all simulator options. */
export function defaultReadings(): Readings {
  return Object.fromEntries(Object.entries(registry).map(([name, [, initial]]) => [name, initial])) as Readings;
}

/**
 * Returns simulator options with the changes that a user asks for, such as `{"lists.order": "shuffled"}`. If a name or value is wrong,
 * returns an error message instead.
 */
export function changeReadings(from: Readings, changes: Readonly<Record<string, unknown>>): Readings | string {
  const next: Record<string, string | number> = { ...from };
  for (const [name, given] of Object.entries(changes)) {
    const values = everyReading.find((reading) => reading.name === name)?.values;
    if (values === undefined) return `the simulator has no option "${name}"`;
    const value = parse(values, given);
    if (value === undefined)
      return `simulator option "${name}" must be one of ${values.join(', ')}, not ${JSON.stringify(given)}`;
    next[name] = value;
  }
  return next as Readings;
}

const longestAmount = 366 * 24 * 3_600_000;

function parse(values: readonly string[], given: unknown): string | number | undefined {
  const text = typeof given === 'number' ? String(given) : given;
  if (!values.includes('N')) return values.find((word) => word === text);
  if (values.includes('off') && (text === 'off' || text === '0')) return 'off';
  const value = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given;
  if (typeof value !== 'number' || !Number.isInteger(value)) return undefined;
  return value >= 0 && value <= longestAmount ? value : undefined;
}
