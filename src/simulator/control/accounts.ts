import { accountNamed } from '../accounts/access.ts';
import { accounts, credentials, everyScope, type MembershipRecord, memberships, regions } from '../accounts/records.ts';
import { type Token, tokens } from '../accounts/records.ts';
import { control, type ControlCall, type ControlRoute, ok } from '../area.ts';
import { regionNamed } from '../environments/environment.ts';
import { type BodyFields, choice, fields, flag, list, object, onlyFields, optional } from '../http/fields.ts';
import { orNull, present, readFields, required, text } from '../http/fields.ts';
import { found, invalid, taken } from '../http/refusal.ts';
import type { World } from '../store/store.ts';

/** Routes that create and change accounts, regions and credentials. */
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

/** Routes that create and change tokens, with their role in each account. */
export const tokenRoutes: readonly ControlRoute[] = [
  control('POST /tokens', 'creates a token: {token?, kind?, scopes?, memberships, currentAccountId?}', createToken),
  control('PATCH /tokens/:id', 'changes a token; memberships are replaced as a whole', updateToken),
  control('DELETE /tokens/:id', 'forgets a token: the next call with it is a 401', removeToken),
];

const rights = { kind: choice(['user', 'environment']), scopes: list(choice(everyScope)) };
const tokenFields = [...Object.keys(rights), 'memberships', 'currentAccountId'];
const permissions = list(choice(['manageMembers', 'secretsAccess']));

function createToken({ world, body }: ControlCall) {
  onlyFields(body, '', ['token', ...tokenFields]);
  const given = optional(body, 'token', text({ max: 1000 }));
  if (given !== undefined && world.of(tokens).has(given)) throw taken('the token exists already');
  if (given !== undefined && /[^\x21-\x7e]/.test(given)) throw invalid('a token is one word of a header');
  if (given === '.' || given === '..') throw invalid('a token of dots only cannot be part of an address');
  const token = given ?? world.id('token');
  const blank = { token, kind: 'user', scopes: everyScope } as const;
  world.of(tokens).put(tokenFrom(world, blank, body));
  const membershipIds = replaceMemberships(world, token, required(body, 'memberships', list(object)));
  return ok({ token, membershipIds });
}

function updateToken({ world, id, body }: ControlCall) {
  onlyFields(body, '', tokenFields);
  world.of(tokens).put(tokenFrom(world, tokenNamed(world, id), body));
  const given = optional(body, 'memberships', list(object));
  const membershipIds =
    given === undefined
      ? membershipsOf(world, id).map(({ membershipId }) => membershipId)
      : replaceMemberships(world, id, given);
  return ok({ token: id, membershipIds });
}

function removeToken({ world, id }: ControlCall) {
  tokenNamed(world, id);
  for (const { membershipId } of membershipsOf(world, id)) world.of(memberships).remove(membershipId);
  world.of(tokens).remove(id);
  return ok({});
}

function tokenNamed(world: World, token: string): Token {
  return found(world.of(tokens).get(token), 'there is no such token');
}

function membershipsOf(world: World, token: string): readonly MembershipRecord[] {
  return world.of(memberships).where('token', token);
}

/** Reads a change of a token; a currentAccountId of null means that the token has no current account. */
function tokenFrom(world: World, token: Token, body: BodyFields): Token {
  const { currentAccountId: before, ...rest } = token;
  const given = optional(body, 'currentAccountId', orNull(text()));
  const currentAccountId = given === undefined ? before : (given ?? undefined);
  if (currentAccountId !== undefined) accountNamed(world, currentAccountId);
  return present({ ...rest, ...readFields(body, rights), currentAccountId });
}

function replaceMemberships(world: World, token: string, given: readonly BodyFields[]): readonly string[] {
  const before = membershipsOf(world, token);
  for (const { membershipId } of before) world.of(memberships).remove(membershipId);
  return given.map((fields) => {
    onlyFields(fields, 'memberships', ['accountId', 'membershipId', 'role', 'permissions']);
    const { accountId } = accountNamed(world, required(fields, 'accountId', text()));
    if (membershipsOf(world, token).some((each) => each.accountId === accountId)) {
      throw invalid('a token has at most one membership in an account');
    }
    const known = before.find((each) => each.accountId === accountId);
    const membershipId = optional(fields, 'membershipId', text()) ?? known?.membershipId ?? world.id('mem');
    if (world.of(memberships).has(membershipId)) throw taken(`${membershipId} exists already`);
    const membership: MembershipRecord = {
      membershipId,
      accountId,
      token,
      role: required(fields, 'role', choice(['admin', 'member'])),
      permissions: optional(fields, 'permissions', permissions) ?? [],
      allowedAppEnvIds: known?.membershipId === membershipId ? known.allowedAppEnvIds : [],
    };
    world.of(memberships).put(membership);
    return membershipId;
  });
}
