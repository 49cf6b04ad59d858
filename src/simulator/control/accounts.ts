import { accountNamed, regionNamed } from '../service/accounts/access.ts';
import { accountFields, accounts, credentialFields, credentials, everyScope } from '../service/accounts/records.ts';
import { membershipFields, type MembershipRecord, memberships, regions } from '../service/accounts/records.ts';
import { supportFields, type Token, tokens } from '../service/accounts/records.ts';
import { control, type ControlRoute, nothing, ok } from '../service/area.ts';
import { choice, fields, flag, list, must, orNull, present, type ReadFields, text } from '../http/fields.ts';
import { found, invalid, taken } from '../http/refusal.ts';
import type { World } from '../store/store.ts';

/** Routes of the control API (/_sim) that create and change accounts, regions and credentials. */
export const accountRoutes: readonly ControlRoute[] = [
  control(
    'POST /accounts',
    'creates an account: {accountId?, name, memberEnvAccess?, sandboxEntitlement?}',
    fields({ ...accountFields, accountId: text(), name: must(text()) }),
    ({ world, body }) => {
      const { accountId = world.id('acc'), name, memberEnvAccess = false, sandboxEntitlement = false } = body;
      if (world.of(accounts).has(accountId)) throw taken(`${accountId} exists already`);
      world.of(accounts).put({ accountId, memberEnvAccess, sandboxEntitlement, name });
      return ok({ accountId });
    },
  ),
  control('PATCH /accounts/:id', 'changes an account', fields(accountFields), ({ world, id, body }) => {
    world.of(accounts).put({ ...accountNamed(world, id), ...body });
    return ok({ accountId: id });
  }),
  control(
    'POST /credentials',
    'adds a credential to an account, so that requests may use its id: {credentialId?, accountId, kind: storage, llm or registry}',
    credentialFields,
    ({ world, body: { credentialId = world.id('cred'), accountId, kind } }) => {
      accountNamed(world, accountId);
      if (world.of(credentials).has(credentialId)) throw taken(`${credentialId} exists already`);
      world.of(credentials).put({ credentialId, accountId, kind });
      return ok({ credentialId });
    },
  ),
  control(
    'PATCH /regions/:id',
    'takes a region down or up, or changes the features that it supports: {up?, supports?: {functions, sandbox, disasterReadiness}}',
    fields({ up: flag, supports: supportFields }),
    ({ world, id, body }) => {
      const region = regionNamed(world, id);
      const next = { ...region, ...body, supports: { ...region.supports, ...body.supports } };
      world.of(regions).put(next);
      return ok(next);
    },
  ),
];

const tokenFields = {
  kind: choice(['user', 'environment']),
  scopes: list(choice(everyScope)),
  memberships: list(membershipFields),
  /** The token's current account, which is used when a request has no accountId; null if the token has no current account. */
  currentAccountId: orNull(text()),
};

/** Routes of the control API (/_sim) that create and change API tokens, with their role in each account. */
export const tokenRoutes: readonly ControlRoute[] = [
  control(
    'POST /tokens',
    'creates a token: {token?, kind?, scopes?, memberships, currentAccountId?}',
    fields({ ...tokenFields, token: text({ max: 1000 }), memberships: must(tokenFields.memberships) }),
    ({ world, body: { token = world.id('token'), ...given } }) => {
      if (world.of(tokens).has(token)) throw taken('this token already exists');
      if (/[^\x21-\x7e]/.test(token))
        throw invalid('a token may contain only visible ASCII characters, because it is sent in an HTTP header');
      if (token === '.' || token === '..')
        throw invalid('the tokens "." and ".." are not allowed, because they cannot be a segment of the path of a URL');
      return keepToken(world, { token, kind: 'user', scopes: everyScope }, given);
    },
  ),
  control(
    'PATCH /tokens/:id',
    'changes a token; the given memberships replace all its memberships',
    fields(tokenFields),
    ({ world, id, body }) => keepToken(world, tokenNamed(world, id), body),
  ),
  control('DELETE /tokens/:id', 'deletes a token; later requests with this token get 401', nothing, ({ world, id }) => {
    tokenNamed(world, id);
    for (const { membershipId } of membershipsOf(world, id)) world.of(memberships).remove(membershipId);
    world.of(tokens).remove(id);
    return ok({});
  }),
];

function tokenNamed(world: World, token: string): Token {
  return found(world.of(tokens).get(token), 'no such token');
}

function membershipsOf(world: World, token: string): readonly MembershipRecord[] {
  return world.of(memberships).where('token', token);
}

function keepToken(world: World, token: Token, change: ReadFields<typeof tokenFields>) {
  const { memberships: given, currentAccountId: account = token.currentAccountId, ...rights } = change;
  const currentAccountId = account ?? undefined;
  if (currentAccountId !== undefined) accountNamed(world, currentAccountId);
  world.of(tokens).put(present({ ...token, ...rights, currentAccountId }));
  if (given !== undefined) replaceMemberships(world, token.token, given);
  const membershipIds = membershipsOf(world, token.token).map(({ membershipId }) => membershipId);
  return ok({ token: token.token, membershipIds });
}

function replaceMemberships(world: World, token: string, given: readonly ReturnType<typeof membershipFields>[]): void {
  const before = membershipsOf(world, token);
  for (const { membershipId } of before) world.of(memberships).remove(membershipId);
  for (const { accountId, role, permissions = [], membershipId: named } of given) {
    accountNamed(world, accountId);
    if (membershipsOf(world, token).some((each) => each.accountId === accountId)) {
      throw invalid('a token has at most one membership in an account');
    }
    const known = before.find((each) => each.accountId === accountId);
    const membershipId = named ?? known?.membershipId ?? world.id('mem');
    if (world.of(memberships).has(membershipId)) throw taken(`${membershipId} exists already`);
    const allowedAppEnvIds = known?.membershipId === membershipId ? known.allowedAppEnvIds : [];
    world.of(memberships).put({ membershipId, accountId, token, role, permissions, allowedAppEnvIds });
  }
}
