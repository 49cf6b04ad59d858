import type { FormPlace, FormValues } from './place.ts';
import { accounts } from '../../accounts/records.ts';
import { selectablePoints, type SelectablePoint } from '../../disaster/evidence/points.ts';
import type { ConfigurationRecord, TargetNames } from '../../disaster/model.ts';
import { eligibleDestinations, unsupportedReasons } from '../../disaster/protection/eligibility.ts';
import { configurationOf, configurations, protectionOf, type StoredConfiguration } from '../../disaster/rows.ts';
import { regionFacts, sourceFacts } from '../../disaster/surroundings.ts';
import { type Environment, environments } from '../../environments/environment.ts';
import { type Field, type Form, flag, formsOf, id, json, needs, number, text } from './form.ts';

const account = id('accountId', 'accounts');
const pages = [text('after'), number('limit')];
const byConfiguration = { follows: ['configurationId'] };

const journaled = [
  account,
  id('configurationId', 'configurations'),
  needs(number('expectedGeneration', byConfiguration)),
  needs(text('requestId')),
];

const inDisasterReadiness = '/disaster-readiness';

/** Protection, checks, activation and the ways out. */
export const recoveryForms: readonly Form[] = formsOf('Disaster readiness', {
  [`GET ${inDisasterReadiness}/sources`]: [
    'lists what can be protected, and how it is',
    { fields: [account, ...pages], fill: own },
  ],
  [`GET ${inDisasterReadiness}/configurations`]: ['lists the protections', { fields: [account, ...pages], fill: own }],
  [`POST ${inDisasterReadiness}/configure`]: [
    'sets protections up, or edits them',
    { fields: protectionFields(), fill: protection },
  ],
  [`GET ${inDisasterReadiness}/points`]: [
    'lists the points a recovery may start from',
    {
      fields: [account, id('configurationId', 'configurations'), ...pages],
      fill: (at) => ({ ...own(at), configurationId: chosen(at)?.configurationId }),
    },
  ],
  [`POST ${inDisasterReadiness}/validate`]: ['asks for an isolated check', { fields: journaled, fill: journaledFill }],
  [`POST ${inDisasterReadiness}/activate`]: [
    'recovers an environment from a point',
    { fields: activationFields(), fill: activation, choices: pointChoices },
  ],
  [`POST ${inDisasterReadiness}/discard-activation`]: [
    'gives an activation up',
    {
      fields: [...journaled, needs(text('operationId', byConfiguration)), needs(flag('discardAcknowledged'))],
      fill: (at) => ({
        ...journaledFill(at, isActivating),
        operationId: chosen(at, isActivating)?.activeOperationId,
        discardAcknowledged: true,
      }),
    },
  ],
  [`POST ${inDisasterReadiness}/reset`]: [
    'wipes the protection of an environment or of the account',
    {
      fields: [
        account,
        needs(text('scope', { words: ['environment', 'account'] })),
        text('sourceAppEnvId', { pick: 'environments', follows: ['scope'] }),
        needs(text('confirmationName', { follows: ['scope', 'sourceAppEnvId'] })),
      ],
      fill: reset,
    },
  ],
});

function own({ accountId }: FormPlace): FormValues {
  return { accountId };
}

function isActivating(row: StoredConfiguration): boolean {
  return row.operations.some(({ operationId, kind }) => operationId === row.activeOperationId && kind === 'activation');
}

/** The protection that a request is about: the chosen one, else one that suits, else the first. */
function chosen(at: FormPlace, suits?: (row: StoredConfiguration) => boolean): ConfigurationRecord | undefined {
  const row = at.row('configurationId', configurations, suits);
  return row === undefined ? undefined : configurationOf(at.world, row.configurationId);
}

function journaledFill(at: FormPlace, suits?: (row: StoredConfiguration) => boolean): FormValues {
  const configuration = chosen(at, suits);
  return {
    accountId: at.accountId,
    configurationId: configuration?.configurationId,
    expectedGeneration: configuration?.generation,
    requestId: at.requestId,
  };
}

function protectionFields(): readonly Field[] {
  const bySource = { follows: ['items/0/sourceAppEnvId', 'common/mode'] };
  return [
    account,
    id('items/0/sourceAppEnvId', 'environments'),
    needs(text('items/0/requestId')),
    needs(number('items/0/expectedGeneration', bySource)),
    text('common/mode', { words: ['cold', 'warm'] }),
    text('common/destinationRegion', { pick: 'regions', follows: ['items/0/sourceAppEnvId'] }),
    flag('common/sameRegionAcknowledged', { follows: ['items/0/sourceAppEnvId', 'common/destinationRegion'] }),
    text('items/0/target/envName', bySource),
    flag('items/0/target/createNewApp', bySource),
    text('items/0/target/appName', bySource),
    number('common/snapshotIntervalMs'),
    number('common/validationIntervalMs'),
    number('common/rpoTargetMs'),
    number('common/rtoTargetMs'),
    text('common/storageCredentialId', { pick: 'credentials' }),
    json('common/target'),
  ];
}

function protection(at: FormPlace): FormValues {
  const { world, accountId } = at;
  const name = 'items/0/sourceAppEnvId';
  const environment =
    at.chosen(name) === undefined
      ? (at
          .rows(environments)
          .find((each) => canBeProtected(at, each) && protectionOf(world, each.appEnvId) === undefined) ??
        at.row(name, environments, (each) => canBeProtected(at, each)))
      : at.row(name, environments);
  const facts = accountId && environment ? sourceFacts(world, accountId, environment.appEnvId) : undefined;
  const mode = at.chosen('common/mode') ?? 'cold';
  const destination =
    at.chosen('common/destinationRegion') ?? (facts && eligibleDestinations(facts, regionFacts(world))[0]);
  const needsNames = mode === 'warm' || facts?.source.isDatabase === true;
  return {
    accountId,
    [name]: environment?.appEnvId,
    'items/0/requestId': at.requestId,
    'items/0/expectedGeneration': environment && (protectionOf(world, environment.appEnvId)?.generation ?? 0),
    'common/mode': mode,
    'common/destinationRegion': destination,
    ...(destination !== undefined && destination === environment?.region
      ? { 'common/sameRegionAcknowledged': true }
      : {}),
    ...(facts !== undefined && needsNames ? named('items/0/target', suggestedNames(facts.source)) : {}),
  };
}

function canBeProtected({ world, accountId = '' }: FormPlace, { appEnvId }: Environment): boolean {
  const facts = sourceFacts(world, accountId, appEnvId);
  return facts !== undefined && unsupportedReasons(facts, regionFacts(world)).length === 0;
}

function suggestedNames({ appName, environmentName, isDatabase }: ConfigurationRecord['source']): TargetNames {
  const envName = `${environmentName}-recovered`;
  return isDatabase
    ? { envName, createNewApp: true, appName: `${appName}-recovered` }
    : { envName, createNewApp: false };
}

function named(under: string, names: TargetNames): FormValues {
  return Object.fromEntries(Object.entries(names).map(([name, value]) => [`${under}/${name}`, value]));
}

function activationFields(): readonly Field[] {
  const byPoint = { follows: ['configurationId', 'pointId'] };
  return [
    ...journaled,
    needs(text('pointId', byConfiguration)),
    needs(text('selectedOperationId', byPoint)),
    needs(text('cutoffAt', byPoint)),
    needs(text('target/envName', byConfiguration)),
    needs(flag('target/createNewApp', byConfiguration)),
    text('target/appName', byConfiguration),
    flag('writerSafetyAcknowledged'),
  ];
}

function activation(at: FormPlace): FormValues {
  const configuration = chosen(at, (row) => !isActivating(row));
  const point = configuration && pointOf(at, configuration);
  const target = configuration && (configuration.target ?? suggestedNames(configuration.source));
  return {
    ...journaledFill(at, (row) => !isActivating(row)),
    pointId: point?.pointId,
    selectedOperationId: point?.selectedOperationId,
    cutoffAt: point && new Date(point.cutoffAt).toISOString(),
    ...(target === undefined ? {} : named('target', target)),
    writerSafetyAcknowledged: true,
  };
}

function pointOf(at: FormPlace, configuration: ConfigurationRecord): SelectablePoint | undefined {
  const points = selectablePoints(configuration);
  return points.find(({ pointId }) => pointId === at.chosen('pointId')) ?? points.at(-1);
}

const mostPoints = 100;

function pointChoices(at: FormPlace) {
  const configuration = chosen(at, (row) => !isActivating(row));
  const points = configuration === undefined ? [] : selectablePoints(configuration).slice(-mostPoints).toReversed();
  return {
    pointId: points.map(({ pointId, cutoffAt }) => ({
      value: pointId,
      text: `as of ${new Date(cutoffAt).toISOString()}`,
    })),
  };
}

function reset(at: FormPlace): FormValues {
  const { accountId } = at;
  const scope = at.chosen('scope') ?? 'environment';
  const account = accountId === undefined ? undefined : at.world.of(accounts).get(accountId);
  if (scope === 'account') return { accountId, scope, confirmationName: account?.name };
  const protectedEnvironment = at.rows(configurations)[0]?.sourceAppEnvId;
  const sourceAppEnvId =
    at.chosen('sourceAppEnvId') ?? protectedEnvironment ?? at.row('sourceAppEnvId', environments)?.appEnvId;
  const facts = accountId && sourceAppEnvId ? sourceFacts(at.world, accountId, sourceAppEnvId) : undefined;
  return { accountId, scope, sourceAppEnvId, confirmationName: facts?.source.environmentName };
}
