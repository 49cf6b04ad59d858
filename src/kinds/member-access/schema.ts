import type { z } from 'zod';
import { drift, lifecycle, managementPolicy, onDelete, specInAccount } from '../../engine/kind/schema/parts.ts';
import {
  immutable,
  withRule,
  choice,
  facts,
  idAsShown,
  listOf,
  serviceId,
  text,
} from '../../engine/kind/schema/schema.ts';
import { environmentRef } from '../shared/schema.ts';

const Fields = specInAccount('The environments that a member may see and use.', {
  externalId: immutable(
    serviceId('The id of the membership (API field: membershipId).'),
    'externalId cannot be changed; create another MemberAccess',
  ),
  access: choice('Full for all environments, Restricted for those in environmentRefs.', ['Full', 'Restricted']),
  environmentRefs: listOf(
    'The environments of a restricted member, at least one (API field: allowedAppEnvIds).',
    environmentRef(),
    { max: 500 },
  ).optional(),
  onServiceAdd: choice(
    "What to do with environments that somebody else, or the service itself, adds to the member's list. The service adds the environments that a restricted member creates. Default: Keep.",
    ['Keep', 'Remove'],
  ).optional(),
  lifecycle: lifecycle({
    managementPolicy,
    drift,
    onDelete: onDelete(
      ['Retain', 'GrantFullAccess'],
      'Retain keeps the restriction, GrantFullAccess removes it. Default: Retain.',
    ),
  }),
});

/** The spec of a MemberAccess: the environments that a member may see and use. */
export const MemberAccessSpec = withRule(Fields, {
  rule: "(self.access == 'Restricted') == (has(self.environmentRefs) && self.environmentRefs.size() > 0)",
  message:
    'access: Restricted needs at least one entry in environmentRefs, and access: Full must have none, because the service treats an empty list as full access',
  fieldPath: '.environmentRefs',
  check: ({ access, environmentRefs = [] }) => (access === 'Restricted') === environmentRefs.length > 0,
});
export type MemberAccessSpec = z.output<typeof MemberAccessSpec>;

const ids = (description: string) =>
  listOf(description, idAsShown('The id of an environment.'), { max: 1000 }).optional();

/** The status fields of a MemberAccess. */
export const MemberAccessFacts = facts({
  access: text('The access of the member in the service: Full or Restricted.', { max: 32 }).optional(),
  environmentIds: ids('The environments that the service allows the member to use (API field: allowedAppEnvIds).'),
  setAppEnvIds: ids('The environments that the spec named when it was last applied.'),
  askedAppEnvIds: ids(
    "Environments that this resource, or an earlier MemberAccess of the same member, once requested. If such an environment is in the member's list but not in the spec, the operator removes it from the list.",
  ),
  serviceAddedEnvironmentIds: ids("Environments that somebody else, or the service, added to the member's list."),
});
export type MemberAccessFacts = z.output<typeof MemberAccessFacts>;
