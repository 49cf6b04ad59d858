import { Spec as schema } from '../../../../src/kinds/member-access/schema.ts';
import type { InProcess } from '../../../support/in-process.ts';
import { accountEdits, lifecycleEdits, quiet, refused, sent, type Edits, type Spec } from './table.ts';

const member = { membershipId: 'mem_{row}' };
const restricted = (...environments: readonly Spec[]): Spec => ({ ...member, access: 'Restricted', environments });
const prod = { appEnvId: 'env_web_prod' };
const staging = { appEnvId: 'env_web_staging' };
const full = { ...member, access: 'Full' };
const list = refused('access: Restricted needs at least one entry in environments, and access: Full none');

const patch = (...allowedAppEnvIds: readonly string[]) =>
  sent('PATCH /member/env-access', { accountId: 'acc_demo', membershipId: '{id}', allowedAppEnvIds });

/** A member to whom somebody gave an environment before. */
const before = { ...restricted(prod), membershipId: 'mem_{row}_before' };

/** Every field of a MemberAccess. */
export const memberAccessEdits: Edits = {
  kind: 'MemberAccess',
  schema,
  prepare: async (world: InProcess, name) => {
    for (const membershipId of [`mem_${name}`, `mem_${name}_before`]) {
      await world.control('POST', '/tokens', {
        memberships: [{ accountId: 'acc_demo', membershipId, role: 'member' }],
      });
    }
    const allowedAppEnvIds = ['env_fn_prod'];
    const membershipId = `mem_${name}_before`;
    await world.request('PATCH', '/member/env-access', { accountId: 'acc_demo', membershipId, allowedAppEnvIds });
    for (const [ref, appEnvId] of [
      ['prod', 'env_web_prod'],
      ['staging', 'env_web_staging'],
    ] as const) {
      world.apply('AppEnvironment', ref, { appEnvId });
    }
    return {};
  },
  rows: [
    ...accountEdits(restricted(prod)),
    ...lifecycleEdits(restricted(prod), {
      mode: ['Manage', 'Observe'],
      adoption: ['ById', 'ByName'],
      drift: ['Correct', 'Report'],
      onDelete: ['Retain', 'GrantFullAccess'],
    }),
    {
      field: 'membershipId',
      before: restricted(prod),
      changed: {
        to: { ...restricted(prod), membershipId: 'mem_demo' },
        comes: refused('membershipId cannot be changed'),
      },
    },
    { field: 'access', before: restricted(prod), changed: { to: full, comes: patch() } },
    { field: 'access', before: full, changed: { to: restricted(prod), comes: patch('env_web_prod') } },
    { field: 'environments', before: restricted(prod), removed: { comes: list } },
    {
      field: 'environments[].appEnvId',
      before: restricted(prod),
      changed: { to: restricted(staging), comes: patch('env_web_staging') },
      removed: { to: restricted(), comes: list },
    },
    {
      field: 'environments[].appEnvId',
      before: restricted(prod, staging),
      removed: { to: restricted(prod), comes: patch('env_web_prod') },
    },
    {
      field: 'environments[].environmentRef',
      before: restricted({ environmentRef: { name: 'prod' } }),
      changed: { to: restricted({ environmentRef: { name: 'staging' } }), comes: patch('env_web_staging') },
      removed: { to: restricted({}), comes: refused('set exactly one of environmentRef, appEnvId') },
    },
    {
      field: 'serviceAdds',
      before: { ...restricted(prod), serviceAdds: 'Keep' },
      changed: { to: { ...restricted(prod), serviceAdds: 'Remove' }, comes: quiet() },
      removed: { comes: quiet() },
    },
    {
      field: 'serviceAdds',
      before: { ...before, serviceAdds: 'Keep' },
      changed: { to: { ...before, serviceAdds: 'Remove' }, comes: patch('env_web_prod') },
    },
  ],
};
