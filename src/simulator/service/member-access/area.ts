import { permittedIn } from '../accounts/access.ts';
import { type MembershipRecord, memberships } from '../accounts/records.ts';
import { type AreaAnswer, type Area, type AreaCall, ok, route } from '../area.ts';
import { environmentNamed } from '../environments/environment.ts';
import { list, optional, required, text } from '../../http/fields.ts';
import { notFound } from '../../http/refusal.ts';
import { single } from '../shape.ts';
import type { World } from '../../store/store.ts';

/** Serves GET and PATCH /member/env-access, which show and set the environments that a member may see. */
export const memberAccess: Area = {
  collections: [],
  routes: [
    route('GET /member/env-access', ['svc:read'], getAccess, ['accountId', 'membershipId']),
    route('PATCH /member/env-access', ['svc:write:config'], patchAccess, [
      'accountId',
      'membershipId',
      'allowedAppEnvIds',
    ]),
  ],
};

function getAccess(call: AreaCall): AreaAnswer {
  const accountId = required(call.query, 'accountId', text());
  permittedIn(call, accountId, 'manageMembers');
  const membership = memberNamed(call.world, accountId, required(call.query, 'membershipId', text()));
  return ok(shown(call.world, membership));
}

function patchAccess(call: AreaCall): AreaAnswer {
  const { world, body } = call;
  const accountId = required(body, 'accountId', text());
  permittedIn(call, accountId, 'manageMembers');
  const membership = memberNamed(world, accountId, required(body, 'membershipId', text()));
  const allowedAppEnvIds = [...new Set(optional(body, 'allowedAppEnvIds', list(text())))];
  const strange = allowedAppEnvIds.some((appEnvId) => environmentNamed(world, appEnvId).accountId !== accountId);
  if (strange) throw notFound('the account has no app environment with this id');
  const next = { ...membership, allowedAppEnvIds };
  world.change(memberships, next, 'memberAccess.updated', { allowedAppEnvIds });
  return ok(shown(world, next));
}

function memberNamed(world: World, accountId: string, membershipId: string): MembershipRecord {
  const membership = world.of(memberships).get(membershipId);
  if (membership?.accountId !== accountId) throw notFound('the account has no member with this membershipId');
  return membership;
}

function shown(world: World, { membershipId, allowedAppEnvIds }: MembershipRecord): unknown {
  const shapes = {
    allowedAppEnvIds: { allowedAppEnvIds },
    appEnvIds: { appEnvIds: allowedAppEnvIds },
    environments: { environments: allowedAppEnvIds.map((appEnvId) => ({ appEnvId })) },
  };
  return single(world, 'access', { membershipId, ...shapes[world.readings['envAccess.shape']] });
}
