import type { AreaCall, Caller } from '../area.ts';
import { forbidden, found, invalid, notFound, RequestRefusal } from '../../http/refusal.ts';
import type { World } from '../../store/store.ts';
import { type Account, accounts, type CredentialRecord, credentials, type MembershipRecord } from './records.ts';
import { memberships, type Permission, type Region, regions, type Scope, tokens } from './records.ts';

/** Finds the caller to whom a token belongs; fails with 401 if the token is missing, unknown or not a user token. */
export function authenticate(world: World, authorization: string | undefined): Caller {
  const token = authorization === undefined ? undefined : world.of(tokens).get(authorization);
  if (token === undefined) throw new RequestRefusal(401, 'user not authenticated');
  if (token.kind !== 'user') throw new RequestRefusal(401, 'this API accepts only user tokens');
  return { token, memberships: world.of(memberships).where('token', token.token) };
}

/** Fails with 403 unless the caller's token has all of the given scopes. */
export function requireScopes(caller: Caller, scopes: readonly Scope[]): void {
  const missing = scopes.find((scope) => !caller.token.scopes.includes(scope));
  if (missing !== undefined) throw forbidden(`the token lacks the scope ${missing}`);
}

/** Finds an account by its id; fails with 404 if no account has this id. */
export function accountNamed(world: World, accountId: string): Account {
  return found(world.of(accounts).get(accountId), 'account not found');
}

/** Finds a region by its name; fails with 404 if no region has this name. */
export function regionNamed(world: World, name: string): Region {
  return found(world.of(regions).get(name), 'region not found');
}

/**
 * Finds the caller's membership in an account; fails with 404 if the account is unknown, and with 403 if the caller is
 * not a member.
 */
export function memberOf(call: AreaCall, accountId: string): MembershipRecord {
  accountNamed(call.world, accountId);
  const membership = call.caller.memberships.find((each) => each.accountId === accountId);
  if (membership === undefined) throw forbidden('you are not a member of this account');
  return membership;
}

/** Finds the caller's membership in an account; fails with 403 unless the caller is an admin of this account. */
export function adminOf(call: AreaCall, accountId: string): MembershipRecord {
  const membership = memberOf(call, accountId);
  if (membership.role !== 'admin') throw forbidden('this request needs admin permission');
  return membership;
}

/**
 * Finds the caller's membership in an account; fails with 403 unless the membership has the given permission. An admin
 * needs the permission too.
 */
export function permittedIn(call: AreaCall, accountId: string, permission: Permission): MembershipRecord {
  const membership = memberOf(call, accountId);
  if (!membership.permissions.includes(permission)) {
    const name = { manageMembers: 'Manage Members', secretsAccess: 'Secrets Access' }[permission];
    throw forbidden(`this request needs the permission ${name}`);
  }
  return membership;
}

/**
 * Returns the caller's current account, which is used when a request has no accountId. Fails with 404 if the token has
 * no current account.
 */
export function currentAccount(call: AreaCall): string {
  return found(call.caller.token.currentAccountId, 'the user of this token has no current account');
}

/** True if the member sees only the environments that an admin assigned to this member. */
export function isRestricted(world: World, membership: MembershipRecord): boolean {
  if (membership.role === 'admin' || membership.allowedAppEnvIds.length === 0) return false;
  return world.of(accounts).get(membership.accountId)?.memberEnvAccess === true;
}

/** True if the member may see and change the environment. */
export function maySee(world: World, membership: MembershipRecord, appEnvId: string): boolean {
  return !isRestricted(world, membership) || membership.allowedAppEnvIds.includes(appEnvId);
}

/**
 * Checks the id of a credential in a request: fails with 404 if the account has no such credential, and with 400 if the
 * credential is of the wrong kind.
 */
export function requireCredential(world: World, field: string, named: CredentialRecord): void {
  const { credentialId, accountId, kind } = named;
  const credential = world.of(credentials).get(credentialId);
  if (credential?.accountId !== accountId) throw notFound(`${field}: the account has no such credential`);
  if (credential.kind !== kind) throw invalid(`${field} must be the id of a credential of the kind ${kind}`);
}
