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

const Fields = specInAccount('Which environments a member may see and use.', {
  externalId: immutable(
    serviceId('The id of the membership (interface: membershipId).'),
    'externalId cannot be changed; create another MemberAccess',
  ),
  access: choice('Full gives all environments, Restricted only those of environmentRefs.', ['Full', 'Restricted']),
  environmentRefs: listOf(
    'The environments of a restricted member; at least one (interface: allowedAppEnvIds).',
    environmentRef(),
    { max: 500 },
  ).optional(),
  onServiceAdd: choice(
    'What to do with environments that the service adds by itself, because the member created them. Default: Keep.',
    ['Keep', 'Remove'],
  ).optional(),
  lifecycle: lifecycle({
    managementPolicy,
    drift,
    onDelete: onDelete(
      ['Retain', 'GrantFullAccess'],
      'Retain leaves the restriction as it is, GrantFullAccess lifts it. Default: Retain.',
    ),
  }),
});

/** The environments that a member may reach. */
export const MemberAccessSpec = withRule(Fields, {
  rule: "(self.access == 'Restricted') == (has(self.environmentRefs) && self.environmentRefs.size() > 0)",
  message:
    'access: Restricted needs at least one entry in environmentRefs, and access: Full none (an empty list means full access to the service)',
  fieldPath: '.environmentRefs',
  check: ({ access, environmentRefs = [] }) => (access === 'Restricted') === environmentRefs.length > 0,
});
export type MemberAccessSpec = z.output<typeof MemberAccessSpec>;

const ids = (description: string) =>
  listOf(description, idAsShown('The id of an environment.'), { max: 1000 }).optional();

/** The status fields of a member's access. */
export const MemberAccessFacts = facts({
  access: text('Full or Restricted, as the service shows it.', { max: 32 }).optional(),
  environmentIds: ids('The environments that the service allows (interface: allowedAppEnvIds).'),
  setAppEnvIds: ids('The environments that this resource allowed, for the spec as last applied.'),
  askedAppEnvIds: ids(
    'Other environments that this resource, or one before it for the same member, asked for: where the spec does not name one, it is taken away when the service shows it.',
  ),
  serviceAddedEnvironmentIds: ids('The environments that somebody else, or the service itself, allowed.'),
});
export type MemberAccessFacts = z.output<typeof MemberAccessFacts>;
