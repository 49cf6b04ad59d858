import type { z } from 'zod';
import type { KindIdentity } from '../../engine/kind/contract/define.ts';
import { specInAccount } from '../../engine/kind/schema/parts.ts';
import { facts, fields, integer, moment, objectRef, serviceId, text } from '../../engine/kind/schema/schema.ts';
import * as recovery from '../recovery/schema.ts';
import { wholeNumber } from '../shared/schema.ts';

const RecoveryPoint = fields('The recovery point to activate, copied from status.recoveryPoints of the protection.', {
  selectedOperationId: serviceId('The operation that made it.'),
  pointId: text('Its id: 64 hexadecimal digits.', { min: 64, max: 64, pattern: '^[0-9a-fA-F]{64}$' }),
  cutoffTime: moment(
    'The moment up to which data is recovered, exactly as status.recoveryPoints writes it (interface: cutoffAt).',
  ),
  configurationGeneration: wholeNumber(
    'The generation of the configuration when the service listed the point (interface: expectedGeneration).',
  ),
});

/**
 * The spec of a RecoveryActivation, which recovers an environment once, from one recovery point, and makes the result
 * live.
 */
export const RecoveryActivationSpec = recovery.once(
  specInAccount('What to activate, pinned in every part, and until when.', {
    protectionRef: objectRef('The DisasterProtection in this namespace.'),
    configurationId: serviceId('The configuration that the protection must still have.'),
    recoveryPoint: RecoveryPoint,
    target: recovery.target(
      'The names for the recovered environment; for a warm protection exactly its warmDestination.',
    ),
    acknowledgements: recovery
      .acknowledgements(
        'The risks that you accept. WriterSafety: the source may still be writing, when it cannot be fenced; without it such an activation is refused (interface: writerSafetyAcknowledged).',
        ['WriterSafety'],
      )
      .optional(),
    confirmation: text('The source in the form <app name>/<environment name>, to confirm that it is the right one.', {
      min: 3,
      max: 600,
      pattern: '^.+/.+$',
    }),
    validUntil: moment(
      'After this moment nothing is sent; at most 24 hours after this resource was created. It stops an old manifest from activating again.',
    ),
    afterOperationId: serviceId(
      'The operation of an earlier activation of the same configuration, to allow another one after it.',
    ).optional(),
    attempt: integer(
      'Tells a repeated activation of the same point from the one before it. It lifts no safeguard. Default: 1.',
      { min: 1, max: 1000 },
    ).optional(),
  }),
);
export type RecoveryActivationSpec = z.output<typeof RecoveryActivationSpec>;

/** The status fields of a RecoveryActivation. */
export const RecoveryActivationFacts = facts({
  ...recovery.requestFacts,
  result: recovery.activationResult('What it brought.'),
});
export type RecoveryActivationFacts = z.output<typeof RecoveryActivationFacts>;

/** Describes RecoveryActivation to the generator of manifests, permissions and reference pages. */
export const identity = {
  kind: 'RecoveryActivation',
  plural: 'recoveryactivations',
  shortNames: ['ractiv'],
  ...recovery.request,
  summary: 'The take-over of a protected environment from one recovery point; it happens once.',
  spec: RecoveryActivationSpec,
  facts: RecoveryActivationFacts,
  idWord: 'operationId',
  columns: [
    ...recovery.requestColumns,
    {
      name: 'PROMOTED',
      path: '.status.conditions[?(@.type=="Promoted")].status',
      description: 'Whether the recovered environment is live.',
    },
    { name: 'VALID-UNTIL', path: '.spec.validUntil', wide: true, description: 'After this moment nothing is sent.' },
  ],
  selectable: ['.spec.protectionRef.name', '.spec.configurationId', '.status.stage', '.status.externalId'],
} satisfies KindIdentity;
