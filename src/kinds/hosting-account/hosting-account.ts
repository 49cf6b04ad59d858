import { stated, unlessEmpty } from '../../base/json.ts';
import { fewOf } from '../../base/text.ts';
import { isoSecondsUp } from '../../base/time.ts';
import { defineKind } from '../../engine/kind/contract/define.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import { readOf, readUnread } from '../../engine/kind/planner/observe.ts';
import { type OwnCondition, type Step, type Verdict, about } from '../../engine/kind/contract/step.ts';
import type { Read, ReadProblem } from '../../engine/ports.ts';
import { appPresetsOf, appsOf, databasePresetsOf, solutionsOf, type PresetItem } from '../../hosting/requests.ts';
import { HostingAccountFacts, HostingAccountSpec } from './schema.ts';

type AccountPass = Pass<HostingAccountSpec, HostingAccountFacts>;

/**
 * First reads the apps of the account to prove that the token works, and records the endpoint when that succeeds. Then
 * reads the catalog of presets and solutions.
 */
function accountStep(pass: AccountPass): Step<HostingAccountFacts> {
  if (pass.subject.deleting) return leave(pass);
  const { endpoint, accountId } = pass.account;
  const apps = appsOf(accountId);
  const trouble = troubleOf(pass, apps);
  if (trouble !== undefined) return trouble;
  if (pass.view.all(apps) === undefined) return readOf(pass, apps);
  if (pass.memory.binding?.endpoint !== endpoint) {
    return { is: 'again', remember: { binding: { endpoint, accountId } } };
  }
  // Continue without those parts of the catalog whose read failed, for whatever reason.
  const unread = readUnread(pass, [appPresetsOf(), databasePresetsOf(), solutionsOf(accountId)]);
  if (unread !== undefined) return unread;
  if (pass.account.frozen !== undefined) return { is: 'wait', reason: 'VisibilityLost', message: pass.account.frozen };
  const { generation } = pass.subject;
  if (pass.memory.applied?.generation === generation) {
    return { is: 'ready', message: `the credential opens account ${accountId} at ${endpoint}` };
  }
  return { is: 'again', remember: { applied: { generation, fingerprints: {} } } };
}

/**
 * Stalls or waits if the apps of the account cannot be read. After the first successful read, throttling is no reason to wait.
 */
function troubleOf(pass: AccountPass, apps: Read): Verdict<HostingAccountFacts> | undefined {
  const problem = pass.view.problem(apps);
  if (problem === undefined) return undefined;
  const message = `the apps of account ${pass.account.accountId} cannot be read: ${problem.message}`;
  const isOnlySlow = problem.why === 'throttled' && pass.view.all(apps) !== undefined;
  return isOnlySlow ? undefined : { ...troubles[problem.why], message };
}

const troubles = {
  unauthorized: { is: 'stall', reason: 'Unauthorized' },
  forbidden: { is: 'stall', reason: 'Forbidden' },
  hostNotAllowed: { is: 'stall', reason: 'HostNotAllowed' },
  refused: { is: 'stall', reason: 'Rejected' },
  malformed: { is: 'wait', reason: 'UnexpectedResponse' },
  unreachable: { is: 'wait', reason: 'ServiceUnavailable' },
  throttled: { is: 'wait', reason: 'Throttled' },
} as const satisfies Readonly<Record<ReadProblem['why'], object>>;

/**
 * Builds the condition `Throttled`, which is True from a 429 or 425 of the service until requests are sent at the full rate again.
 * The message says until when, and how many resources wait.
 */
function throttled({ account, usage, wallMs }: AccountPass): OwnCondition {
  const condition = about('Throttled');
  const { throttledMs, slowedMs } = account;
  if (slowedMs === undefined) return condition.no('NotThrottled', 'the service does not throttle the operator');
  const at = (ms: number) => isoSecondsUp(wallMs + ms);
  const pause = throttledMs === undefined ? '' : `; requests wait until ${at(throttledMs)}`;
  const waiting = usage?.().throttled ?? 0;
  const whoWaits = waiting === 0 ? '' : `; resources that wait for the service: ${waiting}`;
  const message = `the service asked to slow down; the operator sends fewer requests until ${at(slowedMs)}${pause}${whoWaits}`;
  return condition.yes('Throttling', message);
}

/**
 * Builds the condition `TokenLimited`, which is True while the service refuses something that a resource needs, most
 * likely because the token lacks a permission.
 */
function tokenLimited({ usage }: AccountPass): OwnCondition {
  const condition = about('TokenLimited');
  const { count = 0, first = [] } = usage?.().forbidden ?? {};
  if (count === 0) return condition.no('TokenSuffices', 'no resource needs a permission that the token lacks');
  const more = count > first.length ? `; and ${count - first.length} more` : '';
  const message = `the service refuses what these resources need, most likely because the token lacks a permission: ${first.join('; ')}${more}`;
  return condition.yes('Forbidden', message);
}

function leave(pass: AccountPass): Step<HostingAccountFacts> {
  const { count, first } = pass.dependents();
  if (count === 0) return { is: 'release' };
  const message = `the account is still used by ${fewOf(first, first.length, count)}; delete these resources first`;
  return { is: 'wait', reason: 'InUse', message };
}

/** Builds the status fields of an account: its endpoint, the catalog, and the resources that use it. */
function accountFacts(pass: AccountPass): HostingAccountFacts {
  const { account, usage } = pass;
  const { counts = [], orphans = [] } = usage?.() ?? {};
  const { budget, inEffect } = account;
  const every = (name: string, ms: number) => ({ name, seconds: Math.max(1, Math.round(ms / 1_000)) });
  return {
    endpoint: account.endpoint,
    catalog: catalogOf(pass),
    ...(counts.length > 0 && { counts: [...counts] }),
    ...(orphans.length > 0 && { orphans: [...orphans] }),
    lastHandledAcceptMissing: account.acceptedMissing,
    intervals: [
      ...(inEffect.rateLimitedMs === undefined ? [] : [every('alert states', inEffect.rateLimitedMs)]),
      every('lists', inEffect.pollMs),
    ],
    budget: budget && { ...budget, forecastPerHour: Number(budget.forecastPerHour.toPrecision(2)) },
  };
}

/**
 * Returns the presets and solutions that the service offers to the account, without those parts that the service does not
 * show.
 */
function catalogOf({ view, account: { accountId } }: AccountPass): HostingAccountFacts['catalog'] {
  const offered = <Item>(read: Read<Item>) => [...(view.all(read)?.items.values() ?? [])];
  return stated({
    appPresets: unlessEmpty(offered(appPresetsOf()).map(presetFacts)),
    databasePresets: unlessEmpty(offered(databasePresetsOf()).map(presetFacts)),
    solutions: unlessEmpty(
      offered(solutionsOf(accountId)).map(({ solutionSlug, requiredInputs, components, ...solution }) => ({
        ...solution,
        name: solutionSlug,
        requiredInputs: unlessEmpty(requiredInputs),
        components: unlessEmpty(
          components.map((component) => ({ ...component, dependsOn: unlessEmpty(component.dependsOn) })),
        ),
      })),
    ),
  });
}

/** Returns the status fields of a preset, without empty lists. */
function presetFacts({ versions, protocols, maxReplicas: maxContainers, ...preset }: PresetItem) {
  return { ...preset, versions: unlessEmpty(versions), protocols: unlessEmpty(protocols), maxContainers };
}

/** The HostingAccount kind: an account of the service, and the token to use it. */
export const hostingAccount = defineKind<HostingAccountSpec, HostingAccountFacts>({
  kind: 'HostingAccount',
  plural: 'hostingaccounts',
  shortNames: ['hacct'],
  scope: 'Namespaced',
  summary: 'An account of the hosting service, for the resources of one namespace.',
  life: 'account',
  spec: HostingAccountSpec,
  facts: HostingAccountFacts,
  moving: ['intervals', 'budget'],
  idWord: undefined,
  holds: true,
  columns: [
    { name: 'ACCOUNT', path: '.spec.externalId', description: 'The id of the account in the service.' },
    { name: 'ENDPOINT', path: '.status.endpoint', description: 'The host of the service.' },
    {
      name: 'POLICY',
      path: '.spec.lifecycle.managementPolicy',
      wide: true,
      description: 'Manage or Observe. With Observe, no resource of this account changes anything in the service.',
    },
  ],
  selectable: ['.spec.externalId'],
  needs: ({ credentialsRef, dangerousCredentialsRef }) => ({
    secrets: Object.entries({ credentialsRef, dangerousCredentialsRef }).flatMap(([field, ref]) =>
      ref === undefined ? [] : [{ name: ref.name, key: 'token', field, optional: true }],
    ),
  }),
  always: ['Throttled', 'TokenLimited'],
  step: accountStep,
  show: (pass) => ({ facts: accountFacts(pass), conditions: [throttled(pass), tokenLimited(pass)] }),
});
