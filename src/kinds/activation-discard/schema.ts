import type { z } from 'zod';
import type { KindIdentity } from '../../engine/kind/contract/define.ts';
import { specInAccount } from '../../engine/kind/schema/parts.ts';
import { facts, moment, objectRef, serviceId } from '../../engine/kind/schema/schema.ts';
import * as recovery from '../recovery/schema.ts';
import { wholeNumber } from '../shared/schema.ts';

/** The spec of an ActivationDiscard, which ends an activation before the recovered environment is live. */
export const ActivationDiscardSpec = recovery.once(
  specInAccount('Which activation to end, and until when.', {
    protectionRef: objectRef('The DisasterProtection in this namespace.'),
    configurationId: serviceId('The configuration that the protection must still have.'),
    operationId: serviceId('The activation: status.activeOperation.operationId of the protection.'),
    configurationGeneration: wholeNumber(
      'The generation that the configuration must still have (interface: expectedGeneration).',
    ),
    acknowledgements: recovery.acknowledgements(
      'The risks that you accept. DiscardsRecoveredData: what was recovered so far is removed (interface: discardAcknowledged).',
      ['DiscardsRecoveredData'],
    ),
    validUntil: moment('After this moment nothing is sent; at most 24 hours after this resource was created.'),
  }),
);
export type ActivationDiscardSpec = z.output<typeof ActivationDiscardSpec>;

/** The status fields of an ActivationDiscard. */
export const ActivationDiscardFacts = facts({
  ...recovery.requestFacts,
  pendingCleanup: recovery.pendingCleanup,
});
export type ActivationDiscardFacts = z.output<typeof ActivationDiscardFacts>;

/** Describes ActivationDiscard to the generator of manifests, permissions and reference pages. */
export const identity = {
  kind: 'ActivationDiscard',
  plural: 'activationdiscards',
  shortNames: ['adiscard'],
  ...recovery.request,
  summary: 'The end of an activation that is not live yet, with removal of what it recovered.',
  spec: ActivationDiscardSpec,
  facts: ActivationDiscardFacts,
  idWord: 'operationId',
  columns: recovery.requestColumns,
  selectable: ['.spec.protectionRef.name', '.spec.configurationId', '.status.stage', '.status.externalId'],
} satisfies KindIdentity;
