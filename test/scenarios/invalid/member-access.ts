import { accountChanges, inAccount, type Verdicts } from './table.ts';

const spec = { externalId: 'mem_demo', access: 'Restricted', environmentRefs: [{ externalId: 'env_web_staging' }] };
const full = { externalId: 'mem_demo', access: 'Full' };

export const memberAccess: Verdicts = {
  kind: 'MemberAccess',
  accepted: [
    { because: 'some', spec: { ...spec, onServiceAdd: 'Remove', lifecycle: { onDelete: 'GrantFullAccess' } } },
    { because: 'all', spec: full },
    inAccount(
      { ...spec, environmentRefs: [{ name: 'web' }] },
      { lifecycle: { managementPolicy: 'Observe', drift: 'Report' } },
    ),
    { because: 'an empty list is no list', spec: { ...full, environmentRefs: [] } },
  ],
  refused: [
    {
      because: 'an empty list means everything',
      spec: { ...spec, environmentRefs: [] },
      says: 'Restricted needs at least one entry',
    },
    {
      because: 'no list too',
      spec: { ...spec, environmentRefs: undefined },
      says: 'Restricted needs at least one entry',
    },
    { because: 'full is full', spec: { ...spec, access: 'Full' }, says: 'access: Full must have none' },
    {
      because: 'one way to name it',
      spec: { ...spec, environmentRefs: [{ externalId: 'a', name: 'b' }] },
      says: 'set exactly one of name, externalId',
    },
    { because: 'a decision', spec: { externalId: 'mem_demo' }, says: 'spec.access: Required value' },
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
      to: { ...spec, externalId: 'mem_2' },
      says: 'externalId cannot be changed',
    },
    { because: 'access may change', from: spec, to: full },
  ],
};
