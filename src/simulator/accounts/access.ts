import type { AreaCall, Caller } from '../area.ts';
import { forbidden, found, invalid, notFound, RequestRefusal } from '../http/refusal.ts';
import type { World } from '../store/store.ts';
import { type Account, accounts, type CredentialRecord, credentials, type MembershipRecord } from './records.ts';
import { memberships, type Permission, type Scope, tokens } from './records.ts';

/** Finds the caller to whom a token belongs; refuses with 401 without a valid token. */
export function authenticate(world: World, authorization: string | undefined): Caller {
  const token = authorization === undefined ? undefined : world.of(tokens).get(authorization);
  if (token === undefined) throw new RequestRefusal(401, 'user not authenticated');
  if (token.kind !== 'user') throw new RequestRefusal(401, 'this interface accepts only the user token');
  return { token, memberships: world.of(memberships).where('token', token.token) };
}

/** Refuses with 403 unless the caller's token holds every one of these scopes. */
export function requireScopes(caller: Caller, scopes: readonly Scope[]): void {
  const missing = scopes.find((scope) => !caller.token.scopes.includes(scope));
  if (missing !== undefined) throw forbidden(`the token lacks the scope ${missing}`);
}

/** Finds an account by its id; refuses with 404 when there is none. */
export function accountNamed(world: World, accountId: string): Account {
  return found(world.of(accounts).get(accountId), 'account not found');
}

/** Finds the caller's membership in an account; refuses with 404 for an unknown account, and with 403 without a membership. */
export function memberOf(call: AreaCall, accountId: string): MembershipRecord {
  accountNamed(call.world, accountId);
  const membership = call.caller.memberships.find((each) => each.accountId === accountId);
  if (membership === undefined) throw forbidden('you are not a member of this account');
  return membership;
}

/** Finds the caller's membership in an account; refuses with 403 unless the caller is an admin of it. */
export function adminOf(call: AreaCall, accountId: string): MembershipRecord {
  const membership = memberOf(call, accountId);
  if (membership.role !== 'admin') throw forbidden('this needs admin permission');
  return membership;
}

/**
 * Finds the caller's membership in an account; refuses with 403 unless the membership has a permission. Even an admin has a permission only
 * when it was given.
 */
export function permittedIn(call: AreaCall, accountId: string, permission: Permission): MembershipRecord {
  const membership = memberOf(call, accountId);
  if (!membership.permissions.includes(permission)) {
    const name = { manageMembers: 'Manage Members', secretsAccess: 'Secrets Access' }[permission];
    throw forbidden(`this needs the permission ${name}`);
  }
  return membership;
}

/** Returns the caller's current account, which a request without accountId is about; refuses with 404 when no current account is set. */
export function currentAccount(call: AreaCall): string {
  return found(call.caller.token.currentAccountId, 'no current account is set');
}

/** Tells if a member sees only the environments that are assigned to them. */
export function isRestricted(world: World, membership: MembershipRecord): boolean {
  if (membership.role === 'admin' || membership.allowedAppEnvIds.length === 0) return false;
  return world.of(accounts).get(membership.accountId)?.memberEnvAccess === true;
}

/** Tells if a member may see and change an environment. */
export function maySee(world: World, membership: MembershipRecord, appEnvId: string): boolean {
  return !isRestricted(world, membership) || membership.allowedAppEnvIds.includes(appEnvId);
}

/**
 * Refuses the id of a credential: with 404 when the account has no such credential, and with 400 when the credential is of another kind.
 */
export function requireCredential(world: World, field: string, named: CredentialRecord): void {
  const { credentialId, accountId, kind } = named;
  const credential = world.of(credentials).get(credentialId);
  if (credential?.accountId !== accountId) throw notFound(`${field}: credential not found`);
  if (credential.kind !== kind) throw invalid(`${field} must name a credential of the kind ${kind}`);
}
