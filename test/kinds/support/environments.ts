import type { Memory } from '../../../src/engine/kind/contract/step.ts';
import { appEnvsOf, type AppEnvItem } from '../../../src/hosting/requests.ts';
import type { AppEnvironmentFacts } from '../../../src/kinds/app-environment/schema.ts';
import { fingerprint, shows, type PassOptions, type Shown } from './pass.ts';

export const list = appEnvsOf('acc_1');

export function anEnvironment(change: Partial<AppEnvItem> = {}): AppEnvItem {
  return {
    appEnvId: 'env_1',
    appId: 'app_1',
    name: 'prod',
    cliEnvName: 'mine-prod',
    hosts: [],
    status: 'running',
    updatedAtMs: 100,
    ...change,
  } as unknown as AppEnvItem;
}

export function shown(change: Partial<AppEnvItem> = {}, begunAt?: number): readonly Shown[] {
  return [shows(list, [anEnvironment(change)], begunAt)];
}

/** What is remembered of an environment to which these parts were sent. */
export function deployed(
  parts: Readonly<Record<string, unknown>>,
  facts: AppEnvironmentFacts = {},
): Partial<Memory<AppEnvironmentFacts>> {
  const fingerprints = Object.entries(parts).map(([field, value]) => [field, fingerprint(value as never)]);
  return {
    id: 'env_1',
    ownership: 'Adopted',
    applied: { generation: 1, fingerprints: Object.fromEntries(fingerprints) },
    facts: { deploy: { revision: 'r/x:1', outcome: 'Running' }, ...facts },
  };
}

export const fresh: Partial<Memory<AppEnvironmentFacts>> = { id: 'env_1', ownership: 'Adopted' };
export const byId = { externalId: 'env_1' };
export const one = { ...byId, deploy: { image: 'r/x:1' } };
export const oneSent = { deploy: { image: 'r/x:1' } };

export type Row = PassOptions<AppEnvironmentFacts> & { readonly because: string; readonly comesTo: string };
