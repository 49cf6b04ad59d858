import type { AreaCall, Caller } from '../area.ts';
import { accounts, type Account, memberships, type MembershipRecord, type Permission } from './records.ts';
import { type Scope, tokens } from './records.ts';
import { forbidden, found, RequestRefusal } from '../http/refusal.ts';
import type { World } from '../store/store.ts';

/** A call as far as it says who may do what. */
export type CallerCall = Pick<AreaCall, 'world' | 'caller'>;

/** Authenticates the caller: 401 without a valid token. */
export function authenticate(world: World, authorization: string | undefined): Caller {
  const token = authorization === undefined ? undefined : world.of(tokens).get(authorization);
  if (token === undefined) throw new RequestRefusal(401, 'user not authenticated');
  if (token.kind !== 'user') throw new RequestRefusal(401, 'this interface accepts only the user token');
  return { token, memberships: world.of(memberships).where('token', token.token) };
}

/** Refuses with 403 unless the token holds every scope. */
export function requireScopes(caller: Caller, scopes: readonly Scope[]): void {
  const missing = scopes.find((scope) => !caller.token.scopes.includes(scope));
  if (missing !== undefined) throw forbidden(`the token lacks the scope ${missing}`);
}

/** An account that exists: 404 otherwise. */
export function accountNamed(world: World, accountId: string): Account {
  return found(world.of(accounts).get(accountId), 'account not found');
}

/** The caller's membership of an account: 404 for an unknown account, 403 for somebody else's. */
export function memberOf(call: CallerCall, accountId: string): MembershipRecord {
  accountNamed(call.world, accountId);
  const membership = call.caller.memberships.find((each) => each.accountId === accountId);
  if (membership === undefined) throw forbidden('you are not a member of this account');
  return membership;
}

/** The caller's membership of an account in which they are an admin: 403 otherwise. */
export function adminOf(call: CallerCall, accountId: string): MembershipRecord {
  const membership = memberOf(call, accountId);
  if (membership.role !== 'admin') throw forbidden('this needs admin permission');
  return membership;
}

/** The caller's membership of an account, with a permission that the role does not confer: 403 otherwise. */
export function permittedIn(call: CallerCall, accountId: string, permission: Permission): MembershipRecord {
  const membership = memberOf(call, accountId);
  if (!membership.permissions.includes(permission)) {
    const name = { manageMembers: 'Manage Members', secretsAccess: 'Secrets Access' }[permission];
    throw forbidden(`this needs the permission ${name}`);
  }
  return membership;
}

/** The account that a request without accountId means: 404 when the caller has none. */
export function currentAccount(call: CallerCall): string {
  return found(call.caller.token.currentAccountId, 'no current account is set');
}

/** Tells if this member sees only the environments assigned to them. */
export function isRestricted(world: World, membership: MembershipRecord): boolean {
  if (membership.role === 'admin' || membership.allowedAppEnvIds.length === 0) return false;
  return world.of(accounts).get(membership.accountId)?.memberEnvAccess === true;
}

/** Tells if this member may see and change an environment. */
export function maySee(world: World, membership: MembershipRecord, appEnvId: string): boolean {
  return !isRestricted(world, membership) || membership.allowedAppEnvIds.includes(appEnvId);
}
