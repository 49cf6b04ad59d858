import { z } from 'zod';
import { id, isObject, unwrapped, parsed } from './shape.ts';

/** What a member may reach. */
export interface MemberAccessItem {
  readonly membershipId: string;
  /** Empty means every environment. */
  readonly allowedAppEnvIds: readonly string[];
}

const Allowed = z.array(z.union([id, z.object({ appEnvId: id }).transform(({ appEnvId }) => appEnvId)]));

/**
 * The access of `GET` and `PATCH /member/env-access`, under any of the names that the list may have.
 *
 * A list left out means full access, but only in a body that is about this member: anything else is not readable.
 */
export function memberAccessIn(body: unknown, membershipId: string): MemberAccessItem | undefined {
  const access = unwrapped(body, 'access', 'envAccess', 'member');
  if (!isObject(access)) return undefined;
  const about = access['membershipId'];
  if (about !== undefined && about !== null && about !== membershipId) return undefined;
  const name = ['allowedAppEnvIds', 'appEnvIds', 'environments'].find((field) => Object.hasOwn(access, field));
  if (name === undefined) return about === membershipId ? { membershipId, allowedAppEnvIds: [] } : undefined;
  const allowed = parsed(Allowed, access[name] ?? []);
  return allowed === undefined ? undefined : { membershipId, allowedAppEnvIds: allowed };
}
