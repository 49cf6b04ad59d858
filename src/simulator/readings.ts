/**
 * Defines the simulator options: one for each point that the API documentation leaves open. An option changes exactly what its description
 * says.
 */

/**
 * All simulator options, each with its description and its values, the default first. A number among the values stands for any whole
 * number; an option that is `off` by default can also be switched off with 0.
 */
const registry = {
  'names.apps': ['two apps of an account may share a name, or not', 'repeatable', 'unique'],
  'names.contactPoints': ['two contact points of an account may share a name, or not', 'repeatable', 'unique'],
  'names.alerts': ['two alerts of an environment may share a name, or not', 'repeatable', 'unique'],
  'rejection.status': ['status of a business rejection whose status is not shown', '400', '409', '422', '403'],
  'errors.body': ['the form of an error body', 'error', 'message', 'nested', 'text', 'empty'],
  'get.wrapping': ['a single object is the body itself, or stands in the body under its name', 'bare', 'wrapped'],
  'patch.response': ['the answer to PATCH /contact-point and PATCH /alert', 'object', 'messageOnly', 'empty'],
  'envAccess.shape': ["the form of a member's environment access", 'allowedAppEnvIds', 'appEnvIds', 'environments'],
  'deployImage.contentId': ['where deploy-image puts the content id', 'top', 'appEnv', 'absent'],
  'solution.response': ['the form of a created solution', 'components', 'apps', 'flat'],
  'solution.errorId': ['where a failed solution carries its installationId', 'top', 'details'],
  'solution.successId': ['a success carries the installationId, or not', 'shown', 'absent'],
  'configure.results': [
    'the name of the list of results in the answer to configure',
    'items',
    'results',
    'configurations',
  ],
  'status.words': ['how an environment status is spelled', 'asShown', 'upper', 'lower', 'unknownWords'],
  'deploy.settles': ['the status after a deployment', 'RUNNING', 'lastKnown', 'neverSettles'],
  'deploy.ms': ['how long a deployment takes', 3000],
  'deploy.whileUpdating': ['a deployment while another one runs', 'accept', 'reject'],
  'lists.lagMs': ['how far the state that a list shows lags behind', 0],
  'lists.order': ['the order of lists', 'created', 'shuffled'],
  'cursor.end': ['nextCursor on the last page', 'absent', 'null', 'empty'],
  'dates.form': ['dates with or without milliseconds', 'ms', 'seconds'],
  'fields.extra': ['every object carries an unknown field, or not', 'off', 'on'],
  'fields.unknown': [
    'a field or parameter that the interface does not name, outside of disaster readiness: ignored and shown in the request log, or refused',
    'ignored',
    'refused',
  ],
  'fields.nulls': ['optional fields without a value are left out, or null', 'off', 'on'],
  'points.order': ['the order of recovery points', 'shuffled', 'chronological'],
  'dr.phases': ['the phase words of disaster readiness', 'named', 'opaque'],
  'dr.disclosed': ['which optional fields disaster readiness discloses', 'all', 'minimal'],
  'dr.operations': [
    'the fields of an operation in a configuration: all, all but its id, or only what the interface names',
    'full',
    'withoutIds',
    'asNamed',
  ],
  'dr.readinessWord': ['the word for a configuration that is ready', 'ready', 'Ready', 'protected'],
  'reset.repeat': ['a reset of what was reset already', 'ok', 'notFound'],
  'discard.window': ['which text decides when a discard is allowed', 'table', 'errorsRule4'],
  'activate.receipt': ['the fields of the receipt of an activation', 'full', 'idOnly', 'opaque'],
  'alerts.refreshPaused': ['a refresh of a paused alert', 'keeps', 'rejects'],
  'alerts.cache': [
    'lastKnownState and lastStateCheck move by refresh only, or with each evaluation',
    'refreshOnly',
    'live',
  ],
  'contactPoints.deploys': [
    'in which regions the service deploys a contact point without being told',
    'whenUsed',
    'everywhere',
    'never',
  ],
  'createApp.provisions': ['a new database gets an environment by itself, or not', 'none', 'databases'],
  'envVars.order': ['the order in which the control surface shows variables', 'asGiven', 'byName'],
  masking: ['the form of a masked secret', '****'],
  'rate.limit': ['requests per second and token', 'off', 1],
  'rate.retryAfter': ['how a 429 says when to come back', 'seconds', 'date', 'absent'],
} as const;

type Registry = typeof registry;

/** Any number if the default is a number; otherwise exactly the given value. */
type AnyOf<Value> = Value extends number ? number : Value;

/** The values of all simulator options, by name. */
export type Readings = {
  readonly [N in keyof Registry]: Registry[N] extends readonly [string, ...infer Values]
    ? AnyOf<Values[number]>
    : never;
};

/** Lists every simulator option with its possible values for users; N stands for any whole number. */
export const everyReading = Object.entries(registry).map(([name, [does, ...values]]) => {
  const isAmount = values.some((value) => typeof value === 'number');
  return { name, does, values: isAmount ? [String(values[0]), 'N'] : values.map(String) };
});

/** Returns the default values of all simulator options. */
export function defaultReadings(): Readings {
  return Object.fromEntries(Object.entries(registry).map(([name, [, initial]]) => [name, initial])) as Readings;
}

/**
 * Changes simulator options as a user asks, for example `{"lists.order": "shuffled"}`; returns an error message if a name or value is
 * wrong.
 */
export function changeReadings(from: Readings, changes: Readonly<Record<string, unknown>>): Readings | string {
  const next: Record<string, string | number> = { ...from };
  for (const [name, given] of Object.entries(changes)) {
    const values = everyReading.find((reading) => reading.name === name)?.values;
    if (values === undefined) return `there is no reading "${name}"`;
    const value = parse(values, given);
    if (value === undefined) return `reading "${name}" is one of ${values.join(', ')}, not ${JSON.stringify(given)}`;
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
