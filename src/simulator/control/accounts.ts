import { accountNamed } from '../accounts/access.ts';
import { type ControlRoute, ok, control } from '../area.ts';
import { choice, fields, flag, onlyFields, optional, readFields, required, text } from '../http/fields.ts';
import { accounts, credentials, regions } from '../accounts/records.ts';
import { taken } from '../http/refusal.ts';
import { regionNamed } from '../environments/environment.ts';

/** Accounts, regions and what the Credentials API keeps. */
export const accountRoutes: readonly ControlRoute[] = [
  control(
    'POST /accounts',
    'creates an account: {accountId?, name, memberEnvAccess?, sandboxEntitlement?}',
    ({ world, body }) => {
      onlyFields(body, '', ['accountId', ...Object.keys(settable)]);
      const name = required(body, 'name', text());
      const given = optional(body, 'accountId', text());
      if (given !== undefined && world.of(accounts).has(given)) throw taken(`${given} exists already`);
      const accountId = given ?? world.id('acc');
      const { memberEnvAccess = false, sandboxEntitlement = false } = readFields(body, settable);
      world.of(accounts).put({ accountId, memberEnvAccess, sandboxEntitlement, name });
      return ok({ accountId });
    },
  ),
  control('PATCH /accounts/:id', 'changes an account', ({ world, id, body }) => {
    onlyFields(body, '', Object.keys(settable));
    world.of(accounts).put({ ...accountNamed(world, id), ...readFields(body, settable) });
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
      const supports = { ...region.supports, ...optional(body, 'supports', supported) };
      world.of(regions).put({ ...region, up, supports });
      return ok({ name: id, up, supports });
    },
  ),
];

const settable = { name: text(), memberEnvAccess: flag, sandboxEntitlement: flag };

const supported = fields({ functions: flag, sandbox: flag, disasterReadiness: flag });
