import { z } from 'zod';
import { isRecord } from '../../base/json.ts';
import type { Read, Request } from '../../engine/ports.ts';
import { bareOrIn, Id, get, endpoint, single, id, unwrapped, parsed } from './endpoint.ts';

/** The environments that a member may access. */
export interface MemberAccessItem {
  readonly membershipId: string;
  /** Empty means every environment. */
  readonly allowedAppEnvIds: readonly string[];
}

const Allowed = z.array(bareOrIn(id, 'appEnvId'));

/**
 * The access of `GET` and `PATCH /member/env-access`, under any of the names that the list may have.
 *
 * A list left out means full access, but only in a body that is about this member: anything else is not readable.
 */
function memberAccessIn(body: unknown, membershipId: string): MemberAccessItem | undefined {
  const access = unwrapped(body, 'access', 'envAccess', 'member');
  if (!isRecord(access)) return undefined;
  const about = access['membershipId'];
  if (about !== undefined && about !== null && about !== membershipId) return undefined;
  const name = ['allowedAppEnvIds', 'appEnvIds', 'environments'].find((field) => Object.hasOwn(access, field));
  if (name === undefined) return about === membershipId ? { membershipId, allowedAppEnvIds: [] } : undefined;
  const allowed = parsed(Allowed, access[name] ?? []);
  return allowed === undefined ? undefined : { membershipId, allowedAppEnvIds: allowed };
}

/** The list is always sent: left out, it would mean full access. */
const patchEnvAccess = endpoint(
  'PATCH',
  '/member/env-access',
  'update',
  z.strictObject({ accountId: Id, membershipId: Id, allowedAppEnvIds: z.array(Id).readonly() }),
);

/** The endpoints of member access that take a body. */
export const memberAccessEndpoints = [patchEnvAccess];

/** A membership of an account. */
interface Membership {
  readonly accountId: string;
  readonly membershipId: string;
}

/** Restricts a member to these environments: at least one, since none means all. */
export function patchMemberEnvAccess(
  body: Membership & { readonly allowedAppEnvIds: readonly [string, ...string[]] },
): Request {
  return patchEnvAccess(body);
}

/** Gives a member every environment of the account: the empty list of the interface, under a name that says so. */
export function patchMemberEnvAccessToFull(body: Membership): Request {
  return patchEnvAccess({ ...body, allowedAppEnvIds: [] });
}

/** The environments that a member may reach. */
export function memberAccessOf(accountId: string, membershipId: string): Read<MemberAccessItem> {
  return {
    key: `memberAccess/${membershipId}`,
    first: get('/member/env-access', { accountId, membershipId }),
    items: single((body) => memberAccessIn(body, membershipId)),
    idOf: (access) => access.membershipId,
    absentOn404: true,
    pace: 'poll',
  };
}
