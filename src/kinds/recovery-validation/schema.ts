import type { z } from 'zod';
import type { KindIdentity } from '../../engine/kind/contract/define.ts';
import { specInAccount } from '../../engine/kind/schema/parts.ts';
import { facts, objectRef, ownName, time } from '../../engine/kind/schema/schema.ts';
import * as recovery from '../recovery/schema.ts';

/** The spec of a RecoveryValidation, which tries out a recovery once, in isolation. */
export const RecoveryValidationSpec = recovery.once(
  specInAccount('The DisasterProtection whose recovery is tried out.', {
    protectionRef: objectRef('The DisasterProtection in this namespace for which a recovery is tried out.'),
    runId: ownName('A text that distinguishes this validation from earlier validations of the protection.', {
      max: 253,
    }).optional(),
  }),
);
export type RecoveryValidationSpec = z.output<typeof RecoveryValidationSpec>;

/** The status fields of a RecoveryValidation. */
export const RecoveryValidationFacts = facts({
  ...recovery.requestFacts,
  startedTime: time('Time at which the validation began, by the clock of the service.').optional(),
  validationCleanup: recovery.validationCleanup,
});
export type RecoveryValidationFacts = z.output<typeof RecoveryValidationFacts>;

/** Describes RecoveryValidation to the generator of manifests, permissions and reference pages. */
export const identity = {
  kind: 'RecoveryValidation',
  plural: 'recoveryvalidations',
  shortNames: ['rvalid'],
  ...recovery.request,
  summary:
    'Tries out a recovery once, in isolation. The validation can cost money. It does not change any live environment.',
  spec: RecoveryValidationSpec,
  facts: RecoveryValidationFacts,
  idWord: 'operationId',
  columns: recovery.requestColumns,
  selectable: ['.spec.protectionRef.name', '.status.stage', '.status.externalId'],
} satisfies KindIdentity;
