import { accounts } from '../../service/accounts/records.ts';
import { selectablePoints } from '../../service/disaster/copies.ts';
import type { Configuration, RecoveryPoint, TargetNames } from '../../service/disaster/model.ts';
import { configurationOf, configurations } from '../../service/disaster/rows.ts';
import { protectionOf, type StoredConfiguration } from '../../service/disaster/rows.ts';
import { eligibleDestinations, environmentIn, sourceOf, unsupportedReasons } from '../../service/disaster/source.ts';
import { type Environment, environments } from '../../service/environments/environment.ts';
import { type Form, type FormPlace, type FormValues, formsOf } from './form.ts';

const journaled = `accountId*@accounts,configurationId*@configurations,expectedGeneration#*<configurationId,requestId*`;
const pages = 'after,limit#';
const bySource = '<items/0/sourceAppEnvId+common/mode';
const byPoint = '<configurationId+pointId';
const at = (method: string, name: string) => `${method} /disaster-readiness/${name}`;

/** The forms of the web page for disaster readiness: protection, validation, activation, discard and reset. */
export const recoveryForms: readonly Form[] = formsOf('Disaster readiness', {
  [at('GET', 'sources')]: ['lists the environments that are or can be protected', `accountId*@accounts,${pages}`],
  [at('GET', 'configurations')]: ['lists the protections', `accountId*@accounts,${pages}`],
  [at('POST', 'configure')]: [
    'creates or edits the protection of an environment',
    `accountId*@accounts,items/0/sourceAppEnvId*@environments,items/0/requestId*,items/0/expectedGeneration#*${bySource},
    common/mode=cold|warm,common/destinationRegion@regions<items/0/sourceAppEnvId,
    common/sameRegionAcknowledged?<items/0/sourceAppEnvId+common/destinationRegion,items/0/target/envName${bySource},
    items/0/target/createNewApp?${bySource},items/0/target/appName${bySource},common/snapshotIntervalMs#,
    common/validationIntervalMs#,common/rpoTargetMs#,common/rtoTargetMs#,common/storageCredentialId@credentials,common/target{}`,
    protection,
  ],
  [at('GET', 'points')]: [
    'lists usable recovery points',
    `accountId*@accounts,configurationId*@configurations,${pages}`,
  ],
  [at('POST', 'validate')]: [
    'requests an isolated validation of a protection',
    journaled,
    (place) => journaledFill(place),
  ],
  [at('POST', 'activate')]: [
    'recovers an environment from a recovery point',
    `${journaled},pointId*<configurationId,selectedOperationId*${byPoint},cutoffAt*${byPoint},
    target/envName*<configurationId,target/createNewApp?*<configurationId,target/appName<configurationId,writerSafetyAcknowledged?`,
    activation,
    pointChoices,
  ],
  [at('POST', 'discard-activation')]: [
    'discards an activation that is not live yet',
    `${journaled},operationId*<configurationId,discardAcknowledged?*`,
    (place) => ({
      ...journaledFill(place, isActivating),
      operationId: chosen(place, isActivating)?.activeOperationId,
      discardAcknowledged: true,
    }),
  ],
  [at('POST', 'reset')]: [
    'removes the protection of an environment, or all protections of an account',
    `accountId*@accounts,scope*=environment|account,sourceAppEnvId@environments<scope,
    confirmationName*<scope+sourceAppEnvId`,
    reset,
  ],
});

function isActivating(row: StoredConfiguration): boolean {
  return row.operations.some(({ operationId, kind }) => operationId === row.activeOperationId && kind === 'activation');
}

/**
 * Finds the protection for a form. Takes the protection that the user chose. If the user chose none, takes the first
 * protection of the account that passes the test `suits`, or the account's first protection if none passes.
 */
function chosen(at: FormPlace, suits?: (row: StoredConfiguration) => boolean): Configuration | undefined {
  const row = at.row('configurationId', configurations, suits);
  return row === undefined ? undefined : configurationOf(at.world, row.configurationId);
}

function journaledFill(at: FormPlace, suits?: (row: StoredConfiguration) => boolean): FormValues {
  const configuration = chosen(at, suits);
  return {
    configurationId: configuration?.configurationId,
    expectedGeneration: configuration?.generation,
    requestId: at.requestId,
  };
}

function protection(at: FormPlace): FormValues {
  const { world, accountId } = at;
  const name = 'items/0/sourceAppEnvId';
  const isOurs = (each: Environment) => each.accountId === accountId;
  const canBeProtected = (each: Environment) => isOurs(each) && unsupportedReasons(world, each).length === 0;
  const isFree = (each: Environment) => canBeProtected(each) && protectionOf(world, each.appEnvId) === undefined;
  const free = at.chosen(name) === undefined ? at.rows(environments).find(isFree) : undefined;
  const environment = free ?? at.row(name, environments, canBeProtected);
  const source = environment && isOurs(environment) ? sourceOf(world, environment) : undefined;
  const mode = at.chosen('common/mode') ?? 'cold';
  const destination = at.chosen('common/destinationRegion') ?? (source && eligibleDestinations(world, source)[0]);
  const needsNames = mode === 'warm' || source?.isDatabase === true;
  return {
    accountId,
    [name]: environment?.appEnvId,
    'items/0/requestId': at.requestId,
    'items/0/expectedGeneration': environment && (protectionOf(world, environment.appEnvId)?.generation ?? 0),
    'common/mode': mode,
    'common/destinationRegion': destination,
    ...(destination && destination === environment?.region && { 'common/sameRegionAcknowledged': true }),
    ...(source && needsNames && named('items/0/target', suggestedNames(source))),
  };
}

function suggestedNames({ appName, environmentName, isDatabase }: Configuration['source']): TargetNames {
  const envName = `${environmentName}-recovered`;
  return isDatabase
    ? { envName, createNewApp: true, appName: `${appName}-recovered` }
    : { envName, createNewApp: false };
}

function named(under: string, names: TargetNames): FormValues {
  return Object.fromEntries(Object.entries(names).map(([name, value]) => [`${under}/${name}`, value]));
}

function activation(at: FormPlace): FormValues {
  const configuration = chosen(at, (row) => !isActivating(row));
  const point = configuration && pointOf(at, configuration);
  const target = configuration && (configuration.target ?? suggestedNames(configuration.source));
  return {
    ...journaledFill(at, (row) => !isActivating(row)),
    pointId: point?.pointId,
    selectedOperationId: point?.operationId,
    cutoffAt: point && new Date(point.cutoffAt).toISOString(),
    ...(target && named('target', target)),
    writerSafetyAcknowledged: true,
  };
}

function pointOf(at: FormPlace, configuration: Configuration): RecoveryPoint | undefined {
  const points = selectablePoints(configuration);
  return points.find(({ pointId }) => pointId === at.chosen('pointId')) ?? points.at(-1);
}

const mostPoints = 100;

function pointChoices(at: FormPlace) {
  const configuration = chosen(at, (row) => !isActivating(row));
  const points = configuration === undefined ? [] : selectablePoints(configuration).slice(-mostPoints).toReversed();
  const asOf = (cutoffAt: number) => `recovery point of ${new Date(cutoffAt).toISOString()}`;
  return { pointId: points.map(({ pointId, cutoffAt }) => ({ value: pointId, text: asOf(cutoffAt) })) };
}

function reset(at: FormPlace): FormValues {
  const { accountId } = at;
  const scope = at.chosen('scope') ?? 'environment';
  const account = accountId === undefined ? undefined : at.world.of(accounts).get(accountId);
  if (scope === 'account') return { accountId, scope, confirmationName: account?.name };
  const protectedEnvironment = at.rows(configurations)[0]?.sourceAppEnvId;
  const sourceAppEnvId =
    at.chosen('sourceAppEnvId') ?? protectedEnvironment ?? at.row('sourceAppEnvId', environments)?.appEnvId;
  const environment = environmentIn(at.world, accountId ?? '', sourceAppEnvId ?? '');
  return { accountId, scope, sourceAppEnvId, confirmationName: environment?.name };
}
