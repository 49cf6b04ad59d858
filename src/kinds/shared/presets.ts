/**
 * Tells from the preset of an app whether the app is a database. The service's API treats databases differently from
 * other apps.
 */
import type { Pass } from '../../engine/kind/contract/pass.ts';
import { appEnvsOf, appsOf, databasePresetsOf } from '../../hosting/requests.ts';

/** The presets that the service's API documentation lists as databases and services. */
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

/** True for a preset that the API documentation or the service's own list names as a database. */
export function isDatabase({ view }: Pick<Lists, 'view'>, preset: string): boolean {
  const named: readonly string[] = databasePresets;
  return named.includes(preset) || view.one(databasePresetsOf(), preset)?.item !== undefined;
}

/** Returns the preset of the app that an environment belongs to; undefined if no list shows it. */
export function presetOfEnvironment({ view, account: { accountId } }: Lists, appEnvId: string): string | undefined {
  const appId = view.one(appEnvsOf(accountId), appEnvId)?.item?.appId;
  return appId === undefined ? undefined : view.one(appsOf(accountId), appId)?.item?.dockerPreset;
}
