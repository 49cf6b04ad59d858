import type { z } from 'zod';
import type { KindIdentity } from '../../engine/kind/contract/define.ts';
import { specInAccount } from '../../engine/kind/schema/parts.ts';
import { facts, moment, objectRef, serviceId } from '../../engine/kind/schema/schema.ts';
import * as recovery from '../recovery/schema.ts';
import { wholeNumber } from '../shared/schema.ts';

/** The spec of an ActivationDiscard, which ends an activation before the recovered environment is live. */
export const ActivationDiscardSpec = recovery.once(
  specInAccount('The activation to discard, and the time until which the request may be sent.', {
    protectionRef: objectRef('The DisasterProtection in this namespace whose activation is discarded.'),
    configurationId: serviceId('The id of the configuration. The request is sent only to this configuration.'),
    operationId: serviceId('The id of the activation: status.activeOperation.operationId of the DisasterProtection.'),
    configurationGeneration: wholeNumber(
      'Generation of the configuration (API field: expectedGeneration). The request is sent only while the configuration has this generation.',
    ),
    acknowledgements: recovery.acknowledgements(
      'The risks that you accept. DiscardsRecoveredData: the data recovered so far is deleted (API field: discardAcknowledged).',
      ['DiscardsRecoveredData'],
    ),
    validUntil: moment('Time after which the request is not sent; at most 24 hours after this resource was created.'),
  }),
);
export type ActivationDiscardSpec = z.output<typeof ActivationDiscardSpec>;

/** The status fields of an ActivationDiscard. */
export const ActivationDiscardFacts = facts({ ...recovery.requestFacts, pendingCleanup: recovery.pendingCleanup });
export type ActivationDiscardFacts = z.output<typeof ActivationDiscardFacts>;

/** Describes ActivationDiscard to the generator of manifests, permissions and reference pages. */
export const identity = {
  kind: 'ActivationDiscard',
  plural: 'activationdiscards',
  shortNames: ['adiscard'],
  ...recovery.request,
  summary: 'Discards an activation before the recovered environment is live, and deletes the data recovered so far.',
  spec: ActivationDiscardSpec,
  facts: ActivationDiscardFacts,
  idWord: 'operationId',
  columns: recovery.requestColumns,
  selectable: ['.spec.protectionRef.name', '.spec.configurationId', '.status.stage', '.status.externalId'],
} satisfies KindIdentity;
