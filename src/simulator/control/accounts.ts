import { accountNamed } from '../accounts/access.ts';
import { type ControlRoute, ok, control } from '../area.ts';
import {
  choice,
  type BodyFields,
  flag,
  object,
  onlyFields,
  optional,
  present,
  required,
  text,
} from '../http/fields.ts';
import { accounts, type Account, credentials, type Region, regions } from '../accounts/records.ts';
import { taken } from '../http/refusal.ts';
import { regionNamed } from '../environments/environment.ts';
import type { World } from '../store/store.ts';

/** Accounts, regions and what the Credentials API keeps. */
export const accountRoutes: readonly ControlRoute[] = [
  control(
    'POST /accounts',
    'creates an account: {accountId?, name, memberEnvAccess?, sandboxEntitlement?}',
    ({ world, body }) => {
      onlyFields(body, '', ['accountId', ...settable]);
      const name = required(body, 'name', text());
      const accountId = freeId(world, optional(body, 'accountId', text()));
      const account: Account = {
        accountId,
        memberEnvAccess: false,
        sandboxEntitlement: false,
        ...settings(body),
        name,
      };
      world.of(accounts).put(account);
      return ok({ accountId });
    },
  ),
  control('PATCH /accounts/:id', 'changes an account', ({ world, id, body }) => {
    onlyFields(body, '', settable);
    world.of(accounts).put({ ...accountNamed(world, id), ...settings(body) });
    return ok({ accountId: id });
  }),
  control(
    'POST /credentials',
    'something that requests may name: {credentialId?, accountId, kind: storage, llm or registry}',
    ({ world, body }) => {
      onlyFields(body, '', ['credentialId', 'accountId', 'kind']);
      const { accountId } = accountNamed(world, required(body, 'accountId', text()));
      const kind = required(body, 'kind', choice(['storage', 'llm', 'registry']));
      const credentialId = optional(body, 'credentialId', text()) ?? world.id('cred');
      if (world.of(credentials).has(credentialId)) throw taken(`${credentialId} exists already`);
      world.of(credentials).put({ credentialId, accountId, kind });
      return ok({ credentialId });
    },
  ),
  control(
    'PATCH /regions/:id',
    'a region goes down or changes: {up?, supports?: {functions, sandbox, disasterReadiness}}',
    ({ world, id, body }) => {
      onlyFields(body, '', ['up', 'supports']);
      const region = regionNamed(world, id);
      const up = optional(body, 'up', flag) ?? region.up;
      const supports = supported(region, optional(body, 'supports', object) ?? {});
      world.of(regions).put({ ...region, up, supports });
      return ok({ name: id, up, supports });
    },
  ),
];

const settable = ['name', 'memberEnvAccess', 'sandboxEntitlement'];

function settings(body: BodyFields): Partial<Account> {
  return present({
    name: optional(body, 'name', text()),
    memberEnvAccess: optional(body, 'memberEnvAccess', flag),
    sandboxEntitlement: optional(body, 'sandboxEntitlement', flag),
  });
}

function freeId(world: World, accountId: string | undefined): string {
  if (accountId !== undefined && world.of(accounts).has(accountId)) throw taken(`${accountId} exists already`);
  return accountId ?? world.id('acc');
}

function supported(region: Region, given: BodyFields): Region['supports'] {
  onlyFields(given, 'supports', ['functions', 'sandbox', 'disasterReadiness']);
  const { functions, sandbox, disasterReadiness } = region.supports;
  return {
    functions: optional(given, 'functions', flag) ?? functions,
    sandbox: optional(given, 'sandbox', flag) ?? sandbox,
    disasterReadiness: optional(given, 'disasterReadiness', flag) ?? disasterReadiness,
  };
}
