/** The parts that the specs of many kinds share. */
import type { z } from 'zod';
import { withTransition, choice, fields, objectName, serviceId } from './schema.ts';

/** The account that is used when a spec names none. */
const defaultAccountRef = { kind: 'HostingAccount', name: 'default' } as const;

const AccountRef = fields(
  'The account that this object belongs to. Default: the HostingAccount `default` of this namespace.',
  {
    kind: choice(
      'HostingAccount for one of this namespace, ClusterHostingAccount for a shared one. Default: HostingAccount.',
      ['HostingAccount', 'ClusterHostingAccount'],
    ).optional(),
    name: objectName('The name of the account. Default: default.').optional(),
  },
).optional();

/**
 * Builds the spec of a kind that belongs to an account: the kind's own fields and `accountRef`, which cannot be
 * changed.
 */
export function specInAccount<Shape extends z.core.$ZodShape>(description: string, shape: Shape) {
  return withTransition(fields(description, { ...shape, accountRef: AccountRef }), {
    rule: `${sameAccount('kind')} && ${sameAccount('name')}`,
    message: 'accountRef cannot be changed; create another resource in the other account',
    fieldPath: '.accountRef',
    reason: 'FieldValueForbidden',
  });
}

/**
 * Builds a CEL rule that forbids changes of a field of accountRef. To add the field with its default value, or to
 * remove it, does not count as a change.
 */
function sameAccount(field: 'kind' | 'name'): string {
  const given = (of: string) => `has(${of}.accountRef) && has(${of}.accountRef.${field})`;
  const value = (of: string) => `${of}.accountRef.${field}`;
  const usual = `'${defaultAccountRef[field]}'`;
  return `(${given('self')} ? ${value('self')} == (${given('oldSelf')} ? ${value('oldSelf')} : ${usual}) : (!(${given('oldSelf')}) || ${value('oldSelf')} == ${usual}))`;
}

/** Builds the schema of `spec.externalId`: the id of an object that exists in the service already. */
export function externalId(what: string, word: string) {
  return serviceId(
    `The id of ${what} that exists in the service (interface: ${word}): it is bound instead of creating one, if the account allows adoption by id. What the service never shows is taken to be as this spec says, unless something that shows differs. It also confirms an object whose creation was in doubt.`,
  ).optional();
}

/** Builds the schema of `spec.lifecycle`. Each kind passes the fields that it supports. */
export function lifecycle<Shape extends z.core.$ZodShape>(shape: Shape) {
  return fields('How the operator treats the object in the service.', shape).optional();
}

/** The schema of `lifecycle.managementPolicy`: change the service, or only observe it. */
export const managementPolicy = choice(
  'Manage keeps the service equal to this spec. Observe never writes to the service: differences stand in status.drift, and the next call in status.wouldDo. Default: Manage.',
  ['Manage', 'Observe'],
).optional();

/** The schema of `lifecycle.adoption`: says which existing objects of the service a resource may adopt. */
export const adoption = choice(
  'Whether this resource may adopt an object that it did not create: Never, ById when this spec names its id, ByName when exactly one object has the name. The account sets the limit. Default: as the account allows, but not ByName.',
  ['Never', 'ById', 'ByName'],
).optional();

/** Builds the schema of `lifecycle.onDelete`. Each kind passes a text that explains its default. */
export function onDelete<const Words extends readonly [string, ...string[]]>(words: Words, explanation: string) {
  return choice(`What deleting this resource does to the object in the service. ${explanation}`, words).optional();
}

/** Builds the schema of `lifecycle.onMissing`: create an object again that is gone from the service, or stall. */
export function onMissing(fallback: 'Recreate' | 'Stall') {
  return choice(
    `What to do when the object is proved gone from the service although this resource still exists: Recreate makes a new one, Stall reports it and waits for you. Default: ${fallback}.`,
    ['Recreate', 'Stall'],
  ).optional();
}

/** The schema of `lifecycle.drift`: correct a difference that somebody made in the service, or only report the difference. */
export const drift = choice(
  'What to do about a difference that somebody made in the service: Correct writes the spec again, Report only lists it in status.drift. Default: Correct.',
  ['Correct', 'Report'],
).optional();
