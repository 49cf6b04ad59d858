import { expect, it } from 'vitest';
import { contactPoint } from '../../../src/kinds/contact-point/contact-point.ts';
import { aPass, type PassOptions } from '../../kinds/support/pass.ts';

const email = { email: { addresses: ['ops@example.com'] } };
const retain = { 'apphosting.dev/on-delete': 'Retain' };
const stays = 'contact point cp_1 stays in the service';

it.each<Omit<PassOptions<object>, 'spec'> & { because: string; lifecycle?: object; comes: object }>([
  { because: 'this resource created it', comes: { is: 'call' } },
  { because: 'it was adopted', memory: { ownership: 'Adopted' }, comes: { is: 'release', stays } },
  {
    because: 'it is only presumed to be ours',
    memory: { ownership: 'Presumed' },
    comes: { is: 'release', stays: `${stays}, because it is not certain that this resource created it` },
  },
  { because: 'the spec keeps it', lifecycle: { onDelete: 'Retain' }, comes: { is: 'release', stays } },
  {
    because: 'it is only observed',
    lifecycle: { managementPolicy: 'Observe' },
    comes: { is: 'release', stays },
  },
  {
    because: 'the account is only observed',
    account: { managementPolicy: 'Observe' },
    comes: { is: 'release', stays },
  },
  {
    because: 'the annotation came while the reconcile was under way',
    subject: { annotations: retain },
    comes: { is: 'release', stays },
  },
])('an object stays or goes when its resource is deleted: $because', ({ lifecycle, comes, ...options }) => {
  const pass = aPass(contactPoint, {
    ...options,
    spec: { ...email, ...(lifecycle && { lifecycle }) },
    memory: { id: 'cp_1', ownership: 'Created', ...options.memory },
    subject: { deleting: true, ...options.subject },
  });

  expect(contactPoint.step(pass)).toMatchObject(comes);
});
