import type { z } from 'zod';
import type { KindIdentity } from '../../engine/kind/contract/define.ts';
import { specInAccount } from '../../engine/kind/schema/parts.ts';
import { facts, fields, integer, moment, objectRef, serviceId, text } from '../../engine/kind/schema/schema.ts';
import * as recovery from '../recovery/schema.ts';
import { wholeNumber } from '../shared/schema.ts';

const RecoveryPoint = fields(
  'The recovery point to activate, copied from status.recoveryPoints of the DisasterProtection.',
  {
    selectedOperationId: serviceId('The id of the operation that created the recovery point.'),
    pointId: text('The id of the recovery point: 64 hex digits.', { min: 64, max: 64, pattern: '^[0-9a-fA-F]{64}$' }),
    cutoffTime: moment('Time up to which data is recovered, as in status.recoveryPoints (API field: cutoffAt).'),
    configurationGeneration: wholeNumber(
      'The generation of the configuration when the service listed the recovery point (API field: expectedGeneration).',
    ),
  },
);

/**
 * The spec of a RecoveryActivation, which recovers an environment once, from one recovery point, and makes the result
 * live.
 */
export const RecoveryActivationSpec = recovery.once(
  specInAccount(
    'The recovery point to activate, the names of the recovered environment, and the time until which the request may be sent.',
    {
      protectionRef: objectRef('The DisasterProtection in this namespace whose environment is recovered.'),
      configurationId: serviceId('The id of the configuration. The request is sent only to this configuration.'),
      recoveryPoint: RecoveryPoint,
      target: recovery.target(
        'Names for the recovered environment. For a warm protection, copy status.warmDestination.',
      ),
      acknowledgements: recovery
        .acknowledgements(
          'The risks that you accept. WriterSafety: if the service cannot stop the source, the source may still write data. The service then refuses an activation without this acknowledgement (API field: writerSafetyAcknowledged).',
          ['WriterSafety'],
        )
        .optional(),
      confirmation: text(
        'The source in the form <app name>/<environment name>, to confirm that the right environment is recovered.',
        { min: 3, max: 600, pattern: '^.+/.+$' },
      ),
      validUntil: moment(
        'Time after which the request is not sent; at most 24 hours after this resource was created. This limit stops an old manifest from activating again.',
      ),
      afterOperationId: serviceId(
        'The operation id of the last activation of this configuration. Required to activate again, unless the service shows that the last activation failed or was canceled. In that case, raise attempt.',
      ).optional(),
      attempt: integer(
        'A higher number asks for a new activation of the same recovery point instead of a repeat of the last request. All checks still apply. Default: 1.',
        { min: 1, max: 1000 },
      ).optional(),
    },
  ),
);
export type RecoveryActivationSpec = z.output<typeof RecoveryActivationSpec>;

/** The status fields of a RecoveryActivation. */
export const RecoveryActivationFacts = facts({
  ...recovery.requestFacts,
  result: recovery.activationResult('The result of the activation.'),
});
export type RecoveryActivationFacts = z.output<typeof RecoveryActivationFacts>;

/** Describes RecoveryActivation to the generator of manifests, permissions and reference pages. */
export const identity = {
  kind: 'RecoveryActivation',
  plural: 'recoveryactivations',
  shortNames: ['ractiv'],
  ...recovery.request,
  summary:
    'Recovers a protected environment from one recovery point and makes the recovered environment live. The request is carried out only once.',
  spec: RecoveryActivationSpec,
  facts: RecoveryActivationFacts,
  idWord: 'operationId',
  columns: [
    ...recovery.requestColumns,
    { name: 'PROMOTED', path: '.status.conditions[?(@.type=="Promoted")].status', description: 'True once live.' },
    { name: 'VALID-UNTIL', path: '.spec.validUntil', wide: true, description: 'Time limit for sending the request.' },
  ],
  selectable: ['.spec.protectionRef.name', '.spec.configurationId', '.status.stage', '.status.externalId'],
} satisfies KindIdentity;
