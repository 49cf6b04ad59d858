import { accountChanges, type Verdicts } from './table.ts';

const spec = { membershipId: 'mem_demo', access: 'Restricted', environments: [{ appEnvId: 'env_web_staging' }] };
const full = { membershipId: 'mem_demo', access: 'Full' };

export const memberAccess: Verdicts = {
  kind: 'MemberAccess',
  accepted: [
    { because: 'some', spec: { ...spec, serviceAdds: 'Remove', lifecycle: { onDelete: 'GrantFullAccess' } } },
    { because: 'all', spec: full },
    { because: 'an empty list is no list', spec: { ...full, environments: [] } },
  ],
  refused: [
    {
      because: 'an empty list means everything',
      spec: { ...spec, environments: [] },
      says: 'Restricted needs at least one entry',
    },
    { because: 'no list too', spec: { ...spec, environments: undefined }, says: 'Restricted needs at least one entry' },
    { because: 'full is full', spec: { ...spec, access: 'Full' }, says: 'access: Full none' },
    {
      because: 'one way to name it',
      spec: { ...spec, environments: [{ appEnvId: 'a', environmentRef: { name: 'b' } }] },
      says: 'set exactly one of environmentRef, appEnvId',
    },
    { because: 'a decision', spec: { membershipId: 'mem_demo' }, says: 'spec.access: Required value' },
    {
      because: 'deleting grants nothing by accident',
      spec: { ...spec, lifecycle: { onDelete: 'Delete' } },
      says: 'supported values: "Retain", "GrantFullAccess"',
    },
  ],
  changes: [
    ...accountChanges(spec),
    {
      because: 'the member stays',
      from: spec,
      to: { ...spec, membershipId: 'mem_2' },
      says: 'membershipId cannot be changed',
    },
    { because: 'access may change', from: spec, to: full },
  ],
};
