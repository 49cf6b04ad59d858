import { MemberAccessSpec as schema } from '../../../../src/kinds/member-access/schema.ts';
import type { InProcess } from '../../../support/in-process.ts';
import { accountEdits, lifecycleEdits, quiet, refused, sent, type Edits, type Spec } from './table.ts';

const member = { externalId: 'mem_{row}' };
const restricted = (...environmentRefs: readonly Spec[]): Spec => ({
  ...member,
  access: 'Restricted',
  environmentRefs,
});
const prod = { externalId: 'env_web_prod' };
const staging = { externalId: 'env_web_staging' };
const full = { ...member, access: 'Full' };
const list = refused('access: Restricted needs at least one entry in environmentRefs, and access: Full must have none');

const patch = (...allowedAppEnvIds: readonly string[]) =>
  sent('PATCH /member/env-access', { accountId: 'acc_demo', membershipId: '{id}', allowedAppEnvIds });

/** A member to whom somebody gave an environment before. */
const before = { ...restricted(prod), externalId: 'mem_{row}_before' };

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
      world.apply('AppEnvironment', ref, { externalId: appEnvId });
    }
    return {};
  },
  rows: [
    ...accountEdits(restricted(prod)),
    ...lifecycleEdits(restricted(prod), {
      managementPolicy: ['Manage', 'Observe'],
      drift: ['Correct', 'Report'],
      onDelete: ['Retain', 'GrantFullAccess'],
    }),
    {
      field: 'externalId',
      before: restricted(prod),
      changed: {
        to: { ...restricted(prod), externalId: 'mem_demo' },
        comes: refused('externalId cannot be changed'),
      },
    },
    { field: 'access', before: restricted(prod), changed: { to: full, comes: patch() } },
    { field: 'access', before: full, changed: { to: restricted(prod), comes: patch('env_web_prod') } },
    { field: 'environmentRefs', before: restricted(prod), removed: { comes: list } },
    {
      field: 'environmentRefs[].externalId',
      before: restricted(prod),
      changed: { to: restricted(staging), comes: patch('env_web_staging') },
      removed: { to: restricted(), comes: list },
    },
    {
      field: 'environmentRefs[].externalId',
      before: restricted(prod, staging),
      removed: { to: restricted(prod), comes: patch('env_web_prod') },
    },
    {
      field: 'environmentRefs[].name',
      before: restricted({ name: 'prod' }),
      changed: { to: restricted({ name: 'staging' }), comes: patch('env_web_staging') },
      removed: { to: restricted({}), comes: refused('set exactly one of name, externalId') },
    },
    {
      field: 'onServiceAdd',
      before: { ...restricted(prod), onServiceAdd: 'Keep' },
      changed: { to: { ...restricted(prod), onServiceAdd: 'Remove' }, comes: quiet() },
      removed: { comes: quiet() },
    },
    {
      field: 'onServiceAdd',
      before: { ...before, onServiceAdd: 'Keep' },
      changed: { to: { ...before, onServiceAdd: 'Remove' }, comes: patch('env_web_prod') },
    },
  ],
};
