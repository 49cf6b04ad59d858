import { z } from 'zod';
import { isRecord } from '../../base/json.ts';
import type { Read, Request } from '../../engine/ports.ts';
import { bareOrIn, Id, get, endpoint, single, id, unwrapped, parsed } from './endpoint.ts';

/** The environments that a member may access. */
export interface MemberAccessItem {
  readonly membershipId: string;
  /** The ids of the environments; an empty list means every environment of the account. */
  readonly allowedAppEnvIds: readonly string[];
}

const Allowed = z.array(bareOrIn(id, 'appEnvId'));

/**
 * Reads which environments a member may access from the answer to `GET` or `PATCH /member/env-access`. The list of environments
 * may have different names in the answer.
 *
 * If the answer contains this member's id but no list, the member may access every environment. An answer without a list and
 * without the member's id counts as unreadable, as does an answer with the id of another member.
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

/**
 * Builds the request `PATCH /member/env-access`. The list of environments is required, because a request without it would give
 * the member access to all environments.
 */
const patchEnvAccess = endpoint(
  'PATCH',
  '/member/env-access',
  'update',
  z.strictObject({ accountId: Id, membershipId: Id, allowedAppEnvIds: z.array(Id).readonly() }),
);

/** The ids that identify a member of an account. */
interface Membership {
  readonly accountId: string;
  readonly membershipId: string;
}

/**
 * Restricts a member to the given environments. At least one is required, since an empty list would give access to all
 * environments.
 */
export function patchMemberEnvAccess(
  body: Membership & { readonly allowedAppEnvIds: readonly [string, ...string[]] },
): Request {
  return patchEnvAccess(body);
}

/** Lets a member access every environment of the account, by sending an empty list. */
export function patchMemberEnvAccessToFull(body: Membership): Request {
  return patchEnvAccess({ ...body, allowedAppEnvIds: [] });
}

/** Reads which environments a member may access. */
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
