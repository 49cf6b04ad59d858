/** Tells by the preset whether an app is a database, because the interface treats databases differently. */
import type { Pass } from '../../engine/kind/contract/pass.ts';
import { appEnvsOf, appsOf, databasePresetsOf } from '../../hosting/requests.ts';

/** Presets that the interface names as databases and services. */
export const databasePresets = [
  'MONGODB',
  'POSTGRESQL',
  'MYSQL',
  'REDIS',
  'COUCHDB',
  'RABBITMQ',
  'CLICKHOUSE',
] as const;

type Lists = Pick<Pass, 'view' | 'account'>;

/** True for a preset that the interface names as a database, or that the service lists as one. */
export function isDatabase({ view }: Pick<Lists, 'view'>, preset: string): boolean {
  const named: readonly string[] = databasePresets;
  return named.includes(preset) || view.one(databasePresetsOf(), preset)?.item !== undefined;
}

/** Returns the preset of the app that an environment belongs to, as far as lists show it. */
export function presetOfEnvironment({ view, account: { accountId } }: Lists, appEnvId: string): string | undefined {
  const appId = view.one(appEnvsOf(accountId), appEnvId)?.item?.appId;
  return appId === undefined ? undefined : view.one(appsOf(accountId), appId)?.item?.dockerPreset;
}
