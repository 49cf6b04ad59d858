import { accountNamed } from '../accounts/access.ts';
import { type ControlCall, type ControlRoute, ok, control } from '../area.ts';
import { choice, type BodyFields, list, object, onlyFields, optional, required, sent, text } from '../http/fields.ts';
import { everyScope, memberships, type MembershipRecord, type Token, tokens } from '../accounts/records.ts';
import { found, invalid, taken } from '../http/refusal.ts';
import type { World } from '../store/store.ts';

/** Tokens, with their role in each account. */
export const tokenRoutes: readonly ControlRoute[] = [
  control('POST /tokens', 'creates a token: {token?, kind?, scopes?, memberships, currentAccountId?}', create),
  control('PATCH /tokens/:id', 'changes a token; memberships are replaced as a whole', update),
  control('DELETE /tokens/:id', 'forgets a token: the next call with it is a 401', remove),
];

const settable = ['kind', 'scopes', 'memberships', 'currentAccountId'];
const scopes = list(choice(everyScope));
const kind = choice(['user', 'environment']);
const permissions = list(choice(['manageMembers', 'secretsAccess']));

function create({ world, body }: ControlCall) {
  onlyFields(body, '', ['token', ...settable]);
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

function update({ world, id, body }: ControlCall) {
  onlyFields(body, '', settable);
  world.of(tokens).put(tokenFrom(world, tokenNamed(world, id), body));
  const given = optional(body, 'memberships', list(object));
  const membershipIds =
    given === undefined
      ? membershipsOf(world, id).map(({ membershipId }) => membershipId)
      : replaceMemberships(world, id, given);
  return ok({ token: id, membershipIds });
}

function remove({ world, id }: ControlCall) {
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

/** A currentAccountId of null takes the current account away. */
function tokenFrom(world: World, token: Token, body: BodyFields): Token {
  const { currentAccountId: before, ...rest } = token;
  const cleared = body['currentAccountId'] === null;
  const currentAccountId = cleared ? undefined : (optional(body, 'currentAccountId', text()) ?? before);
  if (currentAccountId !== undefined) accountNamed(world, currentAccountId);
  return {
    ...rest,
    kind: optional(body, 'kind', kind) ?? token.kind,
    scopes: optional(body, 'scopes', scopes) ?? token.scopes,
    ...(currentAccountId === undefined ? {} : { currentAccountId }),
  };
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
      permissions: sent(fields, 'permissions') ? required(fields, 'permissions', permissions) : [],
      allowedAppEnvIds: known?.membershipId === membershipId ? known.allowedAppEnvIds : [],
    };
    world.of(memberships).put(membership);
    return membershipId;
  });
}
