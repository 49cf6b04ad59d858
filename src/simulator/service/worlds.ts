import { createApp } from './apps/app.ts';
import { createEnvironment } from './environments/environment.ts';
import { defaultReadings } from '../store/readings.ts';
import { accounts, everyScope, type MembershipRecord, memberships, type Permission } from './accounts/records.ts';
import { regions, type Token, tokens } from './accounts/records.ts';
import type { SavedWorld } from '../store/saved.ts';
import type { Store, World } from '../store/store.ts';

/** The data with which the simulator starts: one of the two built-in data sets, or saved data. */
export type StartWorld = 'demo' | 'empty' | SavedWorld;

/** Returns the data with which both built-in data sets begin: the simulator options with their default values, and nothing else. */
function blankWorld(now: number, seed: string): SavedWorld {
  const settings = [{ key: 'readings', value: defaultReadings() }];
  return { format: 'apphosting-simulator', version: 1, seed, now, ledgerSeq: 0, collections: { settings }, ledger: [] };
}

/** Returns one of the built-in data sets, with an empty change log. */
export function namedWorld(store: Store, name: 'demo' | 'empty', now: number, seed: string): SavedWorld {
  store.load(blankWorld(now, seed));
  store.transact(now, undefined, (world) => {
    plantRegions(world);
    if (name === 'demo') plantDemo(world);
  });
  return { ...store.save(), ledgerSeq: 0, ledger: [] };
}

function plantRegions(world: World): void {
  const everything = { functions: true, sandbox: true, disasterReadiness: true };
  const nothing = { functions: false, sandbox: false, disasterReadiness: false };
  world.of(regions).put({ name: 'eu-west', up: true, supports: everything });
  world.of(regions).put({ name: 'us-east', up: true, supports: everything });
  world.of(regions).put({ name: 'ap-south', up: true, supports: nothing });
}

function plantDemo(world: World): void {
  world.of(accounts).put({ accountId: 'acc_demo', name: 'Demo', memberEnvAccess: false, sandboxEntitlement: true });
  world.of(accounts).put({ accountId: 'acc_other', name: 'Other', memberEnvAccess: false, sandboxEntitlement: false });
  plantTokens(world);
  for (const [appId, more] of demoApps) createApp(world, { appId, accountId: 'acc_demo', ...more });
  for (const [appEnvId, appId, more] of demoEnvironments) {
    createEnvironment(world, { appEnvId, appId, region: 'eu-west', status: 'running', ...more });
  }
}

const image = (name: string) => ({ useImage: true, image: `registry.example/demo/${name}:1` });
const source = { gitNamespace: 'demo', gitRepo: 'web', gitInstallationId: 'git_demo', dockerfilePath: 'Dockerfile' };

const demoApps = [
  ['app_web', { name: 'web', port: 3000, ...source, ...image('web') }],
  ['app_db', { name: 'orders-db', dockerPreset: 'POSTGRESQL', port: 5432 }],
  ['app_fn', { name: 'resize', dockerPreset: 'FUNCTION', port: 8080, ...image('resize') }],
  ['app_job', { name: 'migrate', dockerPreset: 'JOB', ...image('migrate') }],
] as const;

const demoEnvironments = [
  ['env_web_prod', 'app_web', { name: 'production', gitBranch: 'main', cliEnvName: 'web-prod', volumes: 1 }],
  ['env_web_staging', 'app_web', { gitBranch: 'main', name: 'staging', cliEnvName: 'web-staging' }],
  ['env_db_prod', 'app_db', { name: 'production', cliEnvName: 'orders-db-prod', volumes: 1 }],
  ['env_fn_prod', 'app_fn', { name: 'production', cliEnvName: 'resize-prod' }],
  ['env_job_prod', 'app_job', { name: 'production', cliEnvName: 'migrate-prod' }],
] as const;

const everyPermission: Permission[] = ['manageMembers', 'secretsAccess'];

type Plant = Pick<MembershipRecord, 'token' | 'membershipId'> & Partial<MembershipRecord & Token>;

const plants: readonly Plant[] = [
  { token: 'demo-admin', membershipId: 'mem_admin', permissions: everyPermission },
  { token: 'demo-admin-no-secrets', membershipId: 'mem_admin_no_secrets', permissions: ['manageMembers'] },
  { token: 'demo-member', membershipId: 'mem_demo', role: 'member' },
  { token: 'demo-readonly', membershipId: 'mem_readonly', permissions: everyPermission, scopes: ['svc:read'] },
  { token: 'demo-environment', membershipId: 'mem_environment', kind: 'environment' },
  { token: 'demo-foreign', membershipId: 'mem_foreign', accountId: 'acc_other', permissions: everyPermission },
];

function plantTokens(world: World): void {
  for (const plant of plants) {
    const { token, membershipId, accountId = 'acc_demo', role = 'admin', permissions = [] } = plant;
    const { scopes = everyScope, kind = 'user' } = plant;
    world.of(tokens).put({ token, kind, scopes, currentAccountId: accountId });
    world.of(memberships).put({ membershipId, accountId, token, role, permissions, allowedAppEnvIds: [] });
  }
}
