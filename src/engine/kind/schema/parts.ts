/** The parts that the specs of many kinds share. */
import type { z } from 'zod';
import { withTransition, choice, fields, objectName, serviceId } from './schema.ts';

/** The account that is used when a spec names none. */
const defaultAccountRef = { kind: 'HostingAccount', name: 'default' } as const;

const AccountRef = fields(
  'The account that this object belongs to. Default: the HostingAccount `default` of this namespace.',
  {
    kind: choice(
      'HostingAccount for an account in this namespace, ClusterHostingAccount for a cluster-wide account. Default: HostingAccount.',
      ['HostingAccount', 'ClusterHostingAccount'],
    ).optional(),
    name: objectName('The name of the account. Default: default.').optional(),
  },
).optional();

/**
 * Builds the schema of the spec of a kind that belongs to an account: the kind's own fields and `accountRef`, which
 * cannot be changed.
 */
export function specInAccount<Shape extends z.core.$ZodShape>(description: string, shape: Shape) {
  return withTransition(fields(description, { ...shape, accountRef: AccountRef }), {
    rule: `${sameAccount('kind')} && ${sameAccount('name')}`,
    message: 'accountRef cannot be changed; to use a different account, create a new resource',
    fieldPath: '.accountRef',
    reason: 'FieldValueForbidden',
  });
}

/**
 * Builds a CEL rule that forbids changes of a field of accountRef. Adding the field with its default value is allowed,
 * and so is removing the field while it has its default value.
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
    `The id of ${what} that exists in the service (API field: ${word}). The resource manages this existing object instead of creating a new one, if the account allows adoption by id. If all fields that the service shows equal the spec, the operator assumes that the fields that the service never shows equal the spec too. When the outcome of a create call is not known, set this id to say which object the call created.`,
  ).optional();
}

/** Builds the schema of `spec.lifecycle`. Each kind passes the fields that it supports. */
export function lifecycle<Shape extends z.core.$ZodShape>(shape: Shape) {
  return fields('How the operator treats the object in the service.', shape).optional();
}

/** The schema of `lifecycle.managementPolicy`: change the service, or only observe it. */
export const managementPolicy = choice(
  'Manage keeps the service equal to this spec. Observe never writes to the service: status.drift lists the differences, and status.wouldDo describes the next call. Default: Manage.',
  ['Manage', 'Observe'],
).optional();

/** The schema of `lifecycle.adoption`: says which existing objects of the service a resource may adopt. */
export const adoption = choice(
  'Which existing objects this resource may adopt. Never means no object. ById means only the object whose id this spec names. ByName also allows an object of the same name, if there is exactly one. The account may allow less. Default: what the account allows, but at most ById.',
  ['Never', 'ById', 'ByName'],
).optional();

/** Builds the schema of `lifecycle.onDelete`. Each kind passes its values, and a text that explains its default. */
export function onDelete<const Words extends readonly [string, ...string[]]>(words: Words, explanation: string) {
  return choice(`What deletion of this resource does to the object in the service. ${explanation}`, words).optional();
}

/**
 * Builds the schema of `lifecycle.onMissing`. This field says what happens when the object is gone from the service:
 * the operator creates it again, or the resource stalls.
 */
export function onMissing(fallback: 'Recreate' | 'Stall') {
  return choice(
    `What happens when the object is proved gone from the service although this resource still exists: Recreate creates a new object, Stall reports the loss and waits for you. Default: ${fallback}.`,
    ['Recreate', 'Stall'],
  ).optional();
}

/** The schema of `lifecycle.drift`: correct a difference that somebody made in the service, or only report the difference. */
export const drift = choice(
  'What happens when somebody changes a value in the service: Correct writes the value of the spec again, Report only lists the difference in status.drift. Default: Correct.',
  ['Correct', 'Report'],
).optional();
