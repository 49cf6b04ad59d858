import type { Memory } from '../../../src/engine/kind/contract/step.ts';
import {
  appAsOf,
  appEnvsOf,
  appPresetsOf,
  appsOf,
  databasePresetsOf,
  type AppEnvItem,
  type AppItem,
  type AppRecord,
  type PresetItem,
} from '../../../src/hosting/requests.ts';
import type { HostedAppFacts } from '../../../src/kinds/hosted-app/schema.ts';
import { anEnvironment } from './environments.ts';
import { fingerprint, shows, type Shown } from './pass.ts';

export const presets: readonly Shown[] = [
  shows(
    appPresetsOf(),
    ['CUSTOM', 'NEXT_JS', 'FUNCTION', 'JOB'].map((name) => ({ name }) as PresetItem),
  ),
  shows(
    databasePresetsOf(),
    ['POSTGRESQL', 'COUCHDB'].map((name) => ({ name }) as PresetItem),
  ),
];

const record = {
  appId: 'app_1',
  name: 'mine',
  dockerPreset: 'CUSTOM',
  contextDir: './',
  dockerfilePath: 'Dockerfile',
  customDockerfileContentInUse: false,
  useImage: true,
  port: 8080,
  builder: 'DOCKER',
  isCliDeployment: false,
} as unknown as AppRecord;

/** An app as the service shows it, in its list and by itself. */
export function shownApp(
  change: Partial<AppRecord> = {},
  updatedAtMs = 5,
  environments: readonly AppEnvItem[] = [],
): readonly Shown[] {
  const whole = { ...record, ...change };
  const { appId, name, slug, dockerPreset, gitNamespace, gitRepo } = whole;
  const item = { appId, name, slug, dockerPreset, gitNamespace, gitRepo, createdAtMs: 1, updatedAtMs } as AppItem;
  return [
    shows(appsOf('acc_1'), [item]),
    shows(appAsOf('app_1', updatedAtMs), [whole]),
    shows(appEnvsOf('acc_1'), environments),
    ...presets,
  ];
}

/** The same of an app that has an environment. */
export function shownDeployed(change: Partial<AppRecord> = {}, environment = anEnvironment()): readonly Shown[] {
  return shownApp(change, 5, [environment]);
}

export const image = { port: 8080, image: { reference: 'r/mine:1' } };
export const source = { port: 8080, source: { git: { namespace: 'team', repo: 'mine' } } };
export const git = { gitNamespace: 'team', gitRepo: 'mine', useImage: false } as const;

/** What is remembered of a bound app to which these fields were applied. */
export function bound(
  fields: Readonly<Record<string, unknown>> = {},
  facts: HostedAppFacts = {},
): Partial<Memory<HostedAppFacts>> {
  const fingerprints = Object.entries(fields).map(([field, value]) => [field, fingerprint(value as never)]);
  return {
    id: 'app_1',
    ownership: 'Created',
    applied: { generation: 1, fingerprints: Object.fromEntries(fingerprints) },
    facts,
  };
}

export const imageApplied = { 'image.reference': 'r/mine:1', port: 8080 };
